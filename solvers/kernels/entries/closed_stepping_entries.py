"""The entry points of integrators for systems with rigid closures or gears: whole steps, and states on the closures.

What `closed_steps` takes, and statuses, are as in `stepping_entries`.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.closures.closed_passes import constrained, constrained_rooms
from titop.solvers.kernels.closures.closing import close, closing_step
from titop.solvers.kernels.entries.gap_entries import go_back, length_anew, switches_within
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.entries.runge_kutta import combine, control, take_state
from titop.solvers.kernels.entries.step_control import (
    BEGUN,
    END,
    EVALUATIONS,
    LAST,
    LENGTH,
    LOOK_CLOSER,
    TIME,
    TOO_SHORT,
    take_or_leave,
)
from titop.solvers.kernels.equations.whole_passes import outward_whole, sizes_fit, status_of
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports.guards import NEAR, cleared, exactness
from titop.solvers.kernels.ports.own_states import take_own_states, write_own_rates
from titop.solvers.kernels.spatial.vectors import copy
from titop.solvers.kernels.tree.kinematics import write_rates
from titop.solvers.native.signatures import FLOATS, INTEGER, INTS, MASK, REAL, VECTOR

#: Whether the system has general blocks or interactions: see `kernel.Pair`.
LAWS = True


@pair(
    INTEGER,
    INTEGER,
    INTEGER,
    INTEGER,
    REAL,
    VECTOR,
    FLOATS,
    FLOATS,
    FLOATS,
    VECTOR,
    FLOATS,
    FLOATS,
    FLOATS,
    MASK,
    MASK,
    FLOATS,
    FLOATS,
    FLOATS,
    FLOATS,
    FLOATS,
    FLOATS,
    VECTOR,
    VECTOR,
    VECTOR,
    INTS,
    VECTOR,
    INTS,
    INTS,
    INTS,
    FLOATS,
    FLOATS,
    INTS,
)
def closed_steps(
    tries,
    first,
    last,
    end,
    watch,
    clock,
    estimators,
    coefficients,
    curve,
    y,
    states,
    rates,
    motions,
    moved,
    imposed,
    gains,
    offsets,
    limits,
    motors,
    thrust,
    guards,
    tau,
    precision,
    sizes,
    plain,
    told,
    tree,
    loops,
    ints,
    floats,
    numbers,
    stages,
):
    """Steps of a system with rigid closures or gears, from states on these to states on these.

    `plain` is as for `close`, `told` as for `closing_step`, and behind that the largest distance from a singular configuration
    so far; `precision` as for `close`, and behind that the part of this below which others look closer.
    """
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS)), np.empty((ints[0, layout.ELEMENTS], 12))
    nq, nv = moved.size, imposed.size
    q, v, a, effort, step, closed = np.empty(nq), np.empty(nv), np.empty(nv), np.empty(nv), np.empty(nv), np.empty(nv)
    rooms, mass, efforts = constrained_rooms(loops, nv), np.empty((nv, nv)), np.empty(nv)
    left, used, looking, cuts = max(tries, 1), last, False, 0
    while left > 0:
        left -= 1
        if tries > 0 and not looking:
            if clock[LENGTH] <= 0.0:
                return TOO_SHORT
            first = int(clock[BEGUN])
            copy(y, states[0])
        h, status = clock[LAST] if looking else clock[LENGTH], layout.OK
        clock[EVALUATIONS] += last - first
        for s in range(first, last):
            combine(s, h, coefficients, states, rates)
            take_state(ints, states[s], motions[s], moved, imposed, q, v, a)
            control(ints, gains, offsets[s], limits, motors, thrust, q, v, states[s], tau, floats, effort, rates[s])
            write_rates(ints, q, v, rates[s])
            status = status_of(effort)
            if law is not None:
                if status == layout.OK:
                    status = take_own_states(ints, numbers, states[s])
            if status == layout.OK:
                status = constrained(
                    tree,
                    loops,
                    imposed,
                    ints,
                    floats,
                    numbers,
                    stages,
                    law,
                    None,
                    q,
                    v,
                    effort,
                    work,
                    world,
                    rooms,
                    mass,
                    efforts,
                    a,
                )
            if status == layout.OK:
                for k in range(nv):
                    rates[s, nq + k] = a[k]
                if law is not None:
                    status = write_own_rates(ints, numbers, stages, law, rates[s])
            if status == layout.OK:
                status = status_of(rates[s])
            if status != layout.OK:
                break
        if status == layout.OK and last < coefficients.shape[0]:
            combine(last, h, coefficients, states, rates)
        if tries == 0:
            return status
        if looking:
            looking, last, given, length = False, used, (motions[end], moved, imposed), 0.0
            if status == layout.OK:
                length = switches_within(
                    ints, floats, numbers, stages, law, states, rates, curve, given, q, v, a, work, world, clock, guards
                )
            if not length > exactness(clock[LAST], clock[TIME]):
                return NEAR
            if length < clock[LAST]:
                go_back(length, clock, states, y, guards)
                cuts, left = 1, left + 1
            elif clock[TIME] >= min(watch, clock[END]):
                break
            continue
        is_step = take_or_leave(status == layout.OK, end, clock, estimators, states, rates)
        if status != layout.OK:
            return status
        if is_step:
            copy(states[end], y)
            take_state(ints, y, motions[end], moved, imposed, q, v, a)
            if not close(
                precision,
                sizes,
                plain,
                imposed,
                loops,
                ints,
                floats,
                numbers,
                stages,
                law,
                q,
                v,
                work,
                world,
                step,
                closed,
                told,
            ):
                return LOOK_CLOSER
            if told[1] < precision[2] * told[3] or int(told[2]) != loops[0, layout.RANK]:
                return LOOK_CLOSER
            told[3] = max(told[3], told[1])
            copy(q, y[:nq])
            copy(closed, y[nq : nq + nv])
            if guards.shape[0] > 0:
                status = outward_whole(ints, floats, numbers, stages, law, q, closed, work, world)
                if status == layout.OK:
                    status = cleared(ints, numbers, stages, law, q, closed, clock[LAST : LAST + 1], guards)
                if status != layout.OK and status != NEAR:
                    return LOOK_CLOSER
                if cuts > 0:
                    length = length_anew(cuts, clock, guards)
                    if length > 0.0:
                        go_back(length, clock, states, y, guards)
                        cuts, left = cuts + 1, left + 1
                        continue
                    cuts, status = 0, layout.OK if length == 0.0 else NEAR
                elif status == NEAR and curve.shape[0] > 0:
                    looking, first, last, left = True, used, coefficients.shape[0], left + 1
                    continue
                if status != layout.OK:
                    return NEAR
            if clock[TIME] >= min(watch, clock[END]):
                break
    return layout.OK


@pair(VECTOR, MASK, INTS, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR)
def close_state(sizes, imposed, loops, ints, floats, numbers, stages, q, v, step, closed, told):
    """Where Newton's step leads from a state to the closures; see `closing_step`."""
    if not sizes_fit(ints, q, v, step, closed):
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    work, world = np.zeros((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS)), np.empty((ints[0, layout.ELEMENTS], 12))
    return closing_step(sizes, imposed, loops, ints, floats, numbers, stages, law, q, v, work, world, step, closed, told)
