"""Jets: what kernels compute of numbers along a motion, beside the reference's power series."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from titop.blocks.basics.choices import everywhere, select
from titop.blocks.basics.taylor import Taylor
from titop.solvers.kernels.interface.stages import floats_at, integral, is_within, jet_type, larger, place_of, sizes, value_of
from titop.solvers.kernels.spatial.turning import sine_and_cosine
from titop.solvers.native.kernel import Kernel, StageHelper, helper
from titop.solvers.native.signatures import FLOATS, ORDERS, Signature

Array = Any


def operations(x, y, e, out):
    """Operations that are the same text for jets and for series."""
    out[0], out[1], out[2], out[3] = x + y, 2.0 - x, x - 3.0 * y, -x * y
    out[4], out[5], out[6], out[7] = x / y, 2.0 / y, x / 3.0, abs(y)
    out[8], out[9], out[10], out[11] = np.sqrt(x), np.exp(y), np.log(x), np.tanh(y)
    out[12], out[13], out[14] = np.sin(x), np.cos(y), np.arctan2(y, x)
    out[15], out[16], out[17] = x**e, x**2, np.hypot(x, y)
    out[18], out[19] = select(x > y, x, y), select((x == x + 0.0 * y) & (y <= 0.0), x, y)
    out[20], out[21], out[22] = np.arcsin(0.1 * y), np.arccos(0.1 * y), np.arctan(y)
    out[23], out[24], out[25] = np.sinh(y), np.cosh(y), np.tan(y)


COUNT = 26


@helper
def put(given, jets):
    coefficients = floats_at(place_of(jets), jets.size, ORDERS)
    for j in range(jets.size):
        for k in range(ORDERS):
            coefficients[j, k] = given[j, k]


@helper
def take(jets, results):
    coefficients = floats_at(place_of(jets), jets.size, ORDERS)
    for j in range(jets.size):
        for k in range(ORDERS):
            results[j, k] = coefficients[j, k]


operations_of = StageHelper(operations)


def of_jets(given, results):
    """Do the same with rows of coefficients."""
    jets, out = np.empty(2, jet_type()), np.empty(COUNT, jet_type())
    put(given, jets)
    operations_of(jets[0], jets[1], given[2, 0], out)
    take(out, results)
    return 0


def others(given, results):
    """Functions that kernels have for jets alone."""
    jets, out = np.empty(2, jet_type()), np.empty(6, jet_type())
    put(given, jets)
    x, y = jets[0], jets[1]
    out[0], out[1] = sine_and_cosine(x)
    out[2], out[3], out[4] = sizes(y), larger(x, y), integral(x, y)
    out[5] = value_of(y) + 0.0 * x
    take(out, results)
    return (1 if everywhere(is_within(x, y)) else 0) + (2 if everywhere(is_within(x - x, sizes(y))) else 0)


def of_series(x: Array, y: Array, exponent: float) -> Array:
    """Return what the reference's series make of them."""
    out = np.empty(COUNT, dtype=object)
    operations(Taylor(x), Taylor(y), exponent, out)
    return np.array([entry.coefficients for entry in out])


@pytest.fixture(scope="module")
def kernel() -> Any:
    return Kernel(of_jets, Signature((FLOATS, FLOATS))).compiled


def test_jets_are_series(kernel: Any) -> None:
    rng, results = np.random.default_rng(0), np.empty((COUNT, ORDERS))
    for sign in (1.0, -1.0):
        given = rng.uniform(0.5, 1.5, (3, ORDERS)) * [[1.0], [sign], [1.7]]
        kernel(given, results)
        expected = of_series(given[0], given[1], given[2, 0])
        # a few roundings of sums of products of order one
        np.testing.assert_allclose(results, expected, rtol=1e-13, atol=1e-13)
        assert not np.allclose(results[:, 1:], 0.9 * expected[:, 1:], rtol=1e-3)


def test_leading_coefficients_have_the_bits_of_numbers(kernel: Any) -> None:
    rng, moving, standing = np.random.default_rng(1), np.empty((COUNT, ORDERS)), np.empty((COUNT, ORDERS))
    given = rng.uniform(0.5, 1.5, (3, ORDERS))
    kernel(given, moving)
    given[:2, 1:] = 0.0
    kernel(given, standing)
    np.testing.assert_array_equal(moving[:, 0], standing[:, 0])
    assert not standing[:, 1:].any()


def test_functions_without_a_slope_stand_still_with_their_arguments(kernel: Any) -> None:
    given, results = np.array([[0.0, 0, 0, 0], [1.0, 0, 0, 0], [1.5, 0, 0, 0]]), np.empty((COUNT, ORDERS))
    kernel(given, results)
    assert not results[[8, 15, 16]].any()  # roots and powers of zero
    given[0, 1] = 1.0
    kernel(given, results)
    assert not np.isfinite(results[8]).all()  # a root that leaves zero has no slope there


def test_comparisons_of_all_orders() -> None:
    rng, results = np.random.default_rng(2), np.empty((6, ORDERS))
    x, y = rng.uniform(0.5, 1.5, (2, ORDERS))
    function = Kernel(others, Signature((FLOATS, FLOATS))).compiled
    assert function(np.array([x, -y]), results) == 2
    sine, cosine = Taylor(x).sin(), Taylor(x).cos()
    np.testing.assert_allclose(results[0], sine.coefficients, rtol=1e-14, atol=1e-15)  # its own sine: a rounding
    np.testing.assert_allclose(results[1], cosine.coefficients, rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(results[2], y)
    np.testing.assert_array_equal(results[3], x)
    np.testing.assert_array_equal(results[4], [x[0], *(-y[:-1] / np.arange(1, ORDERS))])
    np.testing.assert_array_equal(results[5], [-y[0], *np.zeros(ORDERS - 1)])
    assert function(np.array([y - 2.0 * math.pi, y]), results) == 3
    assert function(np.array([[0.0, 2.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]), results) == 2  # the value alone is less
