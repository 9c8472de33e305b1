"""General blocks in `directional`: their linearised laws, which stand in ``slopes`` (see `layout`), along a direction.

A block at rest in moving axes meets a displacement s and changes x and y of `directional` as a change x of its twist V and
``y + ad(x) V`` of its acceleration; what comes of it are changes of W_P and of its efforts.
"""

from __future__ import annotations

from titop.solvers.kernels.derivatives.direction_rooms import DISPLACED, FIRST, SECOND, THIRD, clear_row
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import by_rate_at, by_twist_at, is_used
from titop.solvers.kernels.interface.stages import part_of
from titop.solvers.kernels.ports.surroundings import by_displacement, is_held
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    carry_wrench,
    dot,
    entry_of,
    minus,
    plus,
    put_six,
    scaled,
    six,
    transport,
    twist_cross,
    wrench_cross,
)
from titop.solvers.native.kernel import helper

_NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@helper
def sum_ports(ints, i, sums):
    """Add the wrenches at general block i's ports to that of its row."""
    for p in range(ints[i, layout.PORT_COUNT]):
        if is_used(ints[i, layout.USED], p):
            add_six(sums, i, layout.WRENCH, six(sums, ints[i, layout.PORTS] + p, layout.WRENCH))


# -- along a direction


@helper
def move_ports(ints, columns, i, dq, dv, room):
    """Write the displacements, and the changes of twists and accelerations, of general block i's ports."""
    n, own = ints[i, layout.OWN], ints[i, layout.OWN_V]
    for p in range(ints[i, layout.PORT_COUNT]):
        if not is_used(ints[i, layout.USED], p):
            continue
        row, first = ints[i, layout.PORTS] + p, ints[i, layout.COLUMN] + p * n
        s, x, y = six(room, i, FIRST), six(room, i, SECOND), six(room, i, THIRD)
        for j in range(n):
            k, by_q, by_v = first + j, dq[own + j], dv[own + j]
            axis = six(columns, k, layout.COLUMN_S)
            s = plus(s, scaled(by_q, axis))
            x = plus(x, plus(scaled(by_q, six(columns, k, layout.COLUMN_X)), scaled(by_v, axis)))
            y = plus(y, plus(scaled(by_q, six(columns, k, layout.COLUMN_Y)), scaled(by_v, six(columns, k, layout.COLUMN_Z))))
        put_six(room, row, FIRST, s)
        put_six(room, row, SECOND, x)
        put_six(room, row, THIRD, y)


@helper
def answer_change(ints, law, slopes, i, twist, dq, dv, sums, room, change):
    """Return the change of the wrench that general block i takes, its ports' held, and add that of its efforts to `change`."""
    n, o, own = ints[i, layout.OWN], ints[i, layout.LAW], ints[i, layout.OWN_V]
    size, by_q, by_v = 6 + n, ints[i, layout.SLOPES], ints[i, layout.SLOPES] + by_rate_at(n)
    by_twist, along_q, along_v = ints[i, layout.SLOPES] + by_twist_at(n), part_of(dq, own, (n,)), part_of(dv, own, (n,))
    s, x = transport(sums, i, layout.BASE, six(room, i, FIRST)), transport(sums, i, layout.BASE, six(room, i, SECOND))
    y = minus(transport(sums, i, layout.BASE, six(room, i, THIRD)), twist_cross(twist, x))
    for r in range(size):
        total = dot(six(law, 0, o + r * size), y) + dot(six(slopes, 0, by_twist + 6 * r), x)
        if is_held(ints, i):
            total -= dot(six(slopes, 0, by_displacement(ints, i) + 6 * r), s)
        of_q, of_v, more = part_of(slopes, by_q + r * n, (n,)), part_of(slopes, by_v + r * n, (n,)), 0.0
        for j in range(n):
            total += of_q[j] * along_q[j]
            more += of_v[j] * along_v[j]
        if r < 6:
            room[i, THIRD + r] = total + more
        else:
            change[own + r - 6] += total + more
    return carry_wrench(sums, i, layout.BASE, six(room, i, THIRD))


