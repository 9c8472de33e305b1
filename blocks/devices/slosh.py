"""Liquid that sloshes in a tank, as masses on pendulums or springs beside one that moves with the tank."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.contract.block import Block, PortRef
from titop.blocks.contract.fields import Field, Fixed, choice, non_negative, positive, scalar
from titop.blocks.devices.composite_device import CompositeDevice
from titop.blocks.devices.loads import read_target
from titop.blocks.joints.plain_joints import Prismatic, Universal, Weld

#: Standard gravity (m/s^2).
_GRAVITY = 9.80665
#: Modes that have a part in the inertia of a cylinder's liquid: that of the last is 1e-12 of it.
_TERMS = 200
#: Of the lowest mode in a sphere of radius R, over ``s = sqrt(1 - fill)``: Chebyshev coefficients on 0..1 of
#: ``s omega^2 R / g``, and of the part of the liquid that sloshes over s^3. They are those of the boundary value problem of
#: Budiansky, J. Aero/Space Sciences 27 (1960), to 4e-9, solved by spectral elements in toroidal coordinates; McIver, J. Fluid
#: Mech. 201 (1989), has digits of it.
_SPHERE_RATE = (
    *(1.184665858, -0.1891808584, 0.00377526888, 0.0005636331596, 0.000239591381, -7.161937429e-05, 7.833218613e-06),
    *(2.109504677e-07, 1.177374236e-07, -5.588324842e-08, 1.924735112e-08, 8.315250285e-10, -1.263611021e-10),
)
_SPHERE_MASS = (
    *(2.350273121, -1.450365765, 0.02284344809, 0.1052766838, -0.02967480828, -4.661841967e-05, 0.00229708609),
    *(-0.0006445237155, 6.984417753e-06, 4.745483423e-05, -1.416202117e-05, 4.079842986e-07, 9.771730016e-07),
    *(-3.138358216e-07, 1.409862981e-08, 2.066341127e-08, -7.262756605e-09),
)


class Liquid(NamedTuple):
    """What is known of the liquid; heights are above the tank's lowest point.

    - `mass` (kg) and `centre` (m): of all of it, at rest;
    - `masses` (n, kg), `lengths` (n, m), `heights` (n, m): of the modes: what sloshes, the length of the pendulum that swings
      as fast, where it is at rest;
    - `inertia` (kg m^2): lateral, of what moves with the tank, about its own centre.
    """

    mass: float
    centre: float
    masses: Array
    lengths: Array
    heights: Array
    inertia: float

    @property
    def rest(self) -> tuple[float, float]:
        """Mass (kg) and height (m) of what moves with the tank: all parts together have the liquid's."""
        mass = self.mass - self.masses.sum()
        return mass, (self.mass * self.centre - self.masses @ self.heights) / mass


