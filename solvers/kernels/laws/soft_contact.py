"""The compiled kind of contacts of deformable bodies: `titop.blocks.interactions.contact` for kernels.

`numbers` are, in order: the law, as in `contact`; the points as numbers of a body, see `soft_numbers`; their radii. The table
of programs has those of the body. Targets are the body's frame, the port of the shape, and the body's coordinates.

A point stands at p in the frame of the body and moves by c against the shape; the force f on it changes by ``A dp + B dc``.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.laws.touch import TOUCHING, touch
from titop.blocks.laws.vectors import cross3, times, transposed
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import INTERACTION_ARGUMENTS, address_of, call_at, ints_at, row_at, vector_at
from titop.solvers.kernels.laws.compiled_interactions import STEP, InteractionStages
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
from titop.solvers.kernels.laws.rod_contact import SHAPE, on_shape, shape_of
from titop.solvers.kernels.laws.rod_matrices import column_of, put_column
from titop.solvers.kernels.laws.soft_numbers import BENDS, COLUMNS, points_at, points_of, write_shared
from titop.solvers.kernels.laws.soft_points import place_at
from titop.solvers.kernels.spatial.algebra import carry_twist, minus, put_six, scaled, six, unit, wrench_cross
from titop.solvers.native.kernel import Stage, helper

#: How many numbers the programs tell of a point, beside three and nine times as many as there are coordinates.
_COLUMNS, _BENDS = 9, 9


@helper
def _body_size(numbers):
    """Return how many numbers the body's are."""
    return 2 + np.int64(numbers[0, TOUCHING + 1]) + 5 * np.int64(numbers[0, TOUCHING])


@helper
def _radius(numbers, k):
    return numbers[0, TOUCHING + _body_size(numbers) + k]


@helper
def _run(n, stages, program, numbers, motion, loads, results, shared):
    """Run a program of the body's for all points; return a status. `shared` is room for what these share."""
    body, table = row_at(address_of(numbers, TOUCHING), _body_size(numbers)), ints_at(stages, 1, layout.STAGE_COLUMNS)
    q, v = (
        vector_at(address_of(motion, 2 * layout.MOTION_SIZE), n),
        vector_at(address_of(motion, 2 * layout.MOTION_SIZE + n), n),
    )
    write_shared(n, body, q, v, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), shared)
    places = address_of(body, points_at(body))
    arguments = points_of(body), address_of(shared, 0), places, address_of(loads, 0), address_of(results, 0)
    return call_at(ints_at(table[0, layout.PROGRAMS], BENDS + 1, 1)[program, 0], arguments)


@helper
def _velocity(V, p, u):
    """Return the velocity of a point of what has the twist V, and moves in it by u."""
    x, y, z = cross3((V[3], V[4], V[5]), p)
    return V[0] + x + u[0], V[1] + y + u[1], V[2] + z + u[2]


@helper
def _pushed(numbers, back, r, p, c, radius, bristle):
    """Return the force on a point, in the frame of the body."""
    place, still = times(back, (p[0] - r[0], p[1] - r[1], p[2] - r[2])), (0.0 * p[0], 0.0 * p[1], 0.0 * p[2])
    _, f, _, _ = touch(numbers, place, times(back, c), still, radius, bristle)
    return times(transposed(back), f)


@helper
def _write_forces(n, inputs, numbers, motion, found, forces, loads):
    """Write the forces on all points, and what they do."""
    back, r, speed = shape_of(motion)
    V = minus(six(motion, 0, np.int64(layout.MOVING)), speed)
    for j in range(12 + n):
        loads[0, j] = 0.0
    for k in range(np.int64(numbers[0, TOUCHING])):
        o = (_COLUMNS + 3 * n) * k
        p = place_at(found, o)
        c, bristle = _velocity(V, p, place_at(found, o + 3)), bristle_of(inputs, numbers, k)
        f = _pushed(numbers, back, r, p, c, _radius(numbers, k), bristle)
        t = cross3(p, f)
        for j in range(3):
            forces[0, 3 * k + j] = f[j]
            loads[0, j] += f[j]
            loads[0, 3 + j] += t[j]
        for j in range(n):
            at = o + _COLUMNS + j
            loads[0, 12 + j] += found[0, at] * f[0] + found[0, at + n] * f[1] + found[0, at + 2 * n] * f[2]
    w = on_shape(motion, six(loads, 0, 0))
    for j in range(6):
        loads[0, 6 + j] = w[j]


