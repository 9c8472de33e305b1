"""Loads in the passes; those fixed in the inertial frame do not turn along when a coordinate moves their block.

Features, which systems without loads do not wait for.

Entries that are NaN tell that it could not be compiled; the reason waits for `callbacks.raise_pending`.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, floats_at, given, ints_at, row_at
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    carry_wrench,
    cross,
    dot,
    rotate,
    rotate_back,
    rotate_six_back,
    scaled,
    six,
)
from titop.solvers.kernels.tree.general import subspace_column
from titop.solvers.kernels.tree.kinematics import world_poses
from titop.solvers.kernels.tree.subtree_sums import clear
from titop.solvers.native.kernel import feature, helper


@helper
def apply_loads(ints, floats, law, work, world, general):
    """Subtract the loads from the laws of general blocks, or else from the biases of rigid bodies.

    `world` receives the poses of all elements if a load is given in the inertial frame.
    """
    if ints[0, layout.LOADS] > 0:
        if ints[0, layout.INERTIAL_LOADS]:
            world_poses(ints, law, work, world)
        if load_application((*given(ints, law, work), address_of(floats, 0), address_of(world, 0), general)) != layout.OK:
            work[:] = np.nan
            if law is not None:
                law[:] = np.nan


@feature(8)
def load_application(ints, rows, law, work, columns, floats, world, general):
    """See `apply_loads`."""
    table = ints_at(ints, rows, layout.INT_COLUMNS)
    count = table[0, layout.ELEMENTS]
    record, moving = row_at(law, table[0, layout.LAW_SIZE]), floats_at(work, count, columns)
    _subtract_loads(
        table, floats_at(floats, rows, layout.FLOAT_COLUMNS), record, moving, floats_at(world, count, 12), general != 0
    )
    return layout.OK


@helper
def _subtract_loads(ints, floats, law, work, world, general):
    for row in range(ints[0, layout.FIRST_LOAD], ints[0, layout.FIRST_LOAD] + ints[0, layout.LOADS]):
        i = ints[row, layout.ELEMENT]
        if (ints[i, layout.LAW] >= 0) != general or i == 0:
            continue
        wrench = six(floats, row, layout.FORCE)
        if ints[row, layout.INERTIAL]:
            wrench = rotate_six_back(world, i, 0, wrench)
        if general:
            _subtract_from_law(ints, law, row, i, wrench)
            continue
        if ints[row, layout.INERTIAL]:
            wrench = rotate_six_back(floats, row, layout.R, wrench)
        wrench = carry_wrench(floats, row, layout.R, wrench)
        for k in range(6):
            work[i, layout.BIAS + k] -= wrench[k]


@helper
def _subtract_from_law(ints, law, row, i, wrench):
    """Subtract a wrench at the port of the load at `row` from h of general block i.

    A wrench in the inertial frame comes in components of the block's parent port.
    """
    size = 6 + ints[i, layout.OWN]
    h = ints[i, layout.LAW] + size * size
    if ints[row, layout.PORT] >= 0:
        if ints[row, layout.INERTIAL]:
            wrench = rotate_six_back(law, 0, ints[row, layout.PORT], wrench)
        for j in range(ints[i, layout.OWN]):
            law[0, h + 6 + j] -= dot(subspace_column(ints, law, row, i, j), wrench)
        wrench = carry_wrench(law, 0, ints[row, layout.PORT], wrench)
    for k in range(6):
        law[0, h + k] -= wrench[k]


@helper
def hold_loads(ints, floats, world, sums):
    """Write what the inertial loads, already subtracted from the blocks' wrenches, lack of turning along.

    Loads on a general block's ports move from the block's row of `sums` to the port's.
    """
    if ints[0, layout.LOADS] > 0 or ints[0, layout.INERTIAL_LOADS]:
        if load_holding((address_of(ints, 0), ints.shape[0], *_addresses(floats, world, sums))) != layout.OK:
            sums[:] = np.nan


@helper
def _addresses(floats, world, sums):
    return address_of(floats, 0), address_of(world, 0), address_of(sums, 0), sums.shape[0], sums.shape[1]


@feature(7)
def load_holding(ints, rows, floats, world, sums, sum_rows, columns):
    """See `hold_loads`."""
    table = ints_at(ints, rows, layout.INT_COLUMNS)
    bodies, poses = floats_at(floats, rows, layout.FLOAT_COLUMNS), floats_at(world, table[0, layout.ELEMENTS], 12)
    _hold_all(table, bodies, poses, floats_at(sums, sum_rows, columns))
    return layout.OK


@helper
def _hold_all(ints, floats, world, sums):
    if ints[0, layout.INERTIAL_LOADS]:
        for i in range(1, ints[0, layout.ELEMENTS]):
            clear(sums, i, layout.TURNED, layout.SUM_COLUMNS)
    for row in range(ints[0, layout.FIRST_LOAD], ints[0, layout.FIRST_LOAD] + ints[0, layout.LOADS]):
        i, at = ints[row, layout.ELEMENT], ints[row, layout.ELEMENT]
        if i == 0:
            continue
        if ints[row, layout.ROW] >= 0:
            at = ints[row, layout.ROW]
        ox, oy, oz = (
            (floats[row, layout.P], floats[row, layout.P + 1], floats[row, layout.P + 2])
            if at == i and ints[i, layout.LAW] < 0
            else (0.0, 0.0, 0.0)
        )
        x, y, z = rotate(sums, at, layout.BASE, ox, oy, oz)
        x, y, z = x + sums[at, layout.BASE + 9], y + sums[at, layout.BASE + 10], z + sums[at, layout.BASE + 11]
        wrench = six(floats, row, layout.FORCE)
        if ints[row, layout.INERTIAL]:
            wrench = _turned(world, i, sums, wrench)
            _hold_load(sums, at, x, y, z, wrench)
        if at != i:
            if not ints[row, layout.INERTIAL]:
                fx, fy, fz = rotate(sums, at, layout.BASE, wrench[0], wrench[1], wrench[2])
                tx, ty, tz = rotate(sums, at, layout.BASE, wrench[3], wrench[4], wrench[5])
                wrench = (fx, fy, fz, tx, ty, tz)
            cx, cy, cz = cross(x, y, z, wrench[0], wrench[1], wrench[2])
            wrench = (wrench[0], wrench[1], wrench[2], wrench[3] + cx, wrench[4] + cy, wrench[5] + cz)
            add_six(sums, i, layout.WRENCH, wrench)
            add_six(sums, at, layout.WRENCH, scaled(-1.0, wrench))


@helper
def _turned(world, i, sums, w):
    """Return an inertial wrench in the components of `sums`."""
    fx, fy, fz = rotate_back(world, i, 0, w[0], w[1], w[2])
    tx, ty, tz = rotate_back(world, i, 0, w[3], w[4], w[5])
    fx, fy, fz = rotate(sums, i, layout.BASE, fx, fy, fz)
    tx, ty, tz = rotate(sums, i, layout.BASE, tx, ty, tz)
    return fx, fy, fz, tx, ty, tz


@helper
def _hold_load(sums, i, x, y, z, wrench):
    fx, fy, fz, tx, ty, tz = wrench
    sums[i, layout.TURNED] += fx
    sums[i, layout.TURNED + 1] += fy
    sums[i, layout.TURNED + 2] += fz
    # [t] + [r][f] = [t] + f r^T - (r . f) 1
    along = x * fx + y * fy + z * fz
    sums[i, layout.TURNED + 3] += fx * x - along
    sums[i, layout.TURNED + 4] += fx * y - tz
    sums[i, layout.TURNED + 5] += fx * z + ty
    sums[i, layout.TURNED + 6] += fy * x + tz
    sums[i, layout.TURNED + 7] += fy * y - along
    sums[i, layout.TURNED + 8] += fy * z - tx
    sums[i, layout.TURNED + 9] += fz * x - ty
    sums[i, layout.TURNED + 10] += fz * y + tx
    sums[i, layout.TURNED + 11] += fz * z - along
