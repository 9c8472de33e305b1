"""The compiled kind of loads along rods: `titop.blocks.interactions.distributed_load` for kernels.

`numbers` are, in order: whether the load stands in the inertial frame, its scale, the numbers of stations, of steps to them and
of the rod; for every station its place on the rod, and the wrench there (6); the rod, as in `rod_numbers`, with the stations
that are no points of it as ports; the input, if there is one. Targets are the world, the rod's base and its coordinates.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.laws.vectors import dot3
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, vector_at
from titop.solvers.kernels.laws import rod_numbers as rods
from titop.solvers.kernels.laws.compiled_interactions import interaction_stages
from titop.solvers.kernels.laws.matrices import add_product, clear, put_column
from titop.solvers.kernels.laws.rod_columns import TABLE, add_held, press_columns, write_columns_at_base
from titop.solvers.kernels.laws.rod_motion import (
    add_wrench_at,
    clear_wrenches,
    counts_at,
    move_outwards,
    press_forces,
    rod_at,
    room_at,
)
from titop.solvers.kernels.spatial.algebra import column_of, cross, dot, entry_of, rotate, rotate_back, unit
from titop.solvers.native.kernel import helper, shared

#: Where the counts stand, where stations begin, and how many numbers one has.
_COUNTS, _HEAD, _STATION = 2, 5, 7
#: Where the pose of the rod's base stands in the motion, its wrench, before the efforts, in the loads, columns in the slopes.
_BASE, _BASE_WRENCH, _TURNS, _BY_Q = np.int64(layout.MOTION_SIZE), 6, 3, 18


@helper
def _amplitude(inputs, numbers, motion):
    amplitude = 1.0 + 0.0 * motion[0, 0]
    if inputs > 0:
        amplitude = motion[0, motion.shape[1] - 1]
    return numbers[0, 1] * amplitude


@helper
def _bend(rod, motion, still):
    """Write what is kept of the rod's places where it rests in its shape; `still` are n zeros."""
    rest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    move_outwards(rod, vector_at(address_of(motion, 2 * layout.MOTION_SIZE), rod.n), still, still, rest, rest)


@helper
def _place_of(numbers, k):
    """Return the place of station k."""
    return np.int64(numbers[0, _HEAD + _STATION * k])


@helper
def _wrench_at_base(amplitude, numbers, k, motion, kept):
    """Return force and torque of station k in the axes of the rod's base."""
    o, here = _HEAD + _STATION * k + 1, rods.kept_place(_place_of(numbers, k))
    f = amplitude * numbers[0, o], amplitude * numbers[0, o + 1], amplitude * numbers[0, o + 2]
    t = amplitude * numbers[0, o + 3], amplitude * numbers[0, o + 4], amplitude * numbers[0, o + 5]
    if numbers[0, 0] > 0.0:
        return rotate_back(motion, 0, _BASE, f[0], f[1], f[2]), rotate_back(motion, 0, _BASE, t[0], t[1], t[2])
    return rotate(kept, 0, here, f[0], f[1], f[2]), rotate(kept, 0, here, t[0], t[1], t[2])


@helper
def _press(rod, amplitude, numbers, motion, loads):
    """Write what the stations press on the base and the coordinates with, and what lies beyond each place."""
    clear_wrenches(rod)
    for k in range(counts_at(numbers, _COUNTS)[0]):
        f, t = _wrench_at_base(amplitude, numbers, k, motion, rod.kept)
        add_wrench_at(rod.kept, _place_of(numbers, k), f, t)
    clear(loads, 0, _BASE_WRENCH)
    press_forces(rod, loads, _BASE_WRENCH)


@shared
def load_loads(ports, coordinates, inputs, numbers, motion, loads):
    """The stations' wrenches on the rod; what they press on the world with is nobody's."""
    kept, still = np.empty((1, room_at(numbers, _COUNTS, _STATION)), motion.dtype), np.zeros(coordinates, motion.dtype)
    rod = rods.Rod(coordinates, *rod_at(numbers, _COUNTS, _STATION), kept)
    _bend(rod, motion, still)
    _press(rod, _amplitude(inputs, numbers, motion), numbers, motion, loads)


@shared
def load_energy(ports, coordinates, inputs, numbers, motion, energy):
    """Minus the work of inertial forces that no input drives; all others store nothing."""
    energy[0, 0] = 0.0
    if numbers[0, 0] > 0.0 and inputs == 0:
        kept, still = np.empty((1, room_at(numbers, _COUNTS, _STATION)), motion.dtype), np.zeros(coordinates, motion.dtype)
        _bend(rods.Rod(coordinates, *rod_at(numbers, _COUNTS, _STATION), kept), motion, still)
        for k in range(counts_at(numbers, _COUNTS)[0]):
            o, here = _HEAD + _STATION * k + 1, rods.kept_place(_place_of(numbers, k)) + 9
            p = rotate(motion, 0, _BASE, kept[0, here], kept[0, here + 1], kept[0, here + 2])
            r = motion[0, _BASE + 9] + p[0], motion[0, _BASE + 10] + p[1], motion[0, _BASE + 11] + p[2]
            energy[0, 0] -= numbers[0, 1] * dot3((numbers[0, o], numbers[0, o + 1], numbers[0, o + 2]), r)