def _act(ports, coordinates, inputs, count, stages, numbers, motion, loads):
    n, own, told = coordinates, row_at(numbers, count), row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates)
    shared = np.empty((1, 3 * n + 12 + count))
    points = np.int64(own[0, TOUCHING])
    found, forces = np.empty((1, (_COLUMNS + 3 * n) * points)), np.empty((1, 3 * points))
    status = _run(n, stages, COLUMNS, own, told, found, found, shared)
    _write_forces(n, inputs, own, told, found, forces, row_at(loads, 12 + n))
    return status


def _reading(what):
    def read(ports, coordinates, inputs, count, stages, numbers, motion, result):
        n, own, told = coordinates, row_at(numbers, count), row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates)
        shared = np.empty((1, 3 * n + 12 + count))
        points, (back, r, speed) = np.int64(own[0, TOUCHING]), shape_of(told)
        found, row = np.empty((1, (_COLUMNS + 3 * n) * points)), row_at(result, layout.TOUCH_SIZE * points + inputs * inputs)
        status = _run(n, stages, COLUMNS, own, told, found, found, shared)
        V = minus(six(told, 0, np.int64(layout.MOVING)), speed)
        for k in range(points):
            o = (_COLUMNS + 3 * n) * k
            p = place_at(found, o)
            place, rate = (p[0] - r[0], p[1] - r[1], p[2] - r[2]), _velocity(V, p, place_at(found, o + 3))
            still = 0.0, 0.0, 0.0
            read_sphere(what, inputs, own, k, times(back, place), times(back, rate), still, _radius(own, k), row)
        return status

    return read


# -- derivatives -------------------------------------------------------------------------------------------------------


@helper
def _write_answer(numbers, back, r, p, c, radius, bristle, t):
    """Write A and B (3 x 3 each), by complex steps."""
    h, at, by = 1j * STEP, (p[0] + 0.0j, p[1] + 0.0j, p[2] + 0.0j), (c[0] + 0.0j, c[1] + 0.0j, c[2] + 0.0j)
    for k in range(3):
        x, y, z, _, _, _ = scaled(h, unit(k))
        f = _pushed(numbers, back, r, (p[0] + x, p[1] + y, p[2] + z), by, radius, bristle)
        g = _pushed(numbers, back, r, at, (c[0] + x, c[1] + y, c[2] + z), radius, bristle)
        for j in range(3):
            t[0, 3 * j + k], t[0, 9 + 3 * j + k] = f[j].imag / STEP, g[j].imag / STEP


@helper
def _answer(t, dp, dc):
    """Return ``A dp + B dc``."""
    a, b = times(_nine(t, 0), dp), times(_nine(t, 9), dc)
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@helper
def _nine(t, o):
    return (
        *(t[0, o], t[0, o + 1], t[0, o + 2]),
        *(t[0, o + 3], t[0, o + 4], t[0, o + 5]),
        *(t[0, o + 6], t[0, o + 7], t[0, o + 8]),
    )


@helper
def _add(n, p, df, lever, found, J, slopes, column, width):
    """Add to a column what a change of the force on a point changes, and of the moment a `lever` more."""
    torque = cross3(p, df)
    for k in range(3):
        slopes[0, k * width + column] += df[k]
        slopes[0, (3 + k) * width + column] += torque[k] + lever[k]
    for j in range(n):
        x, y, z = found[0, J + j], found[0, J + n + j], found[0, J + 2 * n + j]
        slopes[0, (12 + j) * width + column] += x * df[0] + y * df[1] + z * df[2]


