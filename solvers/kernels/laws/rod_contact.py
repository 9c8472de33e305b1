"""The compiled kind of contacts along rods: `titop.blocks.interactions.contact` for kernels.

`numbers` are, in order: the law, as in `contact`; the numbers of spheres, of steps to them and of the rod; for every sphere its
place on the rod and its radius; the rod, as in `rod_numbers`, with the spheres that are no points of it as ports. Targets are
the rod's base, the port of the shape, and the rod's coordinates.

What a sphere does depends on the relative displacement of rod and shape at its place, and on the difference of their twists: in
the axes of the base, ``dw = K s + D x`` for a small displacement s of the place and a change x of its twist, both about the
origin of the base. With S what the coordinates move the place by, and X that of its twist in the axes of the place, x is
``X - ad(V) S``. How its bristle bends changes likewise, but is told in the axes of the shape.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import nowhere, select
from titop.blocks.laws.distances import distance
from titop.blocks.laws.touch import TOUCHING, touch
from titop.blocks.laws.vectors import cross3, times, transposed
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, vector_at
from titop.solvers.kernels.laws import contact
from titop.solvers.kernels.laws import rod_numbers as rods
from titop.solvers.kernels.laws.compiled_interactions import interaction_stages
from titop.solvers.kernels.laws.interaction_kinds import SECOND
from titop.solvers.kernels.laws.matrices import add_product, add_rows, add_scaled, clear, put_column
from titop.solvers.kernels.laws.rod_columns import ROWS, TABLE, move_columns, press_columns
from titop.solvers.kernels.laws.rod_motion import (
    add_wrench_at,
    clear_wrenches,
    counts_at,
    move_outwards,
    press_forces,
    rod_at,
    room_at,
)
from titop.solvers.kernels.spatial.algebra import (
    carry_twist,
    column_of,
    dot,
    entry_of,
    minus,
    put_six,
    six,
    twist_cross,
    unit,
    wrench_cross,
)
from titop.solvers.native.kernel import helper, shared

#: Where the counts stand, where spheres begin, and how many numbers one has.
_COUNTS, _SPHERES, _SPHERE = TOUCHING, TOUCHING + 3, 2


@helper
def _bend(rod, motion, still):
    """Write what is kept of the rod's places at its motion; `still` (n) are zeros."""
    o, twist, rest = 2 * layout.MOTION_SIZE, six(motion, 0, np.int64(layout.MOVING)), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    q, v = vector_at(address_of(motion, o), rod.n), vector_at(address_of(motion, o + rod.n), rod.n)
    move_outwards(rod, q, v, still, twist, rest)


@helper
def _place(numbers, k):
    """Return the place of sphere k."""
    return np.int64(numbers[0, _SPHERES + _SPHERE * k])


@helper
def _radius(numbers, k):
    return numbers[0, _SPHERES + _SPHERE * k + 1]


@helper
def _centre(kept, place):
    here = rods.kept_place(place)
    return kept[0, here + 9], kept[0, here + 10], kept[0, here + 11]


@helper
def _twist(kept, place):
    """Return the twist of a place about the origin of the base, in its axes."""
    here = rods.kept_place(place)
    return carry_twist(kept, 0, here, six(kept, 0, here + rods.TWIST))


@helper
def _seen(back, r, p, V):
    """Return, from the shape, the place p, and its rates at the difference V of twists."""
    return contact.from_shape(back, r, p, contact.velocity_at(V, p), (V[3], V[4], V[5]))


@helper
def _about_base(p, f, t):
    """Return a wrench about the origin of the base, from force and torque at p."""
    lever = cross3(p, f)
    return f[0], f[1], f[2], t[0] + lever[0], t[1] + lever[1], t[2] + lever[2]


