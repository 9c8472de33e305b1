"""Numbers with derivatives against those of mpmath: every function and operator, to order 10, near branch points too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.taylor import Taylor, derivatives_of, factorials, imaginary_part, is_complex, real_part, taylor_array

Array = NDArray[Any]

ORDER = 10
#: Recurrences add up as many roundings as there are orders, against the largest coefficient up to the same order.
CLOSE = 2e-14


def number(value: complex, seed: int = 0) -> Taylor:
    """Return a number of this value, with coefficients of order one."""
    coefficients = np.random.default_rng(seed).normal(size=ORDER + 1) + 0 * value
    coefficients[0] = value
    return Taylor(coefficients)


def expected(function: Callable[..., Any], *arguments: Taylor) -> Array:
    """Return the coefficients of a function of polynomials of time, by mpmath's derivatives in 40 digits."""
    with mp.workdps(40):
        polynomials = [[mp.mpmathify(complex(c)) for c in x.coefficients[::-1]] for x in arguments]
        real = all(np.isrealobj(x.coefficients) for x in arguments)
        found = mp.taylor(lambda t: function(*(mp.polyval(p, t) for p in polynomials)), 0, ORDER)
        return np.array([complex(c).real if real else complex(c) for c in found])


def assert_close(found: Any, coefficients: Array, close: float = CLOSE) -> None:
    sizes = np.maximum.accumulate(np.abs(coefficients))
    assert isinstance(found, Taylor)
    assert found.order == ORDER
    assert (np.abs(found.coefficients - coefficients) <= close * sizes).all(), (found.coefficients - coefficients) / sizes


#: NumPy's function, mpmath's, and values: at zero, on both sides, and close to branch points, poles and overflow.
FUNCTIONS: list[tuple[Any, Callable[..., Any], tuple[float, ...]]] = [
    (np.sqrt, mp.sqrt, (2.0, 1e-2, 1e-6)),
    (np.exp, mp.exp, (0.3, -40.0, 30.0)),
    (np.expm1, mp.expm1, (1e-9, 0.3, -30.0)),
    (np.log, mp.log, (2.0, 1e-3)),
    (np.log1p, mp.log1p, (1e-9, -0.99, 3.0)),
    (np.sin, mp.sin, (0.0, 1.0, 100.0)),
    (np.cos, mp.cos, (0.0, 1.0, 100.0)),
    (np.tan, mp.tan, (0.0, 1.5, -1.5707)),
    (np.sinh, mp.sinh, (0.0, 3.0, -20.0)),
    (np.cosh, mp.cosh, (0.0, 3.0, 20.0)),
    (np.tanh, mp.tanh, (0.0, 1.0, -20.0)),
    (np.arcsin, mp.asin, (0.0, 0.99, -0.9999)),
    (np.arccos, mp.acos, (0.0, 0.99, -0.9999)),
    (np.arctan, mp.atan, (0.0, 5.0, -1e6)),
    (np.arcsinh, mp.asinh, (0.0, 5.0, -100.0)),
    (np.arccosh, mp.acosh, (1.0001, 5.0)),
    (np.arctanh, mp.atanh, (0.0, 0.999, -0.999)),
    (np.square, lambda x: x * x, (0.0, -3.0)),
    (np.reciprocal, lambda x: 1 / x, (0.3, -7.0)),
    (np.negative, lambda x: -x, (0.0, 2.0)),
    (np.positive, lambda x: x, (0.0, 2.0)),
    (np.conjugate, lambda x: x, (2.0,)),
]


@pytest.mark.parametrize(("function", "precise", "value"), [(f, g, x) for f, g, values in FUNCTIONS for x in values])
def test_functions(function: Any, precise: Callable[..., Any], value: float) -> None:
    x = number(value)
    assert_close(function(np.array([x]))[0], expected(precise, x))


def test_large_arguments_overflow_nothing() -> None:
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(number(-400.0).tanh().coefficients, [-1.0, *[0.0] * ORDER])


@pytest.mark.parametrize("function", ["sin", "log", "sqrt", "tanh"])
def test_a_wrong_coefficient_is_noticed(function: str) -> None:
    """The control: one of the argument's coefficients has the other sign."""
    x = number(0.5)
    wrong = x.coefficients.copy()
    wrong[3] *= -1
    with pytest.raises(AssertionError):
        assert_close(getattr(np, function)(np.array([Taylor(wrong)]))[0], expected(getattr(mp, function), x))


