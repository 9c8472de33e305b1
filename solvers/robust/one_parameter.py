"""Where between the points of a grid a Lyapunov function of one parameter may fail: all such values, by eigenvalues."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import Polynomial
from scipy.linalg import eigvals

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.state_space import Matrices

#: Eigenvalues so near the real axis count as real: rounding moves double ones off it by its root.
_REAL = 1e-6


def suspects(system: Matrices, P: Array, slope: Polynomial, rate: float, decay: float) -> Array:
    """Return values of δ (k, no unit) of which one fails if any in [-1, 1] does, given that one holds.

    Where the largest eigenvalue of ``F = A'P + P A + dP/dt + 2 decay P`` crosses zero, F is singular. With
    ``v = (1 - δ D)^-1 C x`` and ``u = (1 - δ D')^-1 B' P x`` this is an eigenvalue problem that is polynomial in δ. If no δ in
    [-1, 1] is an eigenvalue, there are no suspects: F holds everywhere. Otherwise they are these values, those between them,
    and the ends. All members need a response: see `poles`.

    Parameters
    ----------
    system : Matrices
        The channels of one real block.
    P : array (terms, n, n)
        Coefficients of the powers of δ (no unit).
    slope : Polynomial
        See `varying_members.slope_of`.
    rate : float
        Highest rate of the parameter, in its unit per second.
    decay : float
        In 1/s.
    """
    found = np.concatenate([_singular(system, P, sign * rate * slope, decay) for sign in ((1, -1) if rate else (1,))])
    near = found[(np.abs(found.imag) <= _REAL * (1 + np.abs(found))) & (np.abs(found.real) <= 1 + _REAL)].real
    if not len(near):
        return near
    ends = np.unique(np.concatenate([[-1.0], np.clip(near, -1, 1), [1.0]]))
    return np.unique(np.concatenate([ends, (ends[1:] + ends[:-1]) / 2]))


def poles(system: Matrices) -> Array:
    """Return the δ (k, no unit) in [-1, 1] at which members have no response."""
    found = np.linalg.eigvals(system.D)
    near = found[(np.abs(found) >= 1 - _REAL) & (np.abs(found.imag) <= _REAL * np.abs(found))].real
    return np.clip(1 / near, -1, 1)


def _singular(system: Matrices, P: Array, motion: Polynomial, decay: float) -> Array:
    """Return all complex δ at which F is singular, δ changing as a polynomial says (1/s)."""
    A, B, C, D = system.A, system.B, system.C, system.D
    n, r = B.shape
    shifted = A + decay * np.eye(n)
    degree = max(len(P), len(P) - 2 + len(motion.coef))
    K = np.zeros((degree + 1, n + 2 * r, n + 2 * r))
    x, v, u = slice(0, n), slice(n, n + r), slice(n + r, n + 2 * r)
    K[0, v, x], K[0, v, v], K[1, v, v] = -C, np.eye(r), -D
    K[0, u, u], K[1, u, u] = np.eye(r), -D.T
    K[1, x, u] = C.T
    for k, term in enumerate(P):
        K[k, u, x] -= B.T @ term
        K[k, x, x] += shifted.T @ term + term @ shifted
        K[k + 1, x, v] += term @ B
        for j, coefficient in enumerate(motion.coef.tolist()):
            if k:
                K[k - 1 + j, x, x] += k * coefficient * term
    return _polynomial_eigenvalues(K)


def _polynomial_eigenvalues(K: Array) -> Array:
    """Return the finite numbers at which ``K_0 + δ K_1 + δ² K_2 ...`` is singular, from its companion form."""
    degree, size = len(K) - 1, K.shape[-1]
    right = np.eye(degree * size)
    left = np.vstack([-np.hstack([*K[-2::-1]]), right[:-size]])
    right[:size, :size] = K[-1]
    values = eigvals(left, right)
    return values[np.isfinite(values)]
