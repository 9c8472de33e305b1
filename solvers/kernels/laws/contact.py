"""The compiled kind of contacts of rigid bodies, and what all contacts do at a sphere: `titop.blocks.interactions.contact`.

`numbers` begin with the shape (5, see `titop.blocks.interactions.shape`), stiffness, exponent, dissipation, coefficient of
friction, slip velocity, rolling friction, whether spheres turn, and the stiffness of bristles. Those of rigid bodies go on
with the number of spheres, and of each its place in the second port's frame, its radius, and how far it moves along z to both
sides, to where it is nearest to the shape: not at all, but for capsules. States of bristles, three for each sphere, are the
last numbers.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.interactions.shape import HALVINGS, LEVEL, PLANE, ROUNDED, WALL
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.laws.compiled_interactions import STEP, CompiledInteraction, move_along
from titop.solvers.kernels.laws.interaction_kinds import SECOND, position_of, put_wrenches, rates_of
from titop.solvers.kernels.spatial.algebra import matrix_of
from titop.solvers.kernels.spatial.matrices import times
from titop.solvers.kernels.spatial.rotations import cross3, dot3
from titop.solvers.kernels.tree.stops import impact_energy, impact_push
from titop.solvers.native.kernel import helper, shared

#: Where the law's numbers stand behind the shape's, and what follows them.
STIFFNESS, EXPONENT, DISSIPATION, FRICTION, SLIP, ROLLING, TURNS, BRISTLES, TOUCHING = range(5, 14)
_SPHERE = 5
#: What is read of spheres: the energy of all; of each the gap and its rate, the rate of its bristle, or `TOUCH_SIZE` numbers:
#: the gap, the force on it and its slip; and what bristles change of their rates (k x k).
ENERGY, GAP, BENDING, TOUCH, STRAIGHTENING = range(5)


# -- distances ---------------------------------------------------------------------------------------------------------


@helper
def _side(x):
    return -1.0 if x.real < 0.0 else 1.0


@helper
def _positive(x):
    return x if x.real > 0.0 else 0.0 * x


@helper
def _from_box3(x, y, z, a, b, c):
    """Return the distance of a place from a box that reaches as far to both sides of the origin as said, and the way out."""
    p, q, s = _side(x), _side(y), _side(z)
    u, v, w = p * x - a, q * y - b, s * z - c
    o, h, k = _positive(u), _positive(v), _positive(w)
    square = o * o + h * h + k * k
    inside = not square.real > 0.0
    apart = np.sqrt(square + 1.0 if inside else square)
    first = u.real >= v.real and u.real >= w.real
    second = not first and v.real >= w.real
    deep = u if first else (v if second else w)
    e = (1.0 if first else 0.0) if inside else o / apart
    f = (1.0 if second else 0.0) if inside else h / apart
    g = (0.0 if first or second else 1.0) if inside else k / apart
    return (deep if inside else apart), p * e, q * f, s * g


@helper
def distance(numbers, r):
    """Return the distance of a place from the shape, and the unit vector out of that (3)."""
    x, y, z = r
    kind, a, b, c, d = numbers[0, 0], numbers[0, 1], numbers[0, 2], numbers[0, 3], numbers[0, 4]
    if kind == PLANE:
        nothing = 0.0 * x
        return a * x + b * y + c * z, nothing + a, nothing + b, nothing + c
    if kind == ROUNDED:
        apart, e, f, g = _from_box3(x, y, z, a, b, c)
        return apart - d, e, f, g
    across, e, f, _ = _from_box3(x, y, 0.0 * z, 0.0, 0.0, 0.0)
    if kind == WALL:
        return b * (across - a), b * e, b * f, 0.0 * z
    apart, aside, along, _ = _from_box3(across, z, 0.0 * z, a, b, a + b)  # never out of the third side
    return apart, aside * e, aside * f, along


@helper
def _slope(numbers, c, u, s):
    """Return what the distance grows by along a line, at c + s u."""
    _, x, y, z = distance(numbers, (c[0] + s * u[0], c[1] + s * u[1], c[2] + s * u[2]))
    return x * u[0] + y * u[1] + z * u[2]


@shared
def nearest(numbers, c, u, half):
    """Return s from -half to half at which c + s u is nearest to a convex shape: see `titop.blocks.interactions.shape`."""
    p, e, low, high = (c[0].real, c[1].real, c[2].real), (u[0].real, u[1].real, u[2].real), -half, half
    for _ in range(HALVINGS):
        s = 0.5 * (low + high)
        rises = _slope(numbers, p, e, s) + LEVEL * s / half > 0.0
        low, high = low if rises else s, s if rises else high
    s = 0.5 * (low + high)
    bend = _slope(numbers, p, e, s + 1j * STEP).imag / STEP + LEVEL / half
    within = _slope(numbers, p, e, -half) < LEVEL and _slope(numbers, p, e, half) > -LEVEL
    slope = _slope(numbers, c, u, s)
    change = (slope - slope.real) / bend
    return s - change if within else s + 0.0 * change


# -- what happens at a sphere ------------------------------------------------------------------------------------------


@helper
def bristle_of(inputs, numbers, k):
    """Return the state (3) of the bristle of sphere k."""
    o = numbers.shape[1] - inputs + 3 * k
    if numbers[0, BRISTLES] == 0.0:
        return 0.0, 0.0, 0.0
    return numbers[0, o], numbers[0, o + 1], numbers[0, o + 2]


@helper
def _slip(numbers, apart, n, rate, spin):
    """Return the lever of a sphere's surface, and the velocity of this along the shape."""
    arm = -numbers[0, TURNS] * apart
    lever = arm * n[0], arm * n[1], arm * n[2]
    turned = cross3(spin, lever)
    x, y, z = rate[0] + turned[0], rate[1] + turned[1], rate[2] + turned[2]
    away = n[0] * x + n[1] * y + n[2] * z
    return lever, (x - away * n[0], y - away * n[1], z - away * n[2])


