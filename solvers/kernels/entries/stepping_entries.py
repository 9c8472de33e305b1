"""The entry points of integrators: whole steps of explicit Runge-Kutta methods, and what is made of them.

As in `dynamics_entries`, each returns a status. What `open_steps` and `closed_steps` take first is

- `tries`: how many steps to try at most; or zero: then only stages are filled in, of a step of the length in the `clock`, from
  `first` on to before `last`, and the state at `last`, if there is one;
- `first`, `last`, `end`: the first stage, the one behind those that the error needs, the one whose state is that at the end;
- `watch`: a time (s); the first step that reaches it is the last one;
- `clock`: see `runge_kutta`; `estimators` of the error; `coefficients`, rows of stages: how states follow from rates before;
- `curve`: the states within a step, powers of the part that has passed from the first on, by factors of all rates: there gaps
  that come near zero are looked at; no rows where callers do so;
- `y`: the state that is reached; `states` and `rates`: rows of stages, of the last step or try;
- `motions`, `moved`, `imposed`, and `gains` to `thrust`: what is imposed and what a controller does, see `runge_kutta`;
- `guards`: gaps that are guarded, see `titop.solvers.kernels.ports.guards`; `tau`: efforts.

`closed_steps`, of systems with rigid closures or gears, goes from states on these to states on these, and takes as well

- `precision` as for `close`, and behind that the part of the largest distance from a singular configuration below which others
  look closer; `sizes` and `plain` as for `close`;
- `told` as for `closing_step`, and behind that the largest distance from a singular configuration so far;
- `tree` and `loops` as for `constrained`.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.closures.closed_passes import constrained, constrained_rooms
from titop.solvers.kernels.closures.closing import close
from titop.solvers.kernels.entries import runge_kutta
from titop.solvers.kernels.entries.gap_entries import go_back, length_anew, switches_within
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.whole_passes import eliminate, outward_whole, status_of, world_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports.guards import NEAR, cleared, exactness
from titop.solvers.kernels.ports.interactions import add_interaction_efforts, take_own_states, write_own_rates
from titop.solvers.kernels.spatial.algebra import copy
from titop.solvers.kernels.tree.kinematics import write_rates
from titop.solvers.kernels.tree.springs import add_passive_efforts
from titop.solvers.native.kernel import entry
from titop.solvers.native.signatures import FLAG, FLOATS, INTEGER, INTS, MASK, REAL, VECTOR

#: Whether the system has general blocks or interactions, and whether it has rigid closures or gears: see `pair.Pair`.
LAWS, CLOSED = True, True


def steps(
    tries, first, last, end, watch, clock, estimators, coefficients, curve,
    y, states, rates, motions, moved, imposed,
    gains, offsets, limits, motors, thrust, guards, tau,
    precision, sizes, plain, told, tree, loops,
    ints, floats, numbers, stages,
):  # fmt: skip
    """Steps of a tree, or else of a system with rigid closures or gears, from states on these to states on these."""
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    work = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS))
    world = np.empty((ints[0, layout.ELEMENTS] if CLOSED else world_rows(ints), 12))
    nq, nv = moved.size, imposed.size
    q, v, a, effort = np.empty(nq), np.empty(nv), np.empty(nv), np.empty(nv)
    if CLOSED:
        step, closed, mass, efforts = np.empty(nv), np.empty(nv), np.empty((nv, nv)), np.empty(nv)
        rooms = work, world, constrained_rooms(loops, nv, states)
    else:
        multi = np.empty((ints[0, layout.MULTIS], layout.MULTI_COLUMNS))
    left, used, looking, cuts = max(tries, 1), last, False, 0
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
            runge_kutta.take_state(ints, states[s], motions[s], moved, imposed, q, v, a)
            runge_kutta.control(ints, gains, offsets[s], limits, motors, thrust, q, v, states[s], tau, floats, effort, rates[s])
            write_rates(ints, q, v, rates[s])
            status = status_of(effort)
            if law is not None and status == layout.OK:
                status = take_own_states(ints, numbers, states[s])
            if CLOSED:
                if status == layout.OK:
                    status = constrained(
                        tree, loops, imposed, ints, floats, numbers, stages, law, None, q, v, effort, rooms, mass, efforts, a
                    )
            else:
                if status == layout.OK:
                    status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
                if status == layout.OK:
                    add_passive_efforts(ints, floats, q, v, effort)
                    if law is not None:
                        add_interaction_efforts(ints, law, effort, 1.0)
                    status = eliminate(ints, floats, law, v, a, effort, imposed, work, multi, world)
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
            runge_kutta.combine(last, h, coefficients, states, rates)
        if tries == 0:
            return status
        if looking:
            looking, last, given, length = False, used, (motions[end], moved, imposed), 0.0
            if status == layout.OK:
                length = switches_within(
                    ints, floats, numbers, stages, law, states, rates, curve, given, q, v, a, work, world, clock, guards
                )
            if not length > exactness(clock[runge_kutta.LAST], clock[runge_kutta.TIME]):
                return NEAR
            if length < clock[runge_kutta.LAST]:
                go_back(length, clock, states, y, guards)
                cuts, left = 1, left + 1
            elif clock[runge_kutta.TIME] >= min(watch, clock[runge_kutta.END]):
                break
            continue
        is_step = runge_kutta.take_or_leave(status == layout.OK, end, clock, estimators, states, rates)
        if status != layout.OK:
            return status
        if is_step:
            copy(states[end], y)
            if CLOSED:
                runge_kutta.take_state(ints, y, motions[end], moved, imposed, q, v, a)
                there = ints, floats, numbers, stages, law, q, v, work, world
                if not close(precision, sizes, plain, imposed, loops, there, step, closed, told):
                    return runge_kutta.LOOK_CLOSER
                if told[1] < precision[2] * told[3] or int(told[2]) != loops[0, layout.RANK]:
                    return runge_kutta.LOOK_CLOSER
                told[3] = max(told[3], told[1])
                copy(q, y[:nq])
                copy(closed, y[nq : nq + nv])
            if guards.shape[0] > 0:
                if CLOSED:
                    copy(closed, v)
                else:
                    runge_kutta.take_state(ints, y, motions[end], moved, imposed, q, v, a)
                status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
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
                elif status == NEAR and curve.shape[0] > 0:
                    looking, first, last, left = True, used, coefficients.shape[0], left + 1
                    continue
                if status != layout.OK:
                    return NEAR
            if clock[runge_kutta.TIME] >= min(watch, clock[runge_kutta.END]):
                break
    return layout.OK


#: The types of all these.
_ARGUMENTS = (
    *(INTEGER, INTEGER, INTEGER, INTEGER, REAL, VECTOR, FLOATS, FLOATS, FLOATS),  # tries to curve
    *(VECTOR, FLOATS, FLOATS, FLOATS, MASK, MASK),  # y to imposed
    *(FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, VECTOR),  # gains to tau
    *(VECTOR, VECTOR, INTS, VECTOR, INTS, INTS),  # precision to loops
    *(INTS, FLOATS, FLOATS, INTS),
)
open_steps, closed_steps = (pair(*_ARGUMENTS, closed=closed)(steps) for closed in (False, True))


@entry(VECTOR)
def set_out(clock):
    """Choose the length of the next try, after the clock was set."""
    runge_kutta.choose_length(clock)
    return layout.OK


@entry(FLAG, INTEGER, VECTOR, FLOATS, FLOATS, FLOATS)
def judge(filled, end, clock, estimators, states, rates):
    """Return 1 if a try is a step, else 0; see `take_or_leave`."""
    return 1 if runge_kutta.take_or_leave(filled, end, clock, estimators, states, rates) else 0
