"""Scalings D and G that bound the structured singular value, and their analytic centres.

No Δ with ``|Δ| <= 1/β`` makes ``1 - M Δ`` singular if for some D, which commutes with Δ, and G = G^H at real blocks

    F = β² D - M^H D M - j (G M - M^H G) > 0,     D > 0

(Fan, Tits, Doyle 1991, "Robustness in the presence of mixed parametric uncertainty and unmodeled dynamics"). With G bounded by
``-g D < G < g D`` what is sought is a set of positive matrices X, one a complex block, two a real one,

    D = (X1 + X2) / 2,   G = g (X1 - X2) / 2,     F = Σ P^H X P - Q^H X Q,

with P and Q combinations of M and 1. The barrier ``-log det F - Σ log det X + Σ tr X`` is self-concordant; its minimum, the
analytic centre, is found by Newton's method. A step costs some N² n² operations, N the sum of squared repetitions, those of
real blocks twice, n that of all.

A hermitian matrix X has the real square matrix ``Y = Re X + Im X`` as coordinates, of the same norm, and
``X = (Y + Y^T + j (Y - Y^T)) / 2``. The image ``U X U^H`` of the coordinate ab alone has the coordinates
``Re(u_a u_b^H) - Im(u_a u_b^H)^T``, u_a a column of U. As images keep their norms, the derivatives of ``-log det F`` along
``F = L L^H`` are sums and scalar products of those of the images under ``L^-1``: gradient ``-tr V_k``, Hessian ``<V_k, V_l>``,
one product of matrices for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dposv, zhegv

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, FEW_ROUNDINGS
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.linear.matrices import Matrices

#: Newton's decrement at which a centre is left. At 1 bounds come out several times too high.
_CENTRED = 0.25

#: Newton steps, and halvings of one.
_STEPS, _HALVINGS = 60, 40


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
        size = gain * (gain * _gain_bound(self.D_z) + 2 * _gain_bound(self.G))
        form = form + FEW_ROUNDINGS * len(D) * size * np.eye(len(D))
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
        values, _, wrong = zhegv(form, D, jobz="N")
        if wrong:
            raise LinAlgError("D is not positive")
        return float(np.sqrt(max(values[-1], 0.0)))

    def normalise(self, system: Matrices) -> tuple[Matrices, Array]:
        """Return a system, and G, for inputs and outputs in which D is one."""
        w, z = (np.linalg.cholesky(D).conj().T for D in (self.D_w, self.D_z))
        w_inverse, z_inverse = np.linalg.inv(w), np.linalg.inv(z)
        scaled = Matrices(system.A, system.B @ w_inverse, z @ system.C, z @ system.D @ w_inverse)
        return scaled, w_inverse.conj().T @ self.G @ z_inverse


class Unknowns:
    """Coordinates of several hermitian matrices of some sizes."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self.places = tuple(slice(*ends) for ends in pairwise(accumulate((r * r for r in sizes), initial=0)))
        self.identity = self.coordinates([np.eye(r) for r in sizes])
        self.alike = {r: [i for i, size in enumerate(sizes) if size == r] for r in sizes}
        self._squares = {r: np.array([np.r_[self.places[i]] for i in group]) for r, group in self.alike.items()}

    def stacks(self, x: Array) -> dict[int, Array]:
        """Return the matrices (k, r x r, no unit) of coordinates by size r."""
        result = {}
        for r, places in self._squares.items():
            Y = x[places].reshape(-1, r, r)
            turned = Y.swapaxes(1, 2)
            result[r] = ((Y + turned) + 1j * (Y - turned)) / 2
        return result

    def matrices(self, x: Array) -> list[Array]:
        """Return the matrices (n x n, no unit) of coordinates."""
        stacks = self.stacks(x)
        every = {i: X for r, group in self.alike.items() for i, X in zip(group, stacks[r], strict=True)}
        return [every[i] for i in range(len(self.sizes))]

    def coordinates(self, matrices: Sequence[Array]) -> Array:
        """Return the coordinates (n, no unit) of matrices."""
        return np.concatenate([(X.real + X.imag).ravel() for X in matrices])

    def are_positive(self, x: Array) -> bool:
        """Tell whether all matrices of coordinates are positive."""
        try:
            for X in self.stacks(x).values():
                np.linalg.cholesky(X)
        except np.linalg.LinAlgError:
            return False
        return True

    def barrier_slopes(self, factors: Mapping[int, Array]) -> tuple[Array, Array]:
        """Return gradient (n,) and Hessian (n x n) of ``-Σ log det X``, without units, from the lower factors of all X."""
        n = self.places[-1].stop
        gradient, hessian = np.empty(n), np.zeros((n, n))
        for r, places in self._squares.items():
            V = _images(np.linalg.inv(factors[r]))
            gradient[places] = -V[:, :, :: r + 1].sum(axis=2)
            hessian[places[:, :, None], places[:, None]] = V @ V.swapaxes(1, 2)
        return gradient, hessian


