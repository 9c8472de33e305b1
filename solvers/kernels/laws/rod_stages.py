"""The stages of rods: the terms, inverse dynamics without mass matrix, the linearised law and the stored energy.

- `rod_numbers`: where things stand; `rod_exponential`: the exponential of SE(3);
- `rod_motion`: motion outwards and wrenches inwards; `rod_columns`: S and M, and what changes with the coordinates;
- `rod_water`: what a fluid does.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import (
    bias_at,
    by_rate_at,
    by_twist_at,
    columns_at,
    is_used,
    port_at,
    result_at,
    slopes_size,
)
from titop.solvers.kernels.interface.stages import row_at
from titop.solvers.kernels.laws import rod_numbers as rods
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw
from titop.solvers.kernels.laws.matrices import (
    add_passive,
    add_passive_slopes,
    add_product,
    add_rows,
    add_scaled,
    clear,
    half_square,
    put_column,
    write_back_transport,
)
from titop.solvers.kernels.laws.rod_columns import (
    ROWS,
    TABLE,
    add_held,
    add_mass,
    is_massive,
    mirror_mass,
    move_columns,
    press_columns,
    write_columns,
    write_mass,
)
from titop.solvers.kernels.laws.rod_motion import (
    compose,
    momentum_of,
    move_outwards,
    own_wrench,
    press_inwards,
    spun_moment,
    start_wrenches,
)
from titop.solvers.kernels.laws.rod_water import WATER
from titop.solvers.kernels.spatial.algebra import (
    carry_wrench,
    column_of,
    cross,
    full_times,
    plus,
    put_six,
    scaled,
    six,
    transport,
    twist_cross,
    unit,
    wrench_cross,
)
from titop.solvers.native.kernel import helper

#: Numbers of the matrix that turns S, X and Y of a place into what changes there by q and by v.
_MATRIX = 12 * ROWS


def _terms(n, ports, used, passive, known, stages, rod, q, v, a, twist, acceleration, law, room, slopes):
    intervals, h, rest = rods.intervals_of(rod), bias_at(n), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    kept, columns = (
        np.empty((1, rods.kept_size(intervals, ports)), q.dtype),
        np.empty((1, 6 * n * (intervals + ports + 1)), q.dtype),
    )
    small = np.empty((1, TABLE + 6 * n), q.dtype)
    move_outwards(n, ports, used, rod, q, v, np.zeros(n, q.dtype), twist, rest, kept)
    start_wrenches(n, ports, rod, kept)
    _write_passive(n, rod, q, v, passive, law, h + 6)
    press_inwards(n, ports, used, rod, kept, law, h + 6)
    put_six(law, 0, h, six(kept, 0, rods.WRENCH))
    write_columns(n, ports, used, rod, kept, small, columns)
    write_mass(n, rod, kept, columns, small, law)
    for p in range(ports):
        if not is_used(used, p):
            continue
        target, end, mounting = port_at(n, p), intervals + 1 + p, rods.mounting_at(n, intervals, p)
        compose(kept, rods.kept_place(end), rod, mounting, law, target)
        put_six(law, 0, target + layout.PORT_GAMMA, transport(rod, 0, mounting, six(kept, 0, rods.kept_place(end) + rods.RATE)))
        clear(law, target + layout.PORT_S, 6 * n)
        write_back_transport(rod, mounting, small, 0)
        add_product(law, target + layout.PORT_S, 6, small, 0, 6, 1, columns, 6 * n * end, n)
    return layout.OK


@helper
def _write_passive(n, rod, q, v, passive, t, o):
    """Write the efforts of elasticity and damping."""
    clear(t, o, n)
    if passive:
        add_passive(rod, rods.stiffness_at(n, rods.intervals_of(rod)), n, q, v, t, o)


def _outward(n, ports, used, passive, known, stages, rod, q, v, a, twist, acceleration, law, room, slopes):
    intervals = rods.intervals_of(rod)
    kept = row_at(room, rods.kept_size(intervals, ports))
    move_outwards(n, ports, used, rod, q, v, a, twist, acceleration, kept)
    for p in range(ports):
        if is_used(used, p):
            target, end, mounting = port_at(n, p), rods.kept_place(intervals + 1 + p), rods.mounting_at(n, intervals, p)
            compose(kept, end, rod, mounting, law, target)
            put_six(law, 0, target + layout.PORT_TWIST, transport(rod, 0, mounting, six(kept, 0, end + rods.TWIST)))
            put_six(law, 0, target + layout.PORT_ACC, transport(rod, 0, mounting, six(kept, 0, end + rods.RATE)))
    return layout.OK


def _inward(n, ports, used, passive, known, stages, rod, q, v, a, twist, acceleration, law, room, slopes):
    intervals, efforts = rods.intervals_of(rod), result_at(n) + 6
    kept = row_at(room, rods.kept_size(intervals, ports))
    start_wrenches(n, ports, rod, kept)
    for p in range(ports):
        if is_used(used, p):
            wrench, mounting = six(law, 0, port_at(n, p) + layout.PORT_WRENCH), rods.mounting_at(n, intervals, p)
            put_six(kept, 0, rods.kept_place(intervals + 1 + p) + rods.WRENCH, carry_wrench(rod, 0, mounting, wrench))
    _write_passive(n, rod, q, v, passive, law, efforts)
    press_inwards(n, ports, used, rod, kept, law, efforts)
    put_six(law, 0, result_at(n), six(kept, 0, rods.WRENCH))
    return layout.OK


@helper
def _energy(n, rod, q):
    return half_square(rod, rods.stiffness_at(n, rods.intervals_of(rod)), n, q)


# -- the linearised law: the wrench F of a point changes by ``I Y + B X - ad(S)^T F`` with q and by ``I Z + B S`` with v, as a
# rigid body's does, Z twice X (see `tree_derivatives`)


def _slopes(n, ports, used, passive, known, stages, rod, q, v, a, twist, acceleration, law, room, slopes):
    """Write the linearised law, M and every S; see `stages`."""
    intervals = rods.intervals_of(rod)
    places, kept = intervals + 1 + ports, row_at(room, rods.kept_size(intervals, ports))
    columns, wrenches = np.empty((1, places * ROWS * n), q.dtype), np.empty((1, places * 6 * n), q.dtype)
    tables, small = np.empty((1, (intervals + ports + 3) * TABLE), q.dtype), np.empty((1, _MATRIX + 36 + ROWS * n), q.dtype)
    own = np.empty((1, 6 * n), q.dtype)
    clear(slopes, 0, slopes_size(n, ports))
    clear(law, 0, bias_at(n))
    if passive:
        add_passive_slopes(rod, rods.stiffness_at(n, intervals), n, slopes)
    move_columns(n, ports, used, rod, kept, tables, columns)
    clear(wrenches, 0, places * 6 * n)
    for i in range(intervals + 1):
        if is_massive(n, intervals, rod, i):
            _add_point(n, intervals, rod, i, kept, twist, columns, wrenches, small, own, law, slopes)
    mirror_mass(n, law)
    for p in range(ports):
        if is_used(used, p):
            place = intervals + 1 + p
            wrench = carry_wrench(kept, 0, rods.kept_place(place), six(kept, 0, rods.kept_place(place) + rods.WRENCH))
            add_held(n, wrench, columns, ROWS * n * place, small, wrenches, 6 * n * place)
    press_columns(n, ports, used, ROWS, rod, kept, tables, columns, wrenches, small, slopes)
    for p in range(ports):
        if is_used(used, p):
            _write_port(n, p, columns, ROWS * n * (intervals + 1 + p), small, law, slopes)
    return layout.OK


@helper
def _add_point(n, intervals, numbers, i, kept, twist, columns, wrenches, small, own, law, slopes):
    """Add to M and to the slopes what a point does, and write what its wrench changes by with q; `own` is room for its S."""
    place, s = rods.kept_place(i), ROWS * n * i
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
    place = rods.kept_place(i)
    speed, wrench = six(kept, 0, place + rods.TWIST), carry_wrench(kept, 0, place, wrench)
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
    o, whole = rods.inertia_at(n, intervals) + 4 * i, rods.whole_at(numbers, i)
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


LAW = CompiledLaw(
    "rod", terms=_terms, outward=_outward, inward=_inward, slopes=_slopes, energy=_energy, room=rods.room_of, surroundings=WATER
)
