"""The motion of rods, from point to point, and the wrenches that it takes, back again: neither M nor S.

Between two points, and from a point to a port, a rod moves by ``exp(Omega)`` of the strains x and y at two places of
collocation: ``Omega = l/2 (x + y) + sqrt(3)/12 l^2 ad(x) y`` (fourth-order Magnus).
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface.stages import address_of, row_at, vector_at
from titop.solvers.kernels.laws import rod_numbers as rods
from titop.solvers.kernels.laws.matrices import clear
from titop.solvers.kernels.laws.rod_exponential import displacement, expansion, tangent, tangent_back, tangent_rate
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    carry_wrench,
    composed_pose,
    cross,
    full_times,
    plus,
    point_acceleration,
    put_pose,
    put_six,
    rotate_back,
    scaled,
    six,
    transport,
    turned_wrench,
    twist_cross,
    wrench_cross,
)
from titop.solvers.native.kernel import helper, shared

#: sqrt(3)/12
MAGNUS = 0.14433756729740643

#: Bits that say that all steps to ports are used.
ALL_STEPS = -1


@shared
def move_outwards(rod, q, v, a, twist, acceleration):
    """Write poses, twists and accelerations of all places, and what the steps do, for the base's motion."""
    numbers, kept = rod.numbers, rod.kept
    put_pose(kept, 0, 0, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0))
    put_six(kept, 0, rods.TWIST, twist)
    put_six(kept, 0, rods.RATE, acceleration)
    for k in range(rod.intervals + rod.ports):
        if rods.has_step(rod, k):
            o, here = rods.step_at(rod, k), rods.kept_step(rod, k)
            _write_strains(rod, o, q, v, a, here + rods.STRAINS)
            _write_displacement(numbers[0, o], kept, here)
            omega, first = six(kept, 0, here + rods.OMEGA), six(kept, 0, here + rods.OMEGA_RATE)
            terms = expansion(omega)
            rods.put_terms(kept, here, terms)
            put_pose(kept, 0, here, *displacement(omega, terms[0], terms[1]))
            own = tangent(omega, terms[0], terms[1], first)
            own_rate = plus(
                tangent(omega, terms[0], terms[1], six(kept, 0, here + rods.OMEGA_SECOND)), tangent_rate(omega, terms, first)
            )
            begin, end = rods.kept_place(rods.start_of(rod, k)), rods.kept_place(k + 1)
            speed = plus(transport(kept, 0, here, six(kept, 0, begin + rods.TWIST)), own)
            carried = transport(kept, 0, here, six(kept, 0, begin + rods.RATE))
            put_pose(kept, 0, end, *composed_pose(kept, 0, begin, kept, 0, here))
            put_six(kept, 0, end + rods.TWIST, speed)
            put_six(kept, 0, end + rods.RATE, plus(plus(carried, own_rate), twist_cross(speed, own)))


@helper
def _write_strains(rod, o, q, v, a, to):
    """Write both strains, their rates and second rates, six numbers each."""
    n, numbers, kept, components = rod.n, rod.numbers, rod.kept, vector_at(address_of(rod.numbers, rods.COMPONENTS), rod.n)
    for k in range(12):
        kept[0, to + k] = numbers[0, o + rods.REFERENCE + k]
    clear(kept, to + 12, 24)
    first, second, begin = o + rods.SHAPES, o + rods.SHAPES + n, 0
    while begin < n:
        stop, at = rods.run_end(n, components, begin), to + int(components[begin])
        s0 = s1 = r0 = r1 = t0 = t1 = 0.0
        for j in range(begin, stop):
            x, y = numbers[0, first + j], numbers[0, second + j]
            s0, s1, r0, r1 = s0 + x * q[j], s1 + y * q[j], r0 + x * v[j], r1 + y * v[j]
            t0, t1 = t0 + x * a[j], t1 + y * a[j]
        kept[0, at] += s0
        kept[0, at + 6] += s1
        kept[0, at + 12] += r0
        kept[0, at + 18] += r1
        kept[0, at + 24] += t0
        kept[0, at + 30] += t1
        begin = stop


