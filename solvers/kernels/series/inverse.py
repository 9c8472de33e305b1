"""Inverse dynamics series: motions outwards and wrenches inwards, all orders of an element at once."""

from __future__ import annotations

from titop.solvers.kernels.interface.layout import ELEMENTS, MASS, OK, R
from titop.solvers.kernels.series.coefficients import add_passive
from titop.solvers.kernels.series.drifts import keep_force, turning_wrench
from titop.solvers.kernels.series.loads import load_rooms, start_loads, subtract_loads
from titop.solvers.kernels.series.motions import (
    carried_acceleration,
    prepare,
    put_acceleration,
    spin_wrench,
    start_motion,
    start_world,
)
from titop.solvers.kernels.series.rooms import JOINT_COLUMNS, WRENCH, counted, joint_of, rooms, rows_of
from titop.solvers.kernels.spatial.algebra import add_six, carry_wrench, plus, put_six, rigid_momentum, six
from titop.solvers.kernels.tree.joints import along_joint, armature_effort, move, place
from titop.solvers.native.kernel import AllocatingHelper, helper


@AllocatingHelper
def inverse_series(ints, floats, changes, q, rates, accelerations, work, efforts):
    """Write the coefficients of efforts (orders - 1, nv) from those of rates (orders, nv) and accelerations; return a status.

    `changes` is as in `loads`.
    """
    orders, last = rates.shape[0], rates.shape[0] - 1
    motions, joints, groups, bases = rooms(ints, orders, 1)
    world, pulls = load_rooms(ints, orders)
    start_world(floats, orders, motions)
    for i in range(1, ints[0, ELEMENTS]):
        status = place(ints, floats, i, q, work)
        if status != OK:
            return status
        _outward(ints, floats, i, last, rates, accelerations, work, motions, bases, joints, groups)
    start_loads(ints, floats, changes, orders, work, world, pulls)
    for k in range(last):
        subtract_loads(ints, floats, k, orders, motions, pulls, joints, orders * JOINT_COLUMNS, k * JOINT_COLUMNS + WRENCH)
        for j in range(efforts.shape[1]):
            efforts[k, j] = 0.0
        add_passive(ints, floats, q, k, rates, -1.0, efforts)
    for i in range(ints[0, ELEMENTS] - 1, 0, -1):
        _inward(ints, floats, i, last, rates, accelerations, work, bases, joints, groups, efforts)
    return OK


@helper
def _outward(ints, floats, i, last, rates, accelerations, work, motions, bases, joints, groups):
    """Write the motion of element i, and what moves its body alone."""
    joint, rows = joint_of(ints, floats, i), rows_of(ints, i, last + 1, 0)
    start_motion(ints, floats, i, joint, rows, rates, work, motions, bases, joints, groups)
    for k in range(last):
        drift = prepare(i, joint, rows, k, rates, work, motions, bases, joints, groups)
        carried = carried_acceleration(i, joint, rows, k, work, motions, bases, groups)
        acceleration = move(ints, floats, i, plus(carried, drift), accelerations[k], joint[1])
        put_acceleration(rows[0], k, acceleration, motions)
        at = counted(rows[0] + k)
        put_six(joints, at, WRENCH, plus(rigid_momentum(floats, i, MASS, acceleration), spin_wrench(floats, i, at, motions)))


@helper
def _inward(ints, floats, i, last, rates, accelerations, work, bases, joints, groups, efforts):
    """Write the efforts of element i's joint, and hand its wrench to the parent."""
    joint, rows = joint_of(ints, floats, i), rows_of(ints, i, last + 1, 0)
    for k in range(last):
        wrench = six(joints, counted(rows[0] + k), WRENCH)
        along_joint(ints, floats, i, wrench, efforts[k], joint[1])
        armature_effort(ints, floats, i, accelerations[k], efforts[k], joint[1])
        if rows[2] > 0:
            turning = turning_wrench(joint, rows, k, rates, bases, joints, groups)
            keep_force(joint, rows, k, bases, joints, groups)
            add_six(joints, counted(rows[2] + k), WRENCH, carry_wrench(work, i, R, plus(wrench, turning)))
