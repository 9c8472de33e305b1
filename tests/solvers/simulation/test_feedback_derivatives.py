"""Slopes of feedback, in other units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.solvers.scaled_systems import SI, UNITS, Units, pendulum_on_a_slider
from tests.systems import Array
from titop.solvers.mechanism.inputs import PortPush
from titop.solvers.simulation import feedback_derivatives as feedback
from titop.solvers.simulation.feedback_derivatives import feedback_derivatives


class Servo:
    """What `feedback_derivatives` asks of a plant: a cart with a pendulum, held by a servo that hardens in its own length."""

    def __init__(self, units: Units) -> None:
        self.model, self.units = pendulum_on_a_slider(units), units

    def loads(self, t: float, q: Array, v: Array) -> tuple[Array, list[Any]]:
        x, rate = q[0] / self.units.length, v[0] * self.units.time / self.units.length
        force = self.units.effort / self.units.length
        return np.array([-force * (5.0 * np.sinh(x) + 0.3 * np.tanh(rate)), 0.0]), []


def feedback_is_right(units: Units) -> bool:
    """Return whether the servo's derivatives are, at three states."""
    right, stiffness = True, units.mass / units.time**2
    for x, rate in ((0.3, 0.2), (0.3, 0.0), (0.0, 0.0)):
        state = np.array([x * units.length, 0.1]), np.array([rate * units.length / units.time, 0.0])
        by_q, by_v = (each[0, 0] / stiffness for each in feedback_derivatives(Servo(units), 0.0, *state))
        # one-sided differences with steps of 1e-7, and rounding of the weight beside them
        right &= by_q == pytest.approx(-5.0 * np.cosh(x), rel=1e-6)
        right &= by_v / units.time == pytest.approx(-0.3 / np.cosh(rate) ** 2, rel=1e-5)
    return right


def test_slopes_of_feedback(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(feedback_is_right(units) for units in [SI, *UNITS])
    monkeypatch.setattr(feedback, "coordinate_sizes", lambda _, inertia, __: np.ones(len(inertia)))
    monkeypatch.setattr(feedback, "_rate", lambda *_: 1.0)
    assert [units for units in [SI, *UNITS] if feedback_is_right(units)] != [SI, *UNITS]


class Timed:
    """A plant of which something acts in proportion to the time, and to what the state differs from 0 by, times a gain."""

    def __init__(self, gain: float) -> None:
        self.model, self.gain, self.asked = pendulum_on_a_slider(SI), gain, 0

    def loads(self, t: float, q: Array, v: Array) -> tuple[Array, list[Any]]:
        self.asked += 1
        pushes: list[Any] = [PortPush(next(iter(self.model.ports)), True, t * np.ones(6))]
        return np.array([t + self.gain * (q[1] - v[0]), 0.0]), pushes


@pytest.mark.parametrize("gain", [0.0, 1.0])
def test_functions_of_time_alone_are_not_differentiated(gain: float) -> None:
    timed = Timed(gain)
    by_q, by_v = feedback_derivatives(timed, 2.0, np.array([0.3, 0.1]), np.array([0.2, 0.4]))
    assert by_q.any() == by_v.any() == (gain != 0)
    assert timed.asked == (2 if gain == 0 else 2 + 2 * timed.model.nv)
