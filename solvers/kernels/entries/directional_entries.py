"""Entry points of the derivatives of forward dynamics along a direction, and transposed.

As in `entries`, each returns a status. Of trees of rigid bodies: ``da = M^-1 (dtau - change of inverse dynamics)`` at the
accelerations of the state.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.derivatives.directional import ROOM_COLUMNS, add_change, add_pulls
from titop.solvers.kernels.derivatives.tree_derivatives import outward_columns
from titop.solvers.kernels.equations.whole_passes import apply_wrenches, forward_whole, status_of_rows, world_rows
from titop.solvers.kernels.interface.layout import (
    ACC,
    COLUMN_COLUMNS,
    ELEMENTS,
    FORWARD_COLUMNS,
    KNOWN,
    MULTI_COLUMNS,
    MULTIS,
    NQ,
    NV,
    OK,
    SUM_COLUMNS,
    TWIST,
    WRONG_SIZE,
)
from titop.solvers.kernels.ports.held_loads import hold_loads
from titop.solvers.kernels.tree.forward import inward_elimination, outward_accelerations, rigid_laws
from titop.solvers.kernels.tree.inverse import outward_motions
from titop.solvers.native.kernel import AllocatingHelper, entry, helper
from titop.solvers.native.signatures import FLOATS, INTS


@helper
def _shapes_fit(ints, q, x, y, z):
    """Tell whether stacked configurations and three stacks of vectors fit the system and each other."""
    nv, rows = ints[0, NV], q.shape[0]
    fits = q.shape[1] == ints[0, NQ] and x.shape[1] == nv and y.shape[1] == nv and z.shape[1] == nv
    return fits and x.shape[0] == rows and y.shape[0] == rows and z.shape[0] == rows


@AllocatingHelper
def _rooms(ints):
    """Return room for accelerations, `work`, `multi`, `world`, `sums`, `columns` and that of `directional`."""
    n, count = ints[0, NV], ints[0, ELEMENTS]
    return (
        np.empty(n),
        np.empty((count, FORWARD_COLUMNS)),
        np.empty((ints[0, MULTIS], MULTI_COLUMNS)),
        np.empty((world_rows(ints), 12)),
        np.empty((count, SUM_COLUMNS)),
        np.empty((n, COLUMN_COLUMNS)),
        np.empty((count, ROOM_COLUMNS)),
    )


@helper
def _linearise(ints, floats, q, v, tau, rooms):
    """Find accelerations, each block alone, and how the coordinates move the blocks; return a status."""
    a, work, multi, world, sums, columns, _ = rooms
    status = forward_whole(ints, floats, None, None, None, q, v, tau, work, multi, world, a)
    if status != OK:
        return status
    status = outward_motions(ints, floats, None, None, None, q, v, a, work, KNOWN)
    apply_wrenches(ints, floats, None, work, world, False)
    outward_columns(ints, floats, None, None, v, a, work, sums, columns)
    hold_loads(ints, floats, world, sums)
    return status


@helper
def _respond(ints, floats, efforts, still, rooms):
    """Replace efforts by the accelerations that they alone cause from rest; return a status. Uses the twists up."""
    work, multi = rooms[1], rooms[2]
    for i in range(ints[0, ELEMENTS]):
        for k in range(6):
            work[i, TWIST + k] = work[i, ACC + k] = 0.0
    rigid_laws(ints, floats, None, work)
    status = inward_elimination(ints, floats, None, still, efforts, efforts, None, work, multi)
    if status == OK:
        outward_accelerations(ints, floats, None, still, efforts, efforts, None, work, multi)
    return status


@entry(INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS)
def forward_tangent(ints, floats, q, v, tau, dq, dv, da):
    """Turn changes of the efforts (in `da`), with those of q and v, into changes of the accelerations, of stacked states."""
    if not _shapes_fit(ints, q, v, tau, da) or not _shapes_fit(ints, q, dq, dv, da):
        return WRONG_SIZE
    rooms, still, change = _rooms(ints), np.zeros(ints[0, NV]), np.empty(ints[0, NV])
    for row in range(q.shape[0]):
        status = _linearise(ints, floats, q[row], v[row], tau[row], rooms)
        if status != OK:
            return status
        change[:] = 0.0
        add_change(ints, floats, q[row], v[row], dq[row], dv[row], rooms[4], rooms[5], rooms[6], change)
        for k in range(change.size):
            da[row, k] -= change[k]
        status = _respond(ints, floats, da[row], still, rooms)
        if status != OK:
            return status
    return status_of_rows(da)


@entry(INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS)
def forward_adjoint(ints, floats, q, v, tau, dual, by_q, by_v):
    """Turn weights of the accelerations (`dual`) into those of the efforts, in its place, of q and of v, of stacked states."""
    if not _shapes_fit(ints, q, v, tau, dual) or not _shapes_fit(ints, q, by_q, by_v, dual):
        return WRONG_SIZE
    rooms, still = _rooms(ints), np.zeros(ints[0, NV])
    for row in range(q.shape[0]):
        status = _linearise(ints, floats, q[row], v[row], tau[row], rooms)
        if status == OK:
            status = _respond(ints, floats, dual[row], still, rooms)
        if status != OK:
            return status
        by_q[row, :] = 0.0
        by_v[row, :] = 0.0
        add_pulls(ints, floats, q[row], v[row], dual[row], rooms[4], rooms[5], rooms[6], by_q[row], by_v[row])
        for k in range(by_q.shape[1]):
            by_q[row, k] = -by_q[row, k]
            by_v[row, k] = -by_v[row, k]
    return min(status_of_rows(dual), min(status_of_rows(by_q), status_of_rows(by_v)))
