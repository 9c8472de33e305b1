"""The common part of lines and cavities in deformable bodies: tendons, which pull, and chambers, which push."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.soft.line_programs import LinePrograms, shared_line_programs
from titop.blocks.bodies.soft.program import Program
from titop.blocks.bodies.soft.soft_body import SoftBody
from titop.blocks.contract.block import Block
from titop.blocks.contract.fields import Fixed, put
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.interactions.line import Line

#: Runs a program by name, on the numbers shared by all points and on the points; returns the totals.
Run = Callable[[LinePrograms, str, Array, Array], Array]


class SoftPath:
    """A length or volume in several bodies, and its derivatives by their coordinates, in the order of the bodies.

    Parameters
    ----------
    bodies : sequence of SoftBody
    points : sequence of (k, 7) arrays, of cavities (k, 13)
        See `titop.blocks.bodies.soft.line_programs`.
    volume : bool
    """

    def __init__(self, bodies: Sequence[SoftBody], points: Sequence[Array], volume: bool) -> None:
        self.bodies, self.points = tuple(bodies), tuple(points)
        self.programs: list[LinePrograms] = [
            shared_line_programs(body.kinematics, body.nv, body.number_names, volume) for body in bodies
        ]
        self.size = sum(body.nv for body in bodies)

    def measure(self, q: Array) -> Any:
        """Return the length (m) or volume (m^3) at coordinates (..., n)."""
        return self.measured(q)[0]

    def gradient(self, q: Array) -> Array:
        """Return its derivatives (..., n)."""
        return self.measured(q)[1]

    def measured(self, q: Array, run: Run | None = None) -> tuple[Any, Array]:
        """Return the measure and its derivatives (..., n), with another way to run programs."""
        totals = self._totals(q, "measure", run)
        return np.sum([part[..., 0] for part in totals], axis=0), np.concatenate([part[..., 1:] for part in totals], axis=-1)

    def hessian(self, q: Array, run: Run | None = None) -> Array:
        """Return its second derivatives (n, n)."""
        result, first = np.zeros((self.size, self.size), np.result_type(q, float)), 0
        for body, part in zip(self.bodies, self._totals(q, "curvature", run), strict=True):
            inside = slice(first, first + body.nv)
            result[inside, inside] = part.reshape(body.nv, body.nv)
            first += body.nv
        return result

    def _totals(self, q: Array, name: str, run: Run | None) -> list[Array]:
        """Return the totals (..., count) of a program for each body."""
        totals_of_bodies, first = [], 0
        for body, programs, points in zip(self.bodies, self.programs, self.points, strict=True):
            columns = q[..., first : first + body.nv]
            rows = [np.concatenate([row, body.number_values]) for row in columns.reshape(-1, body.nv)]
            totals = [(run or _interpreted)(programs, name, shared, points) for shared in rows]
            totals_of_bodies.append(np.reshape(totals, (*columns.shape[:-1], -1)))
            first += body.nv
        return totals_of_bodies


def _interpreted(programs: LinePrograms, name: str, shared: Array, points: Array) -> Array:
    program: Program = getattr(programs, name)
    return program.evaluate(shared, points)[0]


def _read_bodies(line: Block, field: str, bodies: Any) -> tuple[SoftBody, ...]:
    entries = [bodies] if isinstance(bodies, Block) else list(bodies) if isinstance(bodies, Sequence) else [bodies]
    if not entries or not all(isinstance(body, SoftBody) for body in entries):
        advice = "write the body itself, not its name"
        line.reader.report("not-a-soft-body", field, bodies, "a tt.SoftBody, or several", advice)
    return tuple(body for body in entries if isinstance(body, SoftBody))


class SoftLine(Line):
    """Common part of tendons and chambers that are fixed in the material of deformable bodies.

    The measure depends on the bodies' coordinates alone, and the efforts do not act on rigid motions of the bodies::

        efforts = -tension d(measure)/dq

    Parameters
    ----------
    name : str
    bodies : SoftBody or sequence of SoftBody
    upper : float
        Largest input.
    both_ways : bool
        Whether the input may be negative.

    Attributes
    ----------
    bodies : tuple of SoftBody
    path : SoftPath
        The measure, and its derivatives.
    """

    not_in_files = SoftBody.not_in_files
    port_counts = (0, 0)
    own_field = "bodies"
    #: Name of the measure in signals.
    measured: ClassVar[str] = "length"
    both_ways: Any

    bodies = Fixed(_read_bodies)

    def __init__(self, name: str, bodies: Any, upper: float, both_ways: bool) -> None:
        super().__init__(name)
        self.bodies, self.upper, self.both_ways = bodies, upper, both_ways
        self._measured_at: tuple[Array, ...] = ()
        self.path = SoftPath([], [], False)

    def _follow(self) -> None:
        """Set the path along the points, if all fields are valid."""
        if not self.reader.findings and not any(body.check()[0] for body in self.bodies):
            self.path = SoftPath(self.bodies, self._measured_at, self.measured == "volume")

    def _each(self, field: str, value: Any, is_one: Any) -> list[Any]:
        """Return one value for each body, from one for all or a sequence."""
        parts = [value] * len(self.bodies) if is_one(value) else list(value) if isinstance(value, Sequence) else []
        if len(parts) != len(self.bodies):
            expected = f"one for all bodies, or one for each of {len(self.bodies)}"
            self.reader.report("wrong-count", field, f"{len(parts)} of them", expected, "name as many as there are bodies")
            return []
        return parts

    def among(self, blocks: Mapping[str, Block]) -> Interaction:
        """Return the line in the bodies of the same names among `blocks`."""
        bodies = tuple(blocks.get(body.name, body) for body in self.bodies)
        if all(new is old for new, old in zip(bodies, self.bodies, strict=True)):
            return self
        moved = copy.copy(self)
        put(moved, "bodies", tuple(body for body in bodies if isinstance(body, SoftBody)))
        moved._follow()
        return moved

    @property
    def own_blocks(self) -> tuple[Block, ...]:  # type: ignore[override]
        """The bodies."""
        return self.bodies

    @property
    def own_coordinates(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the bodies' coordinates."""
        return tuple(f"{body.name}.{entry}" for body in self.bodies for entry in body.coordinates)

    def _line_numbers(self, sign: float, elastic: Sequence[Any], arms: Array) -> Array:
        """Return the numbers of the compiled law: see `titop.solvers.kernels.laws.soft_lines`."""
        rows = [np.array([sign, *elastic, len(self.bodies), len(arms)]), arms]
        for body, points in zip(self.path.bodies, self.path.points, strict=True):
            values = body.number_values
            rows += [np.array([len(points), body.nv, len(values), points.shape[1]]), values, points.ravel()]
        return np.concatenate(rows)

    def check(self) -> tuple[list[Finding], list[Finding]]:
        """Return what is wrong with the line and what is suspicious."""
        errors, warnings = super().check()
        if not errors and self.path.bodies and not math.isfinite(self.measure(np.zeros(self.path.size))):
            errors.append(Finding("bad-line", self.name, "not a number at rest", "a line with a length", "check its points"))
        return errors, warnings
