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

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import by_rate_at, by_twist_at, columns_at, is_used, port_at
from titop.solvers.kernels.ports.surroundings import is_held, own_turned, write_turned
from titop.solvers.kernels.spatial.algebra import (
    IDENTITY,
    carry_twist,
    carry_wrench,
    column_of,
    dot,
    entry_of,
    minus,
    plus,
    put_pose,
    put_six,
    put_three,
    rotate,
    rotate_symmetric,
    scaled,
    six,
    three,
    transport,
    twist_cross,
    unit,
    wrench_cross,
)
from titop.solvers.kernels.tree.composite import put_column
from titop.solvers.kernels.tree.joints import axis, coordinates_of
from titop.solvers.kernels.tree.subtree_sums import (
    add_sums,
    all_held,
    clear,
    compose,
    full_end,
    held,
    holding,
    moved_by,
    rigid_stirring,
    stirred_by,
    stirring_of,
    sum_momentum,
)
from titop.solvers.native.kernel import helper


@helper
def outward_columns(tables, slopes, v, a, rooms):
    """From the world outwards: S, X, Y, Z of every coordinate, and each block alone into its row of `sums`."""
    ints, floats, law, (work, _, sums, columns) = tables.ints, tables.floats, tables.law, rooms
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
        put_pose(sums, i, layout.BASE, IDENTITY, (0.0, 0.0, 0.0))
        return
    if law is not None and ints[i, layout.ROW] >= 0:
        p = ints[i, layout.ROW]
    compose(sums, p, work, i, layout.R, sums, i)


@helper
def write_mass(floats, i, sums):
    """Write D of a rigid body: mass, first moment and inertia about the frame's origin."""
    mass = floats[i, layout.MASS]
    hx, hy, hz = rotate(sums, i, layout.BASE, *three(floats, i, layout.MOMENT))
    xx, yy, zz, xy, xz, yz = rotate_symmetric(sums, i, layout.BASE, six(floats, i, layout.INERTIA))
    x, y, z = three(sums, i, layout.BASE + 9)
    # about the frame's origin: J - [r][h] - [h][r] - m [r][r]
    gx, gy, gz = hx + mass * x, hy + mass * y, hz + mass * z
    xx += y * (hy + gy) + z * (hz + gz)
    yy += x * (hx + gx) + z * (hz + gz)
    zz += x * (hx + gx) + y * (hy + gy)
    xy -= x * hy + y * gx
    xz -= x * hz + z * gx
    yz -= y * hz + z * gy
    sums[i, layout.SUM_MASS] = mass
    put_three(sums, i, layout.SUM_MASS + 1, (gx, gy, gz))
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
def inward_sums(tables, slopes, paths, rooms, changes):
    """From the leaves inwards: sums of the subtrees, and the products of all pairs of coordinates on one path.

    With general blocks, `write_full` has been called before.
    """
    ints, law, da = tables.ints, tables.law, changes[2]
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        if law is not None and ints[i, layout.LAW] >= 0:
            own_pairs(tables, slopes, paths, i, rooms, changes)
        k, n = ints[i, layout.V], coordinates_of(ints[i, layout.KIND])
        for j in range(n):
            _pairs(tables, paths, rooms, i, (k, n), k + j, changes)
            da[k + j, k + j] += tables.floats[i, layout.ARMATURE + j]
        p = ints[i, layout.PARENT]
        if p > 0:
            if law is not None and ints[i, layout.ROW] >= 0:
                p = ints[i, layout.ROW]
            add_sums(ints, law, i, p, rooms.sums)


