"""What resists joints at their coordinates: smooth dry friction, and limits, which are elastic stops if they have a stiffness.

Limits without a stiffness are data for checks of trajectories.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.choices import select
from titop.blocks.basics.errors import Finding
from titop.blocks.basics.paths import entry_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import LARGEST, FieldReader, out_of_range, real_array
from titop.blocks.contract.block import Block, ParameterFields, block_name
from titop.blocks.contract.fields import Field, without
from titop.blocks.contract.own_coordinates import effort_unit, in_brackets
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.laws.impact import HERTZ, impact_energy, impact_push

#: Columns of limits that are parameters: bounds of the position, and coefficients of the stops.
_BOUNDS, _STOP = (("lower", 0), ("upper", 1)), (("stiffness", 4), ("dissipation", 5))


@dataclass(frozen=True)
class Limits:
    """Limits of one coordinate of a joint, or by `CoordinateLimits` of a body.

    With a stiffness the bounds of the position are stops: at the depth d beyond a bound the effort is
    ``stiffness d^1.5 (1 + dissipation dd/dt)``, never pulling, and the energy ``stiffness d^2.5 / 2.5`` (Hertz, Hunt-Crossley;
    as in `Contact`). Without a stiffness, limits exert no effort. Only coordinates with ``v = dq/dt`` have stops.

    Attributes
    ----------
    lower, upper : float, m or rad
        Least and largest position.
    velocity : float, m/s or rad/s
        Largest absolute velocity.
    effort : float, N or N m
        Largest absolute effort.
    stiffness : float, N/m^1.5 or N m/rad^1.5
        Of the stops at `lower` and `upper`.
    dissipation : float, s/m or s/rad
        Of the stops: ``3/2 (1 - e)/v`` for a coefficient of restitution e near one at the velocity v of impact.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("buffer", gravity=[0, 0, 0])
    >>> rail = tt.Prismatic("rail", limits=tt.Limits(upper=0.5, stiffness=1e5))
    >>> s.connect("world", tt.RigidBody("cart", mass=2.0), rail)
    >>> s.resolve().forward_dynamics([[0.49], [0.51]], [[0.0], [0.0]]).round(6).tolist()  # 1e5 N/m^1.5 on 10 mm
    [[0.0], [-50.0]]
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    stiffness: float = 0.0
    dissipation: float = 0.0


#: A row of numbers for no limits.
_UNLIMITED = astuple(Limits())


def read_limits(reader: FieldReader, value: Any, count: int) -> Array:
    """Read the limits of `count` coordinates (None, one `Limits` for all, one for each) as an array (count, 6)."""
    if value is None:
        return np.array([_UNLIMITED] * count).reshape(count, 6)
    limits = [value] * count if isinstance(value, Limits) else list(value) if isinstance(value, Iterable) else [value]
    if len(limits) != count or not all(isinstance(item, Limits) for item in limits):
        reader.report("wrong-type", "limits", value, f"tt.Limits, or {count} of them", "write tt.Limits(lower=-1, upper=1)")
        return read_limits(reader, None, count)
    rows = [real_array(list(vars(item).values())) for item in limits]
    for i, (item, row) in enumerate(zip(limits, rows, strict=True)):
        if row is None or row.shape != (6,):
            reader.report("bad-limits", "limits", item, "numbers", "give one number for each entry")
            rows[i] = np.array(_UNLIMITED)
    return np.array(rows).reshape(count, 6)


def stop_efforts(limits: Array, q: Array, v: Array) -> Array:
    """Return the efforts (n) of the stops of limits (n, 6) at the positions q (n) and velocities v (n)."""
    depth, side = _depth(limits, q)
    pushes = zip(depth, side * v, limits[:, 4], limits[:, 5], strict=True)
    return -side * np.array([impact_push(*push, HERTZ) for push in pushes])


def stop_energy(limits: Array, q: Array) -> Any:
    """Return the energy (J) that the stops store."""
    depths, _ = _depth(limits, q)
    return sum(impact_energy(depth, stiffness, HERTZ) for depth, stiffness in zip(depths, limits[:, 4], strict=True))


def stop_gaps(limits: Array, q: Array) -> Array:
    """Return the distances of the positions q (n) from the stops of limits (n, 6), each with a stiffness and a finite bound."""
    which, signs, bounds = stop_bounds(limits)
    return signs * (q[which] - bounds)


def stop_bounds(limits: Array) -> tuple[Array, Array, Array]:
    """Return, for each stop of limits (n, 6), its coordinate, the free side of its bound (1 or -1), and the bound."""
    lower, upper = (np.flatnonzero((limits[:, 4] != 0) & np.isfinite(limits[:, side])) for side in (0, 1))
    bounds = np.concatenate([limits[lower, 0], limits[upper, 1]])
    return np.concatenate([lower, upper]), np.repeat([1.0, -1.0], [len(lower), len(upper)]), bounds


