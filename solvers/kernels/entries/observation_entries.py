"""Entry points of what is read of a state; as in `dynamics_entries`, each returns a status."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import select
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.motion_matrices import (
    NUMBERS_OF_BODY,
    write_body_regressor,
    write_coriolis,
    write_rigid_momentum_matrix,
)
from titop.solvers.kernels.equations.whole_passes import outward_whole, sizes_fit, status_of, status_of_rows, world_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import State, Tables
from titop.solvers.kernels.interface.stages import address_of, call_interaction_at, elastic_energy
from titop.solvers.kernels.ports.interactions import stored_energy
from titop.solvers.kernels.ports.port_motion import acceleration_of, in_axes, move_along, turn_columns, walk, write_port_motion
from titop.solvers.kernels.spatial.algebra import copy, put_six
from titop.solvers.kernels.tree.balances import add_energy, add_mass, add_momentum
from titop.solvers.kernels.tree.composite import composite_inertias, write_mass_matrix, write_momentum_matrix
from titop.solvers.kernels.tree.factor import factor, invert
from titop.solvers.kernels.tree.inverse import outward_motions
from titop.solvers.kernels.tree.joints import element_of
from titop.solvers.kernels.tree.kinematics import outward_poses, outward_twists, world_poses
from titop.solvers.kernels.tree.springs import add_elastic_energy
from titop.solvers.native.kernel import shared
from titop.solvers.native.signatures import FLAG, FLOATS, INTEGER, INTS, RESULT, RESULT_ROWS, STATE, VECTOR

#: Whether the system has general blocks or interactions: see `pair.Pair`.
LAWS = True


@pair(INTS, FLOATS, FLOATS, INTS, INTS, FLOATS, STATE, STATE, STATE, RESULT_ROWS)
def regressor(ints, floats, numbers, stages, chosen, frames, q, v, a, result):
    """The efforts (nv) a unit of each of the `chosen` numbers of bodies; see `write_body_regressor`."""
    last = -1
    for k in range(chosen.shape[0]):
        for c in range(NUMBERS_OF_BODY):
            last = max(last, chosen[k, 1 + c])
    if not sizes_fit(ints, q, v, a, v) or result.shape[0] != last + 1 or result.shape[1] != v.size:
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    work = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS), q.dtype)
    pose, wrenches = np.empty((1, 12), q.dtype), np.empty((NUMBERS_OF_BODY, 6), q.dtype)
    state, result[:] = State(q, v), 0.0
    status = outward_twists(tables, state, work, layout.ONLY_INERTIA)
    if status == layout.OK:
        status = outward_motions(tables, state, a, work, layout.KNOWN)
    if status != layout.OK:
        return status
    for k in range(chosen.shape[0]):
        write_body_regressor(tables, work, frames, chosen, k, pose, wrenches, result)
    return status_of_rows(result)


@pair(INTS, FLOATS, FLOATS, INTS, INTEGER, INTEGER, VECTOR, STATE, RESULT_ROWS)
def port_pose(ints, floats, numbers, stages, element, port, frame, q, pose):
    """Rotation (9) and position (3) of a port into `pose` (1, 12).

    `port` is its place in ``law``, or -1 for a port whose pose in its element is `frame` (12).
    """
    if q.size != ints[0, layout.NQ] or pose.size != 12:
        return layout.WRONG_SIZE
    if status_of(q) != layout.OK:
        return layout.NOT_FINITE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    work = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS), q.dtype)
    copy(frame, pose[0])
    status = walk(tables, State(q, np.zeros(ints[0, layout.NV], q.dtype)), work, element, port, pose, None)
    return status if status != layout.OK else status_of(pose[0])


@pair(INTS, FLOATS, FLOATS, INTS, INTEGER, INTEGER, VECTOR, FLAG, STATE, RESULT_ROWS)
def port_jacobian(ints, floats, numbers, stages, element, port, frame, in_world, q, jacobian):
    """Jacobian (6 x nv) of a port's twist, in its frame, or in inertial axes if it is asked for `in_world`."""
    if q.size != ints[0, layout.NQ] or jacobian.shape[0] != 6 or jacobian.shape[1] != ints[0, layout.NV]:
        return layout.WRONG_SIZE
    if status_of(q) != layout.OK:
        return layout.NOT_FINITE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    work = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS), q.dtype)
    pose = np.empty((1, 12), q.dtype)
    copy(frame, pose[0])
    jacobian[:] = 0.0
    status = walk(tables, State(q, np.zeros(ints[0, layout.NV], q.dtype)), work, element, port, pose, jacobian)
    if status == layout.OK and in_world:
        turn_columns(pose, jacobian)
    return status if status != layout.OK else min(status_of(pose[0]), status_of_rows(jacobian))


