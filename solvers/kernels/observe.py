"""What can be read of a state: world poses, energy, momentum, Jacobians."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.algebra import dot, matrix_of, plus, rigid_momentum, rotate, six
from titop.solvers.kernels.joints import coordinates_of
from titop.solvers.kernels.layout import (
    ARMATURE,
    BIAS,
    ELEMENTS,
    GRAVITY,
    INT_COLUMNS,
    KIND,
    LAW,
    LAW_SIZE,
    MASS,
    MOMENT,
    OK,
    OWN,
    OWN_V,
    PARENT,
    PORT,
    TWIST,
    P,
    R,
    V,
)
from titop.solvers.kernels.stages import address_of, floats_at, given, ints_at, row_at
from titop.solvers.native.kernel import feature, helper


@helper
def world_poses(ints, law, work, world):
    """Write rotation (9) and position (3) of every element in the inertial frame."""
    if pose_chain((*given(ints, law, work), address_of(world, 0))) != OK:
        world[:] = np.nan  # the reason waits for `callbacks.raise_pending`


@feature(6)
def pose_chain(ints, rows, law, work, columns, world):
    """See `world_poses`."""
    table = ints_at(ints, rows, INT_COLUMNS)
    count = table[0, ELEMENTS]
    _write_poses(table, row_at(law, table[0, LAW_SIZE]), floats_at(work, count, columns), floats_at(world, count, 12))
    return OK


@helper
def _write_poses(ints, law, work, world):
    for k in range(12):
        world[0, k] = 0.0
    world[0, 0] = world[0, 4] = world[0, 8] = 1.0
    for i in range(1, ints[0, ELEMENTS]):
        p = ints[i, PARENT]
        base = matrix_of(world, p, 0)
        bx, by, bz = world[p, 9], world[p, 10], world[p, 11]
        if ints[i, PORT] >= 0:
            o = ints[i, PORT]
            sx, sy, sz = rotate(world, p, 0, law[0, o + 9], law[0, o + 10], law[0, o + 11])
            bx, by, bz = bx + sx, by + sy, bz + sz
            base = product(base, matrix_of(law, 0, o))
        x, y, z = work[i, P], work[i, P + 1], work[i, P + 2]
        turned = product(base, matrix_of(work, i, R))
        for k in range(9):
            world[i, k] = turned[k]
        world[i, 9] = bx + base[0] * x + base[1] * y + base[2] * z
        world[i, 10] = by + base[3] * x + base[4] * y + base[5] * z
        world[i, 11] = bz + base[6] * x + base[7] * y + base[8] * z


@helper
def product(a, b):
    """Return the product of two 3x3 matrices."""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6],
        a[0] * b[1] + a[1] * b[4] + a[2] * b[7],
        a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6],
        a[3] * b[1] + a[4] * b[4] + a[5] * b[7],
        a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6],
        a[6] * b[1] + a[7] * b[4] + a[8] * b[7],
        a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )


@helper
def add_energy(ints, floats, law, v, work, world, result):
    """Add the kinetic energy of every block and armature to ``result[0]``, gravity energy to ``result[1]``."""
    for i in range(1, ints[0, ELEMENTS]):
        twist = six(work, i, TWIST)
        momentum = block_momentum(ints, floats, law, i, v, twist)
        result[0] += 0.5 * dot(momentum, twist)
        if law is not None:
            if ints[i, LAW] >= 0:
                result[0] += 0.5 * _own_energy(ints, law, i, v, twist)
        for j in range(coordinates_of(ints[i, KIND])):
            rate = v[ints[i, V] + j]
            result[0] += 0.5 * floats[i, ARMATURE + j] * rate * rate
        mass, x, y, z = mass_and_moment(ints, floats, law, i)
        cx, cy, cz = rotate(world, i, 0, x, y, z)
        result[1] -= floats[0, GRAVITY] * (mass * world[i, 9] + cx)
        result[1] -= floats[0, GRAVITY + 1] * (mass * world[i, 10] + cy)
        result[1] -= floats[0, GRAVITY + 2] * (mass * world[i, 11] + cz)


@helper
def block_momentum(ints, floats, law, i, v, twist):
    """Return ``(M [V; v])_P`` of element i's block."""
    if law is not None:
        if ints[i, LAW] >= 0:
            return _general_momentum(ints, law, i, v, twist)
    return rigid_momentum(floats, i, MASS, twist)


