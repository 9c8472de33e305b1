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

from titop.solvers.kernels.algebra import (
    carry_wrench,
    cross,
    dot,
    helper,
    matrix_of,
    plus,
    put_six,
    rotate,
    rotate_back,
    rotate_symmetric,
    six,
    twist_cross,
)
from titop.solvers.kernels.joints import axis, coordinates_of
from titop.solvers.kernels.layout import (
    ACC,
    ARMATURE,
    AXIAL,
    BASE,
    BIAS,
    COLUMN_S,
    COLUMN_X,
    COLUMN_Y,
    COLUMN_Z,
    DAMPING,
    ELEMENT,
    ELEMENTS,
    FIRST_LOAD,
    FORCE,
    INERTIA,
    INERTIAL,
    INERTIAL_LOADS,
    KIND,
    LOADS,
    MASS,
    MOMENT,
    MOMENTUM,
    MULTIS,
    PARENT,
    SIZE,
    SPRINGS,
    STIFFNESS,
    STIRRED,
    SUM_COLUMNS,
    SUM_MASS,
    TURNED,
    TWIST,
    WRENCH,
    P,
    R,
    V,
)
from titop.solvers.kernels.observe import product
from titop.solvers.kernels.passive import friction_slope


@helper
def carry_twist(t, i, o, x):
    """Return ``Ad(g) x``: a twist at the child as a twist at the parent; g at ``t[i, o:o+12]``."""
    wx, wy, wz = rotate(t, i, o, x[3], x[4], x[5])
    vx, vy, vz = rotate(t, i, o, x[0], x[1], x[2])
    cx, cy, cz = cross(t[i, o + 9], t[i, o + 10], t[i, o + 11], wx, wy, wz)
    return vx + cx, vy + cy, vz + cz, wx, wy, wz


@helper
def minus(x, y):
    """Return the difference of two dual vectors."""
    return x[0] - y[0], x[1] - y[1], x[2] - y[2], x[3] - y[3], x[4] - y[4], x[5] - y[5]


@helper
def scaled(s, x):
    """Return s x."""
    return s * x[0], s * x[1], s * x[2], s * x[3], s * x[4], s * x[5]


@helper
def wrench_cross(x, w):
    """Return ``-ad(x)^T w``: the change of a wrench that turns along with the twist x."""
    ax, ay, az = cross(x[3], x[4], x[5], w[0], w[1], w[2])
    bx, by, bz = cross(x[0], x[1], x[2], w[0], w[1], w[2])
    cx, cy, cz = cross(x[3], x[4], x[5], w[3], w[4], w[5])
    return ax, ay, az, bx + cx, by + cy, bz + cz


@helper
def outward_columns(ints, floats, v, a, work, sums, columns):
    """From the world outwards: S, X, Y, Z of every coordinate, and each block alone into its row of `sums`."""
    for i in range(1, ints[0, ELEMENTS]):
        _write_base(ints, work, i, sums)
        twist = carry_twist(sums, i, BASE, six(work, i, TWIST))
        carrier, acceleration = twist, carry_twist(sums, i, BASE, six(work, i, ACC))
        k, n = ints[i, V], coordinates_of(ints[i, KIND])
        for j in range(n):
            s = carry_twist(sums, i, BASE, axis(ints, floats, i, j))
            put_six(columns, k + j, COLUMN_S, s)
            carrier = minus(carrier, scaled(v[k + j], s))
            acceleration = minus(acceleration, scaled(a[k + j], s))
        if n > 0:
            acceleration = minus(acceleration, twist_cross(twist, minus(twist, carrier)))
        for j in range(n):
            s = six(columns, k + j, COLUMN_S)
            x = twist_cross(carrier, s)
            put_six(columns, k + j, COLUMN_X, x)
            put_six(columns, k + j, COLUMN_Y, plus(twist_cross(acceleration, s), twist_cross(carrier, x)))
            put_six(columns, k + j, COLUMN_Z, plus(x, twist_cross(twist, s)))
        put_six(sums, i, WRENCH, carry_wrench(sums, i, BASE, six(work, i, BIAS)))
        _write_body(floats, i, twist, sums)


@helper
def _write_base(ints, work, i, sums):
    """Write the pose of element i in its tree's first element."""
    p = ints[i, PARENT]
    if p == 0:
        for k in range(12):
            sums[i, BASE + k] = 0.0
        sums[i, BASE] = sums[i, BASE + 4] = sums[i, BASE + 8] = 1.0
        return
    turned = product(matrix_of(sums, p, BASE), matrix_of(work, i, R))
    x, y, z = rotate(sums, p, BASE, work[i, P], work[i, P + 1], work[i, P + 2])
    for k in range(9):
        sums[i, BASE + k] = turned[k]
    sums[i, BASE + 9], sums[i, BASE + 10], sums[i, BASE + 11] = (
        sums[p, BASE + 9] + x,
        sums[p, BASE + 10] + y,
        sums[p, BASE + 11] + z,
    )