class Slosh(CompositeDevice):
    """Liquid in a tank: `Slosh.cylinder`, `Slosh.sphere`, `Slosh.table`; `System.add_device` adds it.

    A part of the liquid moves with the tank: the body ``name/rest``. Of each mode a point mass ``name/bob1`` swings on the
    joint ``name/mode1``, a pendulum of two axes, across the tank; or slides on springs along ``name/mode1x`` and
    ``name/mode1y``. The tank's axis is z of the target's frame, upwards: against gravity, or along the acceleration. At rest,
    mass and mass centre of all parts are those of the liquid.

    Pendulums feel whatever acceleration there is, and keep their frequency's dependence on it; springs are those of one
    `acceleration`. Both are right for small motions of a liquid without swirl. The parts are no rational functions of the fill:
    `lpv` and sensitivities follow it as it is, `lft` by fits (``fits={"lox.fill": 1e-7}``).

    Parameters
    ----------
    name : str
    target : PortRef or Block
        Port of the tank, at its lowest point inside.
    fill : float
        Depth of the liquid over the height of the tank.
    model : {"pendulum", "spring"}
    damping_ratio : float
        Of each mode, such as baffles give.
    acceleration : float, m/s^2
        For which springs and dampers are made: by default that of gravity on the ground. In a field of gravity it has to be
        given: that of the thrust, since what falls freely holds no liquid at its place.

    Notes
    -----
    The mass m on a pendulum of length L has the spring ``m g / L``, and the damper ``2 zeta m sqrt(g / L)`` times L^2 of a
    pendulum. H. N. Abramson (ed.), The dynamic behavior of liquids in moving containers, NASA SP-106 (1966); F. T. Dodge, The
    new dynamic behavior of liquids in moving containers, Southwest Research Institute (2000).
    """

    parameter_units = {"fill": "1", "damping_ratio": "1", "acceleration": "m/s^2"}  # noqa: RUF012
    target = Fixed(read_target)
    fill = Field(scalar)
    model = Fixed(choice(("pendulum", "spring"), "unknown-model"))
    damping_ratio = Field(non_negative("negative-damping"))
    acceleration = Field(positive("not-positive"))
    cylinder: ClassVar[type[CylinderSlosh]]
    sphere: ClassVar[type[SphereSlosh]]
    table: ClassVar[type[TableSlosh]]

    def __init__(
        self,
        name: str,
        target: PortRef | Block,
        fill: float,
        model: str = "pendulum",
        damping_ratio: float = 0.0,
        acceleration: float = _GRAVITY,
    ) -> None:
        super().__init__(name)
        self.target, self.fill, self.model = target, fill, model
        self.damping_ratio, self.acceleration = damping_ratio, acceleration

    def liquid(self) -> Liquid:
        """Return the numbers of the liquid at this fill."""
        expected, advice = "tt.Slosh.cylinder, .sphere or .table", "give one of these, whose tank is known"
        raise ModelError(Finding("no-tank", self.name, type(self).__name__, expected, advice))

    def viscous_ratio(self) -> float:
        """Return what the liquid's viscosity adds to the damping ratio."""
        return 0.0

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if not errors:
            errors += self.fill_findings()
        return errors, warnings

    def fill_findings(self) -> Iterator[Finding]:
        """Yield what is wrong with the fill."""
        if not 0.0 < self.fill <= 1.0:
            expected, advice = "a depth above 0, up to the tank's height: above 0, up to 1", "divide the depth by the height"
            yield Finding("overfilled", f"{self.name}.fill", self.fill, expected, advice)

    def parts(self) -> Iterator[tuple[Any, ...]]:
        liquid, ratio = self.liquid(), self.damping_ratio + self.viscous_ratio()
        mass, height = liquid.rest
        rest = RigidBody(f"{self.name}/rest", mass, com=[0, 0, height], inertia=[liquid.inertia, liquid.inertia, 0.0])
        yield "connect", self.target, rest, Weld(self.name)
        modes = zip(liquid.masses.tolist(), liquid.lengths.tolist(), liquid.heights.tolist(), strict=True)
        for k, (m, length, at) in enumerate(modes, start=1):
            bob, joint, stiffness = f"{self.name}/bob{k}", f"{self.name}/mode{k}", m * self.acceleration / length
            damper = 2.0 * ratio * (m * stiffness) ** 0.5
            if self.model == "pendulum":
                swinging = Universal(joint, damping=damper * length**2)
                yield "connect", self.target, RigidBody(bob, m, com=[0, 0, -length]), swinging, Pose([0, 0, at + length])
                continue
            passive = {"stiffness": stiffness, "damping": damper}
            slide = RigidBody(f"{self.name}/slide{k}", 0.0)
            yield "connect", self.target, slide, Prismatic(f"{joint}x", [1, 0, 0], **passive), Pose([0, 0, at])
            yield "connect", slide, RigidBody(bob, m), Prismatic(f"{joint}y", [0, 1, 0], **passive)


