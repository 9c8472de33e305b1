"""The entry points of integrators: whole steps of explicit Runge-Kutta methods, and what is made of them.

As in `dynamics_entries`, each returns a status. What `open_steps` and `closed_steps` take first is

- `asked` and `clock`: see `runge_kutta`;
- `table`: the rows of a method, see `runge_kutta.Method`, with those of states within a step where gaps that come near zero are
  looked at there, and without them where callers do so;
- `y`: the state that is reached; `states` and `rates`: rows of stages, of the last step or try;
- `told`, rows of stages, `moved`, `imposed`: what is imposed; `gains`, `drives`: what a controller does; see `runge_kutta`;
- `guards`: gaps that are guarded, see `titop.solvers.kernels.ports.guards`; `tau`: efforts.

`closed_steps`, of systems with rigid closures or gears, goes from states on these to states on these, and takes as well

- `closing`: what is told as for `closing_step`, and behind that the largest distance from a singular configuration so far; a
  precision as for `close`, and behind that the part of the largest distance from a singular configuration below which others
  look closer; sizes as for `close`;
- `plain` as for `close`; `tree` and `loops` as for `constrained`.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from titop.blocks.basics.choices import everywhere, select
from titop.solvers.kernels.closures.closed_passes import constrained, constrained_rooms
from titop.solvers.kernels.closures.closing import close
from titop.solvers.kernels.entries import runge_kutta, sampled_legs
from titop.solvers.kernels.entries.gap_entries import go_back, length_anew, switches_within
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.entries.runge_kutta import BEHIND, END_STAGE, ESTIMATORS, FIRST, TRIES, USED, Method
from titop.solvers.kernels.entries.sampled_legs import Control
from titop.solvers.kernels.equations.whole_passes import eliminate, outward_whole, status_of, world_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import Along, ClosedTables, State, Tables
from titop.solvers.kernels.ports.guards import NEAR, cleared, exactness
from titop.solvers.kernels.ports.interactions import add_interaction_efforts, take_own_states, write_own_rates
from titop.solvers.kernels.spatial.algebra import copy
from titop.solvers.kernels.tree.kinematics import normalise, write_rates
from titop.solvers.kernels.tree.springs import add_passive_efforts
from titop.solvers.native.kernel import entry, helper
from titop.solvers.native.signatures import (
    CHANGED,
    CHANGED_ROWS,
    CUBE,
    FLAG,
    FLOATS,
    INTEGER,
    INTS,
    MASK,
    REAL,
    STATE,
    TABLE,
    VECTOR,
)

#: Statuses of trial states that lie too far away: overflow, and loops that do not close.
TOO_FAR = (layout.NOT_FINITE, layout.SINGULAR, layout.INCONSISTENT)

#: How many numbers are told of closed states.
REPORTED = 4

#: A member of an ensemble: its clock and state, and the states at output times.
Member = namedtuple("Member", "clock y times outputs")

#: Whether the system has general blocks or interactions, and whether it has rigid closures or gears: see `pair.Pair`.
LAWS, CLOSED = True, True


@helper
def accelerate(tables, moving, effort, imposed, rooms):
    """Write the accelerations of a tree under efforts, which passive ones are added to; return a status."""
    (ints, floats, _, _, law), (q, v, a), (work, multi, world) = tables, moving, rooms
    status = outward_whole(tables, State(q, v), work, world)
    if status == layout.OK:
        add_passive_efforts(ints, floats, q, v, effort)
        if law is not None:
            add_interaction_efforts(ints, law, effort, 1.0)
        status = eliminate(tables, Along(v, a, effort, imposed), work, multi, world)
    return status


@helper
def finish_rates(ints, numbers, stages, law, a, rates):
    """Write accelerations, and the rates of first-order states, into the rates of a state; return a status."""
    nq, status = ints[0, layout.NQ], layout.OK
    for k in range(a.size):
        rates[nq + k] = a[k]
    if law is not None:
        status = write_own_rates(ints, numbers, stages, law, rates)
    return status_of(rates) if status == layout.OK else status


def steps(
    asked, clock, table, y, states, rates, told, moved, imposed, gains, drives, guards, tau,
    closing, plain, tree, loops,
    ints, floats, numbers, stages,
):  # fmt: skip
    """Steps of a tree, or else of a system with rigid closures or gears, from states on these to states on these."""
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    work = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS))
    world = np.empty((ints[0, layout.ELEMENTS] if CLOSED else world_rows(ints), 12))
    nq, nv = moved.size, imposed.size
    q, v, a, effort = np.empty(nq), np.empty(nv), np.empty(nv), np.empty(nv)
    tries, used, end, rows = asked[0, TRIES], asked[0, USED], asked[0, END_STAGE], table.shape[1]
    curve = rows + asked[0, ESTIMATORS]
    method = Method(used, end, table[:rows], table[rows:curve], table[curve:])
    coefficients, held, moving, feedback = method.coefficients, (moved, imposed), (q, v, a), (gains, drives, tau)
    tables, state = Tables(ints, floats, numbers, stages, law), State(q, v)
    if CLOSED:
        step, closed, mass, efforts = np.empty(nv), np.empty(nv), np.empty((nv, nv)), np.empty(nv)
        report, precision, sizes = closing[:REPORTED], closing[REPORTED : REPORTED + 3], closing[REPORTED + 3 :]
        rooms = work, world, constrained_rooms(loops, nv, states)
        system, hybrid = ClosedTables(tables, loops), (imposed, mass, efforts)
    else:
        multi = np.empty((ints[0, layout.MULTIS], layout.MULTI_COLUMNS))
    left, first, last, looking, cuts = max(tries, 1), asked[0, FIRST], asked[0, BEHIND], False, 0
    while left > 0:
        left -= 1
        if tries > 0 and not looking:
            if clock[runge_kutta.LENGTH] <= 0.0:
                return runge_kutta.TOO_SHORT
            first = int(clock[runge_kutta.BEGUN])
            copy(y, states[0])
        h, status = clock[runge_kutta.LAST] if looking else clock[runge_kutta.LENGTH], layout.OK
        clock[runge_kutta.EVALUATIONS] += last - first
        for s in range(first, last):
            runge_kutta.combine(s, h, coefficients, states, rates)
            runge_kutta.take_state(ints, states[s], told[s], held, moving)
            runge_kutta.control(ints, floats, feedback, told[s], states[s], (q, v, effort), rates[s])
            write_rates(ints, q, v, rates[s])
            status = status_of(effort)
            if law is not None and status == layout.OK:
                status = take_own_states(ints, numbers, states[s])
            if status == layout.OK:
                if CLOSED:
                    status = constrained(system, tree, None, state, effort, rooms, hybrid, a)
                else:
                    status = accelerate(tables, moving, effort, imposed, (work, multi, world))
            if status == layout.OK:
                status = finish_rates(ints, numbers, stages, law, a, rates[s])
            if status != layout.OK:
                break
        if status == layout.OK and last < coefficients.shape[0]:
            runge_kutta.combine(last, h, coefficients, states, rates)
        if tries == 0:
            return status
        if looking:
            looking, last, given, length = False, used, (told[end], held), 0.0
            if status == layout.OK:
                made = states, rates, method
                length = switches_within(tables, made, given, moving, (work, world), clock, guards)
            if not length > exactness(clock[runge_kutta.LAST], clock[runge_kutta.TIME]):
                return NEAR
            if length < clock[runge_kutta.LAST]:
                go_back(length, clock, states, y, guards)
                cuts, left = 1, left + 1
            elif clock[runge_kutta.TIME] >= min(clock[runge_kutta.WATCH], clock[runge_kutta.END]):
                break
            continue
        is_step = runge_kutta.take_or_leave(status == layout.OK, end, clock, method.estimators, states, rates)
        if status != layout.OK:
            return status
        if is_step:
            copy(states[end], y)
            if CLOSED:
                runge_kutta.take_state(ints, y, told[end], held, moving)
                if not close(precision, sizes, plain, imposed, (system, state, (work, world)), step, closed, report):
                    return runge_kutta.LOOK_CLOSER
                if report[1] < precision[2] * report[3] or int(report[2]) != loops[0, layout.RANK]:
                    return runge_kutta.LOOK_CLOSER
                report[3] = max(report[3], report[1])
                copy(q, y[:nq])
                copy(closed, y[nq : nq + nv])
            if guards.shape[0] > 0:
                if CLOSED:
                    copy(closed, v)
                else:
                    runge_kutta.take_state(ints, y, told[end], held, moving)
                status = outward_whole(tables, state, work, world)
                if status == layout.OK:
                    status = cleared(ints, numbers, stages, law, q, v, clock[runge_kutta.LAST : runge_kutta.LAST + 1], guards)
                if status != layout.OK and status != NEAR:
                    return runge_kutta.LOOK_CLOSER
                if cuts > 0:
                    length = length_anew(cuts, clock, guards)
                    if length > 0.0:
                        go_back(length, clock, states, y, guards)
                        cuts, left = cuts + 1, left + 1
                        continue
                    cuts, status = 0, layout.OK if length == 0.0 else NEAR
                elif status == NEAR and method.curve.shape[0] > 0:
                    looking, first, last, left = True, used, coefficients.shape[0], left + 1
                    continue
                if status != layout.OK:
                    return NEAR
            if clock[runge_kutta.TIME] >= min(clock[runge_kutta.WATCH], clock[runge_kutta.END]):
                break
    return layout.OK


#: The types of all these.
_ARGUMENTS = (
    *(INTS, VECTOR, FLOATS, VECTOR, FLOATS, FLOATS, FLOATS, MASK, MASK, FLOATS, FLOATS, FLOATS, VECTOR),  # asked to tau
    *(VECTOR, INTS, INTS, INTS),  # closing to loops
    *(INTS, FLOATS, FLOATS, INTS),
)
open_steps, closed_steps = (pair(*_ARGUMENTS, closed=closed)(steps) for closed in (False, True))


@helper
def held_rate(there, bodies, state, rate, is_unit=False):
    """Write the rate of a state, whose quaternions may be unit ones, under efforts that are held; return a status."""
    (tables, tau, imposed), (q, v, a, effort, work, multi, world) = there, bodies
    ints, nq = tables.ints, tables.ints[0, layout.NQ]
    copy(state[:nq], q)
    if not is_unit:
        normalise(ints, q)
    for k in range(v.size):
        v[k], a[k], effort[k] = state[nq + k], 0.0, tau[k]
    write_rates(ints, q, v, rate)
    status = accelerate(tables, (q, v, a), effort, imposed, (work, multi, world))
    if status == layout.OK:
        copy(a, rate[nq:])
        status = status_of(rate)
    return status


@helper
def rates_of(outputs, efforts, there, bodies):
    """Turn states with unit quaternions, under efforts in rows beside them, into their rates; return a status."""
    for p in range(outputs.shape[0]):
        copy(efforts[p], there[1])
        status = held_rate(there, bodies, outputs[p], outputs[p], True)
        if status != layout.OK:
            return status
    return layout.OK


@helper
def held_stages(first, last, h, coefficients, there, rooms):
    """Write stages of a step of length h, from `first` to before `last`, and the state there; return a status."""
    bodies, (states, rates, _) = rooms
    for s in range(first, last):
        runge_kutta.combine(s, h, coefficients, states, rates)
        status = held_rate(there, bodies, states[s], rates[s])
        if status != layout.OK:
            return status
    if last < coefficients.shape[0]:
        runge_kutta.combine(last, h, coefficients, states, rates)
    return layout.OK


@helper
def begin(patient, clock, y, there, rooms):
    """Wish for the length of the first step; return a status."""
    bodies, (states, rates, _) = rooms
    copy(y, states[0])
    status = held_rate(there, bodies, y, rates[0])
    if status != layout.OK:
        return status
    h = runge_kutta.first_length(clock, y, rates[0])
    for k in range(y.size):
        states[1, k] = y[k] + h * rates[0, k]
    status = held_rate(there, bodies, states[1], rates[1])
    if status != layout.OK and not patient:
        return status
    if status != layout.OK:
        for k in range(y.size):
            rates[1, k] = np.nan
    runge_kutta.wish_first(clock, y, rates[0], rates[1], h)
    clock[runge_kutta.EVALUATIONS] += 2.0
    return layout.OK


@helper
def held_steps(tries, patient, method, member, there, rooms):
    """Make steps, to the end in the clock or until all `tries` are made; return a status. See `members`."""
    clock, y, times, outputs = member
    used, end, coefficients = method.used, method.end, method.coefficients
    _, (states, rates, within) = rooms
    rows, place = coefficients.shape[0], 0
    if everywhere(clock[runge_kutta.WISH] < 0.0):
        status = begin(patient, clock, y, there, rooms)
        if status != layout.OK:
            return status
    runge_kutta.choose_length(clock)
    for _ in range(tries):
        if everywhere(clock[runge_kutta.TIME] >= clock[runge_kutta.END]):
            break
        if not everywhere((clock[runge_kutta.LENGTH] > 0.0) | (clock[runge_kutta.TIME] >= clock[runge_kutta.END])):
            return runge_kutta.TOO_SHORT
        while place < times.size and everywhere(times[place] <= clock[runge_kutta.TIME]):
            place += 1
        h, goes = clock[runge_kutta.LENGTH], clock[runge_kutta.TIME] < clock[runge_kutta.END]
        copy(y, states[0])
        status = held_stages(0, used, h, coefficients, there, rooms)
        clock[runge_kutta.EVALUATIONS] += select(goes, used - clock[runge_kutta.BEGUN], 0.0)
        if status < layout.OK and not (status == TOO_FAR[0] or status == TOO_FAR[1] or status == TOO_FAR[2]):
            return status
        if status != layout.OK and not patient:
            return status
        is_step = runge_kutta.take_or_leave(status == layout.OK, end, clock, method.estimators, states, rates)
        for k in range(y.size):
            y[k] = select(is_step, states[end, k], y[k])
        before, t, last = clock[runge_kutta.BEFORE], clock[runge_kutta.TIME], clock[runge_kutta.LAST]
        filled, counted = False, 0.0
        for p in range(place, times.size):
            if everywhere(times[p] > t):
                break
            due = is_step & (times[p] > before) & (times[p] <= t)
            inside = due & (times[p] < t)
            copy(y, within)
            if not everywhere(select(inside, 0.0, 1.0) > 0.0):
                if not filled:
                    held_stages(used, rows, h, coefficients, there, rooms)
                filled = True
                clock[runge_kutta.EVALUATIONS] += select(inside, (rows - used) * (1.0 - counted), 0.0)
                counted = select(inside, 1.0, counted)
                runge_kutta.state_within((times[p] - before) / last, last, states, rates, method.curve, within)
            for k in range(y.size):
                outputs[p, k] = select(due, select(inside, within[k], y[k]), outputs[p, k])
    return layout.OK


@helper
def legs(tries, patient, method, control, member, there, rooms):
    """Make the steps of all legs, or so many `tries` of one; return a status."""
    plan, clock = control.plan, member.clock
    for p in range(plan.shape[0]):
        if not everywhere(clock[runge_kutta.LEG] > p):
            if plan[p, sampled_legs.SAMPLE] >= 0.0:
                sampled_legs.take_sample(p, control, member.y)
            clock[runge_kutta.LEG], clock[runge_kutta.END] = p + 1.0, plan[p, sampled_legs.UNTIL]
        if not everywhere(clock[runge_kutta.TIME] >= plan[p, sampled_legs.UNTIL]):
            sampled_legs.act(int(plan[p, sampled_legs.ACTING]), control, there[1])
            status = held_steps(tries, patient, method, member, there, rooms)
            if status != layout.OK or not everywhere(clock[runge_kutta.TIME] >= plan[p, sampled_legs.UNTIL]):
                return status
    return layout.OK


def members(
    asked, table, times, progress, clocks, y, outputs, loads, imposed,
    plan, gains, drives, signals,
    ints, tables, numbers, stages,
):  # fmt: skip
    """Steps of many members of a tree, each in its own time, along all legs of a plan.

    - `asked`: see `runge_kutta`; without tries only `rates_of` outputs are written, under efforts that stand in `signals`;
    - `table`: the rows of a method, see `runge_kutta.Method`;
    - `times`: of the `outputs` (n, times, ny), states that have not been put on their group;
    - `progress` (n, 2): statuses, a member is left alone if that is not OK; which of the `tables`, floats and numbers, is its;
    - `clocks` (n, ...): see `runge_kutta`; a negative wish is one that is not there yet;
    - `y` (n, ny); `imposed`: all False;
    - `loads` (n, ...), and `plan` to `signals` (n, ...): see `sampled_legs`.
    """
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    work = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS))
    world, multi = np.empty((world_rows(ints), 12)), np.empty((ints[0, layout.MULTIS], layout.MULTI_COLUMNS))
    tries, used, end, nv, rows = asked[0, TRIES], asked[0, USED], asked[0, END_STAGE], imposed.size, table.shape[1]
    curve = rows + asked[0, ESTIMATORS]
    method = Method(used, end, table[:rows], table[rows:curve], table[curve:])
    bodies = np.empty(ints[0, layout.NQ]), np.empty(nv), np.empty(nv), np.empty(nv), work, multi, world
    rooms = bodies, (np.empty((rows, y.shape[1])), np.empty((rows, y.shape[1])), np.empty(y.shape[1]))
    tau = np.empty(nv)
    for m in range(y.shape[0]):
        own = numbers[progress[m, 1]] if LAWS else None
        there = Tables(ints, tables[progress[m, 1]], own, stages, law), tau, imposed
        control = Control(plan, gains, drives, signals[m], loads[m])
        if tries == 0:
            progress[m, 0] = rates_of(outputs[m], signals[m], there, bodies)
        elif progress[m, 0] == layout.OK:
            member = Member(clocks[m], y[m], times, outputs[m])
            progress[m, 0] = legs(tries, True, method, control, member, there, rooms)
    return layout.OK


open_members = pair(
    *(INTS, FLOATS, VECTOR, INTS, FLOATS, FLOATS, CUBE, FLOATS, MASK),  # asked to imposed
    *(FLOATS, FLOATS, FLOATS, CUBE),  # plan to signals
    *(INTS, CUBE, CUBE, INTS),
)(members)


def lane_steps(
    asked, table, times, clock, y, outputs, loads, imposed, plan, gains, drives, signals, ints, floats, numbers, stages
):  # fmt: skip
    """The steps of `members` in lanes, or rates, with the same tables or their own; return a status.

    Steps begin together. Those up to where one has come to grief are made. Callers go on with `members`.
    """
    law = np.empty((1, ints[0, layout.LAW_SIZE]), y.dtype) if LAWS else None
    work = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS), y.dtype)
    world = np.empty((world_rows(ints), 12), y.dtype)
    multi, nq, nv = np.empty((ints[0, layout.MULTIS], layout.MULTI_COLUMNS), y.dtype), ints[0, layout.NQ], imposed.size
    tries, used, end, rows = asked[0, TRIES], asked[0, USED], asked[0, END_STAGE], table.shape[1]
    curve = rows + asked[0, ESTIMATORS]
    method = Method(used, end, table[:rows], table[rows:curve], table[curve:])
    bodies = np.empty(nq, y.dtype), np.empty(nv, y.dtype), np.empty(nv, y.dtype), np.empty(nv, y.dtype), work, multi, world
    shape, tau = (rows, y.size), np.empty(nv, y.dtype)
    rooms = bodies, (np.empty(shape, y.dtype), np.empty(shape, y.dtype), np.empty(y.size, y.dtype))
    there, control = (Tables(ints, floats, numbers, stages, law), tau, imposed), Control(plan, gains, drives, signals, loads)
    if tries == 0:
        return rates_of(outputs, signals, there, bodies)
    return legs(tries, False, method, control, Member(clock, y, times, outputs), there, rooms)


open_lane_steps = pair(
    *(INTS, FLOATS, VECTOR, CHANGED, CHANGED, CHANGED_ROWS, STATE, MASK),  # asked to imposed
    *(FLOATS, FLOATS, FLOATS, CHANGED_ROWS),  # plan to signals
    *(INTS, TABLE, TABLE, INTS),
)(lane_steps)


@entry(VECTOR, VECTOR, VECTOR)
def guess_length(clock, y, rate):
    """Guess the length of the first step, into the clock."""
    clock[runge_kutta.LENGTH] = runge_kutta.first_length(clock, y, rate)
    return layout.OK


@entry(VECTOR, VECTOR, VECTOR, VECTOR)
def choose_first(clock, y, rate, later):
    """Choose the length of the first step, by the rates at a state and `later`, a step of the guessed length on."""
    runge_kutta.wish_first(clock, y, rate, later, clock[runge_kutta.LENGTH])
    runge_kutta.choose_length(clock)
    return layout.OK


@entry(VECTOR, REAL, FLOATS, FLOATS, FLOATS, FLOATS)
def states_within(parts, h, states, rates, curve, result):
    """Write the states at parts of a step of length h, one row each."""
    for k in range(parts.size):
        runge_kutta.state_within(parts[k], h, states, rates, curve, result[k])
    return layout.OK


@entry(VECTOR)
def set_out(clock):
    """Choose the length of the next try, after the clock was set."""
    runge_kutta.choose_length(clock)
    return layout.OK


@entry(FLAG, INTEGER, VECTOR, FLOATS, FLOATS, FLOATS)
def judge(filled, end, clock, estimators, states, rates):
    """Return 1 if a try is a step, else 0; see `take_or_leave`."""
    return 1 if runge_kutta.take_or_leave(filled, end, clock, estimators, states, rates) else 0
