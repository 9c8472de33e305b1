"""Elimination of coordinates by gears: a follower is an exact multiple of another coordinate; only leading ones are solved for.

Coordinates coupled by gears form a tree of followers with the fastest of them as its leader; if one of them is held, all stand
still. A gear that closes a circle of gears eliminates no coordinate. Which gears are independent follows from the coordinates
that they couple, and is never decided by rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from titop.blocks.basics.spatial import Array

Ints = NDArray[np.intp]
#: Stands for the leader of coordinates that do not move.
GROUND = -1


@dataclass(frozen=True)
class Following:
    """Which of the coordinates (n) follow which by gears.

    - `rows` (g, n): the gears: rows of a Jacobian with two entries, or one where the other coordinate is held;
    - `gears` (f): gears that eliminate a coordinate, in the order of elimination: followers of followers first;
    - `followers`, `leaders` (f): the eliminated coordinates, and those that they follow: `GROUND` for coordinates that do not
      move.
    """

    rows: Array
    gears: Ints
    followers: Ints
    leaders: Ints

    @cached_property
    def others(self) -> Ints:
        """The gears that eliminate no coordinate."""
        return np.setdiff1d(np.arange(len(self.rows)), self.gears)

    @cached_property
    def shares(self) -> Array:
        """How far each follower moves per unit of the coordinate that it follows (f); 0 on the ground."""
        pivots = self.rows[self.gears, self.followers]
        return np.where(self.leaders == GROUND, 0.0, -self.rows[self.gears, self.leaders] / pivots)

    @cached_property
    def basis(self) -> tuple[Ints, Array]:
        """The leader of each coordinate, and how far it moves per unit of the leader (n each): the entries of the matrix G."""
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
        """Norms of the columns of G (n), 1 for followers: the total motion per unit of a leading coordinate."""
        leading, moves = self.basis
        squares = np.bincount(leading, moves**2, minlength=len(moves))
        squares[self.followers] = 1.0
        return np.sqrt(squares)

    def onto_leading(self, matrix: Array) -> Array:
        """Return a matrix (k x n) that acts on coordinates, as acting on the leading ones, columns divided by `lengths`."""
        if not len(self.gears):
            return matrix
        leading, moves = self.basis
        result = np.zeros(matrix.shape, dtype=np.result_type(matrix, moves))
        np.add.at(result.T, leading, (matrix * moves).T)
        return result / self.lengths


def following(rows: Array) -> Following:
    """Return the elimination by gears, given as rows (g x n); those of more than two non-zero entries eliminate nothing."""
    if not len(rows):
        return Following(rows, *np.zeros((3, 0), dtype=np.intp))
    sizes, ends = np.abs(rows), list[list[int]]([] for _ in rows)
    for gear, column in zip(*(part.tolist() for part in np.nonzero(rows)), strict=True):
        ends[gear].append(column)
    neighbours: dict[int, list[tuple[int, int]]] = {}
    group: dict[int, list[int]] = {}
    for gear, pair in enumerate(ends):
        if 0 < len(pair) <= 2:
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
    """Return (follower, leader, gear) of all followers, from `leader` outwards."""
    triples, at = [(leader, leader, -1)], 0
    while at < len(triples):
        here, before, _ = triples[at]
        triples += [(end, here, gear) for end, gear in neighbours[here] if end != before]
        at += 1
    return triples[1:]


def _leader(members: list[int], neighbours: dict[int, list[tuple[int, int]]], sizes: Array) -> int:
    if GROUND in members:
        return GROUND
    speeds = {members[0]: 0.0}
    for end, before, gear in _outwards(members[0], neighbours):
        speeds[end] = speeds[before] + float(np.log(sizes[gear, before]) - np.log(sizes[gear, end]))
    return max(speeds, key=speeds.__getitem__)


def leading_tree(tree: Ints, leading: Ints, still: Array) -> Ints:
    """Return the elimination tree of the leading coordinates, along which ``G^T M G`` is factored; all others become roots.

    An entry of M is non-zero only if one of its two coordinates lies on the other's path to the root of the given tree. The
    returned tree has the same property for ``G^T M G``: the leaders of the coordinates on one path of the given tree lie on
    one path of the returned one, the first of them (in the order of their followers) nearest to the world. `tree` (2, n): as
    the kernels' `factor` takes it: the coordinates, parents first; and for each the next one on its path to the world.
    `leading` (n): the leader of each coordinate. `still` (n): coordinates that do not move.
    """
    order, before = tree[0].tolist(), tree[1].tolist()
    lead = [GROUND if rests else k for k, rests in zip(leading.tolist(), still.tolist(), strict=True)]
    place = {GROUND: -1}
    for k in order:
        place.setdefault(lead[k], len(place))
    last = [GROUND] * len(order)  # the last one of the leaders of each coordinate and of those before it
    later: dict[int, list[int]] = {k: [] for k in place}  # later leaders that must be on one path with each
    for k in order:
        above = last[before[k]] if before[k] >= 0 else GROUND
        first, last[k] = sorted((above, lead[k]), key=place.__getitem__)
        if GROUND != first != last[k]:
            later[first].append(last[k])
    leads = [k for k in place if k != GROUND]
    others = set(order).difference(leads)
    return np.array([[*leads, *others], _elimination_tree(later, leads, len(order))], dtype=np.int64)


def _elimination_tree(later: dict[int, list[int]], order: list[int], count: int) -> list[int]:
    """Return the next coordinate on the path of each (-1 for roots), such that all `later` ones have it on their paths.

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
