"""What lines fixed in rods have in common: tendons that pull, chambers that push."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import split_path
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.bodies.modal_fields import integer
from titop.blocks.bodies.rods.dimensions import Dimension, dimension_parameters, read_dimension, with_end
from titop.blocks.bodies.rods.quadrature import MAX_POINTS
from titop.blocks.bodies.rods.rod import Rod
from titop.blocks.contract.block import Block
from titop.blocks.contract.fields import Field, optional, put, scalar, switch
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.interactions.line_findings import routing_findings
from titop.blocks.interactions.rod_routing import Path, Routing, rod_parts


def _read_rods(line: Block, field: str, rods: Any) -> tuple[Rod, ...]:
    given = [rods] if isinstance(rods, Block) else list(rods) if isinstance(rods, Sequence) else [rods]
    if not given or not all(isinstance(rod, Rod) for rod in given):
        line.reader.report("not-a-rod", field, rods, "a tt.Rod, or several in series", "write the rod itself, not its name")
    return tuple(rod for rod in given if isinstance(rod, Rod))


def _read_dimension(line: Block, field: str, value: Any) -> Dimension:
    return read_dimension(line.reader, field, value)


class RodLine(Interaction):
    """Common part of what runs through rods along a line that is fixed in their sections.

    In the frame of the section at X the line is at ``d = (0, y(X), z(X))``, so that its length depends on the rods' strains
    ``[k; s]`` alone, and what it does on no motion of the rods as a whole::

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

    port_counts = (0, 0)
    own_field = "rods"
    measured = "length"
    #: Whether a line along the axis is suspicious.
    needs_lever: ClassVar[bool] = True
    #: Fields that may be numbers, tapers or functions of X, and their units.
    _dimension_units: ClassVar[dict[str, str]] = {"y": "m", "z": "m"}

    rods = Field(_read_rods)
    y = Field(_read_dimension)
    z = Field(_read_dimension)
    relative = Field(switch)
    start = Field(scalar)
    #: Where the line ends (m), or None for the tip of the last rod.
    given_end = Field(optional(scalar), "end", lambda self: self._reach if self.given_end is None else self.given_end)
    #: Abscissa of the line's end (m).
    end: float
    points = Field(lambda line, field, value: integer(line.reader, field, value, 1, MAX_POINTS))

    def __init__(
        self, name: str, rods: Any, y: Any, z: Any, relative: bool, start: float, end: float | None, points: int
    ) -> None:
        super().__init__(name)
        self.rods, self.y, self.z, self.relative, self.start = rods, y, z, relative, start
        self.given_end, self.points = end, points

    @property
    def _reach(self) -> float:
        """Length of all rods as they were made (m)."""
        return math.fsum(rod.given_length for rod in self.rods)

    # -- what follows from the fields ------------------------------------------------------------------------------------

    def _update(self) -> None:
        """Bring what is computed from the fields and the rods up to date."""
        self._findings: list[Finding] = []
        #: The line's points on every rod.
        self.path = Path([])
        self._followed: list[Any] = [rod.snapshot() for rod in self.rods]
        if self.reader.findings or any(rod.check()[0] for rod in self.rods):
            return
        if not 0 <= self.start < self.end <= self._reach * (1 + SAME):
            where, found = f"{self.name}.start", f"{self.start:g} to {self.end:g} m"
            expected = f"0 <= start < end <= {self._reach:g} m, the length of the rods"
            self._findings = [Finding("off-the-rod", where, found, expected, "count from the first base")]
            return
        try:
            self.path = self._path_with(self.points)
        except ModelError as error:
            self._findings = [replace(finding, where=f"{self.name}.{finding.where}") for finding in error.findings]

    def _path_with(self, points: int) -> Path:
        """Return the line with so many Gauss points."""
        return Path(rod_parts(self.rods, self._routing(points), self._content))

    def _routing(self, points: int) -> Routing:
        lengths = np.array([[rod.given_length for rod in self.rods], [rod.length for rod in self.rods]])
        seams = np.cumsum(np.pad(lengths, ((0, 0), (1, 0))), axis=1)
        return Routing(self.y, self.z, self.relative, self.start, self.end, points, seams)

    @property
    def _content(self) -> Dimension:
        """What the line counts a unit of length."""
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

    @property
    def coordinate_counts(self) -> tuple[float, float]:  # type: ignore[override]
        """All coordinates of the rods."""
        count = len(self.own_coordinates)
        return count, count

    # -- the line --------------------------------------------------------------------------------------------------------

    def measure(self, q: Array) -> Any:
        """Return the length (m) of a tendon, or the volume (m^3) of a chamber.

        Parameters
        ----------
        q : (..., n) array
            Coordinates of the rods, one rod after the other.
        """
        return self.path.measure(q[..., : self.path.size])

    def rate(self, q: Array, v: Array) -> Any:
        """Return the rate of the measure (m/s or m^3/s) at coordinates and rates (..., n each)."""
        size = self.path.size
        return (self.path.gradient(q[..., :size]) * v[..., :size]).sum(-1)

    def act(self, motion: TargetMotion) -> tuple[Array, Array]:
        """Return no wrenches (0, 6), and the efforts (n) on the coordinates."""
        return np.zeros((0, 6)), -self.tension(motion) * self._slopes(motion.q)

    def tension(self, motion: TargetMotion) -> Any:
        """Return the tension (N) of a tendon, or minus the pressure (Pa) of a chamber."""
        raise NotImplementedError

    def _slopes(self, q: Array) -> Array:
        """Return the derivatives (n) of what the tension shortens by all coordinates."""
        return self.path.gradient(q)

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
            warnings += routing_findings(self.name, self.rods, self._routing(self.points), self._path_with, self.needs_lever)
        return errors, warnings

    # -- parameters ------------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return the numbers of the routing, none for functions, and `parameter_units`."""
        own: dict[str, tuple[float, str]] = {}
        for field, unit in self._dimension_units.items():
            own |= dimension_parameters(field, getattr(self, field), "1" if unit == "m" and self.relative else unit)
        return own | super().parameters()

    def with_parameters(self, values: dict[str, float]) -> Block:
        """Return a copy with some parameters changed."""
        changed = copy.copy(self)
        for name, value in values.items():
            field, end = split_path(name)
            if field in self._dimension_units:
                put(changed, field, with_end(getattr(changed, field), end, value))
            else:
                changed._change(field, end, value)
        changed._update()
        return changed

    def _change(self, field: str, entry: str | None, value: Any) -> None:
        """Change a number that is no dimension."""
        put(self, field, value)
