"""Coordinates that gears let follow others: taken out of forces and of the mass matrix before anything is solved.

Each of some gears takes one coordinate out, which is ``share`` times another one, its leader, or stands still; both ends of
the remaining gears are then known (see `titop.solvers.constraints.following`). With ``v = G v'``, v' the coordinates that lead,
forces become ``G^T f``, the mass matrix ``G^T M G``, Jacobians ``J G``. All keep their size: followers have zeros, in the mass
matrix a one on the diagonal.
"""

from __future__ import annotations

import math

from titop.blocks.basics.choices import select
from titop.solvers.kernels.interface import layout
from titop.solvers.native.kernel import helper


@helper
def share_of(loops, floats, g):
    """Return how far the follower of the gear at row g of `loops` moves a unit of its leader."""
    return -floats[loops[g, layout.LEADER_TERM], layout.FACTOR] / floats[loops[g, layout.FOLLOWER_TERM], layout.FACTOR]


@helper
def fold_vector(loops, floats, x):
    """Replace forces by ``G^T x``."""
    for g in range(1, loops[0, layout.FOLLOWERS] + 1):
        i, j = loops[g, layout.FOLLOWER], loops[g, layout.LEADER]
        if j >= 0:
            x[j] += share_of(loops, floats, g) * x[i]
        x[i] = 0.0


@helper
def unfold_vector(loops, floats, x):
    """Let the followers move as their leaders do: replace ``x'`` by ``G x'``."""
    for g in range(loops[0, layout.FOLLOWERS], 0, -1):
        i, j = loops[g, layout.FOLLOWER], loops[g, layout.LEADER]
        x[i] = share_of(loops, floats, g) * x[j] if j >= 0 else 0.0


@helper
def fold_vectors(loops, floats, x):
    """Replace the columns of x, forces, by ``G^T x``."""
    for g in range(1, loops[0, layout.FOLLOWERS] + 1):
        i, j = loops[g, layout.FOLLOWER], loops[g, layout.LEADER]
        share = share_of(loops, floats, g) if j >= 0 else 0.0
        for c in range(x.shape[1]):
            if j >= 0:
                x[j, c] += share * x[i, c]
            x[i, c] = 0.0


@helper
def unfold_vectors(loops, floats, x):
    """Replace the columns of x, motions of the leaders, by ``G x``."""
    for g in range(loops[0, layout.FOLLOWERS], 0, -1):
        i, j = loops[g, layout.FOLLOWER], loops[g, layout.LEADER]
        share = share_of(loops, floats, g) if j >= 0 else 0.0
        for c in range(x.shape[1]):
            x[i, c] = share * x[j, c] if j >= 0 else 0.0


@helper
def fold_mass_matrix(loops, floats, matrix):
    """Replace a mass matrix by ``G^T M G``, ones on the followers' diagonal."""
    for g in range(1, loops[0, layout.FOLLOWERS] + 1):
        i, j = loops[g, layout.FOLLOWER], loops[g, layout.LEADER]
        if j >= 0:
            share = share_of(loops, floats, g)
            matrix[j, j] += share * (2.0 * matrix[i, j] + share * matrix[i, i])
            for k in range(matrix.shape[0]):
                if k != i and k != j:
                    matrix[j, k] += share * matrix[i, k]
                    matrix[k, j] = matrix[j, k]
        for k in range(matrix.shape[0]):
            matrix[i, k] = 0.0
            matrix[k, i] = 0.0
        matrix[i, i] = 1.0


@helper
def remaining(loops, c):
    """Return which constraint is the c-th of those that gears with followers leave: of the closures, then other gears."""
    closures = loops[0, layout.ROWS] - loops[0, layout.GEARS]
    return c if c < closures else loops[1 + loops[0, layout.FOLLOWERS] + c - closures, layout.CONSTRAINT]


@helper
def number_rows(loops, chosen, which):
    """Write the numbers of constraints: of gears with followers, then of those `chosen` among the remaining ones."""
    followers, closures = loops[0, layout.FOLLOWERS], loops[0, layout.ROWS] - loops[0, layout.GEARS]
    for c in range(which.size):
        which[c] = chosen[c - followers] if c >= followers else loops[1 + c, layout.CONSTRAINT]
        for g in range(closures, loops[0, layout.ROWS] - followers if c >= followers else 0):
            which[c] = select(chosen[c - followers] == g, remaining(loops, g), which[c])


@helper
def fold_rows(loops, floats, jacobian, folded):
    """Write the rows ``J G`` of the remaining constraints into `folded`."""
    for c in range(folded.shape[0]):
        row = remaining(loops, c)
        for k in range(folded.shape[1]):
            folded[c, k] = jacobian[row, k]
        fold_vector(loops, floats, folded[c])


@helper
def one_of(loops, floats, k):
    """Return what counts as one of the k-th coordinate: a radian, the system's length."""
    return floats[0, layout.EXTENT] if loops[1 + loops[0, layout.GEARS] + k, layout.LENGTH] else 1.0


@helper
def ones_of(loops, floats, ones):
    """Write what counts as one of each coordinate (n): see `one_of`."""
    for k in range(ones.size):
        ones[k] = one_of(loops, floats, k)


@helper
def leaders_lengths(loops, floats, lengths):
    """Write the lengths of G's columns (n), what a leader moves altogether: lengths in units of the system's."""
    for k in range(lengths.size):
        one = one_of(loops, floats, k)
        lengths[k] = 1.0 / (one * one)
    for g in range(1, loops[0, layout.FOLLOWERS] + 1):
        i, j = loops[g, layout.FOLLOWER], loops[g, layout.LEADER]
        if j >= 0:
            share = share_of(loops, floats, g)
            lengths[j] += share * share * lengths[i]
    for k in range(lengths.size):
        lengths[k] = math.sqrt(lengths[k])
