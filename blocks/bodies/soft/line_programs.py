"""Length of lines, and volume of cavities, in deformable bodies, as programs."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from titop.blocks.bodies.soft.casadi_expressions import (
    Symbols,
    casadi,
    column,
    namespace,
    program_of,
    substitute,
    symbols,
    symmetric,
)
from titop.blocks.bodies.soft.chain import Chain, kinematic_links
from titop.blocks.bodies.soft.quadrature import APEX, FAN, FIRST, SECOND, SURFACE_SIZE
from titop.blocks.programs.program import Program

#: What a point of a line has: its place x (m), the line's direction there ``dx/ds``, and its weight.
PLACE, DIRECTION, WEIGHT, POINT_SIZE = slice(0, 3), slice(3, 6), 6, 7


class LinePrograms:
    """Programs of what a line or cavity in a body measures: ``int |F dx/ds| ds``, or the volume inside of a surface's image.

    With ``F = df/dx``. Their shared numbers are the coordinates (n) and `numbers`; each point has what `POINT_SIZE` numbers
    say, or those of `titop.blocks.bodies.soft.quadrature`.
    """

    #: The programs, in the order in which compiled laws know them.
    ORDER = ("measure", "curvature")

    def __init__(self, kinematics: Callable[..., Any], n: int, numbers: Sequence[str], volume: bool) -> None:
        #: How many totals each program has.
        self.sizes = {"measure": 1 + n, "curvature": n * n}
        self._shared, self._volume = symbols("s", n + len(numbers)), volume
        self._point = symbols("x", SURFACE_SIZE if volume else POINT_SIZE)
        q, values = self._shared.entries[:n], namespace(dict(zip(numbers, self._shared.entries[n:], strict=True)))
        self._links = kinematic_links(kinematics, Symbols(column(q), q), values)
        starts = [(PLACE, FIRST, SECOND), (APEX,)] if volume else [(PLACE, DIRECTION)]
        self._chains = [self._chain(start, column(q)) for start in starts]
        self._images = symbols("d", 3 * sum(len(start) for start in starts)).vector

    def _chain(self, start: Sequence[slice], q: Any) -> Chain:
        """Return what a place becomes, and directions at it."""
        first = casadi().vertcat(*(column(self._point.entries[part]) for part in start))
        return Chain([link.with_directions(len(start) - 1) for link in self._links], first, q, casadi().SX(*q.shape))

    @functools.cached_property
    def identity(self) -> str:
        """A hash of all that the programs are derived from, before it is differentiated."""
        primals = [link.primal(self._shared) for link in self._links]
        return hashlib.sha256(repr((self._volume, primals)).encode()).hexdigest()

    @functools.cached_property
    def measure(self) -> Program:
        """In total the measure, and its derivatives (n) by q."""
        return self._summed(self._at(self._share), sum(chain.gradient(load) for chain, load in self._loads))

    @functools.cached_property
    def curvature(self) -> Program:
        """In total the second derivatives (n x n)."""
        bent = self._at(casadi().hessian(self._share, self._images)[0])
        columns = casadi().vertcat(*(chain.columns for chain in self._chains))
        of_images = sum(chain.hessian(load) for chain, load in self._loads)
        return self._summed(symmetric(casadi().mtimes(columns.T, casadi().mtimes(bent, columns))) + of_images)

    @property
    def _share(self) -> Any:
        """What a point adds to the measure, of what its places and directions become."""
        parts, entries = casadi().vertsplit(self._images, 3), self._point.entries
        if not self._volume:
            return entries[WEIGHT].expression * casadi().norm_2(parts[1])
        place, first, second, apex = parts
        return casadi().dot(place, casadi().cross(first, second + entries[FAN].expression * apex))

    @property
    def _loads(self) -> list[tuple[Chain, Any]]:
        """The chains, each with the derivatives of a point's share by what it becomes."""
        load = self._at(casadi().densify(casadi().gradient(self._share, self._images)))
        sizes = [0, *itertools.accumulate(chain.start.numel() for chain in self._chains)]
        return [(chain, load[sizes[k] : sizes[k + 1]]) for k, chain in enumerate(self._chains)]

    def _at(self, expression: Any) -> Any:
        return substitute(expression, [(self._images, casadi().vertcat(*(chain.state for chain in self._chains)))])

    def _summed(self, *totals: Any) -> Program:
        return program_of([self._shared, self._point], totals)


#: Returns the programs of lines, or cavities, in bodies of some kinematics, which share them.
shared_line_programs = functools.lru_cache(maxsize=256)(LinePrograms)
