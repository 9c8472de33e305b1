"""Time derivatives of functions of time, and what is refused of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import Akima1DInterpolator, BSpline, CubicSpline, KroghInterpolator, UnivariateSpline, make_interp_spline

from tests.refusals import refusal
from titop.solvers.simulation.function_series import function_derivatives

KNOTS = np.linspace(0.0, 2.0, 7)
TIMES = np.array([0.1, 0.9])


def test_functions_and_their_derivatives() -> None:
    found = function_derivatives("f", lambda t: np.exp(-t) * np.sin(2 * t), TIMES, 6)
    # the imaginary part of exp((2i - 1) t), whose derivatives are powers
    power = 2j - 1
    expected = [(power**k * np.exp(power * TIMES)).imag for k in range(7)]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_shapes() -> None:
    assert function_derivatives("f", 0.3, TIMES, 2).shape == (3, 2)
    assert function_derivatives("f", np.eye(3), TIMES, 2).shape == (3, 2, 3, 3)
    assert function_derivatives("f", lambda t: [t, 0, t * t], TIMES, 2)[:, 1].tolist() == [
        [0.9, 0, 0.81],
        [1, 0, 1.8],
        [0, 0, 2],
    ]
    assert function_derivatives("f", make_interp_spline(KNOTS, np.eye(7)[:, :3]), TIMES, 2).shape == (3, 2, 3)


@pytest.mark.parametrize(
    ("spline", "degree"),
    [
        (CubicSpline(KNOTS, np.sin(KNOTS)), 3),
        (make_interp_spline(KNOTS, np.sin(KNOTS), k=5), 5),
        (UnivariateSpline(KNOTS, np.sin(KNOTS), k=4, s=0), 4),
        (Akima1DInterpolator(KNOTS, np.sin(KNOTS)), 3),
    ],
)
def test_splines_serve_up_to_their_degree(spline: Any, degree: int) -> None:
    found = function_derivatives("f", spline, TIMES, degree)
    np.testing.assert_allclose(found[degree], spline.derivative(degree)(TIMES), rtol=1e-12)
    with refusal("low-degree", f"degree {degree + 1} at least"):
        function_derivatives("f", spline, TIMES, degree + 1)


def test_one_polynomial_serves_to_any_order() -> None:
    line = BSpline([0, 0, 1, 1], [1.0, 3.0], 1)
    assert function_derivatives("f", line, np.array([0.25]), 3)[:, 0].tolist() == [1.5, 2.0, 0.0, 0.0]


def test_splines_are_not_extrapolated() -> None:
    with refusal("short-spline", "knots from 0.1 to 2.5"):
        function_derivatives("f", CubicSpline(KNOTS, KNOTS), np.array([0.1, 2.5]), 2)


def test_what_differentiates_otherwise_is_refused() -> None:
    with refusal("wrong-type", "a spline f(t, nu) of scipy's"):
        function_derivatives("f", KroghInterpolator(KNOTS, np.sin(KNOTS)), TIMES, 2)


def test_functions_that_do_not_carry_derivatives() -> None:
    for function in (
        math.sin,
        lambda t: math.sin(t),
        lambda t: np.interp(t, [0, 1], [0, 1]),
        lambda t: [t, [t]],
        lambda t: "no",
    ):
        with refusal("not-a-series", "use np.sin, not math.sin"):
            function_derivatives("f", function, TIMES, 1)
    with refusal("wrong-type", "a function of time, a scipy spline, or numbers that stay"):
        function_derivatives("f", "sin", TIMES, 1)
