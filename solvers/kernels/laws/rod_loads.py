"""The compiled kind of loads along rods: `titop.blocks.interactions.distributed_load` for kernels.

`numbers` are, in order: whether the load stands in the inertial frame, its scale, the numbers of stations, of steps to them and
of the rod; for every station its place on the rod, and the wrench there (6); the rod, as in `rod_numbers`, with the stations
that are no points of it as ports; the input, if there is one. Targets are the world, the rod's base and its coordinates.

Locals: S has, in the axes of the base, what the coordinates move a station by.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface.layout import MOTION_SIZE
from titop.solvers.kernels.interface.stages import address_of, row_at, vector_at
from titop.solvers.kernels.laws.compiled_interactions import CompiledInteraction
from titop.solvers.kernels.laws.rod_columns import add_moved
from titop.solvers.kernels.laws.rod_matrices import add_product, clear, column_of, put_matrix_column
from titop.solvers.kernels.laws.rod_motion import move_outwards, press_inwards
from titop.solvers.kernels.laws.rod_numbers import WRENCH, intervals_of, kept_place, kept_size, kept_step, start_of, step_at
from titop.solvers.kernels.laws.rod_slopes import add_held, press_columns
from titop.solvers.kernels.laws.rod_tables import TABLE, write_moved
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    carry_twist,
    cross,
    dot,
    entry_of,
    put_six,
    rotate,
    rotate_back,
    six,
    unit,
)
from titop.solvers.kernels.spatial.rotations import dot3
from titop.solvers.native.kernel import AllocatingHelper, helper

#: Where stations begin, and how many numbers one has.
_HEAD, _STATION = 5, 7
#: All steps to stations are used.
_ALL = -1
#: Where the pose of the rod's base stands in the motion, its wrench and the efforts in the loads, and columns in the slopes.
_BASE, _BASE_WRENCH, _EFFORTS, _TURNS, _BY_Q = np.int64(MOTION_SIZE), 6, 12, 3, 18


@helper
def _counts(numbers):
    """Return the numbers of stations, of steps to them and of the rod."""
    return np.int64(numbers[0, 2]), np.int64(numbers[0, 3]), np.int64(numbers[0, 4])


@helper
def _rod_at(numbers):
    """Return the address and the number of the rod's numbers."""
    stations, _, count = _counts(numbers)
    return address_of(numbers, _HEAD + _STATION * stations), count


@helper
def _amplitude(inputs, numbers):
    stations, _, count = _counts(numbers)
    return numbers[0, 1] * (numbers[0, _HEAD + _STATION * stations + count] if inputs > 0 else 1.0)


@helper
def _size(numbers):
    """Return how many numbers are kept of the rod."""
    address, count = _rod_at(numbers)
    return kept_size(intervals_of(row_at(address, count)), _counts(numbers)[1])


@helper
def _bend(n, numbers, motion, still, kept):
    """Write what is kept of the rod's places where it rests in its shape; `still` are n zeros."""
    address, count = _rod_at(numbers)
    rod, q, rest = row_at(address, count), vector_at(address_of(motion, 2 * MOTION_SIZE), n), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    move_outwards(n, _counts(numbers)[1], _ALL, rod, q, still, still, rest, rest, kept)


@helper
def _place_of(numbers, k):
    """Return the place of station k."""
    return np.int64(numbers[0, _HEAD + _STATION * k])


@helper
def _wrench_at_base(amplitude, numbers, k, motion, kept):
    """Return force and torque of station k in the axes of the rod's base."""
    o, here = _HEAD + _STATION * k + 1, kept_place(_place_of(numbers, k))
    f = amplitude * numbers[0, o], amplitude * numbers[0, o + 1], amplitude * numbers[0, o + 2]
    t = amplitude * numbers[0, o + 3], amplitude * numbers[0, o + 4], amplitude * numbers[0, o + 5]
    if numbers[0, 0] > 0.0:
        return rotate_back(motion, 0, _BASE, f[0], f[1], f[2]), rotate_back(motion, 0, _BASE, t[0], t[1], t[2])
    return rotate(kept, 0, here, f[0], f[1], f[2]), rotate(kept, 0, here, t[0], t[1], t[2])


