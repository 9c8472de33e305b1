"""Interactions in the passes: the motion of their targets goes to their stages, what these answer acts on the blocks.

Both stand in the interaction's part of ``law`` (see `layout`). A state of the system is ``[q, v, x]``, x those of the first
order of all interactions, one after the other: within steps they are told to the laws, which say how they change. Features,
which systems without interactions or such states do not wait for; entries that are NaN tell that one could not be compiled, for
which the reason waits for `callbacks.raise_pending`.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import select
from titop.blocks.basics.tolerances import FEW_ROUNDINGS
from titop.blocks.laws.vectors import product, times, transposed
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import Tables, bias_at
from titop.solvers.kernels.interface.stages import (
    address_of,
    address_or_zero,
    call_interaction,
    floats_at,
    given,
    ints_at,
    lane_count,
    place_of,
    row_at,
    value_of,
    vector_at,
)
from titop.solvers.kernels.ports.port_motion import port_pose, twist_of_port
from titop.solvers.kernels.spatial.algebra import carry_wrench, dot, put_six, six
from titop.solvers.kernels.tree.general import subspace_column
from titop.solvers.native.kernel import feature, helper
from titop.solvers.native.signatures import INTEGER, STATE_AT, TABLE_AT


@helper
def write_interactions(tables, state, work, world):
    """Let every interaction write what it does; return a status. `world` holds the poses of all elements."""
    if tables.ints[0, layout.INTERACTIONS] == 0:
        return layout.OK
    return _ask(tables, state, work, world, layout.ACT)


@helper
def stored_energy(tables, state, work, world):
    """Return the energy stored in interactions, and that of a field's gravity (J); what they do is used up.

    Both are not a number where one fails.
    """
    ints, row, energy, gravity = tables.ints, tables.ints[0, layout.FIRST_INTERACTION], 0.0, 0.0
    if ints[0, layout.INTERACTIONS] > 0:
        if _ask(tables, state, work, world, layout.STORED) != layout.OK:
            return np.nan, np.nan
    for k in range(ints[0, layout.INTERACTIONS]):
        stored = tables.law[0, loads_of(ints, row)]
        weighs = k >= ints[0, layout.INTERACTIONS] - ints[0, layout.WEIGHING]
        energy, gravity = energy + (0.0 if weighs else stored), gravity + (stored if weighs else 0.0)
        row = next_interaction(ints, row)
    return energy, gravity


@helper
def _ask(tables, state, work, world, stage):
    floats, numbers, stages = tables.floats, tables.numbers, tables.stages
    told, of_stages = (*given(tables.ints, tables.law, work), address_of(floats, 0)), (address_of(stages, 0), stages.shape[0])
    states = address_of(state.q, 0), address_of(state.v, 0), address_of(world, 0), stage
    if lane_count(floats) > lane_count(numbers):
        return interactions_under_loads((*told, place_of(numbers), numbers.shape[1], *of_stages, *states))
    return interactions_asked((*told, address_of(numbers, 0), numbers.shape[1], *of_stages, *states))


@feature(*[INTEGER] * 2, *[STATE_AT] * 2, INTEGER, *[TABLE_AT] * 2, *[INTEGER] * 3, *[STATE_AT] * 3, INTEGER)
def interactions_asked(ints, rows, law, work, columns, floats, numbers, number_count, stages, kinds, q, v, world, stage):
    """Let a stage of every interaction write what it does, or its energy."""
    return _ask_each((ints, rows), law, (work, columns), floats, (numbers, number_count), (stages, kinds), (q, v, world), stage)


@feature(*[INTEGER] * 2, *[STATE_AT] * 2, INTEGER, STATE_AT, *[INTEGER] * 4, *[STATE_AT] * 3, INTEGER)
def interactions_under_loads(ints, rows, law, work, columns, floats, numbers, number_count, stages, kinds, q, v, world, stage):
    """`interactions_asked` of states that have loads, and so bodies, of their own, but not laws."""
    return _ask_each((ints, rows), law, (work, columns), floats, (numbers, number_count), (stages, kinds), (q, v, world), stage)


@helper
def _ask_each(ints, law, work, floats, numbers, stages, state, stage):
    table = ints_at(*ints, layout.INT_COLUMNS)
    count, record = table[0, layout.ELEMENTS], row_at(law, table[0, layout.LAW_SIZE])
    q, v = vector_at(state[0], table[0, layout.NQ]), vector_at(state[1], table[0, layout.NV])
    bodies, moving = floats_at(floats, ints[1], layout.FLOAT_COLUMNS), floats_at(work[0], count, work[1])
    poses = floats_at(state[2], count, 12)
    told, row, driven = row_at(*numbers), table[0, layout.FIRST_INTERACTION], 0
    tables = Tables(table, bodies, told, ints_at(*stages, layout.STAGE_COLUMNS), record)
    for _ in range(table[0, layout.INTERACTIONS]):
        _write_motion(table, bodies, record, q, v, moving, poses, row)
        _write_inputs(table, bodies, told, record, row, driven)
        status = call_interaction(tables, row, stage, address_of(record, loads_of(table, row)))
        if status != layout.OK:
            return status
        driven += table[row, layout.ACT_INPUTS]
        row = next_interaction(table, row)
    return layout.OK


@helper
def next_interaction(ints, row):
    """Return the row of the interaction after that at `row`."""
    return row + 1 + ints[row, layout.ACT_PORTS] + ints[row, layout.ACT_COORDINATES]


@helper
def loads_of(ints, row):
    """Return where the interaction at `row` writes what it does."""
    motion = layout.MOTION_SIZE * ints[row, layout.ACT_PORTS] + 2 * ints[row, layout.ACT_COORDINATES]
    return ints[row, layout.LAW] + motion + ints[row, layout.ACT_INPUTS]


@helper
def _write_inputs(ints, floats, numbers, law, row, driven):
    """Write an interaction's inputs behind its targets' motion: its numbers, or a state's own, from the place `driven` on."""
    count, own = ints[row, layout.ACT_INPUTS], ints[0, layout.OWN_INPUTS]
    o, first = loads_of(ints, row) - count, ints[row, layout.NUMBERS] + ints[row, layout.NUMBER_COUNT] - count
    for j in range(count):
        if own > 0:
            law[0, o + j] = floats[own + (driven + j) // 6, layout.FORCE + (driven + j) % 6]
        else:
            law[0, o + j] = numbers[0, first + j]


@helper
def _write_motion(ints, floats, law, q, v, work, world, row):
    begin, first = ints[row, layout.LAW], row + 1
    o, ports, coordinates = begin, ints[row, layout.ACT_PORTS], ints[row, layout.ACT_COORDINATES]
    if ports > 0:
        rotation, origin = port_pose(ints, floats, law, world, first)
        back = transposed(rotation)
        for k in range(ports):
            turn, p = port_pose(ints, floats, law, world, first + k)
            turn, r = product(back, turn), times(back, (p[0] - origin[0], p[1] - origin[1], p[2] - origin[2]))
            rounding = FEW_ROUNDINGS * (_size(p) + _size(origin) + floats[0, layout.REACH])
            r = _placed(law, begin + 9, k, r, rounding)
            for j in range(9):
                law[0, o + j] = turn[j]
            for j in range(3):
                law[0, o + 9 + j] = r[j]
            put_six(law, 0, o + layout.MOVING, twist_of_port(ints, floats, law, work, first + k, v))
            o += layout.MOTION_SIZE
    for k in range(coordinates):
        law[0, o + k] = q[ints[first + ports + k, layout.Q]]
        law[0, o + coordinates + k] = v[ints[first + ports + k, layout.V]]


@helper
def _size(x):
    return abs(x[0]) + abs(x[1]) + abs(x[2])


@helper
def _placed(law, o, count, r, rounding):
    """Return the place r, or the last of `count` places before that is no further away than `rounding`."""
    x, y, z = value_of(r[0]), value_of(r[1]), value_of(r[2])
    a, b, c = x, y, z
    for k in range(count):
        at = o + layout.MOTION_SIZE * k
        before = value_of(law[0, at]), value_of(law[0, at + 1]), value_of(law[0, at + 2])
        near = _size((before[0] - a, before[1] - b, before[2] - c)) <= rounding
        x, y, z = select(near, before[0], x), select(near, before[1], y), select(near, before[2], z)
    return x + (r[0] - a), y + (r[1] - b), z + (r[2] - c)


@helper
def apply_interactions(ints, floats, law, work, general):
    """Subtract the interactions' wrenches from the laws of general blocks, or else from the biases of rigid bodies."""
    if ints[0, layout.INTERACTIONS] > 0:
        if interaction_application((*given(ints, law, work), address_of(floats, 0), general)) != layout.OK:
            law[:] = np.nan
            work[:] = np.nan


@feature(INTEGER, INTEGER, STATE_AT, STATE_AT, INTEGER, TABLE_AT, INTEGER)
def interaction_application(ints, rows, law, work, columns, floats, general):
    """See `apply_interactions`."""
    table = ints_at(ints, rows, layout.INT_COLUMNS)
    record, moving = row_at(law, table[0, layout.LAW_SIZE]), floats_at(work, table[0, layout.ELEMENTS], columns)
    bodies, row = floats_at(floats, rows, layout.FLOAT_COLUMNS), table[0, layout.FIRST_INTERACTION]
    for _ in range(table[0, layout.INTERACTIONS]):
        o = loads_of(table, row)
        for k in range(table[row, layout.ACT_PORTS]):
            wrench = six(record, 0, o + 6 * k)
            subtract_at_port(table, bodies, record, moving, row + 1 + k, wrench, general != 0)
        row = next_interaction(table, row)
    return layout.OK


@helper
def add_interaction_efforts(ints, law, tau, sign):
    """Add the interactions' efforts on coordinates to `tau`, or with the other `sign` subtract them."""
    row = ints[0, layout.FIRST_INTERACTION]
    for _ in range(ints[0, layout.INTERACTIONS]):
        ports = ints[row, layout.ACT_PORTS]
        o = loads_of(ints, row) + 6 * ports
        for k in range(ints[row, layout.ACT_COORDINATES]):
            tau[ints[row + 1 + ports + k, layout.V]] += sign * law[0, o + k]
        row = next_interaction(ints, row)


@helper
def subtract_at_port(ints, floats, law, work, row, wrench, general):
    """Subtract a wrench on the port at `row` from its block's law or bias, if the block is general as asked."""
    i = ints[row, layout.ELEMENT]
    if i == 0 or (ints[i, layout.LAW] >= 0) != general:
        return
    if general:
        h = ints[i, layout.LAW] + bias_at(ints[i, layout.OWN])
        if ints[row, layout.PORT] >= 0:
            for j in range(ints[i, layout.OWN]):
                law[0, h + 6 + j] -= dot(subspace_column(ints, law, row, i, j), wrench)
            wrench = carry_wrench(law, 0, ints[row, layout.PORT], wrench)
        for k in range(6):
            law[0, h + k] -= wrench[k]
        return
    wrench = carry_wrench(floats, row, layout.R, wrench)
    for k in range(6):
        work[i, layout.BIAS + k] -= wrench[k]


# -- states of the first order


@helper
def take_own_states(ints, numbers, state):
    """Write the interactions' states in a `state` of the system among their numbers; return a status."""
    if ints[0, layout.STATES] == 0:
        return layout.OK
    where = address_of(state, ints[0, layout.NQ] + ints[0, layout.NV])
    return own_states_taken((address_of(ints, 0), ints.shape[0], address_of(numbers, 0), numbers.shape[1], where))


@feature(*[INTEGER] * 5)
def own_states_taken(ints, rows, numbers, count, states):
    """See `take_own_states`."""
    table, told = ints_at(ints, rows, layout.INT_COLUMNS), row_at(numbers, count)
    x, row, k = vector_at(states, table[0, layout.STATES]), table[0, layout.FIRST_INTERACTION], 0
    for _ in range(table[0, layout.INTERACTIONS]):
        first = table[row, layout.NUMBERS] + table[row, layout.NUMBER_COUNT] - table[row, layout.ACT_STATES]
        for j in range(table[row, layout.ACT_STATES]):
            told[0, first + j] = x[k]
            k += 1
        row = next_interaction(table, row)
    return layout.OK


@helper
def write_own_rates(ints, numbers, stages, law, rate):
    """Write how the interactions' states change into the `rate` of a state of the system, the motion of their targets in `law`.

    Return a status.
    """
    if ints[0, layout.STATES] == 0:
        return layout.OK
    told = address_of(ints, 0), ints.shape[0], address_or_zero(law), address_of(numbers, 0), numbers.shape[1]
    where = address_of(rate, ints[0, layout.NQ] + ints[0, layout.NV])
    return own_rates_written((*told, address_of(stages, 0), stages.shape[0], where))


@feature(*[INTEGER] * 8)
def own_rates_written(ints, rows, law, numbers, count, stages, kinds, rates):
    """See `write_own_rates`."""
    table, told = ints_at(ints, rows, layout.INT_COLUMNS), row_at(numbers, count)
    record, addresses = row_at(law, table[0, layout.LAW_SIZE]), ints_at(stages, kinds, layout.STAGE_COLUMNS)
    tables, dx = Tables(table, None, told, addresses, record), vector_at(rates, table[0, layout.STATES])
    row, k = table[0, layout.FIRST_INTERACTION], 0
    for _ in range(table[0, layout.INTERACTIONS]):
        if table[row, layout.ACT_STATES] > 0:
            status = call_interaction(tables, row, layout.RATES, address_of(dx, k))
            if status != layout.OK:
                return status
            k += table[row, layout.ACT_STATES]
        row = next_interaction(table, row)
    return layout.OK
