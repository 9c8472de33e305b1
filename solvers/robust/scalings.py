"""Scalings D and G that bound the structured singular value, and their analytic centres at a level.

No Δ with ``|Δ| <= 1/β`` makes ``1 - M Δ`` singular if for some D, which commutes with Δ, and G = G^H at real blocks

    F = β² D - M^H D M - j (G M - M^H G) > 0,     D > 0

(Fan, Tits, Doyle 1991, "Robustness in the presence of mixed parametric uncertainty and unmodeled dynamics"). With G bounded by
``-g D < G < g D`` what is sought is a set of positive matrices X, one a complex block, two a real one,

    D = (X1 + X2) / 2,   G = g (X1 - X2) / 2,     F = Σ P^H X P - Q^H X Q,

with P and Q combinations of M and 1. The barrier ``-log det F - Σ log det X + Σ tr X`` is self-concordant; its minimum, the
analytic centre, is found by Newton's method. A step costs some N² operations, N the sum of squared repetitions, those of real
blocks twice, and N³/3 for the solution.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigh

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.hermitian import Unknowns
from titop.solvers.robust.structure import Structure

#: Newton's decrement at which a centre is left. At 1 bounds come out several times too high.
_CENTRED = 0.25

#: Newton steps, and halvings of one.
_STEPS, _HALVINGS = 60, 40

#: How far above the bound it is asked what drives it.
_CLOSE = 1e-4

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


class Centres:
    """Analytic centres of the scalings of a structure.

    Parameters
    ----------
    structure : Structure
    performance : int, optional
        Place of a block whose level alone is sought, that of all others being one (skew mu).
    """

    def __init__(self, structure: Structure, performance: int | None = None) -> None:
        self.structure = structure
        self.performance = performance
        self.varied = slice(None) if performance is None else structure.w[performance]
        self.owners = [(k, s) for k, b in enumerate(structure.blocks) for s in ((1, -1) if b.kind == "real" else (0,))]

    @cached_property
    def unknowns(self) -> Unknowns:
        """The matrices X."""
        blocks = self.structure.blocks
        sizes = [1 if blocks[k].kind == "full" else blocks[k].repetitions for k, _ in self.owners]
        return Unknowns.of(
            [(r, blocks[k].repetitions, blocks[k].columns) for r, (k, _) in zip(sizes, self.owners, strict=True)]
        )

    def levels(self, level: float) -> Array:
        """Return the levels of all entries of w."""
        levels = np.ones(self.structure.shape[0])
        levels[self.varied] = level
        return levels

    def factors(self, M: Array, level: float, g: float) -> Array:
        """Return all P and Q, stacked."""
        rows = []
        unit = np.diag(self.levels(level))
        for k, sign in self.owners:
            own, response = unit[self.structure.w[k]], M[self.structure.z[k]]
            if not sign:
                rows += [own, response]
                continue
            b = unit[self.structure.w[k].start].max()
            values, vectors = np.linalg.eigh(np.array([[-1, 1j * sign * g / b], [-1j * sign * g / b, 1]]) / 2)
            for value, (first, second) in zip(values[::-1], vectors.conj().T[::-1], strict=True):
                rows.append(np.sqrt(abs(value)) * (first * response + second * own))
        return np.concatenate(rows)

    def scaling(self, x: Array, g: float) -> Scaling:
        """Return D and G of coordinates."""
        blocks, (rows, columns) = self.structure.blocks, self.structure.shape
        D_w, D_z = np.zeros((rows, rows), dtype=complex), np.zeros((columns, columns), dtype=complex)
        G = np.zeros((rows, columns), dtype=complex)
        for (k, sign), X in zip(self.owners, self.unknowns.matrices(x), strict=True):
            w, z = self.structure.w[k], self.structure.z[k]
            if blocks[k].kind == "full":
                D_w[w, w], D_z[z, z] = X * np.eye(blocks[k].repetitions), X * np.eye(blocks[k].columns)
                continue
            half = 0.5 if sign else 1.0
            D_w[w, w] += half * X
            D_z[z, z] += half * X
            G[w, z] += half * sign * g * X
        return Scaling(D_w, D_z, G)

    def bound(self, M: Array, x: Array, g: float) -> float:
        """Return the level that coordinates prove; see `Scaling.bound`."""
        return self.scaling(x, g).bound(M, self.varied)

    def shares(self, M: Array, x: Array, g: float) -> Array:
        """Return by block (n, no unit, of sum one) how the bound grows with the block's own range.

        With level and scaling held, the bound's relative growth is ``tr(D F^-1)`` of a block over that of all.
        """
        scaling = self.scaling(x, g)
        level = self.bound(M, x, g)
        weights = self.levels(level * (1 + _CLOSE))
        F = weights[:, None] * scaling.D_w * weights - scaling.form(M)
        held = (weights[:, None] * scaling.D_w * weights) @ np.linalg.pinv(F, hermitian=True)
        shares = np.abs(np.array([np.trace(held[w, w]).real for w in self.structure.w]))
        return shares / shares.sum() if shares.sum() else shares

    def centre(self, M: Array, level: float, g: float, start: Array) -> Array | None:
        """Return the coordinates of the centre at a level from coordinates that are feasible there; None where they are not."""
        R, x = self.factors(M, level, g), start
        value, factor = self._value(R, x)
        if factor is None:
            return None
        for _ in range(_STEPS):
            K = R @ cho_solve(factor, R.conj().T)
            gradient, hessian = self.unknowns.slopes(K)
            inverses = [np.linalg.inv(X) for X in self.unknowns.matrices(x)]
            own_gradient, own_hessian = self.unknowns.own_slopes(inverses)
            gradient = gradient + own_gradient + self.unknowns.identity
            try:
                step = -cho_solve(cho_factor(hessian + own_hessian), gradient)
            except LinAlgError:
                return x
            decrement = float(np.sqrt(max(-gradient @ step, 0.0)))
            if decrement < _CENTRED:
                return x
            length = 1.0
            for _ in range(_HALVINGS):
                new_value, new_factor = self._value(R, x + length * step)
                if new_factor is not None and new_value <= value - 0.1 * length * decrement**2:
                    break
                length *= 0.5
            else:
                return x
            x, value, factor = x + length * step, new_value, new_factor
        return x

    def _value(self, R: Array, x: Array) -> tuple[float, tuple[Array, bool] | None]:
        """Return the barrier and F's factor, or infinity and None."""
        try:
            factor = cholesky(R.conj().T @ self.unknowns.stacked(x) @ R, lower=True)
            own = [cholesky(X, lower=True) for X in self.unknowns.matrices(x)]
        except LinAlgError:
            return np.inf, None
        logs = sum(float(np.log(np.diag(L).real).sum()) for L in (factor, *own))
        return float(self.unknowns.identity @ x) - 2 * logs, (factor, True)
