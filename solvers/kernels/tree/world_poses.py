"""Poses in the inertial frame: a feature, which systems that nobody asks for them do not wait for."""

from __future__ import annotations

import numpy as np

from titop.blocks.laws.vectors import product
from titop.solvers.kernels.interface.layout import (
    ELEMENTS,
    INT_COLUMNS,
    LAW_SIZE,
    OK,
    PARENT,
    PORT,
    P,
    R,
)
from titop.solvers.kernels.interface.stages import address_of, floats_at, given, ints_at, row_at
from titop.solvers.kernels.spatial.algebra import matrix_of, rotate
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
def prepend(t, i, o, pose):
    """Replace `pose` by the product of the pose at ``t[i, o]`` and itself."""
    x, y, z = rotate(t, i, o, pose[0, 9], pose[0, 10], pose[0, 11])
    turned = product(matrix_of(t, i, o), matrix_of(pose, 0, 0))
    for k in range(9):
        pose[0, k] = turned[k]
    pose[0, 9], pose[0, 10], pose[0, 11] = x + t[i, o + 9], y + t[i, o + 10], z + t[i, o + 11]