@helper
def _write_body(floats, i, twist, sums):
    """Write D and B of a rigid body: ``B = [[0, -2 [p]], [0, C - [l]]]`` with (p, l) its momentum and C symmetric."""
    mass = floats[i, MASS]
    hx, hy, hz = rotate(sums, i, BASE, floats[i, MOMENT], floats[i, MOMENT + 1], floats[i, MOMENT + 2])
    xx, yy, zz, xy, xz, yz = rotate_symmetric(sums, i, BASE, six(floats, i, INERTIA))
    x, y, z = sums[i, BASE + 9], sums[i, BASE + 10], sums[i, BASE + 11]
    # about the frame's origin: J - [r][h] - [h][r] - m [r][r]
    gx, gy, gz = hx + mass * x, hy + mass * y, hz + mass * z
    xx += y * (hy + gy) + z * (hz + gz)
    yy += x * (hx + gx) + z * (hz + gz)
    zz += x * (hx + gx) + y * (hy + gy)
    xy -= x * hy + y * gx
    xz -= x * hz + z * gx
    yz -= y * hz + z * gy
    sums[i, SUM_MASS], sums[i, SUM_MASS + 1], sums[i, SUM_MASS + 2], sums[i, SUM_MASS + 3] = mass, gx, gy, gz
    put_six(sums, i, SUM_MASS + 4, (xx, yy, zz, xy, xz, yz))
    vx, vy, vz, wx, wy, wz = twist
    momentum = sum_momentum(sums, i, twist)
    put_six(sums, i, MOMENTUM, momentum)
    # C = [w] J + ([w] J)^T + 2 (v . h) 1 - v h^T - h v^T
    along = 2.0 * (vx * gx + vy * gy + vz * gz)
    sums[i, STIRRED] = along + 2.0 * (wy * xz - wz * xy - vx * gx)
    sums[i, STIRRED + 1] = along + 2.0 * (wz * xy - wx * yz - vy * gy)
    sums[i, STIRRED + 2] = along + 2.0 * (wx * yz - wy * xz - vz * gz)
    sums[i, STIRRED + 3] = wy * yz - wz * yy + wz * xx - wx * xz - vx * gy - vy * gx
    sums[i, STIRRED + 4] = wy * zz - wz * yz + wx * xy - wy * xx - vx * gz - vz * gx
    sums[i, STIRRED + 5] = wz * xz - wx * zz + wx * yy - wy * xy - vy * gz - vz * gy


@helper
def sum_momentum(sums, i, x):
    """Return D x of the subtree of element i."""
    mass, cx, cy, cz = sums[i, SUM_MASS], sums[i, SUM_MASS + 1], sums[i, SUM_MASS + 2], sums[i, SUM_MASS + 3]
    xx, yy, zz, xy, xz, yz = six(sums, i, SUM_MASS + 4)
    vx, vy, vz, wx, wy, wz = x
    return (
        mass * vx + wy * cz - wz * cy,
        mass * vy + wz * cx - wx * cz,
        mass * vz + wx * cy - wy * cx,
        xx * wx + xy * wy + xz * wz + cy * vz - cz * vy,
        xy * wx + yy * wy + yz * wz + cz * vx - cx * vz,
        xz * wx + yz * wy + zz * wz + cx * vy - cy * vx,
    )


@helper
def _stirred(sums, i, x, y):
    """Return ``B x + D y`` of the subtree of element i."""
    px, py, pz, lx, ly, lz = six(sums, i, MOMENTUM)
    xx, yy, zz, xy, xz, yz = six(sums, i, STIRRED)
    wx, wy, wz = x[3], x[4], x[5]
    fx, fy, fz, tx, ty, tz = sum_momentum(sums, i, y)
    return (
        fx - 2.0 * (py * wz - pz * wy),
        fy - 2.0 * (pz * wx - px * wz),
        fz - 2.0 * (px * wy - py * wx),
        tx + xx * wx + xy * wy + xz * wz - (ly * wz - lz * wy),
        ty + xy * wx + yy * wy + yz * wz - (lz * wx - lx * wz),
        tz + xz * wx + yz * wy + zz * wz - (lx * wy - ly * wx),
    )


