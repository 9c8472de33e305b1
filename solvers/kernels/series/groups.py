"""Spherical and free joints as series: what they have turned and shifted by since the beginning, and what that adds."""

from __future__ import annotations

from titop.blocks.laws.vectors import cross3
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.series import rooms
from titop.solvers.kernels.series.rooms import counted
from titop.solvers.kernels.spatial.algebra import add_three, put_six, put_three, rotate, rotate_back, six, three
from titop.solvers.native.kernel import helper


@helper
def turn_group(free, v, row, k, share, rates, groups):
    """Write order k of E and, for a free joint, of the shift, from lower orders; `share` is 1 / k."""
    for c in range(12):
        groups[row + k, rooms.TURN + c] = 0.0
    if k == 0:
        groups[row, rooms.TURN] = groups[row, rooms.TURN + 4] = groups[row, rooms.TURN + 8] = 1.0
        return
    angular = v + 3 if free else v
    for j in range(k):
        m = k - 1 - j
        for line in range(0, 9, 3):
            at = rooms.TURN + line
            add_three(groups, row + k, at, cross3(three(groups, row + j, at), three(rates, m, angular)))
        if free:
            add_three(groups, row + k, rooms.SHIFT, rotate(groups, row + j, rooms.TURN, *three(rates, m, v)))
    for c in range(12):
        groups[row + k, rooms.TURN + c] *= share


@helper
def turned_back(groups, row, first, last, k, column):
    """Return the sum of ``E_j^T x_(k - j)`` for j from `first` to before `last`, x in a `column` of the group."""
    x, y, z = 0.0, 0.0, 0.0
    for j in range(first, last):
        dx, dy, dz = rotate_back(groups, row + j, rooms.TURN, *three(groups, row + k - j, column))
        x, y, z = x + dx, y + dy, z + dz
    return x, y, z


@helper
def turned(groups, row, k, vectors, at, column):
    """Return the sum of ``E_j x_(k - j)`` for j > 0, x_0 at ``vectors[at, column]``."""
    x, y, z = 0.0, 0.0, 0.0
    for j in range(1, k + 1):
        dx, dy, dz = rotate(groups, row + j, rooms.TURN, *three(vectors, at + k - j, column))
        x, y, z = x + dx, y + dy, z + dz
    return x, y, z


@helper
def turn_on(joint, rows, k, share, rates, joints, groups):
    """Write order k of what a joint has turned and shifted by, of lower orders of its rates; `share` is 1 / k."""
    kind, v, _, angular = joint
    if kind == layout.AXIAL:
        _turn_axis(angular, v, rows[0], k, share, rates, joints)
    elif kind == layout.SPHERICAL or kind == layout.FREE:
        turn_group(kind == layout.FREE, v, rows[2], k, share, rates, groups)


@helper
def _turn_axis(angular, v, row, k, share, rates, joints):
    """Cosine and sine: ``dc/dt = -s dq/dt``, ``ds/dt = c dq/dt``."""
    at, c, s = counted(row + k), 0.0, 0.0
    if k == 0:
        joints[at, rooms.COS], joints[at, rooms.SIN] = 1.0, 0.0
        return
    if angular != 0.0:
        for j in range(k):
            rate, n = rates[counted(k - 1 - j), v], counted(row + j)
            c -= rate * joints[n, rooms.SIN]
            s += rate * joints[n, rooms.COS]
    share = angular * share
    joints[at, rooms.COS], joints[at, rooms.SIN] = share * c, share * s


@helper
def shift_of(linear, v, k, rates):
    """Return order k > 0 of the shift of an axial joint along z."""
    return linear * rates[k - 1, v] / k


