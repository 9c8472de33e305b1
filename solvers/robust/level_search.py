"""Scalings below a level at one frequency after another, each search begun with what is known nearby."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.centres import Centres
from titop.solvers.robust.upper_bound import LARGEST_G, UpperBound, upper_bound

#: Relative tolerances of bounds that begin nearby, of those begun afresh, and of those that are above the level all the same:
#: where scalings have to become very unequal, bounds creep before they fall.
_COARSE, _CONVERGED, _FINE = 3e-3, 3e-4, 1e-5

#: Bound of G that is tried first, relative to the gain: the smaller, the longer a scaling stays valid.
_SMALL_G = 10.0

#: So many scalings, of the nearest frequencies, are tried.
_NEAREST = 6

#: Where infinity is put on an axis of logarithms.
_BEHIND = 1e3

Start = Callable[[Array, float], UpperBound | None] | None
Known = list[tuple[float, UpperBound]]


class LevelSearch:
    """Searches for scalings below a level.

    Parameters
    ----------
    centres : Centres
    tolerance : float
        Relative: a bound is good enough where it lies half of it below the level.
    start : callable or None
        Function of a response and a bound of G that returns the scaling to begin with where nothing is known, or None.
    known : list of (omega, UpperBound)
        Scalings at frequencies (rad/s); it grows.
    """

    def __init__(self, centres: Centres, tolerance: float, start: Start, known: Known) -> None:
        self.centres, self.tolerance, self.start, self.known = centres, tolerance, start, known
        self.room = 1 - tolerance / 2

    def run(self, M: Array, omega: float, level: float) -> UpperBound | None:
        """Return a bound below a level at a frequency, else the lowest found; None where there is none."""
        enough = self.room * level
        found = self._near(M, omega)
        if found is not None and found.level > enough:
            found = upper_bound(self.centres, M, _COARSE, found, enough)
        if found is None or found.level > enough:
            found = _lower(found, self._afresh(M, enough))
        if found is not None:
            self.known.append((omega, found))
        return found

    def centre(self, M: Array, omega: float, level: float, bound: UpperBound) -> Array:
        """Return the coordinates of the centre at a level above a bound."""
        x = self.centres.centre(M, level, bound.g, bound.x)
        if x is None:
            return bound.x
        self.known.append((omega, bound._replace(x=x)))
        return x

    def _near(self, M: Array, omega: float) -> UpperBound | None:
        """Return the known scaling that proves the lowest level, None where all prove less than the gain does."""
        nearest = sorted(self.known, key=lambda entry: _distance(entry[0], omega))[:_NEAREST]
        best, lowest = None, float(np.linalg.norm(M, 2))
        for _, bound in nearest:
            level = self.centres.bound(M, bound.x, bound.g)
            if level < lowest:
                best, lowest = bound._replace(level=level), level
        return best

    def _afresh(self, M: Array, enough: float) -> UpperBound | None:
        """Return a bound with a G as small as will do."""
        for largest in (_SMALL_G, LARGEST_G) if self.centres.structure.real else (LARGEST_G,):
            begin = None if self.start is None else self.start(M, largest)
            if self.start is not None and begin is None:
                continue
            found = upper_bound(self.centres, M, _CONVERGED, begin, enough, largest)
            if found.level <= enough or largest == LARGEST_G:
                return found
            wider = found.g * LARGEST_G / _SMALL_G
            found = found._replace(x=self.centres.widened(found.x, found.g, wider), g=wider)
            return upper_bound(self.centres, M, _FINE, found, enough)
        return None


def _lower(one: UpperBound | None, other: UpperBound | None) -> UpperBound | None:
    """Return the lower of two bounds."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other, key=lambda bound: bound.level)


def _distance(one: float, other: float) -> float:
    """Return how far two frequencies are apart, octaves above the loop's rate being alike, infinity behind all."""
    low, high = (np.log1p(omega) if np.isfinite(omega) else _BEHIND for omega in (one, other))
    return float(abs(high - low))
