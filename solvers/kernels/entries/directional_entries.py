"""Entry points of the derivatives of forward dynamics along a direction, and transposed.

As in `dynamics_entries`, each returns a status. Of trees: ``da = M^-1 (dtau - change of inverse dynamics)`` at the
accelerations of the state. What is found at a state serves the rows behind with the same one: several directions cost little
more than one.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.derivatives.directional import add_change, add_pulls, sum_wrenches
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.linearise import hold_acting, linearised_forward, linearised_rooms, sum_rows
from titop.solvers.kernels.equations.whole_passes import status_of_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.tree.forward import respond
from titop.solvers.kernels.tree.subtree_sums import ROOM_COLUMNS
from titop.solvers.native.kernel import helper, shared
from titop.solvers.native.signatures import FLOATS, INTS

#: Whether the system has general blocks or interactions: see `pair.Pair`.
LAWS = True


@helper
def _shapes_fit(ints, q, x, y, z):
    """Tell whether stacked configurations and three stacks of vectors fit the system and each other."""
    nv, rows = ints[0, layout.NV], q.shape[0]
    fits = q.shape[1] == ints[0, layout.NQ] and x.shape[1] == nv and y.shape[1] == nv and z.shape[1] == nv
    return fits and x.shape[0] == rows and y.shape[0] == rows and z.shape[0] == rows


@shared
def _rooms(ints, law, q):
    """Return the rooms of `linearised_forward`, that of `directional`, and accelerations; `law` is None for rigid systems."""
    n, rows = ints[0, layout.NV], ints[0, layout.NV]
    if law is not None:
        for i in range(1, ints[0, layout.ELEMENTS]):
            rows += ints[i, layout.OWN] * ints[i, layout.PORT_COUNT]
    of_blocks = (*linearised_rooms(ints, rows, layout.SUM_COLUMNS, law, q), np.empty(n, q.dtype))
    return of_blocks, np.empty((sum_rows(ints), ROOM_COLUMNS), q.dtype), np.empty(n, q.dtype)


@helper
def _stays(row, q, v, tau):
    """Tell whether the state in a row is that in the row before."""
    if row == 0:
        return False
    same = True
    for k in range(q.shape[1]):
        same = same and q[row, k] == q[row - 1, k]
    for k in range(v.shape[1]):
        same = same and v[row, k] == v[row - 1, k] and tau[row, k] == tau[row - 1, k]
    return same


@helper
def _prepare(ints, floats, numbers, stages, law, q, v, tau, of_blocks, a):
    """Linearise the blocks at a state, and leave the factors of an elimination; return a status."""
    status = linearised_forward(ints, floats, numbers, stages, law, q, v, tau, of_blocks, a)
    if status == layout.OK:
        hold_acting(ints, floats, of_blocks[0], of_blocks[4], of_blocks[5])
        sum_wrenches(ints, law, of_blocks[5])
    return status


@pair(INTS, FLOATS, FLOATS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS)
def forward_tangent(ints, floats, numbers, stages, q, v, tau, dq, dv, da):
    """Turn changes of the efforts (in `da`), with those of q and v, into changes of the accelerations, of stacked states."""
    if not _shapes_fit(ints, q, v, tau, da) or not _shapes_fit(ints, q, dq, dv, da):
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    of_blocks, room, a = _rooms(ints, law, q)
    spare, slopes, work, multi, _, sums, columns, change = of_blocks
    still = np.zeros(ints[0, layout.NV])
    for row in range(q.shape[0]):
        if not _stays(row, q, v, tau):
            status = _prepare(ints, floats, numbers, stages, law, q[row], v[row], tau[row], of_blocks, a)
            if status != layout.OK:
                return status
        change[:] = 0.0
        add_change(ints, floats, spare, slopes, q[row], v[row], dq[row], dv[row], work, sums, columns, room, change)
        for k in range(change.size):
            da[row, k] -= change[k]
        respond(ints, floats, law, da[row], still, work, multi)
    return status_of_rows(da)


@pair(INTS, FLOATS, FLOATS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS)
def forward_adjoint(ints, floats, numbers, stages, q, v, tau, dual, by_q, by_v):
    """Turn weights of the accelerations (`dual`) into those of the efforts, in its place, of q and of v, of stacked states."""
    if not _shapes_fit(ints, q, v, tau, dual) or not _shapes_fit(ints, q, by_q, by_v, dual):
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    of_blocks, room, a = _rooms(ints, law, q)
    spare, slopes, work, multi, _, sums, columns, _ = of_blocks
    still = np.zeros(ints[0, layout.NV])
    for row in range(q.shape[0]):
        if not _stays(row, q, v, tau):
            status = _prepare(ints, floats, numbers, stages, law, q[row], v[row], tau[row], of_blocks, a)
            if status != layout.OK:
                return status
        respond(ints, floats, law, dual[row], still, work, multi)
        by_q[row, :] = 0.0
        by_v[row, :] = 0.0
        add_pulls(ints, floats, spare, slopes, q[row], v[row], dual[row], work, sums, columns, room, by_q[row], by_v[row])
        for k in range(by_q.shape[1]):
            by_q[row, k] = -by_q[row, k]
            by_v[row, k] = -by_v[row, k]
    return min(status_of_rows(dual), min(status_of_rows(by_q), status_of_rows(by_v)))