@helper
def turning_group(free, v, rows, k, rates, motions, groups):
    """Return order k of what lower orders of y and e, and a free joint's velocity, add to A."""
    _, motion, group, hangs = rows
    x, y, z, ax, ay, az = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if hangs:
        ax, ay, az = turned_back(groups, group, 1, k + 2, k + 1, rooms.GROUP_OMEGA)
    if k > 0:  # the world's y has one order alone
        x, y, z = turned_back(groups, group, 1 if hangs else k, k + 1, k, rooms.GROUP_ACC)
    if free:  # (w + E^T e) x v, and E^T e = w - the joint's own
        for j in range(k + 1):
            w, own = three(motions, motion + j, rooms.OMEGA), three(rates, j, v + 3)
            turn = 2.0 * w[0] - own[0], 2.0 * w[1] - own[1], 2.0 * w[2] - own[2]
            dx, dy, dz = cross3(turn, three(rates, k - j, v))
            x, y, z = x + dx, y + dy, z + dz
    return x, y, z, (k + 1) * ax, (k + 1) * ay, (k + 1) * az


@helper
def shifted_group(rows, k, groups):
    """Return order k of what a shift s adds to y by lower orders: ``S^2 s + de/dt x s``."""
    x, y, z = 0.0, 0.0, 0.0
    if rows[3]:
        for j in range(k):
            s, rate = three(groups, rows[2] + k - j, rooms.SHIFT), j + 1.0
            d = cross3(three(groups, rows[2] + j + 1, rooms.GROUP_OMEGA), s)
            xx, yy, zz, xy, xz, yz = six(groups, rows[2] + j, rooms.GROUP_SPIN)
            x += rate * d[0] + xx * s[0] + xy * s[1] + xz * s[2]
            y += rate * d[1] + xy * s[0] + yy * s[1] + yz * s[2]
            z += rate * d[2] + xz * s[0] + yz * s[1] + zz * s[2]
    return x, y, z


@helper
def arrive_group(rows, k, share, carried, groups):
    """Keep order k of y and order k + 1 of e."""
    put_three(groups, rows[2] + k, rooms.GROUP_ACC, (carried[0], carried[1], carried[2]))
    put_three(groups, rows[2] + k + 1, rooms.GROUP_OMEGA, (share * carried[3], share * carried[4], share * carried[5]))


@helper
def keep_group_spin(i, rows, k, parent, work, states, groups):
    """Write S^2 of the parent in the element's first frame."""
    if not rows[3]:
        return
    xx, yy, zz, xy, xz, yz = six(states, parent, rooms.SPIN)
    a = rotate_back(work, i, layout.R, xx, xy, xz)  # rows of S^2 R
    b = rotate_back(work, i, layout.R, xy, yy, yz)
    c = rotate_back(work, i, layout.R, xz, yz, zz)
    x = rotate_back(work, i, layout.R, a[0], b[0], c[0])
    y = rotate_back(work, i, layout.R, a[1], b[1], c[1])
    z = rotate_back(work, i, layout.R, a[2], b[2], c[2])
    put_six(groups, rows[2] + k, rooms.GROUP_SPIN, (x[0], y[1], z[2], x[1], x[2], y[2]))


@helper
def group_wrench(free, rows, k, joints, groups):
    """Return order k of what lower orders of the joint's wrench add to it in the element's first frame."""
    joint, _, group, _ = rows
    fx, fy, fz = turned(groups, group, k, joints, joint, rooms.WRENCH)
    tx, ty, tz = turned(groups, group, k, joints, joint, rooms.WRENCH + 3)
    if free:
        put_three(groups, group + k, rooms.FORCE, (fx, fy, fz))
        for j in range(1, k + 1):
            dx, dy, dz = cross3(three(groups, group + j, rooms.SHIFT), three(groups, group + k - j, rooms.FORCE))
            tx, ty, tz = tx + dx, ty + dy, tz + dz
    return fx, fy, fz, tx, ty, tz


@helper
def keep_group_force(rows, k, joints, groups):
    """Complete order k of the force that a free joint carries in the element's first frame."""
    add_three(groups, rows[2] + k, rooms.FORCE, three(joints, rows[0] + k, rooms.WRENCH))
