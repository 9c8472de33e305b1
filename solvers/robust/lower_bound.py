"""Lower bound of mu at a frequency: an uncertainty that makes the loop singular.

Of real blocks alone eigenvalues are followed along the edges of their box. With others the real numbers are sampled, and others
are as bad there as they can be. All that is found is made smaller by linear programmes, and what is returned is singular to
rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.least_size import NONE, LeastSize, Singular
from titop.solvers.robust.power_iteration import worst_complex
from titop.solvers.robust.real_edges import along_edges
from titop.solvers.robust.structure import Structure

#: The nearest on edges, and among samples, that are made smaller.
_ON_EDGES, _NEAREST = 4, 4

#: Samples of real numbers, corners of their box among whose directions some lie, and rounds, each in the box that is left.
_SAMPLES, _CORNERS, _ROUNDS = 160, 8, 2

#: Samples nearer than this part of their box are alike.
_ALIKE = 0.1

#: Starts where there are no real numbers.
_STARTS = 16

#: How far is looked where nothing bounds it: so many times the reach of the gain.
_FARTHEST = 1e3

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
    best, rng = NONE, np.random.default_rng(seed)
    for _ in range(1 if structure.is_real or not structure.real else _ROUNDS):
        for start in _starts(M, structure, best, rng):
            best = max(best, smallest(M, structure, start), key=lambda one: one.value)
            if best.value >= enough * (1 - _CLOSED):
                return best
    return best


def smallest(M: Array, structure: Structure, start: Singular) -> Singular:
    """Return the smallest uncertainty found near another, singular to rounding; of value zero if there is none."""
    found = LeastSize(M, structure, [d / start.value for d in start.deltas]).run()
    best = NONE
    for one in (found, start):
        if one.value > best.value:
            best = max(best, LeastSize(M, structure, [d / one.value for d in one.deltas]).exact(), key=lambda own: own.value)
    return best


def _starts(M: Array, structure: Structure, best: Singular, rng: np.random.Generator) -> Iterator[Singular]:
    """Yield uncertainties that make the loop nearly singular."""
    if structure.is_real:
        yield from islice(along_edges(M, structure), _ON_EDGES)
        return
    nothing = worst_complex(M, structure, np.zeros((1, len(structure.real))), rng)
    largest = max(best.value, float(nothing.values[0]), float(np.linalg.norm(M, 2)) / _FARTHEST)
    reals = _samples(M, structure, 1 / largest, rng) if largest else np.zeros((1, len(structure.real)))
    found = worst_complex(M, structure, reals, rng)
    taken: list[int] = []
    for k in np.argsort(-found.values, kind="stable").tolist():
        if len(taken) == _NEAREST or not found.values[k]:
            break
        if all(np.abs(reals[k] - reals[other]).max(initial=np.inf) > _ALIKE / largest for other in taken):
            taken.append(k)
            yield found.singular(k)


def _samples(M: Array, structure: Structure, radius: float, rng: np.random.Generator) -> Array:
    """Return values (k, real blocks) in a box: random ones, some towards corners, and where eigenvalues come near."""
    n = len(structure.real)
    if not n:
        return np.zeros((_STARTS, 0))
    box = radius * rng.uniform(-1, 1, (_SAMPLES, n))
    toward = _SAMPLES // 2
    box[:toward] = radius * rng.uniform(size=(toward, 1)) * rng.choice((-1.0, 1.0), (toward, n))
    own_rows, own_columns = (np.concatenate([np.r_[place[k]] for k in structure.real]) for place in (structure.z, structure.w))
    numbers = np.repeat(box, [structure.blocks[k].repetitions for k in structure.real], axis=1)[:, None]
    values = np.linalg.eigvals(M[np.ix_(own_rows, own_columns)] * numbers)
    with np.errstate(divide="ignore", invalid="ignore"):
        places = (1 / values).real
    near = (places[:, :, None] * box[:, None]).reshape(-1, n)
    return np.concatenate([box, near[np.abs(near).max(axis=1) <= radius]])
