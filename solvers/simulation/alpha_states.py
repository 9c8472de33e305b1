"""States of the first order within steps of the generalised-alpha scheme: they follow by the trapezoidal rule.

``x1 = x0 + h (f0 + f1) / 2``, solved by Newton's method for every state (q, v) that a step tries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.simulation.plant import Plant


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
        self._plant, self._half = plant, 0.5 * h
        self._begun, self._guess = begin.x + self._half * begin.rate, begin.x + h * begin.rate
        self._inverse = np.eye(len(begin.x))

    def at(self, t: float, q: Array, v: Array) -> Stated:
        """Return the states where the step ends in a state, which act from now on; not numbers where none are found."""
        plant, u = self._plant, self._plant.inputs(t, q, v)
        assert u is not None
        x, self._inverse = plant.model.engine.states.following(q, v, u, self._begun, self._guess, self._half)
        if np.isfinite(x).all():
            self._guess = x
        plant.x = x
        return Stated(x, (x - self._begun) / self._half)

    def filtered(self, x: Array) -> Array:
        """Return small differences of states as far as the step does not damp them."""
        return self._inverse @ x


def following(plant: Plant, t: float, q: Array, v: Array, half: float) -> tuple[Array, Array]:
    """Return what states that follow over `half` a step (s) change of the efforts (nv, nv each), by coordinates and rates."""
    u = plant.inputs(t, q, v)
    assert u is not None
    rates, efforts = plant.model.engine.states.slopes(q, v, u)
    efforts = half * efforts @ np.linalg.inv(np.eye(plant.model.nx) - half * rates.by_x)
    return efforts @ rates.by_q, efforts @ rates.by_v
