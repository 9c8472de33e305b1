"""Lower bound of mu at a frequency: an uncertainty that makes the loop singular.

Found by the power iteration from several starts, and where there are real blocks along edges of their box: of real blocks alone
eigenvalues are followed there, with others the power iteration goes on with real numbers held at corners (as Seiler, Packard,
Balas 2010 bound gains). All that is found is made smaller by linear programmes, and what is returned is singular to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.least_size import LeastSize, Singular
from titop.solvers.robust.power_iteration import iterated, turned
from titop.solvers.robust.real_edges import along_edges
from titop.solvers.robust.structure import Structure

#: Starts of the power iteration, with real blocks alone, corners at which real numbers are held, and the nearest on edges that
#: are made smaller.
_STARTS, _REAL_STARTS, _CORNERS, _NEAREST = 5, 2, 8, 2

#: By how much coordinates are shaken before they are made smaller.
_SHAKEN = 0.1

#: A lower bound this near to an upper one is as good as that.
_CLOSED = 1e-6


def lower_bound(M: Array, structure: Structure, enough: float = np.inf, seed: int = 0) -> Singular:
    """Return a lower bound of mu of a matrix (columns of z, rows of w), zero where nothing is found.

    Parameters
    ----------
    M : array
    structure : Structure
    enough : float
        An upper bound: where it is met the search ends.
    seed : int
    """
    best = Singular(0.0, [])
    for found in _searched(M, structure, np.random.default_rng(seed)):
        if found.value > best.value * (1 + _CLOSED):
            search = LeastSize(M, structure, found.deltas)
            exact = search.exact(search.start / found.value)
            best = max(best, exact, key=lambda one: one.value)
        if best.value >= enough * (1 - _CLOSED):
            break
    return best


def _searched(M: Array, structure: Structure, rng: np.random.Generator) -> Iterator[Singular]:
    """Yield uncertainties that make the loop nearly singular."""
    if structure.is_real:
        for found in islice(along_edges(M, structure), _NEAREST):
            yield found
            search = LeastSize(M, structure, found.deltas)
            yield search.run(search.start)
    free = [None] * (_REAL_STARTS if structure.is_real else _STARTS)
    for held in [*free, *([] if structure.is_real else _corners(structure, rng))]:
        deltas = iterated(M, structure, rng, held)
        if not structure.is_real:
            yield turned(M, structure, deltas)
        if structure.real:
            search = LeastSize(M, structure, deltas)
            yield search.run(search.start + _SHAKEN * rng.normal(size=len(search.start)))


def _corners(structure: Structure, rng: np.random.Generator) -> list[list[float]]:
    """Return numbers of all blocks, those of real ones at corners of their box: all of these, or random ones."""
    n = len(structure.real)
    if not n:
        return []
    corners = np.array([*product((1.0, -1.0), repeat=n)]) if 2**n <= _CORNERS else rng.choice((-1.0, 1.0), (_CORNERS, n))
    places = np.zeros((len(corners), len(structure.blocks)))
    places[:, structure.real] = corners
    return [row.tolist() for row in places]
