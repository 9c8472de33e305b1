"""Multipliers of all constraints, redundant ones among them, against NumPy's least squares."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.closures.gear_trains import no_gears
from titop.solvers.kernels.closures.least_norm import find_multipliers


@pytest.mark.parametrize("rank", [2, 4])
def test_they_are_the_least_that_carry_the_efforts(rank: int) -> None:
    """Least over the weights: ``l / w`` with ``(W J)^T (l / w)``, by the pseudoinverse."""
    rng, (loops, floats, _) = np.random.default_rng(rank), no_gears(4)
    jacobian, weights = rng.normal(size=(4, rank)) @ rng.normal(size=(rank, 6)), np.array([1.0, 0.1, 5.0, 1.0])
    needed, found = jacobian.T @ rng.normal(size=4), np.empty(4)
    assert find_multipliers(loops, floats, jacobian, weights, True, needed, found)
    sized = jacobian / weights[:, None]
    expected = np.linalg.pinv(sized.T) @ needed / weights
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)  # rounding times the squared condition of the rows


def test_efforts_that_no_constraint_carries_are_told_unless_they_may_act() -> None:
    loops, floats, _ = no_gears(1)
    jacobian, found = np.array([[1.0, -1.0]]), np.empty(1)
    assert not find_multipliers(loops, floats, jacobian, np.ones(1), True, np.array([1.0, 1.0]), found)
    assert find_multipliers(loops, floats, jacobian, np.ones(1), False, np.array([3.0, 1.0]), found)
    assert found[0] == pytest.approx(1.0)  # the half of the difference; one on both acts from outside
