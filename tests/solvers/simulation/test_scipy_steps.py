"""Scipy's integrators: steps made again, and states moved, as if they had begun there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import RK45, Radau

from titop.solvers.simulation.scipy_steps import ScipySteps

Array = NDArray[np.float64]
START = np.array([0.4, -0.2])
#: Of one step by the same method in the same state: Newton's iteration may end one rounding apart.
ROUNDING = {"rtol": 0, "atol": 1e-12}


def rate(t: float, y: Array) -> Array:
    return np.array([y[1], -np.sin(y[0])])


def steps(kind: Any, y: Array = START, begin: float = 0.0, **options: float) -> ScipySteps:
    return ScipySteps(kind(rate, begin, y.copy(), 2.0, **({"rtol": 1e-8, "atol": 1e-10} | options)))


@pytest.mark.parametrize("kind", [RK45, Radau])
def test_a_step_made_again_is_one_of_that_length(kind: Any) -> None:
    made = steps(kind)
    for _ in range(3):
        made.step(-math.inf)
    begin, before = made.begin, made.dense_output()(np.array([made.begin]))[0]
    length = 0.5 * (made.t - begin)
    evaluations = made.counted()["evaluations"]
    made.again(length)
    assert made.t == begin
    np.testing.assert_allclose(made.y, before, **ROUNDING)
    made.step(-math.inf)
    assert made.t - made.begin == pytest.approx(length, rel=1e-12)
    fresh = steps(kind, before, begin, first_step=length)
    fresh.step(-math.inf)
    np.testing.assert_allclose(made.y, fresh.y, **ROUNDING if kind is RK45 else {"rtol": 0, "atol": 1e-9})  # its tolerance
    counted = made.counted()
    assert counted["steps"] == 3  # the one made again counts once, all that was asked counts
    assert counted["evaluations"] > evaluations


@pytest.mark.parametrize("kind", [RK45, Radau])
def test_a_moved_state_goes_on_by_its_own_rate(kind: Any) -> None:
    made, other = steps(kind), np.array([1.1, 0.3])
    made.step(-math.inf)
    at = made.t
    made.move(other)
    made.step(-math.inf)
    fresh = steps(kind, other, at, first_step=made.t - at)
    fresh.step(-math.inf)
    np.testing.assert_allclose(made.y, fresh.y, rtol=0, atol=1e-8)  # tolerance
    assert np.abs(made.y - START).max() > 0.1


def test_it_goes_to_its_end_and_to_no_other() -> None:
    made = steps(RK45)
    assert (made.name, made.t, made.end, made.go_to(3.0, True)) == ("RK45", 0.0, 2.0, False)
    while made.t < made.end:
        made.step(-math.inf)
    assert made.t == 2.0


def test_giving_up_is_an_error_with_its_reason() -> None:
    made = ScipySteps(RK45(lambda t, y: np.array([1.0 / (1.0 - t) ** 2]), 0.0, np.zeros(1), 2.0, rtol=1e-6))

    def go_on() -> None:
        for _ in range(10000):
            made.step(-math.inf)

    with pytest.raises(ArithmeticError, match="step size"):
        go_on()
