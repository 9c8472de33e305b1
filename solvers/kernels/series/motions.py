"""Motions of the elements order by order: what lower orders of a joint's turn and shift add to them and to the wrench that it
carries, and what bodies take because they spin.

`rows` are the first rows of an element: of its joint and shift, its motion, and its group, -1 where that hangs on the world.
"""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.series import rooms
from titop.solvers.kernels.series.groups import (
    arrive_group,
    group_wrench,
    keep_group_force,
    keep_group_spin,
    shift_of,
    shifted_group,
    turn_on,
    turning_group,
)
from titop.solvers.kernels.series.rooms import counted
from titop.solvers.kernels.spatial.algebra import put_six, put_three, rotate_back, six, three
from titop.solvers.kernels.tree.joints import move
from titop.solvers.native.kernel import helper


@helper
def symmetric_times(t, i, o, x, y, z):
    """Return the product of a symmetric matrix (xx, yy, zz, xy, xz, yz at ``t[i, o]``) and a vector."""
    return (
        t[i, o] * x + t[i, o + 3] * y + t[i, o + 4] * z,
        t[i, o + 3] * x + t[i, o + 1] * y + t[i, o + 5] * z,
        t[i, o + 4] * x + t[i, o + 5] * y + t[i, o + 2] * z,
    )


@helper
def plus3(x, y):
    """Return a dual vector y with a vector x added to its linear part."""
    return x[0] + y[0], x[1] + y[1], x[2] + y[2], y[3], y[4], y[5]


@helper
def spun(i, joint, rows, k, parent, work, kept):
    """Return ``S^2 p`` of element i's parent, whose state is in the row `parent`, in its frame; keep S^2 for shifts."""
    if joint[2] != 0.0:
        z = work[i, layout.R + 2], work[i, layout.R + 5], work[i, layout.R + 8]
        along = symmetric_times(kept.states, parent, rooms.SPIN, *z)
        put_three(kept.shifts, rows[0] + k, rooms.COLUMN, rotate_back(work, i, layout.R, *along))
    elif joint[0] == layout.FREE:
        keep_group_spin(i, rows, k, parent, work, kept.states, kept.groups)
    return symmetric_times(kept.states, counted(parent), rooms.SPIN, *three(work, i, layout.P))


@helper
def shifted(joint, rows, k, rates, kept):
    """Return order k of what the joint's shift adds to y by lower orders."""
    if joint[2] != 0.0:
        return _shifted_axis(joint[2], joint[1], rows, k, rates, kept.motions, kept.shifts)
    if joint[0] == layout.FREE:
        return shifted_group(rows, k, kept.groups)
    return 0.0, 0.0, 0.0


@helper
def _shifted_axis(linear, v, rows, k, rates, motions, shifts):
    """Return what a shift s along z adds to y: ``s column + 2 ds/dt (e x z)``."""
    x, y, z = 0.0, 0.0, 0.0
    for j in range(k + 1):
        rate = 2.0 * linear * rates[k - j, v]
        x += rate * motions[rows[1] + j, rooms.BASE_OMEGA + 1]
        y -= rate * motions[rows[1] + j, rooms.BASE_OMEGA]
    for j in range(k):
        s, column = shift_of(linear, v, k - j, rates), three(shifts, rows[0] + j, rooms.COLUMN)
        x, y, z = x + s * column[0], y + s * column[1], z + s * column[2]
    return x, y, z