@helper
def strain_at(kept, o):
    """Return the strain [k; s] at ``kept[0, o]`` as a twist [s; k]."""
    return kept[0, o + 3], kept[0, o + 4], kept[0, o + 5], kept[0, o], kept[0, o + 1], kept[0, o + 2]


@helper
def _write_displacement(length, kept, here):
    """Write Omega and its rates."""
    o, bracket = here + rods.STRAINS, MAGNUS * length * length
    x, y = strain_at(kept, o), strain_at(kept, o + 6)
    dx, dy = strain_at(kept, o + 12), strain_at(kept, o + 18)
    ddx, ddy = strain_at(kept, o + 24), strain_at(kept, o + 30)
    half = 0.5 * length
    put_six(kept, 0, here + rods.OMEGA, plus(scaled(half, plus(x, y)), scaled(bracket, twist_cross(x, y))))
    turning = plus(twist_cross(dx, y), twist_cross(x, dy))
    put_six(kept, 0, here + rods.OMEGA_RATE, plus(scaled(half, plus(dx, dy)), scaled(bracket, turning)))
    turning = plus(plus(twist_cross(ddx, y), twist_cross(x, ddy)), scaled(2.0, twist_cross(dx, dy)))
    put_six(kept, 0, here + rods.OMEGA_SECOND, plus(scaled(half, plus(ddx, ddy)), scaled(bracket, turning)))


@helper
def momentum_of(rod, i, x):
    """Return the momentum of point i for a twist x of it."""
    numbers, o, whole = rod.numbers, rods.inertia_at(rod.n, rod.intervals) + 4 * i, rods.whole_at(rod.numbers, i)
    if whole > 0:
        return full_times(numbers, 0, whole, x)
    mass = numbers[0, o]
    return (
        *(mass * x[0], mass * x[1], mass * x[2]),
        *(numbers[0, o + 1] * x[3], numbers[0, o + 2] * x[4], numbers[0, o + 3] * x[5]),
    )


@helper
def own_wrench(rod, i):
    """Return the wrench that moves point i alone."""
    numbers, kept, place = rod.numbers, rod.kept, rods.kept_place(i)
    o, whole = rods.inertia_at(rod.n, rod.intervals) + 4 * i, rods.whole_at(numbers, i)
    speed, rate = six(kept, 0, place + rods.TWIST), six(kept, 0, place + rods.RATE)
    if whole > 0:
        return plus(full_times(numbers, 0, whole, rate), _stirred_momentum(numbers, whole, speed))
    taken = momentum_of(rod, i, point_acceleration(speed, rate))
    tx, ty, tz = spun_moment(numbers, o, (speed[3], speed[4], speed[5]), (speed[3], speed[4], speed[5]))
    return taken[0], taken[1], taken[2], taken[3] + tx, taken[4] + ty, taken[5] + tz


@helper
def _stirred_momentum(numbers, whole, x):
    """Return ``-ad(x)^T I x``, exactly zero where masses have no direction, as `gyroscopic_wrench` of `spatial`."""
    p, m = full_times(numbers, 0, whole, x), numbers[0, whole]
    return turned_wrench(x, p, (p[0] - m * x[0], p[1] - m * x[1], p[2] - m * x[2]))


@helper
def spun_moment(numbers, o, w, x):
    """Return ``w x J x`` for the rotary inertia J of a point."""
    return cross(w[0], w[1], w[2], numbers[0, o + 1] * x[0], numbers[0, o + 2] * x[1], numbers[0, o + 3] * x[2])


@helper
def start_wrenches(rod):
    """Write the wrenches that move the points alone, and none of ports."""
    clear_wrenches(rod)
    for i in range(rod.intervals + 1):
        put_six(rod.kept, 0, rods.kept_place(i) + rods.WRENCH, own_wrench(rod, i))


