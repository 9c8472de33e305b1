"""Poses and twists, from the world outwards; poses in the inertial frame, by a feature."""

from __future__ import annotations

import math

import numpy as np

from titop.blocks.laws.vectors import product
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, call_block, floats_at, given, ints_at, row_at
from titop.solvers.kernels.spatial.algebra import (
    IDENTITY,
    composed_pose,
    cross,
    matrix_of,
    put_pose,
    put_six,
    rotate,
    six,
    three,
    transport,
)
from titop.solvers.kernels.tree.general import write_port_twists
from titop.solvers.kernels.tree.joints import move, place
from titop.solvers.native.kernel import feature, helper, shared
from titop.solvers.native.signatures import INTEGER, STATE_AT


@helper
def start(floats, work):
    """Write the world's motion: it turns about its origin, and is accelerated against gravity."""
    put_pose(work, 0, layout.R, IDENTITY, (0.0, 0.0, 0.0))
    put_six(work, 0, layout.TWIST, (0.0, 0.0, 0.0, *three(floats, 0, layout.TURN)))
    x, y, z = three(floats, 0, layout.GRAVITY)
    put_six(work, 0, layout.ACC, (-x, -y, -z, *three(floats, 0, layout.TURN + 3)))


@helper
def parent_motion(ints, law, work, i, column, at_port):
    """Return the twist or acceleration of what carries element i: `column` of its parent, or `at_port` of a parent's port."""
    if law is not None and ints[i, layout.PORT] >= 0:
        return six(law, 0, ints[i, layout.PORT] + at_port)
    return six(work, ints[i, layout.PARENT], column)


@helper
def place_and_move(tables, i, state, work):
    """Write element i's pose in its parent and its twist; return a status."""
    ints, floats, law = tables.ints, tables.floats, tables.law
    status = place(ints, floats, i, state.q, work)
    if status == layout.OK:
        carried = transport(work, i, layout.R, parent_motion(ints, law, work, i, layout.TWIST, layout.PORT_TWIST))
        put_six(work, i, layout.TWIST, move(ints, floats, i, carried, state.v, ints[i, layout.V]))
    return status


@shared
def outward_twists(tables, state, work, asked):
    """Write every element's pose in its parent and its twist, and what is `asked` for of general blocks; return a status."""
    ints, law = tables.ints, tables.law
    start(tables.floats, work)
    for i in range(1, ints[0, layout.ELEMENTS]):
        status = place_and_move(tables, i, state, work)
        if status != layout.OK:
            return status
        if law is not None and ints[i, layout.LAW] >= 0:
            status = call_block(tables, None, i, state, None, work, asked, layout.TERMS)
            if status != layout.OK:
                return status
            block = ints[i, layout.OWN], ints[i, layout.PORT_COUNT], ints[i, layout.USED], law, ints[i, layout.LAW]
            write_port_twists(*block, six(work, i, layout.TWIST), state.v, ints[i, layout.OWN_V])
    return layout.OK


@helper
def outward_poses(tables, state, work):
    """Write every element's pose in its parent, and M and ports of general blocks at rest, `v` being zero; return a status.

    Without general blocks nothing else is written.
    """
    if tables.law is not None:
        return outward_twists(tables, state, work, layout.ONLY_INERTIA)
    for i in range(1, tables.ints[0, layout.ELEMENTS]):
        status = place(tables.ints, tables.floats, i, state.q, work)
        if status != layout.OK:
            return status
    return layout.OK


@helper
def normalise(ints, q):
    """Divide every quaternion of q by its norm."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        if ints[i, layout.KIND] == layout.SPHERICAL or ints[i, layout.KIND] == layout.FREE:
            k = ints[i, layout.Q] + (3 if ints[i, layout.KIND] == layout.FREE else 0)
            scale = 1.0 / math.sqrt(q[k] * q[k] + q[k + 1] * q[k + 1] + q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3])
            for j in range(k, k + 4):
                q[j] *= scale


@helper
def write_rates(ints, q, v, rates):
    """Write dq/dt into `rates`; plain coordinates move with v."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        k, j, kind = ints[i, layout.Q], ints[i, layout.V], ints[i, layout.KIND]
        for own in range(ints[i, layout.OWN]):
            rates[ints[i, layout.OWN_Q] + own] = v[ints[i, layout.OWN_V] + own]
        if kind == layout.AXIAL:
            rates[k] = v[j]
        elif kind == layout.SPHERICAL:
            _write_quaternion_rate(q, k, v, j, rates)
        elif kind == layout.FREE:
            _write_quaternion_rate(q, k + 3, v, j + 3, rates)
            x, y, z, w = q[k + 3], q[k + 4], q[k + 5], q[k + 6]
            tx, ty, tz = cross(x, y, z, v[j], v[j + 1], v[j + 2])
            ux, uy, uz = cross(x, y, z, tx, ty, tz)
            rates[k] = v[j] + 2.0 * (w * tx + ux)
            rates[k + 1] = v[j + 1] + 2.0 * (w * ty + uy)
            rates[k + 2] = v[j + 2] + 2.0 * (w * tz + uz)