OPERATORS: dict[str, Callable[..., Any]] = {
    "x + y": lambda x, y: x + y,
    "x - y": lambda x, y: x - y,
    "x * y": lambda x, y: x * y,
    "x / y": lambda x, y: x / y,
    "x ** y": lambda x, y: x**y,
    "2 - x": lambda x, y: 2 - x,
    "2 + x": lambda x, y: 2 + x,
    "2 * x": lambda x, y: 2 * x,
    "2 / x": lambda x, y: 2 / x,
    "2 ** x": lambda x, y: 2**x,
    "x - 2": lambda x, y: x - 2,
    "x / 2": lambda x, y: x / 2,
    "x ** 0": lambda x, y: x**0,
    "x ** 3": lambda x, y: x**3,
    "x ** -2": lambda x, y: x**-2,
    "x ** 2.5": lambda x, y: x**2.5,
    "x ** -0.5": lambda x, y: x**-0.5,
    "-x": lambda x, y: -x,
    "+x": lambda x, y: +x,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    x, y = number(0.7), number(1.3, 1)
    assert_close(OPERATORS[name](x, y), expected(OPERATORS[name], x, y))


@pytest.mark.parametrize("power", [0, 1, 2, 5, -1, -3])
def test_whole_powers_take_negative_numbers_and_positive_ones_zero(power: int) -> None:
    values = [-1.3] if power < 0 else [-1.3, 0.0]
    for value in values:
        x = number(value)
        assert_close(x**power, expected(lambda x: x**power, x))


@pytest.mark.parametrize("wrap", [float, np.float64, np.float32, np.array, lambda x: np.int64(x)])
def test_numbers_of_numpy_are_numbers(wrap: Callable[[float], Any]) -> None:
    x, two = number(0.7), wrap(2.0)
    for with_it, with_two in (
        (two + x, 2 + x), (x + two, x + 2), (two - x, 2 - x), (x - two, x - 2), (two * x, 2 * x), (x * two, x * 2),
        (two / x, 2 / x), (x / two, x / 2), (two**x, 2**x), (x**two, x**2),
    ):  # fmt: skip
        np.testing.assert_array_equal(with_it.coefficients, with_two.coefficients)


def test_arrays_of_numbers_with_and_without_derivatives() -> None:
    x, y, plain = number(0.7), number(1.3, 1), np.array([1.5, -2.0])
    both = np.array([x, y])
    np.testing.assert_array_equal((x * plain)[1].coefficients, (-2.0 * x).coefficients)
    np.testing.assert_array_equal((plain / x)[0].coefficients, (1.5 / x).coefficients)
    np.testing.assert_array_equal((both - plain)[1].coefficients, (y + 2.0).coefficients)
    np.testing.assert_array_equal((both @ plain).coefficients, (1.5 * x - 2.0 * y).coefficients)
    np.testing.assert_array_equal((np.outer(plain, both) @ both)[0].coefficients, (1.5 * x * x + 1.5 * y * y).coefficients)
    np.testing.assert_array_equal(np.einsum("i,i", both, plain).coefficients, (1.5 * x - 2.0 * y).coefficients)
    assert_close(np.linalg.norm(both), expected(lambda x, y: mp.sqrt(x * x + y * y), x, y))


@pytest.mark.skipif(np.__version__.startswith("2.0."), reason="NumPy 2.0 has no cross products of numbers and objects")
def test_cross_products() -> None:
    x, y = number(0.7), number(1.3, 1)
    np.testing.assert_array_equal(np.cross([x, y, 0.0], [0.0, 0.0, 1.0])[0].coefficients, y.coefficients)


@pytest.mark.parametrize(("up", "along"), [(0.3, -0.7), (1.0, 0.0), (-0.4, -0.5), (0.0, -2.0), (0.0, 3.0)])
def test_angles_and_lengths_of_points(up: float, along: float) -> None:
    """Of the angle, mpmath differentiates a branch; the constant is NumPy's."""
    y, x = number(up), number(along, 1)
    coefficients = expected((lambda y, x: mp.atan(y / x)) if along else (lambda y, x: -mp.atan(x / y)), y, x)
    coefficients[0] = np.arctan2(up, along)
    assert_close(np.arctan2(np.array([y]), np.array([x]))[0], coefficients)
    length = expected(lambda y, x: mp.sqrt(x * x + y * y), y, x)
    assert_close(np.hypot(np.array([y]), np.array([x]))[0], length)
    plain = expected(lambda y: mp.atan(y / 3), y)
    assert_close(y.arctan2(3.0), plain)


@pytest.mark.parametrize(("function", "precise", "value"), [(f, g, x) for f, g, values in FUNCTIONS for x in values[1:2]])
def test_complex_coefficients(function: Any, precise: Callable[..., Any], value: float) -> None:
    """A tiny imaginary part of every coefficient is a derivative along it: each to its own rounding."""
    x, along, step = number(value), number(0.4, 2), 1e-30
    found = function(np.array([Taylor(x.coefficients + 1j * step * along.coefficients)]))[0]
    slope = expected(lambda x, y: mp.diff(lambda s: precise(x + s * y), 0), x, along)
    assert_close(Taylor(found.coefficients.real), expected(precise, x))
    assert_close(Taylor(found.coefficients.imag / step), slope, 1e-13)  # of two chained recurrences


def test_complex_steps_of_an_angle() -> None:
    """The derivatives of an angle are ``(-y, x) / (x^2 + y^2)``, to a few roundings."""
    y, x = number(0.3), number(0.7, 1)
    found = complex_step(lambda at: np.array([at[0].arctan2(at[1])]), np.array([y, x]))
    square = x * x + y * y
    assert_close(found[0, 0], (x / square).coefficients)
    assert_close(found[0, 1], (-y / square).coefficients)
    assert_close(complex_step(lambda at: np.array([y.arctan2(at[0])]), np.array([2.0]))[0, 0], (-y / (y * y + 4)).coefficients)


def test_parts_of_complex_numbers() -> None:
    x = number(0.7)
    mixed = np.array([Taylor(x.coefficients * (1 + 2j)), 3.0], dtype=object)
    assert is_complex(mixed)
    assert not is_complex(np.array([x, 3.0], dtype=object))
    assert is_complex(np.array([1j]))
    np.testing.assert_array_equal(real_part(mixed)[0].coefficients, x.coefficients)
    np.testing.assert_array_equal(imaginary_part(mixed)[0].coefficients, 2 * x.coefficients)
    assert (real_part(mixed)[1], imaginary_part(mixed)[1]) == (3.0, 0.0)
    assert imaginary_part(np.array([1 + 2j]))[0] == 2.0


def test_branches_look_at_the_value() -> None:
    x = Taylor(np.array([-1.0, 5.0]))
    assert x < 0 <= -x
    assert x <= -1.0 < x + 0.5
    assert x == -1.0
    assert x != Taylor(np.array([2.0, 5.0]))
    assert max(x, -x) == 1.0
    np.testing.assert_array_equal(np.where(np.array([x, -x]) > 0, 1, 0), [0, 1])
    np.testing.assert_array_equal(np.sign(np.array([x, -x, 0.0 * x])), [-1, 1, 0])
    np.testing.assert_array_equal(abs(x).coefficients, [1.0, -5.0])
    np.testing.assert_array_equal(np.abs(np.array([x]))[0].coefficients, [1.0, -5.0])
    assert bool(Taylor(np.array([0.0, 1.0])))
    assert not bool(Taylor(np.zeros(2)))


@pytest.mark.parametrize("convert", [float, int, complex, np.isfinite, lambda x: np.zeros(1) + np.array([x]).astype(float)])
def test_derivatives_are_not_lost_on_the_way(convert: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        convert(number(1.0))


@pytest.mark.parametrize("root", [np.sqrt, lambda x: x**0.5, lambda x: 1.0 / x, lambda x: np.log(x)])
def test_what_has_no_derivatives_gives_no_numbers(root: Callable[[Any], Any]) -> None:
    with np.errstate(all="ignore"):
        found = root(np.array([Taylor(np.array([0.0, 1.0, 0.0]))]))[0]
    assert not np.isfinite(found.coefficients[1:]).any()


def test_stacks_of_derivatives() -> None:
    stack = np.random.default_rng(0).normal(size=(4, 2, 3))
    array = taylor_array(stack)
    assert array.shape == (2, 3)
    np.testing.assert_allclose(array[1, 2].coefficients * [1, 1, 2, 6], stack[:, 1, 2], rtol=1e-15)
    np.testing.assert_allclose(derivatives_of(array, 3), stack, rtol=1e-15)
    np.testing.assert_allclose(derivatives_of(array, 1), stack[:2], rtol=1e-15)
    np.testing.assert_array_equal(derivatives_of(np.array([2.0, array[0, 0]]), 2)[:, 0], [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(factorials(5), [1, 1, 2, 6, 24])
    array[0, 0].coefficients[0] = 9.0
    assert stack[0, 0, 0] != 9.0


def test_rates() -> None:
    x = number(0.7)
    np.testing.assert_array_equal(x.rate.coefficients[:-1], x.coefficients[1:] * np.arange(1, ORDER + 1))
    assert x.rate.coefficients[-1] == 0.0