@helper
def turning(joint, rows, k, rates, kept):
    """Return order k of what lower orders of y and e add to A as the joint turns."""
    (kind, v, _, angular), joints, motions = joint, kept.joints, kept.motions
    if kind == layout.SPHERICAL or kind == layout.FREE:
        return turning_group(kind == layout.FREE, v, rows, k, rates, motions, kept.groups)
    if angular == 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    base = rows[1]
    n, after = counted(rows[0] + k + 1), counted(base)
    c, s = joints[n, rooms.COS], joints[n, rooms.SIN]
    ex, ey = motions[after, rooms.BASE_OMEGA], motions[after, rooms.BASE_OMEGA + 1]
    x, y, ax, ay = 0.0, 0.0, c * ex + s * ey, c * ey - s * ex
    for j in range(1, k + 1):
        n, m, after = counted(rows[0] + j), counted(base + k - j), counted(base + k + 1 - j)
        c, s = joints[n, rooms.COS], joints[n, rooms.SIN]
        ex, ey = motions[after, rooms.BASE_OMEGA], motions[after, rooms.BASE_OMEGA + 1]
        ax, ay = ax + (c * ex + s * ey), ay + (c * ey - s * ex)
        bx, by = motions[m, rooms.BASE_ACC], motions[m, rooms.BASE_ACC + 1]
        x, y = x + (c * bx + s * by), y + (c * by - s * bx)
    return x, y, 0.0, (k + 1) * ax, (k + 1) * ay, 0.0


@helper
def arrive(joint, rows, k, share, carried, kept):
    """Keep order k of y and, order k + 1 of e being a `share` 1 / (k + 1) of its rate, that: ``[y; de/dt]`` is `carried`."""
    if joint[0] == layout.SPHERICAL or joint[0] == layout.FREE:
        arrive_group(rows, k, share, carried, kept.groups)
        return
    motions, shifts, at, after = kept.motions, kept.shifts, counted(rows[1] + k), counted(rows[1] + k + 1)
    motions[at, rooms.BASE_ACC], motions[at, rooms.BASE_ACC + 1] = carried[0], carried[1]
    motions[after, rooms.BASE_OMEGA], motions[after, rooms.BASE_OMEGA + 1] = share * carried[3], share * carried[4]
    if joint[2] != 0.0:  # S^2 z + de/dt x z
        shifts[rows[0] + k, rooms.COLUMN] += carried[4]
        shifts[rows[0] + k, rooms.COLUMN + 1] -= carried[3]


@helper
def turning_wrench(joint, rows, k, rates, kept):
    """Return order k of what lower orders of a joint's wrench add to it in the element's first frame."""
    (kind, v, linear, angular), joints, shifts = joint, kept.joints, kept.shifts
    if kind == layout.SPHERICAL or kind == layout.FREE:
        return group_wrench(kind == layout.FREE, rows, k, joints, kept.groups)
    fx, fy, tx, ty = 0.0, 0.0, 0.0, 0.0
    if angular != 0.0:
        for j in range(1, k + 1):
            n, m = counted(rows[0] + j), counted(rows[0] + k - j)
            c, s = joints[n, rooms.COS], joints[n, rooms.SIN]
            x, y = joints[m, rooms.WRENCH], joints[m, rooms.WRENCH + 1]
            fx, fy = fx + (c * x - s * y), fy + (s * x + c * y)
            x, y = joints[m, rooms.WRENCH + 3], joints[m, rooms.WRENCH + 4]
            tx, ty = tx + (c * x - s * y), ty + (s * x + c * y)
    if linear != 0.0:
        shifts[rows[0] + k, rooms.TURNED], shifts[rows[0] + k, rooms.TURNED + 1] = fx, fy
        for j in range(1, k + 1):
            s, m = shift_of(linear, v, j, rates), rows[0] + k - j
            tx -= s * shifts[m, rooms.TURNED + 1]
            ty += s * shifts[m, rooms.TURNED]
    return fx, fy, 0.0, tx, ty, 0.0


@helper
def keep_force(joint, rows, k, kept):
    """Complete order k of the force that a joint carries in the element's first frame, where its shift needs that."""
    if joint[2] != 0.0:
        for r in range(2):
            kept.shifts[rows[0] + k, rooms.TURNED + r] += kept.joints[rows[0] + k, rooms.WRENCH + r]
    elif joint[0] == layout.FREE:
        keep_group_force(rows, k, kept.joints, kept.groups)