@helper
def _bent(numbers, n, slip, bristle):
    """Return how a bristle bends in contact (3), its friction in parts of Coulomb's, and what it has along the normal."""
    reach = numbers[0, FRICTION] / numbers[0, BRISTLES]
    away = dot3(n, bristle)
    a = away * n[0], away * n[1], away * n[2]
    b = bristle[0] - a[0], bristle[1] - a[1], bristle[2] - a[2]
    square = dot3(b, b)
    part = _positive((square / (reach * reach) - 1.0) / 3.0)
    part = part if part.real < 1.0 else 0.0 * part + 1.0
    giving = part * part * (3.0 - 2.0 * part) * _positive(dot3(slip, b)) / (square if square.real > 0.0 else square + 1.0)
    x, y, z = slip[0] - giving * b[0], slip[1] - giving * b[1], slip[2] - giving * b[2]
    rate = 1.0 / numbers[0, SLIP]
    u, v, w = b[0] / reach + rate * x, b[1] / reach + rate * y, b[2] / reach + rate * z
    size = u * u + v * v + w * w
    size = size * size
    share = 1.0 / np.sqrt(np.sqrt(np.sqrt(1.0 + size * size)))
    return (x, y, z), (share * u, share * v, share * w), a


@helper
def bristle_rate(numbers, r, rate, spin, radius, bristle):
    """Return the rate (3) of a sphere's bristle; what is given as for `touch`."""
    apart, a, b, c = distance(numbers, r)
    n = a, b, c
    _, slip = _slip(numbers, apart, n, rate, spin)
    bending, _, away = _bent(numbers, n, slip, bristle)
    touches, straightening = apart.real < radius, numbers[0, SLIP] * numbers[0, BRISTLES] / numbers[0, FRICTION]
    x = bending[0] - straightening * away[0] if touches else -straightening * bristle[0]
    y = bending[1] - straightening * away[1] if touches else -straightening * bristle[1]
    z = bending[2] - straightening * away[2] if touches else -straightening * bristle[2]
    return x, y, z


@helper
def touch(numbers, r, rate, spin, radius, bristle):
    """Return the gap between a sphere and the shape, and force and torque (3 each) on the sphere, about its centre.

    Place, its rate, the relative angular velocity and the bristle are given, and the loads told, in the shape's frame.
    """
    apart, a, b, c = distance(numbers, r)
    n = a, b, c
    gap = apart - radius
    push = impact_push(_positive(-gap), -dot3(n, rate), numbers[0, STIFFNESS], numbers[0, DISSIPATION], numbers[0, EXPONENT])
    lever, (x, y, z) = _slip(numbers, apart, n, rate, spin)
    limit, drag = numbers[0, SLIP] * numbers[0, SLIP], -numbers[0, FRICTION] * push
    if numbers[0, BRISTLES] == 0.0:
        drag = drag / np.sqrt(x * x + y * y + z * z + limit)
    else:
        _, (x, y, z), _ = _bent(numbers, n, (x, y, z), bristle)
    force = push * n[0] + drag * x, push * n[1] + drag * y, push * n[2] + drag * z
    torque = cross3(lever, force)
    brake = -numbers[0, ROLLING] * push * radius / np.sqrt(radius * radius * dot3(spin, spin) + limit)
    return gap, force, (torque[0] + brake * spin[0], torque[1] + brake * spin[1], torque[2] + brake * spin[2])


