"""Derivatives of inverse dynamics: the graph resolved over linearised blocks.

A coordinate k moves its subtree by the twist S. Seen in axes that move along, a change of q_k changes the twists of all blocks
of the subtree by one and the same twist X, and their accelerations by ``Y + ad(X) V``; a change of v_k changes them by S and
``Z + ad(S) V`` (after Singh, Russell and Wensing, "Efficient analytical derivatives of rigid-body dynamics using spatial vector
algebra", 2022)::

    X = ad(V_P) S       Y = ad(A_P) S + ad(V_P) X       Z = X + ad(V) S

with ``V_P`` and ``A_P`` the motion of the frame that carries the joint. A block answers with the change of wrench
``D Y + B X``, ``B = dh/dV - D ad(V)``, and its wrench turns along with it. D, B and the wrenches W of a subtree add up
(`inward_sums`), so that each pair of coordinates on one path costs a few products of six numbers.

Everything stands in the frame of the tree's first element, so that nothing is carried along and large distances of the tree
from the inertial origin cost no digits.
"""

from __future__ import annotations

from titop.solvers.kernels.derivatives.general_derivatives import own_pairs, pairs_before, write_ports
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import (
    carry_twist,
    carry_wrench,
    dot,
    minus,
    plus,
    put_six,
    rotate,
    rotate_symmetric,
    scaled,
    six,
    transport,
    twist_cross,
    wrench_cross,
)
from titop.solvers.kernels.tree.joints import axis, coordinates_of
from titop.solvers.kernels.tree.subtree_sums import (
    add_sums,
    all_held,
    clear,
    compose,
    held,
    holding,
    moved_by,
    rigid_stirring,
    stirred_by,
    stirring_of,
    sum_momentum,
)
from titop.solvers.native.kernel import helper, shared


@shared
def outward_columns(ints, floats, law, slopes, v, a, work, sums, columns):
    """From the world outwards: S, X, Y, Z of every coordinate, and each block alone into its row of `sums`."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        write_base(ints, law, work, i, sums)
        twist = carry_twist(sums, i, layout.BASE, six(work, i, layout.TWIST))
        carrier, acceleration = twist, carry_twist(sums, i, layout.BASE, six(work, i, layout.ACC))
        k, n = ints[i, layout.V], coordinates_of(ints[i, layout.KIND])
        for j in range(n):
            s = carry_twist(sums, i, layout.BASE, axis(ints, floats, i, j))
            put_six(columns, k + j, layout.COLUMN_S, s)
            carrier = minus(carrier, scaled(v[k + j], s))
            acceleration = minus(acceleration, scaled(a[k + j], s))
        if n > 0:
            acceleration = minus(acceleration, twist_cross(twist, minus(twist, carrier)))
        for j in range(n):
            s = six(columns, k + j, layout.COLUMN_S)
            x = twist_cross(carrier, s)
            put_six(columns, k + j, layout.COLUMN_X, x)
            put_six(columns, k + j, layout.COLUMN_Y, plus(twist_cross(acceleration, s), twist_cross(carrier, x)))
            put_six(columns, k + j, layout.COLUMN_Z, plus(x, twist_cross(twist, s)))
        put_six(sums, i, layout.WRENCH, carry_wrench(sums, i, layout.BASE, six(work, i, layout.BIAS)))
        if law is not None and ints[i, layout.LAW] >= 0:
            clear(sums, i, layout.SUM_MASS, layout.TURNED)
            write_ports(ints, law, slopes, i, sums, columns)
            continue
        write_body(floats, i, twist, sums)


@helper
def write_base(ints, law, work, i, sums):
    """Write the pose of element i in its tree's first element."""
    p = ints[i, layout.PARENT]
    if p == 0:
        clear(sums, i, layout.BASE, layout.BASE + 12)
        sums[i, layout.BASE] = sums[i, layout.BASE + 4] = sums[i, layout.BASE + 8] = 1.0
        return
    if law is not None and ints[i, layout.ROW] >= 0:
        p = ints[i, layout.ROW]
    compose(sums, p, work, i, layout.R, sums, i)


