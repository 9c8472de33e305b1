"""Functions without digits lost near zero: values and derivatives up to the third, against numbers of many digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from titop.blocks.bodies.soft.functions import (
    POINTS,
    ShapeSum,
    array,
    cosc,
    held_symbols,
    polynomial_of,
    rotation_functions,
    sinc,
    where,
    with_slope,
)
from titop.blocks.programs.differentiation import jacobian, replaced
from titop.blocks.programs.graph import Graph, Unknown

#: Functions of x, and their closed forms.
OF_ANGLES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sinc": (sinc, lambda x: mpmath.sin(x) / x),
    "cosc": (cosc, lambda x: (1 - mpmath.cos(x)) / x**2),
}
#: Functions of the square of x.
OF_SQUARES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sine": (lambda s: rotation_functions(s)[0], lambda s: mpmath.sin(mpmath.sqrt(s)) / mpmath.sqrt(s)),
    "versine": (lambda s: rotation_functions(s)[1], lambda s: (1 - mpmath.cos(mpmath.sqrt(s))) / s),
    "cubic": (
        lambda s: rotation_functions(s)[2],
        lambda s: (mpmath.sqrt(s) - mpmath.sin(mpmath.sqrt(s))) / mpmath.sqrt(s) ** 3,
    ),
    "small sine": (lambda s: rotation_functions(s, small=True)[0], lambda s: mpmath.sin(mpmath.sqrt(s)) / mpmath.sqrt(s)),
}


def derivatives(function: Callable[[Any], Any], at: float) -> list[float]:
    """Return a function and its derivatives up to the third."""
    graph = Graph()
    (x,) = graph.input("x", 1)
    numbers = [function(x)]
    for _ in range(3):
        numbers.append(jacobian(numbers[-1], [x])[0])
    return list(graph.program({"x": 1}, {"y": numbers}).evaluate({"x": np.array([at])})["y"])


def exactly(closed: Callable[[Any], Any], at: float) -> list[float]:
    """Return the same by Taylor coefficients with a hundred digits, just beside zero there."""
    with mpmath.workdps(100):
        place = mpmath.mpf(at) if at else mpmath.mpf(10) ** -30
        coefficients = mpmath.taylor(closed, place, 3)
        return [float(c * mpmath.factorial(k)) for k, c in enumerate(coefficients)]


@pytest.mark.parametrize("name", OF_ANGLES)
@pytest.mark.parametrize("at", [0.0, 1e-9, -1e-4, 0.03, 0.999, 1.001, -3.0, 7.0, 40.0])
def test_functions_of_angles(name: str, at: float) -> None:
    """Where series end the third derivative of the closed form still cancels in its last three digits."""
    function, closed = OF_ANGLES[name]
    np.testing.assert_allclose(derivatives(function, at), exactly(closed, at), rtol=0, atol=2e-14)


@pytest.mark.parametrize("name", OF_SQUARES)
@pytest.mark.parametrize("at", [0.0, 1e-12, 0.01, 0.999, 1.001, 3.9, 10.0, 60.0])
def test_functions_of_squares(name: str, at: float) -> None:
    if name.startswith("small") and at > 4.0:
        return
    function, closed = OF_SQUARES[name]
    np.testing.assert_allclose(derivatives(function, at), exactly(closed, at), rtol=0, atol=1e-13)


def test_closed_forms_lose_digits_near_zero() -> None:
    """Negative control: the third derivative of cosc has no digit right at a hundredth."""
    found = derivatives(lambda x: (1.0 - np.cos(x)) / (x * x), 0.01)
    assert abs(found[3] - exactly(OF_ANGLES["cosc"][1], 0.01)[3]) > 1e-9


def test_numbers_and_arrays_go_through_too() -> None:
    assert sinc(0.0) == 1.0
    # by the half angle or not: a sine's or cosine's rounding, doubled by the square, and three of products, of 1e-16 each
    np.testing.assert_allclose(cosc(np.array([0.0, 2.0])), [0.5, (1 - np.cos(2.0)) / 4], rtol=1e-14)
    np.testing.assert_array_equal(where(np.array([True, False]), 1.0, 2.0), [1.0, 2.0])
    np.testing.assert_array_equal(array([[1, 2.5], [0, 1]]), [[1.0, 2.5], [0.0, 1.0]])


def test_arrays_beside_unknowns_have_functions() -> None:
    graph = Graph()
    numbers = np.cos(2.0 * array([[0.5, graph.input("x", 1)[0]]]))
    found = graph.program({"x": 1}, {"y": numbers}).evaluate({"x": np.array([0.7])})["y"]
    np.testing.assert_allclose(found, np.cos([[1.0, 1.4]]), rtol=1e-15)


def test_slopes_that_were_said_stand_for_a_value_while_symbols_are_held() -> None:
    """``sin'' = -sin`` of a value that is a constant in all but name."""
    graph = Graph()
    (x,) = graph.input("x", 1)
    with held_symbols() as held:
        number = with_slope(lambda z: 5.0 + 0.0 * z, np.cos, x)
    ((symbol, at),) = held
    assert at is x
    derived = [number]
    for _ in range(2):
        derived.append(jacobian(derived[-1], [x])[0])
    program = graph.program({"x": 1}, {"y": replaced(np.array(derived), {symbol: x})})
    found = program.evaluate({"x": np.array([0.7])})["y"]
    np.testing.assert_allclose(found, [5.0, np.cos(0.7), -np.sin(0.7)], rtol=1e-15)
    assert with_slope(lambda z: 5.0 + z, np.cos, 0.7) == 5.7  # of numbers the value
    assert isinstance(with_slope(lambda z: 5.0 + z, np.cos, x), Unknown)


# Sums of shapes: which are polynomials, and their integrals.

POLYNOMIALS: dict[str, tuple[Callable[[Any], Any], tuple[float, ...]]] = {
    "constant": (lambda z: 2, (2.0,)),
    "linear": (lambda z: z / 0.5 - 1.0, (-1.0, 2.0)),
    "product": (lambda z: z * (1.0 - z), (0.0, 1.0, -1.0)),
    "power": (lambda z: 3.0 * z**5, (0.0, 0.0, 0.0, 0.0, 0.0, 3.0)),
}
#: Functions that are none, or whose powers lose digits.
OTHERS: dict[str, Callable[[Any], Any]] = {
    "sine": lambda z: np.sin(z),
    "root": lambda z: z**0.5,
    "quotient": lambda z: 1.0 / (1.0 + z),
    "branch": lambda z: 1.0 if z < 0.1 else 0.0,
    "floor": lambda z: z // 0.1,
    "size": lambda z: abs(z),
    "truth": lambda z: 1.0 if isinstance(z, float) else 2.0,
    "high": lambda z: z**6,
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_are_told(name: str) -> None:
    shape, expected = POLYNOMIALS[name]
    assert polynomial_of(shape) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_not(name: str) -> None:
    assert polynomial_of(OTHERS[name]) is None


def test_sums_and_integrals() -> None:
    """Against closed forms; of the sine twelve points leave rounding."""
    total, z = ShapeSum([lambda z: 1.0, lambda z: z**2, np.sin], [2.0, 3.0, 4.0]), 0.8
    assert not total.is_exact
    assert total(z) == pytest.approx(2.0 + 3.0 * z**2 + 4.0 * np.sin(z), rel=1e-15)

    def integral(end: Any) -> Any:
        return 2.0 * end + end**3 + 4.0 * (1.0 - np.cos(end))

    assert total.integral(z) == pytest.approx(integral(z), rel=1e-14)
    np.testing.assert_allclose(total.integrals(z), integral(z * POINTS), rtol=0, atol=1e-14)