#: The derivatives at a sphere: of force and torque on it (3 each) and of its bristle's rate (3), by its place, the rate of
#: that, the relative angular velocity and the bristle (3 each).
BENT, BY_BRISTLE, SPHERE_SLOPES = 6, 9, 108


@helper
def write_bending(numbers, r, rate, spin, radius, bristle, t):
    """Write the derivatives (9 x 12, above) at a sphere that has a bristle, by complex steps."""
    for c in range(12):
        at, by, turn, own = _stepped(r, c), _stepped(rate, c - 3), _stepped(spin, c - 6), _stepped(bristle, c - BY_BRISTLE)
        _, f, torque = touch(numbers, at, by, turn, radius, own)
        b = bristle_rate(numbers, at, by, turn, radius, own)
        for k in range(3):
            t[0, 12 * k + c] = f[k].imag / STEP
            t[0, 12 * (3 + k) + c] = torque[k].imag / STEP
            t[0, 12 * (BENT + k) + c] = b[k].imag / STEP


@helper
def _write_straightening(inputs, numbers, k, r, rate, spin, radius, slopes):
    """Write what bristles change of the rate of that of sphere k, by complex steps: nothing but its own does."""
    for j in range(3 * inputs):
        slopes[0, 3 * k * inputs + j] = 0.0
    for c in range(3):
        b = bristle_rate(numbers, r, rate, spin, radius, _stepped(bristle_of(inputs, numbers, k), c))
        for i in range(3):
            slopes[0, (3 * k + i) * inputs + 3 * k + c] = b[i].imag / STEP


@helper
def _stepped(x, c):
    h, no = 1j * STEP, 0.0j
    return x[0] + (h if c == 0 else no), x[1] + (h if c == 1 else no), x[2] + (h if c == 2 else no)


@helper
def bends_by(t, row, column, x):
    """Return what a change x (3) of the three in a `column` of the derivatives at a sphere changes of the three in a `row`."""
    return (
        t[0, 12 * row + column] * x[0] + t[0, 12 * row + column + 1] * x[1] + t[0, 12 * row + column + 2] * x[2],
        t[0, 12 * row + column + 12] * x[0] + t[0, 12 * row + column + 13] * x[1] + t[0, 12 * row + column + 14] * x[2],
        t[0, 12 * row + column + 24] * x[0] + t[0, 12 * row + column + 25] * x[1] + t[0, 12 * row + column + 26] * x[2],
    )


@helper
def _pressed_energy(numbers, r, radius):
    """Return the energy stored at a sphere at a place."""
    apart, _, _, _ = distance(numbers, r)
    return impact_energy(_positive(radius - apart), numbers[0, STIFFNESS], numbers[0, EXPONENT])


@helper
def read_sphere(what, inputs, numbers, k, r, rate, spin, radius, result):
    """Write into a row what is read of sphere k, which is seen as `touch` has it."""
    if what == ENERGY:
        result[0, 0] = (0.0 if k == 0 else result[0, 0]) + _pressed_energy(numbers, r, radius)
    elif what == GAP:
        apart, a, b, c = distance(numbers, r)
        result[0, 2 * k], result[0, 2 * k + 1] = apart - radius, dot3((a, b, c), rate)
    elif what == BENDING:
        bending = bristle_rate(numbers, r, rate, spin, radius, bristle_of(inputs, numbers, k))
        result[0, 3 * k], result[0, 3 * k + 1], result[0, 3 * k + 2] = bending
    elif what == STRAIGHTENING:
        _write_straightening(inputs, numbers, k, r, rate, spin, radius, result)
    else:
        o = layout.TOUCH_SIZE * k
        gap, force, _ = touch(numbers, r, rate, spin, radius, bristle_of(inputs, numbers, k))
        apart, a, b, c = distance(numbers, r)
        _, slip = _slip(numbers, apart, (a, b, c), rate, spin)
        result[0, o], result[0, o + 1], result[0, o + 2], result[0, o + 3] = gap, force[0], force[1], force[2]
        result[0, o + 4], result[0, o + 5], result[0, o + 6] = slip


# -- spheres of rigid bodies -------------------------------------------------------------------------------------------


@helper
def _arm(turn, r, numbers, o):
    """Return where the sphere at ``numbers[0, o]`` stands beside the second port, in the axes of the first."""
    arm, half = times(turn, (numbers[0, o], numbers[0, o + 1], numbers[0, o + 2])), numbers[0, o + 4]
    if half > 0.0:
        u = turn[2], turn[5], turn[8]
        s = nearest(numbers, (r[0] + arm[0], r[1] + arm[1], r[2] + arm[2]), u, half)
        arm = arm[0] + s * u[0], arm[1] + s * u[1], arm[2] + s * u[2]
    return arm


