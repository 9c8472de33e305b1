"""Springs, dampers, friction and stops of joints: features, which systems without them do not wait for.

An entry that is NaN tells that a feature could not be compiled; the reason waits for `callbacks.raise_pending`.
"""

from __future__ import annotations

import math

import numpy as np

from titop.blocks.basics.choices import everywhere, select
from titop.blocks.laws.impact import HERTZ, impact_energy, impact_push
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, floats_at, ints_at, vector_at
from titop.solvers.kernels.spatial.algebra import entry_of
from titop.solvers.kernels.tree.armatures import add_armature_gyroscopic, add_armature_slopes
from titop.solvers.kernels.tree.elastic_efforts import displacement, pull_of, pull_slopes, stiffness_times
from titop.solvers.native.kernel import feature, helper
from titop.solvers.native.signatures import INTEGER, STATE_AT, TABLE_AT

#: What is asked for of the derivatives.
_WHOLE, _ALONG, _TRANSPOSED = 0, 1, 2


@helper
def _given(ints, floats, q, v):
    """Return addresses and lengths of what features begin with."""
    return address_of(ints, 0), ints.shape[0], address_of(floats, 0), address_of(q, 0), q.size, address_of(v, 0), v.size


@helper
def add_springs(ints, floats, q, v, tau):
    """Add what springs, dampers, friction and stops do to `tau`."""
    if spring_efforts((*_given(ints, floats, q, v), address_of(tau, 0))) != layout.OK:
        tau[0] = np.nan


@helper
def subtract_spring_slopes(ints, floats, q, v, dq, dv):
    """Subtract the derivatives of springs, dampers, friction and stops."""
    if spring_slopes((*_given(ints, floats, q, v), _WHOLE, address_of(dq, 0), address_of(dv, 0), 0)) != layout.OK:
        dq[0, 0] = np.nan


@helper
def subtract_spring_changes(ints, floats, q, v, dq, dv, change):
    """Subtract these derivatives times changes dq and dv from `change`."""
    directions = address_of(dq, 0), address_of(dv, 0)
    if spring_slopes((*_given(ints, floats, q, v), _ALONG, *directions, address_of(change, 0))) != layout.OK:
        change[0] = np.nan


@helper
def subtract_spring_pulls(ints, floats, q, v, dual, by_q, by_v):
    """Subtract these derivatives, transposed, times `dual` from `by_q` and `by_v`."""
    pulls = address_of(by_q, 0), address_of(by_v, 0)
    if spring_slopes((*_given(ints, floats, q, v), _TRANSPOSED, *pulls, address_of(dual, 0))) != layout.OK:
        by_q[0] = np.nan


@helper
def add_elastic_energy(ints, floats, q, energy):
    """Add the energy of all springs and stops (J) to ``energy[0]``."""
    if ints[0, layout.SPRINGS] > 0:
        if spring_energy((*_given(ints, floats, q, q), address_of(energy, 0))) != layout.OK:
            energy[0] = np.nan


@feature(INTEGER, INTEGER, TABLE_AT, STATE_AT, INTEGER, STATE_AT, INTEGER, STATE_AT)
def spring_efforts(ints, rows, floats, q, nq, v, nv, tau):
    """Add ``-J^T K delta - D v``, dry friction and stops of every spring to `tau`."""
    table, numbers = ints_at(ints, rows, layout.INT_COLUMNS), floats_at(floats, rows, layout.FLOAT_COLUMNS)
    position, rate, efforts, row = vector_at(q, nq), vector_at(v, nv), vector_at(tau, nv), table[0, layout.ELEMENTS]
    for _ in range(table[0, layout.SPRINGS]):
        n, k = table[row, layout.SIZE], table[row, layout.V]
        pull = pull_of(table, numbers, row, displacement(table, numbers, row, position))
        for i in range(n):
            efforts[k + i] -= entry_of(pull, i)
            for j in range(n):
                efforts[k + i] -= numbers[row + i, layout.DAMPING + j] * rate[k + j]
            efforts[k + i] -= _friction(numbers, row + i, rate[k + i])
            efforts[k + i] -= stop_load(numbers, row + i, position[table[row, layout.Q] + i], rate[k + i])
        row += n
    return layout.OK


@feature(INTEGER, INTEGER, TABLE_AT, STATE_AT, INTEGER, STATE_AT, INTEGER, INTEGER, STATE_AT, STATE_AT, STATE_AT)
def spring_slopes(ints, rows, floats, q, nq, v, nv, what, by_q, by_v, vector):
    """Subtract the derivatives from `by_q` and `by_v`; times these, from `vector`; or transposed, times that, from these."""
    table, numbers = ints_at(ints, rows, layout.INT_COLUMNS), floats_at(floats, rows, layout.FLOAT_COLUMNS)
    position, rate, one, two = vector_at(q, nq), vector_at(v, nv), vector_at(by_q, nv), vector_at(by_v, nv)
    whole_q, whole_v, other = floats_at(by_q, nv, nv), floats_at(by_v, nv, nv), vector_at(vector, nv)
    row = table[0, layout.ELEMENTS]
    for _ in range(table[0, layout.SPRINGS]):
        n, k, delta = table[row, layout.SIZE], table[row, layout.V], displacement(table, numbers, row, position)
        for j in range(n):
            column = pull_slopes(table, numbers, row, delta, j)
            for i in range(n):
                by_position, by_rate = _slopes(table, numbers, row, i, j, column, position, rate)
                if what == _WHOLE:
                    whole_q[k + i, k + j] += by_position
                    whole_v[k + i, k + j] += by_rate
                elif what == _ALONG:
                    other[k + i] += by_position * one[k + j] + by_rate * two[k + j]
                else:
                    one[k + j] += by_position * other[k + i]
                    two[k + j] += by_rate * other[k + i]
        row += n
    return layout.OK


