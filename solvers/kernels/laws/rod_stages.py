"""The stages of rods: the terms, inverse dynamics without mass matrix, the linearised law and the stored energy.

- `rod_numbers`: where things stand; `rod_exponential`: the exponential of SE(3);
- `rod_motion`: motion outwards and wrenches inwards; `rod_columns`: S and M; `rod_slopes`: the derivatives;
- `rod_water`: what a fluid does.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import bias_at, is_used, law_size, port_at, result_at
from titop.solvers.kernels.interface.stages import row_at, vector_at
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw
from titop.solvers.kernels.laws.modal import add_times
from titop.solvers.kernels.laws.rod_columns import write_columns, write_mass
from titop.solvers.kernels.laws.rod_matrices import add_product, clear, write_back_transport
from titop.solvers.kernels.laws.rod_motion import compose, move_outwards, press_inwards, start_wrenches
from titop.solvers.kernels.laws.rod_numbers import (
    RATE,
    TWIST,
    WRENCH,
    intervals_of,
    kept_place,
    kept_size,
    mounting_at,
    room_of,
    stiffness_at,
)
from titop.solvers.kernels.laws.rod_slopes import write_slopes
from titop.solvers.kernels.laws.rod_tables import TABLE
from titop.solvers.kernels.laws.rod_water import WATER
from titop.solvers.kernels.spatial.algebra import carry_wrench, put_six, six, transport
from titop.solvers.native.kernel import helper


def _terms(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    rod, record = row_at(numbers, number_count), row_at(law, law_size(n, ports))
    intervals, h = intervals_of(rod), bias_at(n)
    steps, own_q, own_v = intervals + ports, vector_at(q, n), vector_at(v, n)
    kept, columns = np.empty((1, kept_size(intervals, ports))), np.empty((1, 6 * n * (steps + 1)))
    small, still = np.empty((1, TABLE + 6 * n)), np.zeros(n)
    rest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    move_outwards(n, ports, used, rod, own_q, own_v, still, six(row_at(twist, 6), 0, 0), rest, kept)
    start_wrenches(n, ports, rod, kept)
    _write_passive(n, intervals, rod, own_q, own_v, passive, record, h + 6)
    press_inwards(n, ports, used, rod, kept, record, h + 6)
    put_six(record, 0, h, six(kept, 0, WRENCH))
    write_columns(n, ports, used, rod, kept, small, columns)
    write_mass(n, rod, kept, columns, small, record)
    for p in range(ports):
        if not is_used(used, p):
            continue
        target, end, mounting = port_at(n, p), intervals + 1 + p, mounting_at(n, intervals, p)
        compose(kept, kept_place(end), rod, mounting, record, target)
        put_six(record, 0, target + layout.PORT_GAMMA, transport(rod, 0, mounting, six(kept, 0, kept_place(end) + RATE)))
        clear(record, target + layout.PORT_S, 6 * n)
        write_back_transport(rod, mounting, small, 0)
        add_product(record, target + layout.PORT_S, 6, small, 0, 6, 1, columns, 6 * n * end, n)
    return layout.OK


@helper
def _write_passive(n, intervals, numbers, q, v, passive, t, o):
    """Write the efforts of elasticity and damping."""
    for j in range(n):
        t[0, o + j] = 0.0
    if passive:
        stiffness = stiffness_at(n, intervals)
        add_times(numbers, stiffness, n, q, t, o)
        add_times(numbers, stiffness + n * n, n, v, t, o)


def _outward(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    rod, record = row_at(numbers, number_count), row_at(law, law_size(n, ports))
    intervals, own = intervals_of(rod), (vector_at(q, n), vector_at(v, n), vector_at(a, n))
    kept = row_at(room, kept_size(intervals, ports))
    x, y = six(row_at(twist, 6), 0, 0), six(row_at(acceleration, 6), 0, 0)
    move_outwards(n, ports, used, rod, own[0], own[1], own[2], x, y, kept)
    for p in range(ports):
        if is_used(used, p):
            target, end, mounting = port_at(n, p), kept_place(intervals + 1 + p), mounting_at(n, intervals, p)
            compose(kept, end, rod, mounting, record, target)
            put_six(record, 0, target + layout.PORT_TWIST, transport(rod, 0, mounting, six(kept, 0, end + TWIST)))
            put_six(record, 0, target + layout.PORT_ACC, transport(rod, 0, mounting, six(kept, 0, end + RATE)))
    return layout.OK


def _inward(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    rod, record = row_at(numbers, number_count), row_at(law, law_size(n, ports))
    intervals, efforts = intervals_of(rod), result_at(n) + 6
    kept = row_at(room, kept_size(intervals, ports))
    start_wrenches(n, ports, rod, kept)
    for p in range(ports):
        if is_used(used, p):
            wrench, mounting = six(record, 0, port_at(n, p) + layout.PORT_WRENCH), mounting_at(n, intervals, p)
            put_six(kept, 0, kept_place(intervals + 1 + p) + WRENCH, carry_wrench(rod, 0, mounting, wrench))
    _write_passive(n, intervals, rod, vector_at(q, n), vector_at(v, n), passive, record, efforts)
    press_inwards(n, ports, used, rod, kept, record, efforts)
    put_six(record, 0, result_at(n), six(kept, 0, WRENCH))
    return layout.OK


@helper
def _energy(n, numbers, q):
    energy, stiffness = 0.0, stiffness_at(n, intervals_of(numbers))
    for r in range(n):
        for j in range(n):
            energy += 0.5 * q[r] * numbers[0, stiffness + r * n + j] * q[j]
    return energy


LAW = CompiledLaw(
    "rod",
    terms=_terms,
    outward=_outward,
    inward=_inward,
    slopes=write_slopes,
    energy=_energy,
    room=room_of,
    surroundings=WATER,
)
