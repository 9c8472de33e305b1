"""Tendons and pressure chambers in soft rods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.bodies.rods.discretisation import MAX_POINTS
from titop.blocks.bodies.rods.rod import Rod
from titop.blocks.bodies.rods.section import Dimension, dimension_fields, read_dimension
from titop.blocks.contract.block import ParameterFields
from titop.blocks.contract.fields import Field, optional, scalar, switch
from titop.blocks.interactions.line import Chamber, ElasticTendon, Line, bodies_of
from titop.blocks.interactions.rod_routing import Path, Routing, rod_parts, routing_findings


class RodLine(Line):
    """Common part of tendons and chambers along a line that is fixed in the sections of rods.

    In the frame of the section at X the line is at ``d = (0, y(X), z(X))``, so that its length depends on the rods' strains
    ``[k; s]`` alone, and its efforts do not act on rigid motions of the rods::

        l = int |s + k x d + dd/dX| dX      efforts = -tension dl/dq

    Attributes
    ----------
    rods : tuple of Rod
    path : Path
        The line's length, or volume, and its derivatives.
    """

    own_field = "rods"
    own_kinds = (Rod,)
    #: Whether a line along the axis is suspicious.
    needs_lever: ClassVar[bool] = True
    #: Fields that may be numbers, tapers or functions of X, and their units.
    _dimension_units: ClassVar[dict[str, str]] = {"y": "m", "z": "m"}

    rods = Field(bodies_of(Rod, "rod", "a tt.Rod, or several in series"))
    y = Field(lambda line, field, value: read_dimension(line.reader, field, value))
    z = Field(lambda line, field, value: read_dimension(line.reader, field, value))
    relative = Field(switch)
    start = Field(scalar)
    #: Abscissa of the line's end (m), or None for the tip of the last rod.
    given_end = Field(optional(scalar), "end", lambda self: self._reach if self.given_end is None else self.given_end)
    #: Abscissa of the line's end (m).
    end: float
    points = Field(lambda line, field, value: line.reader.integer(field, value, 1, MAX_POINTS))

    def __init__(
        self, name: str, rods: Any, y: Any, z: Any, relative: bool, start: float, end: float | None, points: int
    ) -> None:
        super().__init__(name)
        self.rods, self.y, self.z, self.relative, self.start = rods, y, z, relative, start
        self.given_end, self.points = end, points

    @property
    def _reach(self) -> float:
        """Original length of all rods (m)."""
        return math.fsum(rod.given_length for rod in self.rods)

    # -- what follows from the fields ------------------------------------------------------------------------------------

    def _update(self) -> None:
        self._findings: list[Finding] = []
        #: The line's points on every rod.
        self.path = Path([])
        self._followed: list[Any] = [rod.snapshot() for rod in self.rods]
        if self.reader.findings or any(rod.check()[0] for rod in self.rods):
            return
        if not 0 <= self.start < self.end <= self._reach * (1 + SAME):
            where, observed = f"{self.name}.start", f"{self.start:g} to {self.end:g} m"
            expected = f"0 <= start < end <= {self._reach:g} m, the length of the rods"
            self._findings = [Finding("off-the-rod", where, observed, expected, "count from the first base")]
            return
        try:
            self.path = self._path_with(self.points)
        except ModelError as error:
            self._findings = [replace(finding, where=f"{self.name}.{finding.where}") for finding in error.findings]

    def _path_with(self, points: int) -> Path:
        """Return the line with `points` Gauss points per stretch."""
        return Path(rod_parts(self.rods, self._routing(points), self._content))

    def _routing(self, points: int) -> Routing:
        lengths = np.array([[rod.given_length for rod in self.rods], [rod.length for rod in self.rods]])
        seams = np.cumsum(np.pad(lengths, ((0, 0), (1, 0))), axis=1)
        return Routing(self.y, self.z, self.relative, self.start, self.end, points, seams)

    def course(self, number: int, fractions: Array) -> tuple[tuple[float, float], Array, Array]:
        """Return the part of a rod, by its `number`, that the line reaches, and its course there, for pictures.

        As fractions of the rod's length, y and z (2, k; m) at `fractions` (k), and radii (k; m), zero for tendons.
        """
        routing, rod = self._routing(self.points), self.rods[number]
        first = math.fsum(before.given_length for before in self.rods[:number])
        areas = routing.dimension("area", self._content, first + rod.given_length * fractions)
        radii = np.sqrt(areas / np.pi) if self.measured == "volume" else 0.0 * fractions
        return routing.range_on(rod, first), routing.places(rod, first, fractions), radii

    @property
    def _content(self) -> Dimension:
        """The integrand along the line."""
        return (1.0,)

    def _coordinates_of(self, block: Rod) -> tuple[str, ...]:
        return block.strain_coordinates

    def _follow(self, before: tuple[Any, ...]) -> None:
        """Recompute the path, unless the rods have the shapes of those `before`."""
        if not self.path.parts or not all(new.is_shaped_like(old) for new, old in zip(self.rods, before, strict=True)):
            self._update()

    def _line_numbers(self, sign: float, elastic: Sequence[Any], arms: Array) -> Array:
        """Return the numbers of the compiled law: see `titop.solvers.kernels.laws.rod_lines`."""
        return np.concatenate([[sign, *elastic, len(self.path.parts), len(arms)], arms, self.path.numbers])

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        self._follow(tuple(self._followed))
        errors += self._findings
        if not errors and self.path.size:
            warnings += routing_findings(self.name, self.rods, self._routing(self.points), self._path_with, self.needs_lever)
        return errors, warnings

    # -- parameters ------------------------------------------------------------------------------------------------------

    def parameter_fields(self) -> ParameterFields:
        """Return the numbers of the routing, none for functions, and `parameter_units`."""
        fields: ParameterFields = {}
        for field, unit in self._dimension_units.items():
            fields |= dimension_fields(field, getattr(self, field), "1" if unit == "m" and self.relative else unit, field)
        return fields | super().parameter_fields()


class Tendon(ElasticTendon, RodLine):
    """A tendon through a soft rod, or through several in series, along any line in their sections. Input: ``tension``, N.

    `System.add_interaction` connects it to its rods, and to coordinates that wind it, if it has `arms`.

    Parameters
    ----------
    name : str
        Unique name in the system; the input is ``name.tension``, the outputs ``name.length`` and ``name.rate``.
    rods : Rod or sequence of Rod
        Several are connected in series, from tip to base, by welds or through rigid bodies.
    y, z : float, pair of float or callable, m
        Position in the sections: numbers, pairs of numbers at its start and end with a straight line between, or functions of
        X (m).
    relative : bool
        Whether `y` and `z` are fractions of the sections' half widths: a tendon on the surface of a tapered rod is at ``y=1``.
    start, end : float, m
        Abscissas X where it is fixed: from the base of the first rod to the tip of the last one by default.
    stiffness : float, N/m
        Of the whole tendon. Without it, the tension is the input alone.
    displacement : float, m
        Length that a motor has wound up, from the tendon without slack or tension in the rods at rest.
    dissipation : float, s/m
        Of the elastic tendon, as for a contact.
    arms : array_like (m,), m or 1
        Length wound up per unit of each further coordinate, for motors in the system: a drum's radius.
    max_tension : float, N
        The input is between zero and this.
    push : bool
        Whether the input may be negative, down to minus `max_tension`: rods in sheaths push, tendons do not.
    points : int
        Gauss points per smooth stretch of a rod. A helix needs more; `check` says when.

    Notes
    -----
    With ``d = (0, y, z)`` and the rods' strain ``[k; s]`` at X, the length and the efforts of a pulling tension T are (key M,
    appendix D)::

        l = int |s + k x d + dd/dX| dX      efforts = -T dl/dq

    consistently for the points of this integral: the power of the tension is ``-T dl/dt``. Loads on the rods' bases follow
    from the rods' equilibrium. Abscissas count through all rods; pieces between rods are rigid, and not part of the length.
    Across a joint that moves between rods, use two tendons with a `Cable` between their ends.

    The tension is the input plus, for an elongation ``e = l - l(rest) + displacement + arms . q > 0``, that of the tendon,
    ``stiffness e (1 + dissipation de/dt)``, which never pushes: the tendon is slack for ``e <= 0``. To drive it by a motor, use
    the motor's coordinate with `arms`; the number `displacement` is a parameter, for trims and families.

    `trim` and `simulate` refuse negative tensions in their arguments and in the states that they return, unless `push`
    allows them; in their trial steps, and in functions of a model, negative tensions are applied. Controllers, and trims that
    search for tensions, stay within the input's range; `Trajectory.violations` reports values outside.

    Examples
    --------
    >>> import numpy as np, titop as tt
    >>> rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e8, density=1000.0, strains={"bending_z": 0})
    >>> s = tt.System("finger", gravity=[0, 0, 0])
    >>> s.connect("world", rod, tt.Weld("clamp"))
    >>> s.add_interaction(tt.Tendon("flexor", rod, y=0.008))
    >>> m = s.resolve(engine="reference")
    >>> bent = tt.trim(m, u={"flexor.tension": 10.0})  # the curvature is T y / (E I)
    >>> bent.q.round(9).tolist(), round(10.0 * 0.008 / (1e8 * np.pi * 0.01**4 / 4), 9)
    ([0.101859164], 0.101859164)
    """

    def __init__(
        self,
        name: str,
        rods: Any,
        y: Any = 0.0,
        z: Any = 0.0,
        relative: bool = False,
        start: float = 0.0,
        end: float | None = None,
        stiffness: float = 0.0,
        displacement: float = 0.0,
        dissipation: float = 0.0,
        arms: Any = (),
        max_tension: float = math.inf,
        push: bool = False,
        points: int = 8,
    ) -> None:
        super().__init__(name, rods, y, z, relative, start, end, points)
        self.stiffness, self.displacement, self.dissipation, self.arms = stiffness, displacement, dissipation, arms
        self.upper, self.both_ways = max_tension, push
        self._update()


class PressureChamber(Chamber, RodLine):
    """A slender pressure chamber along a line in a soft rod, or in several in series. Input: ``pressure``, Pa.

    `System.add_interaction` connects it to its rods.

    Parameters
    ----------
    name : str
        Unique name in the system; the input is ``name.pressure``, the outputs ``name.volume`` and ``name.rate``.
    rods, y, z, relative, start, end, points
        The course of its line; as for `Tendon`.
    area : float, pair of float or callable, m^2
        Of its section: a number, two at its start and end, or a function of X (m).
    max_pressure : float, Pa
        The input is between zero and this.
    suction : bool
        Whether the input may be negative, down to minus `max_pressure`.

    Notes
    -----
    Its volume is ``V = int A |dr/dX| dX`` along its line; a pressure p above the outside pressure gives the efforts
    ``p dV/dq``. With a constant area it is a tendon of the tension ``-p A``. Its walls do not bulge; their elasticity belongs
    to the rod.

    Examples
    --------
    >>> import titop as tt
    >>> rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e6, density=1000.0, strains={"elongation": 0})
    >>> s = tt.System("bellows", gravity=[0, 0, 0])
    >>> s.connect("world", rod, tt.Weld("clamp"))
    >>> chamber = tt.PressureChamber("chamber", rod, area=1e-4, y=0.002)
    >>> s.add_interaction(chamber)
    >>> m = s.resolve(engine="reference")
    >>> longer = tt.trim(m, u={"chamber.pressure": 1e5}).q[0]  # p A L / (E A_rod)
    >>> round(float(longer), 9), round(1e5 * 1e-4 / (1e6 * 3.14159265359e-4), 9)
    (0.031830989, 0.031830989)
    """

    needs_lever = False
    _dimension_units: ClassVar[dict[str, str]] = {"y": "m", "z": "m", "area": "m^2"}

    area = Field(lambda chamber, field, value: read_dimension(chamber.reader, field, value, "m^2"))

    def __init__(
        self,
        name: str,
        rods: Any,
        area: Any,
        y: Any = 0.0,
        z: Any = 0.0,
        relative: bool = False,
        start: float = 0.0,
        end: float | None = None,
        max_pressure: float = math.inf,
        suction: bool = False,
        points: int = 8,
    ) -> None:
        super().__init__(name, rods, y, z, relative, start, end, points)
        self.area, self.upper, self.both_ways = area, max_pressure, suction
        self._update()

    @property
    def _content(self) -> Dimension:
        return self.area

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        weights = np.concatenate([np.zeros(0), *(np.real(part.weights) for part in self.path.parts)])
        if not errors and weights.size and not (weights.min() >= 0 and weights.any()):
            observed, advice = "a volume that is not positive", "check the sign and the unit"
            errors.append(Finding("bad-area", f"{self.name}.area", observed, "areas >= 0, not all of them 0", advice))
        return errors, warnings
