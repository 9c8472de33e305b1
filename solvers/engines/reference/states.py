"""First-order states by the interactions' own functions, and complex steps through these."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction, rates_by_driving, rates_by_motion
from titop.solvers.constraints.interaction_loads import efforts_by_states, read_rates, stated_motions, target_derivatives
from titop.solvers.constraints.mechanism import StateDerivatives
from titop.solvers.model.mechanism import Mechanism

#: Number of Newton's iterations, and after how many of them derivatives are computed again.
_ITERATIONS, _RENEWED = 30, 3


class ReferenceStates:
    """The first-order states of the reference engine; see `StatesCore` for its functions."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism

    def rates(self, q: Array, v: Array, u: Array) -> Array:
        motions = stated_motions(self._mechanism, q, v, u)
        return np.concatenate([np.zeros(0), *(read_rates(loop.closure, motion) for loop, motion in motions)])

    def slopes(self, q: Array, v: Array, u: Array) -> tuple[StateDerivatives, Array]:
        inputs, nv = self._mechanism.inputs, self._mechanism.nv
        nx, places, driving = len(inputs.state_names), dict(inputs.states), dict(inputs.driving)
        by_state, by_w, efforts = np.zeros((nx, 2 * nv)), np.zeros((nx, inputs.count)), np.zeros((nv, nx))
        for loop, motion in stated_motions(self._mechanism, q, v, u):
            rows = places[loop.closure.name]
            by_state[rows] = rates_by_motion(loop.closure, motion) @ target_derivatives(self._mechanism, loop, q, v, motion)
            by_w[rows, driving[loop.closure.name]] = rates_by_driving(loop.closure, motion)
            efforts[:, rows] = efforts_by_states(self._mechanism, loop, q, motion)
        parts = *np.split(by_state, 2, axis=1), *np.split(by_w, [len(inputs.names)], axis=1)
        return StateDerivatives(*parts), efforts

    def following(self, q: Array, v: Array, u: Array, begun: Array, guess: Array, half: float) -> tuple[Array, Array]:
        x, inverse, places = np.empty(len(guess)), np.zeros((len(guess),) * 2), dict(self._mechanism.inputs.states)
        for loop, motion in stated_motions(self._mechanism, q, v, u):
            rows = places[loop.closure.name]
            x[rows], inverse[rows, rows] = _solve_step(loop.closure, motion, begun[rows], guess[rows], half)
        return x, inverse


def _solve_step(interaction: Interaction, motion: TargetMotion, begun: Array, x: Array, half: float) -> tuple[Array, Array]:
    """Return the states of one interaction, and the inverse: see `StatesCore.following`."""
    inverse: Array = np.eye(len(x))
    m = len(motion.u)
    for iteration in range(_ITERATIONS):
        at = motion._replace(x=x)
        if iteration % _RENEWED == 0:
            inverse = np.linalg.inv(np.eye(len(x)) - half * rates_by_driving(interaction, at)[:, m:])
        change = inverse @ (x - begun - half * read_rates(interaction, at))
        x = x - change
        if np.abs(change).max() <= EXACT * np.abs([x, begun]).max():
            return x, inverse
    return np.full(len(x), np.nan), inverse
