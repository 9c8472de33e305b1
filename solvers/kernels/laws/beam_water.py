"""Beams in a fluid: compiled twin of `titop.blocks.bodies.water.immersed_beam`.

The law is that of `stiffening` with the inertia A of the fluid that is moved along (6 + n, 6 + n), which does not follow the
deformation. What acts beside it: gravity does not pull at A, nor at the displaced fluid; the sections are dragged and lifted;
and in a current A takes less.

Behind the numbers of `stiffening` stand A; mass, first moment (3) and moments ``int Phi dm`` (3 x n) of the displaced fluid;
what the fluid does at each of k sections, as of a rod (see `rod_numbers`); what they move and turn a unit of the base's twist
and of the rates (k times 6 x (6 + n)); last k, and where all this begins.

Locals: x is ``[V; v]`` (6 + n), g gravity and c the current in the axes of the base, C = [c; 0].
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import bias_at, by_rate_at, by_twist_at, law_size, slopes_size
from titop.solvers.kernels.interface.stages import row_at, vector_at
from titop.solvers.kernels.laws import stiffening_stages
from titop.solvers.kernels.laws.applied_laws import CompiledSurroundings
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw
from titop.solvers.kernels.laws.modal import add_pulled, add_times, moved
from titop.solvers.kernels.laws.modal_stages import energy
from titop.solvers.kernels.laws.rod_matrices import add_product, add_rows, add_scaled, clear, column_of, put_column
from titop.solvers.kernels.laws.rod_numbers import CURRENT, IS_MOVING, fluid_point_at
from titop.solvers.kernels.laws.rod_water import drag_of, drag_slope
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    cross,
    entry_of,
    minus,
    plus,
    rotate_back,
    scaled,
    six,
    unit,
    wrench_cross,
)
from titop.solvers.native.kernel import helper, shared

_dry_terms, _dry_outward = shared(stiffening_stages.terms), shared(stiffening_stages.outward)
_dry_slopes = shared(stiffening_stages.slopes)


@helper
def _added_at(beam, count):
    """Return where A stands."""
    return int(beam[0, count - 1])


@helper
def _sections_of(beam, count):
    return int(beam[0, count - 2])


@helper
def _displaced_at(n, added):
    """Return where the displaced mass stands, its moments behind it."""
    return added + (6 + n) * (6 + n)


@helper
def _fluid_at(n, added):
    return _displaced_at(n, added) + 4 + 3 * n


@helper
def _jacobian_at(n, added, sections, i):
    """Return where it stands what section i moves by."""
    return fluid_point_at(_fluid_at(n, added), sections) + 6 * (6 + n) * i


# -- the law


@helper
def _write_motion(n, twist, v, x):
    """Write a twist and rates, or accelerations, side by side into x (6 + n)."""
    x[0], x[1], x[2], x[3], x[4], x[5] = twist
    for j in range(n):
        x[6 + j] = v[j]


@helper
def _add_inertia(n, beam, added, law):
    """Add A to the inertia in a block's law."""
    for k in range(bias_at(n)):
        law[0, k] += beam[0, added + k]


