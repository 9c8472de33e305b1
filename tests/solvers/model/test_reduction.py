"""From all coordinates to independent ones, against a case by hand."""

from __future__ import annotations

import numpy as np
import pytest

from titop.solvers.model.reduction import null_space


def test_reduction_by_a_closure() -> None:
    """Two angles of which the sine of one is the other, by hand: T = [1, cos], R = [0, -sin times the rate]."""
    v = np.array([2.0, 2.0 * np.cos(0.4)])
    jacobian, slopes = np.array([[np.cos(0.4), -1.0]]), np.array([[-np.sin(0.4) * v[0], 0.0]])
    T, R = null_space(jacobian, slopes, np.arange(2), np.array([0]))
    assert T.ravel() == pytest.approx([1.0, np.cos(0.4)], abs=1e-15)
    assert R.ravel() == pytest.approx([0.0, -np.sin(0.4) * 2.0], abs=1e-15)
    assert null_space(np.array([[1.0, 0.0]]), slopes, np.arange(2), np.array([0])) == (None, None)