@helper
def _push(rod, inputs, numbers, motion, loads):
    """Write what all spheres press on everything with, and what lies beyond each place; return the least gap."""
    kept, (back, r, speed), least = rod.kept, contact.shape_of(motion), np.inf
    clear_wrenches(rod)
    for k in range(counts_at(numbers, _COUNTS)[0]):
        i, bristle = _place(numbers, k), contact.bristle_of(inputs, motion, k)
        place, rate, spin = _seen(back, r, _centre(kept, i), minus(_twist(kept, i), speed))
        gap, f, t, _ = touch(numbers, place, rate, spin, _radius(numbers, k), bristle)
        add_wrench_at(kept, i, times(transposed(back), f), times(transposed(back), t))
        least = min(least, gap)
    press_forces(rod, loads, 6)
    for j in range(6):
        loads[0, j] = loads[0, 6 + j]
    put_six(loads, 0, 6, contact.on_shape(motion, six(loads, 0, 0)))
    return least


@shared
def rod_contact_loads(ports, coordinates, inputs, numbers, motion, loads):
    """The sum of what happens at all spheres."""
    kept = np.empty((1, room_at(numbers, _COUNTS, _SPHERE)), motion.dtype)
    rod = rods.Rod(coordinates, *rod_at(numbers, _COUNTS, _SPHERE), kept)
    _bend(rod, motion, np.zeros(coordinates, motion.dtype))
    _push(rod, inputs, numbers, motion, loads)


@shared
def _read_spheres(what, n, inputs, numbers, motion, result):
    """Write what is read of all spheres."""
    kept, (back, r, speed) = np.empty((1, room_at(numbers, _COUNTS, _SPHERE)), motion.dtype), contact.shape_of(motion)
    _bend(rods.Rod(n, *rod_at(numbers, _COUNTS, _SPHERE), kept), motion, np.zeros(n, motion.dtype))
    contact.begin_reading(what, result)
    for k in range(counts_at(numbers, _COUNTS)[0]):
        i = _place(numbers, k)
        seen = _seen(back, r, _centre(kept, i), minus(_twist(kept, i), speed))
        contact.read_sphere(what, inputs, numbers, motion, k, seen, _radius(numbers, k), result)


def _reading(what):
    def read(ports, coordinates, inputs, numbers, motion, result):
        _read_spheres(what, coordinates, inputs, numbers, motion, result)

    return read


# -- derivatives -------------------------------------------------------------------------------------------------------


@helper
def _write_answer(t, back, p, moving, f, small):
    """Write K and D (6 x 6 each); f is the force on the sphere at p, `moving` its twist against the shape."""
    turn, none, w = transposed(back), (0.0, 0.0, 0.0), (moving[3], moving[4], moving[5])
    for c in range(6):
        e = unit(c)
        along, about = contact.velocity_at(e, p), (e[3], e[4], e[5])
        turned, lever = cross3(w, along), cross3(along, f)
        df = times(turn, contact.change_of(t, 0, back, along, turned, none))
        dt = times(turn, contact.change_of(t, 3, back, along, turned, none))
        put_column(small, 0, 6, c, _about_base(p, df, (dt[0] + lever[0], dt[1] + lever[1], dt[2] + lever[2])))
        df = times(turn, contact.change_of(t, 0, back, none, along, about))
        dt = times(turn, contact.change_of(t, 3, back, none, along, about))
        put_column(small, 36, 6, c, _about_base(p, df, dt))


@helper
def _write_bent(t, back, p, moving, small):
    """Write K and D of a bristle (3 x 6 each, in the places of those of the wrench)."""
    none, w = (0.0, 0.0, 0.0), (moving[3], moving[4], moving[5])
    for c in range(6):
        e = unit(c)
        along = contact.velocity_at(e, p)
        a = contact.change_of(t, contact.BENT, back, along, cross3(w, along), none)
        b = contact.change_of(t, contact.BENT, back, none, along, (e[3], e[4], e[5]))
        for k in range(3):
            small[0, 6 * k + c], small[0, 36 + 6 * k + c] = a[k], b[k]


@helper
def _fix_places(V, rows, small):
    """Write ``K - D ad(V)`` behind K and D, of so many rows."""
    for c in range(6):
        moved = twist_cross(V, unit(c))
        for k in range(rows):
            small[0, 72 + 6 * k + c] = small[0, 6 * k + c] - dot(six(small, 0, 36 + 6 * k), moved)


