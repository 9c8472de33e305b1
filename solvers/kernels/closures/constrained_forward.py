"""Forward dynamics of systems with rigid closures, by Lagrange multipliers.

``M a + h = tau + J^T lambda`` and ``J a = -bias``: with rows I of J that are independent,
``J_I M^-1 J_I^T lambda = -(bias_I + J_I M^-1 (tau - h))``. The rows are chosen by geometry alone; how many of them act is
given (see `titop.solvers.constraints.branch`). Gears have been eliminated before, as far as they take a coordinate out
(`following`).
"""

from __future__ import annotations

import math

import numpy as np

from titop.blocks.basics.tolerances import CONSISTENT, LOOSE_RANK, OPEN, SAME
from titop.solvers.kernels.closures.following import one_of
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.tree.factor import factor, solve_rows
from titop.solvers.kernels.tree.joints import element_of
from titop.solvers.native.kernel import helper, shared

#: As in `titop.solvers.constraints.multipliers`: rows are dependent of which less than this part of the largest
#: is left, in squares.
_DEPENDENT = LOOSE_RANK * LOOSE_RANK
#: So many rows take as long as one when all are gone through at once.
_FEW = 8
#: As in `titop.solvers.constraints.branch` and `consistency`: what counts as open, as rounding and as consistent.
_OPEN = 0.1 * OPEN


@shared
def choose_rows(jacobian, lengths, largest, squares, chosen):
    """Write the indices of independent rows into `chosen`, as many as it has room for; return how many there are.

    Each turn takes the row of which most is left when its projections on those before are removed; `squares` (k) are what is
    left of each in the end. Entries are over the `lengths` of their columns; `largest` is the square of a row beside which all
    count. Rows stand side by side, so that loops over them are vectorised; few of them that have something in common with the
    one taken are gone through one by one.
    """
    k, n = jacobian.shape
    rest, shares = np.empty((n, k)), np.empty(k)
    squares[:] = 0.0
    for j in range(n):
        for i in range(k):
            rest[j, i] = jacobian[i, j] / lengths[j]
            squares[i] += rest[j, i] * rest[j, i]
    for turn in range(chosen.size):
        most, p = 0.0, 0
        for i in range(k):
            most = max(most, squares[i])
        while squares[p] < (1.0 - SAME) * most:
            p += 1
        most = squares[p]
        largest = max(largest, most)
        if not most > _DEPENDENT * largest:
            return turn
        chosen[turn] = p
        start, end = 0, n
        while start < end and rest[start, p] == 0.0:
            start += 1
        while end > start and rest[end - 1, p] == 0.0:
            end -= 1
        shares[:] = 0.0
        for j in range(start, end):
            entry = rest[j, p]
            for i in range(k):
                shares[i] += rest[j, i] * entry
        shares[p], touched = 0.0, 0
        for i in range(k):
            shares[i] /= most
            touched += 1 if shares[i] != 0.0 else 0
        if touched * _FEW > k:
            _remove_from_all(rest, shares, p, start, end, squares)
        else:
            _remove_from_few(rest, shares, p, start, end, squares)
        for j in range(start, end):
            rest[j, p] = 0.0
        squares[p] = 0.0
    return chosen.size


@helper
def _remove_from_all(rest, shares, p, start, end, squares):
    """Subtract shares of column p from the others, and write the squares of what is left of them."""
    for j in range(start, end):
        entry = rest[j, p]
        for i in range(shares.size):
            rest[j, i] -= shares[i] * entry
    squares[:] = 0.0
    for j in range(rest.shape[0]):
        for i in range(shares.size):
            squares[i] += rest[j, i] * rest[j, i]


@helper
def _remove_from_few(rest, shares, p, start, end, squares):
    """Do so for those that have a share."""
    for i in range(shares.size):
        if shares[i] != 0.0:
            for j in range(start, end):
                rest[j, i] -= shares[i] * rest[j, p]
            squares[i] = 0.0
            for j in range(rest.shape[0]):
                squares[i] += rest[j, i] * rest[j, i]


@helper
def longest_row(loops, floats, matrix):
    """Return the largest square of a row, lengths in units of the system's."""
    largest = 0.0
    for i in range(matrix.shape[0]):
        square = 0.0
        for j in range(matrix.shape[1]):
            square += (matrix[i, j] * one_of(loops, floats, j)) ** 2
        largest = max(largest, square)
    return largest


@helper
def longest_free_row(loops, floats, matrix, imposed):
    """Return the largest square of a row as `longest_row` does, columns of `imposed` coordinates left out."""
    largest = 0.0
    for i in range(matrix.shape[0]):
        square = 0.0
        for j in range(matrix.shape[1]):
            if not imposed[j]:
                square += (matrix[i, j] * one_of(loops, floats, j)) ** 2
        largest = max(largest, square)
    return largest


@helper
def clear_where(imposed, x):
    """Put zeros where the motion is imposed."""
    for j in range(x.size):
        if imposed[j]:
            x[j] = 0.0


@helper
def hold(imposed, matrix):
    """Let imposed coordinates stand still in a mass matrix: zeros, and ones on the diagonal."""
    for i in range(imposed.size):
        if imposed[i]:
            for j in range(imposed.size):
                matrix[i, j] = 0.0
                matrix[j, i] = 0.0
            matrix[i, i] = 1.0


@helper
def add_gears(loops, jacobian, a, second):
    """Add accelerations to the gears' second derivatives, the last ones."""
    k = second.size
    for i in range(k - loops[0, layout.GEARS], k):
        for j in range(a.size):
            second[i] += jacobian[i, j] * a[j]