class CylinderSlosh(Slosh):
    """Liquid in an upright circular cylinder with a flat bottom; see `Slosh`.

    Parameters
    ----------
    name, target, fill, model, acceleration
        As in `Slosh`.
    radius, height : float, m
        Of the tank, inside.
    density : float, kg/m^3
    modes : int
        Number of modes; the masses of all others move with the tank.
    damping_ratio : float
        Of each mode, such as baffles give, beside that by viscosity.
    viscosity : float, m^2/s
        Kinematic.

    Notes
    -----
    With the zeros lambda of J1', the depth h and ``k = lambda h / R``, a mode has ``omega^2 = g lambda tanh(k) / R``, the part
    ``2 tanh(k) / (k (lambda^2 - 1))`` of the mass, and lies ``h / 2 - 2 R tanh(k / 2) / lambda`` above the liquid's centre
    (SP-106, chapter 6). The lateral inertia of ideal liquid under a lid is, by the same potential and of its mass,
    ``h^2 / 12 - 3 R^2 / 4 + 16 R^3 / h sum tanh(k / 2) / (lambda^3 (lambda^2 - 1))``; about its axis ideal liquid has none.
    The damping ratio by viscosity is that of Mikishev and Dorozhkin (1961, in SP-106, chapter 4), of the first mode:
    ``0.79 sqrt(nu / sqrt(g R^3)) (1 + 0.318 / sinh(1.84 h / R) (1 + (1 - h / R) / cosh(1.84 h / R)))``.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("stage")
    >>> stage = tt.RigidBody("stage", 500.0, inertia=300.0, ports={"tank": [0, 0, 0.5]})
    >>> s.connect("world", stage, joint=tt.Free("base"))
    >>> s.add_device(tt.Slosh.cylinder("lox", stage.port("tank"), radius=0.6, height=1.5, fill=0.7, density=1141.0))
    >>> m = s.resolve()
    >>> round(m.parameters()["lox/bob1.mass"][0], 3), m.coordinate_names[-2:]
    (350.793, ('lox/mode1.first', 'lox/mode1.second'))
    """

    parameter_units = {  # noqa: RUF012
        **Slosh.parameter_units,
        **{"radius": "m", "height": "m", "density": "kg/m^3", "viscosity": "m^2/s"},
    }
    radius, height, density = (Field(positive("not-positive")) for _ in range(3))
    modes = Fixed(lambda slosh, field, value: slosh.reader.integer(field, value, 1, _TERMS))
    viscosity = Field(non_negative("negative-viscosity"))

    def __init__(
        self,
        name: str,
        target: PortRef | Block,
        radius: float,
        height: float,
        fill: float,
        density: float,
        modes: int = 1,
        model: str = "pendulum",
        damping_ratio: float = 0.0,
        viscosity: float = 0.0,
        acceleration: float = _GRAVITY,
    ) -> None:
        super().__init__(name, target, fill, model, damping_ratio, acceleration)
        self.radius, self.height, self.density, self.modes, self.viscosity = radius, height, density, modes, viscosity

    def liquid(self) -> Liquid:
        R, h, zeros = self.radius, self.fill * self.height, _zeros()
        mass, waves = self.density * np.pi * R**2 * h, zeros * h / R
        moved = 16.0 * R**3 / h * np.sum(np.tanh(waves / 2.0) / (zeros**3 * (zeros**2 - 1.0)))
        inertia = mass * (h**2 / 12.0 - 0.75 * R**2 + moved + h**2 / 4.0)  # about the bottom's centre
        zeros, waves = zeros[: self.modes], waves[: self.modes]
        masses = mass * 2.0 * np.tanh(waves) / (waves * (zeros**2 - 1.0))
        heights = h - 2.0 * R / zeros * np.tanh(waves / 2.0)
        liquid = Liquid(mass, h / 2.0, masses, R / (zeros * np.tanh(waves)), heights, 0.0)
        rest, at = liquid.rest
        own: Any = inertia - masses @ heights**2 - rest * at**2
        return liquid._replace(inertia=own)

    def viscous_ratio(self) -> float:
        R, depth = self.radius, self.fill * self.height / self.radius
        x = 1.84 * depth
        near = 0.318 / np.sinh(x) * (1.0 + (1.0 - depth) / np.cosh(x)) if x < 300.0 else 0.0
        ratio: float = 0.79 * np.sqrt(self.viscosity / np.sqrt(self.acceleration * R**3)) * (1.0 + near)
        return ratio


