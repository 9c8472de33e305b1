"""Which constraints are independent: rows of their Jacobian chosen one by one, by geometry alone.

How many of them act is given (see `titop.solvers.constraints.branch`).
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import everywhere, nowhere, select
from titop.blocks.basics.tolerances import LOOSE_RANK, SAME
from titop.solvers.kernels.closures.following import one_of
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import entry_at, put_entry_at
from titop.solvers.native.kernel import helper, shared

#: As in `titop.solvers.constraints.multipliers`: a row is dependent if what is left of it is less than this part of the
#: largest, in squares.
_DEPENDENT = LOOSE_RANK * LOOSE_RANK
#: So many rows take as long as one when all are gone through at once.
_FEW = 8


@shared
def choose_rows(jacobian, lengths, largest, squares, chosen):
    """Write the indices of independent rows into `chosen`, as many as it has room for; return how many there are.

    In lanes each takes rows of its own; it is -1 if not all take as many.

    Each turn takes the row of which most is left when its projections on those before are removed; `squares` (k) are what is
    left of each in the end. Entries are over the `lengths` of their columns; `largest` is the square of a row beside which all
    count. Rows stand side by side, so that loops over them are vectorised; few of them that have something in common with the
    one taken are gone through one by one.
    """
    k, n = jacobian.shape
    space, taken = np.empty((n + 1, k), jacobian.dtype), np.empty(n, jacobian.dtype)
    rest, shares = space[:n], space[n]
    squares[:] = 0.0
    for j in range(n):
        for i in range(k):
            rest[j, i] = jacobian[i, j] / lengths[j]
            squares[i] += rest[j, i] * rest[j, i]
    for turn in range(chosen.size):
        most, p = 0.0, 0.0
        for i in range(k):
            most = max(most, squares[i])
        enough = (1.0 - SAME) * most
        for i in range(k - 1, -1, -1):
            p = select(squares[i] < enough, p, i)
        most = entry_at(squares, 0, p)
        largest = max(largest, most)
        counts = most > _DEPENDENT * largest
        if not everywhere(counts):
            return turn if nowhere(counts) else -1
        chosen[turn] = p
        for j in range(n):
            taken[j] = entry_at(rest, j * k, p)
        start, end = 0, n
        while start < end and everywhere(taken[start] == 0.0):
            start += 1
        while end > start and everywhere(taken[end - 1] == 0.0):
            end -= 1
        shares[:] = 0.0
        for j in range(start, end):
            for i in range(k):
                shares[i] += rest[j, i] * taken[j]
        put_entry_at(shares, 0, p, 0.0)
        touched = 0
        for i in range(k):
            shares[i] /= most
            touched += 0 if everywhere(shares[i] == 0.0) else 1
        if touched * _FEW > k:
            _remove_from_all(rest, shares, taken, start, end, squares)
        else:
            _remove_from_few(rest, shares, taken, start, end, squares)
        for j in range(start, end):
            put_entry_at(rest, j * k, p, 0.0)
        put_entry_at(squares, 0, p, 0.0)
    return chosen.size


@helper
def _remove_from_all(rest, shares, taken, start, end, squares):
    """Subtract shares of the column taken from the others, and write the squares of what is left of them."""
    for j in range(start, end):
        for i in range(shares.size):
            rest[j, i] -= shares[i] * taken[j]
    squares[:] = 0.0
    for j in range(rest.shape[0]):
        for i in range(shares.size):
            squares[i] += rest[j, i] * rest[j, i]


@helper
def _remove_from_few(rest, shares, taken, start, end, squares):
    """Do so for those that have a share."""
    for i in range(shares.size):
        if not everywhere(shares[i] == 0.0):
            for j in range(start, end):
                rest[j, i] -= shares[i] * taken[j]
            squares[i] = 0.0
            for j in range(rest.shape[0]):
                squares[i] += rest[j, i] * rest[j, i]


@helper
def longest_row(loops, floats, matrix, imposed):
    """Return the largest square of a row, lengths in units of the system's; columns of `imposed` coordinates are left out."""
    largest = 0.0
    for i in range(matrix.shape[0]):
        square = 0.0
        for j in range(matrix.shape[1]):
            if imposed is None or not imposed[j]:
                entry = matrix[i, j] * one_of(loops, floats, j)
                square += entry * entry
        largest = max(largest, square)
    return largest


@helper
def rows_to_choose(loops, n):
    """Return how many rows to look for beside those of gears with followers.

    They are those that act, and unless their number is held one more, which there should not be.
    """
    more = 0 if loops[0, layout.HELD] else 1
    return max(0, min(loops[0, layout.RANK] + more, loops[0, layout.ROWS], n) - loops[0, layout.FOLLOWERS])
