"""Hermitian matrices as unknowns of a barrier: their real coordinates, and the sizes of what they become in others.

A hermitian matrix X has the real square matrix ``Y = Re X + Im X`` as coordinates, of the same norm, and

    X = (Y + Y^T + j (Y - Y^T)) / 2.

The image ``U X U^H`` of the coordinate ab alone has the coordinates ``Re(u_a u_b^H) - Im(u_a u_b^H)^T``, u_a a column of U.
As images keep their norms, the derivatives of ``-log det F`` along ``F = L L^H`` are sums and scalar products of those of the
images under ``L^-1``: gradient ``-tr V_k``, Hessian ``<V_k, V_l>``, one product of matrices for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from titop.blocks.basics.spatial import Array


class Unknowns:
    """Coordinates of several hermitian matrices.

    Parameters
    ----------
    sizes : sequence of int
        Of the matrices.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self.places = tuple(slice(*ends) for ends in pairwise(accumulate((r * r for r in sizes), initial=0)))
        self.identity = self.coordinates([np.eye(r) for r in sizes])

    def matrices(self, x: Array) -> list[Array]:
        """Return the matrices (n x n, no unit) of coordinates."""
        squares = [x[place].reshape(r, r) for r, place in zip(self.sizes, self.places, strict=True)]
        return [((Y + Y.T) + 1j * (Y - Y.T)) / 2 for Y in squares]

    def coordinates(self, matrices: Sequence[Array]) -> Array:
        """Return the coordinates (n, no unit) of matrices."""
        return np.concatenate([(X.real + X.imag).ravel() for X in matrices])

    def are_positive(self, x: Array) -> bool:
        """Tell whether all matrices of coordinates are positive."""
        try:
            for X in self.matrices(x):
                np.linalg.cholesky(X)
        except np.linalg.LinAlgError:
            return False
        return True

    def own_slopes(self, factors: Sequence[Array]) -> tuple[Array, Array]:
        """Return gradient (n,) and Hessian (n x n) of ``-Σ log det X``, without units, from the lower factors of all X."""
        n = self.places[-1].stop
        gradient, hessian = np.empty(n), np.zeros((n, n))
        for r, place, L in zip(self.sizes, self.places, factors, strict=True):
            V = images(np.linalg.inv(L)).reshape(r * r, r * r)
            gradient[place], hessian[place, place] = -traces(V, r), V @ V.T
        return gradient, hessian


def images(U: Array) -> Array:
    """Return the coordinates (r², m, m) of ``U X U^H`` for each coordinate of X (r x r) alone, without units."""
    m, r = U.shape
    outer = U.T[:, None, :, None] * U.conj().T[None, :, None, :]
    return (outer.real - outer.imag.swapaxes(2, 3)).reshape(r * r, m, m)


def traces(V: Array, m: int) -> Array:
    """Return the traces of hermitian matrices (m x m) whose coordinates are rows."""
    return np.asarray(V[:, :: m + 1].sum(axis=1))
