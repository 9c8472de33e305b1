"""The entry points of integrators: whole steps of explicit Runge-Kutta methods, and states on the closures.

As in `entries`, each returns a status. What `open_steps` and `closed_steps` take first is

- `tries`: how many steps to try at most; or zero: then only stages are filled in, of a step of the length in the `clock`, from
  `first` on to before `last`, and the state at `last`, if there is one;
- `first`, `last`, `end`: the first stage, the one behind those that the error needs, the one whose state is that at the end;
- `watch`: a time (s); the first step that reaches it is the last one;
- `clock`: see `step_control`; `estimators` of the error; `coefficients`, rows of stages: how states follow from rates before;
- `guards`: gaps that are guarded, see `titop.solvers.kernels.ports.guards`;
- `y`: the state that is reached; `states` and `rates`: rows of stages, of the last step or try; see `stepping` for the rest.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.closures.closed_passes import constrained, constrained_rooms
from titop.solvers.kernels.closures.closing import close, closing_step
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.entries.runge_kutta import combine, control, take_state
from titop.solvers.kernels.entries.step_control import BEGUN, END, EVALUATIONS, LAST, LENGTH, TIME, choose_length, take_or_leave
from titop.solvers.kernels.equations.whole_passes import eliminate, outward_whole, sizes_fit, status_of, world_rows
from titop.solvers.kernels.interface.layout import (
    ELEMENTS,
    FORWARD_COLUMNS,
    LAW_SIZE,
    MULTI_COLUMNS,
    MULTIS,
    OK,
    RANK,
    WRONG_SIZE,
)
from titop.solvers.kernels.ports.guards import NEAR, RATE, VALUE, cleared
from titop.solvers.kernels.ports.interactions import add_interaction_efforts
from titop.solvers.kernels.ports.own_states import take_own_states, write_own_rates
from titop.solvers.kernels.spatial.vectors import copy
from titop.solvers.kernels.tree.kinematics import write_rates
from titop.solvers.kernels.tree.passive import add_passive_efforts
from titop.solvers.native.kernel import entry
from titop.solvers.native.signatures import FLAG, FLOATS, INTEGER, INTS, MASK, REAL, VECTOR

#: Whether the system has general blocks or interactions: see `kernel.Pair`.
LAWS = True

#: Further status codes: steps became too short to count; a step is made whose state has to be put on the closures with care, or
#: in which something may have switched.
TOO_SHORT = -7
LOOK_CLOSER = -8


@pair(
    INTEGER,
    INTEGER,
    INTEGER,
    INTEGER,
    REAL,
    VECTOR,
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
    INTS,
    FLOATS,
    FLOATS,
    INTS,
)
def open_steps(
    tries,
    first,
    last,
    end,
    watch,
    clock,
    estimators,
    coefficients,
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
    ints,
    floats,
    numbers,
    stages,
):
    """Steps of a tree."""
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((world_rows(ints), 12))
    multi = np.empty((ints[0, MULTIS], MULTI_COLUMNS))
    nq, nv = moved.size, imposed.size
    q, v, a, effort = np.empty(nq), np.empty(nv), np.empty(nv), np.empty(nv)
    for _ in range(max(tries, 1)):
        if tries > 0:
            if clock[LENGTH] <= 0.0:
                return TOO_SHORT
            first = int(clock[BEGUN])
            copy(y, states[0])
        h, status = clock[LENGTH], OK
        clock[EVALUATIONS] += last - first
        for s in range(first, last):
            combine(s, h, coefficients, states, rates)
            take_state(ints, states[s], motions[s], moved, imposed, q, v, a)
            control(ints, gains, offsets[s], limits, motors, thrust, q, v, states[s], tau, floats, effort, rates[s])
            write_rates(ints, q, v, rates[s])
            if law is not None:
                take_own_states(ints, numbers, states[s])
            status = status_of(effort)
            if status == OK:
                status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
            if status == OK:
                add_passive_efforts(ints, floats, q, v, effort)
                if law is not None:
                    add_interaction_efforts(ints, law, effort, 1.0)
                status = eliminate(ints, floats, law, v, a, effort, imposed, work, multi, world)
            if status == OK:
                for k in range(nv):
                    rates[s, nq + k] = a[k]
                if law is not None:
                    status = write_own_rates(ints, numbers, stages, law, rates[s])
            if status == OK:
                status = status_of(rates[s])
            if status != OK:
                break
        if status == OK and last < coefficients.shape[0]:
            combine(last, h, coefficients, states, rates)
        if tries == 0:
            return status
        is_step = take_or_leave(status == OK, end, clock, estimators, states, rates)
        if status != OK:
            return status
        if is_step:
            copy(states[end], y)
            if guards.shape[0] > 0:
                take_state(ints, y, motions[end], moved, imposed, q, v, a)
                status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
                if status != OK or cleared(ints, numbers, stages, law, q, v, clock[LAST : LAST + 1], guards) != OK:
                    return LOOK_CLOSER
            if clock[TIME] >= min(watch, clock[END]):
                break
    return OK


@pair(
    INTEGER,
    INTEGER,
    INTEGER,
    INTEGER,
    REAL,
    VECTOR,
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
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((ints[0, ELEMENTS], 12))
    nq, nv = moved.size, imposed.size
    q, v, a, effort, step, closed = np.empty(nq), np.empty(nv), np.empty(nv), np.empty(nv), np.empty(nv), np.empty(nv)
    rooms, mass, efforts = constrained_rooms(loops, nv), np.empty((nv, nv)), np.empty(nv)
    for _ in range(max(tries, 1)):
        if tries > 0:
            if clock[LENGTH] <= 0.0:
                return TOO_SHORT
            first = int(clock[BEGUN])
            copy(y, states[0])
        h, status = clock[LENGTH], OK
        clock[EVALUATIONS] += last - first
        for s in range(first, last):
            combine(s, h, coefficients, states, rates)
            take_state(ints, states[s], motions[s], moved, imposed, q, v, a)
            control(ints, gains, offsets[s], limits, motors, thrust, q, v, states[s], tau, floats, effort, rates[s])
            write_rates(ints, q, v, rates[s])
            if law is not None:
                take_own_states(ints, numbers, states[s])
            status = status_of(effort)
            if status == OK:
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
            if status == OK:
                for k in range(nv):
                    rates[s, nq + k] = a[k]
                if law is not None:
                    status = write_own_rates(ints, numbers, stages, law, rates[s])
            if status == OK:
                status = status_of(rates[s])
            if status != OK:
                break
        if status == OK and last < coefficients.shape[0]:
            combine(last, h, coefficients, states, rates)
        if tries == 0:
            return status
        is_step = take_or_leave(status == OK, end, clock, estimators, states, rates)
        if status != OK:
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
            if told[1] < precision[2] * told[3] or int(told[2]) != loops[0, RANK]:
                return LOOK_CLOSER
            told[3] = max(told[3], told[1])
            copy(q, y[:nq])
            copy(closed, y[nq : nq + nv])
            if guards.shape[0] > 0:
                status = outward_whole(ints, floats, numbers, stages, law, q, closed, work, world)
                if status != OK or cleared(ints, numbers, stages, law, q, closed, clock[LAST : LAST + 1], guards) != OK:
                    return LOOK_CLOSER
            if clock[TIME] >= min(watch, clock[END]):
                break
    return OK


@entry(VECTOR)
def set_out(clock):
    """Choose the length of the next try, after the clock was set."""
    choose_length(clock)
    return OK


@entry(FLAG, INTEGER, VECTOR, FLOATS, FLOATS, FLOATS)
def judge(filled, end, clock, estimators, states, rates):
    """Return 1 if a try is a step, else 0; see `take_or_leave`."""
    return 1 if take_or_leave(filled, end, clock, estimators, states, rates) else 0


@pair(VECTOR, MASK, INTS, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR)
def close_state(sizes, imposed, loops, ints, floats, numbers, stages, q, v, step, closed, told):
    """Where Newton's step leads from a state to the closures; see `closing_step`."""
    if not sizes_fit(ints, q, v, step, closed):
        return WRONG_SIZE
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work, world = np.zeros((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((ints[0, ELEMENTS], 12))
    return closing_step(sizes, imposed, loops, ints, floats, numbers, stages, law, q, v, work, world, step, closed, told)


@pair(VECTOR, FLOATS, INTS, FLOATS, FLOATS, INTS, FLOATS, FLOATS, FLOATS)
def guard(length, guards, ints, floats, numbers, stages, q, v, found):
    """Look at all gaps at the ends of steps of a `length` (1, s), at stacked states; see `cleared`.

    `found` has a row for each state: the gaps, and behind them their rates. The status is that at the last state.
    """
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((world_rows(ints), 12))
    count, status = guards.shape[0], OK
    for r in range(found.shape[0]):
        status = outward_whole(ints, floats, numbers, stages, law, q[r], v[r], work, world)
        if status == OK:
            status = cleared(ints, numbers, stages, law, q[r], v[r], length, guards)
        if status != OK and status != NEAR:
            break
        for k in range(count):
            found[r, k], found[r, count + k] = guards[k, VALUE], guards[k, RATE]
    return status
