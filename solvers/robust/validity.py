"""Between which frequencies a scaling that holds at one of them stays valid.

With ``N = [M; 1]`` and ``Π = [-D_z, j G; -j G, L² D_w]``, L the levels, the condition is ``F = N^H Π N > 0``: a hermitian
function of frequency that changes its sign only where F is singular, at the imaginary eigenvalues of a Hamiltonian matrix
(Boyd, Balakrishnan, Kabamba 1989). About a frequency ω0 they are sought in the plane of ``p = 1 / (s - j ω0)``: what is
next to ω0 is far away there and well conditioned, and infinity is the point p = 0.

Rounding moves eigenvalues off the axis, the more the larger the scalings and the weaker the damping. So F itself is looked at
too, where eigenvalues and poles are, on the axis or not, and halfway between: an interval ends before the first of these
frequencies at which F is not positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.scalings import Scaling
from titop.solvers.robust.state_space import Matrices

#: An eigenvalue this near to the imaginary axis, relative to its size and to the largest, counts as a crossing.
_NEAR, _NEAR_LARGEST = 1e-6, 1e-9

#: Intervals are cut by this part of their length: crossings are known but for rounding.
_CUT = 1e-4

#: Errors of rounding of F, relative to its largest eigenvalue, an entry.
_ROUNDING = 10 * float(np.finfo(float).eps)

#: How far F is looked at beyond the last frequency that matters (factor).
_BEYOND = 2.0


def valid_interval(system: Matrices, scaling: Scaling, levels: Array, omega: float) -> tuple[float, float]:
    """Return the frequencies (rad/s), from zero to infinity, between which ``F > 0`` holds, given that it does at `omega`."""
    system, G = _normalised(system, scaling)
    crossings, places = _crossings(system, G, levels, omega)
    if np.isinf(omega):
        low, high = max(crossings, default=0.0) * (1 + _CUT), np.inf
    else:
        above = min((w for w in crossings if w > omega), default=np.inf)
        below = max((w for w in crossings if w < omega), default=-np.inf)
        high = above if np.isinf(above) else above - _CUT * (above - omega)
        low = max(below + _CUT * (omega - below) if np.isfinite(below) else 0.0, 0.0)
    places = [*places, *system.poles.imag.tolist(), *np.abs(system.poles).tolist()]
    return _confirmed(system, G, levels, omega, (low, high), places)


def _confirmed(
    system: Matrices, G: Array, levels: Array, omega: float, interval: tuple[float, float], places: Sequence[float]
) -> tuple[float, float]:
    """Return the part of an interval about a frequency in which F is positive wherever it is looked at."""
    low, high = interval
    inside = sorted({abs(w) for w in places if low < abs(w) < high and np.isfinite(w)})
    ends = [low, *inside, high if np.isfinite(high) else _BEYOND * max([1.0, low, *inside])]
    seen = np.array(sorted({*ends, high, omega, *((a + b) / 2 for a, b in pairwise(ends))}))
    good = _is_positive(system, G, levels, seen) | (seen == omega)
    at = int(np.searchsorted(seen, omega))
    wrong = np.flatnonzero(~good)
    before, after = wrong[wrong < at], wrong[wrong > at]
    return float(seen[before[-1] + 1] if before.size else low), float(seen[after[0] - 1] if after.size else high)


def _is_positive(system: Matrices, G: Array, levels: Array, frequencies: Array) -> Array:
    """Tell whether F is positive, by more than errors of rounding, at each frequency."""
    M = np.array([system.response(float(omega)) for omega in frequencies])
    skew = 1j * G @ M
    values = np.linalg.eigvalsh(np.diag(levels**2) - M.conj().swapaxes(1, 2) @ M - skew - skew.conj().swapaxes(1, 2))
    return np.asarray(values[:, 0] > _ROUNDING * len(levels) * np.abs(values).max(axis=1))


def _normalised(system: Matrices, scaling: Scaling) -> tuple[Matrices, Array]:
    """Return the system and G for inputs and outputs in which D is one."""
    w, z = np.linalg.cholesky(scaling.D_w), np.linalg.cholesky(scaling.D_z)
    w_inverse = np.linalg.inv(w)
    inputs, outputs = w_inverse.conj().T, z.conj().T
    scaled = Matrices(system.A, system.B @ inputs, outputs @ system.C, outputs @ system.D @ inputs)
    return scaled, w_inverse @ scaling.G @ np.linalg.inv(z).conj().T


def _crossings(system: Matrices, G: Array, levels: Array, omega: float) -> tuple[list[float], list[float]]:
    """Return all frequencies, negative ones too, at which F may be singular, and those next to any eigenvalue."""
    n, m = len(system.A), system.B.shape[1]
    form = np.block([[-np.eye(len(system.C)), 1j * G.conj().T], [-1j * G, np.diag(levels**2)]])
    if np.isinf(omega):
        A, B, C, D = system.A.astype(complex), system.B, system.C, system.D
    else:
        A = np.linalg.inv(system.A - 1j * omega * np.eye(n))
        B, C, D = A @ system.B, -system.C @ A, system.response(omega)
    C, D = np.concatenate([C, np.zeros((m, n))]), np.concatenate([D, np.eye(m)])
    R, S, Q = D.conj().T @ form @ D, C.conj().T @ form @ D, C.conj().T @ form @ C
    solved = np.linalg.solve(R, np.concatenate([S.conj().T, B.conj().T], axis=1))
    half = A - B @ solved[:, :n]
    hamiltonian = np.block([[half, -B @ solved[:, n:]], [-Q + S @ solved[:, :n], -half.conj().T]])
    values = np.linalg.eigvals(hamiltonian)
    near = np.abs(values.real) <= _NEAR * np.abs(values) + _NEAR_LARGEST * np.abs(values).max(initial=0.0)
    if np.isinf(omega):
        return np.abs(values.imag[near]).tolist(), values.imag.tolist()
    tiny = np.finfo(float).tiny
    frequencies = [omega - 1 / p if abs(p) > tiny else np.inf for p in values.imag.tolist()]
    return [w for w, on_axis in zip(frequencies, near, strict=True) if on_axis], frequencies
