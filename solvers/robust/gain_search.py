"""Members of a family of linear models whose gain is high: corners, then derivatives of the H-infinity norm.

With the loop of the uncertainty closed ``T = M22 + M21 Δ (1 - M11 Δ)^-1 M12``; at the peak of its gain, u and v the singular
vectors,

    ∂|T|/∂δ = Re u^H M21 (1 - Δ M11)^-1 ∂Δ/∂δ (1 - M11 Δ)^-1 M12 v.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.least_size import Singular
from titop.solvers.robust.state_space import Matrices
from titop.solvers.robust.structure import Structure

#: Corners and random starts that are tried, and steps of a climb.
_CORNERS, _STARTS, _CLIMB = 64, 6, 12

#: By how much a peak is exceeded before it is looked for once more, and how often it is.
_ABOVE, _PEAKS = 1e-6, 30

#: An eigenvalue this near to the imaginary axis, relative, is a crossing.
_NEAR = 1e-8


class Gain(NamedTuple):
    """A member's gain, its normalised parameters (one a real block) and the frequency (rad/s) of the peak.

    Of an unstable or ill-posed member the gain is infinite, the frequency not a number.
    """

    value: float
    deltas: Array
    omega: float


def peak_gain(system: Matrices) -> tuple[float, float]:
    """Return the H-infinity norm of a stable system, and the frequency (rad/s) of the peak (Bruinsma, Steinbuch 1990)."""
    starts = [0.0, np.inf, *np.abs(system.poles.imag).tolist(), *np.abs(system.poles).tolist()]
    gain, omega = max((_gain(system, w), w) for w in starts)
    for _ in range(_PEAKS):
        crossings = _crossings(system, gain * (1 + _ABOVE)) if gain else []
        between = [(low + high) / 2 for low, high in pairwise(crossings)]
        higher = max(((_gain(system, w), w) for w in between), default=(0.0, 0.0))
        if higher[0] <= gain * (1 + _ABOVE):
            break
        gain, omega = higher
    return gain, omega


def _gain(system: Matrices, omega: float) -> float:
    return float(np.linalg.norm(system.response(omega), 2))


def _crossings(system: Matrices, gain: float) -> list[float]:
    """Return the frequencies at which a singular value is the gain, in order."""
    A, B, C, D = system.A, system.B, system.C, system.D
    R, S = gain**2 * np.eye(B.shape[1]) - D.T @ D, gain**2 * np.eye(C.shape[0]) - D @ D.T
    half = A + B @ np.linalg.solve(R, D.T @ C)
    hamiltonian = np.block([[half, B @ np.linalg.solve(R, B.T)], [-(gain**2) * C.T @ np.linalg.solve(S, C), -half.T]])
    values = np.linalg.eigvals(hamiltonian)
    near = np.abs(values.real) <= _NEAR * np.abs(values).max(initial=0.0)
    return sorted(float(w) for w in values.imag[near] if w >= 0)


class GainSearch:
    """Searches the box of the real blocks of an uncertainty, all others zero, for the highest gain.

    Parameters
    ----------
    system : Matrices
        With the channels of the uncertainty first, those of the performance behind.
    structure : Structure
        Of the uncertainty.
    """

    def __init__(self, system: Matrices, structure: Structure) -> None:
        self.system, self.structure = system, structure
        self.best = Gain(0.0, np.zeros(len(structure.real)), 0.0)

    def run(self, seed: int = 0) -> Gain:
        """Return the highest gain that was found, infinite where a member is unstable or ill-posed."""
        n, rng = len(self.structure.real), np.random.default_rng(seed)
        self.look(np.zeros(n))
        corners = np.array(list(product((1.0, -1.0), repeat=n))) if 2**n <= _CORNERS else rng.choice((1.0, -1.0), (_CORNERS, n))
        for corner in corners if n else []:
            self.look(corner)
        self._climb(self.best)
        for _ in range(_STARTS if n else 0):
            self._climb(self.look(rng.uniform(-1, 1, n)))
        return self.best

    def look(self, deltas: Array) -> Gain:
        """Return a member's gain, and keep it if it is the highest."""
        found = Gain(*self._peak(deltas))
        if found.value > self.best.value:
            self.best = found
        return found

    def keep_unstable(self, member: Singular) -> None:
        """Keep a member that was found unstable or ill-posed, if it lies within the box."""
        if member.value >= 1:
            self.best = Gain(np.inf, np.array([member.deltas[k] / member.value for k in self.structure.real]), np.nan)

    def _peak(self, deltas: Array) -> tuple[float, Array, float]:
        w, z = self.structure.shape
        try:
            closed = self.system.closed(self._delta(deltas))
        except np.linalg.LinAlgError:
            return np.inf, deltas, np.nan
        if closed.poles.real.max(initial=-1.0) >= 0:
            return np.inf, deltas, np.nan
        outputs, inputs = (np.arange(first, size) for first, size in zip((z, w), self.system.D.shape, strict=True))
        gain, omega = peak_gain(closed.part(outputs, inputs))
        return gain, deltas, omega

    def _climb(self, start: Gain) -> None:
        """Follow the derivatives of the gain within the box."""
        trust = 0.5
        for _ in range(_CLIMB):
            if not np.isfinite(start.value) or trust < 1e-4 or not len(start.deltas):
                return
            found = self.look(np.clip(start.deltas + trust * np.sign(self._slope(start)), -1, 1))
            start, trust = (found, trust) if found.value > start.value * (1 + _ABOVE) else (start, trust / 2)

    def _slope(self, at: Gain) -> Array:
        """Return the derivatives of the gain by the normalised parameters."""
        w, z = self.structure.shape
        M, delta = self.system.response(at.omega), self._delta(at.deltas)
        inner = np.linalg.inv(np.eye(z) - M[:z, :w] @ delta)
        after, before = inner @ M[:z, w:], M[z:, :w] @ (np.eye(w) + delta @ inner @ M[:z, :w])
        u, _, v = np.linalg.svd(M[z:, w:] + before @ delta @ M[:z, w:])
        left, right = u[:, 0].conj() @ before, after @ v[0].conj()
        places = [(self.structure.w[k], self.structure.z[k]) for k in self.structure.real]
        return np.array([(left[i] @ right[o]).real for i, o in places])

    def _delta(self, deltas: Array) -> Array:
        return self.structure.only(dict(zip(self.structure.real, deltas.tolist(), strict=True)))
