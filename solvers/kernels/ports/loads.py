"""Loads in the passes; those fixed in the inertial frame do not turn along when a coordinate moves their block.

Features, which systems without loads do not wait for.

Entries that are NaN tell that it could not be compiled; the reason waits for `callbacks.raise_pending`.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import is_used, port_at
from titop.solvers.kernels.interface.stages import address_of, floats_at, given, ints_at, row_at
from titop.solvers.kernels.ports.interactions import loads_of, next_interaction, subtract_at_port
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    carry_wrench,
    cross,
    plus,
    put_six,
    rotate,
    rotate_back,
    rotate_six_back,
    scaled,
    six,
)
from titop.solvers.kernels.tree.general import port_effort
from titop.solvers.kernels.tree.joints import along_joint
from titop.solvers.kernels.tree.kinematics import world_poses
from titop.solvers.kernels.tree.subtree_sums import clear
from titop.solvers.native.kernel import feature, helper
from titop.solvers.native.signatures import INTEGER, STATE_AT, TABLE_AT


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


@feature(INTEGER, INTEGER, STATE_AT, STATE_AT, INTEGER, TABLE_AT, STATE_AT, INTEGER)
def load_application(ints, rows, law, work, columns, floats, world, general):
    """See `apply_loads`."""
    table = ints_at(ints, rows, layout.INT_COLUMNS)
    count, bodies = table[0, layout.ELEMENTS], floats_at(floats, rows, layout.FLOAT_COLUMNS)
    record, moving = row_at(law, table[0, layout.LAW_SIZE]), floats_at(work, count, columns)
    poses, first = floats_at(world, count, 12), table[0, layout.FIRST_LOAD]
    for row in range(first, first + table[0, layout.LOADS]):
        if (table[table[row, layout.ELEMENT], layout.LAW] >= 0) == (general != 0):
            wrench = load_at_port(table, bodies, record, poses, row)
            subtract_at_port(table, bodies, record, moving, row, wrench, general != 0)
    return layout.OK


@helper
def load_at_port(ints, floats, law, world, row):
    """Return the wrench of the load at `row` in the frame of its port."""
    wrench = six(floats, row, layout.FORCE)
    if ints[row, layout.INERTIAL] == 0:
        return wrench
    i = ints[row, layout.ELEMENT]
    wrench = rotate_six_back(world, i, 0, wrench)
    if law is not None:
        if ints[i, layout.LAW] >= 0:
            return rotate_six_back(law, 0, ints[row, layout.PORT], wrench) if ints[row, layout.PORT] >= 0 else wrench
    return rotate_six_back(floats, row, layout.R, wrench)


@helper
def hold_loads(ints, floats, world, sums):
    """Write what the inertial loads, already subtracted from the blocks' wrenches, lack of turning along.

    Loads on a general block's ports move from the block's row of `sums` to the port's.
    """
    if ints[0, layout.LOADS] > 0 or ints[0, layout.INERTIAL_LOADS]:
        tables = address_of(ints, 0), ints.shape[0], address_of(floats, 0), address_of(world, 0)
        if load_holding((*tables, address_of(sums, 0), sums.shape[0], sums.shape[1])) != layout.OK:
            sums[:] = np.nan


@feature(INTEGER, INTEGER, TABLE_AT, STATE_AT, STATE_AT, INTEGER, STATE_AT)
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
        ox = oy = oz = 0.0
        if at == i and ints[i, layout.LAW] < 0:
            ox, oy, oz = floats[row, layout.P], floats[row, layout.P + 1], floats[row, layout.P + 2]
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


# -- inverse dynamics: loads and interactions on general blocks join the wrenches at their ports


@helper
def apply_to_ports(ints, floats, law, work, world):
    """Subtract loads and interactions on general blocks from the wrenches at their ports, or from what the blocks take.

    `world` holds the poses of all elements if a load is given in the inertial frame.
    """
    if ints[0, layout.LOADS] > 0 or ints[0, layout.INTERACTIONS] > 0:
        if port_application((*given(ints, law, work), address_of(floats, 0), address_of(world, 0))) != layout.OK:
            law[:] = np.nan
            work[:] = np.nan


@feature(INTEGER, INTEGER, STATE_AT, STATE_AT, INTEGER, TABLE_AT, STATE_AT)
def port_application(ints, rows, law, work, columns, floats, world):
    """See `apply_to_ports`."""
    table = ints_at(ints, rows, layout.INT_COLUMNS)
    count, bodies = table[0, layout.ELEMENTS], floats_at(floats, rows, layout.FLOAT_COLUMNS)
    record, moving = row_at(law, table[0, layout.LAW_SIZE]), floats_at(work, count, columns)
    poses, first = floats_at(world, count, 12), table[0, layout.FIRST_LOAD]
    for row in range(first, first + table[0, layout.LOADS]):
        i = table[row, layout.ELEMENT]
        if i > 0 and table[i, layout.LAW] >= 0:
            _subtract(table, record, moving, row, load_at_port(table, bodies, record, poses, row))
    row = table[0, layout.FIRST_INTERACTION]
    for _ in range(table[0, layout.INTERACTIONS]):
        for k in range(table[row, layout.ACT_PORTS]):
            i = table[row + 1 + k, layout.ELEMENT]
            if i > 0 and table[i, layout.LAW] >= 0:
                _subtract(table, record, moving, row + 1 + k, six(record, 0, loads_of(table, row) + 6 * k))
        row = next_interaction(table, row)
    return layout.OK


@helper
def _subtract(ints, law, work, row, wrench):
    """Subtract a wrench on the port at `row`, in the port's frame."""
    if ints[row, layout.PORT] >= 0:
        at = ints[row, layout.PORT] + layout.PORT_WRENCH
        put_six(law, 0, at, plus(six(law, 0, at), scaled(-1.0, wrench)))
    else:
        i = ints[row, layout.ELEMENT]
        put_six(work, i, layout.BIAS, plus(six(work, i, layout.BIAS), scaled(-1.0, wrench)))


