"""Derivatives of the inverse dynamics of trees along one direction, and transposed, in O(N).

In the terms of `tree_derivatives`: along changes dq, dv and da the blocks' displacements, twists and accelerations change by
the sums ``s = S dq``, ``x = X dq + S dv`` and ``y = Y dq + Z dv + S da`` over the coordinates that carry them, their wrenches
by ``B x + D y``; what a joint transmits turns along with the displacement of the joint alone. The transposed pass carries a
dual vector, one number a coordinate, outwards as a twist w, and ``B^T w`` and ``D w`` inwards.

`sums` holds each block alone, but for the wrenches, which `sum_wrenches` has summed. `law` is None in trees of rigid bodies.
"""

from __future__ import annotations

from titop.solvers.kernels.derivatives.interaction_directions import subtract_interaction_change, subtract_interaction_pull
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
from titop.solvers.kernels.tree.armatures import add_armature_products, armature_effort
from titop.solvers.kernels.tree.joints import coordinates_of
from titop.solvers.kernels.tree.springs import subtract_spring_changes, subtract_spring_pulls
from titop.solvers.kernels.tree.subtree_sums import (
    DISPLACED,
    FIRST,
    ROOM_COLUMNS,
    SECOND,
    THIRD,
    clear,
    held,
    holding,
    rigid_stirred,
    rigid_stirring,
    sum_momentum,
)
from titop.solvers.native.kernel import helper


@helper
def sum_wrenches(ints, law, sums):
    """Sum the wrenches of the blocks of every subtree."""
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        if law is not None and ints[i, layout.LAW] >= 0:
            sum_ports(ints, i, sums)
        if ints[i, layout.PARENT] > 0:
            add_six(sums, _carrier(ints, law, i), layout.WRENCH, six(sums, i, layout.WRENCH))


@helper
def _carrier(ints, law, i):
    """Return the row of `sums` of what carries element i: its parent, or the port of a general block."""
    p = ints[i, layout.PARENT]
    if law is not None and ints[i, layout.ROW] >= 0:
        p = ints[i, layout.ROW]
    return p


# -- along a direction


@helper
def add_change(tables, law, slopes, state, along, passes, room, change):
    """Add the derivative of inverse dynamics along dq, dv and da to `change` (nv); see `subtree_sums`."""
    (ints, floats), (q, v), (dq, dv, da), (work, sums, columns) = tables, state, along, passes
    _move_outwards(ints, law, columns, along, room)
    for i in range(1, ints[0, layout.ELEMENTS]):
        if law is not None and ints[i, layout.LAW] >= 0:
            answer = answer_change(ints, (law, slopes), i, six(work, i, layout.TWIST), along, sums, room, change)
            put_six(room, i, THIRD, answer)
            continue
        put_six(room, i, THIRD, rigid_stirred(sums, i, six(room, i, SECOND), six(room, i, THIRD)))
    _hold(ints, law, sums, room)
    if law is not None:
        subtract_interaction_change(tables, law, slopes, along, sums, room, change)
    _press_inwards(ints, law, dq, sums, columns, room, change)
    if ints[0, layout.SPRINGS] > 0:
        subtract_spring_changes(ints, floats, q, v, dq, dv, change)
    add_armature_products(ints, floats, v, dv, False, change)
    _add_armatures(ints, floats, da, change)


