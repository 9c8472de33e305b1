"""Joints whose configuration holds a unit quaternion."""

from __future__ import annotations

import numpy as np

import titop as tt
from tests.blocks.joints.joint_kinds import ROUNDING


def test_spherical_and_free_read_rotations_and_poses() -> None:
    turn = tt.Pose([1, 2, 3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    quarter = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    np.testing.assert_allclose(tt.Spherical("ball", rest=turn.rotation).rest, quarter, atol=ROUNDING)
    np.testing.assert_allclose(tt.Free("base", rest=turn).rest, [1, 2, 3, *quarter], atol=ROUNDING)
