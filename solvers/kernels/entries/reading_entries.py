"""Entry points of what sensors read; as in `dynamics_entries`, each returns a status."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.closures.closed_derivatives import own_loads
from titop.solvers.kernels.closures.closed_passes import efforts_and_constraints
from titop.solvers.kernels.closures.closure_derivatives import write_closure_wrenches
from titop.solvers.kernels.closures.constraint_rows import opened
from titop.solvers.kernels.closures.least_norm import find_multipliers
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.whole_passes import inverse_from, inverse_whole, sizes_fit, status_of, world_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import ClosedTables, State, Tables
from titop.solvers.kernels.ports.sensor_readings import JOINT_WRENCH, MULTIPLIER, asks_for, read_all
from titop.solvers.kernels.tree.inverse import outward_motions
from titop.solvers.kernels.tree.kinematics import start
from titop.solvers.native.signatures import FLAG, FLOATS, INTS, RESULT, STATE, VECTOR

#: Whether the system has general blocks or interactions: see `pair.Pair`.
LAWS = True


@pair(INTS, FLOATS, INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, RESULT)
def readings(what, frames, ints, floats, numbers, stages, q, v, a, result):
    """What the table `what` asks for, of a state; see `sensor_readings`."""
    if not sizes_fit(ints, q, v, a, a):
        return layout.WRONG_SIZE
    status = min(status_of(q), min(status_of(v), status_of(a)))
    if status != layout.OK:
        return status
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    work = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS), q.dtype)
    world = np.empty((world_rows(ints), 12), q.dtype)
    state, rooms = State(q, v), (np.empty((1, 12), q.dtype), np.empty((1, 24), q.dtype))
    if asks_for(what, JOINT_WRENCH, MULTIPLIER):
        status = inverse_whole(tables, state, a, work, world, np.empty(v.size, q.dtype))
    else:
        start(floats, work)
        status = outward_motions(tables, state, a, work, layout.UNKNOWN)
    if status != layout.OK:
        return status
    read_all(tables, state, work, what, frames, (None, None), rooms, result)
    return status_of(result)


@pair(INTS, FLOATS, INTS, VECTOR, FLAG, INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, STATE, RESULT)
def closed_readings(what, frames, loops, weights, known, ints, floats, numbers, stages, q, v, a, applied, result):
    """`readings` of a system with rigid closures and gears, which carry what `applied` efforts leave.

    These are all efforts if they are `known`; or else the least ones act beside them. The tables have two loads more for each
    rigid closure, the last ones, in which the closures' own wrenches are put; `weights` bring the constraints to one unit. Open
    loops, nearly dependent constraints, and efforts that do not cause the accelerations, are left to callers that look closer.
    """
    n, k = ints[0, layout.NV], loops[0, layout.ROWS]
    if not sizes_fit(ints, q, v, a, applied) or weights.size != k:
        return layout.WRONG_SIZE
    if min(status_of(q), min(status_of(v), min(status_of(a), status_of(applied)))) != layout.OK:
        return layout.NOT_FINITE
    law = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None
    work = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS), q.dtype)
    world = np.empty((ints[0, layout.ELEMENTS], 12), q.dtype)
    loaded, efforts, multipliers = own_loads(floats, q), np.empty(n, q.dtype), np.zeros(k, q.dtype)
    jacobian, sides = np.empty((k, n), q.dtype), np.empty((3, k), q.dtype)
    tables, state = Tables(ints, loaded, numbers, stages, law), State(q, v)
    status = efforts_and_constraints(ClosedTables(tables, loops), state, a, (work, world), efforts, sides, jacobian)
    if status != layout.OK:
        return status
    for j in range(n):
        efforts[j] -= applied[j]
    if opened(sides[0]) or not find_multipliers(loops, floats, jacobian, weights, known, efforts, multipliers):
        return layout.SINGULAR
    write_closure_wrenches(ints, loaded, law, loops, world, multipliers)
    if asks_for(what, JOINT_WRENCH, JOINT_WRENCH):
        status = inverse_from(tables, state, a, work, world, efforts, layout.KNOWN)
    if status != layout.OK:
        return status
    rooms = np.empty((1, 12), q.dtype), np.empty((1, 24), q.dtype)
    read_all(tables, state, work, what, frames, (loaded, multipliers), rooms, result)
    return status_of(result)
