"""Lengths of steps, against scipy's rules."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import DOP853, RK45

from tests.systems import Array
from titop.solvers.kernels.entries import runge_kutta as steps


def clock(**entries: float) -> Array:
    """Return a clock at 1 s that has run for a while, some entries replaced."""
    usual = {"TIME": 1.0, "END": 100.0, "WISH": 0.1, "GROWTH": steps.MOST, "LONGEST": np.inf, "RTOL": 1e-3, "ATOL": 1e-6}
    usual |= {"EXPONENT": -0.2, "LENGTH": 0.1}
    result = np.zeros(steps.CLOCK_COLUMNS)
    for name, value in (usual | entries).items():
        result[getattr(steps, name)] = value
    return result


@pytest.mark.parametrize(("method", "rows"), [(RK45, ("E",)), (DOP853, ("E5", "E3"))])
def test_errors_are_scipys(method: type, rows: tuple[str, ...]) -> None:
    solver = method(lambda t, y: np.array([y[1], -y[0]]), 0.0, np.array([1.0, 0.5]), 10.0, rtol=1e-3, atol=1e-6)
    estimators = np.array([getattr(solver, row) for row in rows])
    rng, stages = np.random.default_rng(0), estimators.shape[1]
    states, rates = rng.normal(size=(stages, 2)), rng.normal(size=(stages, 2))
    scale = 1e-6 + 1e-3 * np.maximum(np.abs(states[0]), np.abs(states[-1]))
    expected = solver._estimate_error_norm(rates, 0.1, scale)
    assert steps.error_of(stages - 1, clock(), estimators, states, rates) == pytest.approx(expected, rel=1e-12)


def tried(error: float, filled: bool = True, **entries: float) -> tuple[bool, Array]:
    """Return whether a try with such an error is a step, and the clock behind it; one coordinate, one stage."""
    after = clock(**entries)
    state = np.zeros((1, 1))
    rate = np.array([[error * after[steps.ATOL] / after[steps.LENGTH]]])
    return steps.take_or_leave(filled, 0, after, np.ones((1, 1)), state, rate), after


def test_steps_follow_their_error() -> None:
    is_step, after = tried(0.5)
    assert is_step
    assert after[[steps.TIME, steps.BEFORE, steps.LAST, steps.STEPS]] == pytest.approx([1.1, 1.0, 0.1, 1.0])
    assert after[steps.LENGTH] == pytest.approx(0.1 * 0.9 * 0.5**-0.2)
    is_step, after = tried(4.0)
    assert not is_step
    assert after[[steps.TIME, steps.STEPS, steps.BEGUN]].tolist() == [1.0, 0.0, 1.0]
    assert after[steps.LENGTH] == pytest.approx(0.1 * 0.9 * 4.0**-0.2)
    assert after[steps.GROWTH] == 1.0  # nothing grows at once behind a step that failed


def test_lengths_grow_and_shrink_within_limits() -> None:
    assert tried(0.0)[1][steps.LENGTH] == pytest.approx(1.0)  # ten times as long
    assert tried(1e30)[1][steps.LENGTH] == pytest.approx(0.02)  # a fifth
    is_step, after = tried(0.0, filled=False)
    assert not is_step
    assert after[steps.LENGTH] == pytest.approx(0.02)
    assert after[steps.BEGUN] == 0.0
    assert tried(0.0, LONGEST=0.3)[1][steps.LENGTH] == pytest.approx(0.3)


@pytest.mark.parametrize(("end", "length"), [(1.05, 0.05), (1.15, 0.075), (1.3, 0.1)])
def test_the_last_steps_share_what_is_left(end: float, length: float) -> None:
    told = clock(END=end)
    steps.choose_length(told)
    assert told[steps.LENGTH] == pytest.approx(length)


def test_steps_too_short_to_count_are_told() -> None:
    for wish, growth, expected in ((1e-18, 1.0, 0.0), (1e-18, 10.0, 10 * 2.0**-52), (np.nan, 10.0, 0.0)):
        told = clock(WISH=wish, GROWTH=growth)
        steps.choose_length(told)
        assert told[steps.LENGTH] == expected
