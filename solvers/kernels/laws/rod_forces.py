"""Forces on the places of a rod in its shape, and what the coordinates and turns of its base change of them.

Locals: S has, in the axes of the base, what the coordinates move a place by.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface.stages import address_of
from titop.solvers.kernels.laws.rod_columns import add_moved
from titop.solvers.kernels.laws.rod_matrices import add_product, clear, column_of, put_column
from titop.solvers.kernels.laws.rod_motion import press_inwards
from titop.solvers.kernels.laws.rod_numbers import WRENCH, intervals_of, kept_place, kept_step, start_of, step_at
from titop.solvers.kernels.laws.rod_tables import TABLE, write_moved
from titop.solvers.kernels.spatial.algebra import carry_twist, cross, dot, entry_of, put_six, six, unit
from titop.solvers.native.kernel import helper

#: Bits that say that all steps to ports are used.
ALL_STEPS = -1


@helper
def counts_at(numbers, o):
    """Return of the rod of an interaction, whose counts stand at `o`: those of places, of steps to them and of its numbers."""
    return np.int64(numbers[0, o]), np.int64(numbers[0, o + 1]), np.int64(numbers[0, o + 2])


@helper
def rod_at(numbers, o, size):
    """Return address and count of the rod's numbers, which stand behind its counts at `o` and `size` numbers of each place."""
    places, _, count = counts_at(numbers, o)
    return address_of(numbers, o + 3 + size * places), count


@helper
def press_forces(n, steps, rod, kept, t, o):
    """Write to ``t[0, o]`` the wrench at the base, then the efforts, of the wrenches kept of places; sum up those beyond."""
    clear(t, o, 6 + n)
    press_inwards(n, steps, ALL_STEPS, rod, kept, t, o + 6)
    put_six(t, 0, o, six(kept, 0, kept_place(0) + WRENCH))


@helper
def write_columns_at_base(n, steps, rod, kept, tables, small, columns):
    """Write S of all places, and what the strains of each step add to it; `small` is room for a table."""
    intervals = intervals_of(rod)
    clear(columns, 0, 6 * n)
    for k in range(intervals + steps):
        o, end = step_at(n, intervals, k), kept_place(k + 1)
        write_moved(rod[0, o], kept, kept_step(intervals, steps, k), small)
        for d in range(12):
            put_six(tables, 0, TABLE * k + 6 * d, carry_twist(kept, 0, end, six(small, 0, 6 * d)))
        add_moved(n, rod, o, tables, TABLE * k, columns, 6 * n * start_of(n, intervals, rod, k), columns, 6 * n * (k + 1))


@helper
def add_moved_force(n, f, place, kept, columns, small, wrenches):
    """Add what the coordinates change of the moment of a force that keeps its direction: they move where it acts."""
    here, s = kept_place(place) + 9, 6 * n * place
    for c in range(6):
        x = unit(c)
        vx, vy, vz = cross(x[3], x[4], x[5], kept[0, here], kept[0, here + 1], kept[0, here + 2])
        mx, my, mz = cross(x[0] + vx, x[1] + vy, x[2] + vz, f[0], f[1], f[2])
        put_column(small, 0, 6, c, (0.0, 0.0, 0.0, mx, my, mz))
    add_product(wrenches, s, 6, small, 0, 6, 1, columns, s, n)


@helper
def add_turned(n, f, t, place, kept, columns, slopes, o, width):
    """Add what turns of the base change of a wrench that keeps its direction: seen from the base, it turns back.

    To the rows of the base's wrench and of the efforts, `width` apart, three columns from ``slopes[0, o]``.
    """
    here, s = kept_place(place) + 9, 6 * n * place
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