def _depth(limits: Array, q: Array) -> tuple[Array, Array]:
    """Return the depths of the positions in their stops, and the sides of these: -1 lower, 1 upper."""
    sides = []
    for lower, upper, x in zip(limits[:, 0], limits[:, 1], q, strict=True):
        below, above = x.real < lower.real, x.real > upper.real
        sides.append((select(below, lower - x, select(above, x - upper, 0.0 * x)), select(below, -1.0, 1.0)))
    depths, signs = zip(*sides, strict=True)
    return np.array(depths), np.array(signs)


def bounded_sides(limits: Array) -> tuple[tuple[bool, bool], ...]:
    """Return, for each coordinate, whether it has a lower and an upper limit."""
    return tuple((cmath.isfinite(lower), cmath.isfinite(upper)) for lower, upper, *_ in limits.tolist())


def stop_entries(lower: bool, upper: bool) -> tuple[tuple[str, int], ...]:
    """Return name and column of the parameters of a coordinate's stops: none without a finite bound."""
    bounds = tuple(entry for entry, is_bounded in zip(_BOUNDS, (lower, upper), strict=True) if is_bounded)
    return (*bounds, *_STOP) if bounds else ()


def stop_unit(entry: str, unit: str) -> str:
    """Return the unit of an entry of the limits, for the coordinate's unit."""
    return {"stiffness": f"{effort_unit(unit)}/{in_brackets(unit)}^1.5", "dissipation": f"s/{in_brackets(unit)}"}.get(
        entry, unit
    )


def stop_name(coordinates: Sequence[str], name: str, entry: str) -> str:
    """Return the name of an entry of the limits of a coordinate among a joint's parameters."""
    return f"limits.{entry}" if len(coordinates) == 1 else f"limits.{name}.{entry}"


def limit_findings(joint: str, limits: Array, coordinates: Sequence[str], plain: bool) -> tuple[list[Finding], list[Finding]]:
    """Return what is wrong with the limits of a joint's coordinates, and what is suspicious.

    `limits` (n, 6); `plain`: whether the coordinates are numbers whose rates are the velocities.
    """
    errors, warnings = [], []
    for name, row in zip(coordinates, limits.tolist(), strict=True):
        lower, upper, velocity, effort, stiffness, dissipation = row
        if not (lower <= upper and lower < math.inf and upper > -math.inf and velocity >= 0 and effort >= 0):
            expected, advice = "lower <= upper, and velocity and effort >= 0", "check the order and signs"
            errors.append(Finding("bad-limits", f"{joint}.limits", Limits(*row), expected, advice))
        if stiffness == dissipation == 0:
            continue
        for entry, bound in (("lower", lower), ("upper", upper)):
            if LARGEST < abs(bound) < math.inf:
                errors.append(out_of_range(f"{joint}.{stop_name(coordinates, name, entry)}", bound))
        for entry, value in (("stiffness", stiffness), ("dissipation", dissipation)):
            if not 0 <= value <= LARGEST:
                where, advice = f"{joint}.{stop_name(coordinates, name, entry)}", "check the sign and the unit"
                errors.append(Finding("bad-stop", where, value, f"a number from 0 to {LARGEST:g}", advice))
        where = f"{joint}.{stop_name(coordinates, name, 'stiffness')}"
        if stiffness > 0 and not plain:
            expected, advice = "0: only plain coordinates have stops", "split the joint into revolute and prismatic ones"
            errors.append(Finding("no-stop", where, stiffness, expected, advice))
        elif stiffness > 0 and math.isinf(lower) and math.isinf(upper):
            expected, advice = "a finite lower or upper limit to stop at", "give lower or upper beside it"
            warnings.append(Finding("stop-without-bound", where, stiffness, expected, advice))
    return errors, warnings


# -- dry friction ------------------------------------------------------------------------------------------------------------

#: Names of the parameters of one coordinate's friction, in order, with units per unit of effort and rate.
FRICTION_ENTRIES = ("coulomb", "breakaway", "stribeck_velocity", "smoothing")


@dataclass(frozen=True)
class Friction:
    """Dry friction of one coordinate; viscous friction is the joint's damping.

    The effort is ``-(F_c + (F_b - F_c) exp(-(v/v_s)^2)) tanh(v/v_0)``: Coulomb friction with a larger breakaway value near
    rest (Stribeck's curve). It is smooth: the joint creeps instead of sticking.

    Attributes
    ----------
    coulomb : float, N or N m
        Friction F_c of a moving joint.
    breakaway : float, N or N m, optional
        Friction F_b near rest; equal to `coulomb` by default.
    stribeck_velocity : float, m/s or rad/s
        Velocity v_s over which breakaway falls to Coulomb friction.
    smoothing : float, m/s or rad/s
        Velocity v_0 over which friction changes sign.
    """

    coulomb: float = 0.0
    breakaway: float | None = None
    stribeck_velocity: float = 0.01
    smoothing: float = 0.001


