"""Linear fractions with few repetitions that meet functions of a few numbers."""

from __future__ import annotations

import numpy as np
import pytest

from titop.solvers.lft.fractions.fraction_fit import fraction_at, smallest_fraction
from titop.solvers.lft.fractions.polynomial_fit import fitted_quotient, spread_points
from titop.solvers.lft.fractions.structured_reduction import Fractional, at
from titop.solvers.lft.fractions.substitution import fraction_of

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
    row = fitted_quotient(("a", "b"), POINTS, sag(POINTS), 1, 1e-6)
    assert row is not None
    fraction = fraction_of(row, ["a", "b"])
    assert fraction.sizes == (1, 1, 0)
    np.testing.assert_allclose(fraction_at(fraction, TESTS), sag(TESTS), atol=EXACT)
    np.testing.assert_allclose(at(fraction, [*TESTS[0], 0.5j])[0, 0], sag(TESTS)[0], atol=EXACT)


def test_a_quotient_that_may_be_infinite_is_none() -> None:
    """A pole in the box; the negative control stands beside it."""
    assert fitted_quotient(("a", "b"), POINTS, 0.5 * POINTS[:, 0] / (1.02 - POINTS[:, 1]), 1, 1e-6) is None
    assert fitted_quotient(("a", "b"), POINTS, 0.5 * POINTS[:, 0] / (2.0 - POINTS[:, 1]), 1, 1e-6) is not None


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
