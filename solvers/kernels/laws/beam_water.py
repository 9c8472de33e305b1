"""Beams in a fluid: compiled twin of `titop.blocks.bodies.water.immersed`.

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
from titop.solvers.kernels.interface.records import bias_at, by_rate_at, by_twist_at
from titop.solvers.kernels.interface.stages import row_at
from titop.solvers.kernels.laws import stiffening_stages
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw, CompiledSurroundings
from titop.solvers.kernels.laws.matrices import (
    add_column,
    add_product,
    add_rows,
    add_scaled,
    add_times,
    add_transposed,
    clear,
    column_of_three,
    put_column,
    wide_times,
)
from titop.solvers.kernels.laws.modal import energy
from titop.solvers.kernels.laws.rod_numbers import fluid_point_at
from titop.solvers.kernels.laws.rod_water import drag_of, drag_slope, fields_of, is_moving
from titop.solvers.kernels.laws.stiffening_stages import inward, room_of
from titop.solvers.kernels.spatial.algebra import add_six, column_of, cross, minus, plus, scaled, six, unit, wrench_cross
from titop.solvers.native.kernel import helper, shared

_dry_terms, _dry_outward = shared(stiffening_stages.terms), shared(stiffening_stages.outward)
_dry_slopes = shared(stiffening_stages.slopes)


@helper
def _added_at(beam):
    """Return where A stands."""
    return int(beam[0, beam.shape[1] - 1])


@helper
def _sections_of(beam):
    return int(beam[0, beam.shape[1] - 2])


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


def _terms(block):
    n, beam, added, status = block.n, block.numbers, _added_at(block.numbers), _dry_terms(block)
    x = np.empty(6 + n, block.q.dtype)
    _write_motion(n, block.twist, block.v, x)
    add_scaled(block.law, 0, 1.0, beam, added, bias_at(n))
    add_six(block.law, 0, bias_at(n), wrench_cross(block.twist, wide_times(beam, added, 6 + n, x)))
    return status


def _outward(block):
    n, beam, added, status = block.n, block.numbers, _added_at(block.numbers), _dry_outward(block)
    alone, x = row_at(block.room, 6 + n), np.empty(6 + n, block.q.dtype)
    _write_motion(n, block.twist, block.v, x)
    add_six(alone, 0, 0, wrench_cross(block.twist, wide_times(beam, added, 6 + n, x)))
    _write_motion(n, block.acceleration, block.a, x)
    add_times(beam, added, 6 + n, x, alone, 0)
    return status


def _slopes(block):
    n, beam, added, status = block.n, block.numbers, _added_at(block.numbers), _dry_slopes(block)
    size, x = 6 + n, np.empty(6 + n, block.q.dtype)
    _write_motion(n, block.twist, block.v, x)
    momentum = wide_times(beam, added, size, x)
    add_scaled(block.law, 0, 1.0, beam, added, bias_at(n))
    for k in range(size):
        by_x = wrench_cross(block.twist, column_of(beam, added, size, k))
        if k < 6:
            add_column(block.slopes, by_twist_at(n), 6, k, plus(by_x, wrench_cross(unit(k), momentum)))
        else:
            add_column(block.slopes, by_rate_at(n), n, k - 6, by_x)
    return status


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
        x = column_of_three(beam, o + 4, n, j)
        t[0, 6 + j] -= x[0] * g[0] + x[1] * g[1] + x[2] * g[2]


@helper
def _displaced_moment(n, beam, o, q):
    s0, s1, s2 = beam[0, o + 1], beam[0, o + 2], beam[0, o + 3]
    for j in range(n):
        x = column_of_three(beam, o + 4, n, j)
        s0, s1, s2 = s0 + x[0] * q[j], s1 + x[1] * q[j], s2 + x[2] * q[j]
    return s0, s1, s2


@helper
def _add_stream(n, beam, x, c, t):
    """Add to ``t[0]`` (6 + n) drag, lift, and what A takes less in the current."""
    added, sections, size = _added_at(beam), _sections_of(beam), 6 + n
    current = c[0], c[1], c[2], 0.0, 0.0, 0.0
    for i in range(sections):
        at = _jacobian_at(n, added, sections, i)
        flow = minus(wide_times(beam, at, size, x), current)
        drag = drag_of(beam, fluid_point_at(_fluid_at(n, added), i), flow)
        add_transposed(beam, at, size, scaled(-1.0, drag), t, 0)
    speed, drifting = (x[0], x[1], x[2], x[3], x[4], x[5]), _times_three(n, beam, added, c)
    carried = minus(wide_times(beam, added, size, x), drifting)
    add_six(t, 0, 0, plus(wrench_cross(speed, drifting), wrench_cross(current, carried)))
    _add_turned(n, beam, added, speed, c, t)


@helper
def _times_three(n, beam, added, c):
    """Return the first six numbers of ``A [C; 0]``."""
    size = 6 + n
    first, second, third = (column_of(beam, added, size, 0), column_of(beam, added, size, 1), column_of(beam, added, size, 2))
    return plus(scaled(c[0], first), plus(scaled(c[1], second), scaled(c[2], third)))


@helper
def _add_turned(n, beam, added, speed, c, t):
    """Add ``-A [w x c; 0; 0]`` to ``t[0]`` (6 + n)."""
    a0, a1, a2 = cross(speed[3], speed[4], speed[5], c[0], c[1], c[2])
    for r in range(6 + n):
        row = added + (6 + n) * r
        t[0, r] -= beam[0, row] * a0 + beam[0, row + 1] * a1 + beam[0, row + 2] * a2


def _apply(block, efforts):
    n, beam, fluid = block.n, block.numbers, _fluid_at(block.n, _added_at(block.numbers))
    g, c = fields_of(beam, fluid, block.pose, block.gravity)
    clear(efforts, 0, 6 + n)
    _add_weight(n, beam, _added_at(beam), block.q, g, efforts)
    if block.applying > 1 and is_moving(beam, fluid):
        x = np.empty(6 + n, block.q.dtype)
        _write_motion(n, six(block.twist, 0, 0), block.v, x)
        _add_stream(n, beam, x, c, efforts)
    return layout.OK


def _apply_slopes(block, slopes):
    n, beam, q = block.n, block.numbers, block.q
    size, added, turning, fluid = 6 + n, _added_at(beam), (6 + n) * (2 * n + 6), _fluid_at(n, _added_at(beam))
    (g, c), moving, x = fields_of(beam, fluid, block.pose, block.gravity), is_moving(beam, fluid), np.empty(size, q.dtype)
    by_x, small = np.empty((1, size * size), q.dtype), np.empty((1, 36 + 6 * size), q.dtype)
    column = np.empty((1, size), q.dtype)
    _write_motion(n, six(block.twist, 0, 0), block.v, x)
    clear(slopes, 0, size * (2 * n + 12))
    for j in range(n):
        a, b, d = column_of_three(beam, _displaced_at(n, added) + 4, n, j)
        a, b, d = cross(a, b, d, g[0], g[1], g[2])
        put_column(slopes, 0, n, j, (0.0, 0.0, 0.0, -a, -b, -d))
    if moving:
        _write_drag_slopes(n, beam, x, c, by_x, small)
    for k in range(3):
        e = unit(k)
        clear(column, 0, size)
        _add_weight(n, beam, added, q, cross(g[0], g[1], g[2], e[0], e[1], e[2]), column)
        if moving:
            _add_by_current(n, beam, added, x, c, cross(c[0], c[1], c[2], e[0], e[1], e[2]), by_x, column)
        for r in range(size):
            slopes[0, turning + 6 * r + 3 + k] = column[0, r]
    if moving:
        _add_drift_slopes(n, beam, added, x, c, by_x, column)
        for r in range(size):
            add_scaled(slopes, by_twist_at(n) + 6 * r, 1.0, by_x, size * r, 6)
            add_scaled(slopes, by_rate_at(n) + n * r, 1.0, by_x, size * r + 6, n)
    return layout.OK


@helper
def _write_drag_slopes(n, beam, x, c, by_x, small):
    """Write what drag and lift change by with x (6 + n, 6 + n); the row `small` is room for it."""
    added, sections, size = _added_at(beam), _sections_of(beam), 6 + n
    clear(by_x, 0, size * size)
    for i in range(sections):
        at, o = _jacobian_at(n, added, sections, i), fluid_point_at(_fluid_at(n, added), i)
        flow = minus(wide_times(beam, at, size, x), (c[0], c[1], c[2], 0.0, 0.0, 0.0))
        for k in range(6):
            put_column(small, 0, 6, k, scaled(-1.0, drag_slope(beam, o, flow, unit(k))))
        clear(small, 36, 6 * size)
        add_product(small, 36, small, 0, beam, at, size)
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
    carried = minus(wide_times(beam, added, size, x), _times_three(n, beam, added, c))
    add_six(t, 0, 0, plus(wrench_cross(change, carried), wrench_cross(flow, _times_three(n, beam, added, y))))
    _add_turned(n, beam, added, speed, y, t)


_WATER = CompiledSurroundings("beam_water", _apply, _apply_slopes)
LAW = CompiledLaw(
    "beam", terms=_terms, outward=_outward, inward=inward, slopes=_slopes, energy=energy, room=room_of, surroundings=_WATER
)