@helper
def press_ports(ints, columns, i, room, change):
    """Add the changes of the wrenches at general block i's ports to that of its own, and to its efforts' in `change`."""
    n, own = ints[i, layout.OWN], ints[i, layout.OWN_V]
    for p in range(ints[i, layout.PORT_COUNT]):
        if is_used(ints[i, layout.USED], p):
            wrench, first = six(room, ints[i, layout.PORTS] + p, THIRD), ints[i, layout.COLUMN] + p * n
            for j in range(n):
                change[own + j] += dot(six(columns, first + j, layout.COLUMN_S), wrench)
            add_six(room, i, THIRD, wrench)


# -- transposed


@helper
def spread_to_ports(ints, columns, i, dual, room):
    """Write the dual vectors of general block i's ports, which nothing pulls yet."""
    n, own = ints[i, layout.OWN], ints[i, layout.OWN_V]
    for p in range(ints[i, layout.PORT_COUNT]):
        if is_used(ints[i, layout.USED], p):
            row, w = ints[i, layout.PORTS] + p, six(room, i, FIRST)
            for j in range(n):
                w = plus(w, scaled(dual[own + j], six(columns, ints[i, layout.COLUMN] + p * n + j, layout.COLUMN_S)))
            clear_row(room, row)
            put_six(room, row, FIRST, w)


@helper
def answer_pull(ints, law, slopes, i, twist, dual, sums, room, by_q, by_v):
    """Write how general block i, its ports' wrenches held, pulls its element, and add how it pulls its coordinates."""
    n, o, own = ints[i, layout.OWN], ints[i, layout.LAW], ints[i, layout.OWN_V]
    size, at = 6 + n, ints[i, layout.SLOPES]
    w, own_q, own_v = transport(sums, i, layout.BASE, six(room, i, FIRST)), part_of(by_q, own, (n,)), part_of(by_v, own, (n,))
    moved = stirred = displaced = _NOTHING
    for r in range(size):
        weight = entry_of(w, r) if r < 6 else dual[own + r - 6]
        moved = plus(moved, scaled(weight, six(law, 0, o + r * size)))
        stirred = plus(stirred, scaled(weight, six(slopes, 0, at + by_twist_at(n) + 6 * r)))
        if is_held(ints, i):
            displaced = minus(displaced, scaled(weight, six(slopes, 0, by_displacement(ints, i) + 6 * r)))
        of_q, of_v = part_of(slopes, at + r * n, (n,)), part_of(slopes, at + by_rate_at(n) + r * n, (n,))
        for j in range(n):
            own_q[j] += weight * of_q[j]
            own_v[j] += weight * of_v[j]
    put_six(room, i, SECOND, carry_wrench(sums, i, layout.BASE, moved))
    put_six(room, i, THIRD, carry_wrench(sums, i, layout.BASE, plus(stirred, wrench_cross(twist, moved))))
    put_six(room, i, DISPLACED, carry_wrench(sums, i, layout.BASE, displaced))


@helper
def pull_ports(ints, columns, i, room, by_q, by_v):
    """Add what pulls general block i's ports to what pulls its element and its coordinates."""
    n, own = ints[i, layout.OWN], ints[i, layout.OWN_V]
    for p in range(ints[i, layout.PORT_COUNT]):
        if not is_used(ints[i, layout.USED], p):
            continue
        row = ints[i, layout.PORTS] + p
        moved, stirred, displaced = six(room, row, SECOND), six(room, row, THIRD), six(room, row, DISPLACED)
        for j in range(n):
            k = ints[i, layout.COLUMN] + p * n + j
            axis = six(columns, k, layout.COLUMN_S)
            along = dot(six(columns, k, layout.COLUMN_X), stirred) + dot(six(columns, k, layout.COLUMN_Y), moved)
            by_q[own + j] += along + dot(axis, displaced)
            by_v[own + j] += dot(axis, stirred) + dot(six(columns, k, layout.COLUMN_Z), moved)
        add_six(room, i, SECOND, moved)
        add_six(room, i, THIRD, stirred)
        add_six(room, i, DISPLACED, displaced)
