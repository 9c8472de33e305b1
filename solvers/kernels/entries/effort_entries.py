"""Entry points of what acts along the coordinates at a state; as in `dynamics_entries`, each returns a status."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import nowhere, select
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.whole_passes import moving_rooms, outward_whole, sizes_fit, status_of, status_of_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import State, Tables, bias_at
from titop.solvers.kernels.interface.stages import address_of, call_block, call_interaction
from titop.solvers.kernels.ports.interactions import next_interaction, write_interactions
from titop.solvers.kernels.ports.loads import answer_at, load_at_port, push_by_interaction, push_by_surroundings, push_port
from titop.solvers.kernels.tree.joints import units_hold
from titop.solvers.kernels.tree.kinematics import outward_twists, world_poses
from titop.solvers.kernels.tree.springs import add_springs
from titop.solvers.native.kernel import helper, shared
from titop.solvers.native.signatures import FLOATS, INTS, RESULT, RESULT_ROWS, STATE

#: Whether the system has general blocks or interactions: see `pair.Pair`.
LAWS = True


@helper
def _add_law(tables, i, state, work, sign, efforts):
    """Add the own efforts that block i's law asks for with its parent port at rest, times `sign`; return a status."""
    ints = tables.ints
    for k in range(6):
        work[i, layout.TWIST + k] = 0.0
    status = call_block(tables, None, i, state, None, work, layout.UNKNOWN, layout.TERMS)
    for j in range(ints[i, layout.OWN]):
        efforts[ints[i, layout.OWN_V] + j] += sign * tables.law[0, ints[i, layout.LAW] + bias_at(ints[i, layout.OWN]) + 6 + j]
    return status


@shared
def _act(tables, acting, state, work, world, result):
    """Add what a unit of each input of interactions changes of what these do; return a status."""
    ints, floats, law = tables.ints, tables.floats, tables.law
    status = write_interactions(tables, state, work, world)
    for k in range(acting.shape[0]):
        law[0, _input_at(ints, acting, k)] = 0.0
    for k in range(acting.shape[0]):
        row, at = acting[k, 0], _input_at(ints, acting, k)
        o, size = answer_at(ints, row)
        if status == layout.OK:
            status = call_interaction(tables, row, layout.ACT, address_of(law, o))
        without = np.empty((1, size), state.q.dtype)
        for j in range(size):
            without[0, j] = law[0, o + j]
        law[0, at] = power = power_above(without)
        if status == layout.OK:
            status = call_interaction(tables, row, layout.ACT, address_of(law, o))
        if status != layout.OK:
            return status
        for j in range(size):
            without[0, j] = (law[0, o + j] - without[0, j]) / power
        law[0, at] = 0.0
        push_by_interaction(ints, floats, law, work, row, without, np.int64(0), result[acting[k, 2]])
    return status


@helper
def _input_at(ints, acting, k):
    """Return where an input among those `acting` stands in ``law``."""
    row = acting[k, 0]
    return answer_at(ints, row)[0] + acting[k, 1] - ints[row, layout.NUMBERS] - ints[row, layout.NUMBER_COUNT]


@helper
def power_above(row):
    """Return the least power of two, 1 or more, above all numbers of a row (1, n).

    Inputs act linearly: taken so large they are not lost beside what acts without them, and nothing more is rounded.
    """
    largest = 0.0 * row[0, 0]
    power = largest + 1.0
    for j in range(row.shape[1]):
        largest = max(largest, abs(row[0, j]))
    while not nowhere((power <= largest) & (largest < np.inf)):
        power = select((power <= largest) & (largest < np.inf), 2.0 * power, power)
    return power


@pair(INTS, FLOATS, FLOATS, INTS, INTS, INTS, STATE, STATE, RESULT)
def passive_efforts(ints, floats, numbers, stages, bare, asked, q, v, efforts):
    """The efforts of springs, dampers, stops, interactions, of what surrounds blocks, and of the laws of some.

    `asked` (1 x count) lists the elements of the blocks whose laws tell their elasticity and damping; `bare` is a table in
    which these do not act.
    """
    if not sizes_fit(ints, q, v, v, efforts):
        return layout.WRONG_SIZE
    status = min(status_of(q), status_of(v))
    if status == layout.OK:
        status = units_hold(ints, q)
    if status != layout.OK:
        return status
    efforts[:] = 0.0
    if ints[0, layout.SPRINGS] > 0:
        add_springs(ints, floats, q, v, efforts)
    if LAWS:
        law, state = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype), State(q, v)
        work, world = moving_rooms(ints, layout.INVERSE_COLUMNS, q)
        status = outward_whole(Tables(ints, floats, numbers, stages, law), state, work, world)
        if status != layout.OK:
            return status
        row = ints[0, layout.FIRST_INTERACTION]
        for _ in range(ints[0, layout.INTERACTIONS]):
            push_by_interaction(ints, floats, law, work, row, law, answer_at(ints, row)[0], efforts)
            row = next_interaction(ints, row)
        if ints[0, layout.APPLYING] > 0:
            for i in range(1, ints[0, layout.ELEMENTS]):
                if ints[i, layout.APPLIED] >= 0:
                    push_by_surroundings(ints, floats, law, work, i, efforts)
        for k in range(asked.shape[1]):
            i = asked[0, k]
            for sign in range(-1, 2, 2):
                tables = Tables(ints if sign < 0 else bare, floats, numbers, stages, law)
                status = _add_law(tables, i, state, work, 1.0 * sign, efforts)
                if status != layout.OK:
                    return status
    return status_of(efforts)


@pair(INTS, FLOATS, FLOATS, INTS, INTS, INTS, FLOATS, STATE, RESULT_ROWS)
def actuation_rows(ints, floats, numbers, stages, places, acting, motors, q, result):
    """The efforts (nu x nv) a unit of each input: of `motors` (nu x nv), on ports, and of interactions.

    The last loads are those of the inputs on ports, a unit each; `places` (1 x count) says of which inputs. `acting` has a row
    for each input of interactions: its interaction's row, its place in `numbers`, and which input it is.
    """
    if q.size != ints[0, layout.NQ] or result.shape[0] != motors.shape[0] or result.shape[1] != ints[0, layout.NV]:
        return layout.WRONG_SIZE
    if status_of(q) != layout.OK:
        return layout.NOT_FINITE
    law, still = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None, np.zeros(ints[0, layout.NV], q.dtype)
    work, world = moving_rooms(ints, layout.INVERSE_COLUMNS, q)
    tables, state = Tables(ints, floats, numbers, stages, law), State(q, still)
    status = outward_twists(tables, state, work, layout.ONLY_INERTIA)
    if status != layout.OK:
        return status
    world_poses(ints, law, work, world)
    for k in range(motors.shape[0]):
        for j in range(motors.shape[1]):
            result[k, j] = motors[k, j]
    for k in range(places.shape[1]):
        row = ints.shape[0] - places.shape[1] + k
        push_port(ints, floats, law, work, row, load_at_port(ints, floats, law, world, row), result[places[0, k]])
    if LAWS and acting.shape[0] > 0:
        status = _act(tables, acting, state, work, world, result)
        if status != layout.OK:
            return status
    return status_of_rows(result)
