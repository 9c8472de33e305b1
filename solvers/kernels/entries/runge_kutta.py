"""What a step of an explicit Runge-Kutta method does at each of its stages, but for the dynamics.

A state is ``y = [q, v, x]``, x the states of a linear controller, or of interactions: never of both. What acts is the same at
all stages, but for motions that are imposed and for what a controller is told from outside, which have a row for each stage.
A controller answers to ``z = [q, v, x]`` with ``gains z + offset``: inputs within limits, efforts, and the rates of x.
"""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.tree.kinematics import normalise
from titop.solvers.native.kernel import helper


@helper
def combine(s, h, coefficients, states, rates):
    """Write the state at stage s, a step of length h from the first."""
    for k in range(states.shape[1]):
        total = 0.0
        for j in range(s):
            total += coefficients[s, j] * rates[j, k]
        states[s, k] = states[0, k] + h * total


@helper
def take_state(ints, state, motion, moved, imposed, q, v, a):
    """Read q, with unit quaternions, and v from a state; what is imposed, and its accelerations, from a `motion` [q, v, a]."""
    nq, nv = ints[0, layout.NQ], ints[0, layout.NV]
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
def control(ints, gains, offset, limits, motors, thrust, q, v, state, tau, floats, effort, rate):
    """Write all efforts, `tau` and a controller's, the wrenches of its inputs (into the last loads), and the rates of x.

    `limits` (2 x nu) hold the inputs' ranges, `motors` (nv x nu) their efforts, `thrust` (6 n x nu) their wrenches.
    """
    nq, nv, nu = ints[0, layout.NQ], ints[0, layout.NV], limits.shape[1]
    for k in range(nv):
        effort[k] = tau[k]
    first = floats.shape[0] - thrust.shape[0] // 6
    for k in range(thrust.shape[0]):
        floats[first + k // 6, layout.FORCE + k % 6] = 0.0
    for i in range(gains.shape[0]):
        value = offset[i]
        for k in range(nq):
            value += gains[i, k] * q[k]
        for k in range(nv):
            value += gains[i, nq + k] * v[k]
        for k in range(nq + nv, state.size):
            value += gains[i, k] * state[k]
        if i < nu:
            value = min(max(value, limits[0, i]), limits[1, i])
            for k in range(nv):
                effort[k] += motors[k, i] * value
            for k in range(thrust.shape[0]):
                floats[first + k // 6, layout.FORCE + k % 6] += thrust[k, i] * value
        elif i < nu + nv:
            effort[i - nu] += value
        else:
            rate[nq + i - nu] = value
