"""The compiled kind of contacts of deformable bodies: `titop.blocks.interactions.contact` for kernels.

`numbers` are, in order: the law, as in `contact`; the points as numbers of a body, see `soft_points`; their radii. The table
of programs has those of the body. Targets are the body's frame, the port of the shape, and the body's coordinates.

A point stands at p in the frame of the body and moves by c against the shape; the force f on it changes by ``A dp + B dc``.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from titop.blocks.basics.choices import nowhere, select
from titop.blocks.laws.touch import TOUCHING, touch
from titop.blocks.laws.vectors import cross3, times, unit3
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, call_at, ints_at, row_at, vector_at
from titop.solvers.kernels.laws import contact
from titop.solvers.kernels.laws import soft_points as soft
from titop.solvers.kernels.laws.compiled_interactions import interaction_stages
from titop.solvers.kernels.laws.interaction_kinds import FIRST_TWIST, SECOND
from titop.solvers.kernels.laws.matrices import add_scaled, clear, column_of_three, three_at
from titop.solvers.kernels.spatial.algebra import add_six, carry_twist, matrix_of, minus, put_six, six, unit
from titop.solvers.native.kernel import helper

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
def _shared_size(n, numbers):
    """Return a number of numbers that is enough for all that points share."""
    return 3 * n + 12 + numbers.size


@helper
def _run(n, stages, program, numbers, motion, loads, results, shared):
    """Run a program of the body's for all points; return a status. `shared` is room for what these share."""
    body, table = row_at(address_of(numbers, TOUCHING), _body_size(numbers)), ints_at(stages, 1, layout.STAGE_COLUMNS)
    o = 2 * layout.MOTION_SIZE
    q, v = vector_at(address_of(motion, o), n), vector_at(address_of(motion, o + n), n)
    soft.write_shared(n, body, q, v, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), shared)
    places = address_of(body, soft.points_at(body))
    arguments = soft.points_of(body), address_of(shared, 0), places, address_of(loads, 0), address_of(results, 0)
    return call_at(ints_at(table[0, layout.PROGRAMS], soft.BENDS + 1, 1)[program, 0], arguments)


@helper
def _against(motion):
    """Return, of the shape in the frame of the body, its attitude transposed, its position, and the body's twist against it."""
    back, r, speed = contact.shape_of(motion)
    return back, r, minus(six(motion, 0, FIRST_TWIST), speed)


@helper
def _seen(against, points, o):
    """Return, from the shape, the point whose numbers in ``points[0]`` from `o` are p and u, and its rates."""
    (back, r, V), p, u = against, three_at(points, o), three_at(points, o + 3)
    x, y, z = contact.velocity_at(V, p)
    return contact.from_shape(back, r, p, (x + u[0], y + u[1], z + u[2]), (0.0, 0.0, 0.0))


@helper
def _write_forces(n, inputs, numbers, motion, points, forces, loads):
    """Write the forces on all points, and what they do."""
    turn, against = matrix_of(motion, 0, SECOND), _against(motion)
    clear(loads, 0, 12 + n)
    for k in range(np.int64(numbers[0, TOUCHING])):
        o = (_COLUMNS + 3 * n) * k
        (place, rate, still), bristle = _seen(against, points, o), contact.bristle_of(inputs, motion, k)
        _, f, _, _ = touch(numbers, place, rate, still, _radius(numbers, k), bristle)
        f = times(turn, f)
        t = cross3(three_at(points, o), f)
        add_six(loads, 0, 0, (f[0], f[1], f[2], t[0], t[1], t[2]))
        for j in range(3):
            forces[0, 3 * k + j] = f[j]
        soft.add_pulled_force(n, points, o + _COLUMNS, f, loads, 12)
    put_six(loads, 0, 6, contact.on_shape(motion, six(loads, 0, 0)))


def _act(ports, coordinates, inputs, states, stages, numbers, motion, loads):
    n, points = coordinates, np.int64(numbers[0, TOUCHING])
    shared = np.empty((1, _shared_size(n, numbers)), motion.dtype)
    columns = np.empty((1, (_COLUMNS + 3 * n) * points), motion.dtype)
    status = _run(n, stages, soft.COLUMNS, numbers, motion, columns, columns, shared)
    _write_forces(n, inputs, numbers, motion, columns, np.empty((1, 3 * points), motion.dtype), loads)
    return status


