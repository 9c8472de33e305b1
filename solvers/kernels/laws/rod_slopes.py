"""The linearised law of rods, from what ``outward`` and ``inward`` have kept of the state.

In inertial axes, those of the base at this moment, what the coordinates change follows from S and its rates: X is ``dS/dt``, Y
``d2S/dt2`` and Z twice X (see `derivatives`). What a step adds to S is ``T z``, z what a coordinate adds to Omega.

The wrench F of a point changes by ``I Y + B X - ad(S)^T F`` with q and by ``I Z + B S`` with v, as a rigid body's does.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import by_rate_at, by_twist_at, columns_at, is_used, law_size, port_at, slopes_size
from titop.solvers.kernels.interface.stages import row_at
from titop.solvers.kernels.laws.rod_columns import add_mass, add_moved, is_massive, mirror_mass
from titop.solvers.kernels.laws.rod_matrices import (
    add_product,
    add_rows,
    add_scaled,
    clear,
    column_of,
    put_column,
    write_back_transport,
)
from titop.solvers.kernels.laws.rod_motion import momentum_of, own_wrench, spun_moment
from titop.solvers.kernels.laws.rod_numbers import (
    COMPONENTS,
    SHAPES,
    TWIST,
    WRENCH,
    inertia_at,
    intervals_of,
    kept_place,
    kept_size,
    kept_step,
    start_of,
    step_at,
    stiffness_at,
    whole_at,
)
from titop.solvers.kernels.laws.rod_tables import TABLE, write_moving, write_pressing
from titop.solvers.kernels.spatial.algebra import (
    carry_wrench,
    cross,
    full_times,
    plus,
    scaled,
    six,
    transport,
    twist_cross,
    unit,
    wrench_cross,
)
from titop.solvers.native.kernel import helper, shared

#: Rows of S, X and Y of a place.
ROWS = 18

#: Numbers of the matrix that turns them into what changes there by q and by v.
_MATRIX = 12 * ROWS


def write_slopes(
    n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes
):
    """Write the linearised law, M and every S; see `stages`."""
    rod, result = row_at(numbers, number_count), row_at(slopes, slopes_size(n, ports))
    record = row_at(law, law_size(n, ports))
    intervals = intervals_of(rod)
    places, kept = intervals + 1 + ports, row_at(room, kept_size(intervals, ports))
    columns, wrenches = np.empty((1, places * ROWS * n)), np.empty((1, places * 6 * n))
    tables, small = np.empty((1, (intervals + ports + 3) * TABLE)), np.empty((1, _MATRIX + 36 + ROWS * n))
    own = np.empty((1, 6 * n))
    clear(result, 0, slopes_size(n, ports))
    clear(record, 0, (6 + n) * (6 + n))
    if passive:
        stiffness = stiffness_at(n, intervals)
        add_scaled(result, 6 * n, 1.0, rod, stiffness, n * n)
        add_scaled(result, by_rate_at(n) + 6 * n, 1.0, rod, stiffness + n * n, n * n)
    move_columns(n, ports, used, rod, kept, tables, columns)
    clear(wrenches, 0, places * 6 * n)
    for i in range(intervals + 1):
        if is_massive(n, intervals, rod, i):
            _add_point(n, intervals, rod, i, kept, six(row_at(twist, 6), 0, 0), columns, wrenches, small, own, record, result)
    mirror_mass(n, record)
    for p in range(ports):
        if is_used(used, p):
            place = intervals + 1 + p
            wrench = carry_wrench(kept, 0, kept_place(place), six(kept, 0, kept_place(place) + WRENCH))
            add_held(n, wrench, columns, ROWS * n * place, small, wrenches, 6 * n * place)
    press_columns(n, ports, used, ROWS, rod, kept, tables, columns, wrenches, small, result)
    for p in range(ports):
        if is_used(used, p):
            _write_port(n, p, columns, ROWS * n * (intervals + 1 + p), small, record, result)
    return layout.OK


@helper
def move_columns(n, ports, used, numbers, kept, tables, columns):
    """Write S, X and Y of all places, and the steps' tables of S."""
    intervals = intervals_of(numbers)
    clear(columns, 0, ROWS * n)
    other = TABLE * (intervals + ports)
    for k in range(intervals + ports):
        if k >= intervals and not is_used(used, k - intervals):
            continue
        o, own = step_at(n, intervals, k), TABLE * k
        write_moving(numbers[0, o], kept, kept_step(intervals, ports, k), kept_place(k + 1), tables, own, other)
        begin, end = ROWS * n * start_of(n, intervals, numbers, k), ROWS * n * (k + 1)
        for r in range(3):
            at = own if r == 0 else other + TABLE * (r - 1)
            add_moved(n, numbers, o, tables, at, columns, begin + 6 * n * r, columns, end + 6 * n * r)