@helper
def _add_point(n, motion, speed, found, o, f, t, slopes, width):
    """Add what a point changes; its numbers in ``found[0]`` from `o` are p, u, b, J and du/dq."""
    own, p, u, J, none = (
        six(motion, 0, np.int64(layout.MOVING)),
        place_at(found, o),
        place_at(found, o + 3),
        o + _BENDS,
        (0.0, 0.0, 0.0),
    )
    w, turning = minus(own, speed), (speed[3], speed[4], speed[5])
    whole = _velocity(own, p, u)
    for j in range(n):
        moved = found[0, J + j], found[0, J + n + j], found[0, J + 2 * n + j]
        at = J + 3 * n + j
        swept = cross3((w[3], w[4], w[5]), moved)
        dc = found[0, at] + swept[0], found[0, at + n] + swept[1], found[0, at + 2 * n] + swept[2]
        _add(n, p, _answer(t, moved, dc), cross3(moved, f), found, J, slopes, 18 + j, width)
        _add(n, p, _answer(t, none, moved), none, found, J, slopes, 18 + n + j, width)
    for c in range(6):
        e, along = unit(c), carry_twist(motion, 0, SHAPE, unit(c))
        turn = along[3], along[4], along[5]
        dp = _velocity(along, p, none)
        a, b, d = cross3(turn, whole), cross3(turning, dp), cross3(turn, f)
        back = _answer(t, dp, (a[0] - b[0], a[1] - b[1], a[2] - b[2]))
        _add(n, p, (d[0] - back[0], d[1] - back[1], d[2] - back[2]), none, found, J, slopes, c, width)
        _add(n, p, _answer(t, none, _velocity(e, p, none)), none, found, J, slopes, 6 + c, width)
        _add(n, p, _answer(t, none, (-dp[0], -dp[1], -dp[2])), none, found, J, slopes, 12 + c, width)


def _slopes(ports, coordinates, inputs, count, stages, numbers, motion, slopes):
    n, own, told = coordinates, row_at(numbers, count), row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates)
    shared = np.empty((1, 3 * n + 12 + count))
    points, width, result = np.int64(own[0, TOUCHING]), 18 + 2 * n, row_at(slopes, (12 + n) * (18 + 2 * n))
    for k in range((12 + n) * width):
        result[0, k] = 0.0
    found, forces, loads = np.empty((1, (_COLUMNS + 3 * n) * points)), np.empty((1, 3 * points)), np.empty((1, 12 + n))
    status = _run(n, stages, COLUMNS, own, told, found, found, shared)
    _write_forces(n, inputs, own, told, found, forces, loads)
    bends, t = np.empty((1, n * n + (_BENDS + 9 * n) * points)), np.empty((1, 18))
    status = min(status, _run(n, stages, BENDS, own, told, forces, bends, shared))
    back, r, speed = shape_of(told)
    V = minus(six(told, 0, np.int64(layout.MOVING)), speed)
    for k in range(points):
        o = n * n + (_BENDS + 9 * n) * k
        p, f = place_at(bends, o), place_at(forces, 3 * k)
        if f[0] != 0.0 or f[1] != 0.0 or f[2] != 0.0:  # the others change nothing
            c, bristle = _velocity(V, p, place_at(bends, o + 3)), bristle_of(inputs, own, k)
            _write_answer(own, back, r, p, c, _radius(own, k), bristle, t)
            _add_point(n, told, speed, bends, o, f, t, result, width)
    for i in range(n):
        for j in range(n):
            result[0, (12 + i) * width + 18 + j] += bends[0, i * n + j]
    whole = six(loads, 0, 0)
    for c in range(width):
        change = column_of(result, c, width, 0)
        if c < 6:
            change = minus(change, wrench_cross(carry_twist(told, 0, SHAPE, unit(c)), whole))
        put_column(result, 6 * width, width, c, on_shape(told, change))
    return status


# -- derivatives of bristles -------------------------------------------------------------------------------------------