@helper
def _stirring(sums, i, s):
    """Return the angular part of ``B^T s`` of the subtree of element i; the linear part is zero."""
    px, py, pz, lx, ly, lz = six(sums, i, MOMENTUM)
    xx, yy, zz, xy, xz, yz = six(sums, i, STIRRED)
    vx, vy, vz, wx, wy, wz = s
    return (
        2.0 * (py * vz - pz * vy) + xx * wx + xy * wy + xz * wz + ly * wz - lz * wy,
        2.0 * (pz * vx - px * vz) + xy * wx + yy * wy + yz * wz + lz * wx - lx * wz,
        2.0 * (px * vy - py * vx) + xz * wx + yz * wy + zz * wz + lx * wy - ly * wx,
    )


@helper
def inward_sums(ints, floats, tree, sums, columns, dq, dv, da):
    """From the leaves inwards: sums of the subtrees, and the products of all pairs of coordinates on one path."""
    for i in range(ints[0, ELEMENTS] - 1, 0, -1):
        k, n = ints[i, V], coordinates_of(ints[i, KIND])
        for j in range(n):
            _pairs(ints, tree, sums, columns, i, k, n, k + j, dq, dv, da)
            da[k + j, k + j] += floats[i, ARMATURE + j]
        p = ints[i, PARENT]
        if p > 0:
            for c in range(WRENCH, TURNED if ints[0, INERTIAL_LOADS] == 0 else SUM_COLUMNS):
                sums[p, c] += sums[i, c]


@helper
def _pairs(ints, tree, sums, columns, i, first, n, k, dq, dv, da):
    """Write the entries of coordinate k of element i with itself, its fellows and all coordinates before it."""
    s, x, y, z = (
        six(columns, k, COLUMN_S),
        six(columns, k, COLUMN_X),
        six(columns, k, COLUMN_Y),
        six(columns, k, COLUMN_Z),
    )
    moved = sum_momentum(sums, i, s)
    by_q = _stirred(sums, i, x, y)
    by_v = _stirred(sums, i, s, z)
    sx, sy, sz = _stirring(sums, i, s)
    for j in range(first, first + n):
        dq[j, k] = dot(six(columns, j, COLUMN_S), by_q)
        dv[j, k] = dot(six(columns, j, COLUMN_S), by_v)
        da[j, k] = dot(six(columns, j, COLUMN_S), moved)
    by_q = plus(by_q, wrench_cross(s, six(sums, i, WRENCH)))
    tx, ty, tz = 0.0, 0.0, 0.0
    if ints[0, INERTIAL_LOADS]:
        tx, ty, tz = _held(sums, i, s)
        by_q = plus(by_q, _holding(sums, i, s))
        for j in range(first, first + n):
            dq[j, k] += dot(six(columns, j, COLUMN_S), _holding(sums, i, s))
    j = tree[1, first]
    while j >= 0:
        other = six(columns, j, COLUMN_S)
        dq[j, k] = dot(other, by_q)
        dv[j, k] = dot(other, by_v)
        da[j, k] = da[k, j] = dot(other, moved)
        dq[k, j] = (
            dot(moved, six(columns, j, COLUMN_Y))
            + sx * columns[j, COLUMN_X + 3]
            + sy * columns[j, COLUMN_X + 4]
            + sz * columns[j, COLUMN_X + 5]
            + tx * other[3]
            + ty * other[4]
            + tz * other[5]
        )
        dv[k, j] = dot(moved, six(columns, j, COLUMN_Z)) + sx * other[3] + sy * other[4] + sz * other[5]
        j = tree[1, j]


# -- loads fixed in the inertial frame: they do not turn along ------------------------------------------------------------


@helper
def hold_loads(ints, floats, world, sums):
    """Write what the inertial loads, already subtracted from the blocks' wrenches, lack of turning along."""
    for i in range(1, ints[0, ELEMENTS]):
        for c in range(TURNED, SUM_COLUMNS):
            sums[i, c] = 0.0
    for row in range(ints[0, FIRST_LOAD], ints[0, FIRST_LOAD] + ints[0, LOADS]):
        i = ints[row, ELEMENT]
        if ints[row, INERTIAL] and i > 0:
            x, y, z = rotate(sums, i, BASE, floats[row, P], floats[row, P + 1], floats[row, P + 2])
            x, y, z = x + sums[i, BASE + 9], y + sums[i, BASE + 10], z + sums[i, BASE + 11]
            _hold_load(sums, i, x, y, z, _turned(world, i, sums, six(floats, row, FORCE)))


@helper
def _turned(world, i, sums, w):
    """Return an inertial wrench in the components of `sums`."""
    fx, fy, fz = rotate_back(world, i, 0, w[0], w[1], w[2])
    tx, ty, tz = rotate_back(world, i, 0, w[3], w[4], w[5])
    fx, fy, fz = rotate(sums, i, BASE, fx, fy, fz)
    tx, ty, tz = rotate(sums, i, BASE, tx, ty, tz)
    return fx, fy, fz, tx, ty, tz