@helper
def write_mass(floats, i, sums):
    """Write D of a rigid body: mass, first moment and inertia about the frame's origin."""
    mass = floats[i, layout.MASS]
    hx, hy, hz = rotate(
        sums, i, layout.BASE, floats[i, layout.MOMENT], floats[i, layout.MOMENT + 1], floats[i, layout.MOMENT + 2]
    )
    xx, yy, zz, xy, xz, yz = rotate_symmetric(sums, i, layout.BASE, six(floats, i, layout.INERTIA))
    x, y, z = sums[i, layout.BASE + 9], sums[i, layout.BASE + 10], sums[i, layout.BASE + 11]
    # about the frame's origin: J - [r][h] - [h][r] - m [r][r]
    gx, gy, gz = hx + mass * x, hy + mass * y, hz + mass * z
    xx += y * (hy + gy) + z * (hz + gz)
    yy += x * (hx + gx) + z * (hz + gz)
    zz += x * (hx + gx) + y * (hy + gy)
    xy -= x * hy + y * gx
    xz -= x * hz + z * gx
    yz -= y * hz + z * gy
    sums[i, layout.SUM_MASS], sums[i, layout.SUM_MASS + 1], sums[i, layout.SUM_MASS + 2], sums[i, layout.SUM_MASS + 3] = (
        mass,
        gx,
        gy,
        gz,
    )
    put_six(sums, i, layout.SUM_MASS + 4, (xx, yy, zz, xy, xz, yz))
    return (gx, gy, gz), (xx, yy, zz, xy, xz, yz)


@helper
def write_body(floats, i, twist, sums):
    """Write D and B of a rigid body: ``B = [[0, -2 [p]], [0, C - [l]]]`` with (p, l) its momentum and C symmetric."""
    (gx, gy, gz), (xx, yy, zz, xy, xz, yz) = write_mass(floats, i, sums)
    vx, vy, vz, wx, wy, wz = twist
    momentum = sum_momentum(sums, i, twist)
    put_six(sums, i, layout.MOMENTUM, momentum)
    # C = [w] J + ([w] J)^T + 2 (v . h) 1 - v h^T - h v^T
    along = 2.0 * (vx * gx + vy * gy + vz * gz)
    sums[i, layout.STIRRED] = along + 2.0 * (wy * xz - wz * xy - vx * gx)
    sums[i, layout.STIRRED + 1] = along + 2.0 * (wz * xy - wx * yz - vy * gy)
    sums[i, layout.STIRRED + 2] = along + 2.0 * (wx * yz - wy * xz - vz * gz)
    sums[i, layout.STIRRED + 3] = wy * yz - wz * yy + wz * xx - wx * xz - vx * gy - vy * gx
    sums[i, layout.STIRRED + 4] = wy * zz - wz * yz + wx * xy - wy * xx - vx * gz - vz * gx
    sums[i, layout.STIRRED + 5] = wz * xz - wx * zz + wx * yy - wy * xy - vy * gz - vz * gy


@helper
def inward_sums(ints, floats, law, slopes, paths, sums, columns, work, dq, dv, da):
    """From the leaves inwards: sums of the subtrees, and the products of all pairs of coordinates on one path.

    With general blocks, `write_full` has been called before.
    """
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        if law is not None and ints[i, layout.LAW] >= 0:
            own_pairs(ints, law, slopes, paths, i, six(work, i, layout.TWIST), sums, columns, dq, dv, da)
        k, n = ints[i, layout.V], coordinates_of(ints[i, layout.KIND])
        for j in range(n):
            _pairs(ints, law, paths, sums, columns, i, k, n, k + j, dq, dv, da)
            da[k + j, k + j] += floats[i, layout.ARMATURE + j]
        p = ints[i, layout.PARENT]
        if p > 0:
            if law is not None and ints[i, layout.ROW] >= 0:
                p = ints[i, layout.ROW]
            add_sums(ints, law, i, p, sums)


