"""Length of lines, and volume of cavities, in deformable bodies, as programs."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from titop.blocks.bodies.soft.chain import Chain, kinematic_links
from titop.blocks.bodies.soft.differentiation import Symbols, nested, stacked, symbols, symmetric, written
from titop.blocks.bodies.soft.optional import casadi
from titop.blocks.bodies.soft.program import Program

#: What a point has: its place x (m), the line's direction there ``dx/ds`` (of a cavity, nothing), and its weight.
PLACE, DIRECTION, WEIGHT, POINT_SIZE = slice(0, 3), slice(3, 6), 6, 7


class LinePrograms:
    """Programs of what a line or cavity in a body measures: ``int |F dx/ds| ds`` or ``int det F dV``, with ``F = df/dx``.

    Their shared numbers are the coordinates (n) and `numbers`; each point has what `POINT_SIZE` numbers say.

    Parameters
    ----------
    kinematics : callable
    n : int
    numbers : sequence of str
    volume : bool
        Whether it is a cavity.
    """

    #: The programs, in the order in which compiled laws know them.
    ORDER = ("measure", "curvature")

    def __init__(self, kinematics: Callable[..., Any], n: int, numbers: Sequence[str], volume: bool) -> None:
        self._shared, self._point = symbols("s", n + len(numbers)), symbols("x", POINT_SIZE)
        q, told = self._shared.entries[:n], nested(dict(zip(numbers, self._shared.entries[n:], strict=True)))
        place, direction = (stacked(self._point.entries[part]) for part in (PLACE, DIRECTION))
        directions = [casadi().SX.eye(3)[:, k] for k in range(3)] if volume else [direction]
        self._links = kinematic_links(kinematics, Symbols(stacked(q), q), told)
        self._volume, count = volume, len(directions)
        start, column = casadi().vertcat(place, *directions), stacked(q)
        self._chain = Chain([link.stretched(count) for link in self._links], start, column, casadi().SX(n, 1))
        self._moved = symbols("d", 3 * count).vector

    @functools.cached_property
    def identity(self) -> str:
        """A hash of all that the programs are derived from, before it is differentiated."""
        given = [link.primal(self._shared) for link in self._links]
        return hashlib.sha256(repr((self._volume, given)).encode()).hexdigest()

    @functools.cached_property
    def measure(self) -> Program:
        """In total the measure, and its derivatives (n) by q."""
        return self._of([self._at(self._share), self._chain.pulled(self._load)])

    @functools.cached_property
    def curvature(self) -> Program:
        """In total the second derivatives (n x n)."""
        bent, columns = self._at(casadi().hessian(self._share, self._moved)[0]), self._chain.columns[3:, :]
        return self._of([symmetric(casadi().mtimes(columns.T, casadi().mtimes(bent, columns))) + self._chain.bent(self._load)])

    @property
    def _share(self) -> Any:
        """What a point adds to the measure, of what the directions at it become."""
        weight = self._point.entries[WEIGHT].expression
        if self._volume:
            return weight * casadi().det(casadi().reshape(self._moved, 3, 3))
        return weight * casadi().norm_2(self._moved)

    @property
    def _load(self) -> Any:
        return casadi().vertcat(casadi().SX(3, 1), self._at(casadi().gradient(self._share, self._moved)))

    def _at(self, expression: Any) -> Any:
        return casadi().substitute(expression, self._moved, casadi().densify(self._chain.state[3:]))

    def _of(self, totals: Sequence[Any]) -> Program:
        once = [casadi().SX(*part.shape) for part in totals]
        return written([self._shared, self._point, symbols("f", 0)], once, totals, [])


@functools.lru_cache(maxsize=256)
def shared_line_programs(kinematics: Callable[..., Any], n: int, numbers: tuple[str, ...], volume: bool) -> LinePrograms:
    """Return the programs of lines, or cavities, in bodies of these kinematics; see `LinePrograms`."""
    return LinePrograms(kinematics, n, numbers, volume)
