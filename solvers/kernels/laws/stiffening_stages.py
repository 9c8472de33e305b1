"""The stages of flexible bodies with second order: inverse dynamics without mass matrix, and the linearised law.

The few numbers of `stiffening_body` change with the coordinates and their rates by the tables of `stiffening`, and what the
body takes by products of the two.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import bias_at, by_rate_at, by_twist_at, columns_at, is_used, port_at, slopes_size
from titop.solvers.kernels.interface.stages import address_of, row_at, vector_at
from titop.solvers.kernels.laws import modal_ports, stiffening
from titop.solvers.kernels.laws import stiffening_body as few
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw
from titop.solvers.kernels.laws.matrices import (
    add_between,
    add_passive_slopes,
    add_rows,
    add_scaled,
    add_through,
    clear,
    put_column,
    wide_times,
)
from titop.solvers.kernels.laws.modal import KEPT, PARTICIPATION, energy, keep_port, mass_at, numbers_at, press_inwards
from titop.solvers.kernels.spatial.algebra import column_of, entry_of, plus, put_six, scaled, six, unit
from titop.solvers.native.kernel import helper

#: Numbers of a 6x6 matrix.
_FULL = 36

#: Where changes of what turns into efforts stand, behind what else needs room, and how many rows (n) they are: of what the
#: participation (6), the moments (12) and their H (12) turn.
_CHANGES, _WEIGHTS = 7 * _FULL, 30


@helper
def _port_room(n):
    """Return how much `_outward` keeps of a port: phi and two coefficients, and its shape."""
    return KEPT + 6 * n


@helper
def room_of(n, ports, numbers):
    """Return how much the stages need: what `_inward` reads of the body alone and of each port; few numbers and tables."""
    return _few_at(n, ports) + few.FEW + few.TAKEN + (2 * stiffening.TABLE + 1) * n


@helper
def _few_at(n, ports):
    """Return where the few numbers stand in the room; what is taken alone, two tables and a row (n) follow."""
    return 6 + n + ports * _port_room(n)


@helper
def _rooms_of(block):
    """Return the few numbers in the room, what is taken alone, two tables, and a row (n)."""
    n, at, size = block.n, _few_at(block.n, block.ports), stiffening.TABLE * block.n
    whole = row_at(block.room, room_of(n, block.ports, block.numbers))
    tables = at + few.FEW + few.TAKEN
    f, taken = row_at(address_of(whole, at), few.FEW), row_at(address_of(whole, at + few.FEW), few.TAKEN)
    by_q, by_v = row_at(address_of(whole, tables), size), row_at(address_of(whole, tables + size), size)
    return f, taken, by_q, by_v, vector_at(address_of(whole, tables + 2 * size), n)


def terms(block):
    """Write the law; see `stages`. The tables are used up."""
    n, modes, law = block.n, block.numbers, block.law
    (f, taken, by_q, by_v, still), rest = _rooms_of(block), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for j in range(n):
        still[j] = 0.0
    stiffening.write_tables(block, by_q, by_v)
    stiffening.write_few(block, still, rest, by_q, by_v, f)
    stiffening.write_alone(block, still, f, by_q, by_v, taken, law, bias_at(n))
    stiffening.write_inertia(block, by_q, f, by_v)
    for p in range(block.ports):
        if is_used(block.used, p):
            o, target = numbers_at(n, p), port_at(n, p)
            stiffening.write_shape(block, p, by_q, 0)
            at = modal_ports.pose_of(modes, o, stiffening.displacement_of(block, o + modal_ports.SHAPE, by_q, 0))
            _, _, gamma = modal_ports.motion_of(modes, o, at, wide_times(by_q, 0, n, block.v), block.twist)
            gamma = plus(gamma, modal_ports.image_of(modes, o, at, stiffening.curvature_of(block, p, by_v)))
            modal_ports.write_pose(law, target, at)
            put_six(law, 0, target + layout.PORT_GAMMA, gamma)
            modal_ports.write_subspace(modes, o, n, at, by_q, 0, law, target + layout.PORT_S)
    return layout.OK


def outward(block):
    n, modes, (f, taken, by_q, by_v, _) = block.n, block.numbers, _rooms_of(block)
    alone = row_at(block.room, room_of(n, block.ports, modes))
    stiffening.write_tables(block, by_q, by_v)
    stiffening.write_few(block, block.a, block.acceleration, by_q, by_v, f)
    stiffening.write_alone(block, block.a, f, by_q, by_v, taken, alone, 0)
    for p in range(block.ports):
        if is_used(block.used, p):
            o, target, kept = numbers_at(n, p), port_at(n, p), 6 + n + p * _port_room(n)
            shape = kept + KEPT
            stiffening.write_shape(block, p, alone, shape)
            at = modal_ports.pose_of(modes, o, stiffening.displacement_of(block, o + modal_ports.SHAPE, alone, shape))
            rate, second = wide_times(alone, shape, n, block.v), wide_times(alone, shape, n, block.a)
            second = plus(second, stiffening.curvature_of(block, p, by_v))
            speed, gained = modal_ports.port_motion(modes, o, at, rate, second, block.twist, block.acceleration)
            keep_port(block.law, target, at, speed, gained, alone, kept)
    return layout.OK


def inward(block):
    alone, stride = row_at(block.room, room_of(block.n, block.ports, block.numbers)), _port_room(block.n)
    press_inwards(block, alone, stride, alone, 6 + block.n + KEPT, stride)
    return layout.OK


def slopes(block):
    n, modes, q, result = block.n, block.numbers, block.q, block.slopes
    group, own = stiffening.group_at(block, 0), stiffening.own_row(block)
    f, taken, change = np.empty((1, few.FEW), q.dtype), np.empty((1, few.TAKEN), q.dtype), np.empty((1, few.FEW), q.dtype)
    by_q, by_v = np.empty((1, stiffening.TABLE * n), q.dtype), np.empty((1, stiffening.TABLE * n), q.dtype)
    by_a, small = np.empty((1, stiffening.TABLE * n), q.dtype), np.empty((1, _CHANGES + _WEIGHTS * n), q.dtype)
    clear(result, 0, slopes_size(n, block.ports))
    stiffening.write_table(modes, group, own + 6, own + 6, n, q, by_q, 0)
    stiffening.write_table(modes, group, own + 6, own + 6, n, block.v, by_v, 0)
    stiffening.write_table(modes, group, own + 6, own, n, block.a, by_a, 0)
    stiffening.write_few(block, block.a, block.acceleration, by_q, by_v, f)
    few.take_alone(modes, stiffening.inverse_at(block), f, taken)
    _add_changes(block, f, taken, by_q, by_v, by_a, change, small)
    _add_turns(block, f, taken, by_q, by_v, small)
    _add_curvature(block, taken)
    if block.passive:
        add_passive_slopes(modes, mass_at(n) + n * n, n, result)
    stiffening.write_inertia(block, by_q, f, small)
    for p in range(block.ports):
        if is_used(block.used, p):
            _add_port(block, p, by_q, by_v, by_a, small)
    return layout.OK


@helper
def _add_changes(block, f, taken, by_q, by_v, by_a, change, room):
    """Add the changes of the few numbers with the coordinates and their rates, the tables held.

    The row `change` is room for those numbers, `room` for what the body takes and, behind, for what turns into efforts.
    """
    modes, n, slopes = block.numbers, block.n, block.slopes
    for k in range(2):
        begin = k * by_rate_at(n)
        for j in range(n):
            clear(change, 0, few.FEW)
            if k == 0:
                _step_coordinate(block, j, by_q, by_v, by_a, change)
            else:
                _step_rate(block, j, by_q, by_v, change)
            few.take_change(modes, stiffening.inverse_at(block), f, taken, change, room)
            put_column(slopes, begin, n, j, six(room, 0, few.WRENCH))
            for r in range(_WEIGHTS):  # the moments' first three rows take no part
                at = few.BY_FIRST + r if r < 6 else few.BY_MOMENTS + r - 9
                room[0, _CHANGES + r * n + j] = 0.0 if 6 <= r < 9 else room[0, at]
        halves, moments = stiffening.halves_of(block), stiffening.moments_at(block)
        for i in range(n):
            row = begin + (6 + i) * n
            add_rows(slopes, row, column_of(modes, PARTICIPATION, n, i), room, _CHANGES, n, n)
            for half in range(halves):
                first, second = _CHANGES + (6 + 6 * half) * n, _CHANGES + (18 + 6 * half) * n
                add_rows(slopes, row, column_of(modes, moments + 6 * half * n, n, i), room, first, n, n)
                bent = column_of(by_q, (stiffening.SHORTENING + 6 * half) * n, n, i)
                add_rows(slopes, row, scaled(-1.0, bent), room, second, n, n)


@helper
def _add_turns(block, f, taken, by_q, by_v, changed):
    """Add the changes with the twist; the row `changed` is room for it."""
    n = block.n
    for j in range(6):
        few.take_turn(block.numbers, stiffening.inverse_at(block), f, taken, unit(j), changed)
        put_column(block.slopes, by_twist_at(n), 6, j, six(changed, 0, few.WRENCH))
        clear(changed, few.TAKEN, n)
        stiffening.add_taken(block, by_q, changed, changed, few.TAKEN)
        if j >= 3:
            add_scaled(changed, few.TAKEN, 2.0, by_v, (stiffening.STIRRING + j - 3) * n, n)
        for i in range(n):
            block.slopes[0, by_twist_at(n) + (6 + i) * 6 + j] = changed[0, few.TAKEN + i]


@helper
def _step_coordinate(block, j, by_q, by_v, by_a, f):
    """Add the change of the few numbers with the j-th coordinate."""
    n, moments, own = block.n, stiffening.moments_at(block), stiffening.own_row(block)
    for k in range(3):
        f[0, few.STIRRED + k] -= by_v[0, (stiffening.STIRRING + k) * n + j]
        f[0, few.STIRRED_RATE + k] -= by_a[0, (stiffening.STIRRING + k) * n + j]
    for k in range(own - stiffening.SHORTENING):
        row = (stiffening.SHORTENING + k) * n + j
        f[0, few.M1 + k] += block.numbers[0, moments + k * n + j]
        f[0, few.M2 + k] -= by_q[0, row]
        f[0, few.M2_RATE + k] -= by_v[0, row]
        f[0, few.M2_SECOND + k] -= by_a[0, row]
    for k in range(6):
        f[0, few.PRODUCTS + k] += 2.0 * by_q[0, (own + k) * n + j]
        f[0, few.PRODUCTS_RATE + k] += 2.0 * by_v[0, (own + k) * n + j]


@helper
def _step_rate(block, j, by_q, by_v, f):
    """Add the change of the few numbers with the j-th rate."""
    n, moments, own = block.n, stiffening.moments_at(block), stiffening.own_row(block)
    for k in range(3):
        f[0, few.SPUN_RATE + k] += block.numbers[0, PARTICIPATION + (3 + k) * n + j]
        f[0, few.STIRRED + k] += by_q[0, (stiffening.STIRRING + k) * n + j]
    for k in range(own - stiffening.SHORTENING):
        row = (stiffening.SHORTENING + k) * n + j
        f[0, few.M1_RATE + k] += block.numbers[0, moments + k * n + j]
        f[0, few.M2_RATE + k] -= by_q[0, row]
        f[0, few.M2_SECOND + k] -= 2.0 * by_v[0, row]
    for k in range(6):
        f[0, few.PRODUCTS_RATE + k] += 2.0 * by_q[0, (own + k) * n + j]


@helper
def _add_curvature(block, taken):
    """Add the changes of the tables with the coordinates and their rates, what they are multiplied by held."""
    modes, n, slopes, by_q, by_v = block.numbers, block.n, block.slopes, 6 * block.n, by_rate_at(block.n) + 6 * block.n
    group, own = stiffening.group_at(block, 0), stiffening.own_row(block)
    for k in range(own - stiffening.SHORTENING):
        _add_matrix(-taken[0, few.BY_SECOND + k], modes, group, own + 6, stiffening.SHORTENING + k, n, slopes, by_q)
    for k in range(6):
        _add_matrix(taken[0, few.BY_PRODUCTS + k], modes, group, own + 6, own + k, n, slopes, by_q)
    for k in range(3):  # antisymmetric: rows for columns is a change of sign
        _add_matrix(-entry_of(block.acceleration, 3 + k), modes, group, own + 6, stiffening.STIRRING + k, n, slopes, by_q)
        _add_matrix(-2.0 * entry_of(block.twist, 3 + k), modes, group, own + 6, stiffening.STIRRING + k, n, slopes, by_v)


@helper
def _add_matrix(weight, modes, group, matrices, k, n, t, o):
    """Add the k-th of a group's `matrices` times its weight to that at ``t[0, o]``."""
    kept = int(modes[0, group + 2 + k])
    if kept >= 0:
        stride, first = int(modes[0, group]) * n, group + 2 + matrices + kept * n
        for r in range(n):
            add_scaled(t, o + r * n, weight, modes, first + r * stride, n)


