"""The common part of lines fixed in rods: tendons, which pull, and chambers, which push."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import NEGLIGIBLE, SAME
from titop.blocks.bodies.rods.dimensions import Dimension, dimension_parameters, read_dimension, with_end
from titop.blocks.bodies.rods.rod import Rod
from titop.blocks.bodies.rods.rod_quadrature import MAX_POINTS
from titop.blocks.contract.block import Block
from titop.blocks.contract.fields import Field, optional, put, scalar, switch
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.interactions.line import Line
from titop.blocks.interactions.rod_routing import Path, Routing, rod_parts

#: Number of places on each rod for checks of the line.
_PLACES = 33


def _read_rods(line: Block, field: str, rods: Any) -> tuple[Rod, ...]:
    entries = [rods] if isinstance(rods, Block) else list(rods) if isinstance(rods, Sequence) else [rods]
    if not entries or not all(isinstance(rod, Rod) for rod in entries):
        line.reader.report("not-a-rod", field, rods, "a tt.Rod, or several in series", "write the rod itself, not its name")
    return tuple(rod for rod in entries if isinstance(rod, Rod))


def _read_dimension(line: Block, field: str, value: Any) -> Dimension:
    return read_dimension(line.reader, field, value)


class RodLine(Line):
    """Common part of tendons and chambers along a line that is fixed in the sections of rods.

    In the frame of the section at X the line is at ``d = (0, y(X), z(X))``, so that its length depends on the rods' strains
    ``[k; s]`` alone, and its efforts do not act on rigid motions of the rods::

        l = int |s + k x d + dd/dX| dX      efforts = -tension dl/dq

    Parameters
    ----------
    name : str
    rods : Rod or sequence of Rod
    y, z : float, pair of float or callable
    relative : bool
    start, end : float, m
    points : int

    Attributes
    ----------
    rods : tuple of Rod
    path : Path
        The line's length, or volume, and its derivatives.
    """

    own_field = "rods"
    #: Whether a line along the axis is suspicious.
    needs_lever: ClassVar[bool] = True
    #: Fields that may be numbers, tapers or functions of X, and their units.
    _dimension_units: ClassVar[dict[str, str]] = {"y": "m", "z": "m"}

    rods = Field(_read_rods)
    y = Field(_read_dimension)
    z = Field(_read_dimension)
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
        """Recompute what follows from the fields and the rods."""
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

    @property
    def _content(self) -> Dimension:
        """The integrand along the line."""
        return (1.0,)

    def among(self, blocks: Mapping[str, Block]) -> Interaction:
        """Return the line in the rods of the same names among `blocks`."""
        rods = tuple(blocks.get(rod.name, rod) for rod in self.rods)
        if all(new is old for new, old in zip(rods, self.rods, strict=True)) or not all(isinstance(rod, Rod) for rod in rods):
            return self
        moved = copy.copy(self)
        put(moved, "rods", rods)
        if not self.path.parts or not all(new.is_shaped_like(old) for new, old in zip(moved.rods, self.rods, strict=True)):
            moved._update()
        return moved

    @property
    def own_blocks(self) -> tuple[Block, ...]:  # type: ignore[override]
        """The rods."""
        return self.rods

    @property
    def own_coordinates(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the rods' coordinates."""
        return tuple(f"{rod.name}.{entry}" for rod in self.rods for entry in rod.strain_coordinates)

    def _line_numbers(self, sign: float, elastic: Sequence[Any], arms: Array) -> Array:
        """Return the numbers of the compiled law: see `titop.solvers.kernels.laws.rod_lines`."""
        return np.concatenate([[sign, *elastic, len(self.path.parts), len(arms)], arms, self.path.numbers])

    def check(self) -> tuple[list[Finding], list[Finding]]:
        """Return what is wrong with the line and what is suspicious."""
        errors, warnings = super().check()
        shaped = (rod.is_shaped_like(earlier) for rod, earlier in zip(self.rods, self._followed, strict=True))
        if not self.path.parts or not all(shaped):
            self._update()
        errors += self._findings
        if not errors and self.path.size:
            warnings += _routing_findings(self.name, self.rods, self._routing(self.points), self._path_with, self.needs_lever)
        return errors, warnings

    # -- parameters ------------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return the numbers of the routing, none for functions, and `parameter_units`."""
        numbers: dict[str, tuple[float, str]] = {}
        for field, unit in self._dimension_units.items():
            numbers |= dimension_parameters(field, getattr(self, field), "1" if unit == "m" and self.relative else unit)
        return numbers | super().parameters()

    def with_parameters(self, values: dict[str, float]) -> Block:
        """Return a copy with some parameters changed."""
        changed: Any = super().with_parameters(values)
        changed._update()
        return changed  # type: ignore[no-any-return]

    def _change(self, field: str, entry: str | None, value: Any) -> None:
        """Change a number; of a tapered dimension, that at one end."""
        if field in self._dimension_units:
            put(self, field, with_end(getattr(self, field), entry, value))
        else:
            super()._change(field, entry, value)


