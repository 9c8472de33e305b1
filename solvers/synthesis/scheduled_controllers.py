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
    (z, w), m, p, n = D11.shape, B2.shape[1], len(C2), len(A)
    a, b = z - m, w - p
    inner = level**2 * np.eye(b) - D11[:a, :b].T @ D11[:a, :b]
    through = -D11[a:, b:] - D11[a:, :b] @ np.linalg.solve(inner, D11[:a, :b].T @ D11[:a, b:])
    passing = D11 + D12 @ through @ D21
    into, out, closed = B1 + B2 @ through @ D21, C1 + D12 @ through @ C2, A + B2 @ through @ C2
    weight = np.block([[-level * np.eye(w), passing.T], [passing, -level * np.eye(z)]])
    seen, moved = np.hstack([D21, np.zeros((p, z))]), np.hstack([np.zeros((m, w)), D12.T])
    by_measurements = np.linalg.solve(np.block([[np.zeros((p, p)), seen], [seen.T, weight]]), -np.vstack([C2, B1.T @ X, out]))[
        :p
    ].T
    by_states = np.linalg.solve(np.block([[np.zeros((m, m)), moved], [moved.T, weight]]), -np.vstack([B2.T, into.T, C1 @ Y]))[
        :m
    ]
    left = np.hstack([X @ B1 + by_measurements @ D21, out.T])
    right = np.vstack([into.T, C1 @ Y + D12 @ by_states])
    free = -closed.T + left @ np.linalg.solve(weight, right)
    inverse = np.linalg.inv(Y)
    N, M = (-X, Y - np.linalg.inv(X)) if by_x else (inverse - X, Y)
    moving = np.zeros((n, n)) if by_x else inverse @ Y_rate
    inside = (
        moving + free - X @ closed @ Y - (by_measurements - X @ B2 @ through) @ C2 @ Y - X @ B2 @ (by_states - through @ C2 @ Y)
    )
    back = np.linalg.inv(M)
    K_B, K_C = np.linalg.solve(N, by_measurements - X @ B2 @ through), (by_states - through @ C2 @ Y) @ back.T
    return Matrices(np.linalg.solve(N, inside) @ back.T, K_B @ by_y, by_u @ K_C, by_u @ through @ by_y)


def proved_level(plant: Parts, K: Matrices, functions: Functions) -> float:
    """Return the least level of a loop's gain that its function proves, infinite where the function does not fall."""
    A, B1, B2, C1, C2, D11, D12, D21 = plant
    n, k = len(A), len(K.A)
    into, out = (
        np.block([[B2 @ K.D, B2 @ K.C], [K.B, K.A]]),
        np.block([[C2, np.zeros((len(C2), k))], [np.zeros((k, n)), np.eye(k)]]),
    )
    loop = np.block([[A, np.zeros((n, k))], [np.zeros((k, n + k))]]) + into @ out
    B = np.vstack([B1 + B2 @ K.D @ D21, K.B @ D21])
    C, D = np.hstack([C1 + D12 @ K.D @ C2, D12 @ K.C]), D11 + D12 @ K.D @ D21
    P, change = functions.whole()
    fall = -(loop.T @ P + P @ loop + change)
    try:
        np.linalg.cholesky(P)
        root = np.linalg.cholesky((fall + fall.T) / 2)
    except np.linalg.LinAlgError:
        return np.inf
    half = np.linalg.solve(root, np.hstack([P @ B, C.T]))
    z, w = D.shape
    return float(np.linalg.eigvalsh(np.block([[np.zeros((w, w)), D.T], [D, np.zeros((z, z))]]) + half.T @ half)[-1])
