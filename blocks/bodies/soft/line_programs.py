"""Length of lines, and volume of cavities, in deformable bodies, as programs."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.soft.chain import Chain, kinematic_links, program_of, symmetric
from titop.blocks.bodies.soft.quadrature import APEX, FAN, FIRST, SECOND, SURFACE_SIZE
from titop.blocks.bodies.soft.soft_fields import namespace
from titop.blocks.programs.differentiation import jacobian, replaced
from titop.blocks.programs.graph import Graph
from titop.blocks.programs.program import OWN, SHARED, Program

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
        self._graph, self._volume = Graph(), volume
        self._shared = self._graph.input(SHARED, n + len(numbers))
        self._point = self._graph.input(OWN, SURFACE_SIZE if volume else POINT_SIZE)
        q, values = self._shared[:n], namespace(dict(zip(numbers, self._shared[n:], strict=True)))
        links = kinematic_links(self._graph, kinematics, q, values)
        self._primals = [link.primal for link in links]
        starts = [(PLACE, FIRST, SECOND), (APEX,)] if volume else [(PLACE, DIRECTION)]
        self._chains = []
        for start in starts:
            first = np.concatenate([self._point[part] for part in start])
            along = [link.with_directions(len(start) - 1) for link in links]
            self._chains.append(Chain(along, first, np.zeros(n, dtype=object)))
        self._images = self._graph.fresh(3 * sum(len(start) for start in starts))

    @functools.cached_property
    def identity(self) -> str:
        """A hash of all that the programs are derived from, before it is differentiated."""
        return hashlib.sha256(repr((self._volume, self._primals)).encode()).hexdigest()

    @functools.cached_property
    def measure(self) -> Program:
        """In total the measure, and its derivatives (n) by q."""
        return self._summed(self._at(self._share), sum(chain.gradient(load) for chain, load in self._loads))

    @functools.cached_property
    def curvature(self) -> Program:
        """In total the second derivatives (n x n)."""
        bent = self._at(jacobian(self._slopes, self._images))
        columns = np.concatenate([chain.columns for chain in self._chains])
        of_images = sum(chain.hessian(load) for chain, load in self._loads)
        return self._summed(symmetric(columns.T @ (symmetric(bent) @ columns)) + of_images)

    @functools.cached_property
    def _share(self) -> Any:
        """What a point adds to the measure, of what its places and directions become."""
        parts = self._images.reshape(-1, 3)
        if not self._volume:
            return self._point[WEIGHT] * np.sqrt(parts[1] @ parts[1])
        place, first, second, apex = parts
        return place @ np.cross(first, second + self._point[FAN] * apex)

    @functools.cached_property
    def _slopes(self) -> Array:
        """The derivatives of a point's share by what it becomes."""
        return jacobian(self._share, self._images, reverse=True)

    @property
    def _loads(self) -> list[tuple[Chain, Array]]:
        """The chains, each with the derivatives of a point's share by what it becomes."""
        sizes = np.cumsum([len(chain.start) for chain in self._chains])
        return list(zip(self._chains, np.split(self._at(self._slopes), sizes[:-1]), strict=True))

    def _at(self, numbers: Any) -> Array:
        images = np.concatenate([chain.state for chain in self._chains])
        return replaced(numbers, dict(zip(self._images, images, strict=True)))

    def _summed(self, *totals: Any) -> Program:
        return program_of(self._graph, (len(self._shared), len(self._point), 0), totals)


#: Returns the programs of lines, or cavities, in bodies of some kinematics, which share them.
shared_line_programs = functools.lru_cache(maxsize=256)(LinePrograms)