@helper
def start_world(floats, orders, kept, several):
    """Write the world's motion: at rest, and accelerated against gravity; states of all orders if it has `several`."""
    for k in range(orders):
        for c in range(rooms.MOTION_COLUMNS):
            kept.motions[k, c] = 0.0
    for k in range(orders if several else 1):
        for c in range(rooms.STATE_COLUMNS):
            kept.states[k, c] = 0.0
    x, y, z = three(floats, 0, layout.GRAVITY)
    put_three(kept.states, 0, rooms.ACC, (-x, -y, -z))


@helper
def start_motion(i, joint, rows, parent, rates, work, tables, kept):
    """Write angular velocity and turn of element i at the beginning; `parent` is the first row of its parent's motion."""
    (kind, v, _, _), motions, at = joint, kept.motions, counted(rows[1])
    x, y, z = rotate_back(work, i, layout.R, *three(motions, parent, rooms.OMEGA))
    moved = move(*tables, i, (0.0, 0.0, 0.0, x, y, z), rates[0], v)
    put_three(motions, at, rooms.OMEGA, (moved[3], moved[4], moved[5]))
    motions[at, rooms.BASE_OMEGA], motions[at, rooms.BASE_OMEGA + 1] = x, y
    if kind == layout.SPHERICAL or kind == layout.FREE:
        put_three(kept.groups, rows[2], rooms.GROUP_OMEGA, (x, y, z))
    turn_on(joint, rows, 0, 1.0, rates, kept.joints, kept.groups)


@helper
def turn_and_spin(joint, rows, k, share, state, rates, kept):
    """Write order k + 1 of the joint's turn, and into the row `state` order k of S^2; `share` is 1 / (k + 1)."""
    turn_on(joint, rows, k + 1, share, rates, kept.joints, kept.groups)
    motions, xx, yy, zz, xy, xz, yz = kept.motions, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range((k + 1) // 2):  # products of orders that differ stand there twice
        a, b = counted(rows[1] + j), counted(rows[1] + k - j)
        (x, y, z), (ox, oy, oz) = three(motions, a, rooms.OMEGA), three(motions, b, rooms.OMEGA)
        xx, yy, zz = xx + x * ox, yy + y * oy, zz + z * oz
        xy, xz, yz = xy + (x * oy + y * ox), xz + (x * oz + z * ox), yz + (y * oz + z * oy)
    xx, yy, zz = 2.0 * xx, 2.0 * yy, 2.0 * zz
    if k % 2 == 0:
        x, y, z = three(motions, counted(rows[1] + k // 2), rooms.OMEGA)
        xx, yy, zz, xy, xz, yz = xx + x * x, yy + y * y, zz + z * z, xy + x * y, xz + x * z, yz + y * z
    put_six(kept.states, counted(state), rooms.SPIN, (-yy - zz, -xx - zz, -xx - yy, xy, xz, yz))


@helper
def put_acceleration(rows, k, share, state, acceleration, kept):
    """Write order k of A into the row `state`, and order k + 1 of w; `share` is 1 / (k + 1)."""
    put_six(kept.states, counted(state), rooms.ACC, acceleration)
    turning = share * acceleration[3], share * acceleration[4], share * acceleration[5]
    put_three(kept.motions, counted(rows[1] + k + 1), rooms.OMEGA, turning)


@helper
def spin_wrench(floats, i, row, states):
    """Return what a body takes because it spins: ``[S^2 c; w x J w]``, c the first moment of mass, J the inertia."""
    fx, fy, fz = symmetric_times(states, row, rooms.SPIN, *three(floats, i, layout.MOMENT))
    jxx, jyy, jzz, jxy, jxz, jyz = six(floats, i, layout.INERTIA)
    sxx, syy, szz, sxy, sxz, syz = six(states, row, rooms.SPIN)
    return (
        fx,
        fy,
        fz,
        jxz * sxy - jxy * sxz + jyz * (syy - szz) + (jzz - jyy) * syz,
        jxy * syz - jyz * sxy + jxz * (szz - sxx) + (jxx - jzz) * sxz,
        jyz * sxz - jxz * syz + jxy * (sxx - syy) + (jyy - jxx) * sxy,
    )