@helper
def _pairs(tables, paths, rooms, i, mates, k, changes):
    """Write the entries of coordinate k of element i with itself, its n `mates` from the first, and all coordinates before."""
    ints, law, (_, _, sums, columns), (first, n), (dq, dv, da) = tables.ints, tables.law, rooms, mates, changes
    s, x = six(columns, k, layout.COLUMN_S), six(columns, k, layout.COLUMN_X)
    y, z = six(columns, k, layout.COLUMN_Y), six(columns, k, layout.COLUMN_Z)
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
        pairs_before(paths, columns, paths[1, first], k, (by_q, by_v, moved, stirring_of(sums, i, s), turned), changes)
        return
    tx, ty, tz = held(sums, i, s) if ints[0, layout.INERTIAL_LOADS] else (0.0, 0.0, 0.0)
    sx, sy, sz = rigid_stirring(sums, i, s)
    j = paths[1, first]
    while j >= 0:
        other, (ax, ay, az) = six(columns, j, layout.COLUMN_S), three(columns, j, layout.COLUMN_X + 3)
        dq[j, k] = dot(other, by_q)
        dv[j, k] = dot(other, by_v)
        da[j, k] = da[k, j] = dot(other, moved)
        stirred = dot(moved, six(columns, j, layout.COLUMN_Y)) + sx * ax + sy * ay + sz * az
        dq[k, j] = stirred + tx * other[3] + ty * other[4] + tz * other[5]
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
        put_column(result[0], k, transport(frame, 0, 0, s))
        put_column(result[1], k, transport(frame, 0, 0, x))
        put_column(result[2], k, transport(frame, 0, 0, plus(six(columns, j, layout.COLUMN_Y), twist_cross(x, twist))))
        put_column(result[3], k, transport(frame, 0, 0, plus(six(columns, j, layout.COLUMN_Z), twist_cross(s, twist))))
        j = paths[1, j]


# -- general blocks: with own coordinates, whose linearised laws stand in ``slopes`` (see `layout`) -------------------------


@helper
def write_ports(ints, law, slopes, i, sums, columns):
    """Write the poses and columns of general block i's ports."""
    n, o = ints[i, layout.OWN], ints[i, layout.LAW]
    for p in range(ints[i, layout.PORT_COUNT]):
        if not is_used(ints[i, layout.USED], p):
            continue
        row, port = ints[i, layout.PORTS] + p, o + port_at(n, p)
        compose(sums, i, law, 0, port, sums, row)
        clear(sums, row, layout.WRENCH, layout.SUM_COLUMNS)
        at = ints[i, layout.SLOPES] + columns_at(n, p)
        for j in range(n):
            k = ints[i, layout.COLUMN] + p * n + j
            s = column_of(law, port + layout.PORT_S, n, j)
            put_six(columns, k, layout.COLUMN_S, carry_twist(sums, row, layout.BASE, s))
            put_six(columns, k, layout.COLUMN_X, carry_twist(sums, row, layout.BASE, column_of(slopes, at, n, j)))
            put_six(columns, k, layout.COLUMN_Y, carry_twist(sums, row, layout.BASE, column_of(slopes, at + 6 * n, n, j)))
            put_six(columns, k, layout.COLUMN_Z, carry_twist(sums, row, layout.BASE, column_of(slopes, at + 12 * n, n, j)))


@helper
def write_full(ints, law, slopes, work, sums):
    """Write D and B of the general blocks alone, and what surrounds them; zeros beside rigid bodies and at ports."""
    for row in range(1, sums.shape[0]):
        clear(sums, row, layout.FULL_D, full_end(ints))
    for i in range(1, ints[0, layout.ELEMENTS]):
        if ints[i, layout.LAW] >= 0:
            _write_answer(ints, law, slopes, i, six(work, i, layout.TWIST), sums)


@helper
def _write_answer(ints, law, slopes, i, twist, sums):
    """Write D and B of general block i."""
    n = ints[i, layout.OWN]
    size, o, by_twist = 6 + n, ints[i, layout.LAW], ints[i, layout.SLOPES] + by_twist_at(n)
    if is_held(ints, i):
        write_turned(ints, slopes, i, sums)
    for c in range(6):
        x = transport(sums, i, layout.BASE, unit(c))
        turning = twist_cross(twist, x)
        d, b = (0.0,) * 6, (0.0,) * 6
        for r in range(6):
            row = six(law, 0, o + r * size)
            d = plus(d, scaled(dot(row, x), unit(r)))
            b = plus(b, scaled(dot(six(slopes, 0, by_twist + 6 * r), x) - dot(row, turning), unit(r)))
        d, b = carry_wrench(sums, i, layout.BASE, d), carry_wrench(sums, i, layout.BASE, b)
        for r in range(6):
            sums[i, layout.FULL_D + 6 * r + c], sums[i, layout.FULL_B + 6 * r + c] = entry_of(d, r), entry_of(b, r)


