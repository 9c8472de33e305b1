"""Entry points for moving between stacked configurations; as in `dynamics_entries`, each returns a status.

`plain` (2 x n) lists where coordinates are plain numbers: their places in q and in v.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.equations.whole_passes import status_of_rows, status_of_slopes
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.moving import (
    difference_of_group,
    integrate_group,
    turns,
    write_difference_slopes,
    write_steps,
)
from titop.solvers.kernels.tree.joints import coordinates_of, units_hold
from titop.solvers.kernels.tree.kinematics import write_rates
from titop.solvers.native.kernel import entry, helper
from titop.solvers.native.signatures import CUBE, FLOATS, INTS


@helper
def _stacks_fit(ints, q, others, columns, result):
    """Tell whether stacks of configurations and of others with some `columns` fit the system, each other and the result."""
    return q.shape[1] == ints[0, layout.NQ] and others.shape[1] == columns and q.shape[0] == others.shape[0] == result.shape[0]


@helper
def _identities(plain, scale, matrices):
    """Write multiples of the identity at plain coordinates, zeros elsewhere."""
    for row in range(matrices.shape[0]):
        for j in range(matrices.shape[1]):
            for k in range(matrices.shape[2]):
                matrices[row, j, k] = 0.0
        for p in range(plain.shape[1]):
            matrices[row, plain[1, p], plain[1, p]] = scale


@entry(INTS, INTS, FLOATS, FLOATS, FLOATS)
def integrate(ints, plain, q, dq, result):
    """The configurations reached from q along dq."""
    if not _stacks_fit(ints, q, dq, ints[0, layout.NV], result) or result.shape[1] != ints[0, layout.NQ]:
        return layout.WRONG_SIZE
    for row in range(q.shape[0]):
        status = units_hold(ints, q[row])
        if status != layout.OK:
            return status
        for p in range(plain.shape[1]):
            result[row, plain[0, p]] = q[row, plain[0, p]] + dq[row, plain[1, p]]
        for i in range(1, ints[0, layout.ELEMENTS]):
            if turns(ints[i, layout.KIND]):
                integrate_group(ints, i, q[row], dq[row], result[row])
    return status_of_rows(result)


@entry(INTS, INTS, FLOATS, FLOATS, CUBE, CUBE)
def integrate_derivatives(ints, plain, q, dq, by_q, by_step):
    """How the configurations reached from q along dq move with q, and with dq."""
    n = ints[0, layout.NV]
    if not _stacks_fit(ints, q, dq, n, by_q) or by_q.shape[1] != n or by_q.shape != by_step.shape:
        return layout.WRONG_SIZE
    pose, status = np.empty((1, 12)), min(status_of_rows(q), status_of_rows(dq))
    _identities(plain, 1.0, by_q)
    _identities(plain, 1.0, by_step)
    for row in range(q.shape[0]):
        if status == layout.OK:
            status = units_hold(ints, q[row])
        if status != layout.OK:
            return status
        for i in range(1, ints[0, layout.ELEMENTS]):
            if turns(ints[i, layout.KIND]):
                write_steps(ints, i, dq[row], pose, by_q[row], by_step[row])
    return min(status_of_slopes(by_q), status_of_slopes(by_step))


@entry(INTS, INTS, FLOATS, FLOATS, FLOATS)
def difference(ints, plain, q0, q1, result):
    """The displacements from q0 to q1."""
    if not _stacks_fit(ints, q0, q1, ints[0, layout.NQ], result) or result.shape[1] != ints[0, layout.NV]:
        return layout.WRONG_SIZE
    for row in range(q0.shape[0]):
        status = min(units_hold(ints, q0[row]), units_hold(ints, q1[row]))
        if status != layout.OK:
            return status
        for p in range(plain.shape[1]):
            result[row, plain[1, p]] = q1[row, plain[0, p]] - q0[row, plain[0, p]]
        for i in range(1, ints[0, layout.ELEMENTS]):
            if turns(ints[i, layout.KIND]):
                delta, n = difference_of_group(ints, i, q0[row], q1[row]), 6 if ints[i, layout.KIND] == layout.FREE else 3
                for r in range(n):
                    result[row, ints[i, layout.V] + r] = delta[6 - n + r]
    return status_of_rows(result)


@entry(INTS, INTS, FLOATS, FLOATS, FLOATS)
def configuration_rate(ints, plain, q, v, rates):
    """dq/dt into `rates`, at checked states."""
    if not _stacks_fit(ints, q, v, ints[0, layout.NV], rates) or rates.shape[1] != ints[0, layout.NQ]:
        return layout.WRONG_SIZE
    for row in range(q.shape[0]):
        write_rates(ints, q[row], v[row], rates[row])
    return layout.OK


@entry(INTS, INTS, FLOATS, CUBE)
def configuration_derivatives(ints, plain, q, result):
    """The derivatives of checked configurations' entries along displacements, but for plain ones, whose are there."""
    n, size = ints[0, layout.NV], ints[0, layout.NQ]
    if q.shape[1] != size or result.shape[0] != q.shape[0] or result.shape[1] != size or result.shape[2] != n:
        return layout.WRONG_SIZE
    unit, rates = np.zeros(n), np.empty(size)
    for row in range(q.shape[0]):
        for i in range(1, ints[0, layout.ELEMENTS]):
            if turns(ints[i, layout.KIND]):
                first, k, n = ints[i, layout.Q], ints[i, layout.V], coordinates_of(ints[i, layout.KIND])
                for j in range(k, k + n):
                    unit[j] = 1.0
                    write_rates(ints, q[row], unit, rates)
                    unit[j] = 0.0
                    for r in range(first, first + n + 1):
                        result[row, r, j] = rates[r]
    return layout.OK


@entry(INTS, INTS, FLOATS, FLOATS, CUBE, CUBE)
def difference_derivatives(ints, plain, q0, q1, by_q0, by_q1):
    """The derivatives of the displacements from q0 to q1 by those of q0 and of q1."""
    n = ints[0, layout.NV]
    if not _stacks_fit(ints, q0, q1, ints[0, layout.NQ], by_q0) or by_q0.shape[1] != n or by_q0.shape != by_q1.shape:
        return layout.WRONG_SIZE
    status = min(status_of_rows(q0), status_of_rows(q1))
    _identities(plain, -1.0, by_q0)
    _identities(plain, 1.0, by_q1)
    for row in range(q0.shape[0]):
        if status == layout.OK:
            status = min(units_hold(ints, q0[row]), units_hold(ints, q1[row]))
        if status != layout.OK:
            return status
        for i in range(1, ints[0, layout.ELEMENTS]):
            if turns(ints[i, layout.KIND]):
                delta = difference_of_group(ints, i, q0[row], q1[row])
                write_difference_slopes(ints, i, delta, -1.0, by_q0[row])
                write_difference_slopes(ints, i, delta, 1.0, by_q1[row])
    return min(status_of_slopes(by_q0), status_of_slopes(by_q1))