def _terms(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    status = _dry_terms(
        n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes
    )
    beam, record = row_at(numbers, number_count), row_at(law, law_size(n, ports))
    added, speed, x = _added_at(beam, number_count), six(row_at(twist, 6), 0, 0), np.empty(6 + n)
    _write_motion(n, speed, vector_at(v, n), x)
    _add_inertia(n, beam, added, record)
    add_six(record, 0, bias_at(n), wrench_cross(speed, moved(beam, added, 6 + n, x)))
    return status


def _outward(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    status = _dry_outward(
        n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes
    )
    beam, alone = row_at(numbers, number_count), row_at(room, 6 + n)
    added, speed, x = _added_at(beam, number_count), six(row_at(twist, 6), 0, 0), np.empty(6 + n)
    _write_motion(n, speed, vector_at(v, n), x)
    add_six(alone, 0, 0, wrench_cross(speed, moved(beam, added, 6 + n, x)))
    _write_motion(n, six(row_at(acceleration, 6), 0, 0), vector_at(a, n), x)
    add_times(beam, added, 6 + n, x, alone, 0)
    return status


def _slopes(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    status = _dry_slopes(
        n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes
    )
    beam, record = row_at(numbers, number_count), row_at(law, law_size(n, ports))
    result, size = row_at(slopes, slopes_size(n, ports)), 6 + n
    added, speed, x = _added_at(beam, number_count), six(row_at(twist, 6), 0, 0), np.empty(size)
    _write_motion(n, speed, vector_at(v, n), x)
    momentum = moved(beam, added, size, x)
    _add_inertia(n, beam, added, record)
    for k in range(size):
        by_x = wrench_cross(speed, column_of(beam, added, size, k))
        if k < 6:
            _add_column(result, by_twist_at(n), 6, k, plus(by_x, wrench_cross(unit(k), momentum)))
        else:
            _add_column(result, by_rate_at(n), n, k - 6, by_x)
    return status


@helper
def _add_column(t, o, width, c, x):
    """Add to column c of the six rows, `width` apart, at ``t[0, o]``."""
    for r in range(6):
        t[0, o + r * width + c] += entry_of(x, r)


# -- what acts beside it


@helper
def _add_weight(n, beam, added, q, g, t):
    """Add to ``t[0]`` (6 + n) minus what gravity would pull at A and at the displaced fluid."""
    o, size = _displaced_at(n, added), 6 + n
    for r in range(size):
        row = added + size * r
        t[0, r] -= beam[0, row] * g[0] + beam[0, row + 1] * g[1] + beam[0, row + 2] * g[2]
    s0, s1, s2 = _displaced_moment(n, beam, o, q)
    mass, (m0, m1, m2) = beam[0, o], cross(s0, s1, s2, g[0], g[1], g[2])
    add_six(t, 0, 0, (-mass * g[0], -mass * g[1], -mass * g[2], -m0, -m1, -m2))
    for j in range(n):
        x = _displaced_by(n, beam, o, j)
        t[0, 6 + j] -= x[0] * g[0] + x[1] * g[1] + x[2] * g[2]


@helper
def _displaced_by(n, beam, o, j):
    """Return what coordinate j moves of the displaced fluid's first moment (3)."""
    return beam[0, o + 4 + j], beam[0, o + 4 + n + j], beam[0, o + 4 + 2 * n + j]


@helper
def _displaced_moment(n, beam, o, q):
    s0, s1, s2 = beam[0, o + 1], beam[0, o + 2], beam[0, o + 3]
    for j in range(n):
        x = _displaced_by(n, beam, o, j)
        s0, s1, s2 = s0 + x[0] * q[j], s1 + x[1] * q[j], s2 + x[2] * q[j]
    return s0, s1, s2


@helper
def _add_stream(n, beam, count, x, c, t):
    """Add to ``t[0]`` (6 + n) drag, lift, and what A takes less in the current."""
    added, sections, size = _added_at(beam, count), _sections_of(beam, count), 6 + n
    current = c[0], c[1], c[2], 0.0, 0.0, 0.0
    for i in range(sections):
        at = _jacobian_at(n, added, sections, i)
        flow = minus(moved(beam, at, size, x), current)
        drag = drag_of(beam, fluid_point_at(_fluid_at(n, added), i), flow)
        add_pulled(beam, at, size, scaled(-1.0, drag), t, 0)
    speed, drifting = (x[0], x[1], x[2], x[3], x[4], x[5]), _times_three(n, beam, added, c)
    carried = minus(moved(beam, added, size, x), drifting)
    add_six(t, 0, 0, plus(wrench_cross(speed, drifting), wrench_cross(current, carried)))
    _add_turned(n, beam, added, speed, c, t)


@helper
def _times_three(n, beam, added, c):
    """Return the first six numbers of ``A [C; 0]``."""
    size = 6 + n
    first, second, third = (
        column_of(beam, added, size, 0),
        column_of(beam, added, size, 1),
        column_of(beam, added, size, 2),
    )
    return plus(scaled(c[0], first), plus(scaled(c[1], second), scaled(c[2], third)))


@helper
def _add_turned(n, beam, added, speed, c, t):
    """Add ``-A [w x c; 0; 0]`` to ``t[0]`` (6 + n)."""
    a0, a1, a2 = cross(speed[3], speed[4], speed[5], c[0], c[1], c[2])
    for r in range(6 + n):
        row = added + (6 + n) * r
        t[0, r] -= beam[0, row] * a0 + beam[0, row + 1] * a1 + beam[0, row + 2] * a2


@helper
def _fields(n, beam, count, pose, gravity):
    """Return gravity and current in the axes of the base."""
    g, base, o = vector_at(gravity, 3), row_at(pose, 12), _fluid_at(n, _added_at(beam, count)) + CURRENT
    down = rotate_back(base, 0, 0, g[0], g[1], g[2])
    return down, rotate_back(base, 0, 0, beam[0, o], beam[0, o + 1], beam[0, o + 2])


@helper
def _is_moving(n, beam, count):
    """Tell whether the fluid presses more than at rest in still fluid."""
    return beam[0, _fluid_at(n, _added_at(beam, count)) + IS_MOVING] > 0.0


def _apply(n, count, applying, numbers, q, v, twist, pose, gravity, efforts):
    beam, result = row_at(numbers, count), row_at(efforts, 6 + n)
    g, c = _fields(n, beam, count, pose, gravity)
    clear(result, 0, 6 + n)
    _add_weight(n, beam, _added_at(beam, count), vector_at(q, n), g, result)
    if applying > 1 and _is_moving(n, beam, count):
        x = np.empty(6 + n)
        _write_motion(n, six(row_at(twist, 6), 0, 0), vector_at(v, n), x)
        _add_stream(n, beam, count, x, c, result)
    return layout.OK


def _apply_slopes(n, count, applying, numbers, q, v, twist, pose, gravity, slopes):
    beam, size, result = row_at(numbers, count), 6 + n, row_at(slopes, (6 + n) * (2 * n + 12))
    added, turning, column = _added_at(beam, count), (6 + n) * (2 * n + 6), np.empty((1, 6 + n))
    (g, c), moving = _fields(n, beam, count, pose, gravity), _is_moving(n, beam, count)
    x, own_q = np.empty(size), vector_at(q, n)
    _write_motion(n, six(row_at(twist, 6), 0, 0), vector_at(v, n), x)
    by_x, small = np.empty((1, size * size)), np.empty((1, 36 + 6 * size))
    clear(result, 0, size * (2 * n + 12))
    for j in range(n):
        a, b, d = _displaced_by(n, beam, _displaced_at(n, added), j)
        a, b, d = cross(a, b, d, g[0], g[1], g[2])
        put_column(result, 0, n, j, (0.0, 0.0, 0.0, -a, -b, -d))
    if moving:
        _write_drag_slopes(n, beam, count, x, c, by_x, small)
    for k in range(3):
        e = unit(k)
        clear(column, 0, size)
        _add_weight(n, beam, added, own_q, cross(g[0], g[1], g[2], e[0], e[1], e[2]), column)
        if moving:
            _add_by_current(n, beam, added, x, c, cross(c[0], c[1], c[2], e[0], e[1], e[2]), by_x, column)
        for r in range(size):
            result[0, turning + 6 * r + 3 + k] = column[0, r]
    if moving:
        _add_drift_slopes(n, beam, added, x, c, by_x, column)
        for r in range(size):
            add_scaled(result, by_twist_at(n) + 6 * r, 1.0, by_x, size * r, 6)
            add_scaled(result, by_rate_at(n) + n * r, 1.0, by_x, size * r + 6, n)
    return layout.OK


@helper
def _write_drag_slopes(n, beam, count, x, c, by_x, small):
    """Write what drag and lift change by with x (6 + n, 6 + n); the row `small` is room for it."""
    added, sections, size = _added_at(beam, count), _sections_of(beam, count), 6 + n
    clear(by_x, 0, size * size)
    for i in range(sections):
        at, o = _jacobian_at(n, added, sections, i), fluid_point_at(_fluid_at(n, added), i)
        flow = minus(moved(beam, at, size, x), (c[0], c[1], c[2], 0.0, 0.0, 0.0))
        for k in range(6):
            put_column(small, 0, 6, k, scaled(-1.0, drag_slope(beam, o, flow, unit(k))))
        clear(small, 36, 6 * size)
        add_product(small, 36, 6, small, 0, 6, 1, beam, at, size)
        for r in range(size):
            add_rows(by_x, size * r, column_of(beam, at, size, r), small, 36, size, size)


@helper
def _add_drift_slopes(n, beam, added, x, c, by_x, column):
    """Add what it changes by with x what A takes less in the current."""
    size, current = 6 + n, (c[0], c[1], c[2], 0.0, 0.0, 0.0)
    drifting = _times_three(n, beam, added, c)
    for k in range(size):
        clear(column, 0, size)
        add_six(column, 0, 0, wrench_cross(current, column_of(beam, added, size, k)))
        if k < 6:
            add_six(column, 0, 0, wrench_cross(unit(k), drifting))
            _add_turned(n, beam, added, unit(k), c, column)
        for r in range(size):
            by_x[0, size * r + k] += column[0, r]


@helper
def _add_by_current(n, beam, added, x, c, y, by_drag, t):
    """Add to ``t[0]`` (6 + n) what the stream's efforts change by with a change y (3) of c; `by_drag` are those of drag by x.

    All sections move alike with the base: to drag a change of c is minus one of the base's velocity.
    """
    size, speed = 6 + n, (x[0], x[1], x[2], x[3], x[4], x[5])
    for r in range(size):
        t[0, r] -= by_drag[0, size * r] * y[0] + by_drag[0, size * r + 1] * y[1] + by_drag[0, size * r + 2] * y[2]
    change, flow = (y[0], y[1], y[2], 0.0, 0.0, 0.0), minus(speed, (c[0], c[1], c[2], 0.0, 0.0, 0.0))
    carried = minus(moved(beam, added, size, x), _times_three(n, beam, added, c))
    add_six(t, 0, 0, plus(wrench_cross(change, carried), wrench_cross(flow, _times_three(n, beam, added, y))))
    _add_turned(n, beam, added, speed, y, t)


LAW = CompiledLaw(
    "beam",
    terms=_terms,
    outward=_outward,
    inward=stiffening_stages.inward,
    slopes=_slopes,
    energy=energy,
    room=stiffening_stages.room_of,
    surroundings=CompiledSurroundings("beam_water", _apply, _apply_slopes),
)
