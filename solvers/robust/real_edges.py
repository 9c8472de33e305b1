"""Real numbers of least size that make a loop singular: along the edges of the box, where all but one are largest.

That ``1 - M Δ`` is singular are two equations. Of real blocks whose largest number is as small as may be, all but one are as
large as that (a vertex of a linear programme): Δ lies along the edges of a box, ``r diag(±1, .., t, .., ±1)``, and 1/r is an
eigenvalue of ``M Δ / r`` where that is real. Along an edge eigenvalues are followed by their derivatives to where they are.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.least_size import Singular
from titop.solvers.robust.structure import Structure

#: Eigenvalue problems that are solved, about, and fewest places along an edge.
_PROBLEMS, _PLACES = 1200, 9

#: Edges are looked at as closely as if there were so many, at most.
_FEW = 12

#: An eigenvalue is followed to the axis this far, in parts of the distance of two places.
_NEAR = 1.5

#: Steps of Newton's method along an edge.
_NEWTON = 8

#: An eigenvalue counts as real whose imaginary part is below this part of it.
_REAL = 1e-12


def along_edges(M: Array, structure: Structure, seed: int = 0) -> list[Singular]:
    """Return uncertainties of real blocks that make a loop singular, largest values first; of all edges, or random ones.

    Parameters
    ----------
    M : array (n, n)
    structure : Structure
        Of real blocks alone.
    seed : int
    """
    owners = np.repeat(np.arange(len(structure.blocks)), [b.repetitions for b in structure.blocks])
    edges = _edges(len(structure.blocks), np.random.default_rng(seed))
    places = np.linspace(-1, 1, max(_PLACES, _PROBLEMS // max(len(edges), _FEW)))
    found = []
    for free, signs in edges:
        edge = _Edge(M, owners, free, signs)
        values, slopes = edge.eigenvalues(places)
        away = np.divide(-values.imag, slopes.imag, out=np.zeros_like(slopes.imag), where=slopes.imag != 0)
        is_real = np.abs(values.imag) <= _REAL * np.abs(values)
        near = is_real | ((np.abs(away) <= _NEAR * (places[1] - places[0])) & (slopes.imag != 0))
        found += [edge.singular(float(places[i]), complex(values[i, j])) for i, j in np.argwhere(near)]
    return sorted((one for one in found if one.value > 0), key=lambda one: -one.value)


def _edges(n: int, rng: np.random.Generator) -> list[tuple[int, Array]]:
    """Return which number is free, and all numbers (n), of edges: one of each pair of opposite ones, or random ones."""
    if n * 2 ** max(n - 2, 0) > _PROBLEMS // _PLACES:
        return [(int(rng.integers(n)), rng.choice((-1.0, 1.0), n)) for _ in range(_PROBLEMS // _PLACES)]
    edges = []
    for free in range(n):
        others = [k for k in range(n) if k != free]
        for signs in product((1.0, -1.0), repeat=max(n - 2, 0)):
            numbers = np.ones(n)
            numbers[others[1:]] = signs
            edges.append((free, numbers))
    return edges


class _Edge:
    """``M diag(numbers)`` along an edge, one of the numbers free.

    Parameters
    ----------
    M : array (n, n)
    owners : int array (n)
        Block of each channel.
    free : int
        Block whose number is free.
    numbers : array
        One a block.
    """

    def __init__(self, M: Array, owners: Array, free: int, numbers: Array) -> None:
        self.M, self.owners, self.free, self.numbers = M, owners, free, numbers

    def eigenvalues(self, places: Array) -> tuple[Array, Array]:
        """Return eigenvalues (k, n) at values of the free number, and their derivatives by it; zero where there are none."""
        numbers = np.tile(self.numbers, (len(places), 1))
        numbers[:, self.free] = places
        values, right = np.linalg.eig(self.M * numbers[:, None, self.owners])
        try:
            left = np.linalg.inv(right)
        except np.linalg.LinAlgError:  # some have fewer vectors than values
            left = np.linalg.pinv(right)
        own = self.owners == self.free
        return values, np.einsum("kij,jl,kli->ki", left, self.M[:, own], right[:, own])

    def singular(self, place: float, value: complex) -> Singular:
        """Return the uncertainty next to a place where an eigenvalue is real, by Newton's method; of value zero if none is."""
        for _ in range(_NEWTON):
            values, slopes = self.eigenvalues(np.array([place]))
            k = int(np.argmin(np.abs(values[0] - value)))
            value, slope = complex(values[0, k]), complex(slopes[0, k])
            if abs(value.imag) <= _REAL * abs(value):
                break
            if not slope.imag:
                return Singular(0.0, [])
            away = -value.imag / slope.imag
            place, value = place + away, value + away * slope
        if abs(place) > 1 or abs(value.imag) > _REAL * abs(value) or not value.real:
            return Singular(0.0, [])
        sign = np.sign(value.real)
        deltas = sign * self.numbers
        deltas[self.free] = sign * place
        return Singular(abs(value.real), deltas.tolist())
