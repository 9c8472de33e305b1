"""The exponential of SE(3) for rods: coefficients against long arithmetic, the rest against exponentials of matrices."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.solvers.kernels.laws.rod_oracle import exponential, hat, jet, vee
from titop.solvers.kernels.laws import rod_exponential as rods

Array = NDArray[Any]

#: Squared angles from none to a whole turn, on both sides of where closed forms begin.
SQUARES = (0.0, 1e-16, 1e-8, 1e-2, 0.1, 1.0, 4.0, 9.99, rods.SERIES, 10.01, 20.0, 39.0)


def exact_coefficients(s: float) -> Array:
    """Return b, c and their derivatives in turn, by their series with sixty digits."""

    def term(j: int, first: int, derivative: int) -> Any:
        return (-1) ** j * mpmath.ff(j, derivative) * mpmath.mpf(s) ** (j - derivative) / mpmath.factorial(first + 2 * j)

    with mpmath.workdps(60):
        pairs = [(first, derivative) for derivative in range(4) for first in (2, 3)]
        return np.array([float(mpmath.fsum(term(j, *pair) for j in range(pair[1], 60))) for pair in pairs])


@pytest.mark.parametrize("s", SQUARES)
def test_coefficients(s: float) -> None:
    """Each derivative loses a digit at most by the differences that give it; after a whole turn, b nearly vanishes."""
    found, expected = np.array(rods.coefficients(s)), exact_coefficients(s)
    size = np.maximum(np.abs(expected), 0.1 * np.abs(exact_coefficients(0.0)))
    assert np.all(np.abs(found - expected) < np.repeat([1e-14, 2e-14, 1e-13, 1e-12], 2) * size)


def test_closed_forms_lose_digits_where_series_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: at a tenth of a radian closed forms miss what series keep, each derivative by some three digits."""
    monkeypatch.setattr(rods, "SERIES", 0.0)
    found, expected = np.array(rods.coefficients(0.01)), exact_coefficients(0.01)
    assert np.all(np.abs(found / expected - 1.0) > np.repeat([0.0, 1e-12, 1e-9, 1e-6], 2))


# -- against exponentials of matrices

#: Rounding of exponentials of matrices by scaling and squaring.
ACCURACY = 2e-12

ANGLES = (0.0, 1e-6, 0.1, 0.9, 1.1, 3.1, 3.2, 5.0)


def state(angle: float) -> list[Array]:
    """Return a displacement that turns by an angle, two rates of it, and two more twists."""
    rng = np.random.default_rng(int(1000 * angle))
    omega, *others = rng.normal(size=(5, 6))
    omega[3:] *= angle / np.linalg.norm(omega[3:])
    return [omega, *others]


def moved(omega: Array, x: Array) -> Array:
    """Return ``exp(omega)^-1 d exp(omega)`` for a change x; both may be complex."""
    g = exponential(jet(hat(omega), hat(x)))
    return vee(np.linalg.inv(g[:4, :4]) @ g[:4, 4:])


def slope(omega: Array, x: Array, y: Array) -> Array:
    """Return the change along x of what y moves by."""
    return moved(omega + 1e-30j * x, y.astype(complex)).imag / 1e-30


def close(found: Any, expected: Array) -> bool:
    return bool(np.abs(np.asarray(found) - expected).max() <= ACCURACY * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("angle", ANGLES)
def test_displacements_and_what_changes_move_them_by(angle: float) -> None:
    omega, x, y, w, _ = state(angle)
    b, c, *_ = terms = rods.expansion(omega)
    rotation, position = rods.displacement(omega, b, c)
    expected = exponential(hat(omega))
    assert close(np.reshape(rotation, (3, 3)), expected[:3, :3])
    assert close(position, expected[:3, 3])
    operator = np.array([moved(omega, e) for e in np.eye(6)]).T
    assert close(rods.tangent(omega, b, c, x), operator @ x)
    assert close(rods.tangent_back(omega, b, c, w), operator.T @ w)
    assert close(rods.tangent_rate(omega, terms, x), slope(omega, x, x))
    changed = np.array([slope(omega, y, e) for e in np.eye(6)]).T
    assert close(rods.tangent_back_slope(omega, terms, y, w), changed.T @ w)


@pytest.mark.parametrize("angle", ANGLES)
def test_rates_of_the_tangent_operator(angle: float) -> None:
    """The second rate by central differences of the first, which complex steps give: h^4 of 1e-12 and rounding by h."""
    omega, first, second, y, _ = state(angle)
    terms = rods.expansion(omega)
    rates = rods.rates_of(omega, first, second, terms)
    still, by_rate, by_second = rods.tangent_rates(omega, first, second, terms, rates, y)
    assert close(still, moved(omega, y))
    assert close(by_rate, slope(omega, first, y))

    def rate(t: float) -> Array:
        return slope(omega + t * first + 0.5 * t * t * second, first + t * second, y)

    h = 1e-3
    expected = (8.0 * (rate(h) - rate(-h)) - rate(2.0 * h) + rate(-2.0 * h)) / (12.0 * h)
    assert np.abs(by_second - expected).max() < 1e-9 * max(1.0, np.abs(expected).max())


def test_the_tangent_operator_as_a_matrix() -> None:
    """Of dual numbers, by its columns for turns."""
    omega, *_ = state(0.7)
    b, c, *_ = rods.expansion(omega)
    columns = [np.array(rods.tangent(omega, b, c, tuple(axis))) for axis in np.eye(6)[3:]]
    assert close(np.array(rods.tangent_matrix(omega, b, c)), np.array(columns))