class SphereSlosh(Slosh):
    """Liquid in a sphere: its lowest mode; see `Slosh`.

    Parameters
    ----------
    name, target, model, damping_ratio, acceleration
        As in `Slosh`.
    radius : float, m
    fill : float
        Depth of the liquid over the diameter; a full sphere does not slosh.
    density : float, kg/m^3

    Notes
    -----
    All pressures pass through the sphere's centre: there the pendulum hangs, and what moves with the tank has no inertia of its
    own. Frequency and mass are numbers of Budiansky's boundary value problem (1960), to 4e-9. The modes left out are 3 per cent
    of what sloshes in a sphere half full, a seventh in one nine tenths full.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("satellite")
    >>> hub = tt.RigidBody("hub", 100.0, inertia=30.0, ports={"tank": [0, 0, -0.4]})
    >>> s.connect("world", hub, joint=tt.Free("base"))
    >>> s.add_device(tt.Slosh.sphere("fuel", hub.port("tank"), radius=0.4, fill=0.5, density=1010.0, damping_ratio=0.01))
    >>> round(0.4 / -float(s["fuel/bob1"].com[2]), 5)  # omega^2 R / g
    1.56016
    """

    parameter_units = {**Slosh.parameter_units, "radius": "m", "density": "kg/m^3"}  # noqa: RUF012
    radius, density = Field(positive("not-positive")), Field(positive("not-positive"))

    def __init__(
        self,
        name: str,
        target: PortRef | Block,
        radius: float,
        fill: float,
        density: float,
        model: str = "pendulum",
        damping_ratio: float = 0.0,
        acceleration: float = _GRAVITY,
    ) -> None:
        super().__init__(name, target, fill, model, damping_ratio, acceleration)
        self.radius, self.density = radius, density

    def fill_findings(self) -> Iterator[Finding]:
        yield from super().fill_findings()
        if self.fill == 1.0:
            advice = "add the liquid as a body: it has no surface"
            yield Finding("overfilled", f"{self.name}.fill", self.fill, "a depth below the diameter: below 1", advice)

    def liquid(self) -> Liquid:
        R, s = self.radius, np.sqrt(1.0 - self.fill)
        depth = 2.0 * R * self.fill
        mass = self.density * np.pi * depth**2 * (3.0 * R - depth) / 3.0
        rate, part = (np.polynomial.chebyshev.chebval(2.0 * s - 1.0, each) for each in (_SPHERE_RATE, _SPHERE_MASS))
        length = np.array([R * s / rate])
        centre = R - 0.75 * (2.0 * R - depth) ** 2 / (3.0 * R - depth)
        return Liquid(mass, centre, np.array([mass * part * s**3]), length, R - length, 0.0)


