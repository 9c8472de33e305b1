"""General blocks in the derivatives: blocks with own coordinates, whose linearised laws stand in ``slopes`` (see `layout`)."""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import by_rate_at, by_twist_at, columns_at, is_used, port_at
from titop.solvers.kernels.ports.surroundings import is_held, own_turned, write_turned
from titop.solvers.kernels.spatial.algebra import (
    carry_twist,
    carry_wrench,
    column_of,
    dot,
    entry_of,
    plus,
    put_six,
    scaled,
    six,
    transport,
    twist_cross,
    unit,
    wrench_cross,
)
from titop.solvers.kernels.tree.subtree_sums import (
    add_sums,
    all_held,
    clear,
    compose,
    full_end,
    holding,
    moved_by,
    stirred_by,
    stirring_of,
)
from titop.solvers.native.kernel import helper


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
def own_pairs(ints, law, slopes, paths, i, twist, sums, columns, dq, dv, da):
    """Write the entries of general block i's own coordinates with each other and all before; add its ports to its row."""
    n, o, own = ints[i, layout.OWN], ints[i, layout.LAW], ints[i, layout.OWN_V]
    size, by_q_at = 6 + n, ints[i, layout.SLOPES]
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
            s, x, y, z = (
                six(columns, c, layout.COLUMN_S),
                six(columns, c, layout.COLUMN_X),
                six(columns, c, layout.COLUMN_Y),
                six(columns, c, layout.COLUMN_Z),
            )
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
        pairs_before(paths, columns, ints[i, layout.LAST], k, by_q, by_v, moved, stirring, turned, dq, dv, da)
    for p in range(ints[i, layout.PORT_COUNT]):
        if is_used(ints[i, layout.USED], p):
            add_sums(ints, law, ints[i, layout.PORTS] + p, i, sums)


@helper
def pairs_before(paths, columns, j, k, by_q, by_v, moved, stirring, turned, dq, dv, da):
    """Write the entries of coordinate k with the coordinates from row j of `columns` to the world."""
    while j >= 0:
        before, other = paths[0, j], six(columns, j, layout.COLUMN_S)
        dq[before, k] = dot(other, by_q)
        dv[before, k] = dot(other, by_v)
        da[before, k] = da[k, before] = dot(other, moved)
        stirred = dot(moved, six(columns, j, layout.COLUMN_Y)) + dot(stirring, six(columns, j, layout.COLUMN_X))
        dq[k, before] = stirred + dot(turned, other)
        dv[k, before] = dot(moved, six(columns, j, layout.COLUMN_Z)) + dot(stirring, other)
        j = paths[1, j]
