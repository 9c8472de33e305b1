"""Spherical and free joints as series: what they have turned and shifted by since the beginning, and their `drifts`."""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.series.rooms import (
    COS,
    FORCE,
    GROUP_ACC,
    GROUP_OMEGA,
    GROUP_SPIN,
    OMEGA,
    SHIFT,
    SIN,
    SPIN,
    TURN,
    WRENCH,
    counted,
)
from titop.solvers.kernels.spatial.algebra import cross, rotate, rotate_back
from titop.solvers.native.kernel import helper


@helper
def turn_group(free, v, row, k, share, rates, groups):
    """Write order k of E and, for a free joint, of the shift, from lower orders; `share` is 1 / k."""
    for c in range(12):
        groups[row + k, TURN + c] = 0.0
    if k == 0:
        groups[row, TURN] = groups[row, TURN + 4] = groups[row, TURN + 8] = 1.0
        return
    angular = v + 3 if free else v
    for j in range(k):
        m = k - 1 - j
        for line in range(0, 9, 3):
            x, y, z = groups[row + j, TURN + line], groups[row + j, TURN + line + 1], groups[row + j, TURN + line + 2]
            dx, dy, dz = cross(x, y, z, rates[m, angular], rates[m, angular + 1], rates[m, angular + 2])
            groups[row + k, TURN + line] += dx
            groups[row + k, TURN + line + 1] += dy
            groups[row + k, TURN + line + 2] += dz
        if free:
            dx, dy, dz = rotate(groups, row + j, TURN, rates[m, v], rates[m, v + 1], rates[m, v + 2])
            groups[row + k, SHIFT] += dx
            groups[row + k, SHIFT + 1] += dy
            groups[row + k, SHIFT + 2] += dz
    for c in range(12):
        groups[row + k, TURN + c] *= share


@helper
def turned_back(groups, row, first, last, k, column):
    """Return the sum of ``E_j^T x_(k - j)`` for j from `first` to before `last`, x in a `column` of the group."""
    x, y, z = 0.0, 0.0, 0.0
    for j in range(first, last):
        m = row + k - j
        dx, dy, dz = rotate_back(groups, row + j, TURN, groups[m, column], groups[m, column + 1], groups[m, column + 2])
        x, y, z = x + dx, y + dy, z + dz
    return x, y, z


@helper
def turned(groups, row, k, vectors, at, column):
    """Return the sum of ``E_j x_(k - j)`` for j > 0, x_0 at ``vectors[at, column]``."""
    x, y, z = 0.0, 0.0, 0.0
    for j in range(1, k + 1):
        m = at + k - j
        dx, dy, dz = rotate(groups, row + j, TURN, vectors[m, column], vectors[m, column + 1], vectors[m, column + 2])
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
        joints[at, COS], joints[at, SIN] = 1.0, 0.0
        return
    if angular != 0.0:
        for j in range(k):
            rate, n = rates[counted(k - 1 - j), v], counted(row + j)
            c -= rate * joints[n, SIN]
            s += rate * joints[n, COS]
    share = angular * share
    joints[at, COS], joints[at, SIN] = share * c, share * s


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
        ax, ay, az = turned_back(groups, group, 1, k + 2, k + 1, GROUP_OMEGA)
    if k > 0:  # the world's y has one order alone
        x, y, z = turned_back(groups, group, 1 if hangs else k, k + 1, k, GROUP_ACC)
    if free:  # (w + E^T e) x v, and E^T e = w - the joint's own
        for j in range(k + 1):
            m, w = k - j, motion + j
            ox = 2.0 * motions[w, OMEGA] - rates[j, v + 3]
            oy = 2.0 * motions[w, OMEGA + 1] - rates[j, v + 4]
            oz = 2.0 * motions[w, OMEGA + 2] - rates[j, v + 5]
            dx, dy, dz = cross(ox, oy, oz, rates[m, v], rates[m, v + 1], rates[m, v + 2])
            x, y, z = x + dx, y + dy, z + dz
    return x, y, z, (k + 1) * ax, (k + 1) * ay, (k + 1) * az


