"""The compiled kind of loads along rods: `titop.blocks.interactions.distributed_load` for kernels.

`numbers` are, in order: whether the load stands in the inertial frame, its scale, the numbers of stations, of steps to them and
of the rod; for every station its place on the rod, and the wrench there (6); the rod, as in `rod_numbers`, with the stations
that are no points of it as ports; the input, if there is one. Targets are the world, the rod's base and its coordinates.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.laws.vectors import dot3
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, row_at, vector_at
from titop.solvers.kernels.laws.compiled_interactions import interaction_stages
from titop.solvers.kernels.laws.rod_forces import (
    ALL_STEPS,
    add_moved_force,
    add_turned,
    counts_at,
    press_forces,
    rod_at,
    write_columns_at_base,
)
from titop.solvers.kernels.laws.rod_matrices import clear
from titop.solvers.kernels.laws.rod_motion import move_outwards
from titop.solvers.kernels.laws.rod_numbers import WRENCH, intervals_of, kept_place, kept_size
from titop.solvers.kernels.laws.rod_slopes import add_held, press_columns
from titop.solvers.kernels.laws.rod_tables import TABLE
from titop.solvers.kernels.spatial.algebra import add_six, cross, put_six, rotate, rotate_back
from titop.solvers.native.kernel import helper, shared

#: Where stations begin, and how many numbers one has.
_HEAD, _STATION = 5, 7
#: Where the pose of the rod's base stands in the motion, its wrench, before the efforts, in the loads, columns in the slopes.
_BASE, _BASE_WRENCH, _TURNS, _BY_Q = np.int64(layout.MOTION_SIZE), 6, 3, 18


@helper
def _amplitude(inputs, numbers):
    stations, _, count = counts_at(numbers, 2)
    return numbers[0, 1] * (numbers[0, _HEAD + _STATION * stations + count] if inputs > 0 else 1.0)


@helper
def _size(numbers):
    """Return how many numbers are kept of the rod."""
    address, count = rod_at(numbers, 2, _STATION)
    return kept_size(intervals_of(row_at(address, count)), counts_at(numbers, 2)[1])


@helper
def _bend(n, numbers, motion, still, kept):
    """Write what is kept of the rod's places where it rests in its shape; `still` are n zeros."""
    address, count = rod_at(numbers, 2, _STATION)
    rod, q, rest = (
        row_at(address, count),
        vector_at(address_of(motion, 2 * layout.MOTION_SIZE), n),
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    )
    move_outwards(n, counts_at(numbers, 2)[1], ALL_STEPS, rod, q, still, still, rest, rest, kept)


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
    (address, count), (stations, steps, _) = rod_at(numbers, 2, _STATION), counts_at(numbers, 2)
    rod = row_at(address, count)
    for i in range(intervals_of(rod) + 1 + steps):
        put_six(kept, 0, kept_place(i) + WRENCH, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for k in range(stations):
        here = kept_place(_place_of(numbers, k))
        f, t = _wrench_at_base(amplitude, numbers, k, motion, kept)
        x, y = rotate_back(kept, 0, here, f[0], f[1], f[2]), rotate_back(kept, 0, here, t[0], t[1], t[2])
        add_six(kept, 0, here + WRENCH, (x[0], x[1], x[2], y[0], y[1], y[2]))
    clear(loads, 0, _BASE_WRENCH)
    press_forces(n, steps, rod, kept, loads, _BASE_WRENCH)


@shared
def load_loads(ports, coordinates, inputs, numbers, motion, loads):
    """The stations' wrenches on the rod; what they press on the world with is nobody's."""
    kept, still = np.empty((1, _size(numbers))), np.zeros(coordinates)
    _bend(coordinates, numbers, motion, still, kept)
    _press(coordinates, _amplitude(inputs, numbers), numbers, motion, kept, loads)


@shared
def load_energy(ports, coordinates, inputs, numbers, motion, energy):
    """Minus the work of inertial forces that no input drives; all others store nothing."""
    energy[0, 0] = 0.0
    if numbers[0, 0] > 0.0 and inputs == 0:
        kept, still = np.empty((1, _size(numbers))), np.zeros(coordinates)
        _bend(coordinates, numbers, motion, still, kept)
        for k in range(counts_at(numbers, 2)[0]):
            o, here = _HEAD + _STATION * k + 1, kept_place(_place_of(numbers, k)) + 9
            p = rotate(motion, 0, _BASE, kept[0, here], kept[0, here + 1], kept[0, here + 2])
            r = motion[0, _BASE + 9] + p[0], motion[0, _BASE + 10] + p[1], motion[0, _BASE + 11] + p[2]
            energy[0, 0] -= numbers[0, 1] * dot3((numbers[0, o], numbers[0, o + 1], numbers[0, o + 2]), r)


@shared
def load_slopes(ports, coordinates, inputs, numbers, motion, slopes, work):
    """What turns of the base and the coordinates change of the stations' wrenches and of what they press on."""
    n, (address, count), (stations, steps, _) = coordinates, rod_at(numbers, 2, _STATION), counts_at(numbers, 2)
    rod, amplitude = row_at(address, count), _amplitude(inputs, numbers)
    kept, still, width = np.empty((1, _size(numbers))), np.zeros(n), _BY_Q + 2 * n
    places = intervals_of(rod) + 1 + steps
    _bend(n, numbers, motion, still, kept)
    _press(n, amplitude, numbers, motion, kept, work)
    columns, wrenches = np.empty((1, 6 * n * places)), np.empty((1, 6 * n * places))
    tables, small, by_q = np.empty((1, (places + 2) * TABLE)), np.empty((1, TABLE + 18 * n)), np.empty((1, (6 + n) * n))
    write_columns_at_base(n, steps, rod, kept, tables, small, columns)
    clear(wrenches, 0, 6 * n * places)
    clear(by_q, 0, (6 + n) * n)
    clear(slopes, 0, (_BASE_WRENCH + 6 + n) * width)
    for k in range(stations):
        place = _place_of(numbers, k)
        f, t = _wrench_at_base(amplitude, numbers, k, motion, kept)
        if numbers[0, 0] > 0.0:
            add_moved_force(n, f, place, kept, columns, small, wrenches)
            add_turned(n, f, t, place, kept, columns, slopes, _BASE_WRENCH * width + _TURNS, width)
        else:
            here = kept_place(place) + 9
            x, y, z = cross(kept[0, here], kept[0, here + 1], kept[0, here + 2], f[0], f[1], f[2])
            wrench = f[0], f[1], f[2], t[0] + x, t[1] + y, t[2] + z
            add_held(n, wrench, columns, 6 * n * place, small, wrenches, 6 * n * place)
    press_columns(n, steps, ALL_STEPS, 6, rod, kept, tables, columns, wrenches, small, by_q)
    for r in range(6 + n):
        for j in range(n):
            slopes[0, (_BASE_WRENCH + r) * width + _BY_Q + j] = by_q[0, r * n + j]


LOAD = interaction_stages("rod_load", load_loads, load_energy, load_slopes)
