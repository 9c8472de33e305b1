"""The stages of flexible bodies with second order: inverse dynamics without mass matrix, and the linearised law.

The few numbers of `stiffening_body` change with the coordinates and their rates by the tables of `stiffening`, and what the
body takes by products of the two.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import (
    by_rate_at,
    by_twist_at,
    columns_at,
    is_used,
    law_size,
    port_at,
    slopes_size,
)
from titop.solvers.kernels.interface.stages import row_at, vector_at
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw
from titop.solvers.kernels.laws.modal import PARTICIPATION, mass_at, moved, numbers_at
from titop.solvers.kernels.laws.modal_ports import (
    CARRIED_BY_PLACE,
    PULLED_BY_PLACE,
    RATE_BY_PLACE,
    RATE_BY_SPEED,
    SHAPE,
    TWIST_BY_PLACE,
    TWIST_BY_SPEED,
    port_motion,
    pose_of,
    pulled_back,
    write_port_slopes,
    write_subspace,
)
from titop.solvers.kernels.laws.modal_stages import (
    KEPT,
    add_between,
    add_through,
    energy,
    keep_port,
    press_inwards,
)
from titop.solvers.kernels.laws.rod_matrices import add_rows, column_of, put_column
from titop.solvers.kernels.laws.stiffening import (
    SHORTENING,
    STIRRING,
    TABLE,
    add_row,
    add_taken,
    curved,
    displaced,
    group_at,
    halves_of,
    inverse_at,
    moments_at,
    own_row,
    write_alone,
    write_few,
    write_inertia,
    write_law,
    write_shape,
    write_table,
    write_tables,
)
from titop.solvers.kernels.laws.stiffening_body import (
    BY_FIRST,
    BY_MOMENTS,
    BY_PRODUCTS,
    BY_SECOND,
    FEW,
    M1,
    M1_RATE,
    M2,
    M2_RATE,
    M2_SECOND,
    PRODUCTS,
    PRODUCTS_RATE,
    SPUN_RATE,
    STIRRED,
    STIRRED_RATE,
    TAKEN,
    WRENCH,
    take_alone,
    take_change,
    take_turn,
)
from titop.solvers.kernels.spatial.algebra import (
    entry_of,
    plus,
    scaled,
    six,
    unit,
)
from titop.solvers.native.kernel import helper

#: Numbers of a 6x6 matrix.
_FULL = 36

#: Where changes of what turns into efforts stand, behind what else needs room, and how many rows (n) they are: of what the
#: participation (6), the moments (12) and their H (12) turn.
_CHANGES, _WEIGHTS = 7 * _FULL, 30


@helper
def _port_room(n):
    """Return how much `_outward` keeps of a port: phi and two coefficients, and its shape."""
    return KEPT + 6 * n


@helper
def room_of(n, ports, numbers):
    """Return how much the stages need: what `_inward` reads of the body alone and of each port; few numbers and tables."""
    return _few_at(n, ports) + FEW + TAKEN + (2 * TABLE + 1) * n


@helper
def _few_at(n, ports):
    """Return where the few numbers stand in the room; what is taken alone, two tables and a row (n) follow."""
    return 6 + n + ports * _port_room(n)


def terms(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    few = room + 8 * _few_at(n, ports)
    tables = few + 8 * (FEW + TAKEN)
    still = vector_at(tables + 8 * 2 * TABLE * n, n)
    for j in range(n):
        still[j] = 0.0
    write_law(
        n,
        ports,
        used,
        row_at(numbers, number_count),
        vector_at(q, n),
        vector_at(v, n),
        still,
        row_at(twist, 6),
        passive,
        row_at(tables, TABLE * n),
        row_at(tables + 8 * TABLE * n, TABLE * n),
        row_at(few, FEW),
        row_at(few + 8 * FEW, TAKEN),
        row_at(law, law_size(n, ports)),
    )
    return layout.OK


def outward(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    modes, record, alone = (
        row_at(numbers, number_count),
        row_at(law, law_size(n, ports)),
        row_at(room, room_of(n, ports, number_count)),
    )
    own_q, own_v, own_a = vector_at(q, n), vector_at(v, n), vector_at(a, n)
    x, y = six(row_at(twist, 6), 0, 0), six(row_at(acceleration, 6), 0, 0)
    few = room + 8 * _few_at(n, ports)
    f, taken, by_q = row_at(few, FEW), row_at(few + 8 * FEW, TAKEN), row_at(few + 8 * (FEW + TAKEN), TABLE * n)
    by_v = row_at(few + 8 * (FEW + TAKEN + TABLE * n), TABLE * n)
    write_tables(modes, n, ports, own_q, own_v, by_q, by_v)
    write_few(modes, n, ports, own_q, own_v, own_a, x, y, by_q, by_v, f)
    write_alone(modes, n, ports, passive, own_q, own_v, own_a, f, by_q, by_v, taken, alone, 0)
    for p in range(ports):
        if not is_used(used, p):
            continue
        o, target, kept = numbers_at(n, p), port_at(n, p), 6 + n + p * _port_room(n)
        shape = kept + KEPT
        write_shape(modes, n, ports, p, own_q, alone, shape)
        at = pose_of(modes, o, displaced(modes, o + SHAPE, n, own_q, alone, shape))
        rate = moved(alone, shape, n, own_v)
        second = plus(moved(alone, shape, n, own_a), curved(modes, n, ports, p, own_v, by_v))
        speed, gained = port_motion(modes, o, at, rate, second, x, y)
        keep_port(record, target, at, speed, gained, alone, kept)
    return layout.OK


def inward(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    modes, record, alone = (
        row_at(numbers, number_count),
        row_at(law, law_size(n, ports)),
        row_at(room, room_of(n, ports, number_count)),
    )
    stride, shapes = _port_room(n), 6 + n + KEPT
    press_inwards(n, ports, used, modes, record, alone, stride, alone, shapes, stride)
    return layout.OK


def slopes(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    modes, record = row_at(numbers, number_count), row_at(law, law_size(n, ports))
    own_q, own_v, own_a = vector_at(q, n), vector_at(v, n), vector_at(a, n)
    x, y, group = six(row_at(twist, 6), 0, 0), six(row_at(acceleration, 6), 0, 0), group_at(modes, n, ports, 0)
    own = own_row(modes, n, ports)
    size = slopes_size(n, ports)
    result, f, taken = row_at(slopes, size), np.empty((1, FEW), np.float64), np.empty((1, TAKEN), np.float64)
    by_q, by_v, by_a = np.empty((1, TABLE * n)), np.empty((1, TABLE * n)), np.empty((1, TABLE * n))
    for k in range(size):
        result[0, k] = 0.0
    write_table(modes, group, own + 6, own + 6, n, own_q, by_q, 0)
    write_table(modes, group, own + 6, own + 6, n, own_v, by_v, 0)
    write_table(modes, group, own + 6, own, n, own_a, by_a, 0)
    write_few(modes, n, ports, own_q, own_v, own_a, x, y, by_q, by_v, f)
    take_alone(modes, inverse_at(n, ports), f, taken)
    change = np.empty((1, FEW), np.float64)
    small = np.empty((1, _CHANGES + _WEIGHTS * n))
    _add_changes(modes, n, ports, f, taken, by_q, by_v, by_a, change, small, result)
    _add_turns(modes, n, ports, f, taken, by_q, by_v, small, result)
    _add_curvature(modes, n, ports, x, y, taken, result)
    if passive:
        for k in range(n * n):
            result[0, 6 * n + k] += modes[0, mass_at(n) + n * n + k]
            result[0, by_rate_at(n) + 6 * n + k] += modes[0, mass_at(n) + 2 * n * n + k]
    write_inertia(modes, n, ports, by_q, f, small, record)
    for p in range(ports):
        if is_used(used, p):
            _add_port(modes, n, ports, p, own_q, own_v, own_a, x, y, record, by_q, by_v, by_a, small, result)
    return layout.OK


@helper
def _add_changes(modes, n, ports, f, taken, by_q, by_v, by_a, change, room, slopes):
    """Add the changes of the few numbers with the coordinates and their rates, the tables held.

    The row `change` is room for those numbers, `room` for what the body takes and, behind, for what turns into efforts.
    """
    for k in range(2):
        begin = k * by_rate_at(n)
        for j in range(n):
            for r in range(FEW):
                change[0, r] = 0.0
            if k == 0:
                _step_coordinate(modes, n, ports, j, by_q, by_v, by_a, change)
            else:
                _step_rate(modes, n, ports, j, by_q, by_v, change)
            take_change(modes, inverse_at(n, ports), f, taken, change, room)
            put_column(slopes, begin, n, j, six(room, 0, WRENCH))
            for r in range(_WEIGHTS):  # the moments' first three rows take no part
                at = BY_FIRST + r if r < 6 else BY_MOMENTS + r - 9
                room[0, _CHANGES + r * n + j] = 0.0 if 6 <= r < 9 else room[0, at]
        halves, moments = halves_of(modes, n, ports), moments_at(n, ports)
        for i in range(n):
            row = begin + (6 + i) * n
            add_rows(slopes, row, column_of(modes, PARTICIPATION, n, i), room, _CHANGES, n, n)
            for half in range(halves):
                first, second = _CHANGES + (6 + 6 * half) * n, _CHANGES + (18 + 6 * half) * n
                add_rows(slopes, row, column_of(modes, moments + 6 * half * n, n, i), room, first, n, n)
                bent = column_of(by_q, (SHORTENING + 6 * half) * n, n, i)
                add_rows(slopes, row, scaled(-1.0, bent), room, second, n, n)


@helper
def _add_turns(modes, n, ports, f, taken, by_q, by_v, changed, slopes):
    """Add the changes with the twist; the row `changed` is room for it."""
    for j in range(6):
        take_turn(modes, inverse_at(n, ports), f, taken, unit(j), changed)
        put_column(slopes, by_twist_at(n), 6, j, six(changed, 0, WRENCH))
        for i in range(n):
            changed[0, TAKEN + i] = 0.0
        add_taken(modes, n, ports, by_q, changed, changed, TAKEN)
        if j >= 3:
            add_row(2.0, by_v, (STIRRING + j - 3) * n, n, changed, TAKEN)
        for i in range(n):
            slopes[0, by_twist_at(n) + (6 + i) * 6 + j] = changed[0, TAKEN + i]


@helper
def _step_coordinate(modes, n, ports, j, by_q, by_v, by_a, f):
    """Add the change of the few numbers with the j-th coordinate."""
    moments, own = moments_at(n, ports), own_row(modes, n, ports)
    for k in range(3):
        f[0, STIRRED + k] -= by_v[0, (STIRRING + k) * n + j]
        f[0, STIRRED_RATE + k] -= by_a[0, (STIRRING + k) * n + j]
    for k in range(own - SHORTENING):
        row = (SHORTENING + k) * n + j
        f[0, M1 + k] += modes[0, moments + k * n + j]
        f[0, M2 + k] -= by_q[0, row]
        f[0, M2_RATE + k] -= by_v[0, row]
        f[0, M2_SECOND + k] -= by_a[0, row]
    for k in range(6):
        f[0, PRODUCTS + k] += 2.0 * by_q[0, (own + k) * n + j]
        f[0, PRODUCTS_RATE + k] += 2.0 * by_v[0, (own + k) * n + j]


@helper
def _step_rate(modes, n, ports, j, by_q, by_v, f):
    """Add the change of the few numbers with the j-th rate."""
    moments, own = moments_at(n, ports), own_row(modes, n, ports)
    for k in range(3):
        f[0, SPUN_RATE + k] += modes[0, PARTICIPATION + (3 + k) * n + j]
        f[0, STIRRED + k] += by_q[0, (STIRRING + k) * n + j]
    for k in range(own - SHORTENING):
        row = (SHORTENING + k) * n + j
        f[0, M1_RATE + k] += modes[0, moments + k * n + j]
        f[0, M2_RATE + k] -= by_q[0, row]
        f[0, M2_SECOND + k] -= 2.0 * by_v[0, row]
    for k in range(6):
        f[0, PRODUCTS_RATE + k] += 2.0 * by_q[0, (own + k) * n + j]


@helper
def _add_curvature(modes, n, ports, x, y, taken, slopes):
    """Add the changes of the tables with the coordinates and their rates, what they are multiplied by held."""
    by_q, by_v = 6 * n, by_rate_at(n) + 6 * n
    group, own = group_at(modes, n, ports, 0), own_row(modes, n, ports)
    for k in range(own - SHORTENING):
        _add_matrix(-taken[0, BY_SECOND + k], modes, group, own + 6, SHORTENING + k, n, slopes, by_q)
    for k in range(6):
        _add_matrix(taken[0, BY_PRODUCTS + k], modes, group, own + 6, own + k, n, slopes, by_q)
    for k in range(3):  # antisymmetric: rows for columns is a change of sign
        _add_matrix(-entry_of(y, 3 + k), modes, group, own + 6, STIRRING + k, n, slopes, by_q)
        _add_matrix(-2.0 * entry_of(x, 3 + k), modes, group, own + 6, STIRRING + k, n, slopes, by_v)


@helper
def _add_matrix(weight, modes, group, matrices, k, n, t, o):
    """Add the k-th of a group's `matrices` times its weight to that at ``t[0, o]``."""
    kept = int(modes[0, group + 2 + k])
    if kept >= 0:
        stride, first = int(modes[0, group]) * n, group + 2 + matrices + kept * n
        for r in range(n):
            add_row(weight, modes, first + r * stride, n, t, o + r * n)


