"""The multipliers of all constraints, redundant ones among them.

Independent rows of the Jacobian carry efforts alone. What they carry can be moved to the others along combinations of rows that
vanish, ``N^T J = 0``: of each other row, itself less the independent ones that make it up. The least multipliers have no part
along N.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.closures.cholesky import solve_symmetric
from titop.solvers.kernels.closures.following import ones_of
from titop.solvers.kernels.closures.least_norm import (
    BALANCED,
    split_constraints,
    take_least,
    take_out,
    to_given_rows,
    write_multipliers,
)
from titop.solvers.native.kernel import shared


@shared
def find_multipliers(loops, floats, jacobian, weights, known, needed, multipliers):
    """Write the least multipliers (k) with which the constraints carry efforts (nv) that are `needed`; tell whether they can.

    Unless all other efforts are `known`, what is left beside the constraints need not vanish: the least efforts act there.
    Sizes of multipliers are those times the constraints' `weights`.
    """
    k, n = jacobian.shape
    unknown, carried, left, ones = np.empty(n, np.bool_), np.zeros((k, 1)), np.empty((n, 1)), np.empty(n)
    unknown[:] = not known
    ones_of(loops, floats, ones)
    for j in range(n):
        left[j, 0] = needed[j]
    split, first, end = split_constraints(loops, floats, jacobian, ones, unknown, True)
    if end < 0 or not take_least(split, first, end, unknown, ones, left, carried) <= BALANCED:
        return False
    write_multipliers(split, end, carried, multipliers)
    return end == k or _share_with_others(split, end, jacobian, weights, ones, unknown, not known, multipliers)


@shared
def _share_with_others(split, end, jacobian, weights, ones, counts, what, multipliers):
    """Let constraints that depend on those in `split` carry their share; tell whether that is clear.

    The rows are orthogonal in the columns of which `counts` is `what`: in all, over what counts as one (`ones`) unless these
    efforts are sought (`what`).
    """
    k, n = jacobian.shape
    _, which, _, order, _ = split
    m, others, redundant = k - end, np.empty(k - end, np.int64), np.ones(k, np.bool_)
    for c in range(end):
        redundant[which[c]] = False
    count = 0
    for i in range(k):
        if redundant[i]:
            others[count] = i
            count += 1
    rows, made, vanishing, system = np.empty((n, m)), np.zeros((end, m)), np.zeros((k, m)), np.empty((m, m + 1))
    for j in range(n):
        for c in range(m):
            rows[j, c] = jacobian[others[c], j] if what else jacobian[others[c], j] * ones[j]
    take_out(split, counts, what, 0, end, rows, made)
    to_given_rows(split, end, made)
    for c in range(m):
        vanishing[others[c], c] = weights[others[c]]
        for p in range(end):
            i = which[order[p]]
            vanishing[i, c] = -weights[i] * made[order[p], c]
    for c in range(m):
        for d in range(c + 1):
            system[c, d] = 0.0
            for i in range(k):
                system[c, d] += vanishing[i, c] * vanishing[i, d]
        system[c, m] = 0.0
        for i in range(k):
            system[c, m] += vanishing[i, c] * weights[i] * multipliers[i]
    if not solve_symmetric(system, m):
        return False
    for i in range(k):
        for c in range(m):
            multipliers[i] -= vanishing[i, c] * system[c, m] / weights[i]
    return True