@helper
def _press(n, amplitude, numbers, motion, kept, loads):
    """Write what the stations press on the base and the coordinates with, and what lies beyond each place."""
    (address, count), (stations, steps, _) = _rod_at(numbers), _counts(numbers)
    rod = row_at(address, count)
    for i in range(intervals_of(rod) + 1 + steps):
        put_six(kept, 0, kept_place(i) + WRENCH, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for k in range(stations):
        here = kept_place(_place_of(numbers, k))
        f, t = _wrench_at_base(amplitude, numbers, k, motion, kept)
        x, y = rotate_back(kept, 0, here, f[0], f[1], f[2]), rotate_back(kept, 0, here, t[0], t[1], t[2])
        add_six(kept, 0, here + WRENCH, (x[0], x[1], x[2], y[0], y[1], y[2]))
    clear(loads, 0, _EFFORTS + n)
    press_inwards(n, steps, _ALL, rod, kept, loads, _EFFORTS)
    put_six(loads, 0, _BASE_WRENCH, six(kept, 0, kept_place(0) + WRENCH))


@AllocatingHelper
def load_loads(ports, coordinates, inputs, numbers, motion, loads):
    """The stations' wrenches on the rod; what they press on the world with is nobody's."""
    kept, still = np.empty((1, _size(numbers))), np.zeros(coordinates)
    _bend(coordinates, numbers, motion, still, kept)
    _press(coordinates, _amplitude(inputs, numbers), numbers, motion, kept, loads)


@AllocatingHelper
def load_energy(ports, coordinates, inputs, numbers, motion, energy):
    """Minus the work of inertial forces that no input drives; all others store nothing."""
    energy[0, 0] = 0.0
    if numbers[0, 0] > 0.0 and inputs == 0:
        kept, still = np.empty((1, _size(numbers))), np.zeros(coordinates)
        _bend(coordinates, numbers, motion, still, kept)
        for k in range(_counts(numbers)[0]):
            o, here = _HEAD + _STATION * k + 1, kept_place(_place_of(numbers, k)) + 9
            p = rotate(motion, 0, _BASE, kept[0, here], kept[0, here + 1], kept[0, here + 2])
            r = motion[0, _BASE + 9] + p[0], motion[0, _BASE + 10] + p[1], motion[0, _BASE + 11] + p[2]
            energy[0, 0] -= numbers[0, 1] * dot3((numbers[0, o], numbers[0, o + 1], numbers[0, o + 2]), r)


@AllocatingHelper
def load_slopes(ports, coordinates, inputs, numbers, motion, slopes, work):
    """What turns of the base and the coordinates change of the stations' wrenches and of what they press on."""
    n, (address, count), (stations, steps, _) = coordinates, _rod_at(numbers), _counts(numbers)
    rod, amplitude = row_at(address, count), _amplitude(inputs, numbers)
    kept, still, width = np.empty((1, _size(numbers))), np.zeros(n), _BY_Q + 2 * n
    places = intervals_of(rod) + 1 + steps
    _bend(n, numbers, motion, still, kept)
    _press(n, amplitude, numbers, motion, kept, work)
    columns, wrenches = np.empty((1, 6 * n * places)), np.empty((1, 6 * n * places))
    tables, small, by_q = np.empty((1, (places + 2) * TABLE)), np.empty((1, TABLE + 18 * n)), np.empty((1, (6 + n) * n))
    _write_columns(n, steps, rod, kept, tables, small, columns)
    clear(wrenches, 0, 6 * n * places)
    clear(by_q, 0, (6 + n) * n)
    clear(slopes, 0, (_EFFORTS + n) * width)
    for k in range(stations):
        place = _place_of(numbers, k)
        f, t = _wrench_at_base(amplitude, numbers, k, motion, kept)
        if numbers[0, 0] > 0.0:
            _add_moved_force(n, f, kept_place(place), kept, columns, 6 * n * place, small, wrenches)
            _add_turned(n, f, t, kept_place(place), kept, columns, 6 * n * place, slopes, width)
        else:
            here = kept_place(place) + 9
            x, y, z = cross(kept[0, here], kept[0, here + 1], kept[0, here + 2], f[0], f[1], f[2])
            wrench = f[0], f[1], f[2], t[0] + x, t[1] + y, t[2] + z
            add_held(n, wrench, columns, 6 * n * place, small, wrenches, 6 * n * place)
    press_columns(n, steps, _ALL, 6, rod, kept, tables, columns, wrenches, small, by_q)
    for r in range(6 + n):
        for j in range(n):
            slopes[0, (_BASE_WRENCH + r) * width + _BY_Q + j] = by_q[0, r * n + j]


@helper
def _write_columns(n, steps, rod, kept, tables, small, columns):
    """Write S of all places, and what the strains of each step add to it."""
    intervals = intervals_of(rod)
    clear(columns, 0, 6 * n)
    for k in range(intervals + steps):
        o, end = step_at(n, intervals, k), kept_place(k + 1)
        write_moved(rod[0, o], kept, kept_step(intervals, steps, k), small)
        for d in range(12):
            put_six(tables, 0, TABLE * k + 6 * d, carry_twist(kept, 0, end, six(small, 0, 6 * d)))
        add_moved(n, rod, o, tables, TABLE * k, columns, 6 * n * start_of(n, intervals, rod, k), columns, 6 * n * (k + 1))


@helper
def _add_moved_force(n, f, here, kept, columns, s, small, wrenches):
    """Add what the coordinates change of the moment of a force that keeps its direction: they move where it acts."""
    for c in range(6):
        x = unit(c)
        vx, vy, vz = cross(x[3], x[4], x[5], kept[0, here + 9], kept[0, here + 10], kept[0, here + 11])
        mx, my, mz = cross(x[0] + vx, x[1] + vy, x[2] + vz, f[0], f[1], f[2])
        put_matrix_column(small, 0, 6, c, (0.0, 0.0, 0.0, mx, my, mz))
    add_product(wrenches, s, 6, small, 0, 6, 1, columns, s, n)


@helper
def _add_turned(n, f, t, here, kept, columns, s, slopes, width):
    """Add what turns of the base change of a wrench that keeps its direction: seen from the base, it turns back."""
    for c in range(3):
        e = unit(c)
        gx, gy, gz = cross(f[0], f[1], f[2], e[0], e[1], e[2])
        tx, ty, tz = cross(t[0], t[1], t[2], e[0], e[1], e[2])
        mx, my, mz = cross(kept[0, here + 9], kept[0, here + 10], kept[0, here + 11], gx, gy, gz)
        wrench = gx, gy, gz, tx + mx, ty + my, tz + mz
        for r in range(6):
            slopes[0, (_BASE_WRENCH + r) * width + _TURNS + c] += entry_of(wrench, r)
        for j in range(n):
            slopes[0, (_EFFORTS + j) * width + _TURNS + c] += dot(column_of(columns, s, n, j), wrench)


LOAD = CompiledInteraction("rod_load", load_loads, load_energy, load_slopes)
