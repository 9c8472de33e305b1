"""Positive matrices as unknowns of a barrier: their coordinates, and derivatives of log det along them.

The unknowns are hermitian matrices X_i, or positive numbers that stand for multiples of 1. They enter ``F = R^H S(X) R``, where
S holds each X_i twice on its diagonal, with signs + and -. With ``K = R F^-1 R^H``

    ∂ log det F / ∂X_ab = ±K_ba,      -∂² log det F / ∂X_ab ∂X_cd = ±K_bc K_da.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.sparse import block_diag, csr_array

from titop.blocks.basics.spatial import Array


@dataclass(frozen=True)
class Unknowns:
    """Coordinates of several positive matrices, and where these stand in S.

    Attributes
    ----------
    sizes : tuple of int
        Of the matrices X.
    places : tuple of slice
        Coordinates of each.
    rows, columns : array of int
        Entries of S.
    entries : sparse array (coordinates, entries)
        Entries of S of each coordinate at one.
    own : sparse array (coordinates, coordinates)
        Entries of all X, row by row, of each.
    """

    sizes: tuple[int, ...]
    places: tuple[slice, ...]
    rows: Array
    columns: Array
    entries: csr_array
    own: csr_array

    @classmethod
    def of(cls, spans: Sequence[tuple[int, int, int]]) -> Unknowns:
        """Return the unknowns from size, positive and negative entries of each; numbers have another size than their spans."""
        rows: list[int] = []
        columns: list[int] = []
        triples: list[tuple[int, int, complex]] = []
        places, at, begin = [], 0, 0
        for size, above, below in spans:
            places.append(slice(begin, begin + size * size))
            for span, sign in ((above, 1.0), (below, -1.0)):
                own = np.arange(at, at + span)
                at, first = at + span, len(rows)
                if span == size:
                    rows += np.repeat(own, size).tolist()
                    columns += np.tile(own, size).tolist()
                    basis = basis_of(size).tocoo()
                    triples += zip(basis.row + begin, basis.col + first, sign * basis.data, strict=True)
                else:
                    rows += own.tolist()
                    columns += own.tolist()
                    triples += [(begin, first + k, complex(sign)) for k in range(span)]
            begin += size * size
        r, c, values = zip(*triples, strict=True)
        entries = csr_array((values, (r, c)), shape=(begin, len(rows)))
        sizes = tuple(size for size, *_ in spans)
        own = csr_array(block_diag([basis_of(size) for size in sizes], format="csr"))
        return cls(sizes, tuple(places), np.array(rows), np.array(columns), entries, own)

    @cached_property
    def identity(self) -> Array:
        """Coordinates (n, no unit) of identity matrices."""
        return self.coordinates([np.eye(size) for size in self.sizes])

    @cached_property
    def _to_entries(self) -> tuple[csr_array, csr_array]:
        """Entries of all X, and of S, by coordinates."""
        return csr_array(self.own.T), csr_array(self.entries.T)

    def matrices(self, x: Array) -> list[Array]:
        """Return the matrices (n x n, no unit) of coordinates."""
        flat = self._to_entries[0] @ x
        return [flat[place].reshape(size, size) for size, place in zip(self.sizes, self.places, strict=True)]

    def coordinates(self, matrices: Sequence[Array]) -> Array:
        """Return the coordinates (n, no unit) of matrices."""
        return (self.own.conj() @ np.concatenate([X.ravel() for X in matrices])).real

    def stacked(self, x: Array) -> Array:
        """Return S (n x n, no unit)."""
        size = int(self.rows[-1]) + 1
        S = np.zeros((size, size), dtype=complex)
        S[self.rows, self.columns] = self._to_entries[1] @ x
        return S

    def slopes(self, K: Array) -> tuple[Array, Array]:
        """Return gradient (n,) and Hessian (n x n) of ``-log det F``, without units, from ``K = R F^-1 R^H``."""
        along = K[self.columns[:, None], self.rows]
        half = self.entries @ (along * along.T)
        return -(self.entries @ K[self.columns, self.rows]).real, (self.entries @ half.T).real

    def own_slopes(self, inverses: Sequence[Array]) -> tuple[Array, Array]:
        """Return gradient (n,) and Hessian (n x n) of ``-Σ log det X``, without units, from the inverses of all X."""
        gradient = -(self.own @ np.concatenate([inverse.T.ravel() for inverse in inverses])).real
        hessian = np.zeros((len(gradient),) * 2)
        for inverse, place in zip(inverses, self.places, strict=True):
            r, basis = len(inverse), basis_of(len(inverse))
            along = np.einsum("bc,da->abcd", inverse, inverse).reshape(r * r, r * r)
            hessian[place, place] = (basis @ (basis @ along).T).real
        return gradient, hessian


@cache
def basis_of(r: int) -> csr_array:
    """Return an orthonormal basis of hermitian r x r matrices: sparse, one a row, entries row by row."""
    half, triples, k = np.sqrt(0.5), [], 0
    for a in range(r):
        triples.append((k, a * r + a, 1.0 + 0j))
        k += 1
        for b in range(a + 1, r):
            triples += [(k, a * r + b, half + 0j), (k, b * r + a, half + 0j)]
            triples += [(k + 1, a * r + b, half * 1j), (k + 1, b * r + a, -half * 1j)]
            k += 2
    rows, columns, values = zip(*triples, strict=True)
    return csr_array((values, (rows, columns)), shape=(r * r, r * r))
