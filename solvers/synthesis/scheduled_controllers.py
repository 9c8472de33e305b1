"""Controllers that follow parameters, from functions X and Y of these, and the level of a loop that its function proves.

With ``X > Y^-1`` the loop's function is ``V = x' X x`` where the controller rests, least over its states ``x' Y^-1 x``. The
controller's states estimate the plant's (x): in coordinates in which only one of X and Y may change, it needs no rates.

Source: Gahinet, Explicit controller formulas for LMI-based H-infinity synthesis, Automatica 32 (1996); Apkarian and Adams,
Advanced gain-scheduling techniques for uncertain systems, IEEE Transactions on Control Systems Technology 6 (1998).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.linear.matrices import Matrices
from titop.solvers.synthesis.general_plant import close
from titop.solvers.synthesis.riccati import Parts


class Functions(NamedTuple):
    """X and Y (n, n, no unit) at a point, and their rates of change (1/s in balanced units).

    `by_x`: whether the states are those of X, which is constant; else those of Y.
    """

    X: Array
    Y: Array
    X_rate: Array
    Y_rate: Array
    by_x: bool

    def whole(self) -> tuple[Array, Array]:
        """Return the matrix P (2 n, 2 n) of the loop's function, and its rate of change."""
        X, Y, X_rate, Y_rate, by_x = self
        inverse = np.linalg.inv(Y)
        change = -inverse @ Y_rate @ inverse  # of the inverse
        S, S_rate = X - inverse, X_rate - change
        if not by_x:
            return np.block([[X, -S], [-S, S]]), np.block([[X_rate, -S_rate], [-S_rate, S_rate]])
        across = np.linalg.solve(S, X)
        zero = np.zeros_like(X)
        return np.block([[X, -X], [-X, X @ across]]), np.block([[zero, zero], [zero, -across.T @ S_rate @ across]])


def controller_at(plant: Parts, functions: Functions, level: float) -> Matrices:
    """Return the controller of a regular plant for a gain below a level, at which X and Y satisfy their inequalities."""
    (A, B1, B2, C1, C2, D11, D12, D21), by_u, by_y = plant.normalise()
    X, Y, _, Y_rate, by_x = functions
    (z, w), m, p = D11.shape, B2.shape[1], len(C2)
    a, b = z - m, w - p
    inner = level**2 * np.eye(b) - D11[:a, :b].T @ D11[:a, :b]
    through = -D11[a:, b:] - D11[a:, :b] @ np.linalg.solve(inner, D11[:a, :b].T @ D11[:a, b:])
    passing = D11 + D12 @ through @ D21
    into, out, closed = B1 + B2 @ through @ D21, C1 + D12 @ through @ C2, A + B2 @ through @ C2
    weight = np.block([[-level * np.eye(w), passing.T], [passing, -level * np.eye(z)]])
    seen, moved = np.hstack([D21, np.zeros((p, z))]), np.hstack([np.zeros((m, w)), D12.T])
    # the terms of controls and measurements in both inequalities: L of ``X``, F of ``Y``; what u passes at once apart
    L = _best(seen, weight, np.vstack([C2, B1.T @ X, out])).T
    F = _best(moved, weight, np.vstack([B2.T, into.T, C1 @ Y]))
    across = np.hstack([X @ B1 + L @ D21, out.T]) @ np.linalg.solve(weight, np.vstack([into.T, C1 @ Y + D12 @ F]))
    L, F = L - X @ B2 @ through, F - through @ C2 @ Y
    inverse = np.linalg.inv(Y)
    N, M = (-X, Y - np.linalg.inv(X)) if by_x else (inverse - X, Y)
    inside = across - closed.T - X @ closed @ Y - L @ C2 @ Y - X @ B2 @ F
    if not by_x:
        inside = inside + inverse @ Y_rate
    A_K, C_K = (np.linalg.solve(M, part.T).T for part in (np.linalg.solve(N, inside), F))
    return Matrices(A_K, np.linalg.solve(N, L) @ by_y, by_u @ C_K, by_u @ through @ by_y)


def _best(seen: Array, weight: Array, right: Array) -> Array:
    """Return what lowers an inequality most: the multipliers of ``seen v = -right`` for the least of a quadratic form."""
    size = len(seen)
    return np.asarray(np.linalg.solve(np.block([[np.zeros((size, size)), seen], [seen.T, weight]]), -right)[:size])


def proved_level(plant: Parts, K: Matrices, functions: Functions) -> float:
    """Return the least level of a loop's gain that its function proves, infinite where the function does not fall."""
    B1, C1, D11 = plant.B1, plant.C1, plant.D11
    through = np.block([[D11, plant.D12], [plant.D21, np.zeros((len(plant.C2), plant.B2.shape[1]))]])
    open_loop = Matrices(plant.A, np.hstack([B1, plant.B2]), np.vstack([C1, plant.C2]), through)
    A, B, C, D = close(open_loop, K, *D11.shape)
    P, change = functions.whole()
    fall = -(A.T @ P + P @ A + change)
    try:
        np.linalg.cholesky(P)
        root = np.linalg.cholesky((fall + fall.T) / 2)
    except np.linalg.LinAlgError:
        return np.inf
    half = np.linalg.solve(root, np.hstack([P @ B, C.T]))
    z, w = D.shape
    return float(np.linalg.eigvalsh(np.block([[np.zeros((w, w)), D.T], [D, np.zeros((z, z))]]) + half.T @ half)[-1])
