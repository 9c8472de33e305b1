"""Central H-infinity and H2 controllers, in observer form, and perturbations that make every plant regular.

A plant is regular if all controls are seen in z (D12 of full column rank), all measurements have noise (D21 of full row rank),
and no zero of these channels is on the axis. Every plant becomes regular with ``ε u`` and ``ε x`` as further errors, noise of
size ε on measurements and states as further disturbances. That only adds to the gain: with the plant itself a controller has
at most the gain that it has with the perturbed one, and the least gain falls to the infimum with ε. Zeros on the axis, as of
undamped modes that no disturbance excites, cost less if the axis is moved: what is stable with a gain to the right of -ε has no
more on the axis, so that ``A + ε`` stands for A.

Source: Glover and Doyle, State-space formulae for all stabilizing controllers that satisfy an H-infinity norm bound, Systems &
Control Letters 11 (1988); in the notation of Zhou, Doyle and Glover, Robust and Optimal Control (1996), theorem 17.1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import matrix_balance, ordqz, qr, schur, solve_discrete_are

from titop.blocks.basics.ranks import decided_rank
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import BALANCED, CANCELLED, NEGLIGIBLE, ROUNDING, SAME, SINGULAR
from titop.solvers.linear.matrices import Matrices


class Parts(NamedTuple):
    """A plant ``(w, u) -> (z, y)`` in parts, without what passes from u to y at once."""

    A: Array
    B1: Array
    B2: Array
    C1: Array
    C2: Array
    D11: Array
    D12: Array
    D21: Array

    @property
    def is_regular(self) -> bool:
        """Whether D12 and D21 have full rank; zeros on the axis show where the Riccati equations have no solution."""
        return all(
            decided_rank(sizes, SINGULAR * max(float(sizes.max(initial=0.0)), 1.0)) == len(sizes) == count
            for D, count in ((self.D12, self.D12.shape[1]), (self.D21, len(self.D21)))
            for sizes in [np.linalg.svd(D, compute_uv=False)]
        )

    def perturb(self, noise: float, shift: float = 0.0, states: bool = True) -> Parts:
        """Return the plant with further errors and disturbances of a size, `states` among them, its axis moved to the left."""
        A, B1, B2, C1, C2, D11, D12, D21 = self
        n, m, p, (z, w), k = len(A), B2.shape[1], len(C2), D11.shape, len(A) * states
        A = A + shift * np.eye(n)
        if not noise:
            return self._replace(A=A)
        more_D = np.zeros((z + k + m, w + k + p))
        more_D[:z, :w] = D11
        return Parts(
            A,
            np.hstack([B1, noise * np.eye(n, k), np.zeros((n, p))]),
            B2,
            np.vstack([C1, noise * np.eye(k, n), np.zeros((m, n))]),
            C2,
            more_D,
            np.vstack([D12, np.zeros((k, m)), noise * np.eye(m)]),
            np.hstack([D21, np.zeros((p, k)), noise * np.eye(p)]),
        )

    def turn(self, basis: Array) -> Parts:
        """Return the plant with other states: the columns of a basis (n, n) are theirs."""
        back = np.linalg.inv(basis)
        A, B1, B2, C1, C2, *D = self
        return Parts(back @ A @ basis, back @ B1, back @ B2, C1 @ basis, C2 @ basis, *D)

    def even_basis(self) -> Array:
        """Return a basis (n, n) in which both Riccati equations of H2 control have the same diagonal solution."""
        A, B1, B2, C1, C2, _, D12, D21 = self.perturb(NEGLIGIBLE)
        X = stabilizing_solution(A, B2, C1.T @ C1, C1.T @ D12, D12.T @ D12)
        Y = stabilizing_solution(A.T, C2.T, B1 @ B1.T, B1 @ D21.T, D21 @ D21.T)
        if X is None or Y is None:
            return np.eye(len(A))
        try:
            root = np.linalg.cholesky(Y)
        except np.linalg.LinAlgError:
            return np.eye(len(A))
        turned, sizes, _ = np.linalg.svd(root.T @ X @ root)
        return np.asarray(root @ turned / np.maximum(sizes, NEGLIGIBLE * sizes[:1]) ** 0.25)

    def normalise(self) -> tuple[Parts, Array, Array]:
        """Return a regular plant with ``D12 = [0; 1]`` and ``D21 = [0, 1]``, and what u and y are multiplied by."""
        A, B1, B2, C1, C2, D11, D12, D21 = self
        m, p = B2.shape[1], len(C2)
        left, sizes, right = np.linalg.svd(D12)
        errors, by_u = np.hstack([left[:, m:], left[:, :m]]), right.T / sizes
        left, sizes, right = np.linalg.svd(D21)
        noises, by_y = np.vstack([right[p:], right[:p]]), left.T / sizes[:, None]
        z, w = D11.shape
        B1, C1, D11 = B1 @ noises.T, errors.T @ C1, errors.T @ D11 @ noises.T
        return Parts(A, B1, B2 @ by_u, C1, by_y @ C2, D11, np.eye(z, m, m - z), np.eye(p, w, w - p)), by_u, by_y


def stabilizing_solution(A: Array, B: Array, Q: Array, S: Array, R: Array) -> Array | None:
    """Return the X of ``Aᵀ X + X A + Q - (X B + S) R⁻¹ (Bᵀ X + Sᵀ) = 0`` that stabilizes; None where none is positive.

    From the pencil that does not invert R (van Dooren 1981), which may be indefinite.
    """
    n, m = B.shape
    if not n:
        return np.zeros((0, 0))
    pencil = np.block([[A, np.zeros((n, n)), B], [-Q, -A.T, -S], [S.T, B.T, R]])
    # units in which it is balanced, inverse ones for both halves of the states (as in SciPy)
    sizes = np.abs(pencil)
    np.fill_diagonal(sizes, 0.0)
    powers = np.log2(matrix_balance(sizes, permute=False, separate=True)[1][0])
    half = np.round((powers[n : 2 * n] - powers[:n]) / 2)
    units = 2.0 ** np.r_[half, -half, powers[2 * n :]]
    pencil = pencil * units[:, None] / units
    turned = qr(pencil[:, 2 * n :])[0][:, m:].T
    basis = _stable_basis(turned @ pencil[:, : 2 * n], turned[:, : 2 * n])
    if basis is None:  # equal eigenvalues near the axis that QZ cannot order, a matrix perhaps
        inner = np.linalg.solve(pencil[2 * n :, 2 * n :], pencil[2 * n :, : 2 * n])
        basis = _stable_basis(pencil[: 2 * n, : 2 * n] - pencil[: 2 * n, 2 * n :] @ inner)
    if basis is None:
        return None
    upper, lower = basis[:n], basis[n:]
    sizes = np.linalg.svd(upper, compute_uv=False)
    if sizes[-1] <= CANCELLED * sizes[0]:
        return None
    # Uᵀ X U, whose size is at most one: what is rounding in it is known, while X itself may be all rounding
    seen = upper.T @ lower
    size = np.abs(seen).max()
    if np.abs(seen - seen.T).max() > max(NEGLIGIBLE * size, SAME):
        return None
    if np.linalg.eigvalsh(seen + seen.T)[0] < -max(BALANCED * size, SAME):
        return None
    X = np.linalg.solve(upper.T, lower.T) * units[:n, None] * units[:n]
    return np.asarray((X + X.T) / 2)


def _stable_basis(matrix: Array, other: Array | None = None) -> Array | None:
    """Return a basis of the stable half of a matrix or pencil; None if half of the eigenvalues are not clearly stable."""
    n = len(matrix) // 2
    try:
        if other is None:
            _, basis, _ = schur(matrix, sort="lhp")
            values = np.linalg.eigvals(matrix)
        else:
            _, _, top, bottom, _, basis = ordqz(matrix, other, sort="lhp", check_finite=False)
            with np.errstate(divide="ignore", invalid="ignore"):
                values = top / bottom
    except (np.linalg.LinAlgError, ValueError):  # they could not be ordered
        return None
    if not np.isfinite(values).all() or (values.real < 0).sum() != n:
        return None
    return basis[:, :n] if np.abs(values.real).min() > ROUNDING * np.abs(values).max() else None


def hinf_controller(plant: Parts, level: float) -> Matrices | None:
    """Return the central controller of a regular plant for a gain below a level; None where no controller reaches it.

    Its states estimate the plant's while the worst disturbance acts.
    """
    (A, B1, B2, C1, C2, D11, D12, D21), by_u, by_y = plant.normalise()
    n, (z, w), m, p = len(A), D11.shape, B2.shape[1], len(C2)
    a, b, square = z - m, w - p, level**2
    if any(np.linalg.norm(part, 2) >= level for part in (D11[:a], D11[:, :b]) if part.size):
        return None
    B, C, across, down = np.hstack([B1, B2]), np.vstack([C1, C2]), np.hstack([D11, D12]), np.vstack([D11, D21])
    R, R_dual = across.T @ across, down @ down.T
    R[:w, :w] -= square * np.eye(w)
    R_dual[:z, :z] -= square * np.eye(z)
    X = stabilizing_solution(A, B, C1.T @ C1, C1.T @ across, R)
    if X is None:
        return None
    Y = stabilizing_solution(A.T, C.T, B1 @ B1.T, B1 @ down.T, R_dual)
    if Y is None or np.abs(np.linalg.eigvals(X @ Y)).max(initial=0.0) >= square * (1 - SAME):
        return None
    F = -np.linalg.solve(R, across.T @ C1 + B.T @ X)
    L = -np.linalg.solve(R_dual, (B1 @ down.T + Y @ C.T).T).T
    D1111, D1112, D1121, D1122 = D11[:a, :b], D11[:a, b:], D11[a:, :b], D11[a:, b:]
    inner, outer = square * np.eye(b) - D1111.T @ D1111, square * np.eye(a) - D1111 @ D1111.T
    passing = -D1122 - D1121 @ np.linalg.solve(inner, D1111.T @ D1112)
    out = np.linalg.cholesky(np.eye(m) - D1121 @ np.linalg.solve(inner, D1121.T))
    into = np.linalg.cholesky(np.eye(p) - D1112.T @ np.linalg.solve(outer, D1112)).T
    Z = np.linalg.inv(np.eye(n) - Y @ X / square)
    B2_hat, C2_hat = Z @ (B2 + L[:, a:z]) @ out, -into @ (C2 + F[b:w])
    B1_hat = -Z @ L[:, z:] + B2_hat @ np.linalg.solve(out, passing)
    by_x = np.linalg.solve(into, C2_hat)
    central = Matrices(A + B @ F + B1_hat @ by_x, B1_hat, F[w:] + passing @ by_x, passing)
    return Matrices(central.A, central.B @ by_y, by_u @ central.C, by_u @ central.D @ by_y)


def h2_controller(plant: Parts) -> Matrices | None:
    """Return the H2-optimal controller of a regular plant without D11: state feedback of a Kalman filter's estimates."""
    A, B1, B2, C1, C2, _, D12, D21 = plant
    R, R_dual = D12.T @ D12, D21 @ D21.T
    X = stabilizing_solution(A, B2, C1.T @ C1, C1.T @ D12, R)
    Y = stabilizing_solution(A.T, C2.T, B1 @ B1.T, B1 @ D21.T, R_dual)
    if X is None or Y is None:
        return None
    F = -np.linalg.solve(R, B2.T @ X + D12.T @ C1)
    L = np.linalg.solve(R_dual, C2 @ Y + D21 @ B1.T).T
    return Matrices(A + B2 @ F - L @ C2, L, F, np.zeros((B2.shape[1], len(C2))))


