"""Motions of the elements, and what their bodies take because they spin, order by order."""

from __future__ import annotations

from titop.solvers.kernels.interface.layout import GRAVITY, INERTIA, MOMENT, R
from titop.solvers.kernels.series.drifts import arrive, drift, symmetric_times
from titop.solvers.kernels.series.rooms import ACC, BASE_OMEGA, MOTION_COLUMNS, OMEGA, SPIN, counted
from titop.solvers.kernels.series.turns import turn_on
from titop.solvers.kernels.spatial.algebra import put_six, rotate_back, six, transport
from titop.solvers.kernels.tree.joints import move
from titop.solvers.native.kernel import helper


@helper
def start_world(floats, orders, motions):
    """Write the world's motion: at rest, and accelerated against gravity."""
    for k in range(orders):
        for c in range(MOTION_COLUMNS):
            motions[k, c] = 0.0
    motions[0, ACC] = -floats[0, GRAVITY]
    motions[0, ACC + 1] = -floats[0, GRAVITY + 1]
    motions[0, ACC + 2] = -floats[0, GRAVITY + 2]


@helper
def start_motion(ints, floats, i, joint, rows, rates, work, motions, bases, joints, groups):
    """Write angular velocity and turn of element i at the beginning."""
    row, base, parent = counted(rows[0]), counted(rows[1]), counted(rows[2])
    x, y, z = rotate_back(work, i, R, motions[parent, OMEGA], motions[parent, OMEGA + 1], motions[parent, OMEGA + 2])
    bases[base, BASE_OMEGA], bases[base, BASE_OMEGA + 1], bases[base, BASE_OMEGA + 2] = x, y, z
    moved = move(ints, floats, i, (0.0, 0.0, 0.0, x, y, z), rates[0], joint[1])
    motions[row, OMEGA], motions[row, OMEGA + 1], motions[row, OMEGA + 2] = moved[3], moved[4], moved[5]
    turn_on(joint, rows, 0, rates, joints, groups)


@helper
def _spin_on(row, k, motions):
    """Write order k of S^2: products of orders that differ stand there twice."""
    xx, yy, zz, xy, xz, yz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range((k + 1) // 2):
        a, b = counted(row + j), counted(row + k - j)
        x, y, z = motions[a, OMEGA], motions[a, OMEGA + 1], motions[a, OMEGA + 2]
        ox, oy, oz = motions[b, OMEGA], motions[b, OMEGA + 1], motions[b, OMEGA + 2]
        xx, yy, zz = xx + x * ox, yy + y * oy, zz + z * oz
        xy, xz, yz = xy + (x * oy + y * ox), xz + (x * oz + z * ox), yz + (y * oz + z * oy)
    xx, yy, zz = 2.0 * xx, 2.0 * yy, 2.0 * zz
    if k % 2 == 0:
        a = counted(row + k // 2)
        x, y, z = motions[a, OMEGA], motions[a, OMEGA + 1], motions[a, OMEGA + 2]
        xx, yy, zz, xy, xz, yz = xx + x * x, yy + y * y, zz + z * z, xy + x * y, xz + x * z, yz + y * z
    put_six(motions, counted(row + k), SPIN, (-yy - zz, -xx - zz, -xx - yy, xy, xz, yz))


@helper
def prepare(i, joint, rows, k, rates, work, motions, bases, joints, groups):
    """Write what order k has of lower ones: the joint's turn at order k + 1, the spin; return the drift."""
    turn_on(joint, rows, k + 1, rates, joints, groups)
    _spin_on(rows[0], k, motions)
    return drift(i, joint, rows, k, rates, work, motions, bases, joints, groups)


@helper
def carried_acceleration(i, joint, rows, k, work, motions, bases, groups):
    """Return order k of the parent's A, transported by the pose at the beginning; keep it for higher orders."""
    carried = transport(work, i, R, six(motions, counted(rows[2] + k), ACC))
    arrive(i, joint, rows, k, carried, work, motions, bases, groups)
    return carried


@helper
def put_acceleration(row, k, acceleration, motions):
    """Write order k of A, and order k + 1 of w, of the element with this first row."""
    after, share = counted(row + k + 1), 1.0 / (k + 1)
    put_six(motions, counted(row + k), ACC, acceleration)
    motions[after, OMEGA] = share * acceleration[3]
    motions[after, OMEGA + 1] = share * acceleration[4]
    motions[after, OMEGA + 2] = share * acceleration[5]


@helper
def spin_wrench(floats, i, row, motions):
    """Return what a body takes because it spins: ``[S^2 c; w x J w]``, c the first moment of mass, J the inertia."""
    fx, fy, fz = symmetric_times(motions, row, SPIN, floats[i, MOMENT], floats[i, MOMENT + 1], floats[i, MOMENT + 2])
    jxx, jyy, jzz, jxy, jxz, jyz = six(floats, i, INERTIA)
    sxx, syy, szz, sxy, sxz, syz = six(motions, row, SPIN)
    return (
        fx,
        fy,
        fz,
        jxz * sxy - jxy * sxz + jyz * (syy - szz) + (jzz - jyy) * syz,
        jxy * syz - jyz * sxy + jxz * (szz - sxx) + (jxx - jzz) * sxz,
        jyz * sxz - jxz * syz + jxy * (sxx - syy) + (jyy - jxx) * sxy,
    )
