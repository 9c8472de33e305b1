"""What a step of an explicit Runge-Kutta method does at each of its stages, but for the dynamics.

A state is ``y = [q, v, x]``, x the states of a linear controller, or of interactions: never of both. What acts is the same at
all stages, but for motions that are imposed and for what a controller is told from outside, which have a row for each stage.
A controller answers to ``z = [q, v, x]`` with ``gains z + offset``: inputs within limits, efforts, and the rates of x.
"""

from __future__ import annotations

import math
from collections import namedtuple

from titop.blocks.basics.choices import select
from titop.blocks.basics.tolerances import NEGLIGIBLE, TINY, TYPED
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.tree.kinematics import normalise
from titop.solvers.native.kernel import helper


@helper
def combine(s, h, coefficients, states, rates):
    """Write the state at stage s, a step of length h from the first: four sums at a time, which do not wait for each other."""
    n = states.shape[1]
    rest = n % 4
    for k in range(0, n - rest, 4):
        a = b = c = d = 0.0
        for j in range(s):
            part = coefficients[s, j]
            if part != 0.0:
                a += part * rates[j, k]
                b += part * rates[j, k + 1]
                c += part * rates[j, k + 2]
                d += part * rates[j, k + 3]
        states[s, k] = states[0, k] + h * a
        states[s, k + 1] = states[0, k + 1] + h * b
        states[s, k + 2] = states[0, k + 2] + h * c
        states[s, k + 3] = states[0, k + 3] + h * d
    for k in range(n - rest, n):
        total = 0.0
        for j in range(s):
            if coefficients[s, j] != 0.0:
                total += coefficients[s, j] * rates[j, k]
        states[s, k] = states[0, k] + h * total


@helper
def take_state(ints, state, motion, held, moving):
    """Read q, with unit quaternions, and v of what is `moving`, q, v and a; of what is imposed all from a `motion` [q, v, a].

    `held` are the entries of q and of v that are imposed.
    """
    nq, nv, (moved, imposed), (q, v, a) = ints[0, layout.NQ], ints[0, layout.NV], held, moving
    for k in range(nq):
        q[k] = state[k]
    normalise(ints, q)
    for k in range(nq):
        if moved[k]:
            q[k] = motion[k]
    for k in range(nv):
        v[k] = motion[nq + k] if imposed[k] else state[nq + k]
        a[k] = motion[nq + nv + k] if imposed[k] else 0.0


