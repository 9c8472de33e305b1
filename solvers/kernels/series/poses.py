"""The pose of a port as a series, along the path that carries it, and its twist."""

from __future__ import annotations

import numpy as np

from titop.blocks.laws.vectors import cross3
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.series import rooms
from titop.solvers.kernels.series.groups import shift_of, turn_on
from titop.solvers.kernels.series.rooms import joint_of
from titop.solvers.kernels.spatial.algebra import add_three, put_six, rotate, rotate_back, three
from titop.solvers.kernels.tree.joints import move, place
from titop.solvers.native.kernel import helper, shared

#: The column of the twist, behind rotation and position.
TWIST = 12
_NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@shared
def write_pose_series(ints, floats, i, q, rates, work, poses):
    """Turn coefficients of a pose in element i into those in the inertial frame, and add its twist; return a status.

    `poses` has one order more than the `rates`: rotation (9), position (3), twist (6).
    """
    orders = poses.shape[0]
    joints, moved = np.empty((orders, rooms.JOINT_COLUMNS), q.dtype), np.empty((orders - 1, 6), q.dtype)
    groups = np.empty((orders, rooms.GROUP_COLUMNS), q.dtype)
    while i > 0:
        status = place(ints, floats, i, q, work)
        if status != layout.OK:
            return status
        joint = joint_of(ints, floats, i)
        _add_twist(ints, floats, i, joint[1], rates, moved, poses)
        for k in range(orders):
            turn_on(joint, (0, 0, 0), k, 1.0 / max(k, 1), rates, joints, groups)
        for k in range(orders - 1, -1, -1):
            for first in (0, 1, 2, 9):  # columns of the rotation, and the position
                _carry(i, joint, k, first, rates, work, (joints, groups), poses)
        i = ints[i, layout.PARENT]
    return layout.OK


@helper
def _add_twist(ints, floats, i, v, rates, moved, poses):
    """Add the twist of element i's joint, seen from the pose in the element: ``[R^T (V + w x p); R^T w]``."""
    for k in range(rates.shape[0]):
        put_six(moved, k, 0, move(ints, floats, i, _NOTHING, rates[k], v))
    for k in range(rates.shape[0]):
        for j in range(k + 1):
            add_three(moved, k, 0, cross3(three(moved, j, 3), three(poses, k - j, 9)))
        for j in range(k + 1):
            add_three(poses, k, TWIST, rotate_back(poses, j, 0, *three(moved, k - j, 0)))
            add_three(poses, k, TWIST + 3, rotate_back(poses, j, 0, *three(moved, k - j, 3)))


@helper
def _carry(i, joint, k, first, rates, work, turns, poses):
    """Write order k of a vector in the frame of element i's parent; lower ones still stand in the element's."""
    (kind, v, linear, angular), (joints, groups), step = joint, turns, 1 if first == 9 else 3
    x, y, z = poses[k, first], poses[k, first + step], poses[k, first + 2 * step]
    if kind == layout.AXIAL:
        if angular != 0.0:
            x, y = 0.0 * x, 0.0 * y
            for j in range(k + 1):
                c, s = joints[j, rooms.COS], joints[j, rooms.SIN]
                dx, dy = poses[k - j, first], poses[k - j, first + step]
                x, y = x + (c * dx - s * dy), y + (s * dx + c * dy)
        if linear != 0.0 and step == 1 and k > 0:
            z += shift_of(linear, v, k, rates)
    elif kind == layout.SPHERICAL or kind == layout.FREE:
        x, y, z = 0.0 * x, 0.0 * y, 0.0 * z
        for j in range(k + 1):
            m = k - j
            turned = rotate(groups, j, rooms.TURN, poses[m, first], poses[m, first + step], poses[m, first + 2 * step])
            x, y, z = x + turned[0], y + turned[1], z + turned[2]
        if kind == layout.FREE and step == 1:
            x, y, z = x + groups[k, rooms.SHIFT], y + groups[k, rooms.SHIFT + 1], z + groups[k, rooms.SHIFT + 2]
    x, y, z = rotate(work, i, layout.R, x, y, z)
    if step == 1 and k == 0:
        x, y, z = x + work[i, layout.P], y + work[i, layout.P + 1], z + work[i, layout.P + 2]
    poses[k, first], poses[k, first + step], poses[k, first + 2 * step] = x, y, z
