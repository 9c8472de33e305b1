"""Members of a family of linear models that are unstable or ill-posed, near to the nominal one, or whose gain is high.

Corners of the box are marched outwards from the nominal member; random members climb along the derivatives of their rightmost
eigenvalue; what is found shrinks by linear programmes that keep the eigenvalue where it is. With left and right eigenvectors
y, x

    A(Δ) = A + B Δ (1 - D Δ)^-1 C,     ∂λ/∂δ = y^H B (1 - Δ D)^-1 ∂Δ/∂δ (1 - D Δ)^-1 C x / (y^H x).

All that is found is a member of the family: a lower bound of mu is one over the largest of its normalised parameters. Costs
some fifty eigenvalue problems a corner or start.

A high gain is looked for at corners, and from there along the derivatives of the H-infinity norm. With the loop of the
uncertainty closed ``T = M22 + M21 Δ (1 - M11 Δ)^-1 M12``; at the peak of its gain, u and v the singular vectors,

    ∂|T|/∂δ = Re u^H M21 (1 - Δ M11)^-1 ∂Δ/∂δ (1 - M11 Δ)^-1 M12 v.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, eig
from scipy.optimize import linprog

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, NEAR_AXIS, ONE_SIDED_STEP, SINGULAR, TYPED
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.lft.fractions import singular_at
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.peaks import peak_gain
from titop.solvers.robust.least_size import NONE, Singular

#: Corners that are tried, and random starts for eigenvalues and for gains.
_CORNERS, _STARTS, _GAIN_STARTS = 64, 24, 6

#: Steps of a march, of its bisection, of a climb and of shrinking.
_MARCH, _BISECTIONS, _CLIMB, _SHRINK = 24, 40, 12, 8

#: Longest step of a climb or of shrinking, relative to the box.
_TRUST = 0.3


class EigenvalueSearch:
    """Searches among the real blocks of an uncertainty, all others zero.

    `system`: with the channels of the uncertainty alone; `reach`: how far is searched: largest normalised parameter.
    """

    def __init__(self, system: Matrices, structure: Structure, reach: float = 10.0) -> None:
        self.system, self.structure, self.reach = system, structure, reach
        self._keep(np.inf, np.zeros(len(structure.real)), 0.0)

    @property
    def best(self) -> Singular:
        """The nearest member that is unstable, or ill-posed (at an infinite frequency); of value zero if none was found."""
        if not np.isfinite(self._radius):
            return NONE
        return Singular(1 / float(self._radius), self.structure.deltas(self._deltas / self._radius), self._omega)

    def _keep(self, radius: float, deltas: Array, omega: float) -> None:
        """Keep a member: its largest normalised parameter, all of the real blocks, and where (rad/s) an eigenvalue crosses."""
        self._radius, self._deltas, self._omega = radius, deltas, omega

    def run(self, seed: int = 0) -> Singular:
        """Return the nearest member that was found."""
        n, rng = len(self.structure.real), np.random.default_rng(seed)
        if not n:
            return self.best
        for corner in corners(n, rng):
            self.march(corner)
        self.shrink()
        for _ in range(_STARTS if n > 1 else 0):
            self.climb(rng.uniform(-1, 1, n))
        return self.best

    def march(self, direction: Array) -> None:
        """Go outwards from the nominal member, and keep the first that is unstable or ill-posed if none nearer is known."""
        direction = direction / np.abs(direction).max()
        reach = min(self.reach, self._radius)
        singular = singular_at(self.system.D @ self.structure.real_matrix(direction))[1]  # where the loop is first ill-posed
        end, below = min(reach, singular * (1 - NEAR_AXIS)), 0.0
        for t in np.linspace(0, end, _MARCH + 1)[1:]:
            if self._abscissa(t * direction) >= 0:
                self._bisect(direction, below, float(t))
                return
            below = t
        if singular < min(reach, self._radius):
            self._keep(singular, singular * direction, np.inf)

    def climb(self, start: Array) -> None:
        """Raise the rightmost eigenvalue from a start within the box that is known to be free of unstable members, or not."""
        size = 0.999 * min(self.reach, self._radius)
        deltas, trust = size * start, _TRUST * size
        value, slope = self._slope(deltas)
        for _ in range(_CLIMB):
            if value >= 0 or slope is None:
                break
            new = np.clip(deltas + trust * np.sign(slope), -size, size)
            new_value, new_slope = self._slope(new)
            if new_value > value:
                deltas, value, slope = new, new_value, new_slope
            else:
                trust *= 0.5
        if value >= 0:
            self.march(deltas)
            self.shrink()

    def shrink(self) -> None:
        """Shorten the best member by linear programmes that keep its eigenvalue on the axis."""
        for _ in range(_SHRINK if np.isfinite(self._radius + self._omega) else 0):
            before, deltas = self._radius, self._deltas
            value, slope = self._slope(deltas)
            n = len(deltas)
            if slope is None:
                return
            ones = np.ones((n, 1))
            limits = np.block([[np.eye(n), -ones], [-np.eye(n), -ones], [-slope[None], np.zeros((1, 1))]])
            reach = [(d - _TRUST * before, d + _TRUST * before) for d in deltas]
            most = np.concatenate([np.zeros(2 * n), [value - slope @ deltas]])
            found = linprog([*np.zeros(n), 1.0], limits, most, bounds=[*reach, (0, None)])
            if not found.success or found.x[-1] <= 0:
                return
            self.march(found.x[:-1])
            if self._radius > before * (1 - TYPED):
                return

    def _bisect(self, direction: Array, stable: float, unstable: float) -> None:
        """Find where a march meets the first eigenvalue on the axis, and keep it."""
        for _ in range(_BISECTIONS):
            middle = (stable + unstable) / 2
            if self._abscissa(middle * direction) >= 0:
                unstable = middle
            else:
                stable = middle
        if unstable < self._radius:
            values = self._poles(unstable * direction)
            omega = np.inf if values is None else abs(float(values[np.argmax(values.real)].imag))
            self._keep(unstable, unstable * direction, omega)

    def _poles(self, deltas: Array) -> Array | None:
        """Return the poles of a member, None where it is ill-posed."""
        try:
            return self.system.close_loop(self.structure.real_matrix(deltas)).poles
        except np.linalg.LinAlgError:
            return None

    def _abscissa(self, deltas: Array) -> float:
        """Return the real part of the rightmost eigenvalue, infinite where the member is ill-posed."""
        values = self._poles(deltas)
        return np.inf if values is None else float(values.real.max(initial=-np.inf))

    def _slope(self, deltas: Array) -> tuple[float, Array | None]:
        """Return the real part of the rightmost eigenvalue and its derivatives, None where there are none."""
        s, delta = self.system, self.structure.real_matrix(deltas)
        try:
            inner = np.linalg.inv(np.eye(len(s.D)) - s.D @ delta)
            values, left, right = eig(s.A + s.B @ delta @ inner @ s.C, left=True)
        except (LinAlgError, np.linalg.LinAlgError, ValueError):
            return np.inf, None
        k = int(np.argmax(values.real))
        y, x = left[:, k].conj(), right[:, k]
        if abs(y @ x) < SINGULAR:
            return float(values[k].real), None
        before = y @ s.B @ (np.eye(len(delta)) + delta @ inner @ s.D)
        after = inner @ s.C @ x
        w, z = self.structure.w, self.structure.z
        slope = np.array([before[w[b]] @ after[z[b]] for b in self.structure.real]) / (y @ x)
        return float(values[k].real), slope.real


class Gain(NamedTuple):
    """A member's gain, its normalised parameters (one a real block) and the frequency (rad/s) of the peak.

    Of an unstable or ill-posed member the gain is infinite, the frequency not a number.
    """

    value: float
    deltas: Array
    omega: float


class GainSearch:
    """Searches the box of the real blocks of an uncertainty, all others zero, for the highest gain.

    `system`: with the channels of the uncertainty first, those of the performance behind; `structure`: of the uncertainty;
    `peak`: another performance than the gain: its value and its frequency (rad/s), of a system without uncertainty.
    """

    def __init__(
        self, system: Matrices, structure: Structure, peak: Callable[[Matrices], tuple[float, float]] | None = None
    ) -> None:
        self.system, self.structure, self.peak = system, structure, peak
        self.best = Gain(0.0, np.zeros(len(structure.real)), 0.0)

    def run(self, seed: int = 0, starts: Sequence[Array] = ()) -> Gain:
        """Return the highest gain that was found, infinite where a member is unstable or ill-posed.

        With `starts` (normalised parameters) from these alone.
        """
        n, rng = len(self.structure.real), np.random.default_rng(seed)
        self.look(np.zeros(n))
        if starts:
            for deltas in starts:
                self.look(deltas)
            self._climb(self.best)
            return self.best
        for corner in corners(n, rng) if n else []:
            self.look(corner)
        self._climb(self.best)
        for _ in range(_GAIN_STARTS if n else 0):
            self._climb(self.look(rng.uniform(-1, 1, n)))
        return self.best

    def look(self, deltas: Array) -> Gain:
        """Return a member's gain, and keep it if it is the highest."""
        return self.keep(self.gain(deltas))

    def gain(self, deltas: Array) -> Gain:
        """Return a member's gain."""
        return Gain(*self._peak(deltas[: len(self.structure.real)]))

    def keep(self, found: Gain) -> Gain:
        """Return a gain, and keep it if it is the highest."""
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
            closed = self.system.close_loop(self.structure.real_matrix(deltas))
        except np.linalg.LinAlgError:
            return np.inf, deltas, np.nan
        if closed.poles.real.max(initial=-1.0) >= 0:
            return np.inf, deltas, np.nan
        outputs, inputs = (np.arange(first, size) for first, size in zip((z, w), self.system.D.shape, strict=True))
        gain, omega = (self.peak or peak_gain)(closed.part(outputs, inputs))
        return gain, deltas, omega

    def refine(self) -> Gain:
        """Climb on from the highest gain in far shorter steps, and return what is found: peaks may be sharp."""
        self._climb(self.best, 0.5**_CLIMB)
        return self.best

    def _climb(self, start: Gain, trust: float = 0.5) -> None:
        """Follow the derivatives of the gain within the box."""
        least = 2 * CLOSE * trust
        for _ in range(_CLIMB):
            if not np.isfinite(start.value) or trust < least or not len(start.deltas):
                return
            found = self.look(np.clip(start.deltas + trust * np.sign(self._slope(start)), -1, 1))
            start, trust = (found, trust) if found.value > start.value * (1 + TYPED) else (start, trust / 2)

    def _slope(self, at: Gain) -> Array:
        """Return the derivatives of the gain by the normalised parameters, of another performance by differences."""
        if self.peak is not None:
            steps = ONE_SIDED_STEP * np.where(at.deltas > 0, -1.0, 1.0)
            return np.array([(self._peak(at.deltas + row)[0] - at.value) / row.sum() for row in np.diag(steps)])
        w, z = self.structure.shape
        M, delta = self.system.response(at.omega), self.structure.real_matrix(at.deltas)
        inner = np.linalg.inv(np.eye(z) - M[:z, :w] @ delta)
        after, before = inner @ M[:z, w:], M[z:, :w] @ (np.eye(w) + delta @ inner @ M[:z, :w])
        u, _, v = np.linalg.svd(M[z:, w:] + before @ delta @ M[:z, w:])
        left, right = u[:, 0].conj() @ before, after @ v[0].conj()
        places = [(self.structure.w[k], self.structure.z[k]) for k in self.structure.real]
        return np.array([(left[i] @ right[o]).real for i, o in places])


def corners(n: int, rng: np.random.Generator) -> Array:
    """Return the corners (k, n) of a box, or random ones of many."""
    return np.array([*product((1.0, -1.0), repeat=n)]) if 2**n <= _CORNERS else rng.choice((1.0, -1.0), (_CORNERS, n))
