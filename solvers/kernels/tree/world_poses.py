"""Poses in the inertial frame: a feature, which systems that nobody asks for them do not wait for."""

from __future__ import annotations

import numpy as np

from titop.blocks.laws.vectors import product
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, floats_at, given, ints_at, row_at
from titop.solvers.kernels.spatial.algebra import matrix_of, rotate
from titop.solvers.native.kernel import feature, helper


@helper
def world_poses(ints, law, work, world):
    """Write rotation (9) and position (3) of every element in the inertial frame."""
    if pose_chain((*given(ints, law, work), address_of(world, 0))) != layout.OK:
        world[:] = np.nan  # the reason waits for `callbacks.raise_pending`


@feature(6)
def pose_chain(ints, rows, law, work, columns, world):
    """See `world_poses`."""
    table = ints_at(ints, rows, layout.INT_COLUMNS)
    count = table[0, layout.ELEMENTS]
    _write_poses(table, row_at(law, table[0, layout.LAW_SIZE]), floats_at(work, count, columns), floats_at(world, count, 12))
    return layout.OK


@helper
def _write_poses(ints, law, work, world):
    for k in range(12):
        world[0, k] = 0.0
    world[0, 0] = world[0, 4] = world[0, 8] = 1.0
    for i in range(1, ints[0, layout.ELEMENTS]):
        p = ints[i, layout.PARENT]
        base = matrix_of(world, p, 0)
        bx, by, bz = world[p, 9], world[p, 10], world[p, 11]
        if ints[i, layout.PORT] >= 0:
            o = ints[i, layout.PORT]
            sx, sy, sz = rotate(world, p, 0, law[0, o + 9], law[0, o + 10], law[0, o + 11])
            bx, by, bz = bx + sx, by + sy, bz + sz
            base = product(base, matrix_of(law, 0, o))
        x, y, z = work[i, layout.P], work[i, layout.P + 1], work[i, layout.P + 2]
        turned = product(base, matrix_of(work, i, layout.R))
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