@shared
def _move_port(tables, element, port, frame, state, a, motion):
    ints, q = tables.ints, state.q
    work, pose = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS), q.dtype), np.empty((1, 12), q.dtype)
    status = move_along(tables, state, a, work, element)
    if status != layout.OK:
        return status
    copy(frame, pose[0])
    write_port_motion(ints, tables.law, work, element, port, pose, motion)
    return status_of(motion[0])


@pair(INTS, FLOATS, FLOATS, INTS, INTEGER, INTEGER, VECTOR, STATE, STATE, STATE, RESULT_ROWS)
def port_motion(ints, floats, numbers, stages, element, port, frame, q, v, a, motion):
    """Rotation (9), position (3), twist and acceleration less gravity's (6 each, in its frame) of a port into `motion`."""
    if not sizes_fit(ints, q, v, a, v) or motion.size != 24:
        return layout.WRONG_SIZE
    if min(status_of(q), min(status_of(v), status_of(a))) != layout.OK:
        return layout.NOT_FINITE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    return _move_port(tables, element, port, frame, State(q, v), a, motion)


@pair(INTS, FLOATS, FLOATS, INTS, INTEGER, INTEGER, VECTOR, FLAG, STATE, STATE, RESULT_ROWS)
def port_twist(ints, floats, numbers, stages, element, port, frame, in_world, q, v, twist):
    """Twist (1 x 6) of a port, in its frame or in inertial axes."""
    if not sizes_fit(ints, q, v, v, v) or twist.size != 6:
        return layout.WRONG_SIZE
    if min(status_of(q), status_of(v)) != layout.OK:
        return layout.NOT_FINITE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    motion = np.empty((1, 24), q.dtype)
    status = _move_port(tables, element, port, frame, State(q, v), np.zeros(v.size, q.dtype), motion)
    if status == layout.OK:
        put_six(twist, 0, 0, in_axes(motion, 12, in_world))
    return status


@pair(INTS, FLOATS, FLOATS, INTS, INTEGER, INTEGER, VECTOR, FLAG, FLAG, STATE, STATE, STATE, RESULT_ROWS)
def port_acceleration(ints, floats, numbers, stages, element, port, frame, in_world, classical, q, v, a, acceleration):
    """Acceleration (1 x 6) of a port: spatial or classical, in its frame or inertial axes."""
    if not sizes_fit(ints, q, v, a, v) or acceleration.size != 6:
        return layout.WRONG_SIZE
    if min(status_of(q), min(status_of(v), status_of(a))) != layout.OK:
        return layout.NOT_FINITE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    motion = np.empty((1, 24), q.dtype)
    status = _move_port(tables, element, port, frame, State(q, v), a, motion)
    if status == layout.OK:
        put_six(acceleration, 0, 0, acceleration_of(floats, motion, in_world, classical))
    return status


@pair(INTEGER, INTEGER, INTS, FLOATS, FLOATS, INTS, STATE, STATE, RESULT_ROWS)
def touches(row, stage, ints, floats, numbers, stages, q, v, result):
    """What a `stage` at an address reads of everything that touches in the contact at `row`, into the rows of `result`."""
    if not sizes_fit(ints, q, v, v, v):
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype))
    work = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS), q.dtype)
    status = outward_whole(tables, State(q, v), work, np.empty((world_rows(ints), 12), q.dtype))
    if status != layout.OK:
        return status
    status = call_interaction_at(stage, tables, row, address_of(result, 0))
    return status if status != layout.OK else status_of_rows(result)


@pair(INTS, FLOATS, FLOATS, INTS, STATE, RESULT_ROWS)
def momentum_matrix(ints, floats, numbers, stages, q, matrix):
    """The matrix (6 x nv) from v to linear momentum and angular momentum about the inertial origin."""
    n, count = ints[0, layout.NV], ints[0, layout.ELEMENTS]
    if q.size != ints[0, layout.NQ] or matrix.shape[0] != 6 or matrix.shape[1] != n:
        return layout.WRONG_SIZE
    law, still = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None, np.zeros(n, q.dtype) if LAWS else None
    work = np.empty((count, layout.FORWARD_COLUMNS), q.dtype)
    status = outward_poses(Tables(ints, floats, numbers, stages, law), State(q, still), work)
    if status != layout.OK:
        return status
    if LAWS:
        world = np.empty((count, 12), q.dtype)
        world_poses(ints, law, work, world)
        composite_inertias(ints, floats, law, work)
        write_momentum_matrix(ints, floats, law, work, world, matrix)
    else:
        sums, firsts = np.empty((count, layout.SUM_COLUMNS), q.dtype), np.empty(count, np.int64)
        write_rigid_momentum_matrix(ints, floats, work, sums, firsts, matrix)
    return status_of_rows(matrix)


