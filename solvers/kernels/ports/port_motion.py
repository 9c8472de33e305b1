"""Pose, motion and Jacobian of a port, along the path that carries it: nothing else of the system is looked at."""

from __future__ import annotations

import numpy as np

from titop.blocks.laws.vectors import product, times, transposed
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import call_block
from titop.solvers.kernels.spatial.algebra import cross, matrix_of, put_six, rotate, rotate_back, six, transport
from titop.solvers.kernels.tree.general import port_column
from titop.solvers.kernels.tree.inverse import accelerate
from titop.solvers.kernels.tree.joints import axis, coordinates_of, place
from titop.solvers.kernels.tree.kinematics import place_and_move, prepend, start
from titop.solvers.native.kernel import helper, shared


@helper
def port_pose(ints, floats, law, world, row):
    """Return rotation (9) and position (3) of the port at `row` in the inertial frame."""
    i = ints[row, layout.ELEMENT]
    base = matrix_of(world, i, 0)
    x, y, z = rotate(world, i, 0, floats[row, 9], floats[row, 10], floats[row, 11])
    rotation = product(base, matrix_of(floats, row, 0))
    if law is not None:
        if ints[row, layout.PORT] >= 0:
            o = ints[row, layout.PORT]
            x, y, z = rotate(world, i, 0, law[0, o + 9], law[0, o + 10], law[0, o + 11])
            rotation = product(base, matrix_of(law, 0, o))
    return rotation, (world[i, 9] + x, world[i, 10] + y, world[i, 11] + z)


@helper
def relative_pose(ints, floats, law, world, row):
    """Return R and r of the closure at `row`."""
    rotation1, p1 = port_pose(ints, floats, law, world, row)
    rotation2, p2 = port_pose(ints, floats, law, world, row + 1)
    back = transposed(rotation1)
    return product(back, rotation2), times(back, (p2[0] - p1[0], p2[1] - p1[1], p2[2] - p1[2]))


@helper
def twist_of_port(ints, floats, law, work, row, v):
    """Return the twist of the port at `row`, in its frame."""
    i = ints[row, layout.ELEMENT]
    if law is not None:
        if ints[row, layout.PORT] >= 0:
            return six(law, 0, ints[row, layout.PORT] + layout.PORT_TWIST)
    return transport(floats, row, 0, six(work, i, layout.TWIST))


@helper
def walk(tables, state, work, i, port, pose, jacobian):
    """Walk from a port on element i to the world; return a status.

    `port` is the port's place in `law`, or -1 for one fixed in the element, whose pose there `pose` (1, 12) holds before. It
    holds the port's pose in the inertial frame then, `jacobian` (6 x nv), zero before, its Jacobian in its frame; it may be
    None. `v` is zero.
    """
    ints, floats, law = tables.ints, tables.floats, tables.law
    if law is not None:
        if port >= 0:
            status = _write_terms(tables, i, state, work)
            if status != layout.OK:
                return status
            _across_block(ints, law, i, port, pose, jacobian)
    while i > 0:
        status = place(ints, floats, i, state.q, work)
        if status != layout.OK:
            return status
        if jacobian is not None:
            for j in range(coordinates_of(ints[i, layout.KIND])):
                _write_column(pose, axis(ints, floats, i, j), jacobian, ints[i, layout.V] + j)
        prepend(work, i, layout.R, pose)
        p = ints[i, layout.PARENT]
        if law is not None:
            if ints[i, layout.PORT] >= 0:
                status = _write_terms(tables, p, state, work)
                if status != layout.OK:
                    return status
                _across_block(ints, law, p, ints[i, layout.PORT], pose, jacobian)
        i = p
    return layout.OK


@shared
def move_along(tables, state, a, work, i):
    """Write poses, twists and accelerations of the elements on the path from the world to element i; return a status."""
    ints = tables.ints
    start(tables.floats, work)
    path, count = np.empty(ints[0, layout.ELEMENTS], np.int64), 0
    while i > 0:
        path[count] = i
        count, i = count + 1, ints[i, layout.PARENT]
    for k in range(count - 1, -1, -1):
        status = place_and_move(tables, path[k], state, work)
        if status != layout.OK:
            return status
        accelerate(tables, path[k], state.v, a, work)
        if tables.law is not None:
            if ints[path[k], layout.LAW] >= 0:
                status = call_block(tables, None, path[k], state, a, work, layout.UNKNOWN, layout.OUTWARD)
                if status != layout.OK:
                    return status
    return layout.OK


