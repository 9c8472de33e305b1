"""Turns and shifts of spherical and free joints: ``dE/dt = E [w]`` and ``ds/dt = E v``, w and v the joint's own twist."""

from __future__ import annotations

from titop.solvers.kernels.series.rooms import SHIFT, TURN
from titop.solvers.kernels.spatial.algebra import cross, rotate, rotate_back
from titop.solvers.native.kernel import helper


@helper
def turn_group(free, v, row, k, rates, groups):
    """Write order k of E and, for a free joint, of the shift, from lower orders."""
    for c in range(12):
        groups[row + k, TURN + c] = 0.0
    if k == 0:
        groups[row, TURN] = groups[row, TURN + 4] = groups[row, TURN + 8] = 1.0
        return
    angular = v + 3 if free else v
    for j in range(k):
        m = k - 1 - j
        for line in range(0, 9, 3):
            x, y, z = groups[row + j, TURN + line], groups[row + j, TURN + line + 1], groups[row + j, TURN + line + 2]
            dx, dy, dz = cross(x, y, z, rates[m, angular], rates[m, angular + 1], rates[m, angular + 2])
            groups[row + k, TURN + line] += dx
            groups[row + k, TURN + line + 1] += dy
            groups[row + k, TURN + line + 2] += dz
        if free:
            dx, dy, dz = rotate(groups, row + j, TURN, rates[m, v], rates[m, v + 1], rates[m, v + 2])
            groups[row + k, SHIFT] += dx
            groups[row + k, SHIFT + 1] += dy
            groups[row + k, SHIFT + 2] += dz
    for c in range(12):
        groups[row + k, TURN + c] /= k


@helper
def turned_back(groups, row, first, last, vectors, at, column):
    """Return the sum of ``E_j^T x_m`` for j from `first` to before `last`, x_m at ``vectors[at - j, column]``."""
    x, y, z = 0.0, 0.0, 0.0
    for j in range(first, last):
        m = at - j
        dx, dy, dz = rotate_back(groups, row + j, TURN, vectors[m, column], vectors[m, column + 1], vectors[m, column + 2])
        x, y, z = x + dx, y + dy, z + dz
    return x, y, z


@helper
def turned(groups, row, first, last, vectors, at, column):
    """Return the sum of ``E_j x_m`` for j from `first` to before `last`, x_m at ``vectors[at - j, column]``."""
    x, y, z = 0.0, 0.0, 0.0
    for j in range(first, last):
        m = at - j
        dx, dy, dz = rotate(groups, row + j, TURN, vectors[m, column], vectors[m, column + 1], vectors[m, column + 2])
        x, y, z = x + dx, y + dy, z + dz
    return x, y, z