def _rates_slopes(ports, coordinates, inputs, count, stages, numbers, motion, slopes):
    n, own, told = coordinates, row_at(numbers, count), row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates)
    width, shared, t = 18 + 2 * n, np.empty((1, 3 * n + 12 + count)), np.empty((1, SPHERE_SLOPES))
    result = row_at(slopes, inputs * (width + 12 + n))
    points, (back, r, speed), still = np.int64(own[0, TOUCHING]), shape_of(told), (0.0, 0.0, 0.0)
    forces, bends = np.zeros((1, 3 * points)), np.empty((1, n * n + (_BENDS + 9 * n) * points))
    status = _run(n, stages, BENDS, own, told, forces, bends, shared)
    for k in range(points):
        o = n * n + (_BENDS + 9 * n) * k
        p = place_at(bends, o)
        rate = times(back, _velocity(minus(six(told, 0, np.int64(layout.MOVING)), speed), p, place_at(bends, o + 3)))
        place = times(back, (p[0] - r[0], p[1] - r[1], p[2] - r[2]))
        write_bending(own, place, rate, still, _radius(own, k), bristle_of(inputs, own, k), t)
        _write_bent(n, told, speed, back, bends, o, t, 3 * k * width, width, result)
        for i in range(3):
            to, at = inputs * width + (3 * k + i) * (12 + n), BY_BRISTLE + i
            f = times(transposed(back), (t[0, at], t[0, 12 + at], t[0, 24 + at]))
            m = cross3(p, f)
            put_six(result, 0, to, (f[0], f[1], f[2], m[0], m[1], m[2]))
            put_six(result, 0, to + 6, on_shape(told, six(result, 0, to)))
            for j in range(n):
                J = o + _BENDS + j
                result[0, to + 12 + j] = bends[0, J] * f[0] + bends[0, J + n] * f[1] + bends[0, J + 2 * n] * f[2]
    return status


@helper
def _write_bent(n, motion, speed, back, bends, o, t, to, width, slopes):
    """Write the rows of what the motion changes of how the bristle of a point bends, as `_add_point` of the force."""
    own, p, u, J, none = (
        six(motion, 0, np.int64(layout.MOVING)),
        place_at(bends, o),
        place_at(bends, o + 3),
        o + _BENDS,
        (0.0,) * 3,
    )
    w, turning = minus(own, speed), (speed[3], speed[4], speed[5])
    whole = _velocity(own, p, u)
    for j in range(n):
        moved, at = (bends[0, J + j], bends[0, J + n + j], bends[0, J + 2 * n + j]), J + 3 * n + j
        swept = cross3((w[3], w[4], w[5]), moved)
        dc = bends[0, at] + swept[0], bends[0, at + n] + swept[1], bends[0, at + 2 * n] + swept[2]
        _put_bent(back, t, moved, dc, to + 18 + j, width, slopes)
        _put_bent(back, t, none, moved, to + 18 + n + j, width, slopes)
    for c in range(6):
        along = carry_twist(motion, 0, SHAPE, unit(c))
        dp = _velocity(along, p, none)
        a, b = cross3((along[3], along[4], along[5]), whole), cross3(turning, dp)
        away = -dp[0], -dp[1], -dp[2]
        _put_bent(back, t, away, (b[0] - a[0], b[1] - a[1], b[2] - a[2]), to + c, width, slopes)
        _put_bent(back, t, none, _velocity(unit(c), p, none), to + 6 + c, width, slopes)
        _put_bent(back, t, none, away, to + 12 + c, width, slopes)


@helper
def _put_bent(back, t, dp, dc, to, width, slopes):
    """Write in a column what a displacement of a point and a change of its velocity change, both in the axes of the body."""
    a, b = bends_by(t, BENT, 0, times(back, dp)), bends_by(t, BENT, 3, times(back, dc))
    for k in range(3):
        slopes[0, to + k * width] = a[k] + b[k]


def _stage(name, function):
    return Stage(f"soft_contact_{name}", function, INTERACTION_ARGUMENTS)


CONTACT = InteractionStages(
    _stage("act", _act),
    _stage("act_slopes", _slopes),
    _stage("stored", _reading(ENERGY)),
    _stage("gap", _reading(GAP)),
    _stage("rates", _reading(BENDING)),
    _stage("rates_driven", _reading(STRAIGHTENING)),
    _stage("rates_slopes", _rates_slopes),
    _stage("touches", _reading(TOUCH)),
)
