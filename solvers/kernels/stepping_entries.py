"""The entry points of integrators: whole steps of explicit Runge-Kutta methods, and states on the closures.

As in `entries`, each returns a status.
"""

from __future__ import annotations

import math

import numpy as np

from titop.solvers.kernels.closed import constrained, constrained_rooms
from titop.solvers.kernels.closures import constraints
from titop.solvers.kernels.constrained import choose_rows, clear_where, longest_free_row
from titop.solvers.kernels.following import fold_rows, leaders_lengths, remaining
from titop.solvers.kernels.interactions import add_interaction_efforts
from titop.solvers.kernels.kinematics import write_rates
from titop.solvers.kernels.layout import (
    CONSTRAINT,
    ELEMENTS,
    FOLLOWERS,
    FORWARD_COLUMNS,
    LAW_SIZE,
    MULTI_COLUMNS,
    MULTIS,
    OK,
    RANK,
    ROWS,
    SINGULAR,
    WRONG_SIZE,
)
from titop.solvers.kernels.observe import world_poses
from titop.solvers.kernels.pair import pair
from titop.solvers.kernels.passive import add_passive_efforts
from titop.solvers.kernels.sharing import add_least, split_rows, to_nearest
from titop.solvers.kernels.stepping import combine, control, take_state
from titop.solvers.kernels.whole import eliminate, outward_whole, sizes_fit, status_of, world_rows
from titop.solvers.native.kernel import entry, helper
from titop.solvers.native.signatures import FLOATS, INTEGER, INTS, MASK, REAL, VECTOR

#: Whether the system has general blocks or interactions: see `kernel.Pair`.
LAWS = True


@pair(
    INTEGER,
    INTEGER,
    REAL,
    FLOATS,
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
    VECTOR,
    INTS,
    FLOATS,
    FLOATS,
    INTS,
)
def open_stages(
    first,
    last,
    h,
    coefficients,
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
    tau,
    ints,
    floats,
    numbers,
    stages,
):
    """The stages from `first` on to before `last` of a step of length h, of a tree; and the state at `last`, if there is one.

    `coefficients` (rows of stages) say how states follow from the `rates` before; see `stepping` for the others.
    """
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((world_rows(ints), 12))
    multi = np.empty((ints[0, MULTIS], MULTI_COLUMNS))
    nq, nv = moved.size, imposed.size
    q, v, a, effort = np.empty(nq), np.empty(nv), np.empty(nv), np.empty(nv)
    for s in range(first, last):
        combine(s, h, coefficients, states, rates)
        take_state(ints, states[s], motions[s], moved, imposed, q, v, a)
        control(ints, gains, offsets[s], limits, motors, thrust, q, v, states[s], tau, floats, effort, rates[s])
        write_rates(ints, q, v, rates[s])
        status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
        if status != OK:
            return status
        add_passive_efforts(ints, floats, q, v, effort)
        if law is not None:
            add_interaction_efforts(ints, law, effort, 1.0)
        status = eliminate(ints, floats, law, v, a, effort, imposed, work, multi, world)
        if status != OK:
            return status
        for k in range(nv):
            rates[s, nq + k] = a[k]
        status = status_of(rates[s])
        if status != OK:
            return status
    if last < coefficients.shape[0]:
        combine(last, h, coefficients, states, rates)
    return OK


@pair(
    INTEGER,
    INTEGER,
    REAL,
    FLOATS,
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
    VECTOR,
    INTS,
    INTS,
    INTS,
    FLOATS,
    FLOATS,
    INTS,
)
def closed_stages(
    first,
    last,
    h,
    coefficients,
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
    tau,
    tree,
    loops,
    ints,
    floats,
    numbers,
    stages,
):
    """`open_stages` of a system with rigid closures or gears."""
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((ints[0, ELEMENTS], 12))
    nq, n = moved.size, imposed.size
    q, v, a, effort = np.empty(nq), np.empty(n), np.empty(n), np.empty(n)
    rooms, mass, efforts = constrained_rooms(loops, n), np.empty((n, n)), np.empty(n)
    for s in range(first, last):
        combine(s, h, coefficients, states, rates)
        take_state(ints, states[s], motions[s], moved, imposed, q, v, a)
        control(ints, gains, offsets[s], limits, motors, thrust, q, v, states[s], tau, floats, effort, rates[s])
        write_rates(ints, q, v, rates[s])
        status = constrained(
            tree, loops, imposed, ints, floats, numbers, stages, law, q, v, effort, work, world, rooms, mass, efforts, a
        )
        if status != OK:
            return status
        for j in range(n):
            rates[s, nq + j] = a[j]
        status = status_of(rates[s])
        if status != OK:
            return status
    if last < coefficients.shape[0]:
        combine(last, h, coefficients, states, rates)
    return OK


