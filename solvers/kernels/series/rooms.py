"""What series keep: columns of rows, of which an element has one for each order, behind each other."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface.layout import (
    ANGULAR,
    AXIAL,
    ELEMENTS,
    FORWARD_COLUMNS,
    KIND,
    LINEAR,
    MULTI,
    MULTIS,
    PARENT,
    TWIST,
    P,
    V,
)
from titop.solvers.native.kernel import AllocatingHelper, helper

# -- motions, in the element's frame
ACC = 0  # A: acceleration of the origin less gravity's, and dw/dt (6)
OMEGA = 6  # w (3)
SPIN = 9  # S^2: xx, yy, zz, xy, xz, yz
MOTION_COLUMNS = 16

# -- joints
WRENCH = 0  # what the joint carries, in the element's frame (6)
COS = 6  # of the angle that it has turned by
SIN = 7
JOINT_COLUMNS = 8

# -- bases, in the frame that the element had at the beginning; inverse dynamics keep those of one element alone
BASE_OMEGA = 0  # e: the parent's w (3)
BASE_ACC = 3  # y (3)
COLUMN = 6  # of joints that shift along z: what a unit of shift adds to y (3)
TURNED = 9  # and the force that they carry, x and y
BASE_COLUMNS = 11

# -- groups: rows of spherical and free joints
TURN = 0  # E (9)
SHIFT = 9  # the way from the first origin, in the frame of the beginning (3)
BASE_SPIN = 12  # S^2 of the parent in that frame (6)
FORCE = 18  # the force that the joint carries in it (3)
GROUP_COLUMNS = 21

# -- work: rows of elements
INVERSE_WORK = P + 3  # poses at the beginning alone
DRIFT = TWIST  # what lower orders add to A (6), where twists stand otherwise
FORWARD_WORK = FORWARD_COLUMNS


@AllocatingHelper
def rooms(ints, orders, bases):
    """Return rooms for so many orders: of motions, joints and groups, and of the `bases` of so many elements."""
    motions, joints = (
        np.empty((ints[0, ELEMENTS] * orders, MOTION_COLUMNS)),
        np.empty((ints[0, ELEMENTS] * orders, JOINT_COLUMNS)),
    )
    return motions, joints, np.empty((ints[0, MULTIS] * orders, GROUP_COLUMNS)), np.empty((bases * orders, BASE_COLUMNS))


@helper
def joint_of(ints, floats, i):
    """Return kind, first rate, motion along and motion about z of element i's joint; the latter are zero without an axis."""
    if ints[i, KIND] == AXIAL:
        return ints[i, KIND], ints[i, V], floats[i, LINEAR], floats[i, ANGULAR]
    return ints[i, KIND], ints[i, V], 0.0, 0.0


@helper
def rows_of(ints, i, orders, base):
    """Return the first rows of element i, of its bases, of its parent (zero for the world), and of its group."""
    return i * orders, base, ints[i, PARENT] * orders, ints[i, MULTI] * orders


@helper
def counted(row):
    """Return a row that is counted from the first one: compiled code does not look whether it counts from the last."""
    return np.uint64(row)
