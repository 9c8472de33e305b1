"""What sensors read of a state whose motion, and wrenches if they are asked for, are known.

A table tells what to read, row by row: the columns below; beside it stand the port's pose in its element (12) and a factor.
"""

from __future__ import annotations

import math

import numpy as np

from titop.blocks.basics.choices import everywhere, select
from titop.blocks.basics.tolerances import CANCELLED
from titop.blocks.laws.central_field import field_acceleration, seen
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports.interactions import loads_of
from titop.solvers.kernels.ports.port_motion import acceleration_of, write_port_motion
from titop.solvers.kernels.spatial.algebra import cross, rotate_back, six
from titop.solvers.kernels.tree.subtree_sums import carry_back
from titop.solvers.native.kernel import helper

# -- columns
WHAT = 0  # below
AT = 1  # the element, the interaction's row, the place in q or v, the constraint, or the load's row from the last one on
READ_PORT = 2  # the port's place in `law`, or -1
PLACE = 3  # of the first number among all readings
AXES = 4  # of Euler angles: first + 3 second + 9 third
READING_COLUMNS = 5

# -- what to read
SPECIFIC_FORCE = 0
ANGULAR_VELOCITY = 1
POSE = 2  # position and Euler angles
COORDINATE = 3
RATE = 4  # times the factor
MOTION = 5  # acceleration, twist, position and Euler angles: see `Model.motion`
JOINT_WRENCH = 6  # and whatever follows asks for wrenches
ACTING_WRENCH = 7  # of an interaction on its second port
CLOSURE_WRENCH = 8  # of a rigid closure on a port: the load that stands for it
MULTIPLIER = 9  # of a constraint, times the factor

# -- beside it
FACTOR = 12
FRAME_COLUMNS = 13

#: Places in a port's motion.
_ROTATION, _TWIST = np.int64(0), np.int64(12)

#: In the lock by less than this (rad) the third Euler angle is zero.
_LOCKED = CANCELLED**0.5


@helper
def asks_for(what, first, last):
    """Tell whether one of the rows of the table asks for something from `first` to `last`."""
    asks = False
    for row in range(what.shape[0]):
        asks = asks or first <= what[row, WHAT] <= last
    return asks


@helper
def read_all(tables, state, work, what, frames, closed, rooms, result):
    """Write all readings into `result`; a pose (1, 12) and a motion (1, 24) are room.

    Of what is `closed`: the table with the closures' wrenches, and the multipliers of constraints, None without constraints.
    """
    ints, law, (loaded, multipliers), (pose, motion) = tables.ints, tables.law, closed, rooms
    for row in range(what.shape[0]):
        kind, at, o = what[row, WHAT], what[row, AT], what[row, PLACE]
        if kind == COORDINATE:
            result[o] = state.q[at]
        elif kind == RATE:
            result[o] = frames[row, FACTOR] * state.v[at]
        elif kind == JOINT_WRENCH:
            for k in range(12):
                pose[0, k] = frames[row, k]
            if law is not None:
                if what[row, READ_PORT] >= 0:
                    for k in range(12):
                        pose[0, k] = law[0, what[row, READ_PORT] + k]
            _write(result, o, carry_back(pose, 0, six(work, at, layout.BIAS)))
        elif kind == ACTING_WRENCH:
            if law is not None:
                _write(result, o, six(law, 0, loads_of(ints, at) + 6))
        elif kind == CLOSURE_WRENCH:
            if loaded is not None:
                _write(result, o, six(loaded, loaded.shape[0] + at, layout.FORCE))
        elif kind == MULTIPLIER:
            if multipliers is not None:
                result[o] = frames[row, FACTOR] * multipliers[at]
        else:
            for k in range(12):
                pose[0, k] = frames[row, k]
            write_port_motion(ints, law, work, at, what[row, READ_PORT], pose, motion)
            if kind == POSE:
                result[o], result[o + 1], result[o + 2] = motion[0, 9], motion[0, 10], motion[0, 11]
                result[o + 3], result[o + 4], result[o + 5] = euler_angles(motion, what[row, AXES])
            elif kind == MOTION:
                _write(result, o, acceleration_of(tables.floats, motion, False, False))
                _write(result, o + 6, six(motion, 0, _TWIST))
                x, y, z = rotate_back(motion, 0, _ROTATION, motion[0, 9], motion[0, 10], motion[0, 11])
                result[o + 12], result[o + 13], result[o + 14] = x, y, z
                result[o + 15], result[o + 16], result[o + 17] = euler_angles(motion, what[row, AXES])
            elif kind == ANGULAR_VELOCITY:
                for k in range(3):
                    result[o + k] = motion[0, 15 + k]
            else:
                x, y, z = cross(motion[0, 15], motion[0, 16], motion[0, 17], motion[0, 12], motion[0, 13], motion[0, 14])
                result[o], result[o + 1], result[o + 2] = motion[0, 18] + x, motion[0, 19] + y, motion[0, 20] + z
                if not everywhere(tables.floats[0, layout.FIELD] == 0.0):
                    field, place = seen(tables.floats, np.int64(layout.FIELD), motion, _ROTATION, (0.0, 0.0, 0.0))
                    g = field_acceleration(field, place)
                    for k in range(3):
                        result[o + k] -= g[k]


@helper
def _write(result, o, x):
    for k in range(6):
        result[o + k] = x[k]


@helper
def euler_angles(motion, axes):
    """Return the intrinsic Euler angles of the rotation at the head of `motion`; as `euler_angles` of models does."""
    i, j, k = axes % 3, axes // 3 % 3, axes // 9
    last = 3 - i - j
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    ii, ij, il = motion[0, 3 * i + i], motion[0, 3 * i + j], motion[0, 3 * i + last]
    ji, jj = motion[0, 3 * j + i], motion[0, 3 * j + j]
    li, lj, ll, jl = motion[0, 3 * last + i], motion[0, 3 * last + j], motion[0, 3 * last + last], motion[0, 3 * j + last]
    if i == k:
        away, along = math.hypot(ij, il), ii
        middle = math.atan2(away, along)
        first, third = math.atan2(ji, -sign * li), math.atan2(ij, sign * il)
    else:
        away, along = math.hypot(ii, ij), sign * il
        middle = math.atan2(along, away)
        first, third = math.atan2(-sign * jl, ll), math.atan2(-sign * ij, ii)
    locked = away < _LOCKED
    return select(locked, math.atan2(sign * lj, jj), first), middle, select(locked, 0.0, third)