@entry(INTEGER, REAL, REAL, REAL, FLOATS, FLOATS, FLOATS, result=REAL)
def step_error(last, h, rtol, atol, estimators, states, rates):
    """Return the error of a step beside its tolerances, by one or two `estimators` (rows of stages), as scipy's methods do."""
    n, high, low = states.shape[1], 0.0, 0.0
    for k in range(n):
        scale = atol + rtol * max(abs(states[0, k]), abs(states[last, k]))
        for e in range(estimators.shape[0]):
            total = 0.0
            for s in range(estimators.shape[1]):
                if estimators[e, s] != 0.0:
                    total += estimators[e, s] * rates[s, k]
            total /= scale
            if e == 0:
                high += total * total
            else:
                low += total * total
    if high == 0.0 and low == 0.0:
        return 0.0
    return abs(h) * high / math.sqrt((high + 0.01 * low) * n)


@helper
def last_of(folded, lengths, largest, rest, squares, before):
    """Return what is left of the row that follows those `before` it, over the largest (`independence`); `before` is room."""
    first = 0.0
    for i in range(folded.shape[0]):
        square = 0.0
        for j in range(folded.shape[1]):
            square += (folded[i, j] / lengths[j]) ** 2
        first = max(first, square)
    choose_rows(folded, lengths, largest, rest, squares, before)
    left = 0.0
    for i in range(folded.shape[0]):
        left = max(left, squares[i])
    return math.sqrt(left / max(largest, first))


@pair(VECTOR, MASK, INTS, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR)
def close_state(sizes, imposed, loops, ints, floats, numbers, stages, q, v, step, closed, told):
    """The step (nv) that closes the loops at q to first order, and the velocity `closed` next to v that keeps them so there.

    Coordinates that are `imposed` are held; distances are over the coordinates' `sizes`. As many constraints act as `loops`
    say. `told` receives the largest error, what is left of the last constraint that acts beside the others, over the largest,
    and how many are independent.
    """
    if not sizes_fit(ints, q, v, step, closed):
        return WRONG_SIZE
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work, world = np.zeros((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((ints[0, ELEMENTS], 12))
    status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
    if status != OK:
        return status
    n, k, followers = v.size, loops[0, ROWS], loops[0, FOLLOWERS]
    m, more = k - followers, max(0, min(loops[0, RANK], k, n) - followers)
    jacobian, room, sides = np.empty((k, n)), np.empty((2 * m, n)), np.empty((3, k))
    lengths, chosen, which = np.empty(n), np.empty(min(m, n), np.int64), np.empty(k, np.int64)
    error, folded = sides[0], room[:m]
    world_poses(ints, law, work, world)
    constraints(ints, floats, law, loops, q, v, work, world, error, jacobian, sides[1])
    told[0] = 0.0
    for c in range(k):
        told[0] = max(told[0], abs(error[c]))
    fold_rows(loops, floats, jacobian, folded)
    leaders_lengths(loops, floats, lengths)
    for c in range(m):
        clear_where(imposed, folded[c])
    largest = longest_free_row(jacobian, imposed)
    independent = followers + choose_rows(folded, lengths, largest, room[m:], sides[2], chosen)
    count = min(independent, followers + more)
    for c in range(count):
        which[c] = loops[1 + c, CONSTRAINT] if c < followers else remaining(loops, chosen[c - followers])
    told[1], told[2] = 1.0, float(independent)
    if count < followers + more:
        told[1] = 0.0
    elif more > 0:
        told[1] = last_of(folded, lengths, largest, room[m:], sides[2], chosen[: more - 1])
    split, taken, _ = split_rows(jacobian, which[:count], sizes, imposed)
    if taken < 0:
        return SINGULAR
    right, least = np.empty((count, 1)), np.zeros((n, 1))
    for c in range(count):
        right[c, 0] = -error[which[c]]
    add_least(split, 0, taken, right, least)
    for j in range(n):
        step[j] = 0.0 if imposed[j] else sizes[j] * least[j, 0]
        closed[j] = v[j]
    status = to_nearest(split, taken, jacobian, error, False, sizes, imposed, v, closed)
    return status if status != OK else min(status_of(step), status_of(closed))
