"""Rods in a fluid: what it bears, weighs less than it moves along, drags and lifts, as a wrench on every point.

Locals of a point, in the axes of its section: V its twist, c the current and g gravity, A the added inertia, C = [c; 0], U the
twist less C. The law knows ``A (dV/dt - G)`` and ``-ad(V)^T A V``; in a fluid that streams, U takes the place of V, and A does
not weigh.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.tolerances import TINY
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import by_rate_at, by_twist_at
from titop.solvers.kernels.laws import rod_numbers as rods
from titop.solvers.kernels.laws.compiled_laws import CompiledSurroundings
from titop.solvers.kernels.laws.matrices import add_rows, add_scaled, clear, put_column, put_wide_product
from titop.solvers.kernels.laws.rod_columns import ROWS, TABLE, move_columns, press_columns, write_columns_at_base
from titop.solvers.kernels.laws.rod_motion import move_outwards, press_forces
from titop.solvers.kernels.spatial.algebra import (
    carry_wrench,
    column_of,
    cross,
    full_times,
    minus,
    plus,
    put_six,
    rotate,
    rotate_back,
    scaled,
    six,
    transport,
    unit,
    wrench_cross,
)
from titop.solvers.native.kernel import helper

#: Numbers of the matrices of a point: of what S and X change (6 x 12), of what turns of it do (6 x 6).
_BY_TURN, _BY_Q = 72, 108


@helper
def _weight(t, o, g):
    """Return minus what gravity would pull at the displaced fluid, and at the added inertia."""
    at = o + rods.DISPLACED
    m, (a, b, c) = t[0, at], cross(t[0, at + 1], t[0, at + 2], t[0, at + 3], g[0], g[1], g[2])
    pulled = full_times(t, 0, o + rods.ADDED, (g[0], g[1], g[2], 0.0, 0.0, 0.0))
    return scaled(-1.0, plus(pulled, (m * g[0], m * g[1], m * g[2], a, b, c)))


@helper
def _stream(t, o, speed, c):
    """Return what the added inertia takes less in the current, ``ad(..)`` of V and C, and the drag, of U."""
    x, y, z = cross(speed[3], speed[4], speed[5], c[0], c[1], c[2])
    current = c[0], c[1], c[2], 0.0, 0.0, 0.0
    drifting, carried = full_times(t, 0, o + rods.ADDED, current), full_times(t, 0, o + rods.ADDED, speed)
    taken = full_times(t, 0, o + rods.ADDED, (x, y, z, 0.0, 0.0, 0.0))
    pressed = plus(wrench_cross(speed, drifting), wrench_cross(current, minus(carried, drifting)))
    flow = minus(speed, current)
    return minus(minus(pressed, taken), drag_of(t, o, flow))


@helper
def drag_of(t, o, flow):
    """Return drag and lift (6) at a section, a fluid's point at ``t[0, o]``, that moves with the twist `flow` in it."""
    x, y, z = rotate(t, 0, o + rods.SPINNING, flow[3], flow[4], flow[5])
    spun = scaled(_spin(flow), (0.0, 0.0, 0.0, x, y, z))
    quadratic = scaled(_speed(flow), full_times(t, 0, o + rods.QUADRATIC, flow))
    return plus(plus(quadratic, spun), full_times(t, 0, o + rods.LINEAR, flow))


@helper
def _speed(x):
    return np.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])


@helper
def _spin(x):
    return np.sqrt(x[3] * x[3] + x[4] * x[4] + x[5] * x[5])


@helper
def drag_slope(t, o, flow, x):
    """Return what drag and lift grow by with a change x of the twist."""
    speed, spin = _speed(flow), _spin(flow)
    along = (flow[0] * x[0] + flow[1] * x[1] + flow[2] * x[2]) / (speed + TINY)
    about = (flow[3] * x[3] + flow[4] * x[4] + flow[5] * x[5]) / (spin + TINY)
    moved = plus(scaled(speed, x), scaled(along, flow))
    turning = plus(scaled(spin, x), scaled(about, flow))
    a, b, c = rotate(t, 0, o + rods.SPINNING, turning[3], turning[4], turning[5])
    quadratic = full_times(t, 0, o + rods.QUADRATIC, moved)
    return plus(plus(quadratic, (0.0, 0.0, 0.0, a, b, c)), full_times(t, 0, o + rods.LINEAR, x))