@helper
def write_port_motion(ints, law, work, i, port, pose, result):
    """Write rotation (9), position (3), twist and acceleration less gravity's (6 each, in its frame) of a port on element i.

    `port` and `pose` are as for `walk`; `work` and `law` hold what `move_along` wrote.
    """
    if port < 0:
        put_six(result, 0, 12, transport(pose, 0, 0, six(work, i, layout.TWIST)))
        put_six(result, 0, 18, transport(pose, 0, 0, six(work, i, layout.ACC)))
    if law is not None:
        if port >= 0:
            put_six(result, 0, 12, six(law, 0, port + layout.PORT_TWIST))
            put_six(result, 0, 18, six(law, 0, port + layout.PORT_ACC))
            prepend(law, 0, port, pose)
    while i > 0:
        prepend(work, i, layout.R, pose)
        if law is not None:
            if ints[i, layout.PORT] >= 0:
                prepend(law, 0, ints[i, layout.PORT], pose)
        i = ints[i, layout.PARENT]
    for k in range(12):
        result[0, k] = pose[0, k]


@helper
def in_axes(motion, o, in_world):
    """Return the dual vector at ``motion[0, o]``, in inertial axes if it is asked for `in_world`."""
    x = six(motion, 0, o)
    if not in_world:
        return x
    linear, angular = rotate(motion, 0, 0, x[0], x[1], x[2]), rotate(motion, 0, 0, x[3], x[4], x[5])
    return linear[0], linear[1], linear[2], angular[0], angular[1], angular[2]


@helper
def acceleration_of(floats, motion, in_world, classical):
    """Return the acceleration, gravity's with it, of a port whose motion `write_port_motion` wrote."""
    x = six(motion, 0, 18)
    gx, gy, gz = rotate_back(
        motion, 0, 0, floats[0, layout.GRAVITY], floats[0, layout.GRAVITY + 1], floats[0, layout.GRAVITY + 2]
    )
    linear = x[0] + gx, x[1] + gy, x[2] + gz
    if classical:
        cx, cy, cz = cross(motion[0, 15], motion[0, 16], motion[0, 17], motion[0, 12], motion[0, 13], motion[0, 14])
        linear = linear[0] + cx, linear[1] + cy, linear[2] + cz
    angular = x[3], x[4], x[5]
    if in_world:
        linear = rotate(motion, 0, 0, linear[0], linear[1], linear[2])
        angular = rotate(motion, 0, 0, x[3], x[4], x[5])
    return linear[0], linear[1], linear[2], angular[0], angular[1], angular[2]


@helper
def _write_terms(tables, i, state, work):
    """Write the ports of general block i at rest."""
    put_six(work, i, layout.TWIST, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    return call_block(tables, None, i, state, None, work, layout.ONLY_PORTS, layout.TERMS)


@helper
def _across_block(ints, law, i, port, pose, jacobian):
    """Walk from the port at ``law[0, port]`` to general block i's frame."""
    if jacobian is not None:
        for j in range(ints[i, layout.OWN]):
            _write_column(pose, port_column(law, port, ints[i, layout.OWN], j), jacobian, ints[i, layout.OWN_V] + j)
    prepend(law, 0, port, pose)


@helper
def turn_columns(pose, jacobian):
    """Turn the columns of a Jacobian by the rotation of a pose."""
    for k in range(jacobian.shape[1]):
        for r in range(0, 6, 3):
            x = rotate(pose, 0, 0, jacobian[r, k], jacobian[r + 1, k], jacobian[r + 2, k])
            jacobian[r, k], jacobian[r + 1, k], jacobian[r + 2, k] = x


@helper
def _write_column(pose, x, jacobian, k):
    y = transport(pose, 0, 0, x)
    for r in range(6):
        jacobian[r, k] = y[r]
