"""Upper bounds of the structured singular value: of a matrix, and of responses at one frequency after another.

At the centre of a level its scaling proves a lower one; the next level lies a tenth of the slack above that (Boyd, El Ghaoui
1993, "Method of centers for minimizing generalized eigenvalues"). The line through the last two centres is followed as long as
the bound falls: where scalings have to become very unequal, centres alone creep. Searches begin with scalings that are known at
frequencies nearby.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import nsmallest
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, NEGLIGIBLE, TYPED
from titop.solvers.linear.matrices import Matrices
from titop.solvers.robust.scalings import Centres

#: How much of the slack is left, how many centres are taken at most, and over how many the bound has to fall.
_SLACK, _CENTRES, _PATIENCE = 0.1, 200, 4

#: Lengths of a step along a line that are tried, and the shortest, relative to the last one.
_LENGTHS, _SHORTEST = 20, 0.125

#: A level this near to what its centre proves is a tight one.
_TIGHT = 1.1

#: Bound of G relative to D and to the matrix' gain: a hundred costs 1e-4 of the bound or less, a thousand nothing that is seen.
LARGEST_G = 1e3

#: Relative tolerances of bounds that begin nearby, of those begun afresh, and of those that are above the level all the same:
#: where scalings have to become very unequal, bounds creep before they fall.
_COARSE, _CONVERGED, _FINE = 3 * NEGLIGIBLE, 3 * CLOSE, 0.1 * CLOSE

#: Bounds of G, relative to the gain, in the order in which they are tried: the smaller, the longer a scaling stays valid.
_BOUNDS_OF_G = (1.0, 10.0, LARGEST_G)

#: So many scalings, of the nearest frequencies, are tried.
_NEAREST = 6

#: Where infinity is put on an axis of logarithms.
_BEHIND = 1e3


class UpperBound(NamedTuple):
    """A level that a scaling proves.

    `x`: coordinates of the scaling; `g`: bound of G.
    """

    level: float
    x: Array
    g: float


Start = Callable[[Array, float], UpperBound | None] | None
Known = list[tuple[float, UpperBound]]


def upper_bound(
    centres: Centres,
    M: Array,
    tolerance: float = 1e-4,
    start: UpperBound | None = None,
    enough: float = 0.0,
    largest: float = LARGEST_G,
) -> UpperBound:
    """Return an upper bound of mu, or of skew mu.

    `tolerance`: relative: where four centres lower the bound by less, it is taken; `start`: a scaling to begin with, of the
    same matrix or a similar one; needed for skew mu; `enough`: a bound below this is good enough; `largest`: bound of G
    relative to D and to the matrix' gain, where there is no start.
    """
    gain = float(np.linalg.norm(M, 2))
    best = UpperBound(gain, centres.unknowns.identity, largest * gain) if start is None else start
    best = best._replace(level=centres.bound(M, best.x, best.g))
    level, x, before, met = 1.1 * best.level, best.x, None, [np.inf] * _PATIENCE
    for _ in range(_CENTRES):
        if best.level <= max(enough, TYPED * gain) or not np.isfinite(level):
            break
        centre = centres.centre(M, level, best.g, x)
        if centre is None:
            break
        bound = centres.bound(M, centre, best.g)
        x, lowest = (centre, bound) if before is None else _line_search(centres, M, best.g, (centre, bound), centre - before)
        if lowest < best.level:
            best = UpperBound(lowest, x, best.g)
        if best.level >= (1 - tolerance) * met[-_PATIENCE] and level < _TIGHT * bound:
            break
        before, met = centre, [*met, best.level]
        level = float(np.sqrt(lowest**2 + _SLACK * max(level**2 - lowest**2, 0.0)))
    return best


def in_own_units(centres: Centres, M: Array, bound: UpperBound) -> tuple[Array, UpperBound]:
    """Return a matrix in coordinates in which D of a bound's scaling is one, and the bound there.

    From channels that differ by decades centres creep, as if nothing lower could be proved; in these they go on.
    """
    system, G = centres.scaling(bound.x, bound.g).normalise(Matrices.constant(M))
    changed = system.D
    g = max(LARGEST_G * float(np.linalg.norm(changed, 2)), 2 * float(np.linalg.norm(G, 2)))
    structure, matrices = centres.structure, []
    for (k, sign), size in zip(centres.owners, centres.unknowns.sizes, strict=True):
        part = G[structure.w[k], structure.z[k]] if sign else 0.0
        matrices.append(np.eye(size) + sign * part / (g or 1.0))
    x = centres.unknowns.coordinates(matrices)
    return changed, UpperBound(centres.bound(changed, x, g), x, g)


class LevelSearch:
    """Searches for scalings below a level.

    `tolerance`: relative: a bound is good enough where it lies half of it below the level; `start`: function of a response and
    a bound of G that returns the scaling to begin with where nothing is known, or None; `known` (omega, UpperBound): scalings
    at frequencies (rad/s); it grows.
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
            both = [bound for bound in (found, self._afresh(M, enough)) if bound is not None]
            found = min(both, key=lambda bound: bound.level, default=None)
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
                found = found._replace(x=self.centres.widen(found.x, found.g, wider), g=wider)
                found = upper_bound(self.centres, M, _FINE if largest == LARGEST_G else _CONVERGED, found, enough)
            if found is not None and found.level <= enough:
                break
            before = largest
        return found


def _place(omega: float) -> float:
    """Return where a frequency lies, octaves above the loop's rate being alike, infinity behind all."""
    return float(np.log1p(omega)) if np.isfinite(omega) else _BEHIND


def _line_search(centres: Centres, M: Array, g: float, start: tuple[Array, float], step: Array) -> tuple[Array, float]:
    """Return coordinates along a line, and their bound: steps double while it falls, or are halved until it does."""
    best, length = start, 1.0
    for _ in range(_LENGTHS):
        x = start[0] + length * step
        bound = centres.bound(M, x, g) if centres.unknowns.are_positive(x) else np.inf
        if bound >= best[1]:
            if best[1] < start[1] or length <= _SHORTEST:
                break
            length /= 2
        else:
            best = (x, bound)
            if length < 1:
                break
            length *= 2
    return best
