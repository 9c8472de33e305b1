"""Upper bound of the structured singular value of a matrix, by the method of centres.

At the centre of a level its scaling proves a lower one; the next level lies a tenth of the slack above that (Boyd, El Ghaoui
1993, "Method of centers for minimizing generalized eigenvalues"). The line through the last two centres is followed as long as
the bound falls: where scalings have to become very unequal, centres alone creep.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.centres import Centres
from titop.solvers.robust.scalings import Scaling

#: How much of the slack is left, how many centres are taken at most, and over how many the bound has to fall.
_SLACK, _CENTRES, _PATIENCE = 0.1, 200, 4

#: Lengths of a step along a line that are tried, and the shortest, relative to the last one.
_LENGTHS, _SHORTEST = 20, 0.125

#: A level this near to what its centre proves is a tight one.
_TIGHT = 1.1

#: Bound of G relative to D and to the matrix' gain: a hundred costs 1e-4 of the bound or less, a thousand nothing that is seen.
LARGEST_G = 1e3

#: A level this far below the gain counts as zero.
_ZERO = 1e-6


class UpperBound(NamedTuple):
    """A level that a scaling proves.

    Attributes
    ----------
    level : float
    x : array
        Coordinates of the scaling.
    g : float
        Bound of G.
    """

    level: float
    x: Array
    g: float

    def scaling(self, centres: Centres) -> Scaling:
        """Return the scaling."""
        return centres.scaling(self.x, self.g)


def upper_bound(
    centres: Centres,
    M: Array,
    tolerance: float = 1e-4,
    start: UpperBound | None = None,
    enough: float = 0.0,
    largest: float = LARGEST_G,
) -> UpperBound:
    """Return an upper bound of mu, or of skew mu.

    Parameters
    ----------
    centres : Centres
    M : array (columns of z, rows of w)
    tolerance : float
        Relative: where four centres lower the bound by less, it is taken.
    start : UpperBound, optional
        A scaling to begin with, of the same matrix or a similar one; needed for skew mu.
    enough : float
        A bound below this is good enough.
    largest : float
        Bound of G relative to D and to the matrix' gain, where there is no start.
    """
    gain = float(np.linalg.norm(M, 2))
    best = UpperBound(gain, centres.unknowns.identity, largest * gain) if start is None else start
    best = best._replace(level=centres.bound(M, best.x, best.g))
    level, x, before, met = 1.1 * best.level, best.x, None, [np.inf] * _PATIENCE
    for _ in range(_CENTRES):
        if best.level <= max(enough, _ZERO * gain) or not np.isfinite(level):
            break
        centre = centres.centre(M, level, best.g, x)
        if centre is None:
            break
        bound = centres.bound(M, centre, best.g)
        x, lowest = (centre, bound) if before is None else _followed(centres, M, best.g, (centre, bound), centre - before)
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
    D_w, D_z, G = bound.scaling(centres)
    w, z = (np.linalg.cholesky(D).conj().T for D in (D_w, D_z))
    w_inverse, z_inverse = np.linalg.inv(w), np.linalg.inv(z)
    changed, G = z @ M @ w_inverse, w_inverse.conj().T @ G @ z_inverse
    g = max(LARGEST_G * float(np.linalg.norm(changed, 2)), 2 * float(np.linalg.norm(G, 2)))
    structure, matrices = centres.structure, []
    for (k, sign), size in zip(centres.owners, centres.unknowns.sizes, strict=True):
        own = G[structure.w[k], structure.z[k]] if sign else 0.0
        matrices.append(np.eye(size) + sign * own / (g or 1.0))
    x = centres.unknowns.coordinates(matrices)
    return changed, UpperBound(centres.bound(changed, x, g), x, g)


def _followed(centres: Centres, M: Array, g: float, start: tuple[Array, float], step: Array) -> tuple[Array, float]:
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
