"""States in coordinates in which matrix inequalities of a stable model are well scaled."""

from __future__ import annotations

import numpy as np
from scipy.linalg import matrix_balance, solve_continuous_lyapunov

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.state_space import Matrices


def lyapunov_coordinates(A: Array) -> Array:
    """Return T (n, n; inverse units of the states) so that ``|T x|^2`` falls while ``dx/dt = A x``, A stable.

    It falls at half the rate of the slowest pole or faster.
    """
    balanced, scales = matrix_balance(A, permute=False)
    slowest = -float(np.linalg.eigvals(A).real.max())
    shifted = balanced + 0.5 * slowest * np.eye(len(A))
    P = solve_continuous_lyapunov(shifted.T, -np.eye(len(A)))
    root: Array = np.linalg.cholesky((P + P.T) / 2).T
    return root / np.diag(scales)


def decrease(A: Array) -> Array:
    """Return ``-(A + A^T)`` (n, n, 1/s), by which ``x^T x`` falls."""
    return -(A + A.T)


def in_coordinates(A: Array, T: Array) -> Array:
    """Return ``T A T^-1`` (..., n, n, 1/s) of one matrix or a stack."""
    result: Array = T @ A @ np.linalg.inv(T)
    return result


def scaled_loop(system: Matrices) -> tuple[Matrices, Array]:
    """Return a loop with balanced channels in Lyapunov coordinates, its states reached as much as they are seen; and T."""
    T = lyapunov_coordinates(system.A)
    A, B, C = in_coordinates(system.A, T), T @ system.B, system.C @ np.linalg.inv(T)
    root = np.linalg.cholesky(decrease(A))
    into = np.linalg.norm(np.linalg.solve(root, B), 2)
    out = np.linalg.norm(np.linalg.solve(root, C.T), 2)
    size = np.sqrt(out / into) if into and out else 1.0
    return Matrices(A, B * size, C / size, system.D), T