class TableSlosh(Slosh):
    """Liquid in a tank of any shape of revolution, from numbers at some fills, with cubic splines between them; see `Slosh`.

    Parameters
    ----------
    name, target, model, damping_ratio, acceleration
        As in `Slosh`; heights count from the target.
    fill : float
        Within the table; any measure of how full the tank is.
    fills : array_like (k,)
        Rising; of the rows of the table.
    mass, centre : array_like (k,), kg and m
        Mass of all liquid, and the height of its mass centre.
    masses, lengths, heights : array_like (k, n) or (k,), kg and m
        Of each mode: what sloshes, the length of its pendulum, its height at rest, below the pendulum's hinge by its length.
    inertia : array_like (k,), kg m^2
        Lateral, of what moves with the tank, about its own mass centre; zero by default.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("satellite")
    >>> hub = tt.RigidBody("hub", 100.0, inertia=30.0)
    >>> s.connect("world", hub, joint=tt.Free("base"))
    >>> rows = {"fills": [0, 1, 2], "mass": [10, 20, 30], "centre": [0.1, 0.15, 0.2]}
    >>> modes = {"masses": [8, 12, 14], "lengths": [0.3, 0.28, 0.25], "heights": [0.1, 0.2, 0.3]}
    >>> s.add_device(tt.Slosh.table("fuel", hub, fill=0.5, **rows, **modes))
    >>> s.resolve().parameters()["fuel/bob1.mass"][0]
    10.25
    """

    fills = Fixed(lambda slosh, field, value: slosh.reader.numbers(field, value))
    mass, centre, inertia = (Fixed(lambda slosh, field, value: _rows(slosh, field, value)[:, 0]) for _ in range(3))
    masses, lengths, heights = (Fixed(lambda slosh, field, value: _rows(slosh, field, value)) for _ in range(3))

    def __init__(
        self,
        name: str,
        target: PortRef | Block,
        fill: float,
        fills: Any,
        mass: Any,
        centre: Any,
        masses: Any,
        lengths: Any,
        heights: Any,
        inertia: Any = None,
        model: str = "pendulum",
        damping_ratio: float = 0.0,
        acceleration: float = _GRAVITY,
    ) -> None:
        super().__init__(name, target, fill, model, damping_ratio, acceleration)
        self.fills, self.mass, self.centre = fills, mass, centre
        self.masses, self.lengths, self.heights = masses, lengths, heights
        self.inertia = np.zeros(len(self.fills)) if inertia is None else inertia

    def fill_findings(self) -> Iterator[Finding]:
        columns = self.masses.shape[1], self.lengths.shape[1], self.heights.shape[1]
        if len(set(columns)) > 1:
            expected, advice = "the same modes of each", "give one column for each mode"
            yield Finding("wrong-shape", f"{self.name}.masses", f"{columns} columns", expected, advice)
        if len(self.fills) < 2 or not (np.diff(self.fills) > 0).all():
            yield Finding("not-sorted", f"{self.name}.fills", self.fills, "two rising numbers, or more", "sort the rows")
        elif not self.fills[0] <= self.fill <= self.fills[-1]:
            expected = f"{self.fills[0]:.6g} to {self.fills[-1]:.6g}, as the table has"
            yield Finding("overfilled", f"{self.name}.fill", self.fill, expected, "extend the table")
        wrong = [field for field in ("mass", "masses", "lengths") if not (getattr(self, field) > 0).all()]
        wrong += [] if (self.masses.sum(axis=1) < self.mass).all() else ["masses"]
        for field in wrong:
            expected, advice = "masses and lengths above 0, the modes' below the whole", "check the rows"
            yield Finding("not-positive", f"{self.name}.{field}", getattr(self, field), expected, advice)

    def liquid(self) -> Liquid:
        from scipy.interpolate import CubicSpline

        columns = self.mass, self.centre, self.masses, self.lengths, self.heights, self.inertia
        mass, centre, masses, lengths, heights, inertia = (CubicSpline(self.fills, each)(self.fill) for each in columns)
        return Liquid(float(mass), float(centre), masses, lengths, heights, float(inertia))


Slosh.cylinder, Slosh.sphere, Slosh.table = CylinderSlosh, SphereSlosh, TableSlosh


@cache
def _zeros() -> Array:
    from scipy.special import jnp_zeros

    return np.array(jnp_zeros(1, _TERMS))


def _rows(slosh: TableSlosh, field: str, value: Any) -> Array:
    """Return columns (k, n) of a table with as many rows as there are fills."""
    shape = (len(slosh.fills), *np.shape(value)[1:2])
    return slosh.reader.array(field, value, shape, "one row for each of fills").reshape(*shape, *(1,) * (2 - len(shape)))
