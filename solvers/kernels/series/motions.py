"""Motions of the elements, and what their bodies take because they spin, order by order."""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.series.drifts import symmetric_times
from titop.solvers.kernels.series.groups import turn_on
from titop.solvers.kernels.series.rooms import ACC, BASE_OMEGA, GROUP_OMEGA, MOTION_COLUMNS, OMEGA, SPIN, STATE_COLUMNS, counted
from titop.solvers.kernels.spatial.algebra import put_six, rotate_back, six
from titop.solvers.kernels.tree.joints import move
from titop.solvers.native.kernel import helper


@helper
def start_world(floats, orders, motions, states, several):
    """Write the world's motion: at rest, and accelerated against gravity; states of all orders if it has `several`."""
    for k in range(orders):
        for c in range(MOTION_COLUMNS):
            motions[k, c] = 0.0
    for k in range(orders if several else 1):
        for c in range(STATE_COLUMNS):
            states[k, c] = 0.0
    states[0, ACC] = -floats[0, layout.GRAVITY]
    states[0, ACC + 1] = -floats[0, layout.GRAVITY + 1]
    states[0, ACC + 2] = -floats[0, layout.GRAVITY + 2]


@helper
def start_motion(ints, floats, i, joint, rows, parent, rates, work, joints, motions, groups):
    """Write angular velocity and turn of element i at the beginning; `parent` is the first row of its parent's motion."""
    kind, v, _, _ = joint
    at = counted(rows[1])
    x, y, z = rotate_back(work, i, layout.R, motions[parent, OMEGA], motions[parent, OMEGA + 1], motions[parent, OMEGA + 2])
    moved = move(ints, floats, i, (0.0, 0.0, 0.0, x, y, z), rates[0], v)
    motions[at, OMEGA], motions[at, OMEGA + 1], motions[at, OMEGA + 2] = moved[3], moved[4], moved[5]
    motions[at, BASE_OMEGA], motions[at, BASE_OMEGA + 1] = x, y
    if kind == layout.SPHERICAL or kind == layout.FREE:
        groups[rows[2], GROUP_OMEGA], groups[rows[2], GROUP_OMEGA + 1], groups[rows[2], GROUP_OMEGA + 2] = x, y, z
    turn_on(joint, rows, 0, 1.0, rates, joints, groups)


@helper
def turn_and_spin(joint, rows, k, share, state, rates, joints, motions, states, groups):
    """Write order k + 1 of the joint's turn, and into the row `state` order k of S^2; `share` is 1 / (k + 1)."""
    turn_on(joint, rows, k + 1, share, rates, joints, groups)
    xx, yy, zz, xy, xz, yz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range((k + 1) // 2):  # products of orders that differ stand there twice
        a, b = counted(rows[1] + j), counted(rows[1] + k - j)
        x, y, z = motions[a, OMEGA], motions[a, OMEGA + 1], motions[a, OMEGA + 2]
        ox, oy, oz = motions[b, OMEGA], motions[b, OMEGA + 1], motions[b, OMEGA + 2]
        xx, yy, zz = xx + x * ox, yy + y * oy, zz + z * oz
        xy, xz, yz = xy + (x * oy + y * ox), xz + (x * oz + z * ox), yz + (y * oz + z * oy)
    xx, yy, zz = 2.0 * xx, 2.0 * yy, 2.0 * zz
    if k % 2 == 0:
        a = counted(rows[1] + k // 2)
        x, y, z = motions[a, OMEGA], motions[a, OMEGA + 1], motions[a, OMEGA + 2]
        xx, yy, zz, xy, xz, yz = xx + x * x, yy + y * y, zz + z * z, xy + x * y, xz + x * z, yz + y * z
    put_six(states, counted(state), SPIN, (-yy - zz, -xx - zz, -xx - yy, xy, xz, yz))


@helper
def put_acceleration(rows, k, share, state, acceleration, motions, states):
    """Write order k of A into the row `state`, and order k + 1 of w; `share` is 1 / (k + 1)."""
    after = counted(rows[1] + k + 1)
    put_six(states, counted(state), ACC, acceleration)
    motions[after, OMEGA] = share * acceleration[3]
    motions[after, OMEGA + 1] = share * acceleration[4]
    motions[after, OMEGA + 2] = share * acceleration[5]


@helper
def spin_wrench(floats, i, row, states):
    """Return what a body takes because it spins: ``[S^2 c; w x J w]``, c the first moment of mass, J the inertia."""
    fx, fy, fz = symmetric_times(
        states, row, SPIN, floats[i, layout.MOMENT], floats[i, layout.MOMENT + 1], floats[i, layout.MOMENT + 2]
    )
    jxx, jyy, jzz, jxy, jxz, jyz = six(floats, i, layout.INERTIA)
    sxx, syy, szz, sxy, sxz, syz = six(states, row, SPIN)
    return (
        fx,
        fy,
        fz,
        jxz * sxy - jxy * sxz + jyz * (syy - szz) + (jzz - jyy) * syz,
        jxy * syz - jyz * sxy + jxz * (szz - sxx) + (jxx - jzz) * sxz,
        jyz * sxz - jxz * syz + jxy * (sxx - syy) + (jyy - jxx) * sxy,
    )