@helper
def span_of(matrix, row):
    """Return where the entries of a row that are not zero begin and end."""
    start, end = 0, matrix.shape[1]
    while start < end and matrix[row, start] == 0.0:
        start += 1
    while end > start and matrix[row, end - 1] == 0.0:
        end -= 1
    return start, end


@helper
def rows_to_choose(loops, n):
    """Return how many rows to look for beside those of gears with followers.

    They are those that act, and unless their number is held one more, which there should not be.
    """
    more = 0 if loops[0, layout.HELD] else 1
    return max(0, min(loops[0, layout.RANK] + more, loops[0, layout.ROWS], n) - loops[0, layout.FOLLOWERS])


@helper
def contradicted(jacobian, error, bias, v, a, alone):
    """Return whether accelerations leave more than rounding of the constraints' second derivatives, the loops being closed.

    `alone` are the accelerations without closures.
    """
    rest, terms, rounded, rate = 0.0, 0.0, 0.0, 0.0
    for i in range(error.size):
        if abs(error[i]) > _OPEN:
            return False
        left, scale, before, speed = bias[i], abs(bias[i]), 0.0, 0.0
        for j in range(a.size):
            left += jacobian[i, j] * a[j]
            scale += abs(jacobian[i, j] * a[j])
            before += abs(jacobian[i, j] * alone[j])
            speed += abs(jacobian[i, j] * v[j])
        rest, terms, rounded, rate = max(rest, abs(left)), max(terms, scale), max(rounded, before), max(rate, speed)
    return rest > SAME * rounded + CONSISTENT * (terms + rate * rate)


@helper
def opened(error):
    """Return whether loops are open by more than rounding and an integrator leave."""
    worst = 0.0
    for i in range(error.size):
        worst = max(worst, abs(error[i]))
    return worst > _OPEN


@helper
def opening(error, jacobian, second, v, a, first_gear):
    """Return whether accelerations, or the configuration, open the loops by more than a simulation does.

    `second` are the second derivatives ``J a + bias`` of the rigid closures, the constraints before `first_gear`.
    """
    if opened(error):
        return True
    rest, terms, rate = 0.0, 0.0, 0.0
    for i in range(error.size):
        along, scale, speed = 0.0, 0.0, 0.0
        for j in range(a.size):
            along += jacobian[i, j] * a[j]
            scale += abs(jacobian[i, j] * a[j])
            speed += abs(jacobian[i, j] * v[j])
        left = second[i] if i < first_gear else along
        rest, terms, rate = max(rest, abs(left)), max(terms, scale + abs(left - along)), max(rate, speed)
    return rest > CONSISTENT * (terms + rate * rate)


@helper
def constrained_accelerations(ints, tree, matrix, jacobian, bias, chosen, columns, gram, a):
    """Replace the efforts less nonlinear effects in `a` by the accelerations; return a status.

    `chosen` are the independent rows of the Jacobian. Factors of M stay in `matrix`, ``M^-1 J^T`` in the first of `columns`
    (nv x r + 1), the triangle of ``J M^-1 J^T`` and, behind it, the multipliers in `gram` (r x r + 1).
    """
    n, r = ints[0, layout.NV], chosen.size
    for k in range(n):
        for c in range(r):
            columns[k, c] = jacobian[chosen[c], k]
        columns[k, r] = a[k]
    failed = factor(tree, matrix)
    if failed >= 0:
        return element_of(ints, failed)
    solve_rows(tree, matrix, columns)
    for c in range(r):
        row = chosen[c]
        start, end = span_of(jacobian, row)
        gram[c] = 0.0
        for k in range(start, end):
            entry = jacobian[row, k]
            for d in range(r + 1):
                gram[c, d] += entry * columns[k, d]
        gram[c, r] = -(gram[c, r] + bias[row])
    if not solve_symmetric(gram, r):
        return layout.SINGULAR
    for k in range(n):
        total = columns[k, r]
        for c in range(r):
            total += columns[k, c] * gram[c, r]
        a[k] = total
    return layout.OK


@helper
def solve_triangles(factored, n, x):
    """Replace the columns of x (n x m) by ``G^-1 x``, with the triangle that `solve_symmetric` has left of G."""
    for j in range(n):
        for k in range(j):
            for c in range(x.shape[1]):
                x[j, c] -= factored[j, k] * x[k, c]
        for c in range(x.shape[1]):
            x[j, c] /= factored[j, j]
    for j in range(n - 1, -1, -1):
        for k in range(j + 1, n):
            for c in range(x.shape[1]):
                x[j, c] -= factored[k, j] * x[k, c]
        for c in range(x.shape[1]):
            x[j, c] /= factored[j, j]


@helper
def solve_symmetric(system, n):
    """Replace the last column of ``[G  b]`` (n x n + 1) by ``G^-1 b`` by Cholesky's method; return whether G is definite."""
    for j in range(n):
        for i in range(j, n):
            total = system[i, j]
            for k in range(j):
                total -= system[i, k] * system[j, k]
            if i > j:
                system[i, j] = total / system[j, j]
            elif total > 0.0:
                system[j, j] = math.sqrt(total)
            else:
                return False
        total = system[j, n]
        for k in range(j):
            total -= system[j, k] * system[k, n]
        system[j, n] = total / system[j, j]
    for j in range(n - 1, -1, -1):
        total = system[j, n]
        for k in range(j + 1, n):
            total -= system[k, j] * system[k, n]
        system[j, n] = total / system[j, j]
    return True