@feature(INTEGER, INTEGER, TABLE_AT, STATE_AT, INTEGER, STATE_AT, INTEGER, STATE_AT)
def spring_energy(ints, rows, floats, q, nq, _v, _nv, energy):
    """See `add_elastic_energy`."""
    table, numbers = ints_at(ints, rows, layout.INT_COLUMNS), floats_at(floats, rows, layout.FLOAT_COLUMNS)
    position, total, row = vector_at(q, nq), 0.0, table[0, layout.ELEMENTS]
    for _ in range(table[0, layout.SPRINGS]):
        n, delta = table[row, layout.SIZE], displacement(table, numbers, row, position)
        for i in range(n):
            total += 0.5 * entry_of(delta, i) * stiffness_times(numbers, row, i, n, delta)
            total += stop_energy(numbers, row + i, position[table[row, layout.Q] + i])
        row += n
    vector_at(energy, 1)[0] += total
    return layout.OK


@helper
def _friction(floats, row, rate):
    """Return the dry friction against a rate (see `titop.blocks.joints.friction_and_limits`)."""
    coulomb, breakaway = floats[row, layout.FRICTION], floats[row, layout.FRICTION + 1]
    is_none = (coulomb == 0.0) & (breakaway == 0.0)
    if everywhere(is_none):
        return 0.0
    stribeck, smoothing = floats[row, layout.FRICTION + 2], floats[row, layout.FRICTION + 3]
    part = rate / stribeck
    against = (coulomb + (breakaway - coulomb) * math.exp(-(part * part))) * math.tanh(rate / smoothing)
    return select(is_none, 0.0, against)


@helper
def _friction_slope(floats, row, rate):
    """Return the derivative of the dry friction against a rate."""
    coulomb, breakaway = floats[row, layout.FRICTION], floats[row, layout.FRICTION + 1]
    if everywhere((coulomb == 0.0) & (breakaway == 0.0)):
        return 0.0
    stribeck, smoothing = floats[row, layout.FRICTION + 2], floats[row, layout.FRICTION + 3]
    part = rate / stribeck
    peak = (breakaway - coulomb) * math.exp(-(part * part))
    side = math.tanh(rate / smoothing)
    return (coulomb + peak) * (1.0 - side * side) / smoothing - 2.0 * rate / (stribeck * stribeck) * peak * side


@helper
def _slopes(ints, floats, row, i, j, column, q, v):
    """Return minus the derivatives of effort i of the spring at `row` along coordinate j, whose `pull_slopes` are given."""
    by_position, by_rate = entry_of(column, i), floats[row + i, layout.DAMPING + j]
    if i == j:
        stop_by_position, stop_by_rate = stop_slopes(floats, row + i, q[ints[row, layout.Q] + i], v[ints[row, layout.V] + i])
        by_position += stop_by_position
        by_rate += _friction_slope(floats, row + i, v[ints[row, layout.V] + i]) + stop_by_rate
    return by_position, by_rate


# -- stops, as in `titop.blocks.joints.friction_and_limits`; they push as contacts do ---------------------------------------


@helper
def stop_load(floats, row, x, rate):
    """Return the effort with which a coordinate at x presses on its stop."""
    is_none = floats[row, layout.STOP + 2] == 0.0
    if everywhere(is_none):
        return 0.0
    depth, side = _depth(floats, row, x)
    push = side * impact_push(depth, side * rate, floats[row, layout.STOP + 2], floats[row, layout.STOP + 3], HERTZ)
    return select(is_none, 0.0, push)


@helper
def stop_slopes(floats, row, x, rate):
    """Return the derivatives of `stop_load` by position and rate."""
    stiffness, dissipation = floats[row, layout.STOP + 2], floats[row, layout.STOP + 3]
    if everywhere(stiffness == 0.0):
        return 0.0, 0.0
    depth, side = _depth(floats, row, x)
    share, root = 1.0 + dissipation * side * rate, math.sqrt(depth)
    pushes = share > 0.0
    return select(pushes, 1.5 * stiffness * root * share, 0.0), select(pushes, stiffness * depth * root * dissipation, 0.0)


@helper
def stop_energy(floats, row, x):
    """Return the energy of a coordinate's stop (J)."""
    stiffness = floats[row, layout.STOP + 2]
    return impact_energy(_depth(floats, row, x)[0], stiffness, HERTZ) if stiffness > 0.0 else 0.0


@helper
def _depth(floats, row, x):
    """Return how deep x is in its stop, and on which side this stands: -1 below, 1 above."""
    lower, upper = floats[row, layout.STOP], floats[row, layout.STOP + 1]
    is_below = x < lower
    return select(is_below, lower - x, max(x - upper, 0.0)), select(is_below, -1.0, 1.0)


@helper
def add_passive_efforts(ints, floats, q, v, tau):
    """Add springs, dampers, stops and armatures' gyroscopic efforts to `tau`."""
    if ints[0, layout.SPRINGS] > 0:
        add_springs(ints, floats, q, v, tau)
    if ints[0, layout.MULTIS] > 0:
        add_armature_gyroscopic(ints, floats, v, tau)


@helper
def subtract_passive_derivatives(ints, floats, q, v, dq, dv):
    """Subtract the derivatives of these from `dq` and `dv` (nv x nv)."""
    if ints[0, layout.SPRINGS] > 0:
        subtract_spring_slopes(ints, floats, q, v, dq, dv)
    add_armature_slopes(ints, floats, v, dv)
