"""The compiled kind of contacts along rods: `titop.blocks.interactions.contact` for kernels.

`numbers` are, in order: the law, as in `contact`; the numbers of spheres, of steps to them and of the rod; for every sphere its
place on the rod and its radius; the rod, as in `rod_numbers`, with the spheres that are no points of it as ports. Targets are
the rod's base, the port of the shape, and the rod's coordinates.

What a sphere does depends on the relative displacement of rod and shape at its place, and on the difference of their twists: in
the axes of the base, ``dw = K s + D x`` for a small displacement s of the place and a change x of its twist, both about the
origin of the base. With S what the coordinates move the place by, and X that of its twist in the axes of the place, x is
``X - ad(V) S``.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.laws.distances import distance
from titop.blocks.laws.touch import TOUCHING, touch
from titop.blocks.laws.vectors import cross3, times, transposed
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, row_at, vector_at
from titop.solvers.kernels.laws.compiled_interactions import STEP, interaction_stages
from titop.solvers.kernels.laws.contact import (
    BENDING,
    BENT,
    BY_BRISTLE,
    ENERGY,
    GAP,
    SPHERE_SLOPES,
    STRAIGHTENING,
    TOUCH,
    bends_by,
    bristle_of,
    read_sphere,
    write_bending,
)
from titop.solvers.kernels.laws.rod_forces import ALL_STEPS, counts_at, press_forces, rod_at
from titop.solvers.kernels.laws.rod_matrices import add_product, add_rows, clear, column_of, put_column
from titop.solvers.kernels.laws.rod_motion import move_outwards
from titop.solvers.kernels.laws.rod_numbers import TWIST, WRENCH, intervals_of, kept_place, kept_size
from titop.solvers.kernels.laws.rod_slopes import ROWS, move_columns, press_columns
from titop.solvers.kernels.laws.rod_tables import TABLE
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    carry_twist,
    dot,
    entry_of,
    matrix_of,
    minus,
    plus,
    put_six,
    rotate_back,
    scaled,
    six,
    twist_cross,
    unit,
    wrench_cross,
)
from titop.solvers.native.kernel import helper, shared

#: Where spheres begin, and how many numbers one has; where the shape's pose and twist stand in the motion.
_SPHERES, _SPHERE = TOUCHING + 3, 2
SHAPE = np.int64(layout.MOTION_SIZE)


@helper
def _size(numbers):
    """Return how many numbers are kept of the rod."""
    address, count = rod_at(numbers, TOUCHING, _SPHERE)
    return kept_size(intervals_of(row_at(address, count)), counts_at(numbers, TOUCHING)[1])


@helper
def _bend(n, numbers, motion, still, kept):
    """Write what is kept of the rod's places at its motion; its coordinates are not accelerated: `still` (n) are zeros."""
    q, v = (
        vector_at(address_of(motion, 2 * layout.MOTION_SIZE), n),
        vector_at(address_of(motion, 2 * layout.MOTION_SIZE + n), n),
    )
    address, count = rod_at(numbers, TOUCHING, _SPHERE)
    rest, twist = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), six(motion, 0, np.int64(layout.MOVING))
    move_outwards(n, counts_at(numbers, TOUCHING)[1], ALL_STEPS, row_at(address, count), q, v, still, twist, rest, kept)


@helper
def shape_of(motion):
    """Return, of the shape in the frame of the base, its attitude transposed, its position and its twist."""
    back = transposed(matrix_of(motion, 0, SHAPE))
    place = motion[0, SHAPE + 9], motion[0, SHAPE + 10], motion[0, SHAPE + 11]
    return back, place, carry_twist(motion, 0, SHAPE, six(motion, 0, SHAPE + layout.MOVING))


@helper
def _place(numbers, k):
    """Return where what is kept of the place of sphere k begins."""
    return kept_place(np.int64(numbers[0, _SPHERES + _SPHERE * k]))


@helper
def _radius(numbers, k):
    return numbers[0, _SPHERES + _SPHERE * k + 1]


@helper
def _centre(kept, here):
    return kept[0, here + 9], kept[0, here + 10], kept[0, here + 11]


@helper
def _twist(kept, here):
    """Return the twist of a place about the origin of the base, in its axes."""
    return carry_twist(kept, 0, here, six(kept, 0, here + TWIST))


