"""Functions of a few numbers as linear fractions with few repetitions: polynomials, quotients, in the place of deltas."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from titop.solvers.lft.fits import (
    fit_polynomial,
    fit_quotient,
    fraction_at,
    fraction_of,
    number_of_terms,
    products,
    smallest_fraction,
    spread_points,
    substitute,
    terms,
)
from titop.solvers.lft.fractions import Fractional, response_at
from titop.solvers.lft.polynomials import Polynomial

pytestmark = pytest.mark.portable

POINTS = spread_points(2, 60)
TESTS = np.random.default_rng(0).uniform(-1, 1, (40, 2))

#: Normal equations of some dozen numbers.
EXACT = 1e-8


def sag(x: np.ndarray) -> np.ndarray:
    """How far a mass of 1 + 0.3 a sinks on a spring of 1 + 0.4 b beyond that of a = b = 0: a quotient, one copy of each."""
    return np.asarray((1 + 0.3 * x[:, 0]) / (1 + 0.4 * x[:, 1]) - 1)


def test_a_quotient_is_found_as_it_is() -> None:
    """Which no polynomial meets; its linear fraction has its values."""
    row = fit_quotient(("a", "b"), POINTS, sag(POINTS), 1, 1e-6)
    assert row is not None
    fraction = fraction_of(row, ["a", "b"])
    assert fraction.sizes == (1, 1, 0)
    np.testing.assert_allclose(fraction_at(fraction, TESTS), sag(TESTS), atol=EXACT)
    np.testing.assert_allclose(response_at(fraction, [*TESTS[0], 0.5j])[0, 0], sag(TESTS)[0], atol=EXACT)


def test_a_quotient_that_may_be_infinite_is_none() -> None:
    """A pole in the box; the negative control stands beside it."""
    assert fit_quotient(("a", "b"), POINTS, 0.5 * POINTS[:, 0] / (1.02 - POINTS[:, 1]), 1, 1e-6) is None
    assert fit_quotient(("a", "b"), POINTS, 0.5 * POINTS[:, 0] / (2.0 - POINTS[:, 1]), 1, 1e-6) is not None


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_fewer_repetitions_are_found(tolerance: float) -> None:
    """Of a root of a quotient, of which polynomials need five and more."""
    values, right = (np.sqrt(1 + sag(x)) - 1 for x in (POINTS, TESTS))

    def is_near(found: Fractional) -> bool:
        return bool(np.abs(fraction_at(found, TESTS) - right).max() <= tolerance)

    found = smallest_fraction(POINTS, values, (4, 5), is_near)
    assert found is not None
    assert is_near(found)
    assert sum(found.sizes) <= 4, "two copies of each make up a continued fraction of second order"
    assert smallest_fraction(POINTS, values, (1, 1), is_near) is None, "nothing smaller than the smallest there is"


def test_what_does_not_count_has_no_copy() -> None:
    found = smallest_fraction(POINTS, sag(POINTS * [1, 0]), (3, 0), lambda one: one.sizes[1] == 0)
    assert found is not None
    assert found.sizes == (1, 0, 0)


#: Sums of a few dozen rounded products.
ROUNDING = 1e-12

NAMES = ("a", "b", "c")


def value(polynomial: Polynomial, point: np.ndarray) -> float:
    return float((products(point[None], [*polynomial.exponents]) @ np.ravel(polynomial.matrices))[0])


def smooth(x: np.ndarray) -> np.ndarray:
    return np.exp(x @ [0.3, 0.2, -0.1]) - 1.0


def test_terms_are_counted() -> None:
    for count, degree in ((1, 5), (2, 3), (5, 4)):
        assert len(set(terms(count, degree))) == number_of_terms(count, degree)
    assert terms(2, 2) == [(0, 1), (1, 0), (0, 2), (1, 1), (2, 0)]


def test_points_are_spread_and_nested() -> None:
    """No box of a sixteenth of the square, in arcs, is left out, and more points are the same and others."""
    points = spread_points(2, 60)
    angles = np.arcsin(points) / np.pi + 0.5
    assert len({tuple(cell) for cell in np.floor(4 * angles).astype(int)}) == 16
    assert spread_points(2, 20) == pytest.approx(points[:20], abs=0.0)


def test_a_polynomial_is_fitted_as_it_is() -> None:
    """With the terms that it has, and no others."""
    points = spread_points(3, 60)
    found = fit_polynomial(NAMES, points, 0.5 * points[:, 0] - 2.0 * points[:, 1] * points[:, 2] ** 2, 3, 1e-3)
    assert dict(zip(found.exponents, np.ravel(found.matrices), strict=True)) == pytest.approx({(1, 0, 0): 0.5, (0, 1, 2): -2.0})


def test_fits_become_better_with_their_degree() -> None:
    points, tests = spread_points(3, 300), np.random.default_rng(0).uniform(-1, 1, (40, 3))
    errors = []
    for degree in (1, 2, 3, 4):
        polynomial = fit_polynomial(NAMES, points, smooth(points), degree, 1e-9)
        errors.append(max(abs(value(polynomial, x) - smooth(x)) for x in tests))
        assert value(polynomial, np.zeros(3)) == 0.0  # the nominal member is exact
    # of an exponential of numbers up to 0.6, each further term of its series is at most 0.3 of the one before
    assert all(after < 0.4 * before for before, after in itertools.pairwise(errors))


def test_deltas_are_replaced() -> None:
    """The response is that of the model with the values of the polynomials, two deltas replaced by different ones."""
    rng = np.random.default_rng(1)
    points = spread_points(3, 300)
    polynomials = [fit_polynomial(NAMES, points, sign * smooth(points), degree, 1e-6) for sign, degree in ((1, 3), (-2, 2))]
    fractions = [fraction_of(polynomial, NAMES) for polynomial in polynomials]
    sizes = (2, 1, 3, 2, 4, 3)
    n = sum(sizes)
    model = Fractional(rng.normal(size=(n, n)) / n, *(rng.normal(size=shape) for shape in ((n, 2), (2, n), (2, 2))), sizes)
    found = substitute(model, [None, None, None, *fractions, None])
    deltas = rng.uniform(-1, 1, 3)
    right = response_at(model, [*deltas, *(value(own, deltas) for own in polynomials), 0.5j])
    assert response_at(found, [*deltas, 0.5j]) == pytest.approx(right, rel=ROUNDING)
    grown = tuple(2 * f1 + 4 * f2 for f1, f2 in zip(fractions[0].sizes, fractions[1].sizes, strict=True))
    assert found.sizes == tuple(a + b for a, b in zip((2, 1, 3, 3), grown, strict=True))


def test_one_number_costs_its_degree() -> None:
    polynomial = Polynomial(("a",), ((1,), (2,), (4,)), tuple(np.array([[x]]) for x in (1.0, 0.3, 0.1)))
    assert fraction_of(polynomial, ["a"]).sizes == (4, 0)
