"""From all coordinates to independent ones, against a case by hand."""

from __future__ import annotations

import numpy as np
import pytest

from titop.solvers.model.closures import independent_columns, null_space

pytestmark = pytest.mark.portable


def test_reduction_by_a_closure() -> None:
    """Two angles of which the sine of one is the other, by hand: T = [1, cos]; none if the first alone is constrained."""
    T = null_space(np.array([[np.cos(0.4), -1.0]]), np.arange(2), np.array([0]))
    assert T is not None
    assert T.ravel() == pytest.approx([1.0, np.cos(0.4)], abs=1e-15)
    assert null_space(np.array([[1.0, 0.0]]), np.arange(2), np.array([0])) is None


@pytest.mark.parametrize("seed", range(8))
def test_rounding_does_not_choose_among_coordinates_that_are_alike(seed: int) -> None:
    """Three pairs that turn against each other, all entries off by last digits: the first of each pair follows the second.

    The control: one that clearly moves more follows, wherever it stands.
    """
    rng = np.random.default_rng(seed)
    closed = np.kron(np.eye(3), [[0.6, -0.6]]) * (1 + 4 * np.finfo(float).eps * rng.integers(-1, 2, (3, 6)))
    assert independent_columns(closed, np.arange(6)).tolist() == [1, 3, 5]
    closed[1, 3] *= 1.01
    assert independent_columns(closed, np.arange(6)).tolist() == [1, 2, 5]
    assert independent_columns(closed, np.array([0, 1, 4, 5])).tolist() == [1, 5]