@pair(INTS, FLOATS, FLOATS, INTS, INTS, STATE, STATE, RESULT_ROWS)
def coriolis_matrix(ints, floats, numbers, stages, paths, q, v, matrix):
    """The Coriolis matrix (nv x nv) of a tree of rigid bodies; `paths` are those of coordinates to the world."""
    n, count = ints[0, layout.NV], ints[0, layout.ELEMENTS]
    if not sizes_fit(ints, q, v, v, v) or matrix.shape[0] != n or matrix.shape[1] != n:
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    work = np.empty((count, layout.INVERSE_COLUMNS), q.dtype)
    status = outward_twists(tables, State(q, v), work, layout.ONLY_INERTIA)
    if status != layout.OK:
        return status
    sums, columns = np.empty((count, layout.SUM_COLUMNS), q.dtype), np.empty((n, layout.COLUMN_COLUMNS), q.dtype)
    write_coriolis(ints, floats, v, paths, work, sums, columns, matrix)
    return status_of_rows(matrix)


@pair(INTS, FLOATS, FLOATS, INTS, INTS, STATE, RESULT_ROWS)
def inverse_mass_matrix(ints, floats, numbers, stages, tree, q, inverse):
    """The inverse of the mass matrix; `tree` is that of coordinates."""
    n = ints[0, layout.NV]
    if q.size != ints[0, layout.NQ] or inverse.shape[0] != n or inverse.shape[1] != n:
        return layout.WRONG_SIZE
    law, still = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None, np.zeros(n, q.dtype) if LAWS else None
    work = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS), q.dtype)
    status = outward_poses(Tables(ints, floats, numbers, stages, law), State(q, still), work)
    if status != layout.OK:
        return status
    matrix = np.empty((n, n), q.dtype)
    write_mass_matrix(ints, floats, law, work, matrix)
    failed = factor(tree, matrix)
    if failed >= 0:
        return element_of(ints, failed)
    invert(tree, matrix, np.empty((2, n), np.int64), inverse)
    return min(status_of(q), status_of_rows(inverse))


@shared
def _energies(tables, state, work, world, result):
    ints, floats, law, (q, v) = tables.ints, tables.floats, tables.law, state
    if not sizes_fit(ints, q, v, v, v) or result.size != 3:
        return layout.WRONG_SIZE
    status = outward_twists(tables, state, work, layout.ONLY_INERTIA)
    if status != layout.OK:
        return status
    result[:] = 0.0
    world_poses(ints, law, work, world)
    add_energy(ints, floats, law, v, work, world, result)
    add_elastic_energy(ints, floats, q, result[2:3])
    if law is not None:
        stored, weight = stored_energy(tables, state, work, world)
        result[1] += weight
        result[2] += stored
        result[2] += elastic_energy(tables, state, work)
    return status_of(result)


@pair(INTS, FLOATS, FLOATS, INTS, STATE, STATE, RESULT)
def energies(ints, floats, numbers, stages, q, v, result):
    """Kinetic, gravity's and elastic energy (3)."""
    count = ints[0, layout.ELEMENTS]
    work, world = np.empty((count, layout.INVERSE_COLUMNS), q.dtype), np.empty((count, 12), q.dtype)
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    return _energies(tables, State(q, v), work, world, result)


@pair(INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, FLOATS, FLOATS, VECTOR)
def observed(ints, floats, numbers, stages, q, v, work, world, result):
    """The same; `work` and `world` receive twists and poses of all elements."""
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    return _energies(tables, State(q, v), work, world, result)


@pair(INTS, FLOATS, FLOATS, INTS, STATE, STATE, RESULT)
def momentum(ints, floats, numbers, stages, q, v, result):
    """Linear momentum, and angular momentum about the inertial origin (6)."""
    if not sizes_fit(ints, q, v, v, v) or result.size != 6:
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None
    work = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS), q.dtype)
    world = np.empty((ints[0, layout.ELEMENTS], 12), q.dtype)
    status = outward_twists(Tables(ints, floats, numbers, stages, law), State(q, v), work, layout.ONLY_INERTIA)
    if status != layout.OK:
        return status
    result[:] = 0.0
    world_poses(ints, law, work, world)
    add_momentum(ints, floats, law, v, work, world, result)
    return status_of(result)


@pair(INTS, FLOATS, FLOATS, INTS, STATE, RESULT)
def center_of_mass(ints, floats, numbers, stages, q, result):
    """Centre of mass in the inertial frame (3), which is the first moment if there is no mass, and mass."""
    if q.size != ints[0, layout.NQ] or result.size != 4:
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None
    work = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS), q.dtype)
    state = State(q, np.zeros(ints[0, layout.NV], q.dtype))
    status = outward_poses(Tables(ints, floats, numbers, stages, law), state, work)
    if status != layout.OK:
        return status
    result[:] = 0.0
    add_mass(ints, floats, law, work, result)
    divisor = select(result[3] > 0.0, result[3], 1.0)
    for k in range(3):
        result[k] /= divisor
    return status_of(result)
