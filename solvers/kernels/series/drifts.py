"""What lower orders of a joint's turn and shift add to the motion behind it, and to the wrench that it carries."""

from __future__ import annotations

from titop.solvers.kernels.interface.layout import FREE, SPHERICAL, P, R
from titop.solvers.kernels.series.group_drifts import group_drift, group_wrench, keep_group_force, keep_group_spin
from titop.solvers.kernels.series.rooms import (
    BASE_ACC,
    BASE_OMEGA,
    COLUMN,
    COS,
    SIN,
    SPIN,
    TURNED,
    WRENCH,
    counted,
)
from titop.solvers.kernels.series.turns import shift_of
from titop.solvers.kernels.spatial.algebra import rotate_back
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
def drift(i, joint, rows, k, rates, work, motions, bases, joints, groups):
    """Return order k of what lower orders add to A of element i; write that part of y."""
    kind, v, linear, angular = joint
    base, at, parent, x, y, z = rows[1], counted(rows[1] + k), counted(rows[2] + k), 0.0, 0.0, 0.0
    if rows[2] > 0:
        x, y, z = symmetric_times(motions, parent, SPIN, work[i, P], work[i, P + 1], work[i, P + 2])
        x, y, z = rotate_back(work, i, R, x, y, z)
        if linear != 0.0:
            x, y, z = _shifting(linear, v, base, k, rates, bases, x, y, z)
    if kind == SPHERICAL or kind == FREE:
        return group_drift(kind == FREE, v, rows, k, rates, motions, bases, groups, x, y, z)
    bases[at, BASE_ACC], bases[at, BASE_ACC + 1], bases[at, BASE_ACC + 2] = x, y, z
    if angular == 0.0:
        return x, y, z, 0.0, 0.0, 0.0
    ax, ay = 0.0, 0.0
    for j in range(1, k + 2):
        n, m, after = counted(rows[0] + j), counted(base + k - j), counted(base + k + 1 - j)
        c, s = joints[n, COS], joints[n, SIN]
        ex, ey = bases[after, BASE_OMEGA], bases[after, BASE_OMEGA + 1]
        ax, ay = ax + (c * ex + s * ey), ay + (c * ey - s * ex)
        if j <= k:
            bx, by = bases[m, BASE_ACC], bases[m, BASE_ACC + 1]
            x, y = x + (c * bx + s * by), y + (c * by - s * bx)
    return x, y, z, (k + 1) * ax, (k + 1) * ay, 0.0


@helper
def _shifting(linear, v, base, k, rates, bases, x, y, z):
    """Return (x, y, z) with what a shift s along z adds to y: ``s column + 2 ds/dt (e x z)``."""
    for j in range(k + 1):
        rate = 2.0 * linear * rates[k - j, v]
        x += rate * bases[base + j, BASE_OMEGA + 1]
        y -= rate * bases[base + j, BASE_OMEGA]
    for j in range(k):
        s = shift_of(linear, v, k - j, rates)
        x += s * bases[base + j, COLUMN]
        y += s * bases[base + j, COLUMN + 1]
        z += s * bases[base + j, COLUMN + 2]
    return x, y, z


@helper
def arrive(i, joint, rows, k, carried, work, motions, bases, groups):
    """Write order k of y and order k + 1 of e, from what the transport of the parent's A has `carried`."""
    at, after, parent, share = counted(rows[1] + k), counted(rows[1] + k + 1), counted(rows[2] + k), 1.0 / (k + 1)
    bases[at, BASE_ACC] += carried[0]
    bases[at, BASE_ACC + 1] += carried[1]
    bases[at, BASE_ACC + 2] += carried[2]
    bases[after, BASE_OMEGA] = share * carried[3]
    bases[after, BASE_OMEGA + 1] = share * carried[4]
    bases[after, BASE_OMEGA + 2] = share * carried[5]
    if rows[2] > 0:
        if joint[2] != 0.0:
            _write_column(i, at, parent, carried, work, motions, bases)
        elif joint[0] == FREE:
            keep_group_spin(i, rows[3] + k, parent, work, motions, groups)


@helper
def _write_column(i, at, parent, carried, work, motions, bases):
    """Write ``S^2 z + de/dt x z``, S^2 of the parent in the element's first frame."""
    x, y, z = symmetric_times(motions, parent, SPIN, work[i, R + 2], work[i, R + 5], work[i, R + 8])
    x, y, z = rotate_back(work, i, R, x, y, z)
    bases[at, COLUMN], bases[at, COLUMN + 1], bases[at, COLUMN + 2] = x + carried[4], y - carried[3], z


@helper
def turning_wrench(joint, rows, k, rates, bases, joints, groups):
    """Return order k of what lower orders of a joint's wrench add to it in the element's first frame."""
    kind, v, linear, angular = joint
    if kind == SPHERICAL or kind == FREE:
        return group_wrench(kind == FREE, rows, k, joints, groups)
    fx, fy, tx, ty = 0.0, 0.0, 0.0, 0.0
    if angular != 0.0:
        for j in range(1, k + 1):
            n, m = counted(rows[0] + j), counted(rows[0] + k - j)
            c, s = joints[n, COS], joints[n, SIN]
            x, y = joints[m, WRENCH], joints[m, WRENCH + 1]
            fx, fy = fx + (c * x - s * y), fy + (s * x + c * y)
            x, y = joints[m, WRENCH + 3], joints[m, WRENCH + 4]
            tx, ty = tx + (c * x - s * y), ty + (s * x + c * y)
    if linear != 0.0:
        bases[rows[1] + k, TURNED], bases[rows[1] + k, TURNED + 1] = fx, fy
        for j in range(1, k + 1):
            s, m = shift_of(linear, v, j, rates), rows[1] + k - j
            tx -= s * bases[m, TURNED + 1]
            ty += s * bases[m, TURNED]
    return fx, fy, 0.0, tx, ty, 0.0


@helper
def keep_force(joint, rows, k, bases, joints, groups):
    """Complete order k of the force that a joint carries in the element's first frame, where its shift needs that."""
    if joint[2] != 0.0:
        bases[rows[1] + k, TURNED] += joints[rows[0] + k, WRENCH]
        bases[rows[1] + k, TURNED + 1] += joints[rows[0] + k, WRENCH + 1]
    elif joint[0] == FREE:
        keep_group_force(rows, k, joints, groups)
