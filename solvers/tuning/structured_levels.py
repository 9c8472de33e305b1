"""The structured singular value of a closed loop as a function of its controller: a term that `tune`'s search minimises.

A sweep proves a level at all frequencies by scalings D and G, each for an interval. Where two intervals overlap both are valid,
and so is all between them: scalings are continuous functions of frequency, and the level is proved. At fixed scalings a bound
of mu is an eigenvalue, smooth in the controller, and near to mu itself for controllers nearby: what lowers it lowers mu.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COARSE, NEGLIGIBLE, SAME, TINY
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.peaks import EVERYWHERE, find_peaks, frequencies
from titop.solvers.robust.scalings import Centres, Scaling
from titop.solvers.robust.sweep import sweep, valid_interval
from titop.solvers.robust.upper_bound import Known, UpperBound, upper_bound
from titop.solvers.tuning.goal_terms import GoalTerm, Scan, Slope
from titop.solvers.tuning.tuned_loop import ClosedLoop

#: Peaks at most; frequencies of a grid that stands in for a certificate.
_MOST, _FINE = 12, 500
#: How near a sweep comes to the least level.
_NEAR = 5 * NEGLIGIBLE
#: Below this part of the level scalings need not be the best ones.
_LOW = 0.8
#: Scalings of so many frequencies on either side are tried.
_NEAREST = 2


class _Valid(NamedTuple):
    """A scaling at a frequency (rad/s), and between which two it is valid."""

    omega: float
    low: float
    high: float
    scaling: Scaling


class _Interpolated(NamedTuple):
    """Scalings of equal size over frequency: D of w (k, w, w), of z (k, z, z), and G (k, w, z), at frequencies (k, rad/s)."""

    omega: Array
    D_w: Array
    D_z: Array
    G: Array

    @classmethod
    def of(cls, best: Sequence[_Valid], cover: Sequence[_Valid]) -> _Interpolated:
        """Return the best scalings where they are valid, between them those that together cover all frequencies."""
        chosen: list[_Valid] = []
        for one in sorted(best, key=lambda one: one.omega):
            while (reached := chosen[-1].high if chosen else 0.0) < one.low:
                other = max((each for each in cover if each.low <= reached), key=lambda each: each.high)
                if not other.high > reached:
                    break
                chosen.append(other._replace(omega=reached))
            chosen.append(one)
        knots, matrices = [chosen[0].omega], [chosen[0].scaling]
        for one, after in pairwise(chosen):
            begin = max(one.omega, after.low)
            knots += [begin, max(min(after.omega, one.high), begin)]
            matrices += [one.scaling, after.scaling]
        sizes = [float(np.trace(each.D_w).real) for each in matrices]
        parts = (np.array([part / s for part, s in zip(each, sizes, strict=True)]) for each in zip(*matrices, strict=True))
        return cls(np.minimum(knots, 1 / TINY), *parts)

    def at(self, omega: Array) -> tuple[Array, Array, Array]:
        """Return D of w, D of z and G at frequencies (n, rad/s)."""
        where = np.clip(omega, self.omega[0], self.omega[-1])
        after = np.clip(np.searchsorted(self.omega, where), 1, len(self.omega) - 1)
        low, high = self.omega[after - 1], self.omega[after]
        share = ((where - low) / np.maximum(high - low, TINY))[:, None, None]
        D_w, D_z, G = ((1 - share) * part[after - 1] + share * part[after] for part in self[1:])
        return D_w, D_z, G


@dataclass
class MuTerm(GoalTerm):
    """The highest bound of mu over frequency, of channels of a loop.

    - `rows`, `columns`: of z and of w;
    - `known`: scalings at frequencies (rad/s), with which searches begin.
    """

    centres: Centres
    rows: Array
    columns: Array
    known: Known = field(default_factory=list)

    def prove(self, loop: Matrices) -> float:
        """Return the least level of a stable loop that a sweep proves; infinite if it proves none."""
        system = loop.part(self.rows, self.columns)
        proof = sweep(self.centres, system, COARSE, True, _NEAR, progress=False, known=self.known)
        self.known = sorted(proof.known[len(self.known) :], key=lambda one: one[0])
        if proof.worst is not None:
            self.worst = self.centres.scaling(proof.worst.x, proof.worst.g)
        return proof.bound

    def renew(self, loop: Matrices, level: float) -> None:
        """Find the best scalings of a loop for which a level is proved."""
        system, centres, level = loop.part(self.rows, self.columns), self.centres, level * (1 + _NEAR)
        levels = centres.levels(level)

        def valid(omega: float, bound: UpperBound) -> _Valid:
            scaling = centres.scaling(bound.x, bound.g)
            return _Valid(omega, *valid_interval(system, scaling, levels, omega), scaling)

        cover = [valid(w, b) for w, b in self.known if centres.bound(system.response(w), b.x, b.g) < level]
        places, best = np.array([w for w, _ in self.known]), list[tuple[float, UpperBound]]()
        for w in [*frequencies(system.poles, places, EVERYWHERE).tolist(), np.inf]:
            M, near = system.response(w), max(int(np.searchsorted(places, w)) - _NEAREST, 0)
            starts = [one for _, one in (*self.known[near : near + 2 * _NEAREST], *best[-1:])]
            start = min(starts, key=lambda one: centres.bound(M, one.x, one.g))
            bound = upper_bound(centres, M, NEGLIGIBLE, start, _LOW * level)
            if bound.level < level:
                best.append((w, bound))
        self.known, self._scalings = best, _Interpolated.of([valid(*one) for one in best], cover)

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
        knots = knots[knots < 1 / TINY]
        omega = frequencies(modal.poles, np.concatenate([known, knots, np.sqrt(knots[1:] * knots[:-1])]), EVERYWHERE)
        bounds = gain(omega)
        last = float(self.levels(constant[None].astype(complex), np.array([np.inf]))[0])

        def pieces(highest: float, near: float) -> list[Slope]:
            places, _ = find_peaks(gain, bounds, omega, highest, near, _MOST)
            every = [*places.tolist(), np.inf] if last and last >= near * highest else places.tolist()
            return [self._slope(loop, place) for place in every]

        return Scan(max(float(bounds.max()), last), pieces)

    def _slope(self, loop: ClosedLoop, omega: float) -> Slope:
        M, by_left, by_right = (one[0] for one in loop.responses(np.array([omega]), self.rows, self.columns))
        D_w, D_z, G = (part[0] for part in self._scalings.at(np.array([omega])))
        skew = 1j * G @ M
        inverse = np.linalg.inv(np.linalg.cholesky(D_w))
        values, vectors = np.linalg.eigh(inverse @ (M.conj().T @ D_z @ M + skew + skew.conj().T) @ inverse.conj().T)
        level, v = float(np.sqrt(max(values[-1], 0.0))), inverse.conj().T @ vectors[:, -1]
        left = v.conj() @ (M.conj().T @ D_z + 1j * G) / max(level, TINY)
        return Slope(level, loop.slopes((left @ by_left)[None], (by_right @ v)[None])[0].real, np.zeros(0), omega)

    def missed(self, loop: ClosedLoop, value: float, scalings: Array) -> Array:
        """Return frequencies of a fine grid at which the bound is above a value."""
        sizes = np.abs(loop.poles)
        fine = np.geomspace(max(sizes.min(), COARSE**2 * sizes.max()) / 10, 10 * sizes.max(), _FINE)
        omega = frequencies(loop.poles, fine, EVERYWHERE)
        levels = self.levels(loop.system.part(self.rows, self.columns).responses(1j * omega), omega)
        return omega[levels > value * (1 + SAME)]
