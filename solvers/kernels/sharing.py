"""Efforts and motions of least norm that constraints leave, by rows made orthogonal to each other.

The rows are independent ones. Some of their columns may not count: then parts of some rows vanish with those of others. Where
it is not clear whether they do, callers are left to look closer.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.constrained import longest_row
from titop.solvers.kernels.layout import INCONSISTENT, OK, SINGULAR
from titop.solvers.native.kernel import AllocatingHelper, helper

#: Squares, over the largest of a row: less is left of dependent rows by rounding, more of independent ones.
_ROUNDED = 1e-24
_INDEPENDENT = 1e-10
#: As in `titop.solvers.loops.closed_dynamics`: efforts that nothing balances, relative to the largest.
_BALANCED = 1e-8
#: As in `titop.solvers.loops.assembling`: rates that contradict each other by less, and rounded entries of the Jacobian.
_CONSISTENT = 1e-8
_ROUNDED_ENTRY = 1e-14


@helper
def product_where(x, y, counts, what):
    """Return the product of two vectors over the columns of which `counts` is `what`."""
    total = 0.0
    for j in range(x.size):
        if counts[j] == what:
            total += x[j] * y[j]
    return total


@helper
def make_orthogonal(rows, counts, what, shares, order, squares, first, largest):
    """Make rows orthogonal to each other in the columns that count; return how many there are, -1 if that is not clear.

    Those before `first` in the `order` are left alone. `order` (k) gets the rows in their order, `squares` (k) what is left of
    them in it, `shares` (k x k) what has been subtracted of each from those after it. `largest` is the square of the row beside
    which all count.
    """
    k = rows.shape[0]
    for p in range(first, k):
        most, best = 0.0, p
        for c in range(p, k):
            left = product_where(rows[order[c]], rows[order[c]], counts, what)
            if left > most:
                most, best = left, c
        if not most > _ROUNDED * largest:
            return p
        if most < _INDEPENDENT * largest:
            return -1
        order[p], order[best] = order[best], order[p]
        pivot = order[p]
        squares[p] = most
        for c in range(p + 1, k):
            i = order[c]
            shares[i, p] = product_where(rows[i], rows[pivot], counts, what) / most
            for j in range(rows.shape[1]):
                rows[i, j] -= shares[i, p] * rows[pivot, j]
    return k


@helper
def take_out(rows, counts, what, order, squares, first, end, x):
    """Subtract multiples of orthogonal rows from a vector so that nothing along them is left in the columns that count."""
    for _ in range(2):  # the second time for rounding
        for p in range(first, end):
            share = product_where(rows[order[p]], x, counts, what) / squares[p]
            for j in range(x.size):
                x[j] -= share * rows[order[p], j]


@helper
def share_efforts(rows, unknown, shares, order, squares, largest, efforts):
    """Replace the efforts that are needed by the least ones on the coordinates `unknown`, the rows' multipliers doing the rest.

    The rows are used up. Returns a status.
    """
    greatest = 0.0
    for j in range(efforts.size):
        greatest = max(greatest, abs(efforts[j]))
    for c in range(rows.shape[0]):
        order[c] = c
    count = make_orthogonal(rows, unknown, False, shares, order, squares, 0, largest)
    if count < 0:
        return SINGULAR
    take_out(rows, unknown, False, order, squares, 0, count, efforts)
    for j in range(efforts.size):
        if not unknown[j]:
            if abs(efforts[j]) > _BALANCED * greatest:
                return SINGULAR
            efforts[j] = 0.0
            for c in range(count, rows.shape[0]):
                rows[order[c], j] = 0.0
    end = make_orthogonal(rows, unknown, True, shares, order, squares, count, largest)
    if end < rows.shape[0]:
        return SINGULAR
    take_out(rows, unknown, True, order, squares, count, end, efforts)
    return OK


@helper
def add_least(rows, shares, order, squares, count, right, x):
    """Add the vector of least norm to x with which the rows were equal to `right` before they were made orthogonal."""
    for p in range(count):
        share = right[order[p]] / squares[p]
        for c in range(p + 1, rows.shape[0]):
            right[order[c]] -= shares[order[c], p] * right[order[p]]
        for j in range(x.size):
            x[j] += share * rows[order[p], j]


@helper
def multipliers_of(shares, order, squares, rows, counts, x, multipliers):
    """Write the multipliers of the rows, as they were before they were made orthogonal, whose sum is nearest to a vector."""
    for p in range(order.size - 1, -1, -1):
        share = product_where(rows[order[p]], x, counts, True) / squares[p]
        for c in range(p + 1, order.size):
            share -= shares[order[c], p] * multipliers[order[c]]
        multipliers[order[p]] = share


@AllocatingHelper
def to_nearest(jacobian, rows, which, bias, second, sizes, free, v, x):
    """Replace rates x, the `free` ones of them, by the nearest with ``J x = 0``, or ``-bias`` for `second` ones.

    `rows` are independent ones of J, those of the numbers `which`, and used up. Returns a status.
    """
    n, count = x.size, rows.shape[0]
    shares, order, squares = np.empty((count, count)), np.empty(count, np.int64), np.empty(count)
    right, step, given = np.empty(count), np.empty(n), x.copy()
    for c in range(count):
        order[c] = c
        for j in range(n):
            rows[c, j] *= sizes[j]
    largest = longest_row(rows)
    for c in range(count):
        for j in range(n):
            if not free[j]:
                rows[c, j] = 0.0
    taken = make_orthogonal(rows, free, True, shares, order, squares, 0, largest)
    if taken < 0:
        return SINGULAR
    for _ in range(2):  # the second time for rounding
        for c in range(count):
            i = which[c]
            right[c] = -bias[i] if second else 0.0
            for j in range(n):
                right[c] -= jacobian[i, j] * x[j]
        step[:] = 0.0
        add_least(rows, shares, order, squares, taken, right, step)
        for j in range(n):
            x[j] += sizes[j] * step[j]
    return contradiction(jacobian, bias, second, sizes, v, given, x)


@helper
def contradiction(jacobian, bias, second, sizes, v, given, x):
    """Return as a status whether rates leave more of the constraints than rounding, as `assembling` judges it."""
    rest, scale, rate, entry, fastest = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(x.size):
        fastest = max(fastest, abs(x[j] / sizes[j]))
    for i in range(jacobian.shape[0]):
        wanted = -bias[i] if second else 0.0
        left, terms, speed = wanted, abs(wanted), 0.0
        for j in range(x.size):
            left -= jacobian[i, j] * x[j]
            terms += abs(jacobian[i, j]) * (abs(given[j]) + abs(x[j]))
            speed += abs(jacobian[i, j] * v[j])
            entry = max(entry, abs(jacobian[i, j] * sizes[j]))
        rest, scale, rate = max(rest, abs(left)), max(scale, terms), max(rate, speed)
    if second:
        scale += rate * rate
    return OK if rest <= _CONSISTENT * scale + _ROUNDED_ENTRY * entry * fastest else INCONSISTENT