@helper
def _moved(r, rate, spin, arm):
    """Return place and rate of a point beside the second port."""
    turned = cross3(spin, arm)
    place = r[0] + arm[0], r[1] + arm[1], r[2] + arm[2]
    return place, (rate[0] + turned[0], rate[1] + turned[1], rate[2] + turned[2])


@helper
def contact_loads(ports, coordinates, inputs, numbers, motion, loads):
    """The sum of what happens at all spheres."""
    turn, r, (rate, w) = matrix_of(motion, 0, SECOND), position_of(motion), rates_of(motion)
    spin = times(turn, w)
    f0 = f1 = f2 = t0 = t1 = t2 = 0.0 * motion[0, 0]
    for k in range(np.int64(numbers[0, TOUCHING])):
        o = TOUCHING + 1 + _SPHERE * k
        arm = _arm(turn, r, numbers, o)
        place, moving = _moved(r, rate, spin, arm)
        _, force, torque = touch(numbers, place, moving, spin, numbers[0, o + 3], bristle_of(inputs, numbers, k))
        lever = cross3(arm, force)
        f0, f1, f2 = f0 + force[0], f1 + force[1], f2 + force[2]
        t0, t1, t2 = t0 + lever[0] + torque[0], t1 + lever[1] + torque[1], t2 + lever[2] + torque[2]
    put_wrenches(motion, r, (f0, f1, f2), (t0, t1, t2), loads)


def _reading(what):
    @helper
    def read(ports, coordinates, inputs, numbers, motion, result):
        turn, r, (rate, w) = matrix_of(motion, 0, SECOND), position_of(motion), rates_of(motion)
        spin = times(turn, w)
        for k in range(np.int64(numbers[0, TOUCHING])):
            o = TOUCHING + 1 + _SPHERE * k
            place, moving = _moved(r, rate, spin, _arm(turn, r, numbers, o))
            read_sphere(what, inputs, numbers, k, place, moving, spin, numbers[0, o + 3], result)

    return read


@shared
def contact_rates_slopes(ports, coordinates, inputs, numbers, motion, slopes):
    """What the motion changes of how all bristles bend, and each of these of the loads."""
    turn, r, (rate, w), t = matrix_of(motion, 0, SECOND), position_of(motion), rates_of(motion), np.empty((1, SPHERE_SLOPES))
    spin, width, moved = times(turn, w), 18, np.empty((1, 2 * layout.MOTION_SIZE), np.complex128)
    for j in range(2 * layout.MOTION_SIZE):
        moved[0, j] = motion[0, j]
    loads = np.empty((1, 12))
    for k in range(np.int64(numbers[0, TOUCHING])):
        o = TOUCHING + 1 + _SPHERE * k
        arm = _arm(turn, r, numbers, o)
        place, moving = _moved(r, rate, spin, arm)
        write_bending(numbers, place, moving, spin, numbers[0, o + 3], bristle_of(inputs, numbers, k), t)
        for c in range(width):
            move_along(motion, moved, 2, c, 1.0)
            _put_bending(numbers, o, moved, t, 3 * k * width + c, width, slopes)
            move_along(motion, moved, 2, c, 0.0)
        for c in range(3):
            at = BY_BRISTLE + c
            f, torque = (t[0, at], t[0, 12 + at], t[0, 24 + at]), (t[0, 36 + at], t[0, 48 + at], t[0, 60 + at])
            lever = cross3(arm, f)
            put_wrenches(motion, r, f, (lever[0] + torque[0], lever[1] + torque[1], lever[2] + torque[2]), loads)
            for j in range(12):
                slopes[0, inputs * width + 12 * (3 * k + c) + j] = loads[0, j]


@helper
def _put_bending(numbers, o, moved, t, to, width, slopes):
    """Write the column of what an imaginary step of the motion changes of how a bristle bends."""
    turn, (rate, w) = matrix_of(moved, 0, SECOND), rates_of(moved)
    spin, at = times(turn, w), position_of(moved)
    place, moving = _moved(at, rate, spin, _arm(turn, at, numbers, o))
    a, b, c = bends_by(t, BENT, 0, _part(place)), bends_by(t, BENT, 3, _part(moving)), bends_by(t, BENT, 6, _part(spin))
    for k in range(3):
        slopes[0, to + k * width] = a[k] + b[k] + c[k]


@helper
def _part(x):
    return x[0].imag / STEP, x[1].imag / STEP, x[2].imag / STEP


CONTACT = CompiledInteraction(
    "contact",
    contact_loads,
    _reading(ENERGY),
    write_gap=_reading(GAP),
    write_rates=_reading(BENDING),
    write_rates_driven=_reading(STRAIGHTENING),
    write_rates_slopes=contact_rates_slopes,
    write_touches=_reading(TOUCH),
)
