"""What series keep: columns of rows, of which an element has one for each order, behind each other.

Where orders follow each other at one element, as in inverse dynamics, elements that nobody asks for any more hand their rows of
motions and states on. Where elements follow each other at one order, one row of states for each element is enough.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import part_of
from titop.solvers.native.kernel import helper, shared

# -- joints
WRENCH = 0  # what the joint carries, in the element's frame (6)
COS = 6  # of the angle that it has turned by
SIN = 7
JOINT_COLUMNS = 8

# -- motions
OMEGA = 0  # w, in the element's frame (3)
BASE_OMEGA = 3  # of e, in the frame of the beginning, x and y; for joints that turn about z
BASE_ACC = 5  # and of y
MOTION_COLUMNS = 8

# -- states, in the element's frame
ACC = 0  # A: acceleration of the origin less gravity's, and dw/dt (6)
SPIN = 6  # S^2: xx, yy, zz, xy, xz, yz
STATE_COLUMNS = 12

# -- shifts, in the frame of the beginning, for joints that shift along z
COLUMN = 0  # what a unit of shift adds to y (3)
TURNED = 3  # the force that the joint carries, x and y
SHIFT_COLUMNS = 5

# -- groups: spherical and free joints, in the frame of the beginning
TURN = 0  # E (9)
SHIFT = 9  # the way from the first origin (3)
GROUP_OMEGA = 12  # e (3)
GROUP_ACC = 15  # y (3)
GROUP_SPIN = 18  # S^2 of the parent (6)
FORCE = 24  # that the joint carries (3)
GROUP_COLUMNS = 27

# -- work: rows of elements
INVERSE_WORK = layout.P + 3  # poses at the beginning alone
DRIFT = layout.TWIST  # what lower orders add to A (6), where twists stand otherwise
ACC_KNOWN = layout.ACC  # and to y, with zeros behind it, where accelerations stand otherwise
FORWARD_WORK = layout.FORWARD_COLUMNS


#: Where the kinds of columns stand.
Rooms = namedtuple("Rooms", "joints motions states shifts groups")


@shared
def series_rooms(ints, orders, kept, states, q):
    """Return rooms for so many orders: joints, motions of `kept` elements, rows of `states`, shifts, groups.

    They are parts of one: memory in one piece is not given back to the system between calls.
    """
    rows, moving, groups = ints[0, layout.ELEMENTS] * orders, kept * orders, ints[0, layout.MULTIS] * orders
    first = rows * JOINT_COLUMNS
    second = first + moving * MOTION_COLUMNS
    third = second + states * STATE_COLUMNS
    fourth = third + rows * SHIFT_COLUMNS
    whole = np.empty(fourth + groups * GROUP_COLUMNS, q.dtype)
    return Rooms(
        part_of(whole, 0, (rows, JOINT_COLUMNS)),
        part_of(whole, first, (moving, MOTION_COLUMNS)),
        part_of(whole, second, (states, STATE_COLUMNS)),
        part_of(whole, third, (rows, SHIFT_COLUMNS)),
        part_of(whole, fourth, (groups, GROUP_COLUMNS)),
    )


@shared
def places(ints):
    """Return each element's place among those that are kept at a time, and how many that are.

    A place is taken again behind the last child of its element; loads in the inertial frame ask for all.
    """
    count = ints[0, layout.ELEMENTS]
    place, waiting, free = np.empty(count, np.int64), np.zeros(count, np.int64), np.empty(count, np.int64)
    for i in range(1, count):
        waiting[ints[i, layout.PARENT]] += 1
    place[0], kept, left = 0, 1, 0
    for i in range(1, count):
        if left > 0:
            left -= 1
            place[i] = free[left]
        else:
            place[i] = kept
            kept += 1
        p = ints[i, layout.PARENT]
        waiting[p] -= 1
        if ints[0, layout.INERTIAL_LOADS] == 0:
            if p > 0 and waiting[p] == 0:
                free[left] = place[p]
                left += 1
            if waiting[i] == 0:
                free[left] = place[i]
                left += 1
    return place, kept


@helper
def joint_of(ints, floats, i):
    """Return kind, first rate, motion along and motion about z of element i's joint; the latter are zero without an axis."""
    if ints[i, layout.KIND] == layout.AXIAL:
        return ints[i, layout.KIND], ints[i, layout.V], floats[i, layout.LINEAR], floats[i, layout.ANGULAR]
    return ints[i, layout.KIND], ints[i, layout.V], 0.0, 0.0


@helper
def group_row(ints, i, orders):
    """Return the first row of element i's joint among the groups."""
    return ints[i, layout.MULTI] * orders


@helper
def counted(row):
    """Return a row that is counted from the first one: compiled code does not look whether it counts from the last."""
    return np.uint64(row)
