"""The compiled kind of contacts of rigid bodies, and what compiled contacts read and derive at a sphere.

`numbers` begin with those of `titop.blocks.laws.touch`, which has the law. Those of rigid bodies go on with the number of
spheres, and of each its place in the second port's frame, its radius, and how far it moves along z to both sides, to where it
is nearest to the shape: not at all, but for capsules. States of bristles, three for each sphere, stand behind the motion.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.laws.distances import LEVEL, distance, lowest, slope
from titop.blocks.laws.touch import BRISTLES, TOUCHING, bristle_rate, pressed_energy, touch
from titop.blocks.laws.vectors import cross3, dot3, times, transposed
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import value_of
from titop.solvers.kernels.laws.compiled_interactions import STEP, interaction_stages, move_along
from titop.solvers.kernels.laws.interaction_kinds import SECOND, SECOND_TWIST, position_of, put_wrenches, rates_of
from titop.solvers.kernels.laws.matrices import put_column
from titop.solvers.kernels.spatial.algebra import carry_twist, column_of, matrix_of, minus, rotate_back, six, unit, wrench_cross
from titop.solvers.native.kernel import helper, shared
from titop.solvers.native.signatures import ORDERS

#: How many numbers a sphere has.
_SPHERE = 5
#: One part of all contacts, of real and of complex numbers.
_lowest = shared(lowest)

#: What is read of spheres: the energy of all; of each the gap and its rate, the rate of its bristle, or `TOUCH_SIZE` numbers:
#: the gap, the force on it and its slip; and what bristles change of their rates (k x k).
ENERGY, GAP, BENDING, TOUCH, STRAIGHTENING = range(5)
_STAGES = {"energy": ENERGY, "gap": GAP, "rates": BENDING, "rates_driven": STRAIGHTENING, "touches": TOUCH}


def read_by(reading: Any) -> dict[str, Any]:
    """Return the stages that read spheres, made by a function of what is to be read, as arguments of `interaction_stages`."""
    return {f"write_{stage}": reading(what) for stage, what in _STAGES.items()}


# -- what happens at a sphere ------------------------------------------------------------------------------------------


@helper
def bristle_of(inputs, motion, k):
    """Return the state (3) of the bristle of sphere k."""
    x = y = z = 0.0 * motion[0, 0]
    if inputs > 0:
        o = motion.shape[1] - inputs + 3 * k
        x, y, z = motion[0, o], motion[0, o + 1], motion[0, o + 2]
    return x, y, z


#: The derivatives at a sphere: of force and torque on it (3 each) and of its bristle's rate (3), by its place, the rate of
#: that, the relative angular velocity and the bristle (3 each).
BENT, BY_BRISTLE, SPHERE_SLOPES = 6, 9, 108
STRAIGHT = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0


@helper
def write_sphere_slopes(numbers, r, rate, spin, radius, bristle, columns, t):
    """Write the first `columns` of the derivatives (9 x 12, above) at a sphere, by complex steps."""
    for c in range(columns):
        at, by, turn, own = _stepped(r, c), _stepped(rate, c - 3), _stepped(spin, c - 6), _stepped(bristle, c - BY_BRISTLE)
        _, f, torque, _ = touch(numbers, at, by, turn, radius, own)
        for k in range(3):
            t[0, 12 * k + c] = f[k].imag / STEP
            if columns > 6:  # points of soft bodies do not turn
                t[0, 12 * (3 + k) + c] = torque[k].imag / STEP
        if numbers[0, BRISTLES] != 0.0:
            b = bristle_rate(numbers, at, by, turn, radius, own)
            for k in range(3):
                t[0, 12 * (BENT + k) + c] = b[k].imag / STEP


@helper
def _write_straightening(inputs, numbers, motion, k, seen, radius, slopes):
    """Write what bristles change of the rate of that of sphere k, by complex steps: nothing but its own does."""
    for j in range(3 * inputs):
        slopes[0, 3 * k * inputs + j] = 0.0
    for c in range(3):
        b = bristle_rate(numbers, *seen, radius, _stepped(bristle_of(inputs, motion, k), c))
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
def loads_by_bristle(t, k, turn):
    """Return what a unit of its bristle, along axis k, changes of force and torque on a sphere, turned to other axes."""
    o = BY_BRISTLE + k
    return times(turn, (t[0, o], t[0, 12 + o], t[0, 24 + o])), times(turn, (t[0, 36 + o], t[0, 48 + o], t[0, 60 + o]))


@helper
def begin_reading(what, result):
    """Write what is read of no sphere at all."""
    if what == ENERGY:
        result[0, 0] = 0.0


@helper
def read_sphere(what, inputs, numbers, motion, k, seen, radius, result):
    """Write into a row what is read of sphere k, `seen` as `touch` has it; energy is added to what stands there."""
    r, rate, spin = seen
    if what == ENERGY:
        result[0, 0] += pressed_energy(numbers, r, radius)
    elif what == GAP:
        apart, n = distance(numbers, r)
        result[0, 2 * k], result[0, 2 * k + 1] = apart - radius, dot3(n, rate)
    elif what == BENDING:
        bending = bristle_rate(numbers, r, rate, spin, radius, bristle_of(inputs, motion, k))
        result[0, 3 * k], result[0, 3 * k + 1], result[0, 3 * k + 2] = bending
    elif what == STRAIGHTENING:
        _write_straightening(inputs, numbers, motion, k, seen, radius, result)
    else:
        o = layout.TOUCH_SIZE * k
        gap, force, _, slip = touch(numbers, r, rate, spin, radius, bristle_of(inputs, motion, k))
        result[0, o], result[0, o + 1], result[0, o + 2], result[0, o + 3] = gap, force[0], force[1], force[2]
        result[0, o + 4], result[0, o + 5], result[0, o + 6] = slip


# -- spheres that a block carries against a shape: as a wrench on the block's base, with its opposite on the shape ----------


@helper
def shape_of(motion):
    """Return, of the shape in the frame of the base, its attitude transposed, its position and its twist."""
    back = transposed(matrix_of(motion, 0, SECOND))
    return back, position_of(motion), carry_twist(motion, 0, SECOND, six(motion, 0, SECOND_TWIST))


@helper
def on_shape(motion, w):
    """Return the wrench on the shape's port, in its frame, that is opposite to one on the base."""
    lever = cross3(position_of(motion), (w[0], w[1], w[2]))
    f = rotate_back(motion, 0, SECOND, w[0], w[1], w[2])
    t = rotate_back(motion, 0, SECOND, w[3] - lever[0], w[4] - lever[1], w[5] - lever[2])
    return -f[0], -f[1], -f[2], -t[0], -t[1], -t[2]


