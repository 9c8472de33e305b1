"""The compiled kind of lines in soft rods, tendons and chambers: `titop.blocks.interactions.rod_line` for kernels.

`numbers` are, in order: the sign of the input's tension, stiffness, dissipation, what is drawn in at rest, the numbers of rods
and of arms, and the arms; for every rod the numbers of its coordinates and of its groups of four points, where among the
coordinates those of each strain component ``[k; s]`` begin and end (6 x 2), and the groups; last the input.

A group has rows of four numbers, one for each point: weight, ``x`` at rest (3), y and z of the line, and what a unit of each
coordinate adds to its component of the strain. Points that fill up the last group have no weight.

Locals: ``x`` is ``dr/dX`` at a point, which the strain changes by ``s + k x (0, y, z)``; ``g`` the derivatives of the length by
the coordinates.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface.stages import address_of, part_of, vector_at
from titop.solvers.kernels.laws.compiled_interactions import CompiledInteraction
from titop.solvers.kernels.laws.rod_line_curvature import ACROSS, add_curvature
from titop.solvers.kernels.laws.rod_line_points import (
    ARMS,
    SHAPES,
    directions,
    first_rod,
    four_at,
    groups_of,
    lengths_of,
    run_of,
)
from titop.solvers.native.kernel import AllocatingHelper, helper


@helper
def _times(x, y):
    """Return the products of four numbers and four."""
    return x[0] * y[0], x[1] * y[1], x[2] * y[2], x[3] * y[3]


@helper
def _sum(x):
    return (x[0] + x[1]) + (x[2] + x[3])


@helper
def _less(x, y):
    return x[0] - y[0], x[1] - y[1], x[2] - y[2], x[3] - y[3]


@helper
def _opposite(x):
    return -x[0], -x[1], -x[2], -x[3]


@helper
def _add_pull(numbers, rod, group, component, w, g):
    """Add the derivatives of a component of the strain at a group's points by its coordinates, weighted by w, to g."""
    begin, end = run_of(numbers, rod, component)
    for j in range(begin, end):
        shape = vector_at(address_of(numbers, group + SHAPES + 4 * j), 4)
        g[j] += (shape[0] * w[0] + shape[1] * w[1]) + (shape[2] * w[2] + shape[3] * w[3])


@helper
def _follow(coordinates, numbers, motion, g):
    """Write the derivatives by all coordinates; return the measure with what is drawn in."""
    rod, first, measure = first_rod(numbers), np.int64(0), numbers[0, 3]
    for j in range(coordinates):
        g[0, j] = 0.0
    for _ in range(np.int64(numbers[0, 4])):
        n, group, count, size = groups_of(numbers, rod)
        q, own = part_of(motion, first, (n,)), part_of(g, first, (n,))
        for _ in range(count):
            x = directions(numbers, rod, group, q)
            lengths, weights = lengths_of(x), four_at(numbers, group)
            measure += _sum(_times(weights, lengths))
            share = weights[0] / lengths[0], weights[1] / lengths[1], weights[2] / lengths[2], weights[3] / lengths[3]
            u0, u1, u2 = _times(share, x[0]), _times(share, x[1]), _times(share, x[2])
            y, z = four_at(numbers, group + 16), four_at(numbers, group + 20)
            _add_pull(numbers, rod, group, 0, _less(_times(y, u2), _times(z, u1)), own)
            _add_pull(numbers, rod, group, 1, _times(z, u0), own)
            _add_pull(numbers, rod, group, 2, _opposite(_times(y, u0)), own)
            _add_pull(numbers, rod, group, 3, u0, own)
            _add_pull(numbers, rod, group, 4, u1, own)
            _add_pull(numbers, rod, group, 5, u2, own)
            group += size
        first += n
        rod = group
    for k in range(coordinates - first):
        g[0, first + k] = numbers[0, ARMS + k]
        measure += numbers[0, ARMS + k] * motion[0, first + k]
    return measure


@helper
def _given_tension(numbers):
    """Return the tension that the input gives."""
    return numbers[0, 0] * numbers[0, numbers.shape[1] - 1]


@helper
def line_loads(ports, coordinates, inputs, numbers, motion, loads):
    """Minus tension times the derivatives of the length; nothing for a line that is not pulled and cannot be stretched."""
    tension = _given_tension(numbers)
    if tension == 0.0 and numbers[0, 1] == 0.0:
        for j in range(coordinates):
            loads[0, j] = 0.0
        return
    stretch = _follow(coordinates, numbers, motion, loads)
    if numbers[0, 1] > 0.0 and stretch > 0.0:
        share = 1.0
        for j in range(coordinates):
            share += numbers[0, 2] * loads[0, j] * motion[0, coordinates + j]
        if share > 0.0:
            tension += numbers[0, 1] * stretch * share
    for j in range(coordinates):
        loads[0, j] *= -tension


@helper
def line_energy(ports, coordinates, inputs, numbers, motion, energy):
    """``k s^2 / 2`` where a tendon is stretched by s."""
    rod, first, stretch = first_rod(numbers), np.int64(0), numbers[0, 3]
    for _ in range(np.int64(numbers[0, 4])):
        n, group, count, size = groups_of(numbers, rod)
        for _ in range(count):
            lengths = lengths_of(directions(numbers, rod, group, part_of(motion, first, (n,))))
            stretch += _sum(_times(four_at(numbers, group), lengths))
            group += size
        first += n
        rod = group
    for k in range(coordinates - first):
        stretch += numbers[0, ARMS + k] * motion[0, first + k]
    energy[0, 0] = 0.5 * numbers[0, 1] * max(stretch, 0.0) ** 2


@AllocatingHelper
def line_slopes(ports, coordinates, inputs, numbers, motion, slopes, g):
    """Minus tension times the curvature of the length, and minus its derivatives times those of the tension.

    The latter by coordinates wait in the first row's place for derivatives by rates.
    """
    n = coordinates
    tension, stiffness, share = _given_tension(numbers), 0.0, 1.0
    every = part_of(slopes, 0, (2 * n * n,))
    for j in range(2 * n * n):
        every[j] = 0.0
    if tension == 0.0 and numbers[0, 1] == 0.0:
        return
    stretch = _follow(n, numbers, motion, g)
    for j in range(n):
        share += numbers[0, 2] * g[0, j] * motion[0, n + j]
    if stretch > 0.0 and share > 0.0:
        stiffness = numbers[0, 1]
        tension += stiffness * stretch * share
    damping = stiffness * stretch * numbers[0, 2]
    if tension != 0.0 or damping != 0.0:
        add_curvature(n, numbers, motion, np.empty((1, ACROSS * n)), slopes)
        for i in range(n):
            for j in range(i):
                slopes[0, i * 2 * n + j] = slopes[0, j * 2 * n + i]
    by_coordinates = part_of(slopes, n, (n,))
    if damping != 0.0:
        for i in range(n):
            row, rate = part_of(slopes, i * 2 * n, (n,)), damping * motion[0, n + i]
            for j in range(n):
                by_coordinates[j] += rate * row[j]
    for j in range(n):
        by_coordinates[j] += stiffness * share * g[0, j]
    for i in range(n):
        row, weight = part_of(slopes, i * 2 * n, (n,)), g[0, i]
        for j in range(n):
            row[j] = -tension * row[j] - weight * by_coordinates[j]
    for i in range(n):
        row, weight = part_of(slopes, i * 2 * n + n, (n,)), -damping * g[0, i]
        for j in range(n):
            row[j] = weight * g[0, j]


LINE = CompiledInteraction("rod_line", line_loads, line_energy, line_slopes)
