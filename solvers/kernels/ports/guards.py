"""Gaps of stops and interactions, guarded step by step: whether one may have come to zero within a step.

A row of ``guards`` for each gap, of these columns; gaps of one interaction follow each other. A step is cleared if none comes
near: the cubic through a gap and its rates at both ends stays above its four control points (see
`titop.solvers.simulation.switching`, which looks at others closely), or if it is zero up to rounding and stays so.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.tolerances import CENTRAL_STEP, EXACT, TYPED
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import Tables
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
from titop.solvers.native.signatures import INTEGER

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
SWITCHED = 12  # how often it has switched
GUARD_COLUMNS = 13

#: A status: a gap may have come to zero.
NEAR = -10
#: Gaps whose control points come nearer to zero than this part of what they change by may do so: the cubic is off by some
#: hundredths of that in the longest steps.
NEARNESS = 0.25
#: Times are rounded by this part of them.
ROUNDING = 4.0 * 2.0**-52
#: Where something has just switched, the gap is zero up to some part of what it changes by.
LEAVING = CENTRAL_STEP
#: How exactly a step ends where something switches, in parts of it, and how exactly zeros within are found, in parts of that.
LOCATED, FINER = TYPED, 0.01
#: Into how many parts a step is split where something may switch within: the longest are about a quarter of a period.
PARTS = 8


@helper
def cleared(ints, numbers, stages, law, q, v, length, guards):
    """Look at all gaps at the end of a step of a `length` (s), targets' motions in `law`; return OK if none comes near zero."""
    given = address_of(ints, 0), ints.shape[0], address_or_zero(law), address_of(numbers, 0), numbers.shape[1]
    laws, state = (address_of(stages, 0), stages.shape[0]), (address_of(q, 0), address_of(v, 0))
    return gaps_guarded((*given, *laws, *state, address_of(length, 0), address_of(guards, 0), guards.shape[0]))


@feature(*[INTEGER] * 12)
def gaps_guarded(ints, rows, law, numbers, number_count, stages, kinds, q, v, length, guards, count):
    """See `cleared`."""
    table, given = ints_at(ints, rows, layout.INT_COLUMNS), floats_at(guards, count, GUARD_COLUMNS)
    state, rates, h = vector_at(q, table[0, layout.NQ]), vector_at(v, table[0, layout.NV]), vector_at(length, 1)[0]
    answer, result = np.zeros(2 * count), layout.OK
    for k in range(count):
        row = np.int64(given[k, ROW])
        if row < 0:
            value = given[k, SIGN] * (state[np.int64(given[k, IN_Q])] - given[k, BOUND])
            rate = given[k, SIGN] * rates[np.int64(given[k, IN_V])]
        else:
            place = np.int64(given[k, PLACE])
            if place == 0:
                addresses, record = ints_at(stages, kinds, layout.STAGE_COLUMNS), row_at(law, table[0, layout.LAW_SIZE])
                answer[0], told = given[k, COUNT], row_at(numbers, number_count)
                status = call_interaction(Tables(table, None, told, addresses, record), row, layout.GAP, address_of(answer, 0))
                if status != layout.OK:
                    return status
            value, rate = answer[2 * place], answer[2 * place + 1]
        given[k, BEFORE], given[k, RATE_BEFORE] = given[k, VALUE], given[k, RATE]
        given[k, VALUE], given[k, RATE], given[k, CLOSE] = value, rate, 0.0
        if comes_close(given, k, h):
            given[k, CLOSE], result = 1.0, NEAR
    return result


@helper
def comes_close(guards, k, h):
    """Tell whether gap k may have come to zero in a step of length h, by what is known of it at both ends.

    One that was there when the step began, and leaves, does not come: all behind that has to stay away.
    """
    side, begin, end = guards[k, SIDE], guards[k, BEFORE], guards[k, VALUE]
    out, into = h / 3.0 * guards[k, RATE_BEFORE], h / 3.0 * guards[k, RATE]
    least = min(side * (begin + out), min(side * end, side * (end - into)))
    size = max(abs(end - begin), 3.0 * max(abs(out), abs(into)))
    largest = max(max(abs(begin), abs(end)), size)
    leaves = side * out > 0.0 and side * begin > -LEAVING * size
    stays_away = least > NEARNESS * size and (leaves or side * begin > NEARNESS * size) and side != 0.0
    return not stays_away and not largest <= guards[k, ROUNDED]


@helper
def exactness(h, t):
    """Return by how much (s) a step of length h to the time t ends where something switches."""
    return LOCATED * h + ROUNDING * abs(t)


@helper
def late_by(guards):
    """Return by how much (s) a step ends too late for what switches first; too soon if it is negative."""
    late = -np.inf
    for k in range(guards.shape[0]):
        fall = -guards[k, SIDE] * guards[k, RATE]
        if fall > 0.0:
            late = max(late, -guards[k, SIDE] * guards[k, VALUE] / fall)
    return late


@helper
def change_sides(guards, exact):
    """Let gaps that are at zero at the end of a step, as `exact` (s) as that is, be on their other sides; return how many."""
    found = 0
    for k in range(guards.shape[0]):
        side, value, rate = guards[k, SIDE], guards[k, VALUE], guards[k, RATE]
        sign = (1.0 if value > 0.0 else 0.0) - (1.0 if value < 0.0 else 0.0)
        moving = (1.0 if rate > 0.0 else 0.0) - (1.0 if rate < 0.0 else 0.0)
        if side != 0.0 and guards[k, CLOSE] > 0.0 and side * value <= -side * rate * exact:
            guards[k, SIDE] = moving if rate != 0.0 else -side
            guards[k, SWITCHED] += 1.0
            found += 1
        if abs(value) > exact * abs(rate):
            guards[k, SIDE] = sign
    return found


@helper
def zero_between(h, a, b, rate_a, rate_b):
    """Return in which part of a time h a cubic passes zero: it is a > 0 at first, then b <= 0, with rates there."""
    p, r = h * rate_a, h * rate_b
    c, d = 3.0 * (b - a) - 2.0 * p - r, 2.0 * (a - b) + p + r
    low, high, x = 0.0, 1.0, a / (a - b)
    for _ in range(60):  # all digits, by bisections alone
        value, slope = a + x * (p + x * (c + x * d)), p + x * (2.0 * c + 3.0 * d * x)
        if value > 0.0:
            low = x
        else:
            high = x
        then = x - value / slope if slope < 0.0 else low
        if not low < then < high:
            then = 0.5 * (low + high)
        if abs(then - x) <= EXACT * x:
            break
        x = then
    return x
