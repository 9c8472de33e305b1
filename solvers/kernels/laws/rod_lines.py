"""The compiled kind of lines in soft rods, tendons and chambers: `titop.blocks.interactions.tendon` for kernels.

`numbers` are, in order: those of `soft_lines`; for every rod the numbers of its coordinates and of its groups of four points,
where among the coordinates those of each strain component ``[k; s]`` begin and end (6 x 2), and the groups; last the input.

A group has rows of four numbers, one for each point: weight, ``x`` at rest (3), y and z of the line, and what a unit of each
coordinate adds to its component of the strain. Points that fill up the last group have no weight.

Locals: ``x`` is ``dr/dX`` at a point, which the strain changes by ``s + k x (0, y, z)``; ``g`` the derivatives of the length by
the coordinates.
"""

from __future__ import annotations

import math

import numpy as np

from titop.blocks.basics.choices import select
from titop.solvers.kernels.interface.stages import address_of, part_of, vector_at
from titop.solvers.kernels.laws.compiled_interactions import interaction_stages
from titop.solvers.kernels.laws.matrices import clear
from titop.solvers.kernels.laws.soft_lines import (
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
from titop.solvers.kernels.spatial.algebra import entry_of
from titop.solvers.native.kernel import helper, shared

# -- four numbers at a time


@helper
def four_at(numbers, o):
    """Return four numbers from `o` on."""
    x = vector_at(address_of(numbers, o), 4)
    return x[0], x[1], x[2], x[3]


@helper
def _more(x, y):
    return x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3]


@helper
def _less(x, y):
    return x[0] - y[0], x[1] - y[1], x[2] - y[2], x[3] - y[3]


@helper
def _times(x, y):
    """Return the products of four numbers and four."""
    return x[0] * y[0], x[1] * y[1], x[2] * y[2], x[3] * y[3]


@helper
def _over(x, y):
    return x[0] / y[0], x[1] / y[1], x[2] / y[2], x[3] / y[3]


@helper
def _sum(x):
    return (x[0] + x[1]) + (x[2] + x[3])


@helper
def _opposite(x):
    return -x[0], -x[1], -x[2], -x[3]


# -- the points of lines, four at a time: four numbers in a row are what machines compute with at once

_RUNS, _GROUPS = np.int64(2), np.int64(14)

#: Where the shapes of the coordinates begin in a group.
SHAPES = np.int64(24)


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
        _more(_more(x0, s0), _less(_times(k1, z), _times(k2, y))),
        _less(_more(x1, s1), _times(k0, z)),
        _more(_more(x2, s2), _times(k0, y)),
    )


@helper
def lengths_of(x):
    """Return the lengths of four vectors."""
    a, b, c, d = _more(_more(_times(x[0], x[0]), _times(x[1], x[1])), _times(x[2], x[2]))
    return math.sqrt(a), math.sqrt(b), math.sqrt(c), math.sqrt(d)


@helper
def groups_of(numbers, rod):
    """Return the number of coordinates, where the groups of the rod at `rod` begin, how many there are, and their size."""
    n = np.int64(numbers[0, rod])
    return n, rod + _GROUPS, np.int64(numbers[0, rod + 1]), SHAPES + 4 * n


# -- the line


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
    clear(g, 0, coordinates)
    for _ in range(bodies_of(numbers)):
        n, group, count, size = groups_of(numbers, rod)
        q, own = part_of(motion, first, (n,)), part_of(g, first, (n,))
        for _ in range(count):
            x = directions(numbers, rod, group, q)
            lengths, weights = lengths_of(x), four_at(numbers, group)
            measure += _sum(_times(weights, lengths))
            share = _over(weights, lengths)
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


# -- the second derivatives of the length: at a point the squares of what the coordinates add to x along two directions across
# it, over the length of x

#: Rows for what the coordinates do at a group's points across the line.
ACROSS = 8


@helper
def _across(x0, x1, x2, length, y, z):
    """Return what a unit of each strain component adds to x along two directions across it, of length one.

    The directions are those of Duff et al., "Building an orthonormal basis, revisited" (2017).
    """
    a, b, c = x0 / length, x1 / length, x2 / length
    side = select(a < 0.0, -1.0, 1.0)
    d = -1.0 / (side + a)
    r0, r1, r2 = -b, side + b * b * d, b * c * d
    t0, t1, t2 = -side * c, side * b * c * d, 1.0 + side * c * c * d
    return (y * r2 - z * r1, z * r0, -y * r0, r0, r1, r2), (y * t2 - z * t1, z * t0, -y * t0, t0, t1, t2)


