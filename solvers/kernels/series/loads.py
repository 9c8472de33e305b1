"""Wrenches on ports, order by order: features, which systems without loads do not wait for.

A load in the inertial frame turns against its element: by ``E^T``, ``dE/dt = E [w]``, E the element's turn since the beginning.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.laws.vectors import cross3
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, floats_at, ints_at
from titop.solvers.kernels.series import rooms
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    add_three,
    carry_wrench,
    plus,
    put_six,
    rotate_six_back,
    scaled,
    six,
    three,
)
from titop.solvers.kernels.tree.kinematics import world_poses
from titop.solvers.native.kernel import feature, helper, shared
from titop.solvers.native.signatures import INTEGER, STATE_AT, TABLE_AT

# -- rows of loads, one for each order
_PULL = 0  # the wrench at its port, in the frame that the element or, if inertial, its port's frame had at the beginning (6)
_TURN = 6  # E (9)
_COLUMNS = 15

_NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@shared
def load_rooms(ints, changes, orders, q):
    """Return rooms for the elements' poses in the inertial frame, for loads, and for `changes` as the state's numbers are."""
    elements = ints[0, layout.ELEMENTS] if ints[0, layout.INERTIAL_LOADS] and ints[0, layout.LOADS] > 0 else 0
    pulls = np.empty((ints[0, layout.LOADS] * orders, _COLUMNS), q.dtype)
    return np.empty((elements, 12), q.dtype), pulls, np.empty(changes.shape, q.dtype)


@helper
def start_loads(tables, changes, orders, work, world, pulls, own):
    """Write the coefficients of all loads.

    `changes` (orders x loads, 6) holds the last loads' wrenches with their derivatives, those of each behind each other;
    `own` is a room for them.
    """
    ints, floats = tables
    if ints[0, layout.LOADS] > 0:
        if ints[0, layout.INERTIAL_LOADS]:
            world_poses(ints, None, work, world)
        for n in range(changes.shape[0]):
            put_six(own, n, 0, six(changes, n, 0))
        given = address_of(ints, 0), ints.shape[0], address_of(floats, 0), address_of(own, 0), changes.shape[0], orders
        if load_coefficients((*given, address_of(world, 0), address_of(pulls, 0))) != layout.OK:
            pulls[:] = np.nan  # the reason waits for `callbacks.raise_pending`


@helper
def subtract_loads(tables, k, orders, motions, pulls, wrenches, columns, column):
    """Subtract order k of all loads from the wrenches that `wrenches`, a row of so many columns for each element, has there."""
    ints, floats = tables
    if ints[0, layout.LOADS] > 0:
        given = address_of(ints, 0), ints.shape[0], address_of(floats, 0), k, orders, address_of(motions, 0)
        if load_subtraction((*given, address_of(pulls, 0), address_of(wrenches, 0), columns, column)) != layout.OK:
            wrenches[:] = np.nan


@feature(INTEGER, INTEGER, TABLE_AT, STATE_AT, INTEGER, INTEGER, STATE_AT, STATE_AT)
def load_coefficients(ints, rows, floats, changes, change_rows, orders, world, pulls):
    """See `start_loads`."""
    table, own = ints_at(ints, rows, layout.INT_COLUMNS), floats_at(floats, rows, layout.FLOAT_COLUMNS)
    poses, into = floats_at(world, table[0, layout.ELEMENTS], 12), floats_at(pulls, table[0, layout.LOADS] * orders, _COLUMNS)
    _write_coefficients(table, own, floats_at(changes, change_rows, 6), change_rows, orders, poses, into)
    return layout.OK


@helper
def _write_coefficients(ints, floats, changes, change_rows, orders, world, pulls):
    loads, known = ints[0, layout.LOADS], orders - 1
    constant = loads - change_rows // known
    for n in range(loads):
        row = ints[0, layout.FIRST_LOAD] + n
        i, scale = ints[row, layout.ELEMENT], 1.0
        for k in range(known):
            scale /= max(k, 1)
            wrench = six(floats, row, layout.FORCE)
            if n >= constant:
                wrench = six(changes, (n - constant) * known + k, 0)
            elif k > 0:
                wrench = _NOTHING
            if ints[row, layout.INERTIAL]:
                wrench = rotate_six_back(world, i, 0, wrench)
            else:
                wrench = carry_wrench(floats, row, layout.R, wrench)
            put_six(pulls, n * orders + k, _PULL, scaled(scale, wrench))


@feature(INTEGER, INTEGER, TABLE_AT, INTEGER, INTEGER, STATE_AT, STATE_AT, STATE_AT, INTEGER, INTEGER)
def load_subtraction(ints, rows, floats, k, orders, motions, pulls, wrenches, columns, column):
    """See `subtract_loads`."""
    table, own = ints_at(ints, rows, layout.INT_COLUMNS), floats_at(floats, rows, layout.FLOAT_COLUMNS)
    count, loads = table[0, layout.ELEMENTS], table[0, layout.LOADS]
    moving, given = floats_at(motions, count * orders, rooms.MOTION_COLUMNS), floats_at(pulls, loads * orders, _COLUMNS)
    _subtract(table, own, k, orders, moving, given, floats_at(wrenches, count, columns), column)
    return layout.OK


@helper
def _subtract(ints, floats, k, orders, motions, pulls, wrenches, column):
    for n in range(ints[0, layout.LOADS]):
        row, at = ints[0, layout.FIRST_LOAD] + n, n * orders
        i = ints[row, layout.ELEMENT]
        if i == 0:
            continue
        wrench = six(pulls, at + k, _PULL)
        if ints[row, layout.INERTIAL]:
            _turn_load(at, i * orders, k, motions, pulls)
            fx, fy, fz, tx, ty, tz = _turned_back(at, k, pulls)
            cx, cy, cz = cross3(three(floats, row, layout.P), (fx, fy, fz))
            wrench = fx, fy, fz, tx + cx, ty + cy, tz + cz
        add_six(wrenches, i, column, scaled(-1.0, wrench))


@helper
def _turn_load(at, element, k, motions, pulls):
    """Write order k of E."""
    for c in range(9):
        pulls[at + k, _TURN + c] = 0.0
    if k == 0:
        pulls[at, _TURN] = pulls[at, _TURN + 4] = pulls[at, _TURN + 8] = 1.0
        return
    for j in range(k):
        m = element + k - 1 - j
        for o in range(_TURN, _TURN + 9, 3):
            x, y, z = cross3(three(pulls, at + j, o), three(motions, m, rooms.OMEGA))
            add_three(pulls, at + k, o, (x / k, y / k, z / k))


@helper
def _turned_back(at, k, pulls):
    """Return order k of ``E^T`` times the load."""
    total = _NOTHING
    for j in range(k + 1):
        total = plus(total, rotate_six_back(pulls, at + j, _TURN, six(pulls, at + k - j, _PULL)))
    return total
