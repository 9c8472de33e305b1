"""Entry points of the derivatives of inverse and forward dynamics along directions, and transposed.

As in `dynamics_entries`, each returns a status. Of trees; in forward dynamics ``da = M^-1 (dtau - change of inverse dynamics)``
at the accelerations of the state. Directions of a state are rows: several cost little more than one.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.derivatives.directional import add_change, add_pulls, sum_wrenches
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.linearise import (
    hold_acting,
    linearise_blocks,
    linearised_forward,
    linearised_rooms,
    sum_rows,
)
from titop.solvers.kernels.equations.whole_passes import sizes_fit, status_of, status_of_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import State, Tables
from titop.solvers.kernels.tree.composite import write_mass_matrix
from titop.solvers.kernels.tree.factor import factor, solve_rows
from titop.solvers.kernels.tree.forward import respond
from titop.solvers.kernels.tree.joints import element_of
from titop.solvers.kernels.tree.kinematics import outward_poses
from titop.solvers.kernels.tree.subtree_sums import ROOM_COLUMNS
from titop.solvers.native.kernel import helper, shared
from titop.solvers.native.signatures import FLOATS, INTS, RESULT_ROWS, STATE, Type

#: Whether the system has general blocks or interactions: see `pair.Pair`.
LAWS = True

#: Vectors of a state, a row each.
DIRECTIONS = Type("float64", 2, stacked="read")


@helper
def _alike(ints, x, y, z):
    """Tell whether three matrices have a row for each of the same directions."""
    nv = ints[0, layout.NV]
    fits = x.shape[1] == nv and y.shape[1] == nv and z.shape[1] == nv
    return fits and x.shape[0] == y.shape[0] and x.shape[0] == z.shape[0]


@shared
def _rooms(ints, law, q):
    """Return the rooms of `linearised_forward`, that of `directional`, and (nv); `law` is None for rigid systems."""
    n, rows = ints[0, layout.NV], ints[0, layout.NV]
    if law is not None:
        for i in range(1, ints[0, layout.ELEMENTS]):
            rows += ints[i, layout.OWN] * ints[i, layout.PORT_COUNT]
    of_blocks = (*linearised_rooms(ints, rows, layout.SUM_COLUMNS, law, q), np.empty(n, q.dtype))
    return of_blocks, np.empty((sum_rows(ints), ROOM_COLUMNS), q.dtype), np.empty(n, q.dtype)


@helper
def _prepare(tables, state, tau, of_blocks, a):
    """Linearise the blocks at a state, and leave the factors of an elimination; return a status."""
    passes = of_blocks[3]
    status = linearised_forward(tables, state, tau, of_blocks, a)
    if status == layout.OK:
        hold_acting(tables.ints, tables.floats, of_blocks[0], passes.world, passes.sums)
        sum_wrenches(tables.ints, tables.law, passes.sums)
    return status


@helper
def _linearise(tables, state, a, of_blocks):
    """Linearise the blocks at a state and accelerations; return a status."""
    _, slopes, _, passes, efforts = of_blocks
    status = linearise_blocks(tables, slopes, state, a, passes, efforts, layout.UNKNOWN)
    if status == layout.OK:
        hold_acting(tables.ints, tables.floats, tables.law, passes.world, passes.sums)
        sum_wrenches(tables.ints, tables.law, passes.sums)
    return status


@pair(INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, DIRECTIONS, DIRECTIONS, DIRECTIONS, RESULT_ROWS)
def inverse_tangent(ints, floats, numbers, stages, q, v, a, dq, dv, da, result):
    """The changes of the efforts that go with those of q, v and accelerations."""
    if not (sizes_fit(ints, q, v, a, a) and _alike(ints, dq, dv, da) and _alike(ints, dq, dv, result)):
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None
    of_blocks, room, _ = _rooms(ints, law, q)
    status = _linearise(Tables(ints, floats, numbers, stages, law), State(q, v), a, of_blocks)
    if status != layout.OK:
        return status
    _, slopes, _, (work, _, sums, columns), _ = of_blocks
    passes = work, sums, columns
    result[:] = 0.0
    for row in range(result.shape[0]):
        add_change((ints, floats), law, slopes, (q, v), (dq[row], dv[row], da[row]), passes, room, result[row])
    return status_of_rows(result)


@pair(INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, DIRECTIONS, RESULT_ROWS, RESULT_ROWS, RESULT_ROWS)
def inverse_adjoint(ints, floats, numbers, stages, q, v, a, weights, by_q, by_v, by_a):
    """The weights of q, v and accelerations that go with those of the efforts."""
    if not (sizes_fit(ints, q, v, a, a) and _alike(ints, weights, by_q, by_v) and _alike(ints, by_q, by_v, by_a)):
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None
    of_blocks, room, _ = _rooms(ints, law, q)
    status = _linearise(Tables(ints, floats, numbers, stages, law), State(q, v), a, of_blocks)
    if status != layout.OK:
        return status
    _, slopes, _, (work, _, sums, columns), _ = of_blocks
    passes = work, sums, columns
    by_q[:] = 0.0
    by_v[:] = 0.0
    by_a[:] = 0.0
    for row in range(weights.shape[0]):
        pulled = by_q[row], by_v[row], by_a[row]
        add_pulls((ints, floats), law, slopes, (q, v), weights[row], passes, room, pulled)
    return min(status_of_rows(by_a), min(status_of_rows(by_q), status_of_rows(by_v)))


@pair(INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, DIRECTIONS, DIRECTIONS, DIRECTIONS, RESULT_ROWS)
def forward_tangent(ints, floats, numbers, stages, q, v, tau, dq, dv, dtau, result):
    """The changes of the accelerations that go with those of q, v and efforts."""
    if not (sizes_fit(ints, q, v, tau, tau) and _alike(ints, dq, dv, dtau) and _alike(ints, dq, dv, result)):
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None
    tables, (of_blocks, room, a) = Tables(ints, floats, numbers, stages, law), _rooms(ints, law, q)
    status = _prepare(tables, State(q, v), tau, of_blocks, a)
    if status != layout.OK:
        return status
    spare, slopes, multi, (work, _, sums, columns), change = of_blocks
    still = np.zeros(ints[0, layout.NV], q.dtype)
    for row in range(result.shape[0]):
        change[:] = 0.0
        add_change((ints, floats), spare, slopes, (q, v), (dq[row], dv[row], still), (work, sums, columns), room, change)
        for k in range(change.size):
            result[row, k] = dtau[row, k] - change[k]
        respond(tables, result[row], still, work, multi)
    return status_of_rows(result)


@pair(INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, DIRECTIONS, RESULT_ROWS, RESULT_ROWS, RESULT_ROWS)
def forward_adjoint(ints, floats, numbers, stages, q, v, tau, weights, by_q, by_v, by_tau):
    """The weights of q, v and efforts that go with those of the accelerations."""
    if not (sizes_fit(ints, q, v, tau, tau) and _alike(ints, weights, by_q, by_v) and _alike(ints, by_q, by_v, by_tau)):
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None
    tables, (of_blocks, room, a) = Tables(ints, floats, numbers, stages, law), _rooms(ints, law, q)
    status = _prepare(tables, State(q, v), tau, of_blocks, a)
    if status != layout.OK:
        return status
    spare, slopes, multi, (work, _, sums, columns), carried = of_blocks
    still = np.zeros(ints[0, layout.NV], q.dtype)
    by_q[:] = 0.0
    by_v[:] = 0.0
    for row in range(weights.shape[0]):
        for k in range(still.size):
            by_tau[row, k] = weights[row, k]
        respond(tables, by_tau[row], still, work, multi)
        carried[:] = 0.0
        pulled = by_q[row], by_v[row], carried
        add_pulls((ints, floats), spare, slopes, (q, v), by_tau[row], (work, sums, columns), room, pulled)
        for k in range(still.size):
            by_q[row, k] = -by_q[row, k]
            by_v[row, k] = -by_v[row, k]
    return min(status_of_rows(by_tau), min(status_of_rows(by_q), status_of_rows(by_v)))


@pair(INTS, FLOATS, FLOATS, INTS, INTS, STATE, DIRECTIONS, RESULT_ROWS)
def responses(ints, floats, numbers, stages, tree, q, efforts, result):
    """The accelerations that each of several efforts causes alone, from rest; `tree` is that of coordinates."""
    n, m = ints[0, layout.NV], result.shape[0]
    if q.size != ints[0, layout.NQ] or efforts.shape[0] != m or efforts.shape[1] != n or result.shape[1] != n:
        return layout.WRONG_SIZE
    law, still = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None, np.zeros(n, q.dtype) if LAWS else None
    work = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS), q.dtype)
    status = outward_poses(Tables(ints, floats, numbers, stages, law), State(q, still), work)
    if status != layout.OK:
        return status
    matrix, columns = np.empty((n, n), q.dtype), np.empty((n, m), q.dtype)
    write_mass_matrix(ints, floats, law, work, matrix)
    failed = factor(tree, matrix)
    if failed >= 0:
        return element_of(ints, failed)
    for row in range(m):
        for k in range(n):
            columns[k, row] = efforts[row, k]
    solve_rows(tree, matrix, columns)
    for row in range(m):
        for k in range(n):
            result[row, k] = columns[k, row]
    return min(status_of(q), status_of_rows(result))
