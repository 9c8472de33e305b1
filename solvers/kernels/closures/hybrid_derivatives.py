"""Derivatives of accelerations and efforts where some motion is imposed, from those of inverse dynamics and of constraints.

With B the changes of efforts ``[-dtau/dq, -dtau/dv, 1, -M a_i]``, E those of ``J a + bias`` by the same, the accelerations
change by ``M^-1 (B + J^T L)`` with ``J M^-1 J^T L = -(E + J M^-1 B)``, all this among the coordinates that lead and are not
imposed; a_i are imposed accelerations, and those of what follows them by gears. Efforts change by
``[dtau/dq, dtau/dv, -1, 0] + M da``, less what the constraints carry of that (`least_norm`).
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.closures.constrained_forward import hold
from titop.solvers.kernels.closures.following import fold_mass_matrix, fold_vectors, remaining, unfold_vectors
from titop.solvers.kernels.closures.least_norm import add_least, take_least
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.tree.factor import factor, solve_rows
from titop.solvers.kernels.tree.joints import element_of
from titop.solvers.native.kernel import helper, shared

#: The cases: changes with q, v, efforts and imposed accelerations.
BY_Q, BY_V, BY_TAU, BY_A = 0, 1, 2, 3


@shared
def _start(loops, floats, imposed, changes, result):
    """Write B into `result`, a case after the other; return a_i."""
    n = result.shape[1]
    for i in range(n):
        for j in range(n):
            result[BY_Q, i, j], result[BY_V, i, j] = -changes[BY_Q, i, j], -changes[BY_V, i, j]
            result[BY_TAU, i, j] = 1.0 if i == j else 0.0
    moved = np.zeros((n, n))
    if imposed is not None:
        for j in range(n):
            if imposed[j]:
                moved[j, j] = 1.0
                result[BY_TAU, j, j] = 0.0
        unfold_vectors(loops, floats, moved)
        result[BY_A] = 0.0
        subtract_product(changes[2], moved, result[BY_A])
    return moved


@helper
def subtract_product(left, right, x):
    """Subtract the product of two matrices from x."""
    for i in range(left.shape[0]):
        for k in range(left.shape[1]):
            entry = left[i, k]
            if entry != 0.0:
                for j in range(right.shape[1]):
                    x[i, j] -= entry * right[k, j]


@helper
def add_product(left, right, x):
    """Add the product of two matrices to x, four rows of the second at a time."""
    rows, many = left.shape[1], left.shape[1] - left.shape[1] % 4
    for i in range(left.shape[0]):
        for k in range(0, many, 4):
            a, b, c, d = left[i, k], left[i, k + 1], left[i, k + 2], left[i, k + 3]
            for j in range(x.shape[1]):
                x[i, j] += a * right[k, j] + b * right[k + 1, j] + c * right[k + 2, j] + d * right[k + 3, j]
        for k in range(many, rows):
            for j in range(x.shape[1]):
                x[i, j] += left[i, k] * right[k, j]


@shared
def accelerations_slopes(ints, tree, loops, floats, imposed, folded, chosen, matrix, changes, rows, result):
    """Write derivatives of accelerations by q, v and tau, then by imposed ones, into `result`; return a status.

    `changes` are those of inverse dynamics, `rows` of the constraints (J, then of ``J a + bias`` by q and v); `folded` is J of
    the coordinates that lead, of which `chosen` rows are independent. `matrix`, the mass matrix, is used up. In forward
    dynamics `imposed` is None.
    """
    n, r = result.shape[1], chosen.size
    moved = _start(loops, floats, imposed, changes, result)
    cases = 3 if imposed is None else 4
    fold_mass_matrix(loops, floats, matrix)
    if imposed is not None:
        hold(imposed, matrix)
    failed = factor(tree, matrix)
    if failed >= 0:
        return element_of(ints, failed)
    columns, gram, chain = np.empty((n, r)), np.zeros((r, r)), np.empty((2, r), np.int64)
    for c in range(r):
        chain[0, c], chain[1, c] = c, c - 1
        for j in range(n):
            columns[j, c] = folded[chosen[c], j]
    solve_rows(tree, matrix, columns)
    for c in range(r):
        for e in range(r):
            for j in range(n):
                gram[c, e] += folded[chosen[c], j] * columns[j, e]
    if factor(chain, gram) >= 0:
        return layout.SINGULAR
    carried = np.empty((r, n))
    for d in range(cases):
        x = result[d]
        fold_vectors(loops, floats, x)
        if imposed is not None:
            for i in range(n):
                if imposed[i]:
                    x[i] = 0.0
        solve_rows(tree, matrix, x)
        for c in range(r):
            row = remaining(loops, chosen[c])
            for j in range(n):
                carried[c, j] = -rows[1 + d, row, j] if d < 2 else 0.0
            if d == BY_A:
                _subtract_row(rows[0, row], moved, carried[c])
            _subtract_row(folded[chosen[c]], x, carried[c])
        solve_rows(chain, gram, carried)
        add_product(columns, carried, x)
        unfold_vectors(loops, floats, x)
        if d == BY_A:
            for i in range(n):
                for j in range(n):
                    x[i, j] += moved[i, j]
    return layout.OK


@helper
def _subtract_row(row, matrix, x):
    """Subtract the product of a row and a matrix."""
    for i in range(row.size):
        if row[i] != 0.0:
            for j in range(x.size):
                x[j] -= row[i] * matrix[i, j]


@shared
def efforts_slopes(split, first, end, imposed, ones, changes, turning, result):
    """Write derivatives of the efforts behind those of the accelerations, the first four of `result`.

    `split` are the constraints (`least_norm.split_constraints`), `turning` (k x nv) the derivatives of ``J w`` by q, with w the
    efforts, completed to a motion; they are not asked for (0 x nv) where no constraint acts on imposed coordinates alone.
    """
    n = result.shape[1]
    for d in range(4):
        x = result[4 + d]
        for i in range(n):
            for j in range(n):
                x[i, j] = changes[d, i, j] if d < 2 else 0.0
            if d == BY_TAU and not imposed[i]:
                x[i, i] = -1.0
        for i in range(n):
            for k in range(n):
                entry = changes[2, i, k]
                if entry != 0.0:
                    for j in range(n):
                        x[i, j] += entry * result[d, k, j]
        share_slopes(split, first, end, imposed, ones, turning if d == BY_Q else turning[:0], x)
    for j in range(n):
        if not imposed[j]:
            result[4 + BY_TAU, j, j] = 1.0


@shared
def share_slopes(split, first, end, unknown, ones, turning, x):
    """Replace changes of the efforts needed (columns of x) by those of the least ones, where they are `unknown`.

    `turning` says how the constraints turn: see `efforts_slopes`; `ones` what counts as one of each coordinate.
    """
    which, n = split[1], x.shape[1]
    take_least(split, first, end, unknown, ones, x, np.zeros((which.size, n)))
    if turning.shape[0] > 0:
        right = np.empty((which.size, n))
        for c in range(which.size):
            for j in range(n):
                right[c, j] = -turning[which[c], j]
        add_least(split, first, end, right, x)
