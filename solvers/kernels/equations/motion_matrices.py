"""Matrices of the equations of motion: the Coriolis matrix, the matrix from rates to momentum, and the regressor.

The first two, of trees of rigid bodies, are sums over subtrees in the terms of `tree_derivatives`. The Coriolis matrix (after
Echeandia and Wensing, "Numerical methods to compute the Coriolis matrix and Christoffel symbols for rigid-body systems", 2021)
``C = (dh/dv + M blkdiag(ad v, w x, 0)) / 2`` has the entries ``S_j . (B S_k / 2 + D (V x S_k))`` with D and B of the subtree of
the coordinate further out: what ``ad v`` brings makes Z of every joint ``2 V x S``.
"""

from __future__ import annotations

from titop.solvers.kernels.derivatives.tree_derivatives import write_base, write_body, write_mass
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import (
    carry_twist,
    carry_wrench,
    cross,
    dot,
    put_six,
    scaled,
    six,
    transport,
    twist_cross,
)
from titop.solvers.kernels.tree.armatures import add_armature_slopes, add_turned_armatures
from titop.solvers.kernels.tree.composite import put_column
from titop.solvers.kernels.tree.general import subspace_column
from titop.solvers.kernels.tree.joints import axis, coordinates_of
from titop.solvers.kernels.tree.kinematics import prepend
from titop.solvers.kernels.tree.subtree_sums import rigid_stirred, rigid_stirring, sum_momentum
from titop.solvers.native.kernel import helper


@helper
def write_coriolis(ints, floats, v, paths, work, sums, columns, result):
    """Write the Coriolis matrix (nv x nv) from known twists; `sums` and `columns` are room."""
    result[:] = 0.0
    for i in range(1, ints[0, layout.ELEMENTS]):
        write_base(ints, None, work, i, sums)
        twist = carry_twist(sums, i, layout.BASE, six(work, i, layout.TWIST))
        for j in range(coordinates_of(ints[i, layout.KIND])):
            s = carry_twist(sums, i, layout.BASE, axis(ints, floats, i, j))
            put_six(columns, ints[i, layout.V] + j, layout.COLUMN_S, s)
            put_six(columns, ints[i, layout.V] + j, layout.COLUMN_Z, scaled(2.0, twist_cross(twist, s)))
        write_body(floats, i, twist, sums)
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        k, n = ints[i, layout.V], coordinates_of(ints[i, layout.KIND])
        for j in range(n):
            _coriolis_pairs(paths, sums, columns, i, k, n, k + j, result)
        p = ints[i, layout.PARENT]
        if p > 0:
            for c in range(layout.SUM_MASS, layout.STIRRED + 6):
                sums[p, c] += sums[i, c]
    if ints[0, layout.MULTIS] > 0:
        add_armature_slopes(ints, floats, v, result)
        add_turned_armatures(ints, floats, v, result)
    for j in range(result.shape[0]):
        for k in range(result.shape[1]):
            result[j, k] *= 0.5


@helper
def _coriolis_pairs(paths, sums, columns, i, first, n, k, result):
    """Write twice the entries of coordinate k of element i with its fellows and all coordinates before it."""
    s = six(columns, k, layout.COLUMN_S)
    moved, stirred = sum_momentum(sums, i, s), rigid_stirred(sums, i, s, six(columns, k, layout.COLUMN_Z))
    sx, sy, sz = rigid_stirring(sums, i, s)
    for j in range(first, first + n):
        result[j, k] = dot(six(columns, j, layout.COLUMN_S), stirred)
    j = paths[1, first]
    while j >= 0:
        other = six(columns, j, layout.COLUMN_S)
        result[j, k] = dot(other, stirred)
        result[k, j] = dot(moved, six(columns, j, layout.COLUMN_Z)) + sx * other[3] + sy * other[4] + sz * other[5]
        j = paths[1, j]


@helper
def write_rigid_momentum_matrix(ints, floats, work, sums, firsts, matrix):
    """Write the matrix (6 x nv) from v to momentum, linear and angular about the inertial origin, from known poses (in `work`).

    `sums` and `firsts` (an integer for each element) are room.
    """
    for i in range(1, ints[0, layout.ELEMENTS]):
        p = ints[i, layout.PARENT]
        firsts[i] = i if p == 0 else firsts[p]
        write_base(ints, None, work, i, sums)
        write_mass(floats, i, sums)
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        p = ints[i, layout.PARENT]
        if p > 0:
            for c in range(layout.SUM_MASS, layout.MOMENTUM):
                sums[p, c] += sums[i, c]
    for i in range(1, ints[0, layout.ELEMENTS]):
        for j in range(coordinates_of(ints[i, layout.KIND])):
            s = carry_twist(sums, i, layout.BASE, axis(ints, floats, i, j))
            put_column(matrix, ints[i, layout.V] + j, carry_wrench(work, firsts[i], layout.R, sum_momentum(sums, i, s)))