@helper
def _by_twist(t, o, speed, c, x):
    """Return what the stream's wrench changes by with a change x of V."""
    a, b, d = cross(x[3], x[4], x[5], c[0], c[1], c[2])
    current, at = (c[0], c[1], c[2], 0.0, 0.0, 0.0), o + rods.ADDED
    pressed = plus(wrench_cross(x, full_times(t, 0, at, current)), wrench_cross(current, full_times(t, 0, at, x)))
    taken = full_times(t, 0, at, (a, b, d, 0.0, 0.0, 0.0))
    return minus(minus(pressed, taken), drag_slope(t, o, minus(speed, current), x))


@helper
def _by_current(t, o, speed, c, x):
    """Return what it changes by with a change x (3) of c."""
    a, b, d = cross(speed[3], speed[4], speed[5], x[0], x[1], x[2])
    current, change = (c[0], c[1], c[2], 0.0, 0.0, 0.0), (x[0], x[1], x[2], 0.0, 0.0, 0.0)
    flow, changed = minus(speed, current), full_times(t, 0, o + rods.ADDED, change)
    pressed = plus(wrench_cross(flow, changed), wrench_cross(change, full_times(t, 0, o + rods.ADDED, flow)))
    taken = full_times(t, 0, o + rods.ADDED, (a, b, d, 0.0, 0.0, 0.0))
    return plus(minus(pressed, taken), drag_slope(t, o, flow, change))


@helper
def _at_point(rod, i, g, c, moving):
    """Return the wrench on point i, in its axes; gravity and current in those of the base."""
    o, kept, here = rods.fluid_point_at(rods.fluid_at(rod.numbers), i), rod.kept, rods.kept_place(i)
    wrench = _weight(rod.numbers, o, rotate_back(kept, 0, here, g[0], g[1], g[2]))
    if moving:
        current = rotate_back(kept, 0, here, c[0], c[1], c[2])
        return plus(wrench, _stream(rod.numbers, o, six(kept, 0, here + rods.TWIST), current))
    return wrench


@helper
def fields_of(numbers, fluid, pose, gravity):
    """Return gravity and current in the axes of the base; what a fluid does stands at `fluid`."""
    o = fluid + rods.CURRENT
    down = rotate_back(pose, 0, 0, gravity[0], gravity[1], gravity[2])
    return down, rotate_back(pose, 0, 0, numbers[0, o], numbers[0, o + 1], numbers[0, o + 2])


@helper
def is_moving(numbers, fluid):
    """Tell whether the fluid presses more than at rest in still fluid."""
    return numbers[0, fluid + rods.IS_MOVING] > 0.0