@helper
def velocity_at(V, p):
    """Return the velocity of the place p of what has the twist V."""
    x, y, z = cross3((V[3], V[4], V[5]), p)
    return V[0] + x, V[1] + y, V[2] + z


@helper
def from_shape(back, r, p, velocity, w):
    """Return, from the shape, the place p, and its velocity and angular velocity against the shape."""
    return times(back, (p[0] - r[0], p[1] - r[1], p[2] - r[2])), times(back, velocity), times(back, w)


@helper
def change_of(t, row, back, place, velocity, w):
    """Return what changes of its place and of its velocities against the shape change of the three in a `row` at a sphere."""
    a, b = bends_by(t, row, 0, times(back, place)), bends_by(t, row, 3, times(back, velocity))
    c = bends_by(t, row, 6, times(back, w))
    return a[0] + b[0] + c[0], a[1] + b[1] + c[1], a[2] + b[2] + c[2]


@helper
def write_shape_rows(motion, whole, width, slopes):
    """Write the rows of the shape from those of the base, on which acts the wrench `whole`."""
    for c in range(width):
        change = column_of(slopes, c, width, 0)
        if c < 6:
            change = minus(change, wrench_cross(carry_twist(motion, 0, SECOND, unit(c)), whole))
        put_column(slopes, 6 * width, width, c, on_shape(motion, change))


# -- spheres of rigid bodies -------------------------------------------------------------------------------------------


@helper
def _nearest(numbers, c, u, half):
    """Return `nearest`, for complex numbers to first order and for jets to all of theirs."""
    p, e = (
        (value_of(c[0]).real, value_of(c[1]).real, value_of(c[2]).real),
        (value_of(u[0]).real, value_of(u[1]).real, value_of(u[2]).real),
    )
    s, share = _lowest(numbers, p, e, half)
    place = s + 0.0 * c[0]
    for _ in range(ORDERS - 1):
        left = slope(numbers, c, u, place) + LEVEL * place / half
        place = place - share * (left - value_of(left).real)
    return place


@helper
def _arm(turn, r, numbers, o):
    """Return where the sphere at ``numbers[0, o]`` stands beside the second port, in the axes of the first."""
    arm, half = times(turn, (numbers[0, o], numbers[0, o + 1], numbers[0, o + 2])), numbers[0, o + 4]
    if half > 0.0:
        u = turn[2], turn[5], turn[8]
        s = _nearest(numbers, (r[0] + arm[0], r[1] + arm[1], r[2] + arm[2]), u, half)
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
        _, force, torque, _ = touch(numbers, place, moving, spin, numbers[0, o + 3], bristle_of(inputs, motion, k))
        lever = cross3(arm, force)
        f0, f1, f2 = f0 + force[0], f1 + force[1], f2 + force[2]
        t0, t1, t2 = t0 + lever[0] + torque[0], t1 + lever[1] + torque[1], t2 + lever[2] + torque[2]
    put_wrenches(motion, r, (f0, f1, f2), (t0, t1, t2), loads)


def _reading(what):
    @helper
    def read(ports, coordinates, inputs, numbers, motion, result):
        turn, r, (rate, w) = matrix_of(motion, 0, SECOND), position_of(motion), rates_of(motion)
        spin = times(turn, w)
        begin_reading(what, result)
        for k in range(np.int64(numbers[0, TOUCHING])):
            o = TOUCHING + 1 + _SPHERE * k
            place, moving = _moved(r, rate, spin, _arm(turn, r, numbers, o))
            read_sphere(what, inputs, numbers, motion, k, (place, moving, spin), numbers[0, o + 3], result)

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
        write_sphere_slopes(numbers, place, moving, spin, numbers[0, o + 3], bristle_of(inputs, motion, k), 12, t)
        for c in range(width):
            move_along(motion, moved, 2, c, 1.0)
            _put_bending(numbers, o, moved, t, 3 * k * width + c, width, slopes)
            move_along(motion, moved, 2, c, 0.0)
        for c in range(3):
            f, torque = loads_by_bristle(t, c, STRAIGHT)
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


CONTACT = interaction_stages("contact", contact_loads, write_rates_slopes=contact_rates_slopes, **read_by(_reading))
