"""Loads in the passes: a feature, which systems without them do not wait for.

Entries that are NaN tell that it could not be compiled; the reason waits for `callbacks.raise_pending`.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, floats_at, given, ints_at, row_at
from titop.solvers.kernels.spatial.algebra import carry_wrench, dot, rotate_six_back, six
from titop.solvers.kernels.tree.general import subspace_column
from titop.solvers.kernels.tree.world_poses import world_poses
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
