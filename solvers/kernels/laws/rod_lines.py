"""The compiled kind of lines in soft rods, tendons and chambers: `titop.blocks.interactions.rod_line` for kernels.

`numbers` are, in order: the sign of the input's tension, stiffness, dissipation, what is drawn in at rest, the numbers of rods
and of arms, and the arms; for every rod the numbers of points and of coordinates, and how many coordinates move each component
of the strain ``[k; s]`` (6); for every point a row of weight, y, z, dy/dX, dz/dX, reference strain (6) and shapes; the input.

Locals: ``x`` is ``dr/dX`` at a point, ``g`` the derivatives of the length by the coordinates.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.laws.compiled_interactions import CompiledInteraction
from titop.solvers.kernels.spatial.rotations import dot3
from titop.solvers.native.kernel import helper

_ARMS, _ROD, _SHAPES = 6, 8, 11


@helper
def _strain(numbers, row, motion, first, component, start, count):
    """Return a component of the strain at the point at `row`, moved by `count` coordinates from `start` on."""
    total = motion[0, first] * 0.0 + numbers[0, row + 5 + component]
    for j in range(start, start + count):
        total += numbers[0, row + _SHAPES + j] * motion[0, first + j]
    return total


@helper
def _direction(numbers, rod, row, motion, first):
    """Return x at the point at `row` of the rod at `rod`, whose coordinates begin at `first`."""
    n0, n1, n2 = np.int64(numbers[0, rod + 2]), np.int64(numbers[0, rod + 3]), np.int64(numbers[0, rod + 4])
    n3, n4, n5 = np.int64(numbers[0, rod + 5]), np.int64(numbers[0, rod + 6]), np.int64(numbers[0, rod + 7])
    torsion = _strain(numbers, row, motion, first, 0, 0, n0)
    bending_y = _strain(numbers, row, motion, first, 1, n0, n1)
    bending_z = _strain(numbers, row, motion, first, 2, n0 + n1, n2)
    at = n0 + n1 + n2
    stretch = _strain(numbers, row, motion, first, 3, at, n3)
    shear_y = _strain(numbers, row, motion, first, 4, at + n3, n4)
    shear_z = _strain(numbers, row, motion, first, 5, at + n3 + n4, n5)
    y, z = numbers[0, row + 1], numbers[0, row + 2]
    ahead = stretch + bending_y * z - bending_z * y
    return ahead, shear_y - torsion * z + numbers[0, row + 3], shear_z + torsion * y + numbers[0, row + 4]


@helper
def _spread(numbers, row, value, start, count, first, g):
    """Add the effect of a component of the strain to the derivatives by its coordinates; return where the next ones begin."""
    for j in range(start, start + count):
        g[0, first + j] += value * numbers[0, row + _SHAPES + j]
    return start + count


@helper
def _follow(coordinates, numbers, motion, g):
    """Write the derivatives by all coordinates; return the measure with what is drawn in, and where the input stands."""
    arms = np.int64(numbers[0, 5])
    rod, first, measure = np.int64(_ARMS + arms), np.int64(0), motion[0, 0] * 0.0 + numbers[0, 3]
    for j in range(coordinates):
        g[0, j] = 0.0
    for _ in range(np.int64(numbers[0, 4])):
        points, count = np.int64(numbers[0, rod]), np.int64(numbers[0, rod + 1])
        row = rod + _ROD
        for _ in range(points):
            x0, x1, x2 = _direction(numbers, rod, row, motion, first)
            size = np.sqrt(x0 * x0 + x1 * x1 + x2 * x2)
            measure += numbers[0, row] * size
            share = numbers[0, row] / size
            x0, x1, x2 = share * x0, share * x1, share * x2
            y, z = numbers[0, row + 1], numbers[0, row + 2]
            at = _spread(numbers, row, y * x2 - z * x1, np.int64(0), np.int64(numbers[0, rod + 2]), first, g)
            at = _spread(numbers, row, z * x0, at, np.int64(numbers[0, rod + 3]), first, g)
            at = _spread(numbers, row, -y * x0, at, np.int64(numbers[0, rod + 4]), first, g)
            at = _spread(numbers, row, x0, at, np.int64(numbers[0, rod + 5]), first, g)
            at = _spread(numbers, row, x1, at, np.int64(numbers[0, rod + 6]), first, g)
            _spread(numbers, row, x2, at, np.int64(numbers[0, rod + 7]), first, g)
            row += _SHAPES + count
        first += count
        rod = row
    for k in range(arms):
        g[0, first + k] = numbers[0, _ARMS + k]
        measure += numbers[0, _ARMS + k] * motion[0, first + k]
    return measure, rod


@helper
def line_loads(ports, coordinates, inputs, numbers, motion, loads):
    """Minus tension times the derivatives of the length."""
    stretch, at = _follow(coordinates, numbers, motion, loads)
    tension = stretch * 0.0 + numbers[0, 0] * numbers[0, at]
    if numbers[0, 1] > 0.0 and stretch.real > 0.0:
        share = 1.0 + stretch * 0.0
        for j in range(coordinates):
            share += numbers[0, 2] * loads[0, j] * motion[0, coordinates + j]
        if share.real > 0.0:
            tension += numbers[0, 1] * stretch * share
    for j in range(coordinates):
        loads[0, j] *= -tension


@helper
def line_energy(ports, coordinates, inputs, numbers, motion, energy):
    """``k s^2 / 2`` where a tendon is stretched by s."""
    arms, stretch = np.int64(numbers[0, 5]), numbers[0, 3]
    rod, first = np.int64(_ARMS + arms), np.int64(0)
    for _ in range(np.int64(numbers[0, 4])):
        points, count = np.int64(numbers[0, rod]), np.int64(numbers[0, rod + 1])
        row = rod + _ROD
        for _ in range(points):
            x0, x1, x2 = _direction(numbers, rod, row, motion, first)
            stretch += numbers[0, row] * np.sqrt(x0 * x0 + x1 * x1 + x2 * x2)
            row += _SHAPES + count
        first += count
        rod = row
    for k in range(arms):
        stretch += numbers[0, _ARMS + k] * motion[0, first + k]
    energy[0, 0] = 0.5 * numbers[0, 1] * max(stretch, 0.0) ** 2


@helper
def _lever(c, y, z):
    """Return how x changes with component c of the strain."""
    if c == 0:
        return 0.0, -z, y
    if c == 1:
        return z, 0.0, 0.0
    if c == 2:
        return -y, 0.0, 0.0
    return 1.0 * (c == 3), 1.0 * (c == 4), 1.0 * (c == 5)


@helper
def _add_curvature(coordinates, numbers, motion, slopes):
    """Add the second derivatives of the length to the square block of `slopes` (n, 2 n) by coordinates."""
    rod, first = np.int64(_ARMS + np.int64(numbers[0, 5])), np.int64(0)
    for _ in range(np.int64(numbers[0, 4])):
        points, count = np.int64(numbers[0, rod]), np.int64(numbers[0, rod + 1])
        row = rod + _ROD
        for _ in range(points):
            x = _direction(numbers, rod, row, motion, first)
            square, i = dot3(x, x), np.int64(0)
            weight = numbers[0, row] / np.sqrt(square)
            for c in range(6):
                a = _lever(c, numbers[0, row + 1], numbers[0, row + 2])
                along = dot3(a, x) / square
                across, j = (a[0] - along * x[0], a[1] - along * x[1], a[2] - along * x[2]), np.int64(0)
                rows = np.int64(numbers[0, rod + 2 + c])
                for d in range(6):
                    factor = weight * dot3(across, _lever(d, numbers[0, row + 1], numbers[0, row + 2]))
                    columns = np.int64(numbers[0, rod + 2 + d])
                    for k in range(i, i + rows):
                        one, at = factor * numbers[0, row + _SHAPES + k], (first + k) * 2 * coordinates + first
                        for m in range(j, j + columns):
                            slopes[0, at + m] += one * numbers[0, row + _SHAPES + m]
                    j += columns
                i += rows
            row += _SHAPES + count
        first += count
        rod = row


@helper
def line_slopes(ports, coordinates, inputs, numbers, motion, slopes, g):
    """Minus tension times the curvature of the length, and minus its derivatives times those of the tension.

    The latter by coordinates wait in the first row's place for derivatives by rates.
    """
    n = coordinates
    stretch, at = _follow(n, numbers, motion, g)
    for j in range(2 * n * n):
        slopes[0, j] = 0.0
    _add_curvature(n, numbers, motion, slopes)
    tension, stiffness, share = numbers[0, 0] * numbers[0, at], 0.0, 1.0
    for j in range(n):
        share += numbers[0, 2] * g[0, j] * motion[0, n + j]
    if stretch > 0.0 and share > 0.0:
        stiffness = numbers[0, 1]
        tension += stiffness * stretch * share
    damping = stiffness * stretch * numbers[0, 2]
    for j in range(n):
        turning = 0.0
        for i in range(n):
            turning += slopes[0, i * 2 * n + j] * motion[0, n + i]
        slopes[0, n + j] = stiffness * share * g[0, j] + damping * turning
    for i in range(n):
        for j in range(n):
            slopes[0, i * 2 * n + j] = -tension * slopes[0, i * 2 * n + j] - g[0, i] * slopes[0, n + j]
    for i in range(n):
        for j in range(n):
            slopes[0, i * 2 * n + n + j] = -damping * g[0, i] * g[0, j]


LINE = CompiledInteraction("rod_line", line_loads, line_energy, line_slopes)
