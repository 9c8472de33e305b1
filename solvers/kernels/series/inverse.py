"""Inverse dynamics series: motions outwards and wrenches inwards, all orders of an element at once."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.series.coefficients import add_passive
from titop.solvers.kernels.series.drifts import arrive, keep_force, plus3, shifted, spun, turning, turning_wrench
from titop.solvers.kernels.series.loads import load_rooms, start_loads, subtract_loads
from titop.solvers.kernels.series.motions import put_acceleration, spin_wrench, start_motion, start_world, turn_and_spin
from titop.solvers.kernels.series.rooms import ACC, JOINT_COLUMNS, WRENCH, counted, group_row, joint_of, places, rooms
from titop.solvers.kernels.spatial.algebra import add_six, carry_wrench, plus, put_six, rigid_momentum, six, transport
from titop.solvers.kernels.tree.joints import along_joint, armature_effort, move, place
from titop.solvers.native.kernel import helper, shared


@shared
def inverse_series(ints, floats, changes, q, rates, accelerations, work, efforts):
    """Write the coefficients of efforts (orders - 1, nv) from those of rates (orders, nv) and accelerations; return a status.

    `changes` is as in `loads`.
    """
    orders, last = rates.shape[0], rates.shape[0] - 1
    place_of, kept = places(ints)
    joints, motions, states, shifts, groups = rooms(ints, orders, kept, kept * orders)
    world, pulls = load_rooms(ints, orders)
    start_world(floats, orders, motions, states, True)
    shares = np.empty(last)
    for k in range(last):
        shares[k] = 1.0 / (k + 1)
    for i in range(1, ints[0, layout.ELEMENTS]):
        status = place(ints, floats, i, q, work)
        if status != layout.OK:
            return status
        own, parent = place_of[i] * orders, place_of[ints[i, layout.PARENT]] * orders
        _outward(ints, floats, i, shares, own, parent, rates, accelerations, work, joints, motions, states, shifts, groups)
    start_loads(ints, floats, changes, orders, work, world, pulls)
    for k in range(last):
        subtract_loads(ints, floats, k, orders, motions, pulls, joints, orders * JOINT_COLUMNS, k * JOINT_COLUMNS + WRENCH)
        for j in range(efforts.shape[1]):
            efforts[k, j] = 0.0
        add_passive(ints, floats, q, k, rates, -1.0, efforts)
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        _inward(ints, floats, i, last, rates, accelerations, work, joints, shifts, groups, efforts)
    return layout.OK


@helper
def _outward(ints, floats, i, shares, own, parent, rates, accelerations, work, joints, motions, states, shifts, groups):
    """Write the motion of element i, and what moves its body alone; `own` and `parent` are first rows of motions and states.

    `shares` are 1 / (k + 1) for all orders k.
    """
    joint, last = joint_of(ints, floats, i), shares.size
    rows = i * (last + 1), own, group_row(ints, i, last + 1), parent > 0
    start_motion(ints, floats, i, joint, rows, parent, rates, work, joints, motions, groups)
    for k in range(last):
        share, state, above, at = shares[counted(k)], counted(own + k), counted(parent + k), counted(rows[0] + k)
        turn_and_spin(joint, rows, k, share, state, rates, joints, motions, states, groups)
        b = plus3(spun(i, joint, rows, k, above, work, states, shifts, groups), six(states, above, ACC))
        carried = plus3(shifted(joint, rows, k, rates, motions, shifts, groups), transport(work, i, layout.R, b))
        arrive(joint, rows, k, share, carried, motions, shifts, groups)
        turned = plus(carried, turning(joint, rows, k, rates, joints, motions, groups))
        acceleration = move(ints, floats, i, turned, accelerations[k], joint[1])
        put_acceleration(rows, k, share, state, acceleration, motions, states)
        put_six(
            joints,
            at,
            WRENCH,
            plus(rigid_momentum(floats, i, layout.MASS, acceleration), spin_wrench(floats, i, state, states)),
        )


@helper
def _inward(ints, floats, i, last, rates, accelerations, work, joints, shifts, groups, efforts):
    """Write the efforts of element i's joint, and hand its wrench to the parent."""
    joint, parent = joint_of(ints, floats, i), ints[i, layout.PARENT] * (last + 1)
    rows = i * (last + 1), 0, group_row(ints, i, last + 1), parent > 0
    for k in range(last):
        wrench = six(joints, counted(rows[0] + k), WRENCH)
        along_joint(ints, floats, i, wrench, efforts[k], joint[1])
        armature_effort(ints, floats, i, accelerations[k], efforts[k], joint[1])
        if parent > 0:
            turned = turning_wrench(joint, rows, k, rates, joints, shifts, groups)
            keep_force(joint, rows, k, joints, shifts, groups)
            add_six(joints, counted(parent + k), WRENCH, carry_wrench(work, i, layout.R, plus(wrench, turned)))
