"""First-order states in steps of the generalised-alpha scheme, by the trapezoidal rule: the model's and a controller's.

``x1 = x0 + h (f0 + f1) / 2``. Newton's method for the coordinates needs x1 at every state (q, v) that it tries: that of a
linear controller is the solution of linear equations, those of the model follow by inner Newton steps.
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
    """First-order states x and their rates (nx), and the command if they are a controller's."""

    x: Array
    rate: Array
    command: Command | None = None


def model_states(plant: DrivenModel, t: float, q: Array, v: Array) -> FirstOrderStates | None:
    """Return the model's first-order states in effect on a plant, and their rates; None if it has none."""
    return FirstOrderStates(plant.x, plant.model.state_rates(q, v, u=plant.inputs(t, q, v))) if plant.model.nx else None


class TrapezoidalStep:
    """A step of some first-order states.

    Parameters
    ----------
    h : float, s
    """

    def __init__(self, begin: FirstOrderStates, h: float) -> None:
        self._begin, self._h, self._half = begin, h, 0.5 * h
        self._known = begin.x + self._half * begin.rate
        #: The inverse of ``1 - h/2 df/dx``, which damps small differences.
        self._inverse = np.eye(len(begin.x))

    def error(self, before: FirstOrderStates | None, last: float, end: FirstOrderStates, rtol: float, atol: float) -> float:
        """Return the error of the step relative to the tolerances, after damping by the step, from the last three rates.

        Parameters
        ----------
        before : FirstOrderStates, optional
            The beginning of the step before; without it the error is unknown, and zero is returned.
        last : float, s
            The length of the step before.
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
        """Return the states where the step ends with q and v, and put them into effect; NaN if none are found."""
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
        self._inverse: Array = np.linalg.inv(np.eye(len(begin.x)) - self._half * loop.K.A)

    def end(self, t: float, q: Array, v: Array, a: Array) -> FirstOrderStates:
        """Return the states, and the command, where the step ends with q, v and accelerations `a`."""
        loop, K = self._loop, self._loop.K
        error = loop.error(self._plant, t, q, v, a)
        x = self._inverse @ (self._known + self._half * (K.B @ error))
        return FirstOrderStates(x, K.A @ x + K.B @ error, loop.command(x, error))


def cubic(first: FirstOrderStates, last: FirstOrderStates, h: float, s: float) -> Array:
    """Return the states within a step of length h, after the part s of it, by a cubic."""
    change = last.x - first.x
    bend = s * (1 - s) * ((1 - s) * (h * first.rate - change) - s * (h * last.rate - change))
    between: Array = first.x + s * change + bend
    return between
