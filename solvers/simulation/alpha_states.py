"""States of the first order within steps of the generalised-alpha scheme: they follow by the trapezoidal rule.

``x1 = x0 + h (f0 + f1) / 2``, solved by Newton's method for every state (q, v) that a step tries, block by block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction, rates_by_states
from titop.solvers.constraints.interaction_loads import read_rates, stated_motions
from titop.solvers.simulation.plant import Plant

#: Iterations, and after how many of them derivatives are found anew.
_ITERATIONS, _RENEWED = 30, 3
#: Changes below this part of the states are none.
_ROUNDED = 1e-12


class Stated(NamedTuple):
    """States of the first order (nx) and their rates."""

    x: Array
    rate: Array


def stated_at(plant: Plant, t: float, q: Array, v: Array) -> Stated | None:
    """Return the states that act on a plant now, and how they change there; None if it has none."""
    return Stated(plant.x, plant.model.state_rates(q, v, u=plant.inputs(t, q, v))) if plant.model.nx else None


class StateStep:
    """A step of the states.

    Parameters
    ----------
    plant : Plant
    begin : Stated
    h : float, s
    """

    def __init__(self, plant: Plant, begin: Stated, h: float) -> None:
        self._plant, self._half, self._places = plant, 0.5 * h, dict(plant.model.inputs.states)
        self._begun, self._guess = begin.x + self._half * begin.rate, begin.x + h * begin.rate
        self._solved = np.eye(len(begin.x))

    def at(self, t: float, q: Array, v: Array) -> Stated:
        """Return the states where the step ends in a state, which act from now on; not numbers where none are found."""
        plant, x = self._plant, np.empty(len(self._begun))
        for loop, motion in stated_motions(plant.model, q, v, plant.inputs(t, q, v)):
            own = self._places[loop.closure.name]
            x[own] = self._own(loop.closure, motion, own)
        if np.isfinite(x).all():
            self._guess = x
        plant.x = x
        return Stated(x, (x - self._begun) / self._half)

    def _own(self, interaction: Interaction, motion: TargetMotion, own: slice) -> Array:
        """Return the states of one interaction."""
        x, begun = self._guess[own], self._begun[own]
        solved: Array = np.zeros(0)
        for iteration in range(_ITERATIONS):
            at = motion._replace(x=x)
            if iteration % _RENEWED == 0:
                solved = np.linalg.inv(np.eye(len(x)) - self._half * rates_by_states(interaction, at))
            change = solved @ (x - begun - self._half * read_rates(interaction, at))
            x = x - change
            if (np.abs(change) <= _ROUNDED * np.maximum(np.abs(x), np.abs(begun))).all():
                self._solved[own, own] = solved
                return x
        return np.full(len(x), np.nan)

    def filtered(self, x: Array) -> Array:
        """Return small differences of states as far as the step does not damp them."""
        return self._solved @ x


def following(plant: Plant, t: float, q: Array, v: Array, half: float) -> tuple[Array, Array]:
    """Return what states that follow over `half` a step (s) change of the efforts (nv, nv each), by coordinates and rates."""
    u = plant.inputs(t, q, v)
    rates = plant.model.state_rates_derivatives(q, v, u=u)
    efforts = half * plant.model.state_efforts(q, v, u=u) @ np.linalg.inv(np.eye(plant.model.nx) - half * rates.by_x)
    return efforts @ rates.by_q, efforts @ rates.by_v