#: Numbers of a body (see `titop.blocks.bodies.inertial_numbers`), a unit of each of which the regressor says the efforts.
NUMBERS_OF_BODY = 10
#: The column of `frames` with the factor of the first moments, behind the pose.
FACTOR = 12


@helper
def write_body_regressor(tables, work, frames, chosen, k, pose, wrenches, result):
    """Write the efforts (nv) a unit of each number of the k-th body into its row of `result`, zero before.

    Row k of `frames` holds a frame of the body in its element, and a factor of the first moments; row k of `chosen` the
    element, then the rows of the numbers, -1 for one that is not asked for. `pose` (1, 12) and `wrenches` (10, 6) are room.
    """
    ints, law, i = tables.ints, tables.law, chosen[k, 0]
    twist = transport(frames, k, 0, six(work, i, layout.TWIST))
    _write_wrenches(twist, transport(frames, k, 0, six(work, i, layout.ACC)), frames[k, FACTOR], wrenches)
    for c in range(12):
        pose[0, c] = frames[k, c]
    while i > 0:
        for j in range(coordinates_of(ints[i, layout.KIND])):
            _project(transport(pose, 0, 0, axis(ints, tables.floats, i, j)), wrenches, chosen, k, result, ints[i, layout.V] + j)
        prepend(work, i, layout.R, pose)
        p = ints[i, layout.PARENT]
        if law is not None and ints[i, layout.PORT] >= 0:
            for j in range(ints[p, layout.OWN]):
                x = transport(pose, 0, 0, subspace_column(ints, law, i, p, j))
                _project(x, wrenches, chosen, k, result, ints[p, layout.OWN_V] + j)
            prepend(law, 0, ints[i, layout.PORT], pose)
        i = p


@helper
def _project(x, wrenches, chosen, k, result, column):
    """Write the power of the chosen wrenches at a twist into a column."""
    for c in range(NUMBERS_OF_BODY):
        if chosen[k, 1 + c] >= 0:
            result[chosen[k, 1 + c], column] = dot(six(wrenches, c, 0), x)


@helper
def _write_wrenches(twist, acceleration, factor, wrenches):
    """Write the wrench a unit of each number, at the frame's twist and acceleration less gravity's, of moments a `factor`."""
    vx, vy, vz, wx, wy, wz = twist
    tx, ty, tz = acceleration[3], acceleration[4], acceleration[5]
    cx, cy, cz = cross(wx, wy, wz, vx, vy, vz)
    ax, ay, az = acceleration[0] + cx, acceleration[1] + cy, acceleration[2] + cz
    _put_row(wrenches, 0, ax, ay, az, 0.0, 0.0, 0.0)
    put_six(wrenches, 1, 0, scaled(factor, (-wy * wy - wz * wz, tz + wx * wy, wx * wz - ty, 0.0, -az, ay)))
    put_six(wrenches, 2, 0, scaled(factor, (wx * wy - tz, -wx * wx - wz * wz, tx + wy * wz, az, 0.0, -ax)))
    put_six(wrenches, 3, 0, scaled(factor, (ty + wx * wz, wy * wz - tx, -wx * wx - wy * wy, -ay, ax, 0.0)))
    _put_row(wrenches, 4, 0.0, 0.0, 0.0, tx, wz * wx, -wy * wx)
    _put_row(wrenches, 5, 0.0, 0.0, 0.0, -wz * wy, ty, wx * wy)
    _put_row(wrenches, 6, 0.0, 0.0, 0.0, wy * wz, -wx * wz, tz)
    _put_row(wrenches, 7, 0.0, 0.0, 0.0, ty - wz * wx, tx + wz * wy, wx * wx - wy * wy)
    _put_row(wrenches, 8, 0.0, 0.0, 0.0, tz + wy * wx, wz * wz - wx * wx, tx - wy * wz)
    _put_row(wrenches, 9, 0.0, 0.0, 0.0, wy * wy - wz * wz, tz - wx * wy, ty + wx * wz)


@helper
def _put_row(t, k, a, b, c, d, e, f):
    t[k, 0], t[k, 1], t[k, 2], t[k, 3], t[k, 4], t[k, 5] = a, b, c, d, e, f
