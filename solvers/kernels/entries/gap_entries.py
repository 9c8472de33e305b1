"""Looks at gaps for integrators: at the ends of steps, and within them; see `titop.solvers.kernels.ports.guards`."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.entries.runge_kutta import take_state
from titop.solvers.kernels.entries.step_control import BEFORE as BEGIN
from titop.solvers.kernels.entries.step_control import BEGUN, LAST, LENGTH, STEPS, TIME
from titop.solvers.kernels.equations.whole_passes import outward_whole, world_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports.guards import (
    BEFORE,
    CLOSE,
    FINER,
    NEAR,
    PARTS,
    RATE,
    RATE_BEFORE,
    SIDE,
    VALUE,
    change_sides,
    cleared,
    comes_close,
    exactness,
    late_by,
    zero_between,
)
from titop.solvers.kernels.spatial.algebra import copy
from titop.solvers.native.kernel import entry, helper, shared
from titop.solvers.native.signatures import FLOATS, INTS, REAL, VECTOR

#: Whether the system has general blocks or interactions: see `pair.Pair`.
LAWS = True


#: How often a step is made anew until it ends where something switches, and by which part of it it may then become longer.
TRIES, LONGER = 6, 0.1
#: How often gaps are asked for a zero at most.
_MOST = 10


@shared
def switches_within(ints, floats, numbers, stages, law, states, rates, curve, given, q, v, a, work, world, clock, guards):
    """Return how long (s) a step may be until a gap switches that does so alone, simply, and first; 0 if others have to look.

    It is endless if no gap comes to zero in the last step. `curve` is as for `open_steps`; `given` are what is imposed at the
    end of the step, as `take_state` has it; q, v, a, work and world are used up.
    """
    motion, moved, imposed = given
    h, known, there = clock[LAST], np.empty(guards.shape), np.empty(guards.shape)
    state, length = np.empty(states.shape[1]), np.empty(1)
    length[0] = h / PARTS
    for k in range(guards.shape[0]):
        copy(guards[k], known[k])
        known[k, VALUE], known[k, RATE] = guards[k, BEFORE], guards[k, RATE_BEFORE]
    for part in range(PARTS):
        if part < PARTS - 1:
            take_state_within((part + 1.0) / PARTS, h, ints, states, rates, curve, state, motion, moved, imposed, q, v, a)
            status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
            if status == layout.OK:
                status = cleared(ints, numbers, stages, law, q, v, length, known)
            if status != layout.OK and status != NEAR:
                return 0.0
        else:
            for k in range(guards.shape[0]):
                known[k, BEFORE], known[k, RATE_BEFORE] = known[k, VALUE], known[k, RATE]
                known[k, VALUE], known[k, RATE] = guards[k, VALUE], guards[k, RATE]
                known[k, CLOSE] = 1.0 if comes_close(known, k, length[0]) else 0.0
        which = passing(known)
        if which == -1:
            continue
        if which < 0:
            return 0.0
        begin, width, side = part * length[0], length[0], guards[which, SIDE]
        least = FINER * exactness(h, clock[TIME])
        one, two = side * known[which, BEFORE], side * known[which, VALUE]
        rate_one, rate_two = side * known[which, RATE_BEFORE], side * known[which, RATE]
        for k in range(guards.shape[0]):
            copy(known[k], there[k])
        for _ in range(_MOST):
            x = begin + width * zero_between(width, one, two, rate_one, rate_two)
            take_state_within(x / h, h, ints, states, rates, curve, state, motion, moved, imposed, q, v, a)
            status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
            if status == layout.OK:
                status = cleared(ints, numbers, stages, law, q, v, length, there)
            if status != layout.OK and status != NEAR:
                return 0.0
            value, rate = side * there[which, VALUE], side * there[which, RATE]
            if rate < 0.0 and abs(value) <= -rate * least:
                return x - value / rate
            if value > 0.0:
                begin, width, one, rate_one = x, begin + width - x, value, rate
            else:
                width, two, rate_two = x - begin, value, rate
        return 0.0
    return np.inf


@helper
def take_state_within(x, h, ints, states, rates, curve, state, motion, moved, imposed, q, v, a):
    """Read q and v at the part x of a step of length h; `state` is used up."""
    for k in range(state.size):
        state[k] = states[0, k]
    power = h
    for p in range(curve.shape[0]):
        power *= x
        for s in range(curve.shape[1]):
            weight = power * curve[p, s]
            for k in range(state.size):
                state[k] += weight * rates[s, k]
    take_state(ints, state, motion, moved, imposed, q, v, a)


@helper
def passing(known):
    """Return which gap alone passes zero in a part of a step, falling at both ends; -1 if none does, -2 if it is not clear."""
    which = -1
    for k in range(known.shape[0]):
        if known[k, CLOSE] > 0.0:
            side = known[k, SIDE]
            one, two, out, into = (
                side * known[k, BEFORE],
                side * known[k, VALUE],
                side * known[k, RATE_BEFORE],
                side * known[k, RATE],
            )
            if one > 0.0 and two > 0.0 and out * into > 0.0:
                continue
            which = k if which == -1 and one > 0.0 and two <= 0.0 and out < 0.0 and into < 0.0 else -2
    return which


@helper
def go_back(length, clock, states, y, guards):
    """Go back to where the last step began, to make one of another length."""
    copy(states[0], y)
    clock[TIME], clock[LENGTH], clock[BEGUN] = clock[BEGIN], length, 0.0
    clock[STEPS] -= 1.0
    for k in range(guards.shape[0]):
        guards[k, VALUE], guards[k, RATE] = guards[k, BEFORE], guards[k, RATE_BEFORE]


@helper
def length_anew(cuts, clock, guards):
    """Return the length with which a step is made anew that was to end where something switches, after so many `cuts`.

    Zero if it does end there, so that gaps are on their other sides now; negative where that is not clear.
    """
    late, exact = late_by(guards), exactness(clock[LAST], clock[TIME])
    too_late, too_soon = late > exact and clock[LAST] - late > exact, exact < -late and -late <= LONGER * clock[LAST]
    if cuts <= TRIES and (too_late or too_soon):
        return clock[LAST] - late
    return 0.0 if change_sides(guards, exact) > 0 else -1.0


@entry(REAL, FLOATS)
def look_at_ends(length, guards):
    """Tell of all guards which gaps may have come to zero in a step of a `length` (s), by what stands there."""
    for k in range(guards.shape[0]):
        guards[k, CLOSE] = 1.0 if comes_close(guards, k, length) else 0.0
    return layout.OK


@entry(FLOATS, result=REAL)
def lateness(guards):
    """See `late_by`."""
    return late_by(guards)


@entry(FLOATS, REAL)
def switch(guards, exact):
    """See `change_sides`."""
    return change_sides(guards, exact)


@pair(VECTOR, FLOATS, INTS, FLOATS, FLOATS, INTS, FLOATS, FLOATS, FLOATS)
def guard(length, guards, ints, floats, numbers, stages, q, v, found):
    """Look at all gaps at the ends of steps of a `length` (1, s), at stacked states; see `cleared`.

    `found` has a row for each state: the gaps, and behind them their rates. The status is that at the last state.
    """
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS)), np.empty((world_rows(ints), 12))
    count, status = guards.shape[0], layout.OK
    for r in range(found.shape[0]):
        status = outward_whole(ints, floats, numbers, stages, law, q[r], v[r], work, world)
        if status == layout.OK:
            status = cleared(ints, numbers, stages, law, q[r], v[r], length, guards)
        if status != layout.OK and status != NEAR:
            break
        for k in range(count):
            found[r, k], found[r, count + k] = guards[k, VALUE], guards[k, RATE]
    return status