@helper
def _write_across(numbers, rod, group, x, lengths, n, room):
    """Write what each coordinate adds to x across it, two rows (n) for each of a group's points."""
    x0, x1, x2 = x
    y, z = four_at(numbers, group + 16), four_at(numbers, group + 20)
    a, b = _across(x0[0], x1[0], x2[0], lengths[0], y[0], z[0])
    c, d = _across(x0[1], x1[1], x2[1], lengths[1], y[1], z[1])
    e, f = _across(x0[2], x1[2], x2[2], lengths[2], y[2], z[2])
    g, h = _across(x0[3], x1[3], x2[3], lengths[3], y[3], z[3])
    r0, r1 = vector_at(address_of(room, 0), n), vector_at(address_of(room, n), n)
    r2, r3 = vector_at(address_of(room, 2 * n), n), vector_at(address_of(room, 3 * n), n)
    r4, r5 = vector_at(address_of(room, 4 * n), n), vector_at(address_of(room, 5 * n), n)
    r6, r7 = vector_at(address_of(room, 6 * n), n), vector_at(address_of(room, 7 * n), n)
    for k in range(6):
        wa, wb, wc, wd = entry_of(a, k), entry_of(b, k), entry_of(c, k), entry_of(d, k)
        we, wf, wg, wh = entry_of(e, k), entry_of(f, k), entry_of(g, k), entry_of(h, k)
        begin, end = run_of(numbers, rod, k)
        for j in range(begin, end):
            shape = vector_at(address_of(numbers, group + SHAPES + 4 * j), 4)
            r0[j], r1[j], r2[j], r3[j] = wa * shape[0], wb * shape[0], wc * shape[1], wd * shape[1]
            r4[j], r5[j], r6[j], r7[j] = we * shape[2], wf * shape[2], wg * shape[3], wh * shape[3]


@helper
def add_curvature(coordinates, numbers, motion, room, slopes):
    """Add the second derivatives of the length to the upper half of the square block of `slopes` (n, 2 n) by coordinates.

    `room` are `ACROSS` rows (n) to work in.
    """
    rod, first = first_body(numbers), np.int64(0)
    for _ in range(bodies_of(numbers)):
        n, group, count, size = groups_of(numbers, rod)
        for _ in range(count):
            x = directions(numbers, rod, group, part_of(motion, first, (n,)))
            lengths, weights = lengths_of(x), four_at(numbers, group)
            _write_across(numbers, rod, group, x, lengths, n, room)
            share = _over(weights, lengths)
            for i in range(n):
                _add_squares(share, room, n, i, slopes, (first + i) * 2 * coordinates + first + i)
            group += size
        first += n
        rod = group


@helper
def _add_squares(share, room, n, i, slopes, o):
    """Add the products of a group's rows at coordinate i and at those from i on, weighted, to the row from ``slopes[0, o]``."""
    a, b = _weighed(share[0], room, n, i), _weighed(share[1], room, n, 2 * n + i)
    c, d = _weighed(share[2], room, n, 4 * n + i), _weighed(share[3], room, n, 6 * n + i)
    r0, r1 = vector_at(address_of(room, i), n), vector_at(address_of(room, n + i), n)
    r2, r3 = vector_at(address_of(room, 2 * n + i), n), vector_at(address_of(room, 3 * n + i), n)
    r4, r5 = vector_at(address_of(room, 4 * n + i), n), vector_at(address_of(room, 5 * n + i), n)
    r6, r7 = vector_at(address_of(room, 6 * n + i), n), vector_at(address_of(room, 7 * n + i), n)
    row = vector_at(address_of(slopes, o), n)
    for j in range(n - i):
        near = (a[0] * r0[j] + a[1] * r1[j]) + (b[0] * r2[j] + b[1] * r3[j])
        row[j] += near + ((c[0] * r4[j] + c[1] * r5[j]) + (d[0] * r6[j] + d[1] * r7[j]))


@helper
def _weighed(share, room, n, o):
    return share * room[0, o], share * room[0, o + n]


# -- what pulls


@helper
def line_loads(ports, coordinates, inputs, numbers, motion, loads):
    """Minus tension times the derivatives of the length; nothing for a line that is not pulled and cannot be stretched."""
    if is_idle(numbers, motion):
        clear(loads, 0, coordinates)
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
def line_slopes(ports, coordinates, inputs, numbers, motion, slopes):
    """The derivatives of what `line_loads` writes."""
    n, g = coordinates, np.empty((1, coordinates), motion.dtype)
    clear(slopes, 0, 2 * n * n)
    if is_idle(numbers, motion):
        return
    stretch = _follow(n, numbers, motion, g)
    if curves(n, numbers, motion, stretch, g):
        add_curvature(n, numbers, motion, np.empty((1, ACROSS * n), motion.dtype), slopes)
        for i in range(n):
            for j in range(i):
                slopes[0, i * 2 * n + j] = slopes[0, j * 2 * n + i]
    pull_slopes(n, numbers, motion, stretch, g, slopes)


@shared
def line_gap(ports, coordinates, inputs, numbers, motion, gap):
    """By how much a tendon is stretched."""
    g = np.empty((1, coordinates), motion.dtype)
    gap[0, 0] = _follow(coordinates, numbers, motion, g)
    gap[0, 1] = stretching(coordinates, motion, g)


LINE = interaction_stages("rod_line", line_loads, line_energy, line_slopes, line_gap)
