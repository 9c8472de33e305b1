"""The compiled kind of lines in soft rods, tendons and chambers: `titop.blocks.interactions.rod_line` for kernels.

`numbers` are, in order: the sign of the input's tension, stiffness, dissipation, what is drawn in at rest, the numbers of rods
and of arms, and the arms; for every rod the numbers of points and of coordinates; for every point a row of its weight, ``x`` at
rest (3), and the derivatives of x by the coordinates (3 n); the input.

Locals: ``x`` is ``dr/dX`` at a point, ``g`` the derivatives of the length by the coordinates.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.laws.compiled_interactions import CompiledInteraction
from titop.solvers.native.kernel import helper

_ARMS, _ROD, _ONTO = 6, 2, 4


@helper
def _direction(numbers, row, count, motion, first):
    """Return x at the point at `row` of a rod whose `count` coordinates begin at `first`."""
    zero, at = motion[0, first] * 0.0, row + _ONTO
    x0, x1, x2 = zero + numbers[0, row + 1], zero + numbers[0, row + 2], zero + numbers[0, row + 3]
    for j in range(count):
        q = motion[0, first + j]
        x0 += numbers[0, at + j] * q
        x1 += numbers[0, at + count + j] * q
        x2 += numbers[0, at + 2 * count + j] * q
    return x0, x1, x2


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
            x0, x1, x2 = _direction(numbers, row, count, motion, first)
            size, at = np.sqrt(x0 * x0 + x1 * x1 + x2 * x2), row + _ONTO
            measure += numbers[0, row] * size
            share = numbers[0, row] / size
            x0, x1, x2 = share * x0, share * x1, share * x2
            for j in range(count):
                along = x1 * numbers[0, at + count + j] + x2 * numbers[0, at + 2 * count + j]
                g[0, first + j] += x0 * numbers[0, at + j] + along
            row += _ONTO + 3 * count
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
            x0, x1, x2 = _direction(numbers, row, count, motion, first)
            stretch += numbers[0, row] * np.sqrt(x0 * x0 + x1 * x1 + x2 * x2)
            row += _ONTO + 3 * count
        first += count
        rod = row
    for k in range(arms):
        stretch += numbers[0, _ARMS + k] * motion[0, first + k]
    energy[0, 0] = 0.5 * numbers[0, 1] * max(stretch, 0.0) ** 2


@helper
def _add_curvature(coordinates, numbers, motion, slopes):
    """Add the second derivatives of the length to the upper half of the square block of `slopes` (n, 2 n) by coordinates."""
    rod, first = np.int64(_ARMS + np.int64(numbers[0, 5])), np.int64(0)
    for _ in range(np.int64(numbers[0, 4])):
        points, count = np.int64(numbers[0, rod]), np.int64(numbers[0, rod + 1])
        row = rod + _ROD
        for _ in range(points):
            x0, x1, x2 = _direction(numbers, row, count, motion, first)
            square, one = x0 * x0 + x1 * x1 + x2 * x2, row + _ONTO
            two, three, weight = one + count, one + 2 * count, numbers[0, row] / np.sqrt(square)
            for i in range(count):
                a0, a1, a2 = numbers[0, one + i], numbers[0, two + i], numbers[0, three + i]
                along, at = (a0 * x0 + a1 * x1 + a2 * x2) / square, (first + i) * 2 * coordinates + first
                a0, a1, a2 = weight * (a0 - along * x0), weight * (a1 - along * x1), weight * (a2 - along * x2)
                for j in range(i, count):
                    across = a1 * numbers[0, two + j] + a2 * numbers[0, three + j]
                    slopes[0, at + j] += a0 * numbers[0, one + j] + across
            row += _ONTO + 3 * count
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
    for i in range(n):
        for j in range(i):
            slopes[0, i * 2 * n + j] = slopes[0, j * 2 * n + i]
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