@helper
def _add_point(n, intervals, numbers, i, kept, twist, columns, wrenches, small, own, law, slopes):
    """Add to M and to the slopes what a point does, and write what its wrench changes by with q; `own` is room for its S."""
    place, s = kept_place(i), ROWS * n * i
    by_twist, by_q = _MATRIX, _MATRIX + 36
    by_v = by_q + 6 * n
    _write_point(n, intervals, numbers, i, kept, own_wrench(n, intervals, numbers, i, kept), twist, small)
    clear(small, by_q, 12 * n)
    for r in range(2):
        add_product(small, by_q + 6 * n * r, 6, small, 6 * ROWS * r, ROWS, 3 - r, columns, s, n)
    add_scaled(wrenches, 6 * n * i, 1.0, small, by_q, 6 * n)
    add_scaled(slopes, by_rate_at(n), 1.0, small, by_v, 6 * n)
    add_scaled(slopes, by_twist_at(n), 1.0, small, by_twist, 36)
    for j in range(n):
        x = column_of(columns, s, n, j)
        add_rows(slopes, by_rate_at(n) + (6 + j) * n, x, small, by_v, n, n)
        add_rows(slopes, by_twist_at(n) + 6 * (6 + j), x, small, by_twist, 6, 6)
    clear(own, 0, 6 * n)
    write_back_transport(kept, place, small, 0)
    add_product(own, 0, 6, small, 0, 6, 1, columns, s, n)
    add_mass(n, intervals, numbers, i, kept, own, 0, small, law)


@helper
def _write_point(n, intervals, numbers, i, kept, wrench, twist, t):
    """Write ``[[-ad()^T F, B, I], [B, 2 I, 0]]``, in the axes of the base, then ``I ad(V) + B`` for its twist V."""
    place = kept_place(i)
    speed, wrench = six(kept, 0, place + TWIST), carry_wrench(kept, 0, place, wrench)
    clear(t, 0, _MATRIX)
    for c in range(6):
        x = transport(kept, 0, place, unit(c))
        taken = momentum_of(n, intervals, numbers, i, x)
        stirred = carry_wrench(kept, 0, place, _stirred(n, intervals, numbers, i, speed, x))
        taken = carry_wrench(kept, 0, place, taken)
        put_column(t, 0, ROWS, c, wrench_cross(unit(c), wrench))
        put_column(t, 0, ROWS, 6 + c, stirred)
        put_column(t, 0, ROWS, 12 + c, taken)
        put_column(t, 6 * ROWS, ROWS, c, stirred)
        put_column(t, 6 * ROWS, ROWS, 6 + c, scaled(2.0, taken))
        along = transport(kept, 0, place, twist_cross(twist, unit(c)))
        moved = carry_wrench(kept, 0, place, momentum_of(n, intervals, numbers, i, along))
        put_column(t, _MATRIX, 6, c, plus(moved, stirred))