def sampled_h2_controller(plant: Parts) -> Matrices | None:
    """Return the H2-optimal controller of a sampled plant, which uses each measurement at once; D11 is allowed.

    Its states are predictions. Of the newest measurement it corrects them, and what D21 tells of the disturbance.
    """
    A, B1, B2, C1, C2, D11, D12, D21 = plant
    if not len(A):
        X = Y = np.zeros((0, 0))
    try:
        if len(A):
            X = solve_discrete_are(A, B2, C1.T @ C1, D12.T @ D12, s=C1.T @ D12)
            Y = solve_discrete_are(A.T, C2.T, B1 @ B1.T, D21 @ D21.T, s=B1 @ D21.T)
        R, R_dual = D12.T @ D12 + B2.T @ X @ B2, D21 @ D21.T + C2 @ Y @ C2.T
        F = -np.linalg.solve(R, B2.T @ X @ A + D12.T @ C1)
        by_w = -np.linalg.solve(R, B2.T @ X @ B1 + D12.T @ D11)
        L = np.linalg.solve(R_dual, C2 @ Y @ A.T + D21 @ B1.T).T
        M = np.linalg.solve(R_dual, C2 @ Y @ F.T + D21 @ by_w.T).T
    except (np.linalg.LinAlgError, ValueError):
        return None
    return Matrices(A + B2 @ F - (B2 @ M + L) @ C2, B2 @ M + L, F - M @ C2, M)
