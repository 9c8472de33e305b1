"""Differences with steps that follow the function, whatever its unit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from titop.blocks.basics.differences import derivative, settled_step
from titop.blocks.basics.errors import Finding, ModelError

#: Functions of a number in units of their own scale, and their derivatives at zero.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "sine": (lambda x: np.sin(x + 0.3), math.cos(0.3)),
    "exponential": (np.exp, 1.0),
    "offset": (lambda x: 5.0 + 2.0 * x, 2.0),
    "parabola": (lambda x: 1.0 + x + 3.0 * x * x, 1.0),
    "pole": (lambda x: 1.0 / (1.2 - x), 1.0 / 1.44),
    "steep": (lambda x: np.tanh(3.0 * x), 3.0),
    "bounded": (lambda x: math.sqrt(1.0 - (x + 0.1) ** 2), -0.1 / math.sqrt(0.99)),  # fails beyond its scale
}
SCALES = 10.0 ** np.arange(-9.0, 13.0, 3.0)
#: Sixth order at a hundredth of the scale leaves 1e-14, as does rounding; functions that are steeper than that leave 1e-12.
ACCURACY = 1e-11


@pytest.mark.parametrize("name", FUNCTIONS)
def test_steps_are_found_over_21_decades(name: str) -> None:
    function, slope = FUNCTIONS[name]
    for scale in SCALES:
        step = settled_step(lambda s, scale=scale: (function(s / scale),), 0.01)
        assert step is not None
        found = scale * derivative(lambda s, scale=scale: function(s / scale), step)
        assert abs(found - slope) < ACCURACY * abs(slope), scale


def test_a_step_of_fixed_length_is_noticed() -> None:
    wrong = 0
    for scale in SCALES[SCALES < 1e-2]:
        values = {k: np.sin(k * 0.01 / scale) for k in (-1, 1)}
        wrong += abs(scale * (values[1] - values[-1]) / 0.02 - 1.0) > 0.1
    assert wrong == 3


def test_the_finest_of_several_functions_decides() -> None:
    step = settled_step(lambda s: (np.sin(s), np.array([[1.0, np.sin(1e4 * s)]]), 3.0), 0.01)
    assert step == pytest.approx(1e-6, rel=0.5)


def test_constants_and_rounding_say_nothing() -> None:
    assert settled_step(lambda s: (1.0, np.eye(3)), 0.01) is None
    assert settled_step(lambda s: (math.cos(s) ** 2 + math.sin(s) ** 2,), 0.01) is None
    assert derivative(lambda s: np.ones((2, 3)), 0.01).tolist() == [[0.0] * 3] * 2


def test_a_step_that_does_not_suit_is_changed() -> None:
    for step in (0.5, 1e-12):
        assert derivative(lambda s: np.exp(20.0 * s), step) == pytest.approx(20.0, rel=1e-9)


def test_longer_steps_stop_where_the_function_refuses() -> None:
    """All but rounding is lost in 1e9; a step sixteen times as long is refused, the estimate of the first one stands."""
    longest = 0.0

    def function(s: float) -> np.ndarray:
        nonlocal longest
        if abs(s) >= 1.0:
            raise ModelError(Finding("bad-density", "fluid.density", s, "a value >= 0", "check the sign"))
        longest = max(longest, s)
        return np.array([1e9 + 1e-3 * s])

    assert derivative(function, 0.1) == pytest.approx(1e-3, rel=1.0)  # rounding of 1e9 is 1e-7, a step changes 1e-4
    assert longest == pytest.approx(0.3)
