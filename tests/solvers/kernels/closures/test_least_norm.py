"""Efforts and motions of least norm, against NumPy's pseudoinverse."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.closures.gear_trains import no_gears
from tests.tolerances import ROUNDING
from titop.solvers.kernels.closures import closing, least_norm
from titop.solvers.kernels.closures.least_norm import find_multipliers
from titop.solvers.kernels.interface import layout

ROWS, N = 3, 7


def test_efforts_are_split_into_the_least_and_what_constraints_carry() -> None:
    """All efforts unknown: the least are those without any part along the rows."""
    rng, (loops, floats, _) = np.random.default_rng(0), no_gears(ROWS)
    jacobian, needed, unknown = rng.normal(size=(ROWS, N)), rng.normal(size=(N, 2)), np.ones(N, dtype=bool)
    split, first, end = least_norm.split_constraints(loops, floats, jacobian, np.ones(N), unknown, True)
    assert (first, end) == (0, ROWS)
    x, carried = needed.copy(), np.zeros((ROWS, 2))
    assert least_norm.take_least(split, first, end, unknown, np.ones(N), x, carried)
    multipliers, *_ = np.linalg.lstsq(jacobian.T, needed, rcond=None)
    np.testing.assert_allclose(x, needed - jacobian.T @ multipliers, **ROUNDING)
    found = np.empty(ROWS)
    least_norm.write_multipliers(split, end, carried[:, :1].copy(), found)
    np.testing.assert_allclose(found, multipliers[:, 0], **ROUNDING)


def test_known_efforts_are_carried_whole_before_others_are_least() -> None:
    """Two of seven efforts act: on the others the constraints carry all that is needed, and these two are least."""
    rng, (loops, floats, _) = np.random.default_rng(1), no_gears(6)
    jacobian, unknown = rng.normal(size=(6, N)), np.array([True, False, True, False, False, False, False])
    acting = np.where(unknown, rng.normal(size=N), 0.0)
    needed = acting + jacobian.T @ rng.normal(size=6)
    split, first, end = least_norm.split_constraints(loops, floats, jacobian, np.ones(N), unknown, True)
    assert (first, end) == (5, 6)  # one row is left that acts on the two alone
    x, carried = needed[:, None].copy(), np.zeros((6, 1))
    assert least_norm.take_least(split, first, end, unknown, np.ones(N), x, carried)
    multipliers = np.empty(6)
    least_norm.write_multipliers(split, end, carried, multipliers)
    np.testing.assert_allclose(x[:, 0] + jacobian.T @ multipliers, needed, rtol=0, atol=1e-10)
    assert (x[~unknown] == 0.0).all()
    free = np.linalg.svd(jacobian[:, ~unknown].T)[2][-1] @ jacobian  # what moves nothing but the two
    assert abs(x[:, 0] @ free) < 1e-10
    assert np.linalg.norm(x) < np.linalg.norm(acting)
    fewer, few_floats, _ = no_gears(3)  # three rows do not carry what five efforts lack
    split, first, end = least_norm.split_constraints(fewer, few_floats, jacobian[:3], np.ones(N), unknown, True)
    assert not least_norm.take_least(split, first, end, unknown, np.ones(N), needed[:, None].copy(), np.zeros((3, 1)))


def test_dependent_rows_are_told() -> None:
    loops, floats, _ = no_gears(3)
    jacobian = np.random.default_rng(2).normal(size=(3, N))
    jacobian[2] = jacobian[0] - 2 * jacobian[1]
    split, _, end = least_norm.split_constraints(loops, floats, jacobian, np.ones(N), np.ones(N, dtype=bool), True)
    assert end == 2
    assert len(set(split[1].tolist())) == 2


@pytest.mark.parametrize("second", [False, True])
def test_rates_become_the_nearest_that_keep_the_constraints(second: bool) -> None:
    """Distances over the coordinates' sizes; two coordinates are held."""
    rng = np.random.default_rng(3)
    jacobian, bias, v, x, sizes = rng.normal(size=(ROWS, N)), *rng.normal(size=(1, ROWS)), *rng.normal(size=(2, N)), np.ones(N)
    sizes[[1, 5]] = 10.0, 0.1
    held = np.array([True, False, False, True, False, False, False])
    split, taken, _ = least_norm.split_rows(jacobian, np.arange(ROWS), sizes, held, False)
    found = x.copy()
    assert closing.to_nearest(split, taken, (jacobian, bias), second, sizes, held, v, found) == layout.OK
    wanted = -bias if second else np.zeros(ROWS)
    free = np.where(held, 0.0, sizes)
    step = free * (np.linalg.pinv(jacobian * free) @ (wanted - jacobian @ x))
    np.testing.assert_allclose(found, x + step, **ROUNDING)


def test_rates_that_contradict_each_other_are_told() -> None:
    """Two equal rows of which one is to move and the other is not."""
    jacobian, nothing = np.array([[1.0, 1.0], [1.0, 1.0]]), np.zeros(2)
    sizes, x = np.ones(2), np.array([0.5, 0.5])
    told = [closing.contradiction(jacobian, np.array(bias), True, sizes, nothing, x, x) for bias in ((-1.0, -1.0), (-1.0, 0.0))]
    assert told == [layout.OK, layout.INCONSISTENT]


# Multipliers of all constraints, redundant ones among them, against NumPy's least squares.


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
