"""Loads fixed in the inertial frame: they do not turn along when a coordinate moves their block. A feature, as in `loads`."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, floats_at, ints_at
from titop.solvers.kernels.spatial.algebra import add_six, cross, rotate, rotate_back, scaled, six
from titop.solvers.kernels.tree.subtree_sums import clear
from titop.solvers.native.kernel import feature, helper


@helper
def hold_loads(ints, floats, world, sums):
    """Write what the inertial loads, already subtracted from the blocks' wrenches, lack of turning along.

    Loads on a general block's ports move from the block's row of `sums` to the port's.
    """
    if ints[0, layout.LOADS] > 0 or ints[0, layout.INERTIAL_LOADS]:
        if load_holding((address_of(ints, 0), ints.shape[0], *_given(floats, world, sums))) != layout.OK:
            sums[:] = np.nan


@helper
def _given(floats, world, sums):
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
