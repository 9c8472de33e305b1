"""Loops in continuous time: controllers within steps of implicit integrators, and as tables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from tests.solvers.control.sliders import lead
from titop.blocks.basics.spatial import Array
from titop.solvers.control.continuous_loop import LinearFeedback, TrapezoidalStep
from titop.solvers.control.loop_signals import Command

K = lead()


def loop(error: float) -> Any:
    """Return what a step asks of a loop: the error at its end, and commands."""

    def command(x: Array, e: Array) -> Command:
        return Command(K.C @ x + K.D @ e, np.zeros(1))

    return SimpleNamespace(K=K, error=lambda plant, t, q, v, a: np.array([error]), command=command)


def stepped(x: Array, before: float, after: float, h: float) -> Any:
    """Return the answer at the end of a step, the error going from one value to another."""
    state, plant = np.zeros(1), SimpleNamespace()
    begun = TrapezoidalStep(loop(after), plant, x, K.A @ x + K.B @ np.array([before]), h)  # type: ignore[arg-type]
    return begun.answer(0.0, state, state, state)


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


def test_small_differences_are_damped_as_the_step_does() -> None:
    x, dx, h = np.array([0.3, -0.2]), np.array([1e-3, 2e-3]), 0.4
    step = TrapezoidalStep(loop(0.0), SimpleNamespace(), x, K.A @ x, h)  # type: ignore[arg-type]
    expected = np.linalg.solve(np.eye(2) - 0.5 * h * K.A, dx)
    np.testing.assert_allclose(step.filtered(dx), expected, rtol=1e-12)
    assert np.linalg.norm(expected) < np.linalg.norm(dx)


def test_offsets_are_written_at_their_times() -> None:
    limits, motors, thrust = np.array([[-1.0], [1.0]]), np.ones((2, 1)), np.zeros((0, 1))
    feedback = LinearFeedback(np.eye(3), lambda t: np.array([t, t**2, 1.0]), True, limits, motors, thrust)
    gains, offsets, *others = feedback.tables(4)
    assert offsets.tolist() == [[0.0, 0.0, 1.0]] * 4
    feedback.write([0.0, 0.5, 0.5, 2.0], offsets)
    assert offsets.tolist() == [[0.0, 0.0, 1.0], [0.5, 0.25, 1.0], [0.5, 0.25, 1.0], [2.0, 4.0, 1.0]]
    assert feedback.tables(1)[1].tolist() == [[0.0, 0.0, 1.0]]  # rows of their own
    assert np.array_equal(gains, np.eye(3))
    assert [part is own for part, own in zip(others, (limits, motors, thrust), strict=True)] == [True] * 3
