"""The stages of rods: the terms, inverse dynamics without mass matrix, the linearised law and the stored energy.

- `rod_numbers`: where things stand; `rod_exponential`: the exponential of SE(3);
- `rod_motion`: motion outwards and wrenches inwards; `rod_columns`: S and M, and what changes with the coordinates;
- `rod_water`: what a fluid does.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import bias_at, by_rate_at, by_twist_at, columns_at, is_used, port_at, result_at
from titop.solvers.kernels.interface.stages import row_at
from titop.solvers.kernels.laws import rod_numbers as rods
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw
from titop.solvers.kernels.laws.matrices import (
    add_passive,
    add_passive_slopes,
    add_product,
    add_rows,
    add_scaled,
    add_three_rows,
    clear,
    half_square,
    put_column,
    put_wide_product,
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
    move_origin,
    press_columns,
    write_columns,
    write_mass,
)
from titop.solvers.kernels.laws.rod_motion import (
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
    composed_pose,
    cross,
    full_times,
    matrix_of,
    plus,
    put_pose,
    put_six,
    rotate,
    scaled,
    six,
    three,
    transport,
    twist_cross,
    unit,
    wrench_cross,
)
from titop.solvers.native.kernel import helper

#: Numbers of the matrix that turns S, X and Y of a place into what changes there by q and by v.
_MATRIX = 12 * ROWS


@helper
def _rod_of(block):
    """Return the block as a rod, with what is kept in its room."""
    intervals = rods.intervals_of(block.numbers)
    kept = row_at(block.room, rods.kept_size(intervals, block.ports))
    return rods.Rod(block.n, intervals, block.ports, block.used, block.numbers, kept)


def _terms(block):
    n, numbers, law, intervals, h = block.n, block.numbers, block.law, rods.intervals_of(block.numbers), bias_at(block.n)
    columns, small = np.empty((1, 6 * n * (intervals + block.ports + 1)), law.dtype), np.empty((1, TABLE), law.dtype)
    kept = np.empty((1, rods.kept_size(intervals, block.ports)), law.dtype)
    rod = rods.Rod(n, intervals, block.ports, block.used, numbers, kept)
    move_outwards(rod, block.q, block.v, np.zeros(n, law.dtype), block.twist, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    start_wrenches(rod)
    _write_passive(block, law, h + 6)
    press_inwards(rod, law, h + 6)
    put_six(law, 0, h, six(rod.kept, 0, rods.WRENCH))
    write_columns(rod, small, columns)
    write_mass(rod, columns, small, law)
    for p in range(block.ports):
        if is_used(block.used, p):
            target, place, mounting = port_at(n, p), intervals + 1 + p, rods.mounting_at(rod, p)
            end = rods.kept_place(place)
            put_pose(law, 0, target, *composed_pose(rod.kept, 0, end, numbers, 0, mounting))
            x, y, z = three(numbers, 0, mounting + 9)
            put_pose(small, 0, 36, matrix_of(law, 0, target), rotate(rod.kept, 0, end, x, y, z))
            write_back_transport(small, 36, small, 0)
            put_six(law, 0, target + layout.PORT_GAMMA, transport(numbers, 0, mounting, six(rod.kept, 0, end + rods.RATE)))
            clear(law, target + layout.PORT_S, 6 * n)
            add_product(law, target + layout.PORT_S, small, 0, columns, 6 * n * place, n)
    return layout.OK


@helper
def _write_passive(block, t, o):
    """Write the efforts of elasticity and damping."""
    clear(t, o, block.n)
    if block.passive:
        stiffness = rods.stiffness_at(block.n, rods.intervals_of(block.numbers))
        add_passive(block.numbers, stiffness, block.n, block.q, block.v, t, o)


def _outward(block):
    rod, numbers, law = _rod_of(block), block.numbers, block.law
    move_outwards(rod, block.q, block.v, block.a, block.twist, block.acceleration)
    for p in range(block.ports):
        if is_used(block.used, p):
            target, end, mounting = port_at(rod.n, p), rods.kept_place(rod.intervals + 1 + p), rods.mounting_at(rod, p)
            put_pose(law, 0, target, *composed_pose(rod.kept, 0, end, numbers, 0, mounting))
            put_six(law, 0, target + layout.PORT_TWIST, transport(numbers, 0, mounting, six(rod.kept, 0, end + rods.TWIST)))
            put_six(law, 0, target + layout.PORT_ACC, transport(numbers, 0, mounting, six(rod.kept, 0, end + rods.RATE)))
    return layout.OK


def _inward(block):
    rod, law, efforts = _rod_of(block), block.law, result_at(block.n) + 6
    start_wrenches(rod)
    for p in range(block.ports):
        if is_used(block.used, p):
            wrench, end = six(law, 0, port_at(rod.n, p) + layout.PORT_WRENCH), rods.kept_place(rod.intervals + 1 + p)
            put_six(rod.kept, 0, end + rods.WRENCH, carry_wrench(rod.numbers, 0, rods.mounting_at(rod, p), wrench))
    _write_passive(block, law, efforts)
    press_inwards(rod, law, efforts)
    put_six(law, 0, result_at(rod.n), six(rod.kept, 0, rods.WRENCH))
    return layout.OK


@helper
def _energy(n, rod, q):
    return half_square(rod, rods.stiffness_at(n, rods.intervals_of(rod)), n, q)


# -- the linearised law: the wrench F of a point changes by ``I Y + B X - ad(S)^T F`` with q and by ``I Z + B S`` with v, as a
# rigid body's does, Z twice X (see `tree_derivatives`)


def _slopes(block):
    """Write the linearised law, M and every S; see `stages`."""
    n, rod, law, slopes = block.n, _rod_of(block), block.law, block.slopes
    places, kept = rod.intervals + 1 + rod.ports, rod.kept
    columns, wrenches = np.empty((1, places * ROWS * n), law.dtype), np.empty((1, places * 6 * n), law.dtype)
    tables, small = np.empty((1, (places + 2) * TABLE), law.dtype), np.empty((1, _MATRIX + 36 + ROWS * n), law.dtype)
    own = np.empty((1, 6 * n), law.dtype)
    clear(slopes, 0, columns_at(n, 0))
    clear(law, 0, bias_at(n))
    if block.passive:
        add_passive_slopes(rod.numbers, rods.stiffness_at(n, rod.intervals), n, slopes)
    move_columns(rod, tables, columns)
    clear(wrenches, 6 * n * (rod.intervals + 1), 6 * n * rod.ports)
    for i in range(rod.intervals + 1):
        if is_massive(rod, i):
            _add_point(block, rod, i, columns, wrenches, small, own)
        else:
            clear(wrenches, 6 * n * i, 6 * n)
    mirror_mass(n, law)
    for p in range(rod.ports):
        if is_used(rod.used, p):
            place = rod.intervals + 1 + p
            wrench = carry_wrench(kept, 0, rods.kept_place(place), six(kept, 0, rods.kept_place(place) + rods.WRENCH))
            add_held(n, wrench, columns, ROWS * n * place, small, wrenches, 6 * n * place)
    press_columns(rod, ROWS, tables, columns, wrenches, small, slopes)
    for p in range(rod.ports):
        if is_used(rod.used, p):
            _write_port(n, p, columns, ROWS * n * (rod.intervals + 1 + p), small, law, slopes)
    return layout.OK


@helper
def _add_point(block, rod, i, columns, wrenches, small, own):
    """Add to M and to the slopes what a point does, and write what its wrench changes by with q; `own` is room for its S."""
    n, slopes, s, by_twist, by_v = block.n, block.slopes, ROWS * block.n * i, _MATRIX, _MATRIX + 36
    _write_point(rod, i, own_wrench(rod, i), block.twist, small)
    put_wide_product(wrenches, 6 * n * i, small, 0, (6, ROWS, 3), columns, s, n)
    put_wide_product(small, by_v, small, 6 * ROWS, (6, ROWS, 2), columns, s, n)
    add_scaled(slopes, by_rate_at(n), 1.0, small, by_v, 6 * n)
    add_scaled(slopes, by_twist_at(n), 1.0, small, by_twist, 36)
    for j in range(n):
        x = column_of(columns, s, n, j)
        if rods.turns(rod, j):
            add_rows(slopes, by_rate_at(n) + (6 + j) * n, x, small, by_v, n, n)
        else:
            add_three_rows(slopes, by_rate_at(n) + (6 + j) * n, (x[0], x[1], x[2]), small, by_v, n, n)
        add_rows(slopes, by_twist_at(n) + 6 * (6 + j), x, small, by_twist, 6, 6)
    move_origin(n, three(rod.kept, 0, rods.kept_place(i) + 9), columns, s, own, 0)
    add_mass(rod, i, own, 0, small, block.law)


@helper
def _write_point(rod, i, wrench, twist, t):
    """Write ``[[-ad()^T F, B, I], [B, 2 I, 0]]``, in the axes of the base, then ``I ad(V) + B`` for its twist V."""
    kept, place = rod.kept, rods.kept_place(i)
    speed, wrench = six(kept, 0, place + rods.TWIST), carry_wrench(kept, 0, place, wrench)
    clear(t, 0, _MATRIX)
    for c in range(6):
        x = transport(kept, 0, place, unit(c))
        taken = momentum_of(rod, i, x)
        stirred = carry_wrench(kept, 0, place, _stirred(rod, i, speed, x))
        taken = carry_wrench(kept, 0, place, taken)
        put_column(t, 0, ROWS, c, wrench_cross(unit(c), wrench))
        put_column(t, 0, ROWS, 6 + c, stirred)
        put_column(t, 0, ROWS, 12 + c, taken)
        put_column(t, 6 * ROWS, ROWS, c, stirred)
        put_column(t, 6 * ROWS, ROWS, 6 + c, scaled(2.0, taken))
        along = transport(kept, 0, place, twist_cross(twist, unit(c)))
        moved = carry_wrench(kept, 0, place, momentum_of(rod, i, along))
        put_column(t, _MATRIX, 6, c, plus(moved, stirred))


@helper
def _stirred(rod, i, speed, x):
    """Return B of point i times the twist x: ``I ad(x) V - ad(x)^T I V - ad(V)^T I x`` for its twist V.

    Of mass and moments ``[2 m x x v; x x J w + w x J x - J (w x x)]``, x now the turn alone.
    """
    numbers, o, whole = rod.numbers, rods.inertia_at(rod.n, rod.intervals) + 4 * i, rods.whole_at(rod.numbers, i)
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
        add_product(small, 36 + 6 * n * k, small, 0, columns, s + 6 * n * k, n)
    for k in range(6 * n):
        x = small[0, 36 + 6 * n + k]
        law[0, subspace + k] = small[0, 36 + k]
        slopes[0, at + k] = x
        slopes[0, at + 6 * n + k] = small[0, 36 + 12 * n + k]
        slopes[0, at + 12 * n + k] = 2.0 * x


LAW = CompiledLaw(
    "rod", terms=_terms, outward=_outward, inward=_inward, slopes=_slopes, energy=_energy, room=rods.room_of, surroundings=WATER
)