@helper
def _add_armatures(ints, floats, x, y):
    """Add the armatures times x to y."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        armature_effort(ints, floats, i, x, y, ints[i, layout.V])


@helper
def _move_outwards(ints, law, columns, along, room):
    clear(room, 0, 0, ROOM_COLUMNS)
    for i in range(1, ints[0, layout.ELEMENTS]):
        p = _carrier(ints, law, i)
        k = ints[i, layout.V]
        _move_by(columns, k, coordinates_of(ints[i, layout.KIND]), k, along, p, i, room)
        if law is not None and ints[i, layout.LAW] >= 0:
            move_ports(ints, columns, i, along, room)


@helper
def _move_by(columns, first, n, k, along, p, row, room):
    """Write displacement and changes of a row: those of row p, and of n coordinates from k, whose columns begin at `first`."""
    s, x, y = six(room, p, FIRST), six(room, p, SECOND), six(room, p, THIRD)
    for j in range(n):
        c, by_q, by_v, by_a = first + j, along[0][k + j], along[1][k + j], along[2][k + j]
        axis = six(columns, c, layout.COLUMN_S)
        s = plus(s, scaled(by_q, axis))
        x = plus(x, plus(scaled(by_q, six(columns, c, layout.COLUMN_X)), scaled(by_v, axis)))
        y = plus(y, plus(scaled(by_q, six(columns, c, layout.COLUMN_Y)), scaled(by_v, six(columns, c, layout.COLUMN_Z))))
        y = plus(y, scaled(by_a, axis))
    put_six(room, row, FIRST, s)
    put_six(room, row, SECOND, x)
    put_six(room, row, THIRD, y)


@helper
def _hold(ints, law, sums, room):
    """Begin the changes of wrenches at ports, and add what inertial loads, which do not turn along, bring to all."""
    if law is not None:
        for row in range(ints[0, layout.ELEMENTS], sums.shape[0]):
            put_six(room, row, THIRD, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    if ints[0, layout.INERTIAL_LOADS]:
        for row in range(1, sums.shape[0]):  # ports out of use have what nobody reads
            add_six(room, row, THIRD, holding(None, sums, row, six(room, row, FIRST)))


@helper
def _press_inwards(ints, law, dq, sums, columns, room, change):
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        if law is not None and ints[i, layout.LAW] >= 0:
            press_ports(ints, columns, i, room, change)
        wrench, turn = six(room, i, THIRD), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        for k in range(ints[i, layout.V], ints[i, layout.V] + coordinates_of(ints[i, layout.KIND])):
            axis = six(columns, k, layout.COLUMN_S)
            change[k] += dot(axis, wrench)
            turn = plus(turn, scaled(dq[k], axis))
        if ints[i, layout.PARENT] > 0:
            add_six(room, _carrier(ints, law, i), THIRD, plus(wrench, wrench_cross(turn, six(sums, i, layout.WRENCH))))


# -- transposed


@helper
def add_pulls(tables, law, slopes, state, dual, passes, room, pulled):
    """Add the derivatives of inverse dynamics by q, v and a, transposed, times `dual` to what is `pulled` (thrice nv)."""
    (ints, floats), (q, v), (work, sums, columns), (by_q, by_v, by_a) = tables, state, passes, pulled
    clear(room, 0, 0, ROOM_COLUMNS)
    for i in range(1, ints[0, layout.ELEMENTS]):
        w = six(room, _carrier(ints, law, i), FIRST)
        for k in range(ints[i, layout.V], ints[i, layout.V] + coordinates_of(ints[i, layout.KIND])):
            w = plus(w, scaled(dual[k], six(columns, k, layout.COLUMN_S)))
        put_six(room, i, FIRST, w)
        put_six(room, i, DISPLACED, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        if law is not None and ints[i, layout.LAW] >= 0:
            answer_pull(ints, (law, slopes), i, six(work, i, layout.TWIST), dual, sums, room, pulled)
            spread_to_ports(ints, columns, i, dual, room)
            continue
        put_six(room, i, SECOND, sum_momentum(sums, i, w))
        x, y, z = rigid_stirring(sums, i, w)
        put_six(room, i, THIRD, (0.0, 0.0, 0.0, x, y, z))
    if ints[0, layout.INERTIAL_LOADS]:
        for row in range(1, sums.shape[0]):
            x, y, z = held(sums, row, six(room, row, FIRST))
            add_six(room, row, DISPLACED, (0.0, 0.0, 0.0, x, y, z))
    if law is not None:
        subtract_interaction_pull(tables, law, slopes, dual, sums, room, pulled)
    _pull_inwards(ints, law, sums, columns, room, pulled)
    if ints[0, layout.SPRINGS] > 0:
        subtract_spring_pulls(ints, floats, q, v, dual, by_q, by_v)
    add_armature_products(ints, floats, v, dual, True, by_v)
    _add_armatures(ints, floats, dual, by_a)


@helper
def _pull_inwards(ints, law, sums, columns, room, pulled):
    by_q, by_v, by_a = pulled
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        if law is not None and ints[i, layout.LAW] >= 0:
            pull_ports(ints, columns, i, room, pulled)
        p = _carrier(ints, law, i)
        moved, stirred, displaced = six(room, i, SECOND), six(room, i, THIRD), six(room, i, DISPLACED)
        whole, carrier = six(sums, i, layout.WRENCH), six(room, p, FIRST)
        for k in range(ints[i, layout.V], ints[i, layout.V] + coordinates_of(ints[i, layout.KIND])):
            axis = six(columns, k, layout.COLUMN_S)
            by_q[k] += dot(six(columns, k, layout.COLUMN_X), stirred) + dot(six(columns, k, layout.COLUMN_Y), moved)
            by_q[k] += dot(wrench_cross(axis, whole), carrier) + dot(axis, displaced)
            by_v[k] += dot(axis, stirred) + dot(six(columns, k, layout.COLUMN_Z), moved)
            by_a[k] += dot(axis, moved)
        if p > 0:
            add_six(room, p, SECOND, moved)
            add_six(room, p, THIRD, stirred)
            add_six(room, p, DISPLACED, displaced)


# -- general blocks, whose linearised laws stand in ``slopes`` (see `layout`). A block at rest in moving axes meets a
# displacement s and changes x and y as a change x of its twist V and ``y + ad(x) V`` of its acceleration; what comes of it are
# changes of W_P and of its efforts.


@helper
def sum_ports(ints, i, sums):
    """Add the wrenches at general block i's ports to that of its row."""
    for p in range(ints[i, layout.PORT_COUNT]):
        if is_used(ints[i, layout.USED], p):
            add_six(sums, i, layout.WRENCH, six(sums, ints[i, layout.PORTS] + p, layout.WRENCH))


