"""Gears eliminated: a gear says exactly how one coordinate follows another, so that only those that lead are left to solve for.

Coordinates that gears join are trees of followers under the fastest of them, which leads; under none, if one of them is held. A
gear that closes a circle takes nothing out. Whether gears are independent is a matter of what they join, never of rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from titop.blocks.basics.spatial import Array

Ints = NDArray[np.intp]
#: The leader of coordinates that stand still.
GROUND = -1


@dataclass(frozen=True)
class Following:
    """Which coordinates (n) follow which.

    Attributes
    ----------
    rows : (g, n) array
        The gears: rows of a Jacobian with two entries, or one where the other coordinate is held.
    gears : (f,) int array
        Gears that take a coordinate out, each in its turn: followers of followers before these.
    followers, leaders : (f,) int arrays
        The coordinates, and which they follow: `GROUND` for those that stand still.
    """

    rows: Array
    gears: Ints
    followers: Ints
    leaders: Ints

    @cached_property
    def others(self) -> Ints:
        """The gears that take nothing out."""
        return np.setdiff1d(np.arange(len(self.rows)), self.gears)

    @cached_property
    def shares(self) -> Array:
        """How far each follower moves per unit of the coordinate that it follows (f); 0 on the ground."""
        own = self.rows[self.gears, self.followers]
        return np.where(self.leaders == GROUND, 0.0, -self.rows[self.gears, self.leaders] / own)

    @cached_property
    def basis(self) -> tuple[Ints, Array]:
        """For each coordinate the one that leads it, and how far it moves per unit of that one (n each): the matrix G."""
        n = self.rows.shape[1]
        leading, moves = np.arange(n), np.ones(n, dtype=self.rows.dtype)
        for i, j, share in self._outwards():
            leading[i], moves[i] = (leading[j], share * moves[j]) if j != GROUND else (i, 0.0)
        return leading, moves

    def _outwards(self) -> list[tuple[int, int, float]]:
        triples = zip(self.followers.tolist(), self.leaders.tolist(), self.shares.tolist(), strict=True)
        return list(triples)[::-1]

    @cached_property
    def lengths(self) -> Array:
        """Lengths of G's columns (n), 1 of followers': what a coordinate that leads moves altogether."""
        leading, moves = self.basis
        squares = np.bincount(leading, moves**2, minlength=len(moves))
        squares[self.followers] = 1.0
        return np.sqrt(squares)

    def onto_leading(self, matrix: Array) -> Array:
        """Return a matrix (k x n) that acts on coordinates as one that acts on those that lead, measured by their lengths."""
        if not len(self.gears):
            return matrix
        leading, moves = self.basis
        result = np.zeros(matrix.shape, dtype=np.result_type(matrix, moves))
        np.add.at(result.T, leading, (matrix * moves).T)
        return result / self.lengths


def following(rows: Array) -> Following:
    """Return which coordinates follow which, by gears: rows (g x n) of at most two entries."""
    if not len(rows):
        return Following(rows, *np.zeros((3, 0), dtype=np.intp))
    sizes, ends = np.abs(rows), list[list[int]]([] for _ in rows)
    for gear, column in zip(*(part.tolist() for part in np.nonzero(rows)), strict=True):
        ends[gear].append(column)
    neighbours: dict[int, list[tuple[int, int]]] = {}
    group: dict[int, list[int]] = {}
    for gear, pair in enumerate(ends):
        if pair:
            first, second = (*pair, GROUND)[:2]
            for end in (first, second):
                group.setdefault(end, [end])
                neighbours.setdefault(end, [])
            small, large = sorted((group[first], group[second]), key=len)
            if small is not large:
                large += small
                group.update(dict.fromkeys(small, large))
                neighbours[first].append((second, gear))
                neighbours[second].append((first, gear))
    order = []
    for members in {id(group[end]): group[end] for end in group}.values():
        order += _outwards(_leader(members, neighbours, sizes), neighbours)
    followers, leaders, gears = np.array(order[::-1], dtype=np.intp).reshape(-1, 3).T
    return Following(rows, gears, followers, leaders)


def _outwards(leader: int, neighbours: dict[int, list[tuple[int, int]]]) -> list[tuple[int, int, int]]:
    """Return follower, leader and gear of all that follow, the nearest to `leader` first."""
    found, at = [(leader, leader, -1)], 0
    while at < len(found):
        here, before, _ = found[at]
        found += [(end, here, gear) for end, gear in neighbours[here] if end != before]
        at += 1
    return found[1:]


def _leader(members: list[int], neighbours: dict[int, list[tuple[int, int]]], sizes: Array) -> int:
    """Return the ground, if it is among the members, else the fastest of them: its followers move no further than it does."""
    if GROUND in members:
        return GROUND
    speeds = {members[0]: 0.0}
    for end, before, gear in _outwards(members[0], neighbours):
        speeds[end] = speeds[before] + float(np.log(sizes[gear, before]) - np.log(sizes[gear, end]))
    return max(speeds, key=speeds.__getitem__)


def leading_tree(tree: Ints, leading: Ints, still: Array) -> Ints:
    """Return the tree along which ``G^T M G`` is factored: of the coordinates that lead; all others are roots of their own.

    An entry of that matrix is zero unless one of the two coordinates lies on the other's path in the new tree, if the entries
    of M are such in the given one: those that lead the coordinates of a path of the old tree are put on one of the new, the
    first (in the order of what they lead) nearest to the world.

    Parameters
    ----------
    tree : (2, n) int array
        As the kernels' `factor` takes it: the coordinates, parents first; before each one the next on the path to the world.
    leading : (n,) int array
        The coordinate that leads each.
    still : (n,) bool array
        Coordinates that do not move.
    """
    order, before = tree[0].tolist(), tree[1].tolist()
    lead = [GROUND if rests else k for k, rests in zip(leading.tolist(), still.tolist(), strict=True)]
    place = {GROUND: -1}
    for k in order:
        place.setdefault(lead[k], len(place))
    last = [GROUND] * len(order)  # of those that lead a coordinate and those before it, the last
    later: dict[int, list[int]] = {k: [] for k in place}  # those after each that must be on one path with it
    for k in order:
        above, own = last[before[k]] if before[k] >= 0 else GROUND, lead[k]
        first, last[k] = sorted((above, own), key=place.__getitem__)
        if GROUND != first != last[k]:
            later[first].append(last[k])
    leads = [k for k in place if k != GROUND]
    others = set(order).difference(leads)
    return np.array([[*leads, *others], _elimination_tree(later, leads, len(order))], dtype=np.int64)


def _elimination_tree(later: dict[int, list[int]], order: list[int], count: int) -> list[int]:
    """Return before each coordinate the next one on its path (-1 for the first), so that all `later` ones have it on theirs.

    Liu, The role of elimination trees in sparse factorization, 1990; the last of the `order` is eliminated first.
    """
    before, farthest = [-1] * count, dict[int, int]()
    for i in reversed(order):
        for k in later[i]:
            while k != i:
                above, farthest[k] = farthest.get(k), i
                if above is None:
                    before[k] = above = i
                k = above
    return before
