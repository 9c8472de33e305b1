"""Between which frequencies a scaling that holds at one of them stays valid.

With ``N = [M; 1]`` and ``Π = [-D_z, j G; -j G, L² D_w]``, L the levels, the condition is ``F = N^H Π N > 0``: a hermitian
function of frequency that changes its sign only where F is singular, at the imaginary eigenvalues of a Hamiltonian matrix
(Boyd, Balakrishnan, Kabamba 1989). About a frequency ω0 they are sought in the plane of ``p = 1 / (s - j ω0)``: what is
next to ω0 is far away there and well conditioned, and infinity is the point p = 0.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.scalings import Scaling
from titop.solvers.robust.state_space import Matrices

#: An eigenvalue this near to the imaginary axis, relative to its size and to the largest, counts as a crossing.
_NEAR, _NEAR_LARGEST = 1e-6, 1e-9

#: Intervals are cut by this part of their length: crossings are known but for rounding.
_CUT = 1e-4


def valid_interval(system: Matrices, scaling: Scaling, levels: Array, omega: float) -> tuple[float, float]:
    """Return the frequencies (rad/s), from zero to infinity, between which ``F > 0`` holds, given that it does at `omega`."""
    crossings = _crossings(system, scaling, levels, omega)
    if np.isinf(omega):
        low = max((w for w in crossings), default=0.0)
        return max(low * (1 + _CUT), 0.0), np.inf
    above = min((w for w in crossings if w > omega), default=np.inf)
    below = max((w for w in crossings if w < omega), default=-np.inf)
    high = above if np.isinf(above) else above - _CUT * (above - omega)
    low = below if np.isinf(below) else below + _CUT * (omega - below)
    return max(low, 0.0), high


def _crossings(system: Matrices, scaling: Scaling, levels: Array, omega: float) -> list[float]:
    """Return all frequencies, negative ones too, at which F may be singular."""
    n, m = len(system.A), system.B.shape[1]
    form = np.block([[-scaling.D_z, 1j * scaling.G.conj().T], [-1j * scaling.G, levels[:, None] * scaling.D_w * levels]])
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
    eigenvalues = np.linalg.eigvals(hamiltonian)
    near = np.abs(eigenvalues.real) <= _NEAR * np.abs(eigenvalues) + _NEAR_LARGEST * np.abs(eigenvalues).max(initial=0.0)
    found = eigenvalues.imag[near]
    if np.isinf(omega):
        return [abs(float(w)) for w in found]
    tiny = np.finfo(float).tiny
    return [omega - 1 / float(p) if abs(p) > tiny else np.inf for p in found]
