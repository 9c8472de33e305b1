"""States and channels in coordinates in which matrix inequalities of a stable model are well scaled."""

from __future__ import annotations

import numpy as np
from scipy.linalg import matrix_balance, solve_continuous_lyapunov

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.state_space import Matrices
from titop.solvers.robust.structure import Structure

#: Frequencies, in parts of the poles', at which channels are compared.
_AROUND = np.array([0.0, 0.5, 1.0, 2.0])


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


def scaled_loop(system: Matrices, structure: Structure) -> tuple[Matrices, Array]:
    """Return a loop in Lyapunov coordinates with balanced channels, and T."""
    T = lyapunov_coordinates(system.A)
    w, z = _channel_scales(system, structure)
    A = in_coordinates(system.A, T)
    B, C = T @ system.B * w, (system.C / z[:, None]) @ np.linalg.inv(T)
    root = np.linalg.cholesky(decrease(A))
    into = np.linalg.norm(np.linalg.solve(root, B), 2)
    out = np.linalg.norm(np.linalg.solve(root, C.T), 2)
    size = np.sqrt(out / into) if into and out else 1.0
    return Matrices(A, B * size, C / size, system.D * w / z[:, None]), T


def _channel_scales(system: Matrices, structure: Structure) -> tuple[Array, Array]:
    """Return by what entries of w and of z are divided so that the loop's gains among them are balanced.

    A full block's entries have the same scale; entries of other blocks may have one each, which commutes with them.
    """
    w, z, units = np.zeros(structure.shape[0], dtype=int), np.zeros(structure.shape[1], dtype=int), 0
    for block, own_w, own_z in zip(structure.blocks, structure.w, structure.z, strict=True):
        count = 1 if block.kind == "full" else block.repetitions
        w[own_w] = units + np.arange(count)
        z[own_z] = units + np.arange(count)
        units += count
    poles = np.abs(system.poles)
    omega = np.outer(np.quantile(poles, [0.0, 0.5, 1.0]), _AROUND).ravel() if len(poles) else np.zeros(1)
    gains = np.max([np.abs(system.response(float(x))) for x in omega], axis=0)
    among = np.zeros((units, units))
    np.maximum.at(among, (z[:, None], w[None]), gains)
    _, (scales, _) = matrix_balance(among, permute=False, separate=True)
    return scales[w], scales[z]