@helper
def own_pairs(tables, slopes, paths, i, rooms, changes):
    """Write the entries of general block i's own coordinates with each other and all before; add its ports to its row."""
    ints, law, (work, _, sums, columns), (dq, dv, da) = tables.ints, tables.law, rooms, changes
    n, o, own = ints[i, layout.OWN], ints[i, layout.LAW], ints[i, layout.OWN_V]
    size, by_q_at, twist = 6 + n, ints[i, layout.SLOPES], six(work, i, layout.TWIST)
    by_v_at, by_twist = by_q_at + by_rate_at(n), by_q_at + by_twist_at(n)
    for j in range(n):
        k, row = own + j, o + (6 + j) * size
        in_block = six(law, 0, row)
        moved = carry_wrench(sums, i, layout.BASE, in_block)
        stirring = carry_wrench(
            sums, i, layout.BASE, plus(six(slopes, 0, by_twist + 6 * (6 + j)), wrench_cross(twist, in_block))
        )
        by_q = carry_wrench(sums, i, layout.BASE, column_of(slopes, by_q_at, n, j))
        by_v = carry_wrench(sums, i, layout.BASE, column_of(slopes, by_v_at, n, j))
        turned = own_turned(ints, slopes, i, j, sums) if is_held(ints, i) else (0.0,) * 6
        for m in range(n):
            da[own + m, k] += law[0, o + (6 + m) * size + 6 + j]
            dq[own + m, k] += slopes[0, by_q_at + (6 + m) * n + j]
            dv[own + m, k] += slopes[0, by_v_at + (6 + m) * n + j]
        for p in range(ints[i, layout.PORT_COUNT]):
            if not (
                is_used(ints[i, layout.BEARING], p) or (ints[0, layout.INERTIAL_LOADS] and is_used(ints[i, layout.USED], p))
            ):
                continue
            port, first = ints[i, layout.PORTS] + p, ints[i, layout.COLUMN] + p * n
            c = first + j
            s, x = six(columns, c, layout.COLUMN_S), six(columns, c, layout.COLUMN_X)
            y, z = six(columns, c, layout.COLUMN_Y), six(columns, c, layout.COLUMN_Z)
            through = moved_by(law, sums, port, s)
            q_wrench, v_wrench = stirred_by(law, sums, port, x, y), stirred_by(law, sums, port, s, z)
            if ints[0, layout.INERTIAL_LOADS]:
                q_wrench = plus(q_wrench, holding(law, sums, port, s))
                turned = plus(turned, all_held(sums, port, s))
            for m in range(n):
                other = six(columns, first + m, layout.COLUMN_S)
                da[own + m, k] += dot(other, through)
                dq[own + m, k] += dot(other, q_wrench)
                dv[own + m, k] += dot(other, v_wrench)
            moved = plus(moved, through)
            stirring = plus(stirring, stirring_of(sums, port, s))
            by_q = plus(by_q, q_wrench)
            by_v = plus(by_v, v_wrench)
        pairs_before(paths, columns, ints[i, layout.LAST], k, (by_q, by_v, moved, stirring, turned), changes)
    for p in range(ints[i, layout.PORT_COUNT]):
        if is_used(ints[i, layout.USED], p):
            add_sums(ints, law, ints[i, layout.PORTS] + p, i, sums)


@helper
def pairs_before(paths, columns, j, k, answers, changes):
    """Write the entries of coordinate k with the coordinates from row j of `columns` to the world."""
    (by_q, by_v, moved, stirring, turned), (dq, dv, da) = answers, changes
    while j >= 0:
        before, other = paths[0, j], six(columns, j, layout.COLUMN_S)
        dq[before, k] = dot(other, by_q)
        dv[before, k] = dot(other, by_v)
        da[before, k] = da[k, before] = dot(other, moved)
        stirred = dot(moved, six(columns, j, layout.COLUMN_Y)) + dot(stirring, six(columns, j, layout.COLUMN_X))
        dq[k, before] = stirred + dot(turned, other)
        dv[k, before] = dot(moved, six(columns, j, layout.COLUMN_Z)) + dot(stirring, other)
        j = paths[1, j]
