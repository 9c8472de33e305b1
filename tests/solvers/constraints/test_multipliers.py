"""Multipliers: which rows are independent, and how efforts are shared."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.constraints.compared_engines import relative
from tests.systems import Array
from titop.blocks.basics.taylor import derivatives_of, taylor_array
from titop.solvers.constraints.multipliers import Partition, Shares, independent_rows, redundant_rows

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


def test_independent_rows_are_chosen_by_what_is_left_of_them() -> None:
    matrix = np.array([[1.0, 0, 0], [2.0, 0, 0], [2.0, 1e-3, 0], [0, 0, 1e-9]])
    assert independent_rows(matrix).tolist() == [2, 1]  # and neither the multiple nor the tiny one
    assert independent_rows(matrix, 1).tolist() == [2]
    assert redundant_rows(matrix) == [1, 3]
    x = Partition.of(np.array([[1.0, 1.0], [2.0, 2.0]])).least(np.array([1.0, 2.0]))
    assert x == pytest.approx([0.5, 0.5])


def test_complex_steps_see_entries_that_vanish() -> None:
    """The matrix falls into blocks that small steps couple."""
    matrix, turned, right = np.diag([1.0, 2.0]), np.array([[0.0, 3.0], [4.0, 0.0]]), np.array([1.0, 2.0])
    change = Partition.of(matrix + 1e-30j * turned).least(right).imag / 1e-30
    assert change == pytest.approx(-np.linalg.solve(matrix, turned @ np.linalg.solve(matrix, right)), rel=1e-14)


@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_series_agree_with_complex_steps(part: float) -> None:
    """Numbers that carry their time derivatives, in a Jacobian with gears and a redundant row, against complex steps."""
    rng = np.random.default_rng(3)
    jacobian, efforts = rng.normal(size=(2, 5, 9)), rng.normal(size=(2, 9))
    jacobian[:, 2] = jacobian[:, 0] - 2.0 * jacobian[:, 1]
    gears = np.zeros((2, 9))
    gears[0, [0, 1]], gears[1, [4, 1]] = (1.0, -3.0), (1.0, 0.5)
    jacobian[:, 3:] = gears, 0.0 * gears  # which do not change
    unknown = rng.random(9) < part

    def shared(jacobian: Array, efforts: Array) -> Array:
        partition = Partition.of(jacobian, gears=2)
        w, multipliers = Shares(partition, unknown, np.ones(9)).split(efforts)
        return np.concatenate([w, multipliers, partition.least(jacobian @ efforts), partition.along(efforts)])

    expected = shared(*(part[0] + 1e-30j * part[1] for part in (jacobian, efforts)))
    value, rate = derivatives_of(shared(taylor_array(jacobian), taylor_array(efforts)), 1)
    # rounding times the condition of random matrices
    np.testing.assert_allclose(value, expected.real, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(rate, expected.imag / 1e-30, rtol=1e-11, atol=1e-12)
    assert np.abs(rate).max() > 0.1


@pytest.mark.parametrize("passive", [0, 2, 3, 4], ids=["none", "few", "as many as constraints", "too many"])
@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e-3, 1e3])
def test_efforts_are_shared_by_least_norm(passive, redundant, size) -> None:
    """Against the normal equations of ``[D J^T] [tau; lambda] = efforts``, tau of least norm among its solutions.

    What counts as one of some coordinates decides what is independent and balanced, not what is least.
    """
    rng = np.random.default_rng(passive)
    jacobian, efforts, weights = rng.normal(size=(3, 7)), rng.normal(size=7), np.array([1.0, 0.5, 3.0])
    if redundant:
        jacobian, weights = np.vstack([jacobian, jacobian[0] - jacobian[1]]), np.append(weights, 1.0)
    unknown = np.arange(7) >= passive
    sizes = np.where(np.arange(7) % 2, size, 1.0)
    shares = Shares(Partition.of(jacobian, 3, weights=weights, sizes=sizes), unknown, sizes)
    w, carried = shares.split(efforts)
    tau = np.where(unknown, w, 0.0)
    unbalanced = shares.unbalanced(efforts, tau)
    motions = np.linalg.svd(jacobian)[2][3:]  # what the constraints leave
    expected = np.zeros(7)
    expected[unknown] = np.linalg.pinv(motions[:, unknown]) @ (motions @ efforts)
    if passive <= 3:
        assert unbalanced < 1e-13
        assert relative(tau, expected) < 1e-12
        assert relative(tau + jacobian.T @ carried, efforts) < 1e-12
    else:
        assert unbalanced > 1e-4
    assert np.abs(jacobian @ w).max() < 1e-12 * np.abs(w).max()  # a motion that the constraints leave
