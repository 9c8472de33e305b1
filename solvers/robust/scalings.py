"""Scalings D and G that bound the structured singular value.

No Δ with ``|Δ| <= 1/β`` makes ``1 - M Δ`` singular if for some D, which commutes with Δ, and G = G^H at real blocks

    F = β² D - M^H D M - j (G M - M^H G) > 0,     D > 0

(Fan, Tits, Doyle 1991, "Robustness in the presence of mixed parametric uncertainty and unmodeled dynamics").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from titop.blocks.basics.spatial import Array

#: Errors of rounding of a quadratic form, relative to its terms, an entry.
_ROUNDING = 10 * float(np.finfo(float).eps)


class Scaling(NamedTuple):
    """Scalings at all blocks: D of `w` and of `z`, and G (rows of w, columns of z)."""

    D_w: Array
    D_z: Array
    G: Array

    def form(self, M: Array) -> Array:
        """Return ``M^H D M + j (G M - M^H G)``, n x n in the unit of M squared."""
        skew = 1j * self.G @ M
        form = M.conj().T @ self.D_z @ M + skew + skew.conj().T
        return (form + form.conj().T) / 2

    def bound(self, M: Array, varied: slice = slice(None)) -> float:
        """Return the lowest level of the blocks at `varied` entries of w that the scaling proves, errors of rounding added.

        The level of the others is one. Infinite where the scaling proves no level.
        """
        form, D = self.form(M), self.D_w
        gain = np.linalg.norm(M, 2)
        size = gain * (gain * np.linalg.norm(self.D_z, 2) + 2 * np.linalg.norm(self.G, 2))
        form = form + _ROUNDING * len(D) * size * np.eye(len(D))
        kept = np.ones(len(D), dtype=bool)
        kept[varied] = False
        if kept.any():
            F = D - form
            try:
                inner = cho_factor(F[np.ix_(kept, kept)])
            except LinAlgError:
                return np.inf
            across = F[np.ix_(kept, ~kept)]
            form = form[~kept][:, ~kept] + across.conj().T @ cho_solve(inner, across)
            D = D[~kept][:, ~kept]
        return float(np.sqrt(max(eigh(form, D, eigvals_only=True)[-1], 0.0)))
