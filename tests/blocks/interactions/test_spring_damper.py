"""Springs and dampers between two points."""

from __future__ import annotations

import numpy as np

import titop as tt


def test_a_spring_without_length_is_linear_in_the_distance_and_silent_at_none() -> None:
    spring = tt.SpringDamper("spring", stiffness=7.0)
    np.testing.assert_allclose(spring.wrenches(np.eye(3), np.array([1.0, 2, 3]), np.zeros(6), np.zeros(6))[0][:3], [7, 14, 21])
    assert not np.any(spring.wrenches(np.eye(3), np.zeros(3), np.zeros(6), np.ones(6)))


def test_a_spring_that_pushes_is_warned_of() -> None:
    errors, (warning,) = tt.SpringDamper("s", stiffness=-1.0).check()
    assert not errors
    assert "s.stiffness: got -1.0" in str(warning)
