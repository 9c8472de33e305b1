"""Solving Newton's equations of implicit integrators, ``(s I - J) x = b`` with J of `rate_jacobian`, for rates first.

Rates of q depend on the q of the same block and on its v alone. So q is eliminated block by block, and factors are needed of a
matrix half the size: a fifth of the work, and small enough that libraries do not set threads to it, which a busy machine makes
wait for each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs, zgetrf, zgetrs

from titop.blocks.basics.spatial import Array
from titop.solvers.model.model import Model


class Factors(NamedTuple):
    """What solves the equations: rows of q by q and v, and the factors of what is left.

    Attributes
    ----------
    inverse, follows : (k,) arrays
        Of coordinates that are their own tangents: one over the diagonal, and how q follows v.
    own : list of pairs of arrays
        The same of each other block, as matrices.
    below : (m, nq) array
        Rows of v by q.
    lu, pivots : arrays
    """

    inverse: Array
    follows: Array
    own: list[tuple[Array, Array]]
    below: Array
    lu: Array
    pivots: Array


class NewtonFactors:
    """Factors matrices ``s I - J``, real or complex, and solves with them; for what scipy calls ``lu`` and ``solve_lu``.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        self.nq = model.nq
        places = model.assembly
        blocks = places.blocks_with_coordinates
        plain = [block.name for block in blocks if block.configuration_names == block.coordinates]
        none = [np.zeros(0, dtype=int)]
        self._q = np.concatenate(none + [np.arange(model.nq)[places.q_slices[name]] for name in plain])
        self._v = np.concatenate(none + [np.arange(model.nv)[places.v_slices[name]] for name in plain])
        #: Where q and v of the other blocks are.
        self._others = [(places.q_slices[b.name], places.v_slices[b.name]) for b in blocks if b.name not in plain]

    def factor(self, matrix: Array) -> Factors:
        """Return the factors of a matrix (ny, ny)."""
        nq = self.nq
        across, rest = matrix[:nq, nq:], matrix[nq:, nq:].copy()
        below = np.ascontiguousarray(matrix[nq:, :nq].real)  # s is on the diagonal alone
        inverse = 1.0 / matrix[self._q, self._q]
        follows = inverse * across[self._q, self._v]
        rest[:, self._v] -= below[:, self._q] * follows
        own = []
        for q, v in self._others:
            turned = np.linalg.inv(matrix[q, q])
            own.append((turned, turned @ across[q, v]))
            rest[:, v] -= below[:, q] @ own[-1][1]
        lu, pivots, _ = (zgetrf if np.iscomplexobj(matrix) else dgetrf)(rest, overwrite_a=True)
        return Factors(inverse, follows, own, below, lu, pivots)  # a singular matrix gives a solution that is not finite

    def solve(self, factors: Factors, b: Array) -> Array:
        """Return the solution (ny) for a right-hand side."""
        nq, x = self.nq, np.empty(len(b), dtype=factors.lu.dtype)
        x[self._q] = factors.inverse * b[self._q]
        for (q, _), (inverse, _) in zip(self._others, factors.own, strict=True):
            x[q] = inverse @ b[q]
        solve: Any = zgetrs if np.iscomplexobj(factors.lu) else dgetrs
        rates = x[nq:] = solve(factors.lu, factors.pivots, b[nq:] - self._below(factors, x[:nq]))[0]
        x[self._q] -= factors.follows * rates[self._v]
        for (q, v), (_, follows) in zip(self._others, factors.own, strict=True):
            x[q] -= follows @ rates[v]
        return x

    def _below(self, factors: Factors, x: Array) -> Array:
        """Return the product of real rows with q, its real and imaginary parts beside each other."""
        product: Array = (factors.below @ x.view(float).reshape(self.nq, -1)).view(x.dtype)[:, 0]
        return product
