"""States of the first order in steps of the generalised-alpha scheme, by the trapezoidal rule: the model's and a controller's.

``x1 = x0 + h (f0 + f1) / 2``. Newton's method for the coordinates asks for x1 at every state (q, v) that it tries: a linear
controller's is found by one solution, those of the model by Newton steps of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.control.continuous_loop import ContinuousLoop
from titop.solvers.control.control_loop import ControlledModel
from titop.solvers.control.loop_signals import Command
from titop.solvers.simulation.driven_model import DrivenModel


class FirstOrderStates(NamedTuple):
    """States x of the first order and their rates (nx), and what is commanded where they are a controller's."""

    x: Array
    rate: Array
    command: Command | None = None


def model_states(plant: DrivenModel, t: float, q: Array, v: Array) -> FirstOrderStates | None:
    """Return the model's states that act on a plant now, and how they change there; None if it has none."""
    return FirstOrderStates(plant.x, plant.model.state_rates(q, v, u=plant.inputs(t, q, v))) if plant.model.nx else None


class TrapezoidalStep:
    """A step of some states.

    Parameters
    ----------
    begin : FirstOrderStates
    h : float, s
    """

    def __init__(self, begin: FirstOrderStates, h: float) -> None:
        self._begin, self._h, self._half = begin, h, 0.5 * h
        self._known = begin.x + self._half * begin.rate
        #: The inverse of ``1 - h/2 df/dx``, which damps small differences.
        self._inverse = np.eye(len(begin.x))

    def error(self, before: FirstOrderStates | None, last: float, end: FirstOrderStates, rtol: float, atol: float) -> float:
        """Return the error of the step beside tolerances, as far as the step does not damp it, by the last three rates.

        Parameters
        ----------
        before : FirstOrderStates, optional
            Where the step before began; without it, the error is not known, and zero.
        last : float, s
            The length of that step.
        end : FirstOrderStates
        rtol, atol : float
        """
        h, begin = self._h, self._begin
        if before is None or not last or not len(end.x):
            return 0.0
        bend = ((end.rate - begin.rate) / h - (begin.rate - before.rate) / last) / (0.5 * (h + last))
        scale = atol + rtol * np.maximum(np.abs(end.x), np.abs(begin.x))
        return float(np.abs(self._inverse @ (h**3 / 12 * bend) / scale).max())


class ModelStep(TrapezoidalStep):
    """A step of the model's states; see `TrapezoidalStep`."""

    def __init__(self, plant: DrivenModel, begin: FirstOrderStates, h: float) -> None:
        super().__init__(begin, h)
        self._plant, self._guess = plant, begin.x + h * begin.rate

    def end(self, t: float, q: Array, v: Array) -> FirstOrderStates:
        """Return the states where the step ends in a state, which act from now on; not numbers where none are found."""
        plant, u = self._plant, self._plant.inputs(t, q, v)
        assert u is not None
        states = plant.model.mechanism.engine.states
        x, self._inverse = states.following(q, v, u, self._known, self._guess, self._half)
        if np.isfinite(x).all():
            self._guess = x
        plant.x = x
        return FirstOrderStates(x, (x - self._known) / self._half)


class ControllerStep(TrapezoidalStep):
    """A step of the states of a continuous controller; see `TrapezoidalStep`."""

    def __init__(self, loop: ContinuousLoop, plant: ControlledModel, begin: FirstOrderStates, h: float) -> None:
        super().__init__(begin, h)
        self._loop, self._plant = loop, plant
        self._inverse = np.linalg.inv(np.eye(len(begin.x)) - self._half * loop.K.A)

    def end(self, t: float, q: Array, v: Array, a: Array) -> FirstOrderStates:
        """Return the states, and what is commanded, where the step ends in a state with accelerations `a`."""
        loop, K = self._loop, self._loop.K
        error = loop.error(self._plant, t, q, v, a)
        x = self._inverse @ (self._known + self._half * (K.B @ error))
        return FirstOrderStates(x, K.A @ x + K.B @ error, loop.command(x, error))


def cubic(first: FirstOrderStates, last: FirstOrderStates, h: float, s: float) -> Array:
    """Return states within a step of length h, the part s of it done, by a cubic."""
    change = last.x - first.x
    bend = s * (1 - s) * ((1 - s) * (h * first.rate - change) - s * (h * last.rate - change))
    between: Array = first.x + s * change + bend
    return between