@helper
def at_parent_port(ints, law, i):
    """Return the sum of the wrenches at general block i's ports, at its parent port."""
    total = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for p in range(ints[i, layout.PORT_COUNT]):
        if is_used(ints[i, layout.USED], p):
            port = ints[i, layout.LAW] + port_at(ints[i, layout.OWN], p)
            total = plus(total, carry_wrench(law, 0, port, six(law, 0, port + layout.PORT_WRENCH)))
    return total


# -- what wrenches on ports do along the coordinates: carried from the port to the world, whatever else the system has


@helper
def push_element(ints, floats, law, work, i, wrench, efforts):
    """Add what a wrench on element i, in its frame, does along all coordinates to `efforts` (nv)."""
    while i > 0:
        along_joint(ints, floats, i, wrench, efforts, ints[i, layout.V])
        p = ints[i, layout.PARENT]
        if p > 0:
            wrench = carry_wrench(work, i, layout.R, wrench)
            if law is not None:
                if ints[i, layout.PORT] >= 0:
                    port_effort(ints, law, i, p, wrench, efforts)
                    wrench = carry_wrench(law, 0, ints[i, layout.PORT], wrench)
        i = p


@helper
def push_port(ints, floats, law, work, row, wrench, efforts):
    """Add what a wrench on the port at `row`, in its frame, does along all coordinates to `efforts` (nv)."""
    i = ints[row, layout.ELEMENT]
    if law is not None:
        if ints[i, layout.LAW] >= 0:
            if ints[row, layout.PORT] >= 0:
                port_effort(ints, law, row, i, wrench, efforts)
                wrench = carry_wrench(law, 0, ints[row, layout.PORT], wrench)
            push_element(ints, floats, law, work, i, wrench, efforts)
            return
    push_element(ints, floats, law, work, i, carry_wrench(floats, row, layout.R, wrench), efforts)


@helper
def push_by_interaction(ints, floats, law, work, row, loads, o, efforts):
    """Add what an interaction's answer, at ``loads[0, o]``, does along all coordinates to `efforts` (nv)."""
    ports = ints[row, layout.ACT_PORTS]
    for k in range(ports):
        push_port(ints, floats, law, work, row + 1 + k, six(loads, 0, o + 6 * k), efforts)
    for k in range(ints[row, layout.ACT_COORDINATES]):
        efforts[ints[row + 1 + ports + k, layout.V]] += loads[0, o + 6 * ports + k]


@helper
def push_by_surroundings(ints, floats, law, work, i, efforts):
    """Add what acts on general block i because of its motion and pose to `efforts` (nv)."""
    o = ints[i, layout.APPLIED]
    push_element(ints, floats, law, work, i, six(law, 0, o), efforts)
    for j in range(ints[i, layout.OWN]):
        efforts[ints[i, layout.OWN_V] + j] += law[0, o + 6 + j]


@helper
def answer_at(ints, row):
    """Return where the answer of the interaction at `row` stands in ``law``, and how many numbers it has."""
    return loads_of(ints, row), 6 * ints[row, layout.ACT_PORTS] + ints[row, layout.ACT_COORDINATES]