@shared
def press_inwards(rod, efforts, to):
    """Add the wrenches to those at the places before, and the coordinates' efforts to ``efforts[0]`` from `to`."""
    n, numbers, kept = rod.n, rod.numbers, rod.kept
    for k in range(rod.intervals + rod.ports - 1, -1, -1):
        if rods.has_step(rod, k):
            o, here = rods.step_at(rod, k), rods.kept_step(rod, k)
            wrench = six(kept, 0, rods.kept_place(k + 1) + rods.WRENCH)
            omega = six(kept, 0, here + rods.OMEGA)
            terms = rods.terms_at(kept, here)
            pressed = tangent_back(omega, terms[0], terms[1], wrench)
            _write_pressures(numbers[0, o], pressed, kept, here)
            first, second, pressures = o + rods.SHAPES, o + rods.SHAPES + n, here + rods.PRESSURES
            for j in range(n):
                at = pressures + int(numbers[0, rods.COMPONENTS + j])
                efforts[0, to + j] += numbers[0, first + j] * kept[0, at] + numbers[0, second + j] * kept[0, at + 6]
            begin = rods.kept_place(rods.start_of(rod, k))
            add_six(kept, 0, begin + rods.WRENCH, carry_wrench(kept, 0, here, wrench))


@helper
def _write_pressures(length, pressed, kept, here):
    """Write what presses on both strains, if `pressed` does on Omega."""
    o, to = here + rods.STRAINS, here + rods.PRESSURES
    put_pressure(kept, to, on_first(length, strain_at(kept, o + 6), pressed))
    put_pressure(kept, to + 6, on_second(length, strain_at(kept, o), pressed))


@helper
def on_first(length, second, w):
    """Return what presses on the first strain if w does on Omega: ``(d Omega/dx)^T w``."""
    return plus(scaled(0.5 * length, w), scaled(MAGNUS * length * length, wrench_cross(second, w)))


@helper
def on_second(length, first, w):
    """Return what presses on the second strain: ``(d Omega/dy)^T w``."""
    return plus(scaled(0.5 * length, w), scaled(-MAGNUS * length * length, wrench_cross(first, w)))


@helper
def put_pressure(t, o, w):
    """Write a wrench [f; t] in the order of strains, [t; f]."""
    put_six(t, 0, o, (w[3], w[4], w[5], w[0], w[1], w[2]))


@helper
def press_forces(rod, t, o):
    """Write to ``t[0, o]`` the wrench at the base, then the efforts, of the wrenches kept of places; sum up those beyond."""
    clear(t, o, 6 + rod.n)
    press_inwards(rod, t, o + 6)
    put_six(t, 0, o, six(rod.kept, 0, rods.kept_place(0) + rods.WRENCH))


# -- the rod of an interaction: its numbers stand behind the counts of places on it, of steps to them and of these numbers, and
# behind `size` numbers of each place


@helper
def counts_at(numbers, o):
    """Return of the rod of an interaction, whose counts stand at `o`: those of places, of steps to them and of its numbers."""
    return np.int64(numbers[0, o]), np.int64(numbers[0, o + 1]), np.int64(numbers[0, o + 2])


@helper
def room_at(numbers, o, size):
    """Return how many numbers are kept of the rod."""
    places, steps, _ = counts_at(numbers, o)
    return rods.kept_size(np.int64(numbers[0, o + 3 + size * places]), steps)


@helper
def rod_at(numbers, o, size):
    """Return of a `Rod` what lies between its n and what is kept."""
    places, steps, count = counts_at(numbers, o)
    own = row_at(address_of(numbers, o + 3 + size * places), count)
    return rods.intervals_of(own), steps, ALL_STEPS, own


@helper
def clear_wrenches(rod):
    """Let nothing press on the places of a rod."""
    for i in range(rod.intervals + 1 + rod.ports):
        put_six(rod.kept, 0, rods.kept_place(i) + rods.WRENCH, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))


@helper
def add_wrench_at(kept, place, force, torque):
    """Add to the wrench on a place a force and a torque there, both in the axes of the base."""
    here = rods.kept_place(place)
    x, y = rotate_back(kept, 0, here, force[0], force[1], force[2]), rotate_back(kept, 0, here, torque[0], torque[1], torque[2])
    add_six(kept, 0, here + rods.WRENCH, (x[0], x[1], x[2], y[0], y[1], y[2]))