@helper
def _add_sphere(rod, i, w, V, columns, wrenches, small, rooms):
    """Add what a sphere changes of the wrench at its place with q, of what base and coordinates feel with v, and to the sums.

    K and D stand in `small`, w is its wrench about the base's origin, V the twist of its place; `rooms` has, for base (6) and
    coordinates (n), rows of what changes with displacements of the shape and with twists of the base (6 each).
    """
    n, s, at, (sums, by_v, work) = rod.n, ROWS * rod.n * i, 6 * rod.n * i, rooms
    _fix_places(V, 6, small)
    for c in range(6):
        put_column(small, 108, 6, c, minus(wrench_cross(unit(c), w), column_of(small, 72, 6, c)))
    add_product(wrenches, at, small, 72, columns, s, n)
    add_product(wrenches, at, small, 36, columns, s + 6 * n, n)
    clear(work, 0, 6 * n)
    add_product(work, 0, small, 36, columns, s, n)
    for r in range(6):
        add_scaled(by_v, r * n, 1.0, work, r * n, n)
        add_scaled(sums, 12 * r, 1.0, small, 108 + 6 * r, 6)
        add_scaled(sums, 12 * r + 6, 1.0, small, 36 + 6 * r, 6)
    for i in range(n):
        x = column_of(columns, s, n, i)
        add_rows(by_v, (6 + i) * n, x, work, 0, n, n)
        add_rows(sums, 12 * (6 + i), x, small, 108, 6, 6)
        add_rows(sums, 12 * (6 + i) + 6, x, small, 36, 6, 6)


@helper
def _write_result(n, motion, loads, by_q, by_v, sums, slopes):
    """Write the rows of base, shape and coordinates from what changes of base and coordinates."""
    width = 18 + 2 * n
    for r in range(6 + n):
        o = (r if r < 6 else 6 + r) * width
        for c in range(6):
            along = carry_twist(motion, 0, SECOND, unit(c))
            displaced = turning = 0.0
            for j in range(6):
                displaced += sums[0, 12 * r + j] * entry_of(along, j)
                turning -= sums[0, 12 * r + 6 + j] * entry_of(along, j)
            slopes[0, o + c] = displaced
            slopes[0, o + 6 + c] = sums[0, 12 * r + 6 + c]
            slopes[0, o + 12 + c] = turning
        for j in range(n):
            slopes[0, o + 18 + j], slopes[0, o + 18 + n + j] = by_q[0, r * n + j], by_v[0, r * n + j]
    contact.write_shape_rows(motion, six(loads, 0, 0), width, slopes)


@shared
def rod_contact_slopes(ports, coordinates, inputs, numbers, motion, slopes):
    """What changes of all that as the shape, the base and the coordinates move."""
    n, dtype, (back, r, speed) = coordinates, motion.dtype, contact.shape_of(motion)
    kept, loads = np.empty((1, room_at(numbers, _COUNTS, _SPHERE)), dtype), np.empty((1, 12 + n), dtype)
    rod, turn = rods.Rod(n, *rod_at(numbers, _COUNTS, _SPHERE), kept), transposed(back)
    places = rod.intervals + 1 + rod.ports
    _bend(rod, motion, np.zeros(n, dtype))
    clear(slopes, 0, (12 + n) * (18 + 2 * n))
    touches = _push(rod, inputs, numbers, motion, loads) < 0.0
    if nowhere(touches):  # nothing changes
        return
    columns, wrenches = np.empty((1, ROWS * n * places), dtype), np.empty((1, 6 * n * places), dtype)
    tables, small = np.empty((1, (places + 3) * TABLE), dtype), np.empty((1, 144 + TABLE + 36 + 18 * n), dtype)
    taken, t = np.empty((1, 6 * n), dtype), np.empty((1, contact.SPHERE_SLOPES), dtype)
    by_q, by_v = np.empty((1, (6 + n) * n), dtype), np.empty((1, (6 + n) * n), dtype)
    sums = np.empty((1, (6 + n) * 12), dtype)
    move_columns(rod, tables, columns)
    clear(wrenches, 0, 6 * n * places)
    clear(by_q, 0, (6 + n) * n)
    clear(by_v, 0, (6 + n) * n)
    clear(sums, 0, (6 + n) * 12)
    for k in range(counts_at(numbers, _COUNTS)[0]):
        i, radius, bristle = _place(numbers, k), _radius(numbers, k), contact.bristle_of(inputs, motion, k)
        p, V = _centre(kept, i), _twist(kept, i)
        place, rate, spin = _seen(back, r, p, minus(V, speed))
        gap, f, torque, _ = touch(numbers, place, rate, spin, radius, bristle)
        if not nowhere(gap < 0.0):  # the others change nothing
            f = times(turn, f)
            contact.write_sphere_slopes(numbers, place, rate, spin, radius, bristle, 9, t)
            _write_answer(t, back, p, minus(V, speed), f, small)
            w = _about_base(p, f, times(turn, torque))
            _add_sphere(rod, i, w, V, columns, wrenches, small, (sums, by_v, taken))
    press_columns(rod, ROWS, tables, columns, wrenches, small, by_q)
    _write_result(n, motion, loads, by_q, by_v, sums, slopes)
    for k in range((12 + n) * (18 + 2 * n)):
        slopes[0, k] = select(touches, slopes[0, k], 0.0)


