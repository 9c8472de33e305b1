"""Length of lines, and volume of cavities, in deformable bodies, as programs."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from titop.blocks.bodies.soft.chain import Chain, kinematic_links
from titop.blocks.bodies.soft.differentiation import Symbols, nested, stacked, symbols, symmetric, written
from titop.blocks.bodies.soft.optional import casadi
from titop.blocks.bodies.soft.program import Program
from titop.blocks.bodies.soft.surface import APEX, FAN, FIRST, SECOND, SURFACE_SIZE

#: What a point of a line has: its place x (m), the line's direction there ``dx/ds``, and its weight.
PLACE, DIRECTION, WEIGHT, POINT_SIZE = slice(0, 3), slice(3, 6), 6, 7


class LinePrograms:
    """Programs of what a line or cavity in a body measures: ``int |F dx/ds| ds``, or the volume inside of a surface's image.

    With ``F = df/dx``. Their shared numbers are the coordinates (n) and `numbers`; each point has what `POINT_SIZE` numbers
    say, or those of `titop.blocks.bodies.soft.surface`.

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
        #: How many totals each program has.
        self.sizes = {"measure": 1 + n, "curvature": n * n}
        self._shared, self._volume = symbols("s", n + len(numbers)), volume
        self._point = symbols("x", SURFACE_SIZE if volume else POINT_SIZE)
        q, told = self._shared.entries[:n], nested(dict(zip(numbers, self._shared.entries[n:], strict=True)))
        self._links = kinematic_links(kinematics, Symbols(stacked(q), q), told)
        starts = [(PLACE, FIRST, SECOND), (APEX,)] if volume else [(PLACE, DIRECTION)]
        self._chains = [self._chain(start, stacked(q)) for start in starts]
        self._moved = symbols("d", 3 * sum(len(start) for start in starts)).vector

    def _chain(self, start: Sequence[slice], q: Any) -> Chain:
        """Return what a place becomes, and directions at it."""
        first = casadi().vertcat(*(stacked(self._point.entries[part]) for part in start))
        return Chain([link.stretched(len(start) - 1) for link in self._links], first, q, casadi().SX(*q.shape))

    @functools.cached_property
    def identity(self) -> str:
        """A hash of all that the programs are derived from, before it is differentiated."""
        given = [link.primal(self._shared) for link in self._links]
        return hashlib.sha256(repr((self._volume, given)).encode()).hexdigest()

    @functools.cached_property
    def measure(self) -> Program:
        """In total the measure, and its derivatives (n) by q."""
        return self._of([self._at(self._share), sum(chain.pulled(load) for chain, load in self._loaded)])

    @functools.cached_property
    def curvature(self) -> Program:
        """In total the second derivatives (n x n)."""
        bent = self._at(casadi().hessian(self._share, self._moved)[0])
        columns = casadi().vertcat(*(chain.columns for chain in self._chains))
        own = sum(chain.bent(load) for chain, load in self._loaded)
        return self._of([symmetric(casadi().mtimes(columns.T, casadi().mtimes(bent, columns))) + own])

    @property
    def _share(self) -> Any:
        """What a point adds to the measure, of what its places and directions become."""
        parts, entries = casadi().vertsplit(self._moved, 3), self._point.entries
        if not self._volume:
            return entries[WEIGHT].expression * casadi().norm_2(parts[1])
        place, first, second, apex = parts
        return casadi().dot(place, casadi().cross(first, second + entries[FAN].expression * apex))

    @property
    def _loaded(self) -> list[tuple[Chain, Any]]:
        """The chains, each with the derivatives of a point's share by what it becomes."""
        load = self._at(casadi().densify(casadi().gradient(self._share, self._moved)))
        sizes = [0, *itertools.accumulate(chain.start.numel() for chain in self._chains)]
        return [(chain, load[sizes[k] : sizes[k + 1]]) for k, chain in enumerate(self._chains)]

    def _at(self, expression: Any) -> Any:
        state = casadi().vertcat(*(chain.state for chain in self._chains))
        return casadi().substitute(expression, self._moved, casadi().densify(state))

    def _of(self, totals: Sequence[Any]) -> Program:
        once = [casadi().SX(*part.shape) for part in totals]
        return written([self._shared, self._point, symbols("f", 0)], once, totals, [])


@functools.lru_cache(maxsize=256)
def shared_line_programs(kinematics: Callable[..., Any], n: int, numbers: tuple[str, ...], volume: bool) -> LinePrograms:
    """Return the programs of lines, or cavities, in bodies of these kinematics; see `LinePrograms`."""
    return LinePrograms(kinematics, n, numbers, volume)
