"""Entry points of the states of the first order of interactions: how they change, derivatives, and steps in which they follow.

As in `dynamics_entries`, each returns a status. Inputs and states stand among the `numbers`. Whatever systems have such states
have interactions: there is one kernel of each for all.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.derivatives.interaction_derivatives import rows_of, width_of, write_changes
from titop.solvers.kernels.equations.linearise import linearise_blocks, sum_rows
from titop.solvers.kernels.equations.whole_passes import (
    outward_ports,
    outward_whole,
    status_of,
    status_of_rows,
    world_rows,
)
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, call_interaction
from titop.solvers.kernels.ports.following_states import follow_own_states
from titop.solvers.kernels.ports.interactions import next_interaction
from titop.solvers.kernels.ports.loads import push_by_interaction
from titop.solvers.native.kernel import entry, helper
from titop.solvers.native.signatures import FLOATS, INTS, VECTOR


@entry(INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR)
def state_rates(ints, floats, numbers, stages, q, v, rates):
    """The rates (nx) of all states."""
    law = np.empty((1, ints[0, layout.LAW_SIZE]))
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS)), np.empty((world_rows(ints), 12))
    status, k, row = outward_ports(ints, floats, numbers, stages, law, q, v, work, world), 0, ints[0, layout.FIRST_INTERACTION]
    for _ in range(ints[0, layout.INTERACTIONS]):
        if status == layout.OK and ints[row, layout.ACT_STATES] > 0:
            status = call_interaction(ints, numbers, stages, law, row, layout.RATES, address_of(rates, k))
            k += ints[row, layout.ACT_STATES]
        row = next_interaction(ints, row)
    return status if status != layout.OK else status_of(rates)


@entry(INTS, INTS, FLOATS, FLOATS, INTS, INTS, VECTOR, VECTOR, FLOATS, FLOATS, FLOATS)
def state_slopes(ints, bare, floats, numbers, stages, paths, q, v, by_state, driven, efforts):
    """The derivatives of the rates, and the efforts that states cause.

    `by_state` (2 nx x nv) are those by coordinates, then by their rates; `driven` (nx x any) those by inputs and states of each
    interaction with states, one after the other; `efforts` (nx x nv) the efforts along the coordinates a unit of each state.
    `bare` is a table without anything that acts.
    """
    nv, law = ints[0, layout.NV], np.empty((1, ints[0, layout.LAW_SIZE]))
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS)), np.empty((world_rows(ints), 12))
    sums, columns = np.empty((sum_rows(ints), layout.SUM_COLUMNS)), np.empty((paths.shape[1], layout.COLUMN_COLUMNS))
    still, held, known = np.zeros(nv), np.empty((1, bare[0, layout.SLOPES_SIZE])), layout.UNKNOWN
    status = linearise_blocks(
        bare, floats, numbers, stages, law, held, q, v, still, work, world, sums, columns, np.empty(nv), known
    )
    if status == layout.OK:
        status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
    if status != layout.OK:
        return status
    sizes = _largest(ints)
    slopes, room = np.empty((1, sizes[0])), np.empty((1, 2 * sizes[1] * nv))
    driven[:], efforts[:] = 0.0, 0.0
    row, k, column = ints[0, layout.FIRST_INTERACTION], 0, 0
    for _ in range(ints[0, layout.INTERACTIONS]):
        count, inputs = ints[row, layout.ACT_STATES], ints[row, layout.ACT_INPUTS]
        if count > 0:
            status = call_interaction(ints, numbers, stages, law, row, layout.RATES_DRIVEN, address_of(slopes, 0))
            for i in range(count):
                for j in range(inputs):
                    driven[k + i, column + j] = slopes[0, i * inputs + j]
            if status == layout.OK:
                status = call_interaction(ints, numbers, stages, law, row, layout.RATES_SLOPES, address_of(slopes, 0))
            if status != layout.OK:
                return status
            width, rows = width_of(ints, row), rows_of(ints, row)
            of_rows, frames = (0, 0, count, count), count * (width + rows)
            write_changes(ints, floats, law, slopes, of_rows, frames, paths, sums, columns, row, nv, room)
            for i in range(count):
                for j in range(nv):
                    by_state[k + i, j] = room[0, i * nv + j]
                    by_state[ints[0, layout.STATES] + k + i, j] = room[0, (count + i) * nv + j]
                push_by_interaction(ints, floats, law, work, row, slopes, count * width + i * rows, efforts[k + i])
            k, column = k + count, column + inputs
        row = next_interaction(ints, row)
    return min(min(status_of_rows(by_state), status_of_rows(driven)), status_of_rows(efforts))


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


@entry(VECTOR, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, FLOATS)
def follow_states(half, ints, floats, numbers, stages, q, v, begun, x, inverse):
    """Find the states at a state (q, v); see `follow_own_states`. They are left among the `numbers`."""
    law = np.empty((1, ints[0, layout.LAW_SIZE]))
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS)), np.empty((world_rows(ints), 12))
    status = outward_ports(ints, floats, numbers, stages, law, q, v, work, world)
    return status if status != layout.OK else follow_own_states(half, ints, numbers, stages, law, begun, x, inverse)