class _Alike(NamedTuple):
    """X of one size, as large as their P and Q: where these stand, which of that size they are, and their coordinates."""

    size: int
    P: Array
    Q: Array
    group: Array
    coordinates: Array


class _Barrier(NamedTuple):
    """The barrier at a point, and the lower factors of F and, by size, of all X there."""

    value: float
    F: Array
    own: dict[int, Array]


class Centres:
    """Analytic centres of the scalings of a structure.

    `performance`: number of last blocks whose level alone is sought, that of all others being one (skew mu).
    """

    def __init__(self, structure: Structure, performance: int | None = None) -> None:
        self.structure = structure
        self.varied = slice(None) if performance is None else slice(structure.w[-performance].start, structure.shape[0])
        blocks = structure.blocks
        self.owners = [(k, s) for k, b in enumerate(blocks) for s in ((1, -1) if b.kind == "real" else (0,))]
        self.unknowns = Unknowns([1 if blocks[k].kind == "full" else blocks[k].repetitions for k, _ in self.owners])

        # where P and Q of each X stand among all; and, by size, those of the X that are as large as both
        ends = [0, *accumulate(s.stop - s.start for k, _ in self.owners for s in (structure.w[k], structure.z[k]))]
        spans, places = [np.arange(*pair) for pair in pairwise(ends)], self.unknowns.places
        self._sides = [*zip(spans[::2], spans[1::2], strict=True)]
        self._equal, self._others = list[_Alike](), list[int]()
        for r, alike in self.unknowns.alike.items():
            group = [i for i in alike if len(self._sides[i][0]) == len(self._sides[i][1]) == r]
            self._others += [i for i in alike if i not in group]
            if group:
                P, Q = (np.concatenate(side) for side in zip(*(self._sides[i] for i in group), strict=True))
                self._equal.append(
                    _Alike(r, P, Q, np.array([alike.index(i) for i in group]), np.r_[*(places[i] for i in group)])
                )

    def levels(self, level: float) -> Array:
        """Return the levels of all entries of w."""
        levels = np.ones(self.structure.shape[0])
        levels[self.varied] = level
        return levels

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

    def widen(self, x: Array, g: float, wider: float) -> Array:
        """Return the coordinates of the same scaling for a larger bound of G."""
        X = self.unknowns.matrices(x)
        kept, mixed = (1 + g / wider) / 2, (1 - g / wider) / 2
        others = [i + sign for i, (_, sign) in enumerate(self.owners)]
        return self.unknowns.coordinates([kept * Y + mixed * X[other] for Y, other in zip(X, others, strict=True)])

    def bound(self, M: Array, x: Array, g: float) -> float:
        """Return the level that coordinates prove; see `Scaling.bound`."""
        return self.scaling(x, g).bound(M, self.varied)

    def shares(self, M: Array, x: Array, g: float) -> Array:
        """Return by block (n, no unit, of sum one) how the bound grows with the block's own range.

        With level and scaling held, the bound's relative growth is ``tr(D F^-1)`` of a block over that of all.
        """
        scaling = self.scaling(x, g)
        level = self.bound(M, x, g)
        weights = self.levels(level * (1 + CLOSE))
        F = weights[:, None] * scaling.D_w * weights - scaling.form(M)
        held = (weights[:, None] * scaling.D_w * weights) @ np.linalg.pinv(F, hermitian=True)
        shares = np.abs(np.array([np.trace(held[w, w]).real for w in self.structure.w]))
        return shares / shares.sum() if shares.sum() else shares

    def centre(self, M: Array, level: float, g: float, start: Array) -> Array | None:
        """Return the coordinates of the centre at a level from coordinates that are feasible there; None where they are not."""
        factors, x = self._factors(M, level, g), start
        at = self._barrier(factors, x)
        if at is None:
            return None
        for _ in range(_STEPS):
            gradient, hessian = self._slopes(factors, at)
            _, step, wrong = dposv(hessian, -gradient)
            if wrong:
                return x
            decrement = float(np.sqrt(max(-gradient @ step, 0.0)))
            if decrement < _CENTRED:
                return x
            length = 1.0
            for _ in range(_HALVINGS):
                new = self._barrier(factors, x + length * step)
                if new is not None and new.value <= at.value - 0.1 * length * decrement**2:
                    break
                length *= 0.5
            else:
                return x
            x, at = x + length * step, new
        return x

    def _factors(self, M: Array, level: float, g: float) -> Array:
        """Return P and Q of each X, one below the other."""
        parts = []
        unit = np.diag(self.levels(level))
        for k, sign in self.owners:
            unit_rows, response = unit[self.structure.w[k]], M[self.structure.z[k]]
            if sign:
                b = unit[self.structure.w[k].start].max()
                values, vectors = np.linalg.eigh(np.array([[-1, 1j * sign * g / b], [-1j * sign * g / b, 1]]) / 2)
                mixed = [
                    np.sqrt(abs(value)) * (first * response + second * unit_rows)
                    for value, (first, second) in zip(values, vectors.conj().T, strict=True)
                ]
                parts += [mixed[1], mixed[0]]
            else:
                parts += [unit_rows, response]
        return np.concatenate(parts).astype(complex)

    def _barrier(self, factors: Array, x: Array) -> _Barrier | None:
        """Return the barrier at a point, None outside its domain."""
        stacks, products, n = self.unknowns.stacks(x), np.empty_like(factors), factors.shape[1]
        for r, P, Q, group, _ in self._equal:
            X = stacks[r][group]
            products[P] = (X @ factors[P].reshape(-1, r, n)).reshape(-1, n)
            products[Q] = -(X @ factors[Q].reshape(-1, r, n)).reshape(-1, n)
        for i in self._others:
            (P, Q), r = self._sides[i], self.unknowns.sizes[i]
            X = stacks[r][self.unknowns.alike[r].index(i)]
            products[P], products[Q] = _times(X, factors[P]), -_times(X, factors[Q])
        try:
            roots = {r: np.linalg.cholesky(X) for r, X in stacks.items()}
            F = np.linalg.cholesky(factors.conj().T @ products)
        except np.linalg.LinAlgError:
            return None
        logs = sum(float(np.log(L.diagonal(0, -2, -1).real).sum()) for L in (F, *roots.values()))
        return _Barrier(float(self.unknowns.identity @ x) - 2 * logs, F, roots)

    def _slopes(self, factors: Array, at: _Barrier) -> tuple[Array, Array]:
        """Return gradient and Hessian of the barrier."""
        n = len(at.F)
        inner = np.linalg.solve(at.F, factors.conj().T)  # LAPACK's for triangles wakes threads for two rows
        V = np.empty((len(self.unknowns.identity), n * n))
        for r, of_P, of_Q, _, rows in self._equal:
            U, W = (inner[:, of].reshape(n, -1, r).swapaxes(0, 1) for of in (of_P, of_Q))
            V[rows] = (_images(U) - _images(W)).reshape(-1, n * n)
        for i in self._others:
            U, W = (inner[:, of] for of in self._sides[i])
            Z = U @ U.conj().T - W @ W.conj().T
            V[self.unknowns.places[i]] = (Z.real + Z.imag).ravel()
        gradient, hessian = self.unknowns.barrier_slopes(at.own)
        traces = V[:, :: n + 1].sum(axis=1)
        return gradient - traces + self.unknowns.identity, hessian + V @ V.T


def _gain_bound(M: Array) -> float:
    """Return a number that the largest singular value does not exceed: a mean of the largest sums of rows and of columns."""
    sizes = np.abs(M)
    return float(np.sqrt(sizes.sum(axis=0).max(initial=0.0) * sizes.sum(axis=1).max(initial=0.0)))


def _images(U: Array) -> Array:
    """Return the coordinates (k, r², m²) of ``U X U^H`` for each coordinate of X (r x r) alone, of k U (m x r)."""
    k, m, r = U.shape
    columns = U.swapaxes(1, 2)
    outer = columns[:, :, None, :, None] * columns.conj()[:, None, :, None, :]
    return (outer.real - outer.imag.swapaxes(3, 4)).reshape(k, r * r, m * m)


def _times(X: Array, P: Array) -> Array:
    """Return X P, X also a number for more rows."""
    return np.asarray(X @ P if len(X) == len(P) else X[0, 0] * P)