@shared
def rod_contact_rates_slopes(ports, coordinates, inputs, numbers, motion, slopes):
    """What the motion changes of how all bristles bend, and each of these of the loads."""
    n, kept, (back, r, speed) = coordinates, np.empty((1, room_at(numbers, _COUNTS, _SPHERE))), contact.shape_of(motion)
    rod = rods.Rod(n, *rod_at(numbers, _COUNTS, _SPHERE), kept)
    width, places = 18 + 2 * n, rod.intervals + 1 + rod.ports
    t, small, columns = np.empty((1, contact.SPHERE_SLOPES)), np.empty((1, 108)), np.empty((1, ROWS * n * places))
    _bend(rod, motion, np.zeros(n))
    clear(slopes, 0, inputs * (width + 12 + n))
    move_columns(rod, np.empty((1, (places + 3) * TABLE)), columns)
    for k in range(counts_at(numbers, _COUNTS)[0]):
        i, radius = _place(numbers, k), _radius(numbers, k)
        p, V, s = _centre(kept, i), _twist(kept, i), ROWS * n * i
        place, rate, spin = _seen(back, r, p, minus(V, speed))
        if distance(numbers, place)[0] < radius:  # the others only straighten
            contact.write_sphere_slopes(numbers, place, rate, spin, radius, contact.bristle_of(inputs, motion, k), 12, t)
            _write_bent(t, back, p, minus(V, speed), small)
            _fix_places(V, 3, small)
            for j in range(3):
                _add_bent(n, motion, small, 6 * j, columns, s, (3 * k + j) * width, slopes)
                to, (f, torque) = inputs * width + (3 * k + j) * (12 + n), contact.loads_by_bristle(t, j, transposed(back))
                w = _about_base(p, f, torque)
                put_six(slopes, 0, to, w)
                put_six(slopes, 0, to + 6, contact.on_shape(motion, w))
                for c in range(n):
                    slopes[0, to + 12 + c] = dot(column_of(columns, s, n, c), w)


@helper
def _add_bent(n, motion, small, row, columns, s, to, slopes):
    """Add the row of what the motion changes of how a bristle bends along one axis."""
    by_place, by_twist = six(small, 0, 72 + row), six(small, 0, 36 + row)
    for c in range(6):
        along = carry_twist(motion, 0, SECOND, unit(c))
        slopes[0, to + c] = -dot(by_place, along)
        slopes[0, to + 6 + c] = entry_of(by_twist, c)
        slopes[0, to + 12 + c] = -dot(by_twist, along)
    add_rows(slopes, to + 18, by_place, columns, s, n, n)
    add_rows(slopes, to + 18, by_twist, columns, s + 6 * n, n, n)
    add_rows(slopes, to + 18 + n, by_twist, columns, s, n, n)


_SLOPES = {"write_slopes": rod_contact_slopes, "write_rates_slopes": rod_contact_rates_slopes}
CONTACT = interaction_stages("rod_contact", rod_contact_loads, **_SLOPES, **contact.read_by(_reading))