@helper
def _general_momentum(ints, law, i, v, twist):
    o, n, k = ints[i, LAW], ints[i, OWN], ints[i, OWN_V]
    size = 6 + n
    total = (
        dot(six(law, 0, o), twist),
        dot(six(law, 0, o + size), twist),
        dot(six(law, 0, o + 2 * size), twist),
        dot(six(law, 0, o + 3 * size), twist),
        dot(six(law, 0, o + 4 * size), twist),
        dot(six(law, 0, o + 5 * size), twist),
    )
    for j in range(n):
        y, c = v[k + j], o + 6 + j
        total = plus(
            total,
            (
                y * law[0, c],
                y * law[0, c + size],
                y * law[0, c + 2 * size],
                y * law[0, c + 3 * size],
                y * law[0, c + 4 * size],
                y * law[0, c + 5 * size],
            ),
        )
    return total


@helper
def _own_energy(ints, law, i, v, twist):
    """Return ``v^T (M [V; v])_q``."""
    o, n, k = ints[i, LAW], ints[i, OWN], ints[i, OWN_V]
    size, total = 6 + n, 0.0
    for r in range(n):
        row = o + (6 + r) * size
        rate = dot(six(law, 0, row), twist)
        for j in range(n):
            rate += law[0, row + 6 + j] * v[k + j]
        total += rate * v[k + r]
    return total


@helper
def mass_and_moment(ints, floats, law, i):
    """Return mass (kg) and first moment (kg m) of element i's block, in its frame; see `titop.blocks.contract.surroundings`."""
    if law is not None:
        if ints[i, LAW] >= 0:
            o, n = ints[i, LAW], 6 + ints[i, OWN]
            return (
                (law[0, o] + law[0, o + n + 1] + law[0, o + 2 * n + 2]) / 3.0,
                0.5 * (law[0, o + 5 * n + 1] - law[0, o + 4 * n + 2]),
                0.5 * (law[0, o + 3 * n + 2] - law[0, o + 5 * n]),
                0.5 * (law[0, o + 4 * n] - law[0, o + 3 * n + 1]),
            )
    return floats[i, MASS], floats[i, MOMENT], floats[i, MOMENT + 1], floats[i, MOMENT + 2]


@helper
def add_momentum(ints, floats, law, v, work, world, result):
    """Add linear and angular momentum about the inertial origin, in inertial axes, to `result` (6)."""
    for i in range(1, ints[0, ELEMENTS]):
        momentum = block_momentum(ints, floats, law, i, v, six(work, i, TWIST))
        lx, ly, lz = rotate(world, i, 0, momentum[0], momentum[1], momentum[2])
        ax, ay, az = rotate(world, i, 0, momentum[3], momentum[4], momentum[5])
        x, y, z = world[i, 9], world[i, 10], world[i, 11]
        result[0] += lx
        result[1] += ly
        result[2] += lz
        result[3] += ax + y * lz - z * ly
        result[4] += ay + z * lx - x * lz
        result[5] += az + x * ly - y * lx


@helper
def add_mass(ints, floats, law, work, result):
    """Add first moment in the inertial frame (3) and mass to `result` (4), summed from the leaves inwards."""
    for i in range(1, ints[0, ELEMENTS]):
        work[i, BIAS], work[i, BIAS + 1], work[i, BIAS + 2], work[i, BIAS + 3] = mass_and_moment(ints, floats, law, i)
    for i in range(ints[0, ELEMENTS] - 1, 0, -1):
        mass, moment = _carried_moment(work, i, R, work[i, BIAS], (work[i, BIAS + 1], work[i, BIAS + 2], work[i, BIAS + 3]))
        if law is not None:
            if ints[i, PORT] >= 0:
                mass, moment = _carried_moment(law, 0, ints[i, PORT], mass, moment)
        p = ints[i, PARENT]
        if p == 0:
            result[0] += moment[0]
            result[1] += moment[1]
            result[2] += moment[2]
            result[3] += mass
            continue
        work[p, BIAS] += mass
        work[p, BIAS + 1] += moment[0]
        work[p, BIAS + 2] += moment[1]
        work[p, BIAS + 3] += moment[2]


@helper
def _carried_moment(t, i, o, mass, moment):
    """Return a mass and its first moment at the parent; the pose stands at ``t[i, o]``."""
    x, y, z = rotate(t, i, o, moment[0], moment[1], moment[2])
    return mass, (x + mass * t[i, o + 9], y + mass * t[i, o + 10], z + mass * t[i, o + 11])


@helper
def prepend(t, i, o, pose):
    """Replace `pose` by the product of the pose at ``t[i, o]`` and itself."""
    x, y, z = rotate(t, i, o, pose[0, 9], pose[0, 10], pose[0, 11])
    turned = product(matrix_of(t, i, o), matrix_of(pose, 0, 0))
    for k in range(9):
        pose[0, k] = turned[k]
    pose[0, 9], pose[0, 10], pose[0, 11] = x + t[i, o + 9], y + t[i, o + 10], z + t[i, o + 11]
