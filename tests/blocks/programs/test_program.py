"""Programs, written by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from titop.blocks.programs.program import (
    CONSTANT,
    EACH,
    INPUT,
    LOADS,
    ONCE,
    OPERATIONS,
    OWN,
    SHARED,
    TOTALS,
    Output,
    Program,
    Value,
)

#: In total ``2 + sum of s x``, and at every point ``s x + f``.
PROGRAM = Program(
    {SHARED: 1, OWN: 1, LOADS: 1},
    (
        Value(INPUT, (SHARED, 0)),
        Value(INPUT, (OWN, 0)),
        Value(INPUT, (LOADS, 0)),
        Value(CONSTANT, (2.0,)),
        Value("multiply", (0, 1)),
        Value("add", (4, 2)),
        Value("multiply", (0, 0)),
    ),
    {ONCE: Output((3, 6), (2,)), TOTALS: Output((4, 0), (2,)), EACH: Output((5, 6), (2,))},
)


def test_totals_are_sums_over_points_and_what_counts_once() -> None:
    totals, each = PROGRAM.at_points(np.array([3.0]), np.array([[1.0], [2.0]]), np.array([[0.5], [0.25]]))
    np.testing.assert_array_equal(totals, [2.0 + 3.0 * (1 + 2), 9.0 + 2 * 3.0])  # what all points share is summed over them
    np.testing.assert_array_equal(each, [[3.5, 9.0], [6.25, 9.0]])


def test_without_loads_they_are_zero() -> None:
    np.testing.assert_array_equal(PROGRAM.at_points(np.array([3.0]), np.array([[1.0]]))[1], [[3.0, 9.0]])


def test_complex_numbers_go_through() -> None:
    step = 1e-30
    totals, each = PROGRAM.at_points(np.array([3.0 + 1j * step]), np.array([[1.0], [2.0]]))
    np.testing.assert_allclose(totals.imag / step, [3.0, 2 * 3.0 + 2], rtol=1e-15)
    np.testing.assert_allclose(each.imag / step, [[1.0, 6.0], [2.0, 6.0]], rtol=1e-15)


ONE = {"sqrt": 0.3, "exp": 0.3, "expm1": 0.3, "log": 0.3, "log1p": 0.3, "sin": 0.3, "cos": 0.3, "tan": 0.3, "asin": 0.3}
ONE |= {"acos": 0.3, "atan": 0.3, "sinh": 0.3, "cosh": 0.3, "tanh": 0.3, "asinh": 0.3, "acosh": 1.3, "atanh": 0.3}


@pytest.mark.parametrize("name", ONE)
def test_functions_are_those_of_math_and_their_steps_are_slopes(name: str) -> None:
    x, h = ONE[name], 1e-6
    function = getattr(math, name)
    assert float(OPERATIONS[name](x)) == pytest.approx(function(x), rel=1e-15)
    slope = np.imag(OPERATIONS[name](np.array([x + 1e-30j]))[0]) / 1e-30
    assert slope == pytest.approx((function(x + h) - function(x - h)) / (2 * h), rel=1e-8)  # differences: h^2 and eps / h


@pytest.mark.parametrize(("y", "x"), [(1.0, 2.0), (1.0, -2.0), (-1.0, -2.0), (-1.0, 0.0)])
def test_angles_turn_as_their_derivative_says(y: float, x: float) -> None:
    """``d atan2 = (x dy - y dx) / (x^2 + y^2)``, in all quadrants."""
    found = OPERATIONS["atan2"](np.array([y + 2e-30j]), np.array([x + 3e-30j]))[0]
    assert found.real == math.atan2(y, x)
    assert found.imag / 1e-30 == pytest.approx((2 * x - 3 * y) / (x * x + y * y), rel=1e-15)


def test_choices_look_at_real_parts_and_keep_the_step() -> None:
    small, large = np.array([1.0 + 5e-30j]), np.array([2.0 - 7e-30j])
    assert OPERATIONS["minimum"](small, large)[0] == small[0]
    assert OPERATIONS["maximum"](small, large)[0] == large[0]
    assert OPERATIONS["absolute"](-large)[0] == large[0]
    assert OPERATIONS["select"](1.0, small, large)[0] == small[0]
    assert OPERATIONS["select"](0.0, small, large)[0] == large[0]
    assert [float(OPERATIONS[name](small, large)[0]) for name in ("less", "less_equal", "equal", "not_equal")] == [1, 1, 0, 1]
    assert [float(OPERATIONS[name](1.0, 0.0)) for name in ("and", "or")] == [0, 1]
    assert float(OPERATIONS["not"](0.0)) == 1.0