@helper
def move_ports(ints, columns, i, along, room):
    """Write the displacements, and the changes of twists and accelerations, of general block i's ports."""
    n, own = ints[i, layout.OWN], ints[i, layout.OWN_V]
    for p in range(ints[i, layout.PORT_COUNT]):
        if is_used(ints[i, layout.USED], p):
            _move_by(columns, ints[i, layout.COLUMN] + p * n, n, own, along, i, ints[i, layout.PORTS] + p, room)


@helper
def answer_change(ints, records, i, twist, along, sums, room, change):
    """Return the change of the wrench that general block i takes, its ports' held, and add that of its efforts to `change`."""
    (law, slopes), n, o, own = records, ints[i, layout.OWN], ints[i, layout.LAW], ints[i, layout.OWN_V]
    size, by_q, along_q, along_v = 6 + n, ints[i, layout.SLOPES], part_of(along[0], own, (n,)), part_of(along[1], own, (n,))
    by_v, by_twist, along_a, accelerated = by_q + by_rate_at(n), by_q + by_twist_at(n), part_of(along[2], own, (n,)), (0.0,) * 6
    for j in range(n):
        accelerated = plus(accelerated, scaled(along_a[j], six(law, 0, o + (6 + j) * size)))
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
            room[i, THIRD + r] = total + more + entry_of(accelerated, r)
        else:
            of_a = part_of(law, o + r * size + 6, (n,))
            for j in range(n):
                more += of_a[j] * along_a[j]
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


@helper
def spread_to_ports(ints, columns, i, dual, room):
    """Write the dual vectors of general block i's ports, which nothing pulls yet."""
    n, own = ints[i, layout.OWN], ints[i, layout.OWN_V]
    for p in range(ints[i, layout.PORT_COUNT]):
        if is_used(ints[i, layout.USED], p):
            row, w = ints[i, layout.PORTS] + p, six(room, i, FIRST)
            for j in range(n):
                w = plus(w, scaled(dual[own + j], six(columns, ints[i, layout.COLUMN] + p * n + j, layout.COLUMN_S)))
            clear(room, row, 0, ROOM_COLUMNS)
            put_six(room, row, FIRST, w)


@helper
def answer_pull(ints, records, i, twist, dual, sums, room, pulled):
    """Write how general block i, its ports' wrenches held, pulls its element, and add how it pulls its coordinates."""
    (law, slopes), n, o, own = records, ints[i, layout.OWN], ints[i, layout.LAW], ints[i, layout.OWN_V]
    size, at, w = 6 + n, ints[i, layout.SLOPES], transport(sums, i, layout.BASE, six(room, i, FIRST))
    own_q, own_v, own_a = part_of(pulled[0], own, (n,)), part_of(pulled[1], own, (n,)), part_of(pulled[2], own, (n,))
    moved = stirred = displaced = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
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
        if r >= 6:
            of_a = part_of(law, o + r * size + 6, (n,))
            own_a[r - 6] += dot(six(law, 0, o + r * size), w)
            for j in range(n):
                own_a[j] += weight * of_a[j]
    put_six(room, i, SECOND, carry_wrench(sums, i, layout.BASE, moved))
    put_six(room, i, THIRD, carry_wrench(sums, i, layout.BASE, plus(stirred, wrench_cross(twist, moved))))
    put_six(room, i, DISPLACED, carry_wrench(sums, i, layout.BASE, displaced))


@helper
def pull_ports(ints, columns, i, room, pulled):
    """Add what pulls general block i's ports to what pulls its element and its coordinates."""
    n, own, (by_q, by_v, by_a) = ints[i, layout.OWN], ints[i, layout.OWN_V], pulled
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
            by_a[own + j] += dot(axis, moved)
        add_six(room, i, SECOND, moved)
        add_six(room, i, THIRD, stirred)
        add_six(room, i, DISPLACED, displaced)
