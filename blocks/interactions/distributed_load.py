"""Forces and moments distributed along a soft rod."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, NEGLIGIBLE, SAME
from titop.blocks.basics.user_functions import check_function, sampled
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.bodies.rods.discretisation import MAX_POINTS, RodNumbers, gauss_points, pack_to_places
from titop.blocks.bodies.rods.recursion import RodMotion
from titop.blocks.bodies.rods.rod import Rod
from titop.blocks.bodies.water.immersion import wrenches_to_efforts
from titop.blocks.contract.block import Block, ParameterFields, PortRef
from titop.blocks.contract.fields import Field, choice, optional, scalar, switch
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import BodyInteraction
from titop.blocks.programs.repetition import for_each

#: Three numbers (3,), rows (k, 3) at equally distant places with linear interpolation, or a function of X (m).
Density = Array | Callable[[float], Any]


def read_density(reader: FieldReader, field: str, value: Any, unit: str) -> Density:
    """Read a density."""
    if callable(value):
        check_function(f"{reader.owner}.{field}", value, "X")
        return value
    array = real_array(value)
    if array is None or array.ndim != 2:
        return reader.array(field, value, (3,), f"give three numbers ({unit}), rows of three, or a function of X (m)")
    if len(array) < 2 or array.shape[1] != 3:
        expected, advice = "at least two rows of three numbers", f"write one for each of some equally distant places ({unit})"
        reader.report("wrong-shape", field, f"shape {array.shape}", expected, advice)
        return np.zeros(3)
    return reader.array(field, array, array.shape)


def density_kinks(density: Density) -> Array:
    """Return the places, from 0 to 1, of the kinks of a density."""
    return np.linspace(0.0, 1.0, 2 if callable(density) or density.ndim == 1 else len(density))


def density_values(where: str, density: Density, places: Array, abscissas: Array) -> Array:
    """Return a density (k, 3) at `places`, from 0 to 1, and `abscissas` (k, m)."""
    if callable(density):
        return sampled(where, density, abscissas, 1.0, (3,))
    if density.ndim == 1:
        return np.tile(density, (len(places), 1))
    at = places * (len(density) - 1)
    before = np.minimum(at.astype(int), len(density) - 2)
    part = (at - before)[:, None]
    return (1.0 - part) * density[before] + part * density[before + 1]


def density_fields(field: str, density: Density, unit: str) -> ParameterFields:
    """Return the numbers by name: ``force.x``, or ``force.0.x`` of the first of several rows; a function has none."""
    shape = () if callable(density) else density.shape
    places = np.ndindex(shape) if shape else ()
    return {".".join([field, *map(str, place[:-1]), "xyz"[place[-1]]]): (field, place, unit) for place in places}


#: Frames in which loads along a rod can be given.
FRAMES = ("section", "world")


def _read_rod(load: Block, field: str, rod: Any) -> Any:
    if not isinstance(rod, Rod):
        load.reader.report("not-a-rod", field, rod, "a tt.Rod", "write the rod itself, not its name")
    return rod


class DistributedLoad(BodyInteraction):
    """A force and a moment per unit length along a soft rod, or a part of it, in the sections' or the inertial frame.

    `System.add_interaction` connects it to its rod. For a wrench at one place, give the rod a port there (``ports={"grip":
    0.2}``), and a `Load`, `Force`, `Torque` or `Thruster` on it; a fluid around the rod is the rod's `fluid`.

    Parameters
    ----------
    name : str
    rod : Rod
    force, torque : array_like (3,) or (k, 3), or callable, N/m and N m/m
        Constant; k rows at equally distant places from `start` to `end`, with linear interpolation; or a function of the
        abscissa X (m) that returns three numbers.
    frame : {"section", "world"}
        Frame of the components: that of the sections, as for a follower load, or the inertial frame.
    start, end : float, m
        Range of the load: from the base to the tip by default.
    scale : float
        Factor of the load: a parameter, for trims and families.
    driven : bool
        Whether an input, ``name.amplitude`` (no unit), is a further factor.
    points : int, optional
        Gauss points per smooth stretch; those of the rod by default, at which the rod's motion is already computed.

    Notes
    -----
    With the weights w of the points and their motion subspaces S, the efforts are ``sum_k w_k S_k^T [R_k^T f; R_k^T t]`` for
    the inertial frame, and the same without R for the sections': their power is that of the forces at the points. Lengths are
    those of the rod at rest, even if it is stretched; if a parameter changes the rod's length, functions of X are scaled with
    it.

    A constant force in the inertial frame has a potential, minus its work, which `Model.energy` counts as elastic. Loads driven
    by an input, follower loads and moments have none.

    Examples
    --------
    >>> import titop as tt
    >>> rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e9, density=1000.0, strains={"bending_z": 3})
    >>> s = tt.System("cantilever", gravity=[0, 0, 0])
    >>> s.connect("world", rod, tt.Weld("clamp"))
    >>> s.add_interaction(tt.DistributedLoad("wind", rod, force=[0, 0.01, 0], frame="world"))
    >>> m = s.resolve(engine="reference")
    >>> deflection = m.pose("rod.tip", tt.trim(m).q)[1][1]  # w L^4 / (8 E I)
    >>> round(float(deflection), 7), round(0.01 / (8 * 1e9 * 3.14159265359e-8 / 4), 7)
    (0.0001592, 0.0001592)
    """

    port_counts = (2, 2)
    own_field = "rod"
    own_kinds = (Rod,)
    parameter_units: ClassVar[dict[str, str]] = {"scale": "1"}
    _densities: ClassVar[dict[str, str]] = {"force": "N/m", "torque": "N m/m"}

    rod = Field(_read_rod)
    force = Field(lambda load, field, value: read_density(load.reader, field, value, "N/m"))
    torque = Field(lambda load, field, value: read_density(load.reader, field, value, "N m/m"))
    frame = Field(choice(FRAMES, "bad-frame"))
    start = Field(scalar)
    scale = Field(scalar)
    #: Abscissa of its end (m), or None for the tip.
    given_end = Field(optional(scalar), "end", lambda self: self.rod.given_length if self.given_end is None else self.given_end)
    #: Abscissa of its end (m).
    end: float
    driven = Field(switch)
    #: Gauss points, or None for those of the rod.
    given_points = Field(
        optional(lambda load, field, value: load.reader.integer(field, value, 1, MAX_POINTS)),
        "points",
        lambda self: self.rod.points if self.given_points is None else self.given_points,
    )
    #: Gauss points per smooth stretch.
    points: int

    def __init__(
        self,
        name: str,
        rod: Rod,
        force: Any = (0.0, 0.0, 0.0),
        torque: Any = (0.0, 0.0, 0.0),
        frame: str = "section",
        start: float = 0.0,
        end: float | None = None,
        scale: float = 1.0,
        driven: bool = False,
        points: int | None = None,
    ) -> None:
        super().__init__(name)
        self.rod, self.force, self.torque, self.frame, self.start, self.scale = rod, force, torque, frame, start, scale
        self.given_end, self.driven, self.given_points = end, driven, points
        self._update()

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The amplitude, if the load is driven."""
        return ("amplitude",) if self.driven else ()

    @property
    def input_units(self) -> tuple[str, ...]:  # type: ignore[override]
        """None: it is a factor."""
        return ("1",) * len(self.inputs)

    @property
    def _is_on_rod(self) -> bool:
        """Whether its range on the rod is longer than rounding."""
        length = self.rod.given_length
        return 0 <= self.start < self.end - EXACT * length and self.end <= length * (1 + SAME)

    @property
    def own_ports(self) -> tuple[PortRef | Block | str, ...]:  # type: ignore[override]
        """The world, and the rod's base."""
        return ("world", *self.own_blocks)

    # -- what follows from the fields ------------------------------------------------------------------------------------

    def _update(self) -> None:
        self._findings: list[Finding] = []
        #: Wrenches (k, 6; N, N m) at the stations, without scale and amplitude.
        self.wrenches_at_stations = np.zeros((0, 6))
        #: The rod with steps to the stations, in place of those to its ports.
        self.numbers: RodNumbers | None = None
        if self.reader.findings or self.rod.check()[0]:
            return
        if not self._is_on_rod:
            expected = f"0 <= start < end <= {self.rod.given_length:g} m, the length of the rod"
            where, value = f"{self.name}.start", f"{self.start:g} to {self.end:g} m"
            self._findings = [Finding("off-the-rod", where, value, expected, "count from its base")]
            return
        try:
            places, self.wrenches_at_stations = self._stations(self.points)
        except ModelError as error:
            self._findings = list(error.findings)
            return
        self.numbers = self.rod.numbers_to(places.tolist())

    def _stations(self, points: int) -> tuple[Array, Array]:
        """Return the places (k, fractions of the length) of the Gauss points, `points` per stretch, and the wrenches there."""
        length, densities = self.rod.given_length, (self.force, self.torque)
        first, last = self.start / length, min(self.end / length, 1.0)
        inner = [first + (last - first) * kink for density in densities for kink in density_kinks(density).tolist()]
        breaks = [first]
        for place in sorted([*inner, *(at for at in self.rod.breaks if first < at < last)]):
            if place - breaks[-1] > EXACT:
                breaks.append(place)
        places, weights = gauss_points([*breaks[:-1], last], points)
        across, abscissas = (places - first) / (last - first), places * length
        pairs = zip(self._densities, densities, strict=True)
        rows = [density_values(f"{self.name}.{field}", density, across, abscissas) for field, density in pairs]
        return places, (weights * self.rod.length)[:, None] * np.hstack(rows)

    # -- loads and energy ----------------------------------------------------------------------------------------------------

    def act(self, motion: TargetMotion) -> tuple[Array, Array]:
        """Return the wrenches (2, 6) on the world, zero, and on the rod's base, and the efforts (n)."""
        assert self.numbers is not None
        bent, count = RodMotion(self.numbers, motion.q), len(self.wrenches_at_stations)
        wrenches = (self.scale * motion.u[0] if self.driven else self.scale) * self.wrenches_at_stations
        if self.frame == "world":
            wrenches = for_each(partial(_turned, motion.R[1]), bent.poses()[0][-count:], wrenches, of=motion.R[1])[0]
        pressed = wrenches_to_efforts(bent.jacobians()[-count:], wrenches)
        return np.array([np.zeros(6), pressed[:6]]), pressed[6:]

    def stored(self, motion: TargetMotion) -> Any:
        """Return minus the work (J) of a force in the inertial frame that no input drives."""
        if self.frame != "world" or self.driven:
            return 0.0
        assert self.numbers is not None
        places = RodMotion(self.numbers, motion.q).poses()[1][-len(self.wrenches_at_stations) :]
        return -self.scale * ((motion.r[1] + places @ motion.R[1].T) * self.wrenches_at_stations[:, :3]).sum()

    def law_numbers(self) -> Array:
        """Return the numbers of the compiled law: see `titop.solvers.kernels.laws.rod_loads`."""
        assert self.numbers is not None
        places, steps, row = pack_to_places(self.numbers)
        head = [float(self.frame == "world"), self.scale, len(places), steps, len(row)]
        return np.concatenate([head, np.column_stack([places, self.wrenches_at_stations]).ravel(), row])

    # -- checks and parameters -------------------------------------------------------------------------------------------

    @property
    def load_parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        """The scale, unless an input drives the load."""
        return () if self.driven else ("scale",)

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        errors += self._findings
        return errors, warnings + ([] if errors or self.numbers is None else [*self._suspicions()])

    def _suspicions(self) -> Iterator[Finding]:
        if not self.wrenches_at_stations.any():
            yield Finding("idle-load", self.name, "no force and no moment", "one of the two", "give force or torque")
            return
        dense = self._sums(MAX_POINTS)
        enough = (points for points in range(self.points, MAX_POINTS) if np.abs(self._sums(points) - dense).max() <= NEGLIGIBLE)
        if (points := next(enough, MAX_POINTS)) > self.points:
            expected = f"{points} points or more, which this load needs for errors below {NEGLIGIBLE:.1%}"
            yield Finding("coarse-load", f"{self.name}.points", self.points, expected, f"write points={points}")

    def _sums(self, points: int) -> Array:
        """Return the sums (2, 6) of all wrenches, and of wrenches times their places, normalised by the larger amounts."""
        places, wrenches = self._stations(points)
        sizes = np.abs(wrenches).sum(0)
        return np.array([np.ones(len(places)), places]) @ wrenches / np.where(sizes == 0.0, 1.0, sizes)

    def parameter_fields(self) -> ParameterFields:
        """Return the numbers of the densities, none for functions, and the scale."""
        densities = (density_fields(field, getattr(self, field), unit) for field, unit in self._densities.items())
        return {name: entry for fields in densities for name, entry in fields.items()} | super().parameter_fields()


def _turned(base: Array, rotations: Array, wrenches: Array) -> tuple[Array, ...]:
    """Return wrenches (k, 6) in the inertial frame in the axes of sections, which are turned by `rotations` from a base."""
    return (np.einsum("kij,kli->klj", base @ rotations, wrenches.reshape(-1, 2, 3)).reshape(-1, 6),)
