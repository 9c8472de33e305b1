"""Rods in a fluid: it bears a part of their weight, which is what an acceleration against gravity would take.

That part of ``M [down; 0]``, M of the rod at its points and ``down`` gravity in the axes of its base, acts on the rod.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface.layout import OK
from titop.solvers.kernels.interface.records import law_size
from titop.solvers.kernels.interface.stages import row_at, vector_at
from titop.solvers.kernels.laws.applied_laws import CompiledSurroundings
from titop.solvers.kernels.laws.rod_matrices import clear
from titop.solvers.kernels.laws.rod_motion import move_outwards, press_inwards, start_wrenches
from titop.solvers.kernels.laws.rod_numbers import WRENCH, intervals_of, kept_place, kept_size
from titop.solvers.kernels.laws.rod_slopes import write_linearised
from titop.solvers.kernels.spatial.algebra import cross, put_six, rotate_back, six, unit
from titop.solvers.native.kernel import AllocatingHelper, helper


@helper
def _down(pose, gravity):
    g = vector_at(gravity, 3)
    return rotate_back(row_at(pose, 12), 0, 0, g[0], g[1], g[2])


@AllocatingHelper
def _weigh(n, rod, q, down, kept, efforts):
    """Write ``M [down; 0]``: the wrench at the base, and the efforts; no port takes part."""
    still, rest = np.zeros(n), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    move_outwards(n, 0, 0, rod, q, still, still, rest, (down[0], down[1], down[2], 0.0, 0.0, 0.0), kept)
    start_wrenches(n, 0, rod, kept)
    clear(efforts, 0, 6 + n)
    press_inwards(n, 0, 0, rod, kept, efforts, 6)
    put_six(efforts, 0, 0, six(kept, 0, kept_place(0) + WRENCH))


def _apply(n, count, applying, numbers, q, v, twist, pose, gravity, efforts):
    rod, result = row_at(numbers, count), row_at(efforts, 6 + n)
    _weigh(n, rod, vector_at(q, n), _down(pose, gravity), np.empty((1, kept_size(intervals_of(rod), 0))), result)
    for j in range(6 + n):
        result[0, j] *= -rod[0, count - 1]
    return OK


def _apply_slopes(n, count, applying, numbers, q, v, twist, pose, gravity, slopes):
    rod, size = row_at(numbers, count), 6 + n
    down, result = _down(pose, gravity), row_at(slopes, (6 + n) * (2 * n + 12))
    kept, record, borne = np.empty((1, kept_size(intervals_of(rod), 0))), np.empty((1, law_size(n, 0))), -rod[0, count - 1]
    _weigh(n, rod, vector_at(q, n), down, kept, record)
    write_linearised(n, 0, 0, rod, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), kept, record, result)
    by_displacement = size * (2 * n + 6)
    clear(result, by_displacement, 6 * size)
    for c in range(3):
        e = unit(c)
        x, y, z = cross(down[0], down[1], down[2], e[0], e[1], e[2])
        for r in range(size):
            turned = record[0, r * size] * x + record[0, r * size + 1] * y + record[0, r * size + 2] * z
            result[0, by_displacement + 6 * r + 3 + c] = turned
    for k in range(size * (2 * n + 12)):
        result[0, k] *= borne
    return OK


BUOYANCY = CompiledSurroundings("rod_buoyancy", _apply, _apply_slopes)
