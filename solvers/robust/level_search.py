"""Scalings below a level at one frequency after another, each search begun with what is known nearby."""

from __future__ import annotations

from collections.abc import Callable
from heapq import nsmallest

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.centres import Centres
from titop.solvers.robust.upper_bound import LARGEST_G, UpperBound, upper_bound

#: Relative tolerances of bounds that begin nearby, of those begun afresh, and of those that are above the level all the same:
#: where scalings have to become very unequal, bounds creep before they fall.
_COARSE, _CONVERGED, _FINE = 3e-3, 3e-4, 1e-5

#: Bounds of G, relative to the gain, in the order in which they are tried: the smaller, the longer a scaling stays valid.
_BOUNDS_OF_G = (1.0, 10.0, LARGEST_G)

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
        self.places = [_place(omega) for omega, _ in known]

    def run(self, M: Array, omega: float, level: float) -> UpperBound | None:
        """Return a bound below a level at a frequency, else the lowest found; None where there is none."""
        enough = self.room * level
        found = self._near(M, omega, enough)
        if found is not None and found.level > enough:
            found = upper_bound(self.centres, M, _COARSE, found, enough)
        if found is None or found.level > enough:
            found = _lower(found, self._afresh(M, enough))
        if found is not None:
            self._keep(omega, found)
        return found

    def centre(self, M: Array, omega: float, level: float, bound: UpperBound) -> Array:
        """Return the coordinates of the centre at a level above a bound."""
        x = self.centres.centre(M, level, bound.g, bound.x)
        if x is None:
            return bound.x
        self._keep(omega, bound._replace(x=x))
        return x

    def _keep(self, omega: float, bound: UpperBound) -> None:
        self.known.append((omega, bound))
        self.places.append(_place(omega))

    def _near(self, M: Array, omega: float, enough: float) -> UpperBound | None:
        """Return the known scaling that proves enough with the smallest G, else the lowest level; None without a proof.

        A level that the gain proves too is none.
        """
        here, gain = _place(omega), float(np.linalg.norm(M, 2))
        nearest = nsmallest(_NEAREST, range(len(self.known)), key=lambda k: abs(self.places[k] - here))
        bounds = [self.known[k][1] for k in nearest]
        bounds = [bound._replace(level=self.centres.bound(M, bound.x, bound.g)) for bound in bounds]
        below = [bound for bound in bounds if bound.level < gain]
        enough = max(enough, min((bound.level for bound in below), default=enough))
        return min((bound for bound in below if bound.level <= enough), key=lambda bound: bound.g, default=None)

    def _afresh(self, M: Array, enough: float) -> UpperBound | None:
        """Return a bound with a G as small as will do."""
        found, before = None, 1.0
        for largest in _BOUNDS_OF_G if self.centres.structure.real else _BOUNDS_OF_G[-1:]:
            if found is None:
                begin = None if self.start is None else self.start(M, largest)
                if self.start is None or begin is not None:
                    found = upper_bound(self.centres, M, _CONVERGED, begin, enough, largest)
            else:
                wider = found.g * largest / before
                found = found._replace(x=self.centres.widened(found.x, found.g, wider), g=wider)
                found = upper_bound(self.centres, M, _FINE if largest == LARGEST_G else _CONVERGED, found, enough)
            if found is not None and found.level <= enough:
                break
            before = largest
        return found


def _lower(one: UpperBound | None, other: UpperBound | None) -> UpperBound | None:
    """Return the lower of two bounds."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other, key=lambda bound: bound.level)


def _place(omega: float) -> float:
    """Return where a frequency lies, octaves above the loop's rate being alike, infinity behind all."""
    return float(np.log1p(omega)) if np.isfinite(omega) else _BEHIND
