"""How efforts are shared: block by block as by least squares of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.constraints.test_coupling import shuffled_blocks
from titop.solvers.constraints.multipliers import dependent_columns, independent_rows
from titop.solvers.constraints.shares import Shares

#: Rounding times the condition of random blocks over their pivots.
ROUNDING = {"rtol": 1e-9, "atol": 1e-9}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_blocks_share_as_the_whole(seed: int, part: float) -> None:
    """With efforts on none, some and all of the coordinates, of which some take part in no constraint."""
    rng = np.random.default_rng(seed)
    jacobian = shuffled_blocks(rng)
    count, n = jacobian.shape
    rows = independent_rows(jacobian)
    dependent, unknown = dependent_columns(jacobian, rows), rng.random(n) < part
    shares = Shares.of(jacobian, rows, dependent, unknown, np.ones(n))
    pivots, over = jacobian[np.ix_(rows, dependent)], np.linalg.solve(jacobian[np.ix_(rows, dependent)], jacobian[rows])
    assert 1 < len(rows) < count
    motion, turning = rng.normal(size=(n, 3)), rng.normal(size=(count, 3))
    motion -= np.linalg.pinv(over) @ over @ motion
    carried = rng.normal(size=(len(rows), 3))
    needed = np.where(unknown[:, None], motion, 0.0) + over.T @ carried  # what efforts and constraints can do

    w, multipliers = shares.split(needed[:, 0], count)
    np.testing.assert_allclose(w[unknown], motion[unknown, 0], **ROUNDING)
    np.testing.assert_allclose(over @ w, 0.0, **ROUNDING)
    np.testing.assert_allclose(multipliers[rows], np.linalg.solve(pivots.T, carried[:, 0]), **ROUNDING)
    assert not np.delete(multipliers, rows).any()

    moved = -np.linalg.solve(pivots, turning[rows])
    turned = motion + np.linalg.pinv(over) @ moved
    needed = np.where(unknown[:, None], turned, 0.0) + over.T @ carried
    changes = np.where(unknown[:, None], turned, 0.0)
    np.testing.assert_allclose(shares.least(needed, turning), changes, **ROUNDING)

    closing = shares.closing(turning)
    np.testing.assert_allclose((jacobian @ closing)[rows], -turning[rows], **ROUNDING)
    assert not np.delete(closing, dependent, axis=0).any()


def test_nothing_to_share() -> None:
    """Without constraints all stays where it is needed, as far as it may be."""
    unknown, nothing = np.array([True, False]), np.zeros(0, dtype=int)
    shares = Shares.of(np.zeros((1, 2)), nothing, nothing, unknown, np.ones(2))
    w, multipliers = shares.split(np.array([3.0, 4.0]), 1)
    assert w.tolist() == [3.0, 0.0]
    assert multipliers.tolist() == [0.0]
    assert shares.least(np.ones((2, 1)), np.zeros((1, 1))).tolist() == [[1.0], [0.0]]
    assert not shares.closing(np.ones((1, 1))).any()