@helper
def control(ints, floats, feedback, told, state, moving, rate):
    """Write all efforts, tau and a controller's, the wrenches of its inputs (into the last loads), and the rates of x.

    `feedback` are its gains, its `drives` (2 + nv + 6 n x nu), the ranges, efforts and wrenches of inputs, and tau; `told` is
    what is imposed, and the offset behind that; `moving` are q, v and the efforts.
    """
    (gains, drives, tau), (q, v, effort) = feedback, moving
    nq, nv, nu = ints[0, layout.NQ], ints[0, layout.NV], drives.shape[1]
    for k in range(nv):
        effort[k] = tau[k]
    thrust = 2 + nv
    wrenches = drives.shape[0] - thrust
    first = floats.shape[0] - wrenches // 6
    for k in range(wrenches):
        floats[first + k // 6, layout.FORCE + k % 6] = 0.0
    for i in range(gains.shape[0]):
        value = told[nq + 2 * nv + i]
        for k in range(nq):
            value += gains[i, k] * q[k]
        for k in range(nv):
            value += gains[i, nq + k] * v[k]
        for k in range(nq + nv, state.size):
            value += gains[i, k] * state[k]
        if i < nu:
            value = min(max(value, drives[0, i]), drives[1, i])
            for k in range(nv):
                effort[k] += drives[2 + k, i] * value
            for k in range(wrenches):
                floats[first + k // 6, layout.FORCE + k % 6] += drives[thrust + k, i] * value
        elif i < nu + nv:
            effort[i - nu] += value
        else:
            rate[nq + i - nu] = value


TIME = 0  # that is reached
END = 1  # where a step has to end
LENGTH = 2  # of the next try; zero if that is too short to count
WISH = 3  # the length that suits the error
GROWTH = 4  # the most that a step may be longer than the one before
LONGEST = 5
RTOL = 6
EXPONENT = 7  # of the error in the length of the next step
BEGUN = 8  # how many stages of the next try are there from the one before
BEFORE = 9  # where the last step began
LAST = 10  # and its length
STEPS = 11  # counted
EVALUATIONS = 12
LEG = 13  # how many legs have begun, see `sampled_legs`
WATCH = 14  # the first step that reaches it is the last one
ATOL = 15  # of the first entry of a state; those of the others follow

#: A method: the first stage behind those that the error needs, the one whose state is that at the end, and its rows of stages:
#: how states follow from rates before, estimators of the error, and states within a step (see `read_method`).
Method = namedtuple("Method", "used end coefficients estimators curve")
#: What callers ask of integrators, in the columns of a row: how many steps to try at most; of the method; or else, without
#: tries, which stages to fill in: of a step of the length in the clock, and the state at the last of them, if there is one.
TRIES, USED, END_STAGE, ESTIMATORS, FIRST, BEHIND, ASKED = range(7)

#: Further status codes, beside `guards.NEAR`, with which a step is made that ends on the closures: steps became too short to
#: count; a step is made whose state has to be put on the closures with care.
TOO_SHORT = -7
LOOK_CLOSER = -8

#: Limits of the next step's length over the last one's, and what is left off for safety.
_LEAST, MOST, _SAFETY = 0.2, 10.0, 0.9
#: Of a first step: what counts as no size or speed, over the tolerances; and its length (s) where these tell nothing.
_LITTLE = _BLIND = TYPED
#: The shortest step over the time that is reached.
_SHORTEST = 10 * 2.0**-52


@helper
def choose_length(clock):
    """Choose the length of the next try: it suits the error, and steps before the end are not shorter than the last of them."""
    wish, shortest, rest = min(clock[WISH], clock[LONGEST]), _SHORTEST * abs(clock[TIME]), clock[END] - clock[TIME]
    raised = select(wish < shortest, select(clock[GROWTH] > 1.0, shortest, 0.0), 0.0)
    wish = select(wish >= shortest, wish, raised)  # what is not a number is no wish
    clock[LENGTH] = select(wish >= rest, rest, select(2.0 * wish > rest, 0.5 * rest, wish))


@helper
def first_length(clock, y, rate):
    """Return a first guess of a step's length: one part in a hundred of the time in which the state y changes by itself."""
    size, speed = _weighed(clock, y, y), _weighed(clock, y, rate)
    small = (size < _LITTLE) | (speed < _LITTLE)
    return min(select(small, _BLIND, 0.01 * size / select(small, 1.0, speed)), clock[END] - clock[TIME])


@helper
def wish_first(clock, y, rate, later, h):
    """Wish for the length of the first step, from the rates at the state y and `later`, an Euler step of length h on.

    As Hairer, Norsett and Wanner choose it: Solving Ordinary Differential Equations I, section II.4.
    """
    speed, bend = _weighed(clock, y, rate), 0.0
    for k in range(y.size):
        part = (later[k] - rate[k]) / (clock[ATOL + k] + clock[RTOL] * abs(y[k]))
        bend += part * part
    bend = math.sqrt(bend / y.size) / h
    most = select(bend > speed, bend, speed)
    slow = most <= TINY
    suits = select(slow, max(_BLIND, NEGLIGIBLE * h), (0.01 / select(slow, 1.0, most)) ** -clock[EXPONENT])
    clock[WISH] = min(min(100.0 * h, suits), min(clock[END] - clock[TIME], clock[LONGEST]))


@helper
def _weighed(clock, y, values):
    """Return the root mean square of values over the tolerances at a state y."""
    total = 0.0
    for k in range(y.size):
        part = values[k] / (clock[ATOL + k] + clock[RTOL] * abs(y[k]))
        total += part * part
    return math.sqrt(total / y.size)


@helper
def error_of(last, clock, estimators, states, rates):
    """Return the error of a try beside its tolerances, by one or two `estimators` (rows of stages), as scipy's methods do."""
    n, high, low = states.shape[1], 0.0, 0.0
    for k in range(n):
        scale = clock[ATOL + k] + clock[RTOL] * max(abs(states[0, k]), abs(states[last, k]))
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
    exact = (high == 0.0) & (low == 0.0)
    return select(exact, 0.0, clock[LENGTH] * high / select(exact, 1.0, math.sqrt((high + 0.01 * low) * n)))


@helper
def take_or_leave(filled, last, clock, estimators, states, rates):
    """Tell whether a try, whose stages are `filled` with finite numbers, is a step; choose the length of the next.

    A clock that has reached its end stays as it is.
    """
    error = error_of(last, clock, estimators, states, rates) if filled else math.inf
    goes = clock[TIME] < clock[END]
    is_step = goes & (error < 1.0)
    suits = _SAFETY * select(error > 0.0, error, 1.0) ** clock[EXPONENT]
    suits = select(error < math.inf, select(error > 0.0, suits, math.inf), 0.0)
    most = max(clock[GROWTH] * clock[LENGTH], clock[WISH])  # what was cut short to end in time says nothing
    wish = select(is_step, min(clock[LENGTH] * suits, most), clock[LENGTH] * max(_LEAST, suits))
    clock[WISH], clock[GROWTH] = select(goes, wish, clock[WISH]), select(goes, select(is_step, MOST, 1.0), clock[GROWTH])
    clock[BEGUN] = select(is_step, 0.0, select(goes, 1.0 if filled else 0.0, clock[BEGUN]))
    clock[BEFORE], clock[LAST] = select(is_step, clock[TIME], clock[BEFORE]), select(is_step, clock[LENGTH], clock[LAST])
    reached = select(clock[LENGTH] >= clock[END] - clock[TIME], clock[END], clock[TIME] + clock[LENGTH])
    clock[TIME] = select(is_step, reached, clock[TIME])
    clock[STEPS] += select(is_step, 1.0, 0.0)
    choose_length(clock)
    return is_step


@helper
def state_within(x, h, states, rates, curve, state):
    """Write the state at the part x of a step of length h, from the rates of all its stages."""
    for k in range(state.size):
        state[k] = states[0, k]
    power = h
    for p in range(curve.shape[0]):
        power *= x
        for s in range(curve.shape[1]):
            weight = power * curve[p, s]
            for k in range(state.size):
                state[k] += weight * rates[s, k]
