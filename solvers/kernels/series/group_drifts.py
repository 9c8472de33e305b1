"""What `drifts` are for spherical and free joints."""

from __future__ import annotations

from titop.solvers.kernels.interface.layout import R
from titop.solvers.kernels.series.group_turns import turned, turned_back
from titop.solvers.kernels.series.rooms import BASE_ACC, BASE_OMEGA, BASE_SPIN, FORCE, OMEGA, SHIFT, SPIN, WRENCH
from titop.solvers.kernels.spatial.algebra import cross, rotate_back
from titop.solvers.native.kernel import helper


@helper
def group_drift(free, v, rows, k, rates, motions, bases, groups, x, y, z):
    """Return order k of what lower orders add to A of an element; write that part of y, which is (x, y, z) but for shifts."""
    row, base, parent, group = rows
    if free and parent > 0:
        x, y, z = _swinging(base, group, k, bases, groups, x, y, z)
    bases[base + k, BASE_ACC], bases[base + k, BASE_ACC + 1], bases[base + k, BASE_ACC + 2] = x, y, z
    ax, ay, az = 0.0, 0.0, 0.0
    if parent > 0:
        ax, ay, az = turned_back(groups, group, 1, k + 2, bases, base + k + 1, BASE_OMEGA)
    if k > 0:  # the world's y has one order alone
        dx, dy, dz = turned_back(groups, group, 1 if parent > 0 else k, k + 1, bases, base + k, BASE_ACC)
        x, y, z = x + dx, y + dy, z + dz
    if free:  # (w + E^T e) x v, and E^T e = w - the joint's own
        for j in range(k + 1):
            m, w = k - j, row + j
            ox = 2.0 * motions[w, OMEGA] - rates[j, v + 3]
            oy = 2.0 * motions[w, OMEGA + 1] - rates[j, v + 4]
            oz = 2.0 * motions[w, OMEGA + 2] - rates[j, v + 5]
            dx, dy, dz = cross(ox, oy, oz, rates[m, v], rates[m, v + 1], rates[m, v + 2])
            x, y, z = x + dx, y + dy, z + dz
    return x, y, z, (k + 1) * ax, (k + 1) * ay, (k + 1) * az


@helper
def _swinging(base, group, k, bases, groups, x, y, z):
    """Return (x, y, z) with what a shift s adds to y: ``S^2 s + de/dt x s``."""
    for j in range(k):
        m, b, e, turning = group + k - j, group + j, base + j + 1, j + 1.0
        sx, sy, sz = groups[m, SHIFT], groups[m, SHIFT + 1], groups[m, SHIFT + 2]
        dx, dy, dz = cross(bases[e, BASE_OMEGA], bases[e, BASE_OMEGA + 1], bases[e, BASE_OMEGA + 2], sx, sy, sz)
        x += turning * dx + groups[b, BASE_SPIN] * sx + groups[b, BASE_SPIN + 3] * sy + groups[b, BASE_SPIN + 4] * sz
        y += turning * dy + groups[b, BASE_SPIN + 3] * sx + groups[b, BASE_SPIN + 1] * sy + groups[b, BASE_SPIN + 5] * sz
        z += turning * dz + groups[b, BASE_SPIN + 4] * sx + groups[b, BASE_SPIN + 5] * sy + groups[b, BASE_SPIN + 2] * sz
    return x, y, z


@helper
def keep_group_spin(i, row, parent, work, motions, groups):
    """Write one order of the parent's S^2 in the element's first frame."""
    xx, yy, zz = motions[parent, SPIN], motions[parent, SPIN + 1], motions[parent, SPIN + 2]
    xy, xz, yz = motions[parent, SPIN + 3], motions[parent, SPIN + 4], motions[parent, SPIN + 5]
    a = rotate_back(work, i, R, xx, xy, xz)  # rows of S^2 R
    b = rotate_back(work, i, R, xy, yy, yz)
    c = rotate_back(work, i, R, xz, yz, zz)
    x = rotate_back(work, i, R, a[0], b[0], c[0])
    y = rotate_back(work, i, R, a[1], b[1], c[1])
    z = rotate_back(work, i, R, a[2], b[2], c[2])
    groups[row, BASE_SPIN], groups[row, BASE_SPIN + 1], groups[row, BASE_SPIN + 2] = x[0], y[1], z[2]
    groups[row, BASE_SPIN + 3], groups[row, BASE_SPIN + 4], groups[row, BASE_SPIN + 5] = x[1], x[2], y[2]


@helper
def group_wrench(free, rows, k, joints, groups):
    """Return order k of what lower orders of the joint's wrench add to it in the element's first frame."""
    row, group = rows[0], rows[3]
    fx, fy, fz = turned(groups, group, 1, k + 1, joints, row + k, WRENCH)
    tx, ty, tz = turned(groups, group, 1, k + 1, joints, row + k, WRENCH + 3)
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
        groups[rows[3] + k, FORCE + c] += joints[rows[0] + k, WRENCH + c]