@helper
def _stirred(n, intervals, numbers, i, speed, x):
    """Return B of point i times the twist x: ``I ad(x) V - ad(x)^T I V - ad(V)^T I x`` for its twist V.

    Of mass and moments ``[2 m x x v; x x J w + w x J x - J (w x x)]``, x now the turn alone.
    """
    o, whole = inertia_at(n, intervals) + 4 * i, whole_at(numbers, i)
    if whole > 0:
        crossed = full_times(numbers, 0, whole, twist_cross(x, speed))
        pressed = wrench_cross(x, full_times(numbers, 0, whole, speed))
        return plus(crossed, plus(pressed, wrench_cross(speed, full_times(numbers, 0, whole, x))))
    mass, w, turn = numbers[0, o], (speed[3], speed[4], speed[5]), (x[3], x[4], x[5])
    f0, f1, f2 = cross(turn[0], turn[1], turn[2], speed[0], speed[1], speed[2])
    a, b = spun_moment(numbers, o, turn, w), spun_moment(numbers, o, w, turn)
    c0, c1, c2 = cross(w[0], w[1], w[2], turn[0], turn[1], turn[2])
    return (
        *(2.0 * mass * f0, 2.0 * mass * f1, 2.0 * mass * f2),
        a[0] + b[0] - numbers[0, o + 1] * c0,
        a[1] + b[1] - numbers[0, o + 2] * c1,
        a[2] + b[2] - numbers[0, o + 3] * c2,
    )


@helper
def add_held(n, wrench, columns, s, small, wrenches, to):
    """Add what the coordinates change of a wrench that a section holds, whose S is given too, in the axes of the base."""
    for c in range(6):
        put_column(small, 0, 6, c, wrench_cross(unit(c), wrench))
    add_product(wrenches, to, 6, small, 0, 6, 1, columns, s, n)


@shared
def press_columns(n, ports, used, rows, numbers, kept, tables, columns, wrenches, small, slopes):
    """Add what the coordinates change of the wrenches beyond each step, and what these press on by q.

    Every place has so many `rows` of `columns`, of which the first six are S; `wrenches` says what changes of each place's own.
    """
    intervals, size = intervals_of(numbers), 6 * n
    other, turned, pressed = TABLE * (intervals + ports), 36, 36 + size
    for k in range(intervals + ports - 1, -1, -1):
        if k >= intervals and not is_used(used, k - intervals):
            continue
        o, here, end = step_at(n, intervals, k), kept_step(intervals, ports, k), kept_place(k + 1)
        beyond, before = size * (k + 1), size * start_of(n, intervals, numbers, k)
        local = six(kept, 0, end + WRENCH)
        clear(small, turned, 3 * size)
        add_held(n, carry_wrench(kept, 0, end, local), columns, rows * n * (k + 1), small, small, turned)
        add_scaled(wrenches, before, 1.0, wrenches, beyond, size)
        add_scaled(wrenches, beyond, -1.0, small, turned, size)
        write_pressing(numbers[0, o], kept, here, local, tables, other)
        add_product(small, pressed, 12, tables, TABLE * k, 6, 1, wrenches, beyond, n)
        for r in range(2):
            to = pressed + size * r
            add_moved(n, numbers, o, tables, other + TABLE * r, small, to, small, to)
        first, second = o + SHAPES, o + SHAPES + n
        for j in range(n):
            c = pressed + n * int(numbers[0, COMPONENTS + j])
            x, y, row = numbers[0, first + j], numbers[0, second + j], n * (6 + j)
            add_scaled(slopes, row, x, small, c, n)
            add_scaled(slopes, row, y, small, c + size, n)
    add_scaled(slopes, 0, 1.0, wrenches, 0, size)


@helper
def _write_port(n, p, columns, s, small, law, slopes):
    """Write S, X, Y and Z of a port, in its frame."""
    write_back_transport(law, port_at(n, p), small, 0)
    subspace, at = port_at(n, p) + layout.PORT_S, columns_at(n, p)
    clear(small, 36, ROWS * n)
    for k in range(3):
        add_product(small, 36 + 6 * n * k, 6, small, 0, 6, 1, columns, s + 6 * n * k, n)
    for k in range(6 * n):
        x = small[0, 36 + 6 * n + k]
        law[0, subspace + k] = small[0, 36 + k]
        slopes[0, at + k] = x
        slopes[0, at + 6 * n + k] = small[0, 36 + 12 * n + k]
        slopes[0, at + 12 * n + k] = 2.0 * x
