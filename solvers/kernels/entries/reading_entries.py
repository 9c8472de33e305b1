"""Entry points of what sensors read; as in `dynamics_entries`, each returns a status."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.closures.closed_passes import efforts_and_constraints
from titop.solvers.kernels.closures.closure_derivatives import write_closure_wrenches
from titop.solvers.kernels.closures.constraint_rows import opened
from titop.solvers.kernels.closures.least_norm import find_multipliers
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.whole_passes import inverse_from, inverse_whole, status_of_rows, world_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports.sensor_readings import JOINT_WRENCH, MULTIPLIER, asks_for, read_all
from titop.solvers.kernels.tree.inverse import outward_motions
from titop.solvers.kernels.tree.kinematics import start
from titop.solvers.native.kernel import helper
from titop.solvers.native.signatures import FLAG, FLOATS, INTS, VECTOR

#: Whether the system has general blocks or interactions: see `pair.Pair`.
LAWS = True


@helper
def _status_of_states(ints, q, v, a, result):
    """Return whether stacked states and the room for results fit the system and are finite, as a status."""
    nv = ints[0, layout.NV]
    if q.shape[1] != ints[0, layout.NQ] or v.shape[1] != nv or a.shape[1] != nv:
        return layout.WRONG_SIZE
    if not (q.shape[0] == v.shape[0] == a.shape[0] == result.shape[0]):
        return layout.WRONG_SIZE
    return min(status_of_rows(q), min(status_of_rows(v), status_of_rows(a)))


@pair(INTS, FLOATS, INTS, FLOATS, FLOATS, INTS, FLOATS, FLOATS, FLOATS, FLOATS)
def readings(what, frames, ints, floats, numbers, stages, q, v, a, result):
    """What the table `what` asks for, of stacked states, into the rows of `result`; see `readings`."""
    status = _status_of_states(ints, q, v, a, result)
    if status != layout.OK:
        return status
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS)), np.empty((world_rows(ints), 12))
    efforts, pose, motion = np.empty(ints[0, layout.NV]), np.empty((1, 12)), np.empty((1, 24))
    wrenches = asks_for(what, JOINT_WRENCH, MULTIPLIER)
    for row in range(q.shape[0]):
        if wrenches:
            status = inverse_whole(ints, floats, numbers, stages, law, q[row], v[row], a[row], work, world, efforts)
        else:
            start(floats, work)
            status = outward_motions(ints, floats, numbers, stages, law, q[row], v[row], a[row], work, layout.UNKNOWN)
        if status != layout.OK:
            return status
        read_all(ints, floats, law, what, frames, q[row], v[row], work, None, pose, motion, result[row])
    return status_of_rows(result)


@pair(INTS, FLOATS, INTS, VECTOR, INTS, FLOATS, FLOATS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLAG, FLOATS)
def closed_readings(what, frames, loops, weights, ints, floats, numbers, stages, q, v, a, applied, known, result):
    """`readings` of a system with rigid closures and gears, which carry what `applied` efforts (a row a state) leave.

    These are all efforts if they are `known`; or else the least ones act beside them. The tables have two loads more for each
    rigid closure, the last ones, in which the closures' own wrenches are put; `weights` bring the constraints to one unit. Open
    loops, nearly dependent constraints, and efforts that do not cause the accelerations, are left to callers that look closer.
    """
    status, n, k = _status_of_states(ints, q, v, a, result), ints[0, layout.NV], loops[0, layout.ROWS]
    if applied.shape[0] != q.shape[0] or applied.shape[1] != n or weights.size != k:
        return layout.WRONG_SIZE
    if min(status, status_of_rows(applied)) != layout.OK:
        return status if status != layout.OK else layout.NOT_FINITE
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS)), np.empty((ints[0, layout.ELEMENTS], 12))
    loaded, efforts, multipliers = floats.copy(), np.empty(n), np.zeros(k)
    jacobian, sides = np.empty((k, n)), np.empty((3, k))
    pose, motion, joints = np.empty((1, 12)), np.empty((1, 24)), asks_for(what, JOINT_WRENCH, JOINT_WRENCH)
    for row in range(q.shape[0]):
        if row > 0:
            multipliers[:] = 0.0
            write_closure_wrenches(ints, loaded, law, loops, world, multipliers)
        status = efforts_and_constraints(
            ints, loaded, numbers, stages, law, loops, q[row], v[row], a[row], work, world, efforts, sides, jacobian
        )
        if status != layout.OK:
            return status
        for j in range(n):
            efforts[j] -= applied[row, j]
        if opened(sides[0]) or not find_multipliers(loops, loaded, jacobian, weights, known, efforts, multipliers):
            return layout.SINGULAR
        write_closure_wrenches(ints, loaded, law, loops, world, multipliers)
        if joints:
            status = inverse_from(
                ints, loaded, numbers, stages, law, q[row], v[row], a[row], work, world, efforts, layout.KNOWN
            )
        if status != layout.OK:
            return status
        read_all(ints, loaded, law, what, frames, q[row], v[row], work, multipliers, pose, motion, result[row])
    return status_of_rows(result)
