"""The points of lines in soft rods, four at a time: where they stand in the `numbers` of `rod_lines`, and ``x = dr/dX`` there.

Four numbers in a row, one for each point, are what machines compute with at once.
"""

from __future__ import annotations

import math

import numpy as np

from titop.solvers.kernels.interface.stages import address_of, vector_at
from titop.solvers.native.kernel import helper

_RUNS, _GROUPS = np.int64(2), np.int64(14)

#: Where the shapes of the coordinates begin in a group.
SHAPES = np.int64(24)


@helper
def four_at(numbers, o):
    """Return four numbers from `o` on."""
    x = vector_at(address_of(numbers, o), 4)
    return x[0], x[1], x[2], x[3]


@helper
def run_of(numbers, rod, component):
    """Return where the coordinates of a strain component begin and end among those of the rod at `rod`."""
    at = rod + _RUNS + 2 * component
    return np.int64(numbers[0, at]), np.int64(numbers[0, at + 1])


@helper
def _strain(numbers, rod, group, component, q):
    """Return what the coordinates q add to a component of the strain at a group's points."""
    s0 = s1 = s2 = s3 = 0.0
    begin, end = run_of(numbers, rod, component)
    for j in range(begin, end):
        shape, y = vector_at(address_of(numbers, group + SHAPES + 4 * j), 4), q[j]
        s0 += shape[0] * y
        s1 += shape[1] * y
        s2 += shape[2] * y
        s3 += shape[3] * y
    return s0, s1, s2, s3


@helper
def directions(numbers, rod, group, q):
    """Return the components of x at a group's points, four each."""
    y, z = four_at(numbers, group + 16), four_at(numbers, group + 20)
    x0, x1, x2 = four_at(numbers, group + 4), four_at(numbers, group + 8), four_at(numbers, group + 12)
    k0, k1, k2 = _strain(numbers, rod, group, 0, q), _strain(numbers, rod, group, 1, q), _strain(numbers, rod, group, 2, q)
    s0, s1, s2 = _strain(numbers, rod, group, 3, q), _strain(numbers, rod, group, 4, q), _strain(numbers, rod, group, 5, q)
    return (
        (
            x0[0] + s0[0] + (k1[0] * z[0] - k2[0] * y[0]),
            x0[1] + s0[1] + (k1[1] * z[1] - k2[1] * y[1]),
            x0[2] + s0[2] + (k1[2] * z[2] - k2[2] * y[2]),
            x0[3] + s0[3] + (k1[3] * z[3] - k2[3] * y[3]),
        ),
        (
            x1[0] + s1[0] - k0[0] * z[0],
            x1[1] + s1[1] - k0[1] * z[1],
            x1[2] + s1[2] - k0[2] * z[2],
            x1[3] + s1[3] - k0[3] * z[3],
        ),
        (
            x2[0] + s2[0] + k0[0] * y[0],
            x2[1] + s2[1] + k0[1] * y[1],
            x2[2] + s2[2] + k0[2] * y[2],
            x2[3] + s2[3] + k0[3] * y[3],
        ),
    )


@helper
def lengths_of(x):
    """Return the lengths of four vectors."""
    a, b, c = x
    return (
        math.sqrt(a[0] * a[0] + b[0] * b[0] + c[0] * c[0]),
        math.sqrt(a[1] * a[1] + b[1] * b[1] + c[1] * c[1]),
        math.sqrt(a[2] * a[2] + b[2] * b[2] + c[2] * c[2]),
        math.sqrt(a[3] * a[3] + b[3] * b[3] + c[3] * c[3]),
    )


@helper
def groups_of(numbers, rod):
    """Return the number of coordinates, where the groups of the rod at `rod` begin, how many there are, and their size."""
    n = np.int64(numbers[0, rod])
    return n, rod + _GROUPS, np.int64(numbers[0, rod + 1]), SHAPES + 4 * n
