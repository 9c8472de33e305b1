"""Looks at gaps for integrators: at the ends of steps, and within them; see `titop.solvers.kernels.ports.guards`."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.entries import runge_kutta
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.whole_passes import outward_moved, world_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import State, Tables
from titop.solvers.kernels.ports import guards as gaps
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
def switches_within(tables, steps, given, moving, rooms, clock, guards):
    """Return how long (s) a step may be until a gap switches that does so alone, simply, and first; 0 if others have to look.

    It is endless if no gap comes to zero in the last step. `steps` are states, rates and the `Method`; `given` is what is
    imposed at the end of the step, as `take_state` has it. `moving`, and `rooms`, work and world, are used up.
    """
    (ints, _, numbers, stages, law), (states, _, _), (q, v, _), (work, world) = tables, steps, moving, rooms
    h, known, there = clock[runge_kutta.LAST], np.empty(guards.shape), np.empty(guards.shape)
    state, length, at = np.empty(states.shape[1]), np.empty(1), State(q, v)
    length[0] = h / gaps.PARTS
    for k in range(guards.shape[0]):
        copy(guards[k], known[k])
        known[k, gaps.VALUE], known[k, gaps.RATE] = guards[k, gaps.BEFORE], guards[k, gaps.RATE_BEFORE]
    for part in range(gaps.PARTS):
        if part < gaps.PARTS - 1:
            take_state_within((part + 1.0) / gaps.PARTS, h, ints, steps, given, state, moving)
            status = outward_moved(tables, at, v, work, world, layout.UNKNOWN)
            if status == layout.OK:
                status = gaps.cleared(ints, numbers, stages, law, q, v, length, known)
            if status != layout.OK and status != gaps.NEAR:
                return 0.0
        else:
            for k in range(guards.shape[0]):
                known[k, gaps.BEFORE], known[k, gaps.RATE_BEFORE] = known[k, gaps.VALUE], known[k, gaps.RATE]
                known[k, gaps.VALUE], known[k, gaps.RATE] = guards[k, gaps.VALUE], guards[k, gaps.RATE]
                known[k, gaps.CLOSE] = 1.0 if gaps.comes_close(known, k, length[0]) else 0.0
        which = passing(known)
        if which == -1:
            continue
        if which < 0:
            return 0.0
        begin, width, side = part * length[0], length[0], guards[which, gaps.SIDE]
        least = gaps.FINER * gaps.exactness(h, clock[runge_kutta.TIME])
        one, two = side * known[which, gaps.BEFORE], side * known[which, gaps.VALUE]
        rate_one, rate_two = side * known[which, gaps.RATE_BEFORE], side * known[which, gaps.RATE]
        for k in range(guards.shape[0]):
            copy(known[k], there[k])
        for _ in range(_MOST):
            x = begin + width * gaps.zero_between(width, one, two, rate_one, rate_two)
            take_state_within(x / h, h, ints, steps, given, state, moving)
            status = outward_moved(tables, at, v, work, world, layout.UNKNOWN)
            if status == layout.OK:
                status = gaps.cleared(ints, numbers, stages, law, q, v, length, there)
            if status != layout.OK and status != gaps.NEAR:
                return 0.0
            value, rate = side * there[which, gaps.VALUE], side * there[which, gaps.RATE]
            if rate < 0.0 and abs(value) <= -rate * least:
                return x - value / rate
            if value > 0.0:
                begin, width, one, rate_one = x, begin + width - x, value, rate
            else:
                width, two, rate_two = x - begin, value, rate
        return 0.0
    return np.inf


@helper
def take_state_within(x, h, ints, steps, given, state, moving):
    """Read q and v at the part x of a step of length h; `state` is used up."""
    (states, rates, method), (motion, held) = steps, given
    runge_kutta.state_within(x, h, states, rates, method.curve, state)
    runge_kutta.take_state(ints, state, motion, held, moving)


@helper
def passing(known):
    """Return which gap alone passes zero in a part of a step, falling at both ends; -1 if none does, -2 if it is not clear."""
    which = -1
    for k in range(known.shape[0]):
        if known[k, gaps.CLOSE] > 0.0:
            side = known[k, gaps.SIDE]
            one, two = side * known[k, gaps.BEFORE], side * known[k, gaps.VALUE]
            out, into = side * known[k, gaps.RATE_BEFORE], side * known[k, gaps.RATE]
            if one > 0.0 and two > 0.0 and out * into > 0.0:
                continue
            which = k if which == -1 and one > 0.0 and two <= 0.0 and out < 0.0 and into < 0.0 else -2
    return which


@helper
def go_back(length, clock, states, y, guards):
    """Go back to where the last step began, to make one of another length."""
    copy(states[0], y)
    clock[runge_kutta.TIME], clock[runge_kutta.LENGTH], clock[runge_kutta.BEGUN] = clock[runge_kutta.BEFORE], length, 0.0
    clock[runge_kutta.STEPS] -= 1.0
    for k in range(guards.shape[0]):
        guards[k, gaps.VALUE], guards[k, gaps.RATE] = guards[k, gaps.BEFORE], guards[k, gaps.RATE_BEFORE]


@helper
def length_anew(cuts, clock, guards):
    """Return the length with which a step is made anew that was to end where something switches, after so many `cuts`.

    Zero if it does end there, so that gaps are on their other sides now; negative where that is not clear.
    """
    late, last = gaps.late_by(guards), clock[runge_kutta.LAST]
    exact = gaps.exactness(last, clock[runge_kutta.TIME])
    too_late, too_soon = late > exact and last - late > exact, exact < -late and -late <= LONGER * last
    if cuts <= TRIES and (too_late or too_soon):
        return last - late
    return 0.0 if gaps.change_sides(guards, exact) > 0 else -1.0


@entry(REAL, FLOATS)
def look_at_ends(length, guards):
    """Tell of all guards which gaps may have come to zero in a step of a `length` (s), by what stands there."""
    for k in range(guards.shape[0]):
        guards[k, gaps.CLOSE] = 1.0 if gaps.comes_close(guards, k, length) else 0.0
    return layout.OK


@entry(FLOATS, result=REAL)
def lateness(guards):
    """See `late_by`."""
    return gaps.late_by(guards)


@entry(FLOATS, REAL)
def switch(guards, exact):
    """See `change_sides`."""
    return gaps.change_sides(guards, exact)


@pair(VECTOR, FLOATS, INTS, FLOATS, FLOATS, INTS, FLOATS, FLOATS, FLOATS)
def guard(length, guards, ints, floats, numbers, stages, q, v, found):
    """Look at all gaps at the ends of steps of a `length` (1, s), at stacked states; see `cleared`.

    `found` has a row for each state: the gaps, and behind them their rates. The status is that at the last state.
    """
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    tables = Tables(ints, floats, numbers, stages, law)
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS)), np.empty((world_rows(ints), 12))
    count, status = guards.shape[0], layout.OK
    for r in range(found.shape[0]):
        status = outward_moved(tables, State(q[r], v[r]), v[r], work, world, layout.UNKNOWN)
        if status == layout.OK:
            status = gaps.cleared(ints, numbers, stages, law, q[r], v[r], length, guards)
        if status != layout.OK and status != gaps.NEAR:
            break
        for k in range(count):
            found[r, k], found[r, count + k] = guards[k, gaps.VALUE], guards[k, gaps.RATE]
    return status
