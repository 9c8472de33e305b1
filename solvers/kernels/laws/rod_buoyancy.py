"""Rods in a fluid: it bears a part of their weight, as a force on every point against gravity."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface.layout import OK
from titop.solvers.kernels.interface.stages import row_at, vector_at
from titop.solvers.kernels.laws.applied_laws import CompiledSurroundings
from titop.solvers.kernels.laws.rod_forces import ALL_STEPS, add_moved_force, add_turned, press_forces, write_columns_at_base
from titop.solvers.kernels.laws.rod_matrices import clear
from titop.solvers.kernels.laws.rod_motion import move_outwards
from titop.solvers.kernels.laws.rod_numbers import WRENCH, inertia_at, intervals_of, kept_place, kept_size
from titop.solvers.kernels.laws.rod_slopes import press_columns
from titop.solvers.kernels.laws.rod_tables import TABLE
from titop.solvers.kernels.spatial.algebra import put_six, rotate_back
from titop.solvers.native.kernel import helper


@helper
def _lift(n, rod, borne, i, pose, gravity):
    """Return the force on point i, in the axes of the base."""
    g, mass = vector_at(gravity, 3), -borne * rod[0, inertia_at(n, intervals_of(rod)) + 4 * i]
    x, y, z = rotate_back(row_at(pose, 12), 0, 0, g[0], g[1], g[2])
    return mass * x, mass * y, mass * z


@helper
def _press(n, rod, borne, q, pose, gravity, still, kept, efforts):
    """Write what the fluid presses on the base and the coordinates with; `still` are n zeros. No port takes part."""
    rest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    move_outwards(n, 0, 0, rod, q, still, still, rest, rest, kept)
    for i in range(intervals_of(rod) + 1):
        f, here = _lift(n, rod, borne, i, pose, gravity), kept_place(i)
        x, y, z = rotate_back(kept, 0, here, f[0], f[1], f[2])
        put_six(kept, 0, here + WRENCH, (x, y, z, 0.0, 0.0, 0.0))
    press_forces(n, 0, rod, kept, efforts, 0)


def _apply(n, count, applying, numbers, q, v, twist, pose, gravity, efforts):
    rod, result = row_at(numbers, count), row_at(efforts, 6 + n)
    kept = np.empty((1, kept_size(intervals_of(rod), 0)))
    _press(n, rod, rod[0, count - 1], vector_at(q, n), pose, gravity, np.zeros(n), kept, result)
    return OK


def _apply_slopes(n, count, applying, numbers, q, v, twist, pose, gravity, slopes):
    rod, size, result = row_at(numbers, count), 6 + n, row_at(slopes, (6 + n) * (2 * n + 12))
    borne, places = rod[0, count - 1], intervals_of(rod) + 1
    kept, pressed = np.empty((1, kept_size(places - 1, 0))), np.empty((1, size))
    columns, wrenches = np.empty((1, 6 * n * places)), np.empty((1, 6 * n * places))
    tables, small = np.empty((1, (places + 2) * TABLE)), np.empty((1, TABLE + 18 * n))
    _press(n, rod, borne, vector_at(q, n), pose, gravity, np.zeros(n), kept, pressed)
    write_columns_at_base(n, 0, rod, kept, tables, small, columns)
    clear(wrenches, 0, 6 * n * places)
    clear(result, 0, size * (2 * n + 12))
    for i in range(places):
        f = _lift(n, rod, borne, i, pose, gravity)
        add_moved_force(n, f, i, kept, columns, small, wrenches)
        add_turned(n, f, (0.0, 0.0, 0.0), i, kept, columns, result, size * (2 * n + 6) + 3, 6)
    press_columns(n, 0, ALL_STEPS, 6, rod, kept, tables, columns, wrenches, small, result)
    return OK


BUOYANCY = CompiledSurroundings("rod_buoyancy", _apply, _apply_slopes)