def _reading(what):
    def read(ports, coordinates, inputs, states, stages, numbers, motion, result):
        n, points = coordinates, np.int64(numbers[0, TOUCHING])
        shared = np.empty((1, _shared_size(n, numbers)), motion.dtype)
        columns = np.empty((1, (_COLUMNS + 3 * n) * points), motion.dtype)
        status, against = _run(n, stages, soft.COLUMNS, numbers, motion, columns, columns, shared), _against(motion)
        contact.begin_reading(what, result)
        for k in range(points):
            seen = _seen(against, columns, (_COLUMNS + 3 * n) * k)
            contact.read_sphere(what, inputs, numbers, motion, k, seen, _radius(numbers, k), result)
        return status

    return read


# -- derivatives: the numbers of a point in ``points[0]`` from `o` are p, u, b, J and du/dq

#: Such a point of a body with n coordinates, what `_write_answer` writes of it, and where its bristle's rows of the `slopes`
#: begin, in bristles, or -1 for those of loads; columns are `width`.
_Point = namedtuple("_Point", "n points o answer bristle slopes width")


@helper
def _write_answer(t, row, turn, back, answer):
    """Write what a point's place and its velocity against the shape change of the three in a `row` at its sphere.

    Two matrices (3 x 3 each) for changes in the axes of the body; the three are turned by `turn`.
    """
    for c in range(3):
        along = times(back, unit3(c))
        a, b = times(turn, contact.bends_by(t, row, 0, along)), times(turn, contact.bends_by(t, row, 3, along))
        for k in range(3):
            answer[0, 3 * k + c], answer[0, 9 + 3 * k + c] = a[k], b[k]


@helper
def _put_change(point, dp, dc, turned, lever, column):
    """Add to a column what changes of a point's place and of its velocity against the shape change.

    Of the loads, where its force is `turned` and has another `lever` besides; or, in the rows from its `bristle` on, of how
    this bends.
    """
    a, b = times(matrix_of(point.answer, 0, 0), dp), times(matrix_of(point.answer, 0, np.int64(9)), dc)
    x, y, z = a[0] + b[0], a[1] + b[1], a[2] + b[2]
    slopes, width = point.slopes, point.width
    if point.bristle >= 0:
        o = point.bristle * width + column
        slopes[0, o], slopes[0, o + width], slopes[0, o + 2 * width] = x, y, z
        return
    df = x + turned[0], y + turned[1], z + turned[2]
    torque = cross3(three_at(point.points, point.o), df)
    for k in range(3):
        slopes[0, k * width + column] += df[k]
        slopes[0, (3 + k) * width + column] += torque[k] + lever[k]
    for j in range(point.n):
        x, y, z = column_of_three(point.points, point.o + _BENDS, point.n, j)
        slopes[0, (12 + j) * width + column] += x * df[0] + y * df[1] + z * df[2]


@helper
def _put_point(point, motion, f):
    """Add to all columns what a point that the force f pushes changes there, see `_put_change`."""
    n, points, o = point.n, point.points, point.o
    base, p, u, none = six(motion, 0, FIRST_TWIST), three_at(points, o), three_at(points, o + 3), (0.0, 0.0, 0.0)
    (_, _, speed), J = contact.shape_of(motion), o + _BENDS
    V = minus(base, speed)
    x, y, z = contact.velocity_at(base, p)
    whole, turning = (x + u[0], y + u[1], z + u[2]), (speed[3], speed[4], speed[5])
    for j in range(n):
        moved, flow = column_of_three(points, J, n, j), column_of_three(points, J + 3 * n, n, j)
        x, y, z = cross3((V[3], V[4], V[5]), moved)
        dc = flow[0] + x, flow[1] + y, flow[2] + z
        _put_change(point, moved, dc, none, cross3(moved, f), 18 + j)
        _put_change(point, none, moved, none, none, 18 + n + j)
    for c in range(6):
        along = carry_twist(motion, 0, SECOND, unit(c))
        turn, (x, y, z) = (along[3], along[4], along[5]), contact.velocity_at(along, p)
        away, a, b = (-x, -y, -z), cross3(turn, whole), cross3(turning, (x, y, z))
        dc = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        _put_change(point, away, dc, cross3(turn, f), none, c)
        _put_change(point, none, contact.velocity_at(unit(c), p), none, none, 6 + c)
        _put_change(point, none, away, none, none, 12 + c)


