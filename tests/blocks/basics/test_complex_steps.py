"""Derivatives by complex steps, and by differences where imaginary parts get lost, against closed forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from titop.blocks.basics.complex_steps import by_differences, complex_step, trusted_step
from titop.blocks.basics.spatial import Array

X = np.array([0.3, -1.2, 0.8])


def smooth(x: Array) -> Array:
    """Return a matrix (2x2) of functions of three numbers."""
    return np.array([[np.sin(x[0]) * x[1], x[2] ** 3], [np.exp(x[0] * x[2]), x[1] + 0 * x[0]]])


def slopes(x: Array) -> Array:
    """Return the derivatives of `smooth` (2 x 2 x 3)."""
    e = np.exp(x[0] * x[2])
    first = [[np.cos(x[0]) * x[1], np.sin(x[0]), 0.0], [0.0, 0.0, 3 * x[2] ** 2]]
    return np.array([first, [[x[2] * e, 0.0, x[0] * e], [0.0, 1.0, 0.0]]])


def lossy(x: Array) -> Array:
    """Return `smooth` of the real parts."""
    return smooth(np.real(x))


def refusing(x: Array) -> Array:
    """Return `smooth`, of real numbers only."""
    return smooth(np.array([float(each) for each in x]))


def test_complex_steps_are_exact_to_rounding() -> None:
    np.testing.assert_allclose(complex_step(smooth, X), slopes(X), rtol=1e-15, atol=1e-15)
    assert np.array_equal(trusted_step(smooth, X), complex_step(smooth, X))


def test_differences_of_sixth_order_keep_ten_digits() -> None:
    np.testing.assert_allclose(by_differences(smooth, X), slopes(X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("function", [lossy, refusing])
def test_functions_that_lose_imaginary_parts_are_noticed(function: object) -> None:
    np.testing.assert_allclose(trusted_step(function, X), slopes(X), rtol=1e-10, atol=1e-10)  # type: ignore[arg-type]
    assert not complex_step(lossy, X).any()  # the control: nothing would be left


def test_one_entry_that_is_lost_is_enough() -> None:
    def partly(x: Array) -> Array:
        found = smooth(x).astype(complex)
        found[1, 0] = found[1, 0].real
        return found

    np.testing.assert_allclose(np.real(trusted_step(partly, X)), slopes(X), rtol=1e-10, atol=1e-10)


def test_nothing_has_no_derivatives() -> None:
    for function in (complex_step, by_differences):
        assert function(lambda x: np.ones((2, 4)), np.zeros(0)).shape == (2, 4, 0)


@pytest.mark.parametrize("size", [1e-20, 1e-24, 1e-28, 1e-60])
@pytest.mark.parametrize("function", [smooth, lossy, refusing])
def test_what_rounding_leaves_of_a_place_tells_no_step(function: Callable[[Array], Array], size: float) -> None:
    """Beside values of size one, parts of such a place are lost: rates at the end of a settled simulation, say."""
    for step in (trusted_step, by_differences):
        found = step(lambda x: 1.0 + function(x), size * X)
        np.testing.assert_allclose(found, slopes(size * X), rtol=1e-9, atol=1e-9)
