"""States of the first order of interactions within steps: told to their laws, and how they change.

A state of the system is ``[q, v, x]``, x those of all interactions, one after the other. Features, which systems without such
states do not wait for.
"""

from __future__ import annotations

from titop.solvers.kernels.interface.layout import (
    ACT_STATES,
    FIRST_INTERACTION,
    INT_COLUMNS,
    INTERACTIONS,
    LAW_SIZE,
    NQ,
    NUMBER_COUNT,
    NUMBERS,
    NV,
    OK,
    RATES,
    STAGE_COLUMNS,
    STATES,
)
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
    if ints[0, STATES] == 0:
        return OK
    where = address_of(state, ints[0, NQ] + ints[0, NV])
    return own_states_taken((address_of(ints, 0), ints.shape[0], address_of(numbers, 0), numbers.shape[1], where))


@feature(5)
def own_states_taken(ints, rows, numbers, count, states):
    """See `take_own_states`."""
    table, told = ints_at(ints, rows, INT_COLUMNS), row_at(numbers, count)
    x, row, k = vector_at(states, table[0, STATES]), table[0, FIRST_INTERACTION], 0
    for _ in range(table[0, INTERACTIONS]):
        first = table[row, NUMBERS] + table[row, NUMBER_COUNT] - table[row, ACT_STATES]
        for j in range(table[row, ACT_STATES]):
            told[0, first + j] = x[k]
            k += 1
        row = next_interaction(table, row)
    return OK


@helper
def write_own_rates(ints, numbers, stages, law, rate):
    """Write how the interactions' states change into the `rate` of a state of the system, the motion of their targets in `law`.

    Return a status.
    """
    if ints[0, STATES] == 0:
        return OK
    given = address_of(ints, 0), ints.shape[0], address_or_zero(law), address_of(numbers, 0), numbers.shape[1]
    return own_rates_written((*given, address_of(stages, 0), stages.shape[0], address_of(rate, ints[0, NQ] + ints[0, NV])))


@feature(8)
def own_rates_written(ints, rows, law, numbers, count, stages, kinds, rates):
    """See `write_own_rates`."""
    table, record = ints_at(ints, rows, INT_COLUMNS), row_at(law, ints_at(ints, rows, INT_COLUMNS)[0, LAW_SIZE])
    addresses, told, dx = ints_at(stages, kinds, STAGE_COLUMNS), row_at(numbers, count), vector_at(rates, table[0, STATES])
    row, k = table[0, FIRST_INTERACTION], 0
    for _ in range(table[0, INTERACTIONS]):
        if table[row, ACT_STATES] > 0:
            status = call_interaction(table, told, addresses, record, row, RATES, address_of(dx, k))
            if status != OK:
                return status
            k += table[row, ACT_STATES]
        row = next_interaction(table, row)
    return OK
