"""Members of a family of linear models that are unstable or ill-posed, near to the nominal one.

Corners of the box are marched outwards from the nominal member; random members climb along the derivatives of their rightmost
eigenvalue; what is found shrinks by linear programmes that keep the eigenvalue where it is. With left and right eigenvectors
y, x

    A(Δ) = A + B Δ (1 - D Δ)^-1 C,     ∂λ/∂δ = y^H B (1 - Δ D)^-1 ∂Δ/∂δ (1 - D Δ)^-1 C x / (y^H x).

All that is found is a member of the family: a lower bound of mu is one over the largest of its normalised parameters. Costs
some fifty eigenvalue problems a corner or start.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, eig
from scipy.optimize import linprog

from titop.blocks.basics.spatial import Array
from titop.solvers.lft.fractions import singular_at
from titop.solvers.robust.least_size import NONE, Singular
from titop.solvers.robust.state_space import Matrices
from titop.solvers.robust.structure import Structure

#: Corners and random starts that are tried, steps of a march, of its bisection, of a climb and of shrinking.
_CORNERS, _STARTS, _MARCH, _BISECTIONS, _CLIMB, _SHRINK = 64, 24, 24, 40, 12, 8

#: Longest step of a climb or of shrinking, relative to the box.
_TRUST = 0.3

#: What is lost so near, relative, to a member without a response is lost there: rounding decides between them.
_NEAR = 1e-6


class Member(NamedTuple):
    """A member at which a loop is unstable, or ill-posed.

    Attributes
    ----------
    radius : float
        Largest normalised parameter; infinite if none was found.
    deltas : array
        Normalised parameters, one for each real block.
    omega : float
        Frequency (rad/s) of the eigenvalue that crosses; infinite if ill-posed.
    """

    radius: float
    deltas: Array
    omega: float

    def singular(self, structure: Structure) -> Singular:
        """Return the uncertainty that is the member, of value zero if there is none."""
        if not np.isfinite(self.radius):
            return NONE
        deltas: list[Any] = [np.zeros((b.repetitions, b.columns)) if b.kind == "full" else 0.0 for b in structure.blocks]
        for k, delta in zip(structure.real, self.deltas.tolist(), strict=True):
            deltas[k] = delta / self.radius
        return Singular(1 / float(self.radius), deltas, self.omega)


class EigenvalueSearch:
    """Searches among the real blocks of an uncertainty, all others zero.

    Parameters
    ----------
    system : Matrices
        With the channels of the uncertainty alone.
    structure : Structure
    reach : float
        How far is searched: largest normalised parameter.
    """

    def __init__(self, system: Matrices, structure: Structure, reach: float = 10.0) -> None:
        self.system, self.structure, self.reach = system, structure, reach
        self.best = Member(np.inf, np.zeros(len(structure.real)), 0.0)

    def run(self, seed: int = 0) -> Member:
        """Return the nearest member that was found."""
        n, rng = len(self.structure.real), np.random.default_rng(seed)
        if not n:
            return self.best
        corners = np.array(list(product((1.0, -1.0), repeat=n))) if 2**n <= _CORNERS else rng.choice((1.0, -1.0), (_CORNERS, n))
        for corner in corners:
            self.march(corner)
        self.shrink()
        for _ in range(_STARTS if n > 1 else 0):
            self.climb(rng.uniform(-1, 1, n))
        return self.best

    def march(self, direction: Array) -> None:
        """Go outwards from the nominal member, and keep the first that is unstable or ill-posed if none nearer is known."""
        direction = direction / np.abs(direction).max()
        reach = min(self.reach, self.best.radius)
        singular = self._singular(direction)
        end, below = min(reach, singular * (1 - _NEAR)), 0.0
        for t in np.linspace(0, end, _MARCH + 1)[1:]:
            if self._abscissa(t * direction) >= 0:
                self._bisect(direction, below, float(t))
                return
            below = t
        if singular < min(reach, self.best.radius):
            self.best = Member(singular, singular * direction, np.inf)

    def climb(self, start: Array) -> None:
        """Raise the rightmost eigenvalue from a start within the box that is known to be free of unstable members, or not."""
        size = 0.999 * min(self.reach, self.best.radius)
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
        for _ in range(_SHRINK if np.isfinite(self.best.radius + self.best.omega) else 0):
            before, deltas = self.best.radius, self.best.deltas
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
            if self.best.radius > before * (1 - 1e-6):
                return

    def _bisect(self, direction: Array, stable: float, unstable: float) -> None:
        """Find where a march meets the first eigenvalue on the axis, and keep it."""
        for _ in range(_BISECTIONS):
            middle = (stable + unstable) / 2
            if self._abscissa(middle * direction) >= 0:
                unstable = middle
            else:
                stable = middle
        if unstable < self.best.radius:
            values = self._poles(unstable * direction)
            omega = np.inf if values is None else abs(float(values[np.argmax(values.real)].imag))
            self.best = Member(unstable, unstable * direction, omega)

    def _delta(self, deltas: Array) -> Array:
        return self.structure.only(dict(zip(self.structure.real, deltas.tolist(), strict=True)))

    def _poles(self, deltas: Array) -> Array | None:
        """Return the poles of a member, None where it is ill-posed."""
        try:
            return self.system.closed(self._delta(deltas)).poles
        except np.linalg.LinAlgError:
            return None

    def _abscissa(self, deltas: Array) -> float:
        """Return the real part of the rightmost eigenvalue, infinite where the member is ill-posed."""
        values = self._poles(deltas)
        return np.inf if values is None else float(values.real.max(initial=-np.inf))

    def _slope(self, deltas: Array) -> tuple[float, Array | None]:
        """Return the real part of the rightmost eigenvalue and its derivatives, None where there are none."""
        s, delta = self.system, self._delta(deltas)
        try:
            inner = np.linalg.inv(np.eye(len(s.D)) - s.D @ delta)
            values, left, right = eig(s.A + s.B @ delta @ inner @ s.C, left=True)
        except (LinAlgError, np.linalg.LinAlgError, ValueError):
            return np.inf, None
        k = int(np.argmax(values.real))
        y, x = left[:, k].conj(), right[:, k]
        if abs(y @ x) < 1e-12:
            return float(values[k].real), None
        before = y @ s.B @ (np.eye(len(delta)) + delta @ inner @ s.D)
        after = inner @ s.C @ x
        w, z = self.structure.w, self.structure.z
        slope = np.array([before[w[b]] @ after[z[b]] for b in self.structure.real]) / (y @ x)
        return float(values[k].real), slope.real

    def _singular(self, direction: Array) -> float:
        """Return how far along a direction the loop is first ill-posed."""
        return singular_at(self.system.D @ self._delta(direction))[1]
