"""Continuous controllers within steps of implicit integrators: their states follow by the trapezoidal rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.control.commands import Command

if TYPE_CHECKING:
    from titop.solvers.control.control_loop import ContinuousLoop, Plant


class Answer(NamedTuple):
    """What a controller has come to: its states x and their rates (nx), and what it commands."""

    x: Array
    rate: Array
    command: Command


class TrapezoidalStep:
    """A step of a controller's states, which ends where the outputs at its end let it: ``x1 = x0 + h (f0 + f1) / 2``.

    Parameters
    ----------
    loop : ContinuousLoop
    plant : Plant
    x, rate : (nx,) arrays
        States and their rates at the beginning.
    h : float, s
    """

    def __init__(self, loop: ContinuousLoop, plant: Plant, x: Array, rate: Array, h: float) -> None:
        self._loop, self._plant, self._half = loop, plant, 0.5 * h
        self._begun = x + self._half * rate
        self._solved = np.linalg.inv(np.eye(len(x)) - self._half * loop.K.A)

    def answer(self, t: float, q: Array, v: Array, a: Array) -> Answer:
        """Return what the controller comes to where the step ends in a state with accelerations `a`."""
        loop, K = self._loop, self._loop.K
        error = loop.error(self._plant, t, q, v, a)
        x = self._solved @ (self._begun + self._half * (K.B @ error))
        return Answer(x, K.A @ x + K.B @ error, loop.command(x, error))

    def filtered(self, x: Array) -> Array:
        """Return small differences of x as far as the step does not damp them."""
        return self._solved @ x