@helper
def _pairs(ints, law, paths, sums, columns, i, first, n, k, dq, dv, da):
    """Write the entries of coordinate k of element i with itself, its fellows and all coordinates before it."""
    s, x, y, z = (
        six(columns, k, layout.COLUMN_S),
        six(columns, k, layout.COLUMN_X),
        six(columns, k, layout.COLUMN_Y),
        six(columns, k, layout.COLUMN_Z),
    )
    moved = moved_by(law, sums, i, s)
    by_q = stirred_by(law, sums, i, x, y)
    by_v = stirred_by(law, sums, i, s, z)
    if ints[0, layout.INERTIAL_LOADS]:
        by_q = plus(by_q, holding(law, sums, i, s))
    for j in range(first, first + n):
        dq[j, k] = dot(six(columns, j, layout.COLUMN_S), by_q)
        dv[j, k] = dot(six(columns, j, layout.COLUMN_S), by_v)
        da[j, k] = dot(six(columns, j, layout.COLUMN_S), moved)
    by_q = plus(by_q, wrench_cross(s, six(sums, i, layout.WRENCH)))
    if law is not None:
        turned = all_held(sums, i, s) if ints[0, layout.INERTIAL_LOADS] else (0.0,) * 6
        pairs_before(paths, columns, paths[1, first], k, by_q, by_v, moved, stirring_of(sums, i, s), turned, dq, dv, da)
        return
    tx, ty, tz = held(sums, i, s) if ints[0, layout.INERTIAL_LOADS] else (0.0, 0.0, 0.0)
    sx, sy, sz = rigid_stirring(sums, i, s)
    j = paths[1, first]
    while j >= 0:
        other = six(columns, j, layout.COLUMN_S)
        dq[j, k] = dot(other, by_q)
        dv[j, k] = dot(other, by_v)
        da[j, k] = da[k, j] = dot(other, moved)
        dq[k, j] = (
            dot(moved, six(columns, j, layout.COLUMN_Y))
            + sx * columns[j, layout.COLUMN_X + 3]
            + sy * columns[j, layout.COLUMN_X + 4]
            + sz * columns[j, layout.COLUMN_X + 5]
            + tx * other[3]
            + ty * other[4]
            + tz * other[5]
        )
        dv[k, j] = dot(moved, six(columns, j, layout.COLUMN_Z)) + sx * other[3] + sy * other[4] + sz * other[5]
        j = paths[1, j]


# -- motion of ports ------------------------------------------------------------------------------------------------------


@helper
def port_slopes(paths, columns, last, frame, twist, result):
    """Write how a port's motion changes: its twist displacement, twist and acceleration, in its own frame.

    `last` is the row of the coordinate nearest to the port, `frame` (1, 12) the port's pose where the columns stand, `twist`
    its twist there. `result` (4, 6, nv), zero before, receives S, dV/dq, dA/dq and dA/dv; dV/dv and dA/da are S.
    """
    j = last
    while j >= 0:
        s, x, k = six(columns, j, layout.COLUMN_S), six(columns, j, layout.COLUMN_X), paths[0, j]
        _write_column(result[0], k, transport(frame, 0, 0, s))
        _write_column(result[1], k, transport(frame, 0, 0, x))
        _write_column(result[2], k, transport(frame, 0, 0, plus(six(columns, j, layout.COLUMN_Y), twist_cross(x, twist))))
        _write_column(result[3], k, transport(frame, 0, 0, plus(six(columns, j, layout.COLUMN_Z), twist_cross(s, twist))))
        j = paths[1, j]


@helper
def _write_column(matrix, j, x):
    for r in range(6):
        matrix[r, j] = x[r]