@helper
def _add_port(modes, n, ports, p, q, v, a, x, y, law, shape, by_v, by_a, small, slopes):
    """Write X, Y and Z of a port and its S, and add how its wrench changes W_P and tau along q.

    The tables are used up: `shape` for ``Phi - H q``, the others for ``-H v`` and ``-H a``.
    """
    o, target, group = numbers_at(n, p), port_at(n, p), group_at(modes, n, ports, 1 + p)
    write_shape(modes, n, ports, p, q, shape, 0)
    moving, rates = displaced(modes, o + SHAPE, n, q, shape, 0), moved(shape, 0, n, v)
    second = plus(moved(shape, 0, n, a), curved(modes, n, ports, p, v, by_v))
    for x_of, table in ((v, by_v), (a, by_a)):
        write_table(modes, group, 6, 6, n, x_of, table, 0)
        for k in range(6 * n):
            table[0, k] = -table[0, k]
    write_subspace(modes, o, n, pose_of(modes, o, moving), shape, 0, law, target + layout.PORT_S)
    speed, wrench = six(law, 0, target + layout.PORT_TWIST), six(law, 0, target + layout.PORT_WRENCH)
    write_port_slopes(modes, o, moving, rates, second, x, y, speed, wrench, small)
    by_place, by_speed = columns_at(n, p), columns_at(n, p) + 6 * n
    by_rate = columns_at(n, p) + 12 * n
    add_through(small, TWIST_BY_PLACE, shape, 0, n, slopes, by_place)
    add_through(small, TWIST_BY_SPEED, by_v, 0, n, slopes, by_place)
    add_through(small, RATE_BY_PLACE, shape, 0, n, slopes, by_speed)
    add_through(small, RATE_BY_SPEED, by_v, 0, n, slopes, by_speed)
    add_through(small, TWIST_BY_SPEED, by_a, 0, n, slopes, by_speed)
    add_through(small, RATE_BY_SPEED, shape, 0, n, slopes, by_rate)
    for _ in range(2):
        add_through(small, TWIST_BY_SPEED, by_v, 0, n, slopes, by_rate)
    add_through(small, CARRIED_BY_PLACE, shape, 0, n, slopes, 0)
    add_between(small, PULLED_BY_PLACE, shape, 0, n, slopes, 6 * n)
    pulled = pulled_back(modes, o, pose_of(modes, o, moving), wrench)
    for k in range(6):
        _add_matrix(-entry_of(pulled, k), modes, group, 6, k, n, slopes, 6 * n)


LAW = CompiledLaw("stiffening", terms=terms, outward=outward, inward=inward, slopes=slopes, energy=energy, room=room_of)