@helper
def _write_quaternion_rate(q, k, v, j, rates):
    """Write half the product of the quaternion at ``q[k]`` and the angular velocity at ``v[j]``."""
    x, y, z, w = q[k], q[k + 1], q[k + 2], q[k + 3]
    cx, cy, cz = cross(x, y, z, v[j], v[j + 1], v[j + 2])
    rates[k] = 0.5 * (w * v[j] + cx)
    rates[k + 1] = 0.5 * (w * v[j + 1] + cy)
    rates[k + 2] = 0.5 * (w * v[j + 2] + cz)
    rates[k + 3] = -0.5 * (x * v[j] + y * v[j + 1] + z * v[j + 2])


@helper
def subtract_brackets(ints, v, A):
    """Subtract ``ad(v)`` of free and spherical joints from the rows and columns of their coordinates."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        j, kind = ints[i, layout.V], ints[i, layout.KIND]
        if kind == layout.FREE:
            _subtract_cross(A, j, j, v[j + 3], v[j + 4], v[j + 5])
            _subtract_cross(A, j, j + 3, v[j], v[j + 1], v[j + 2])
            _subtract_cross(A, j + 3, j + 3, v[j + 3], v[j + 4], v[j + 5])
        elif kind == layout.SPHERICAL:
            _subtract_cross(A, j, j, v[j], v[j + 1], v[j + 2])


@helper
def _subtract_cross(A, i, j, x, y, z):
    """Subtract the matrix of the cross product with (x, y, z) from the entry (i, j) on."""
    A[i, j + 1] += z
    A[i, j + 2] -= y
    A[i + 1, j] -= z
    A[i + 1, j + 2] += x
    A[i + 2, j] += y
    A[i + 2, j + 1] -= x


@helper
def world_poses(ints, law, work, world):
    """Write rotation (9) and position (3) of every element in the inertial frame."""
    if pose_chain((*given(ints, law, work), address_of(world, 0))) != layout.OK:
        world[:] = np.nan  # the reason waits for `callbacks.raise_pending`


@feature(INTEGER, INTEGER, STATE_AT, STATE_AT, INTEGER, STATE_AT)
def pose_chain(ints, rows, law, work, columns, world):
    """See `world_poses`."""
    table = ints_at(ints, rows, layout.INT_COLUMNS)
    count = table[0, layout.ELEMENTS]
    _write_poses(table, row_at(law, table[0, layout.LAW_SIZE]), floats_at(work, count, columns), floats_at(world, count, 12))
    return layout.OK


@helper
def _write_poses(ints, law, work, world):
    put_pose(world, 0, 0, IDENTITY, (0.0, 0.0, 0.0))
    for i in range(1, ints[0, layout.ELEMENTS]):
        p = ints[i, layout.PARENT]
        base = matrix_of(world, p, 0)
        bx, by, bz = three(world, p, 9)
        if ints[i, layout.PORT] >= 0:
            o = ints[i, layout.PORT]
            sx, sy, sz = rotate(world, p, 0, law[0, o + 9], law[0, o + 10], law[0, o + 11])
            bx, by, bz = bx + sx, by + sy, bz + sz
            base = product(base, matrix_of(law, 0, o))
        x, y, z = three(work, i, layout.P)
        bx, by = bx + base[0] * x + base[1] * y + base[2] * z, by + base[3] * x + base[4] * y + base[5] * z
        bz = bz + base[6] * x + base[7] * y + base[8] * z
        put_pose(world, i, 0, product(base, matrix_of(work, i, layout.R)), (bx, by, bz))


@helper
def prepend(t, i, o, pose):
    """Replace `pose` by the product of the pose at ``t[i, o]`` and itself."""
    rotation, position = composed_pose(t, i, o, pose, 0, 0)
    put_pose(pose, 0, 0, rotation, position)
