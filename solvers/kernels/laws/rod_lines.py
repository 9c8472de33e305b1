"""The compiled kind of lines in soft rods, tendons and chambers: `titop.blocks.interactions.rod_line` for kernels.

`numbers` are, in order: those of `line_tension`; for every rod the numbers of its coordinates and of its groups of four points,
where among the coordinates those of each strain component ``[k; s]`` begin and end (6 x 2), and the groups; last the input.

A group has rows of four numbers, one for each point: weight, ``x`` at rest (3), y and z of the line, and what a unit of each
coordinate adds to its component of the strain. Points that fill up the last group have no weight.

Locals: ``x`` is ``dr/dX`` at a point, which the strain changes by ``s + k x (0, y, z)``; ``g`` the derivatives of the length by
the coordinates.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface.stages import address_of, part_of, vector_at
from titop.solvers.kernels.laws.compiled_interactions import CompiledInteraction
from titop.solvers.kernels.laws.line_tension import (
    bodies_of,
    curves,
    drawn_in,
    first_body,
    is_idle,
    pull,
    pull_slopes,
    stretched_energy,
    stretching,
    taken_in,
    write_arms,
)
from titop.solvers.kernels.laws.rod_line_curvature import ACROSS, add_curvature
from titop.solvers.kernels.laws.rod_line_points import (
    SHAPES,
    directions,
    four_at,
    groups_of,
    lengths_of,
    run_of,
)
from titop.solvers.native.kernel import helper, shared


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
    rod, first, measure = first_body(numbers), np.int64(0), drawn_in(numbers)
    for j in range(coordinates):
        g[0, j] = 0.0
    for _ in range(bodies_of(numbers)):
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
    write_arms(coordinates, first, numbers, g)
    return measure + taken_in(coordinates, first, numbers, motion)


@helper
def line_loads(ports, coordinates, inputs, numbers, motion, loads):
    """Minus tension times the derivatives of the length; nothing for a line that is not pulled and cannot be stretched."""
    if is_idle(numbers):
        for j in range(coordinates):
            loads[0, j] = 0.0
        return
    pull(coordinates, numbers, motion, _follow(coordinates, numbers, motion, loads), loads)


@helper
def line_energy(ports, coordinates, inputs, numbers, motion, energy):
    """What a stretched tendon stores."""
    rod, first, stretch = first_body(numbers), np.int64(0), drawn_in(numbers)
    for _ in range(bodies_of(numbers)):
        n, group, count, size = groups_of(numbers, rod)
        for _ in range(count):
            lengths = lengths_of(directions(numbers, rod, group, part_of(motion, first, (n,))))
            stretch += _sum(_times(four_at(numbers, group), lengths))
            group += size
        first += n
        rod = group
    energy[0, 0] = stretched_energy(numbers, stretch + taken_in(coordinates, first, numbers, motion))


@shared
def line_slopes(ports, coordinates, inputs, numbers, motion, slopes, g):
    """The derivatives of what `line_loads` writes."""
    n = coordinates
    every = part_of(slopes, 0, (2 * n * n,))
    for j in range(2 * n * n):
        every[j] = 0.0
    if is_idle(numbers):
        return
    stretch = _follow(n, numbers, motion, g)
    if curves(n, numbers, motion, stretch, g):
        add_curvature(n, numbers, motion, np.empty((1, ACROSS * n)), slopes)
        for i in range(n):
            for j in range(i):
                slopes[0, i * 2 * n + j] = slopes[0, j * 2 * n + i]
    pull_slopes(n, numbers, motion, stretch, g, slopes)


@shared
def line_gap(ports, coordinates, inputs, numbers, motion, gap):
    """By how much a tendon is stretched."""
    g = np.empty((1, coordinates))
    gap[0, 0] = _follow(coordinates, numbers, motion, g)
    gap[0, 1] = stretching(coordinates, motion, g)


LINE = CompiledInteraction("rod_line", line_loads, line_energy, line_slopes, line_gap)
