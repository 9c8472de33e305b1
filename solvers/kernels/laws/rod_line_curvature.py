"""The second derivatives of the length of a line in soft rods by the rods' coordinates (see `rod_lines`).

At a point they are the squares of what the coordinates add to x along two directions across it, over the length of x.
"""

from __future__ import annotations

import math

import numpy as np

from titop.solvers.kernels.interface.stages import address_of, part_of, vector_at
from titop.solvers.kernels.laws.line_tension import bodies_of, first_body
from titop.solvers.kernels.laws.rod_line_points import SHAPES, directions, four_at, groups_of, lengths_of, run_of
from titop.solvers.kernels.spatial.algebra import entry_of
from titop.solvers.native.kernel import helper

#: Rows for what the coordinates do at a group's points across the line.
ACROSS = 8


@helper
def _across(x0, x1, x2, length, y, z):
    """Return what a unit of each strain component adds to x along two directions across it, of length one.

    The directions are those of Duff et al., "Building an orthonormal basis, revisited" (2017).
    """
    a, b, c = x0 / length, x1 / length, x2 / length
    side = math.copysign(1.0, a)
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
            share = weights[0] / lengths[0], weights[1] / lengths[1], weights[2] / lengths[2], weights[3] / lengths[3]
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
