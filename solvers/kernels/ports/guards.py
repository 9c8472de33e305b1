"""Gaps of stops and interactions, guarded step by step: whether one may have come to zero within a step.

A row of ``guards`` for each gap, of these columns; gaps of one interaction follow each other. A step is cleared if none comes
near: the cubic through a gap and its rates at both ends stays above its four control points (see
`titop.solvers.simulation.switching`, which looks at others closely), or if it is zero up to rounding and stays so.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface.layout import (
    GAP,
    INT_COLUMNS,
    LAW_SIZE,
    NQ,
    NV,
    OK,
    STAGE_COLUMNS,
)
from titop.solvers.kernels.interface.stages import (
    address_of,
    address_or_zero,
    call_interaction,
    floats_at,
    ints_at,
    row_at,
    vector_at,
)
from titop.solvers.native.kernel import feature, helper

ROW = 0  # of an interaction, -1 for a stop
PLACE = 1  # of an interaction: which of its gaps,
COUNT = 2  # of how many
IN_Q = 1  # of a stop: where its coordinate stands,
IN_V = 2
SIGN = 3  # on which side of the bound the gap is positive,
BOUND = 4  # and the bound
SIDE = 5  # on which the gap is: 1 or -1
VALUE = 6  # of the gap (m, rad) when it was looked at last,
RATE = 7  # and its rate
ROUNDED = 8  # what rounding makes of it (m, rad): no more of it, nor of what it changes by, is none
BEFORE = 9  # its value when it was looked at before that,
RATE_BEFORE = 10  # and its rate
CLOSE = 11  # whether it may have come to zero in between
GUARD_COLUMNS = 12

#: A status: a gap may have come to zero.
NEAR = -10
#: Gaps whose control points come nearer to zero than this part of what they change by may do so: the cubic is off by some
#: hundredths of that in the longest steps.
NEARNESS = 0.25


@helper
def cleared(ints, numbers, stages, law, q, v, length, guards):
    """Look at all gaps at the end of a step of a `length` (s), targets' motions in `law`; return OK if none comes near zero."""
    given = address_of(ints, 0), ints.shape[0], address_or_zero(law), address_of(numbers, 0), numbers.shape[1]
    return gaps_guarded(
        (
            *given,
            address_of(stages, 0),
            stages.shape[0],
            address_of(q, 0),
            address_of(v, 0),
            address_of(length, 0),
            address_of(guards, 0),
            guards.shape[0],
        )
    )


@feature(12)
def gaps_guarded(ints, rows, law, numbers, number_count, stages, kinds, q, v, length, guards, count):
    """See `cleared`."""
    table, given = ints_at(ints, rows, INT_COLUMNS), floats_at(guards, count, GUARD_COLUMNS)
    state, rates, h = vector_at(q, table[0, NQ]), vector_at(v, table[0, NV]), vector_at(length, 1)[0]
    answer, result = np.zeros(2 * count), OK
    for k in range(count):
        row = np.int64(given[k, ROW])
        if row < 0:
            value = given[k, SIGN] * (state[np.int64(given[k, IN_Q])] - given[k, BOUND])
            rate = given[k, SIGN] * rates[np.int64(given[k, IN_V])]
        else:
            place = np.int64(given[k, PLACE])
            if place == 0:
                addresses, record = ints_at(stages, kinds, STAGE_COLUMNS), row_at(law, table[0, LAW_SIZE])
                answer[0], told = given[k, COUNT], row_at(numbers, number_count)
                status = call_interaction(table, told, addresses, record, row, GAP, address_of(answer, 0))
                if status != OK:
                    return status
            value, rate = answer[2 * place], answer[2 * place + 1]
        given[k, BEFORE], given[k, RATE_BEFORE] = given[k, VALUE], given[k, RATE]
        given[k, VALUE], given[k, RATE], given[k, CLOSE] = value, rate, 0.0
        if comes_close(given, k, h):
            given[k, CLOSE], result = 1.0, NEAR
    return result


@helper
def comes_close(guards, k, h):
    """Tell whether gap k may have come to zero in a step of length h, by what is known of it at both ends."""
    side, begin, end = guards[k, SIDE], guards[k, BEFORE], guards[k, VALUE]
    out, into = h / 3.0 * guards[k, RATE_BEFORE], h / 3.0 * guards[k, RATE]
    least = min(min(side * begin, side * (begin + out)), min(side * end, side * (end - into)))
    size = max(abs(end - begin), 3.0 * max(abs(out), abs(into)))
    largest = max(max(abs(begin), abs(end)), size)
    return (not least > NEARNESS * size or side == 0.0) and not largest <= guards[k, ROUNDED]