@helper
def _add_port(block, p, shape, by_v, by_a, small):
    """Write X, Y and Z of a port and its S, and add how its wrench changes W_P and tau along q.

    The tables are used up: `shape` for ``Phi - H q``, the others for ``-H v`` and ``-H a``.
    """
    modes, n, v, law, slopes = block.numbers, block.n, block.v, block.law, block.slopes
    o, target, group = numbers_at(n, p), port_at(n, p), stiffening.group_at(block, 1 + p)
    stiffening.write_shape(block, p, shape, 0)
    moving, rates = stiffening.displacement_of(block, o + modal_ports.SHAPE, shape, 0), wide_times(shape, 0, n, v)
    second = plus(wide_times(shape, 0, n, block.a), stiffening.curvature_of(block, p, by_v))
    for x_of, table in ((v, by_v), (block.a, by_a)):
        stiffening.write_table(modes, group, 6, 6, n, x_of, table, 0)
        for k in range(6 * n):
            table[0, k] = -table[0, k]
    modal_ports.write_subspace(modes, o, n, modal_ports.pose_of(modes, o, moving), shape, 0, law, target + layout.PORT_S)
    speed, wrench = six(law, 0, target + layout.PORT_TWIST), six(law, 0, target + layout.PORT_WRENCH)
    motion = moving, rates, second
    modal_ports.write_port_slopes(modes, o, motion, block.twist, block.acceleration, speed, wrench, small)
    by_place, by_speed = columns_at(n, p), columns_at(n, p) + 6 * n
    by_rate = columns_at(n, p) + 12 * n
    add_through(small, modal_ports.TWIST_BY_PLACE, shape, 0, n, slopes, by_place)
    add_through(small, modal_ports.TWIST_BY_SPEED, by_v, 0, n, slopes, by_place)
    add_through(small, modal_ports.RATE_BY_PLACE, shape, 0, n, slopes, by_speed)
    add_through(small, modal_ports.RATE_BY_SPEED, by_v, 0, n, slopes, by_speed)
    add_through(small, modal_ports.TWIST_BY_SPEED, by_a, 0, n, slopes, by_speed)
    add_through(small, modal_ports.RATE_BY_SPEED, shape, 0, n, slopes, by_rate)
    for _ in range(2):
        add_through(small, modal_ports.TWIST_BY_SPEED, by_v, 0, n, slopes, by_rate)
    add_through(small, modal_ports.CARRIED_BY_PLACE, shape, 0, n, slopes, 0)
    add_between(small, modal_ports.PULLED_BY_PLACE, modal_ports.PORT_SLOPES, shape, 0, n, slopes, 6 * n)
    pulled = modal_ports.pull_back(modes, o, modal_ports.pose_of(modes, o, moving), wrench)
    for k in range(6):
        _add_matrix(-entry_of(pulled, k), modes, group, 6, k, n, slopes, 6 * n)


LAW = CompiledLaw("stiffening", terms=terms, outward=outward, inward=inward, slopes=slopes, energy=energy, room=room_of)
