"""States of the first order of interactions within steps: told to their laws, and how they change.

A state of the system is ``[q, v, x]``, x those of all interactions, one after the other. Features, which systems without such
states do not wait for.
"""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import (
    address_of,
    address_or_zero,
    call_interaction,
    ints_at,
    row_at,
    vector_at,
)
from titop.solvers.kernels.ports.interactions import next_interaction
from titop.solvers.native.kernel import feature, helper


@helper
def take_own_states(ints, numbers, state):
    """Write the interactions' states in a `state` of the system among their numbers; return a status."""
    if ints[0, layout.STATES] == 0:
        return layout.OK
    where = address_of(state, ints[0, layout.NQ] + ints[0, layout.NV])
    return own_states_taken((address_of(ints, 0), ints.shape[0], address_of(numbers, 0), numbers.shape[1], where))


@feature(5)
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
    given = address_of(ints, 0), ints.shape[0], address_or_zero(law), address_of(numbers, 0), numbers.shape[1]
    return own_rates_written(
        (*given, address_of(stages, 0), stages.shape[0], address_of(rate, ints[0, layout.NQ] + ints[0, layout.NV]))
    )


@feature(8)
def own_rates_written(ints, rows, law, numbers, count, stages, kinds, rates):
    """See `write_own_rates`."""
    table, record = (
        ints_at(ints, rows, layout.INT_COLUMNS),
        row_at(law, ints_at(ints, rows, layout.INT_COLUMNS)[0, layout.LAW_SIZE]),
    )
    addresses, told, dx = (
        ints_at(stages, kinds, layout.STAGE_COLUMNS),
        row_at(numbers, count),
        vector_at(rates, table[0, layout.STATES]),
    )
    row, k = table[0, layout.FIRST_INTERACTION], 0
    for _ in range(table[0, layout.INTERACTIONS]):
        if table[row, layout.ACT_STATES] > 0:
            status = call_interaction(table, told, addresses, record, row, layout.RATES, address_of(dx, k))
            if status != layout.OK:
                return status
            k += table[row, layout.ACT_STATES]
        row = next_interaction(table, row)
    return layout.OK