@helper
def _seen(back, r, p, V):
    """Return, from the shape, the place p, and rates at the difference V of twists: all may be complex."""
    w = V[3], V[4], V[5]
    turned = cross3(w, p)
    place = times(back, (p[0] - r[0], p[1] - r[1], p[2] - r[2]))
    return place, times(back, (V[0] + turned[0], V[1] + turned[1], V[2] + turned[2])), times(back, w)


@helper
def _pushed(numbers, back, r, p, V, radius, bristle):
    """Return the gap, and what a sphere at p is pushed by in the axes of the base: a wrench about p."""
    place, rate, spin = _seen(back, r, p, V)
    gap, f, t, _ = touch(numbers, place, rate, spin, radius, bristle)
    turn = transposed(back)
    f, t = times(turn, f), times(turn, t)
    return gap, (f[0], f[1], f[2], t[0], t[1], t[2])


@helper
def _about_base(p, w):
    """Return a wrench about the origin of the base, from one about p."""
    lever = cross3(p, (w[0], w[1], w[2]))
    return w[0], w[1], w[2], w[3] + lever[0], w[4] + lever[1], w[5] + lever[2]


@helper
def _push(n, inputs, numbers, motion, kept, loads):
    """Write what all spheres press on everything with, and what lies beyond each place; return the least gap."""
    (address, count), (spheres, steps, _) = rod_at(numbers, TOUCHING, _SPHERE), counts_at(numbers, TOUCHING)
    rod = row_at(address, count)
    back, r, speed = shape_of(motion)
    for i in range(intervals_of(rod) + 1 + steps):
        put_six(kept, 0, kept_place(i) + WRENCH, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    least = np.inf
    for k in range(spheres):
        here = _place(numbers, k)
        V, bristle = minus(_twist(kept, here), speed), bristle_of(inputs, numbers, k)
        gap, w = _pushed(numbers, back, r, _centre(kept, here), V, _radius(numbers, k), bristle)
        x, y = rotate_back(kept, 0, here, w[0], w[1], w[2]), rotate_back(kept, 0, here, w[3], w[4], w[5])
        add_six(kept, 0, here + WRENCH, (x[0], x[1], x[2], y[0], y[1], y[2]))
        least = min(least, gap)
    press_forces(n, steps, rod, kept, loads, 6)
    for j in range(6):
        loads[0, j] = loads[0, 6 + j]
    put_six(loads, 0, 6, on_shape(motion, six(loads, 0, 0)))
    return least


@helper
def on_shape(motion, w):
    """Return the wrench on the shape's port, in its frame, that is opposite to one on the base."""
    r = motion[0, SHAPE + 9], motion[0, SHAPE + 10], motion[0, SHAPE + 11]
    lever = cross3(r, (w[0], w[1], w[2]))
    f = rotate_back(motion, 0, SHAPE, w[0], w[1], w[2])
    t = rotate_back(motion, 0, SHAPE, w[3] - lever[0], w[4] - lever[1], w[5] - lever[2])
    return -f[0], -f[1], -f[2], -t[0], -t[1], -t[2]


@shared
def rod_contact_loads(ports, coordinates, inputs, numbers, motion, loads):
    """The sum of what happens at all spheres."""
    kept = np.empty((1, _size(numbers)))
    _bend(coordinates, numbers, motion, np.zeros(coordinates), kept)
    _push(coordinates, inputs, numbers, motion, kept, loads)


@helper
def _read_spheres(what, n, inputs, numbers, motion, still, kept, result):
    """Write what is read of all spheres; `still` (n) are zeros, `kept` is used up."""
    back, r, speed = shape_of(motion)
    _bend(n, numbers, motion, still, kept)
    for k in range(counts_at(numbers, TOUCHING)[0]):
        here = _place(numbers, k)
        place, rate, spin = _seen(back, r, _centre(kept, here), minus(_twist(kept, here), speed))
        read_sphere(what, inputs, numbers, k, place, rate, spin, _radius(numbers, k), result)


@shared
def rod_contact_energy(ports, coordinates, inputs, numbers, motion, result):
    """What is stored at all spheres."""
    still, kept = np.zeros(coordinates), np.empty((1, _size(numbers)))
    _read_spheres(ENERGY, coordinates, inputs, numbers, motion, still, kept, result)


@shared
def rod_contact_gap(ports, coordinates, inputs, numbers, motion, result):
    """The distances of all spheres."""
    still, kept = np.zeros(coordinates), np.empty((1, _size(numbers)))
    _read_spheres(GAP, coordinates, inputs, numbers, motion, still, kept, result)


@shared
def rod_contact_rates(ports, coordinates, inputs, numbers, motion, result):
    """How all bristles bend."""
    still, kept = np.zeros(coordinates), np.empty((1, _size(numbers)))
    _read_spheres(BENDING, coordinates, inputs, numbers, motion, still, kept, result)


@shared
def rod_contact_straightening(ports, coordinates, inputs, numbers, motion, result):
    """What all bristles change of how they bend."""
    still, kept = np.zeros(coordinates), np.empty((1, _size(numbers)))
    _read_spheres(STRAIGHTENING, coordinates, inputs, numbers, motion, still, kept, result)


@shared
def rod_contact_touches(ports, coordinates, inputs, numbers, motion, result):
    """What happens at all spheres, one by one."""
    still, kept = np.zeros(coordinates), np.empty((1, _size(numbers)))
    _read_spheres(TOUCH, coordinates, inputs, numbers, motion, still, kept, result)


# -- derivatives -------------------------------------------------------------------------------------------------------


@helper
def _write_answer(numbers, back, r, p, V, radius, bristle, t):
    """Write K and D (6 x 6 each), by complex steps."""
    h, rest = 1j * STEP, (p[0] + 0.0j, p[1] + 0.0j, p[2] + 0.0j)
    for c in range(6):
        e = unit(c)
        x, y, z = cross3((e[3], e[4], e[5]), p)
        moved = p[0] + h * (e[0] + x), p[1] + h * (e[1] + y), p[2] + h * (e[2] + z)
        still = plus(V, scaled(0.0j, e))
        _, w = _pushed(numbers, back, r, moved, still, radius, bristle)
        _put_imaginary(t, c, _about_base(moved, w))
        _, w = _pushed(numbers, back, r, rest, plus(V, scaled(h, e)), radius, bristle)
        _put_imaginary(t, 36 + c, _about_base(p, w))


@helper
def _put_imaginary(t, c, w):
    for r in range(6):
        t[0, c + 6 * r] = entry_of(w, r).imag / STEP


@helper
def _add_sphere(n, w, V, columns, s, wrenches, at, small, sums, by_v, work):
    """Add what a sphere changes of the wrench at its place with q, of what base and coordinates feel with v, and to the sums.

    K and D stand in `small`, w is its wrench about the base's origin, V the twist of its place; `sums` has, for base (6) and
    coordinates (n), rows of what changes with displacements of the shape and with twists of the base (6 each).
    """
    for c in range(6):
        e = unit(c)
        swept = twist_cross(V, e)
        column = column_of(small, 0, 6, c)
        for j in range(6):
            column = plus(column, scaled(-entry_of(swept, j), column_of(small, 36, 6, j)))
        put_column(small, 72, 6, c, column)
        put_column(small, 108, 6, c, minus(wrench_cross(e, w), column))
    add_product(wrenches, at, 6, small, 72, 6, 1, columns, s, n)
    add_product(wrenches, at, 6, small, 36, 6, 1, columns, s + 6 * n, n)
    clear(work, 0, 6 * n)
    add_product(work, 0, 6, small, 36, 6, 1, columns, s, n)
    for r in range(6):
        for j in range(n):
            by_v[0, r * n + j] += work[0, r * n + j]
        for c in range(6):
            sums[0, 12 * r + c] += small[0, 108 + 6 * r + c]
            sums[0, 12 * r + 6 + c] += small[0, 36 + 6 * r + c]
    for i in range(n):
        x = column_of(columns, s, n, i)
        add_rows(by_v, (6 + i) * n, x, work, 0, n, n)
        add_rows(sums, 12 * (6 + i), x, small, 108, 6, 6)
        add_rows(sums, 12 * (6 + i) + 6, x, small, 36, 6, 6)


@helper
def _write_result(n, motion, loads, by_q, by_v, sums, slopes):
    """Write the rows of base, shape and coordinates from what changes of base and coordinates."""
    width, whole = 18 + 2 * n, six(loads, 0, 0)
    for r in range(6 + n):
        o = (r if r < 6 else 6 + r) * width
        for c in range(6):
            along = carry_twist(motion, 0, SHAPE, unit(c))
            displaced = turning = 0.0
            for j in range(6):
                displaced += sums[0, 12 * r + j] * entry_of(along, j)
                turning -= sums[0, 12 * r + 6 + j] * entry_of(along, j)
            slopes[0, o + c] = displaced
            slopes[0, o + 6 + c] = sums[0, 12 * r + 6 + c]
            slopes[0, o + 12 + c] = turning
        for j in range(n):
            slopes[0, o + 18 + j], slopes[0, o + 18 + n + j] = by_q[0, r * n + j], by_v[0, r * n + j]
    for c in range(width):
        change = column_of(slopes, c, width, 0)
        if c < 6:
            change = minus(change, wrench_cross(carry_twist(motion, 0, SHAPE, unit(c)), whole))
        put_column(slopes, 6 * width, width, c, on_shape(motion, change))


@shared
def rod_contact_slopes(ports, coordinates, inputs, numbers, motion, slopes, work):
    """What changes of all that as the shape, the base and the coordinates move."""
    n, (address, count), (spheres, steps, _) = coordinates, rod_at(numbers, TOUCHING, _SPHERE), counts_at(numbers, TOUCHING)
    rod = row_at(address, count)
    kept, (back, r, speed) = np.empty((1, _size(numbers))), shape_of(motion)
    places = intervals_of(rod) + 1 + steps
    _bend(n, numbers, motion, np.zeros(n), kept)
    clear(slopes, 0, (12 + n) * (18 + 2 * n))
    if not _push(n, inputs, numbers, motion, kept, work) < 0.0:  # nothing touches, and nothing changes
        return
    columns, wrenches = np.empty((1, ROWS * n * places)), np.empty((1, 6 * n * places))
    tables, small = np.empty((1, (places + 3) * TABLE)), np.empty((1, 144 + TABLE + 36 + 18 * n))
    taken = np.empty((1, 6 * n))
    by_q, by_v, sums = np.empty((1, (6 + n) * n)), np.empty((1, (6 + n) * n)), np.empty((1, (6 + n) * 12))
    move_columns(n, steps, ALL_STEPS, rod, kept, tables, columns)
    clear(wrenches, 0, 6 * n * places)
    clear(by_q, 0, (6 + n) * n)
    clear(by_v, 0, (6 + n) * n)
    clear(sums, 0, (6 + n) * 12)
    for k in range(spheres):
        here, radius, i = _place(numbers, k), _radius(numbers, k), np.int64(numbers[0, _SPHERES + _SPHERE * k])
        p, V, bristle = _centre(kept, here), _twist(kept, here), bristle_of(inputs, numbers, k)
        gap, w = _pushed(numbers, back, r, p, minus(V, speed), radius, bristle)
        if gap < 0.0:  # the others change nothing
            _write_answer(numbers, back, r, p, minus(V, speed), radius, bristle, small)
            s, at = ROWS * n * i, 6 * n * i
            _add_sphere(n, _about_base(p, w), V, columns, s, wrenches, at, small, sums, by_v, taken)
    press_columns(n, steps, ALL_STEPS, ROWS, rod, kept, tables, columns, wrenches, small, by_q)
    _write_result(n, motion, work, by_q, by_v, sums, slopes)


# -- derivatives of bristles -------------------------------------------------------------------------------------------


@shared
def rod_contact_rates_slopes(ports, coordinates, inputs, numbers, motion, slopes):
    """What the motion changes of how all bristles bend, and each of these of the loads.

    How a bristle bends changes by ``K s + D x`` as the wrench does (above), but that it is told in the axes of the shape.
    """
    n, (address, count), (spheres, steps, _) = coordinates, rod_at(numbers, TOUCHING, _SPHERE), counts_at(numbers, TOUCHING)
    rod, width = row_at(address, count), 18 + 2 * coordinates
    kept, (back, r, speed) = np.empty((1, _size(numbers))), shape_of(motion)
    places, t, small = intervals_of(rod) + 1 + steps, np.empty((1, SPHERE_SLOPES)), np.empty((1, 72))
    columns, tables = np.empty((1, ROWS * n * places)), np.empty((1, (places + 3) * TABLE))
    _bend(n, numbers, motion, np.zeros(n), kept)
    clear(slopes, 0, inputs * (width + 12 + n))
    move_columns(n, steps, ALL_STEPS, rod, kept, tables, columns)
    for k in range(spheres):
        here, s = _place(numbers, k), ROWS * n * np.int64(numbers[0, _SPHERES + _SPHERE * k])
        p, V = _centre(kept, here), _twist(kept, here)
        place, rate, spin = _seen(back, r, p, minus(V, speed))
        if distance(numbers, place)[0] < _radius(numbers, k):  # the others only straighten
            write_bending(numbers, place, rate, spin, _radius(numbers, k), bristle_of(inputs, numbers, k), t)
            _write_bent(back, p, V, minus(V, speed), t, small)
            for i in range(3):
                _add_bent(n, motion, small, 6 * i, columns, s, (3 * k + i) * width, slopes)
                _add_held_by(n, motion, back, p, i, t, columns, s, inputs * width + (3 * k + i) * (12 + n), slopes)


@helper
def _write_bent(back, p, V, moving, t, small):
    """Write ``K - D ad(V)`` and D (6 x 6 each, of which three rows count) of a sphere with the twist V, `moving` so."""
    for c in range(6):
        e = unit(c)
        w = e[3], e[4], e[5]
        x, y, z = cross3(w, p)
        along = e[0] + x, e[1] + y, e[2] + z
        turned = times(back, cross3((moving[3], moving[4], moving[5]), along))
        along, w = times(back, along), times(back, w)
        a, b, d = bends_by(t, BENT, 0, along), bends_by(t, BENT, 3, turned), bends_by(t, BENT, 3, along)
        f = bends_by(t, BENT, 6, w)
        for i in range(3):
            small[0, 6 * i + c], small[0, 36 + 6 * i + c] = a[i] + b[i], d[i] + f[i]
    for c in range(6):
        swept = twist_cross(V, unit(c))
        for i in range(3):
            small[0, 6 * i + c] -= dot(six(small, 0, 36 + 6 * i), swept)


@helper
def _add_bent(n, motion, small, row, columns, s, to, slopes):
    """Add the row of what the motion changes of how a bristle bends along one axis."""
    by_place, by_twist = six(small, 0, row), six(small, 0, 36 + row)
    for c in range(6):
        along = carry_twist(motion, 0, SHAPE, unit(c))
        slopes[0, to + c] = -dot(by_place, along)
        slopes[0, to + 6 + c] = entry_of(by_twist, c)
        slopes[0, to + 12 + c] = -dot(by_twist, along)
    add_rows(slopes, to + 18, by_place, columns, s, n, n)
    add_rows(slopes, to + 18, by_twist, columns, s + 6 * n, n, n)
    add_rows(slopes, to + 18 + n, by_twist, columns, s, n, n)


@helper
def _add_held_by(n, motion, back, p, i, t, columns, s, to, slopes):
    """Write what a unit of the bristle of a sphere, along axis i of the shape, changes of wrenches and efforts."""
    turn, at = transposed(back), BY_BRISTLE + i
    f, m = times(turn, (t[0, at], t[0, 12 + at], t[0, 24 + at])), times(turn, (t[0, 36 + at], t[0, 48 + at], t[0, 60 + at]))
    w = _about_base(p, (f[0], f[1], f[2], m[0], m[1], m[2]))
    put_six(slopes, 0, to, w)
    put_six(slopes, 0, to + 6, on_shape(motion, w))
    for j in range(n):
        slopes[0, to + 12 + j] = dot(column_of(columns, s, n, j), w)


CONTACT = interaction_stages(
    "rod_contact",
    rod_contact_loads,
    rod_contact_energy,
    rod_contact_slopes,
    write_gap=rod_contact_gap,
    write_rates=rod_contact_rates,
    write_rates_driven=rod_contact_straightening,
    write_rates_slopes=rod_contact_rates_slopes,
    write_touches=rod_contact_touches,
)
