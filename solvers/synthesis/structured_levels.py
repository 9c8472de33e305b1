"""The structured singular value of a closed loop as a function of its controller: a term that `tune`'s search minimises.

A sweep proves a level at all frequencies by scalings D and G, each for an interval. Where two intervals overlap both are valid,
and so is all between them: scalings are continuous functions of frequency, and the level is proved. At fixed scalings a bound
of mu is an eigenvalue, smooth in the controller, and near to mu itself for controllers nearby: what lowers it lowers mu.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COARSE, NEGLIGIBLE, SAME, TINY
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.peaks import EVERYWHERE, find_peaks, frequencies
from titop.solvers.robust.scalings import Centres, Scaling
from titop.solvers.robust.sweep import sweep, valid_interval
from titop.solvers.robust.upper_bound import Known
from titop.solvers.tuning.goal_terms import GoalTerm, Scan, Slope
from titop.solvers.tuning.tuned_loop import AugmentedPlant, ClosedLoop

#: Peaks at most; frequencies of a grid that stands in for a certificate.
_MOST, _FINE = 12, 500
#: How near a sweep comes to the least level.
_NEAR = 5 * NEGLIGIBLE


class _Interpolated(NamedTuple):
    """Scalings of equal size over frequency: D of w (k, w, w), of z (k, z, z), and G (k, w, z), at frequencies (k, rad/s)."""

    omega: Array
    D_w: Array
    D_z: Array
    G: Array

    @classmethod
    def of(cls, valid: list[tuple[tuple[float, float], Scaling]]) -> _Interpolated:
        """Return those that are valid in intervals (rad/s) which together cover all frequencies."""
        chosen: list[tuple[tuple[float, float], Scaling]] = []
        reached = 0.0
        while np.isfinite(reached):
            further = max((one for one in valid if one[0][0] <= reached), key=lambda one: one[0][1])
            if further[0][1] <= reached and chosen:
                break
            chosen.append(further)
            reached = further[0][1]
        knots, matrices = [], []
        for k, ((low, high), scaling) in enumerate(chosen):
            begin = chosen[k - 1][0][1] if k else low
            end = chosen[k + 1][0][0] if k + 1 < len(chosen) else high
            knots += [begin, max(end, begin)]
            matrices += [[part / np.trace(scaling.D_w).real for part in scaling]] * 2
        finite = [w if np.isfinite(w) else 1 / TINY for w in knots]
        return cls(np.array(finite), *(np.array(parts) for parts in zip(*matrices, strict=True)))

    def at(self, omega: Array) -> tuple[Array, Array, Array]:
        """Return D of w, D of z and G at frequencies (n, rad/s)."""
        where = np.clip(omega, self.omega[0], self.omega[-1])
        after = np.clip(np.searchsorted(self.omega, where), 1, len(self.omega) - 1)
        low, high = self.omega[after - 1], self.omega[after]
        share = ((where - low) / np.maximum(high - low, TINY))[:, None, None]
        D_w, D_z, G = ((1 - share) * part[after - 1] + share * part[after] for part in self[1:])
        return D_w, D_z, G


@dataclass
class MuTerm:
    """The highest bound of mu over frequency, of channels of a loop.

    Attributes
    ----------
    centres : Centres
    rows, columns : array of int
        Of z and of w.
    known : list of (float, UpperBound)
        Scalings at frequencies (rad/s), of which searches begin.
    """

    centres: Centres
    rows: Array
    columns: Array
    known: Known = field(default_factory=list)
    scalings: int = 0

    def renew(self, loop: Matrices) -> float:
        """Find the scalings of the least level of a stable loop, and return it; infinite if none was proved."""
        system = loop.part(self.rows, self.columns)
        proof = sweep(self.centres, system, COARSE, True, _NEAR, progress=False, known=self.known)
        if proof.worst is not None:
            self.worst = self.centres.scaling(proof.worst.x, proof.worst.g)
        if not proof.proved:
            return np.inf
        valid, levels = [], self.centres.levels(proof.level)
        self.known = proof.known[len(self.known) :]
        for omega, bound in self.known:
            scaling = self.centres.scaling(bound.x, bound.g)
            if scaling.bound(system.response(omega)) < proof.level:
                valid.append((valid_interval(system, scaling, levels, omega), scaling))
        self._scalings = _Interpolated.of(valid)
        return proof.level

    def levels(self, M: Array, omega: Array) -> Array:
        """Return the bounds (n) that the scalings give for responses (n, z, w) at frequencies (n, rad/s)."""
        D_w, D_z, G = self._scalings.at(omega)
        turned = M.conj().transpose(0, 2, 1)
        skew = 1j * G @ M
        form = turned @ D_z @ M + skew + skew.conj().transpose(0, 2, 1)
        inverse = np.linalg.inv(np.linalg.cholesky(D_w))
        values = np.linalg.eigvalsh(inverse @ form @ inverse.conj().transpose(0, 2, 1))[:, -1]
        return np.asarray(np.sqrt(np.maximum(values, 0.0)))

    def scan(self, loop: ClosedLoop, known: Array, scalings: Array) -> Scan:
        """Return what a grid shows, and how to refine it."""
        modal = loop.modal
        if modal is None:
            return Scan(np.inf, lambda highest, near: [])
        constant = loop.system.D[np.ix_(self.rows, self.columns)]
        responses = modal.responses(self.rows, self.columns, constant)

        def gain(omega: Array) -> Array:
            return self.levels(responses(omega), omega)

        knots = self._scalings.omega
        between = np.sqrt(knots[1:-1] * knots[:-2])
        omega = frequencies(modal.poles, np.concatenate([known, knots[:-1], between]), EVERYWHERE)
        bounds = gain(omega)
        last = float(self.levels(constant[None].astype(complex), np.array([np.inf]))[0])

        def pieces(highest: float, near: float) -> list[Slope]:
            places, _ = find_peaks(gain, bounds, omega, highest, near, _MOST)
            every = [*places.tolist(), np.inf] if last and last >= near * highest else places.tolist()
            return [self._slope(loop, place) for place in every]

        return Scan(max(float(bounds.max()), last), pieces)

    def _slope(self, loop: ClosedLoop, omega: float) -> Slope:
        """Return the bound at a frequency, with its gradient."""
        M, by_left, by_right = (one[0] for one in loop.responses(np.array([omega]), self.rows, self.columns))
        D_w, D_z, G = (part[0] for part in self._scalings.at(np.array([omega])))
        skew = 1j * G @ M
        inverse = np.linalg.inv(np.linalg.cholesky(D_w))
        values, vectors = np.linalg.eigh(inverse @ (M.conj().T @ D_z @ M + skew + skew.conj().T) @ inverse.conj().T)
        level, v = float(np.sqrt(max(values[-1], 0.0))), inverse.conj().T @ vectors[:, -1]
        left = v.conj() @ (M.conj().T @ D_z + 1j * G) / max(level, TINY)
        return Slope(level, np.real(loop.slope(left @ by_left, by_right @ v)), np.zeros(0), omega)

    def missed(self, loop: ClosedLoop, value: float, scalings: Array) -> Array:
        """Return frequencies of a fine grid at which the bound is above a value."""
        sizes = np.abs(loop.poles)
        fine = np.geomspace(max(sizes.min(), COARSE**2 * sizes.max()) / 10, 10 * sizes.max(), _FINE)
        omega = frequencies(loop.poles, fine, EVERYWHERE)
        levels = self.levels(loop.system.part(self.rows, self.columns).responses(1j * omega), omega)
        return omega[levels > value * (1 + SAME)]

    def smooth(self, plant: AugmentedPlant) -> GoalTerm | None:
        """Return nothing: there is no smooth one."""
        return None