def _slopes(ports, coordinates, inputs, states, stages, numbers, motion, slopes):
    n, points, width = coordinates, np.int64(numbers[0, TOUCHING]), 18 + 2 * coordinates
    dtype, turn, against = motion.dtype, matrix_of(motion, 0, SECOND), _against(motion)
    shared, columns = np.empty((1, _shared_size(n, numbers)), dtype), np.empty((1, (_COLUMNS + 3 * n) * points), dtype)
    forces, loads = np.empty((1, 3 * points), dtype), np.empty((1, 12 + n), dtype)
    t = np.empty((1, contact.SPHERE_SLOPES), dtype)
    bends, answer, back = np.empty((1, n * n + (_BENDS + 9 * n) * points), dtype), np.empty((1, 18), dtype), against[0]
    clear(slopes, 0, (12 + n) * width)
    status = _run(n, stages, soft.COLUMNS, numbers, motion, columns, columns, shared)
    _write_forces(n, inputs, numbers, motion, columns, forces, loads)
    status = min(status, _run(n, stages, soft.BENDS, numbers, motion, forces, bends, shared))
    for k in range(points):
        o, f = n * n + (_BENDS + 9 * n) * k, three_at(forces, 3 * k)
        pushed = (f[0] != 0.0) | (f[1] != 0.0) | (f[2] != 0.0)  # the others change nothing
        if not nowhere(pushed):
            (place, rate, still), bristle = _seen(against, bends, o), contact.bristle_of(inputs, motion, k)
            contact.write_sphere_slopes(numbers, place, rate, still, _radius(numbers, k), bristle, 6, t)
            _write_answer(t, 0, turn, back, answer)
            for j in range(18):
                answer[0, j] = select(pushed, answer[0, j], 0.0)
            _put_point(_Point(n, bends, o, answer, -1, slopes, width), motion, f)
    for i in range(n):
        add_scaled(slopes, (12 + i) * width + 18, 1.0, bends, i * n, n)
    contact.write_shape_rows(motion, six(loads, 0, 0), width, slopes)
    return status


def _rates_slopes(ports, coordinates, inputs, states, stages, numbers, motion, slopes):
    n, points, width = coordinates, np.int64(numbers[0, TOUCHING]), 18 + 2 * coordinates
    shared, t = np.empty((1, _shared_size(n, numbers))), np.empty((1, contact.SPHERE_SLOPES))
    turn, against, answer = matrix_of(motion, 0, SECOND), _against(motion), np.empty((1, 18))
    forces, bends = np.zeros((1, 3 * points)), np.empty((1, n * n + (_BENDS + 9 * n) * points))
    status = _run(n, stages, soft.BENDS, numbers, motion, forces, bends, shared)
    for k in range(points):
        o = n * n + (_BENDS + 9 * n) * k
        (place, rate, still), bristle = _seen(against, bends, o), contact.bristle_of(inputs, motion, k)
        contact.write_sphere_slopes(numbers, place, rate, still, _radius(numbers, k), bristle, 12, t)
        _write_answer(t, contact.BENT, contact.STRAIGHT, against[0], answer)
        _put_point(_Point(n, bends, o, answer, 3 * k, slopes, width), motion, still)
        for i in range(3):
            to, (f, _) = inputs * width + (3 * k + i) * (12 + n), contact.loads_by_bristle(t, i, turn)
            m = cross3(three_at(bends, o), f)
            put_six(slopes, 0, to, (f[0], f[1], f[2], m[0], m[1], m[2]))
            put_six(slopes, 0, to + 6, contact.on_shape(motion, six(slopes, 0, to)))
            clear(slopes, to + 12, n)
            soft.add_pulled_force(n, bends, o + _BENDS, f, slopes, to + 12)
    return status


_SLOPES = {"write_slopes": _slopes, "write_rates_slopes": _rates_slopes}
CONTACT = interaction_stages("soft_contact", _act, **_SLOPES, **contact.read_by(_reading), is_whole=True)
