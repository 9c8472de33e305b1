"""Steps of first-order states by the trapezoidal rule, of a controller's in a loop of one error."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from tests.solvers.control.sliders import lead
from titop.blocks.basics.spatial import Array
from titop.solvers.control.loop_signals import Command
from titop.solvers.simulation.generalized_alpha import ControllerStep, FirstOrderStates

K = lead()


def loop(error: float) -> Any:
    """Return what a step asks of a loop: the error at its end, and commands."""

    def command(x: Array, e: Array) -> Command:
        return Command(K.C @ x + K.D @ e, np.zeros(1))

    return SimpleNamespace(K=K, error=lambda plant, t, q, v, a: np.array([error]), command=command)


def stepped(x: Array, before: float, after: float, h: float) -> Any:
    """Return the answer at the end of a step, the error going from one value to another."""
    state, plant = np.zeros(1), SimpleNamespace()
    begun = ControllerStep(loop(after), plant, FirstOrderStates(x, K.A @ x + K.B @ np.array([before])), h)  # type: ignore[arg-type]
    return begun.end(0.0, state, state, state)


def test_the_rule_holds() -> None:
    x, h = np.array([0.3, -0.2]), 0.1
    answer = stepped(x, 0.5, 2.0, h)
    start, end = K.A @ x + K.B @ [0.5], K.A @ answer.x + K.B @ [2.0]
    np.testing.assert_allclose(answer.x, x + 0.5 * h * (start + end), rtol=1e-13)
    np.testing.assert_allclose(answer.rate, end, rtol=1e-13)
    np.testing.assert_allclose(answer.command.u, K.C @ answer.x + K.D @ [2.0], rtol=1e-13)


def test_it_is_of_second_order() -> None:
    """Against the exponential, for a constant error: half the step, a quarter of the error."""
    x, rest = np.array([0.3, -0.2]), -np.linalg.solve(K.A, K.B @ [1.0])
    errors = []
    for n in (16, 32):
        now = x
        for _ in range(n):
            now = stepped(now, 1.0, 1.0, 0.5 / n).x
        errors.append(np.abs(now - (rest + expm(0.5 * K.A) @ (x - rest))).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


def test_errors_are_by_the_bend_of_rates_and_damped_as_the_step_does() -> None:
    """Of a rate ``c t^2`` the rule is off by ``c h^3 / 6``; the step before was of another length, and begins at -last."""
    x, c, h, last, atol = np.array([0.3, -0.2]), np.array([1e-3, 2e-3]), 0.4, 0.3, 1e-2
    before, begin, end = (FirstOrderStates(x, c * t**2) for t in (-last, 0.0, h))
    step = ControllerStep(loop(0.0), SimpleNamespace(), begin, h)  # type: ignore[arg-type]
    error = c * h**3 / 6
    expected = np.abs(np.linalg.solve(np.eye(2) - 0.5 * h * K.A, error) / atol).max()
    assert step.error(before, last, end, 0.0, atol) == pytest.approx(expected, rel=1e-12)
    assert step.error(None, last, end, 0.0, atol) == 0.0
    assert expected < np.abs(error / atol).max()