def _routing_findings(
    name: str, rods: Sequence[Rod], routing: Routing, path_with: Callable[[int], Path], needs_lever: bool
) -> Iterator[Finding]:
    """Yield what is suspicious: lines outside the sections, lines that do nothing, too few points.

    Parameters
    ----------
    name : str
        Of the line.
    rods : sequence of Rod
    routing : Routing
    path_with : callable
        Returns the line with a number of points.
    needs_lever : bool
        Whether it should bend or twist the rods, not only shorten them.
    """
    X, places, reach, parts = _sampled_course(rods, routing)
    size, distance = reach.max(), np.hypot(*places)
    worst = int(parts.argmax())
    if parts[worst] > 1.0 + SAME:
        observed = f"y = {places[0, worst]:.4g} m, z = {places[1, worst]:.4g} m at X = {X[worst]:.4g} m"
        expected = f"a place in the section, which reaches {reach[0, worst]:.4g} m and {reach[1, worst]:.4g} m"
        advice = "check y, z and their unit, or write relative=True for parts of the half widths"
        yield Finding("outside-the-section", name, observed, expected, advice)
    rest = np.zeros(sum(rod.nv for rod in rods))
    gradient, dense = path_with(routing.points).gradient(rest), path_with(MAX_POINTS).gradient(rest)
    if needs_lever and distance.max() <= SAME * size:
        advice = "move it off the axis by y or z: along the axis it can only shorten"
        yield Finding("no-lever", name, "a line along the axis", "a distance from the axis", advice)
    elif np.abs(dense).max() <= SAME * np.abs(path_with(routing.points).measure(rest)):
        advice = "check y and z against the rod's free strains: bending_z wants y, bending_y wants z"
        yield Finding("no-lever", name, "no effect on any coordinate at rest", "a line that moves the rod", advice)
    elif np.abs(gradient - dense).max() > NEGLIGIBLE * np.abs(dense).max():
        enough = next(
            (
                points
                for points in range(routing.points + 1, MAX_POINTS)
                if np.abs(path_with(points).gradient(rest) - dense).max() <= NEGLIGIBLE * np.abs(dense).max()
            ),
            MAX_POINTS,
        )
        expected = f"{enough} points or more, which this routing needs for errors below {NEGLIGIBLE:.1%}"
        yield Finding("coarse-routing", f"{name}.points", routing.points, expected, f"write points={enough}")


def _sampled_course(rods: Sequence[Rod], routing: Routing) -> tuple[Array, Array, Array, Array]:
    """Return abscissas (k, m), y and z there, the sections' half widths (2, k each; m), and their ratio."""
    rows, first = [], 0.0
    for rod in rods:
        start, stop = (min(max((end - first) / rod.given_length, 0.0), 1.0) for end in (routing.start, routing.end))
        if stop > start:
            fractions = start + (stop - start) * np.linspace(SAME, 1.0 - SAME, _PLACES)
            places = np.real(routing.places(rod, first, fractions))
            reach = np.real(rod.section.reach(fractions, rod.given_length))
            across = places / np.where(reach == 0.0, 1.0, reach)
            parts = np.abs(across).max(0) if rod.section.shape == "rectangle" else np.hypot(*across)
            rows.append(np.vstack([first + rod.given_length * fractions, places, reach, parts]))
        first += rod.given_length
    X, y, z, along_y, along_z, parts = np.hstack(rows)
    return X, np.array([y, z]), np.array([along_y, along_z]), parts
