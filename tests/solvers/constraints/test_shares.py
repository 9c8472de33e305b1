"""How efforts are shared: block by block as by least squares of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.constraints.test_coupling import shuffled_blocks
from tests.systems import Array
from titop.solvers.constraints.multipliers import dependent_columns, independent_rows
from titop.solvers.constraints.shares import Shares

#: Rounding times the condition of random blocks over their pivots.
ROUNDING = {"rtol": 1e-9, "atol": 1e-9}


def whole(jacobian: Array, rows: Array, dependent: Array, unknown: Array) -> tuple[Array, Array]:
    """Return the pivots of all constraints, and the matrix of efforts and multipliers over these."""
    pivots = jacobian[np.ix_(rows, dependent)]
    J = np.linalg.solve(pivots, jacobian[rows])
    return pivots, np.block([[np.diag(unknown.astype(float)), J.T], [J, np.zeros((len(J), len(J)))]])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_blocks_share_as_the_whole(seed: int, part: float) -> None:
    """With efforts on none, some and all of the coordinates, of which some take part in no constraint."""
    rng = np.random.default_rng(seed)
    jacobian = shuffled_blocks(rng)
    count, n = jacobian.shape
    rows = independent_rows(jacobian)
    dependent, unknown = dependent_columns(jacobian, rows), rng.random(n) < part
    shares, (pivots, matrix) = Shares.of(jacobian, rows, dependent, unknown), whole(jacobian, rows, dependent, unknown)
    assert 1 < len(rows) < count
    needed, turning = rng.normal(size=(n, 3)), rng.normal(size=(count, 3))

    w, multipliers = shares.split(needed[:, 0], count)
    expected = np.linalg.lstsq(matrix, np.concatenate([needed[:, 0], np.zeros(len(rows))]), rcond=None)[0]
    np.testing.assert_allclose(w, expected[:n], **ROUNDING)
    np.testing.assert_allclose(multipliers[rows], np.linalg.solve(pivots.T, expected[n:]), **ROUNDING)
    assert not np.delete(multipliers, rows).any()

    right = np.concatenate([needed, -np.linalg.solve(pivots, turning[rows])])
    changes = np.where(unknown[:, None], np.linalg.lstsq(matrix, right, rcond=None)[0][:n], 0.0)
    np.testing.assert_allclose(shares.least(needed, turning), changes, **ROUNDING)

    closing = shares.closing(turning)
    np.testing.assert_allclose((jacobian @ closing)[rows], -turning[rows], **ROUNDING)
    assert not np.delete(closing, dependent, axis=0).any()


def test_nothing_to_share() -> None:
    """Without constraints all stays where it is needed, as far as it may be."""
    unknown, nothing = np.array([True, False]), np.zeros(0, dtype=int)
    shares = Shares.of(np.zeros((1, 2)), nothing, nothing, unknown)
    w, multipliers = shares.split(np.array([3.0, 4.0]), 1)
    assert w.tolist() == [3.0, 0.0]
    assert multipliers.tolist() == [0.0]
    assert shares.least(np.ones((2, 1)), np.zeros((1, 1))).tolist() == [[1.0], [0.0]]
    assert not shares.closing(np.ones((1, 1))).any()