@helper
def _add_moved_force(n, f, place, kept, columns, small, wrenches):
    """Add what the coordinates change of the moment of a force that keeps its direction: they move where it acts."""
    here, s = rods.kept_place(place) + 9, 6 * n * place
    for c in range(6):
        x = unit(c)
        vx, vy, vz = cross(x[3], x[4], x[5], kept[0, here], kept[0, here + 1], kept[0, here + 2])
        mx, my, mz = cross(x[0] + vx, x[1] + vy, x[2] + vz, f[0], f[1], f[2])
        put_column(small, 0, 6, c, (0.0, 0.0, 0.0, mx, my, mz))
    add_product(wrenches, s, small, 0, columns, s, n)


@helper
def _add_turned(rod, f, t, place, columns, slopes, o, width):
    """Add what turns of the base change of a wrench that keeps its direction: seen from the base, it turns back.

    To the rows of the base's wrench and of the efforts, `width` apart, three columns from ``slopes[0, o]``.
    """
    n, kept, here, s = rod.n, rod.kept, rods.kept_place(place) + 9, 6 * rod.n * place
    for c in range(3):
        e = unit(c)
        gx, gy, gz = cross(f[0], f[1], f[2], e[0], e[1], e[2])
        tx, ty, tz = cross(t[0], t[1], t[2], e[0], e[1], e[2])
        mx, my, mz = cross(kept[0, here], kept[0, here + 1], kept[0, here + 2], gx, gy, gz)
        wrench = gx, gy, gz, tx + mx, ty + my, tz + mz
        for r in range(6):
            slopes[0, o + r * width + c] += entry_of(wrench, r)
        for j in range(n):
            slopes[0, o + (6 + j) * width + c] += dot(column_of(columns, s, n, j), wrench)


@shared
def load_slopes(ports, coordinates, inputs, numbers, motion, slopes):
    """What turns of the base and the coordinates change of the stations' wrenches and of what they press on."""
    n, dtype, amplitude, width = coordinates, motion.dtype, _amplitude(inputs, numbers, motion), _BY_Q + 2 * coordinates
    kept, still = np.empty((1, room_at(numbers, _COUNTS, _STATION)), dtype), np.zeros(n, dtype)
    rod = rods.Rod(n, *rod_at(numbers, _COUNTS, _STATION), kept)
    places = rod.intervals + 1 + rod.ports
    _bend(rod, motion, still)
    _press(rod, amplitude, numbers, motion, np.empty((1, _BASE_WRENCH + 6 + n), dtype))
    columns, wrenches = np.empty((1, 6 * n * places), dtype), np.empty((1, 6 * n * places), dtype)
    tables, small = np.empty((1, (places + 2) * TABLE), dtype), np.empty((1, TABLE + 18 * n), dtype)
    by_q = np.empty((1, (6 + n) * n), dtype)
    write_columns_at_base(rod, tables, small, columns)
    clear(wrenches, 0, 6 * n * places)
    clear(by_q, 0, (6 + n) * n)
    clear(slopes, 0, (_BASE_WRENCH + 6 + n) * width)
    for k in range(counts_at(numbers, _COUNTS)[0]):
        place = _place_of(numbers, k)
        f, t = _wrench_at_base(amplitude, numbers, k, motion, kept)
        if numbers[0, 0] > 0.0:
            _add_moved_force(n, f, place, kept, columns, small, wrenches)
            _add_turned(rod, f, t, place, columns, slopes, _BASE_WRENCH * width + _TURNS, width)
        else:
            here = rods.kept_place(place) + 9
            x, y, z = cross(kept[0, here], kept[0, here + 1], kept[0, here + 2], f[0], f[1], f[2])
            wrench = f[0], f[1], f[2], t[0] + x, t[1] + y, t[2] + z
            add_held(n, wrench, columns, 6 * n * place, small, wrenches, 6 * n * place)
    press_columns(rod, 6, tables, columns, wrenches, small, by_q)
    for r in range(6 + n):
        for j in range(n):
            slopes[0, (_BASE_WRENCH + r) * width + _BY_Q + j] = by_q[0, r * n + j]


LOAD = interaction_stages("rod_load", load_loads, load_energy, load_slopes)
