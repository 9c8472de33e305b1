"""Entry points of the states of the first order of interactions: how they change, derivatives, and steps in which they follow.

As in `dynamics_entries`, each returns a status. Inputs and states stand among the `numbers` (`told` here). Whatever systems
have such states have interactions: there is one kernel of each for all, on all tables.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.tolerances import EXACT
from titop.solvers.kernels.derivatives.interaction_derivatives import rows_of, width_of, write_changes
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.linearise import linearise_blocks, sum_rows
from titop.solvers.kernels.equations.whole_passes import (
    moving_rooms,
    outward_moved,
    outward_whole,
    status_of,
    status_of_rows,
    world_rows,
)
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import Rooms, State, Tables
from titop.solvers.kernels.interface.stages import address_of, call_interaction
from titop.solvers.kernels.ports.interactions import loads_of, next_interaction
from titop.solvers.kernels.ports.loads import push_by_interaction
from titop.solvers.kernels.spatial.algebra import copy
from titop.solvers.native.kernel import entry, helper, shared
from titop.solvers.native.signatures import FLOATS, INTS, REAL, RESULT, RESULT_ROWS, STATE, VECTOR

#: Newton's iterations, and after how many of them derivatives are found anew.
ITERATIONS, RENEWED = 30, 3


@pair(INTS, FLOATS, FLOATS, INTS, STATE, STATE, RESULT)
def state_rates(ints, floats, told, codes, q, v, rates):
    """The rates (nx) of all states."""
    tables = Tables(ints, floats, told, codes, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype))
    work, world = moving_rooms(ints, layout.INVERSE_COLUMNS, q)
    status = outward_moved(tables, State(q, v), v, work, world, layout.UNKNOWN)
    k, row = 0, ints[0, layout.FIRST_INTERACTION]
    for _ in range(ints[0, layout.INTERACTIONS]):
        if status == layout.OK and ints[row, layout.ACT_STATES] > 0:
            status = call_interaction(tables, row, layout.RATES, address_of(rates, k))
            k += ints[row, layout.ACT_STATES]
        row = next_interaction(ints, row)
    return status if status != layout.OK else status_of(rates)


@helper
def _largest(ints):
    """Return how much room the derivatives of an interaction with states take at most, and how many states one has."""
    row, size, most = ints[0, layout.FIRST_INTERACTION], 1, 1
    for _ in range(ints[0, layout.INTERACTIONS]):
        count, ports = ints[row, layout.ACT_STATES], ints[row, layout.ACT_PORTS]
        if count > 0:
            wide = max(width_of(ints, row) + rows_of(ints, row), ints[row, layout.ACT_INPUTS])
            size, most = max(size, count * wide + 12 * ports), max(most, count)
        row = next_interaction(ints, row)
    return size, most


@pair(INTS, INTS, FLOATS, FLOATS, INTS, INTS, STATE, STATE, RESULT_ROWS, RESULT_ROWS, RESULT_ROWS)
def state_slopes(bare, ints, floats, told, codes, paths, q, v, by_state, driven, efforts):
    """The derivatives of the rates, and the efforts that states cause.

    `by_state` (2 nx x nv) are those by coordinates, then by their rates; `driven` (nx x any) those by inputs and states of each
    interaction with states, one after the other; `efforts` (nx x nv) the efforts along the coordinates a unit of each state.
    `bare` is a table without anything that acts.
    """
    nv, law = ints[0, layout.NV], np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype)
    work, world = moving_rooms(ints, layout.INVERSE_COLUMNS, q)
    sums = np.empty((sum_rows(ints), layout.SUM_COLUMNS), q.dtype)
    columns = np.empty((paths.shape[1], layout.COLUMN_COLUMNS), q.dtype)
    held = np.empty((1, bare[0, layout.SLOPES_SIZE]), q.dtype)
    still, unread, state, rooms = np.zeros(nv, q.dtype), np.empty(nv, q.dtype), State(q, v), Rooms(work, world, sums, columns)
    tables, alone = Tables(ints, floats, told, codes, law), Tables(bare, floats, told, codes, law)
    status = linearise_blocks(alone, held, state, still, rooms, unread, layout.UNKNOWN)
    if status == layout.OK:
        status = outward_whole(tables, state, work, world)
    if status != layout.OK:
        return status
    sizes = _largest(ints)
    slopes, room = np.empty((1, sizes[0]), q.dtype), np.empty((1, 2 * sizes[1] * nv), q.dtype)
    driven[:], efforts[:] = 0.0, 0.0
    row, k, column = ints[0, layout.FIRST_INTERACTION], 0, 0
    for _ in range(ints[0, layout.INTERACTIONS]):
        count, inputs = ints[row, layout.ACT_STATES], ints[row, layout.ACT_INPUTS]
        if count > 0:
            status = call_interaction(tables, row, layout.RATES_DRIVEN, address_of(slopes, 0))
            for i in range(count):
                for j in range(inputs):
                    driven[k + i, column + j] = slopes[0, i * inputs + j]
            if status == layout.OK:
                status = call_interaction(tables, row, layout.RATES_SLOPES, address_of(slopes, 0))
            if status != layout.OK:
                return status
            width, rows = width_of(ints, row), rows_of(ints, row)
            write_changes(tables, slopes, (0, 0, count, count, count * (width + rows)), paths, sums, columns, row, room)
            for i in range(count):
                for j in range(nv):
                    by_state[k + i, j] = room[0, i * nv + j]
                    by_state[ints[0, layout.STATES] + k + i, j] = room[0, (count + i) * nv + j]
                push_by_interaction(ints, floats, law, work, row, slopes, count * width + i * rows, efforts[k + i])
            k, column = k + count, column + inputs
        row = next_interaction(ints, row)
    return min(min(status_of_rows(by_state), status_of_rows(driven)), status_of_rows(efforts))


@entry(REAL, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, FLOATS)
def follow_states(half, ints, floats, numbers, stages, q, v, begun, x, inverse):
    """Find the states at a state (q, v); see `follow`."""
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE])))
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS)), np.empty((world_rows(ints), 12))
    status = outward_moved(tables, State(q, v), v, work, world, layout.UNKNOWN)
    return status if status != layout.OK else follow(half, tables, begun, x, inverse)


@shared
def follow(half, tables, begun, x, inverse):
    """Find the states ``x = begun + half dx/dt``, the motion of interactions' targets in `law`; return a status.

    By Newton's method, interaction by interaction. `x` begins with a guess, and keeps it where none are found; `inverse`
    (nx x nx) is that of the derivatives, zeros before. The states found stand among the `numbers` then, and act.
    """
    ints, found, k, row = tables.ints, x.copy(), 0, tables.ints[0, layout.FIRST_INTERACTION]
    for _ in range(ints[0, layout.INTERACTIONS]):
        if ints[row, layout.ACT_STATES] > 0:
            status = _follow(half, tables, row, k, begun, found, inverse)
            if status == layout.OK:
                answer = address_of(tables.law, loads_of(ints, row))
                status = call_interaction(tables, row, layout.ACT, answer)
            if status != layout.OK:
                return status
            k += ints[row, layout.ACT_STATES]
        row = next_interaction(ints, row)
    copy(found, x)
    return layout.OK


@shared
def _follow(half, tables, row, first, begun, x, inverse):
    """Find the states of the interaction at `row`, which stand from `first` on; return a status."""
    ints, law = tables.ints, tables.law
    count, inputs = ints[row, layout.ACT_STATES], ints[row, layout.ACT_INPUTS]
    at, rates, change = ints[row, layout.NUMBERS] + ints[row, layout.NUMBER_COUNT] - count, np.empty(count), np.empty(count)
    driven, matrix, solved = np.empty((1, count * inputs)), np.empty((count, count)), np.empty((count, count))
    own = loads_of(ints, row) - count
    for iteration in range(ITERATIONS):
        for i in range(count):
            law[0, own + i] = x[first + i]
        status = call_interaction(tables, row, layout.RATES, address_of(rates, 0))
        if status == layout.OK and iteration % RENEWED == 0:
            status = call_interaction(tables, row, layout.RATES_DRIVEN, address_of(driven, 0))
            for i in range(count):
                for j in range(count):
                    unit = 1.0 if i == j else 0.0
                    matrix[i, j] = unit - half * driven[0, i * inputs + inputs - count + j]
            invert_small(matrix, solved)
        if status != layout.OK:
            return status
        largest, size = 0.0, 0.0
        for i in range(count):
            change[i] = 0.0
            for j in range(count):
                change[i] += solved[i, j] * (x[first + j] - begun[first + j] - half * rates[j])
        for i in range(count):
            x[first + i] -= change[i]
            largest = max(largest, abs(change[i]))
            size = max(size, max(abs(x[first + i]), abs(begun[first + i])))
        if largest <= EXACT * size:
            for i in range(count):
                tables.numbers[0, at + i] = law[0, own + i] = x[first + i]
                for j in range(count):
                    inverse[first + i, first + j] = solved[i, j]
            return layout.OK
    return layout.NOT_FINITE


@helper
def invert_small(matrix, inverse):
    """Write the inverse of a matrix, which is used up, by elimination with row pivots; not numbers of a singular one."""
    n = matrix.shape[0]
    for i in range(n):
        for j in range(n):
            inverse[i, j] = 1.0 if i == j else 0.0
    for c in range(n):
        pivot = c
        for i in range(c + 1, n):
            pivot = i if abs(matrix[i, c]) > abs(matrix[pivot, c]) else pivot
        for j in range(n):
            matrix[c, j], matrix[pivot, j] = matrix[pivot, j], matrix[c, j]
            inverse[c, j], inverse[pivot, j] = inverse[pivot, j], inverse[c, j]
        factor = 1.0 / matrix[c, c] if matrix[c, c] != 0.0 else np.nan
        for j in range(n):
            matrix[c, j] *= factor
            inverse[c, j] *= factor
        for i in range(n):
            if i != c and matrix[i, c] != 0.0:
                factor = matrix[i, c]
                for j in range(n):
                    matrix[i, j] -= factor * matrix[c, j]
                    inverse[i, j] -= factor * inverse[c, j]