@helper
def _hold_load(sums, i, x, y, z, wrench):
    fx, fy, fz, tx, ty, tz = wrench
    sums[i, TURNED] += fx
    sums[i, TURNED + 1] += fy
    sums[i, TURNED + 2] += fz
    # [t] + [r][f] = [t] + f r^T - (r . f) 1
    along = x * fx + y * fy + z * fz
    sums[i, TURNED + 3] += fx * x - along
    sums[i, TURNED + 4] += fx * y - tz
    sums[i, TURNED + 5] += fx * z + ty
    sums[i, TURNED + 6] += fy * x + tz
    sums[i, TURNED + 7] += fy * y - along
    sums[i, TURNED + 8] += fy * z - tx
    sums[i, TURNED + 9] += fz * x - ty
    sums[i, TURNED + 10] += fz * y + tx
    sums[i, TURNED + 11] += fz * z - along


@helper
def _holding(sums, i, s):
    """Return ``-[[0, [f]], [0, [t] + [r][f]]] s`` for the inertial loads on the subtree."""
    x, y, z = cross(sums[i, TURNED], sums[i, TURNED + 1], sums[i, TURNED + 2], s[3], s[4], s[5])
    tx, ty, tz = rotate(sums, i, TURNED + 3, s[3], s[4], s[5])
    return -x, -y, -z, -tx, -ty, -tz


@helper
def _held(sums, i, s):
    """Return the angular part of the transposed of `_holding`."""
    x, y, z = cross(sums[i, TURNED], sums[i, TURNED + 1], sums[i, TURNED + 2], s[0], s[1], s[2])
    m = matrix_of(sums, i, TURNED + 3)
    return (
        x - (m[0] * s[3] + m[3] * s[4] + m[6] * s[5]),
        y - (m[1] * s[3] + m[4] * s[4] + m[7] * s[5]),
        z - (m[2] * s[3] + m[5] * s[4] + m[8] * s[5]),
    )


# -- passive efforts ------------------------------------------------------------------------------------------------------


@helper
def subtract_passive_derivatives(ints, floats, v, dq, dv):
    """Subtract the derivatives of springs with plain coordinates, dampers, friction and armatures' gyroscopic efforts."""
    row = ints[0, ELEMENTS]
    for _ in range(ints[0, SPRINGS]):
        n, k, kind = ints[row, SIZE], ints[row, V], ints[row, KIND]
        for i in range(n):
            for j in range(n):
                dv[k + i, k + j] += floats[row + i, DAMPING + j]
                if kind == AXIAL:
                    dq[k + i, k + j] += floats[row + i, STIFFNESS + j]
            dv[k + i, k + i] += friction_slope(floats, row + i, v[k + i])
        row += n
    if ints[0, MULTIS] > 0:
        for i in range(1, ints[0, ELEMENTS]):
            n = coordinates_of(ints[i, KIND])
            if n > 1:
                _add_armature_slopes(floats, i, ints[i, V], n, v, dv)


@helper
def _add_armature_slopes(floats, i, k, n, v, dv):
    """Add the derivative of ``-ad(v)^T (armature v)`` by v, for a spherical or free joint with coordinates from k."""
    o = 6 - n
    rates = _placed(v, k, o, n)
    momentum = (
        floats[i, ARMATURE] * rates[0] if n == 6 else 0.0,
        floats[i, ARMATURE + 1] * rates[1] if n == 6 else 0.0,
        floats[i, ARMATURE + 2] * rates[2] if n == 6 else 0.0,
        floats[i, ARMATURE + n - 3] * rates[3],
        floats[i, ARMATURE + n - 2] * rates[4],
        floats[i, ARMATURE + n - 1] * rates[5],
    )
    for j in range(n):
        unit = _unit(o + j)
        column = plus(wrench_cross(unit, momentum), wrench_cross(rates, scaled(floats[i, ARMATURE + j], unit)))
        for r in range(n):
            dv[k + r, k + j] += column[o + r]


@helper
def _placed(v, k, o, n):
    """Return n entries of v from k as the last entries of a dual vector."""
    return (
        v[k] if o < 1 else 0.0,
        v[k + 1] if o < 1 else 0.0,
        v[k + 2] if o < 1 else 0.0,
        v[k + n - 3],
        v[k + n - 2],
        v[k + n - 1],
    )


@helper
def _unit(j):
    return (
        1.0 if j == 0 else 0.0,
        1.0 if j == 1 else 0.0,
        1.0 if j == 2 else 0.0,
        1.0 if j == 3 else 0.0,
        1.0 if j == 4 else 0.0,
        1.0 if j == 5 else 0.0,
    )