@helper
def _press(block, rod, moving, still, fields, efforts):
    """Write what the fluid presses on the base and the coordinates with, not accelerated: `still` (n). No port takes part."""
    move_outwards(rod, block.q, block.v, still, six(block.twist, 0, 0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for i in range(rod.intervals + 1):
        put_six(rod.kept, 0, rods.kept_place(i) + rods.WRENCH, _at_point(rod, i, fields[0], fields[1], moving))
    press_forces(rod, efforts, 0)


def _apply(block, efforts):
    n, numbers, fluid, dtype = block.n, block.numbers, rods.fluid_at(block.numbers), block.q.dtype
    intervals = rods.intervals_of(numbers)
    rod = rods.Rod(n, intervals, 0, 0, numbers, np.empty((1, rods.kept_size(intervals, 0)), dtype))
    fields, moving = fields_of(numbers, fluid, block.pose, block.gravity), block.applying > 1 and is_moving(numbers, fluid)
    _press(block, rod, moving, np.zeros(n, dtype), fields, efforts)
    return layout.OK


def _apply_slopes(block, slopes):
    n, numbers, fluid, dtype = block.n, block.numbers, rods.fluid_at(block.numbers), block.q.dtype
    fields, moving = fields_of(numbers, fluid, block.pose, block.gravity), is_moving(numbers, fluid)
    places, rows, pressed = rods.intervals_of(numbers) + 1, ROWS if moving else 6, np.empty((1, 6 + n), dtype)
    rod = rods.Rod(n, places - 1, 0, 0, numbers, np.empty((1, rods.kept_size(places - 1, 0)), dtype))
    columns, wrenches = np.empty((1, rows * n * places), dtype), np.empty((1, 6 * n * places), dtype)
    tables, small = np.empty((1, (places + 2) * TABLE), dtype), np.empty((1, _BY_Q + 18 * n), dtype)
    _press(block, rod, moving, np.zeros(n, dtype), fields, pressed)
    if moving:
        move_columns(rod, tables, columns)
    else:
        write_columns_at_base(rod, tables, small, columns)
    clear(wrenches, 0, 6 * n * places)
    clear(slopes, 0, (6 + n) * (2 * n + 12))
    for i in range(places):
        _add_point(rod, i, moving, fields, columns, wrenches, small, slopes)
    press_columns(rod, rows, tables, columns, wrenches, small, slopes)
    return layout.OK


@helper
def _add_point(rod, i, moving, fields, columns, wrenches, small, slopes):
    """Add to the slopes what the wrench on a point does, and write what it changes by with q."""
    n, s, by_v, turning = rod.n, (ROWS if moving else 6) * rod.n * i, _BY_Q + 6 * rod.n, (6 + rod.n) * (2 * rod.n + 6)
    _write_point(rod, i, moving, fields, small)
    put_wide_product(small, _BY_Q, small, 0, (6, 12, 2 if moving else 1), columns, s, n)
    add_scaled(wrenches, 6 * n * i, 1.0, small, _BY_Q, 6 * n)
    add_scaled(slopes, turning, 1.0, small, _BY_TURN, 36)
    for j in range(n):
        add_rows(slopes, turning + 6 * (6 + j), column_of(columns, s, n, j), small, _BY_TURN, 6, 6)
    if moving:
        put_wide_product(small, by_v, small, 6, (6, 12, 1), columns, s, n)
        add_scaled(slopes, by_rate_at(n), 1.0, small, by_v, 6 * n)
        for r in range(6):
            add_scaled(slopes, by_twist_at(n) + 6 * r, 1.0, small, 12 * r + 6, 6)
        for j in range(n):
            x = column_of(columns, s, n, j)
            add_rows(slopes, by_rate_at(n) + (6 + j) * n, x, small, by_v, n, n)
            add_rows(slopes, by_twist_at(n) + 6 * (6 + j), x, small, 6, 12, 6)


@helper
def _write_point(rod, i, moving, fields, t):
    """Write in the axes of the base what a twist of a point changes of its wrench, held by it and turned, and by its speed.

    ``[-ad()^T W + G, N]``, then G, of turns alone.
    """
    numbers, kept, o, here = rod.numbers, rod.kept, rods.fluid_point_at(rods.fluid_at(rod.numbers), i), rods.kept_place(i)
    speed, wrench = six(kept, 0, here + rods.TWIST), _at_point(rod, i, fields[0], fields[1], moving)
    g = rotate_back(kept, 0, here, fields[0][0], fields[0][1], fields[0][2])
    c = rotate_back(kept, 0, here, fields[1][0], fields[1][1], fields[1][2])
    wrench = carry_wrench(kept, 0, here, wrench)
    for k in range(6):
        x = transport(kept, 0, here, unit(k))
        turned = _weight(numbers, o, cross(g[0], g[1], g[2], x[3], x[4], x[5]))
        if moving:
            turned = plus(turned, _by_current(numbers, o, speed, c, cross(c[0], c[1], c[2], x[3], x[4], x[5])))
            put_column(t, 6, 12, k, carry_wrench(kept, 0, here, _by_twist(numbers, o, speed, c, x)))
        turned = carry_wrench(kept, 0, here, turned)
        put_column(t, 0, 12, k, plus(wrench_cross(unit(k), wrench), turned))
        put_column(t, _BY_TURN, 6, k, turned)


WATER = CompiledSurroundings("rod_water", _apply, _apply_slopes)