@helper
def shifted_group(rows, k, groups):
    """Return order k of what a shift s adds to y by lower orders: ``S^2 s + de/dt x s``."""
    x, y, z = 0.0, 0.0, 0.0
    if rows[3]:
        for j in range(k):
            m, b, e, rate = rows[2] + k - j, rows[2] + j, rows[2] + j + 1, j + 1.0
            sx, sy, sz = groups[m, SHIFT], groups[m, SHIFT + 1], groups[m, SHIFT + 2]
            dx, dy, dz = cross(groups[e, GROUP_OMEGA], groups[e, GROUP_OMEGA + 1], groups[e, GROUP_OMEGA + 2], sx, sy, sz)
            x += rate * dx + groups[b, GROUP_SPIN] * sx + groups[b, GROUP_SPIN + 3] * sy + groups[b, GROUP_SPIN + 4] * sz
            y += rate * dy + groups[b, GROUP_SPIN + 3] * sx + groups[b, GROUP_SPIN + 1] * sy + groups[b, GROUP_SPIN + 5] * sz
            z += rate * dz + groups[b, GROUP_SPIN + 4] * sx + groups[b, GROUP_SPIN + 5] * sy + groups[b, GROUP_SPIN + 2] * sz
    return x, y, z


@helper
def arrive_group(rows, k, share, carried, groups):
    """Keep order k of y and order k + 1 of e."""
    at = rows[2] + k
    for c in range(3):
        groups[at, GROUP_ACC + c] = carried[c]
        groups[at + 1, GROUP_OMEGA + c] = share * carried[3 + c]


@helper
def keep_group_spin(i, rows, k, parent, work, states, groups):
    """Write S^2 of the parent in the element's first frame."""
    if not rows[3]:
        return
    at = rows[2] + k
    xx, yy, zz = states[parent, SPIN], states[parent, SPIN + 1], states[parent, SPIN + 2]
    xy, xz, yz = states[parent, SPIN + 3], states[parent, SPIN + 4], states[parent, SPIN + 5]
    a = rotate_back(work, i, layout.R, xx, xy, xz)  # rows of S^2 R
    b = rotate_back(work, i, layout.R, xy, yy, yz)
    c = rotate_back(work, i, layout.R, xz, yz, zz)
    x = rotate_back(work, i, layout.R, a[0], b[0], c[0])
    y = rotate_back(work, i, layout.R, a[1], b[1], c[1])
    z = rotate_back(work, i, layout.R, a[2], b[2], c[2])
    groups[at, GROUP_SPIN], groups[at, GROUP_SPIN + 1], groups[at, GROUP_SPIN + 2] = x[0], y[1], z[2]
    groups[at, GROUP_SPIN + 3], groups[at, GROUP_SPIN + 4], groups[at, GROUP_SPIN + 5] = x[1], x[2], y[2]


@helper
def group_wrench(free, rows, k, joints, groups):
    """Return order k of what lower orders of the joint's wrench add to it in the element's first frame."""
    joint, _, group, _ = rows
    fx, fy, fz = turned(groups, group, k, joints, joint, WRENCH)
    tx, ty, tz = turned(groups, group, k, joints, joint, WRENCH + 3)
    if free:
        groups[group + k, FORCE], groups[group + k, FORCE + 1], groups[group + k, FORCE + 2] = fx, fy, fz
        for j in range(1, k + 1):
            s, f = group + j, group + k - j
            force = groups[f, FORCE], groups[f, FORCE + 1], groups[f, FORCE + 2]
            dx, dy, dz = cross(groups[s, SHIFT], groups[s, SHIFT + 1], groups[s, SHIFT + 2], force[0], force[1], force[2])
            tx, ty, tz = tx + dx, ty + dy, tz + dz
    return fx, fy, fz, tx, ty, tz


@helper
def keep_group_force(rows, k, joints, groups):
    """Complete order k of the force that a free joint carries in the element's first frame."""
    for c in range(3):
        groups[rows[2] + k, FORCE + c] += joints[rows[0] + k, WRENCH + c]