def read_friction(reader: FieldReader, value: Any, count: int) -> Array:
    """Read the friction of `count` coordinates (None, one `Friction` for all, one for each) as an array (count, 4).

    Such an array is also accepted as a value.
    """
    if isinstance(value, np.ndarray) and value.shape == (count, 4) and real_array(value) is not None:
        return reader.array("friction", value, (count, 4))
    single = value is None or isinstance(value, Friction)
    frictions = [value or Friction()] * count if single else list(value) if isinstance(value, Iterable) else [value]
    if len(frictions) != count or not all(isinstance(item, Friction) for item in frictions):
        reader.report("wrong-type", "friction", value, f"tt.Friction, or {count} of them", "write tt.Friction(coulomb=0.1)")
        return np.tile([0.0, 0.0, 1.0, 1.0], (count, 1))
    rows = [
        [item.coulomb, item.coulomb if item.breakaway is None else item.breakaway, item.stribeck_velocity, item.smoothing]
        for item in frictions
    ]
    return reader.array("friction", rows or np.zeros((0, 4)), (count, 4), "give one number for each entry")


def friction_efforts(friction: Array, v: Array) -> Array:
    """Return the efforts (n) of dry friction (n, 4) at the velocities v (n)."""
    coulomb, breakaway, stribeck, smoothing = friction.T
    return -(coulomb + (breakaway - coulomb) * np.exp(-((v / stribeck) ** 2))) * np.tanh(v / smoothing)


class CoordinateLimits(Block):
    """Limits of a coordinate of a body: data for checks of trajectories, and stops if they have a stiffness.

    Limits of joints' coordinates are given to the joint: ``tt.Revolute("hinge", limits=tt.Limits(...))``.

    Parameters
    ----------
    name : str
    joint : str or Block
        The body's coordinate, such as ``"boom.mode1"``, or the body, or its name, if it has only one coordinate. Its rate must
        be a velocity.
    limits : Limits

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("bumper", gravity=[0, 0, 0])
    >>> beam = tt.Beam("boom", length=1.0, density=1.0, area=1.0, young=1e4, iy=1e-4, iz=1e-4)
    >>> s.connect("world", beam, tt.Weld("clamp"))
    >>> s.add_limits(tt.CoordinateLimits("bumper", "boom.C_y", tt.Limits(upper=0.01, stiffness=1e3)))
    >>> m = s.resolve()
    >>> q, v, free = m.configuration({"boom.C_y": 0.02}), m.velocity({}), m.with_parameters({"bumper.limits.stiffness": 0.0})
    >>> push = m.passive_efforts(q, v) - free.passive_efforts(q, v)
    >>> push[1].round(9).item()  # 1e3 N/m^1.5 on 10 mm
    -1.0
    """

    rational_parameters = ()
    file_tables = ("limits",)
    joint_fields: ClassVar[tuple[str, ...]] = ("joint",)
    joint = Field(block_name)

    def __init__(self, name: str, joint: str | Block, limits: Limits) -> None:
        super().__init__(name)
        self.joint = joint
        self.limit_numbers = read_limits(self.reader, limits, 1)

    @property
    def limits(self) -> tuple[Limits, ...]:
        """The limits, like those of a joint with one coordinate; when set, they are read as by the constructor."""
        return (Limits(*self.limit_numbers[0].tolist()),)

    @limits.setter
    def limits(self, limits: Any) -> None:
        self.reader = without(self.reader, "limits")
        self.limit_numbers = read_limits(self.reader, limits, 1)

    def effort(self, x: Any, rate: Any) -> Any:
        """Return the effort of the stops on the coordinate at `x` with its `rate`."""
        return stop_efforts(self.limit_numbers, x, rate)[0]

    def energy(self, x: Any) -> Any:
        """Return the energy (J) that the stops store at `x`."""
        return stop_energy(self.limit_numbers, x)

    def gaps(self, motion: TargetMotion) -> Array:
        """Return the distances (k, m or rad) of the coordinate from the stops."""
        return stop_gaps(self.limit_numbers, motion.q)

    def parameter_fields(self) -> ParameterFields:
        entries = stop_entries(*bounded_sides(self.limit_numbers)[0])
        return {f"limits.{name}": ("limit_numbers", (0, k), stop_unit(name, "1")) for name, k in entries}

    def parameters_along(self, units: Sequence[str]) -> dict[str, tuple[float, str]]:
        return {name: (value, stop_unit(entry_of(name), units[0])) for name, (value, _) in self.parameters().items()}

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        wrong, suspicious = limit_findings(self.name, self.limit_numbers, (self.joint,), plain=True)
        return errors + wrong, warnings + suspicious
