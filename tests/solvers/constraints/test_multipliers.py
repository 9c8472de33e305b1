"""Multipliers: which rows are independent, and how efforts are shared."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.constraints.compared_engines import relative
from titop.solvers.constraints.multipliers import Shares, independent_rows, least_solution, redundant_rows

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


def test_independent_rows_are_chosen_by_what_is_left_of_them() -> None:
    matrix = np.array([[1.0, 0, 0], [2.0, 0, 0], [2.0, 1e-3, 0], [0, 0, 1e-9]])
    assert independent_rows(matrix).tolist() == [2, 1]  # and neither the multiple nor the tiny one
    assert independent_rows(matrix, 1).tolist() == [2]
    assert redundant_rows(matrix) == [1, 3]
    x = least_solution(np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([1.0, 2.0]))
    assert x == pytest.approx([0.5, 0.5])


def test_complex_steps_see_entries_that_vanish() -> None:
    """The matrix falls into blocks that small steps couple."""
    matrix, turned, right = np.diag([1.0, 2.0]), np.array([[0.0, 3.0], [4.0, 0.0]]), np.array([1.0, 2.0])
    change = least_solution(matrix + 1e-30j * turned, right).imag / 1e-30
    assert change == pytest.approx(-np.linalg.solve(matrix, turned @ np.linalg.solve(matrix, right)), rel=1e-14)


@pytest.mark.parametrize("passive", [0, 2, 3, 4], ids=["none", "few", "as many as constraints", "too many"])
@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e-3, 1e3])
@pytest.mark.parametrize("by_passive", [False, True])
def test_efforts_are_shared_by_least_norm(passive, redundant, size, by_passive) -> None:
    """Against the normal equations of ``[D J^T] [tau; lambda] = efforts``, tau of least norm among its solutions.

    What counts as one of some coordinates decides what is independent and balanced, not what is least.
    """
    rng = np.random.default_rng(passive)
    jacobian, efforts, weights = rng.normal(size=(3, 7)), rng.normal(size=7), np.array([1.0, 0.5, 3.0])
    if redundant:
        jacobian, weights = np.vstack([jacobian, jacobian[0] - jacobian[1]]), np.append(weights, 1.0)
    unknown = np.arange(7) >= passive
    shares = Shares.of(jacobian, weights, np.where(np.arange(7) % 2, size, 1.0), unknown, 3, by_passive=by_passive)
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
