"""Poses: what they accept and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt


@pytest.mark.parametrize("angle", [0.0, 1e-6, 1.0, np.pi])
def test_matrix_and_scipy_rotation_are_kept(angle: float) -> None:
    rotation = Rotation.from_rotvec(angle * np.array([0.6, 0.0, -0.8]))
    for given in (rotation, rotation.as_matrix(), rotation.as_matrix().tolist()):
        np.testing.assert_allclose(tt.Pose([1, 2, 3], given).rotation, rotation.as_matrix(), atol=1e-14)


def test_identity_by_default() -> None:
    assert tt.Pose() == tt.Pose([0, 0, 0], np.eye(3))
    assert tt.Pose() != tt.Pose([0, 0, 1])


def test_seven_digits_are_enough_for_a_rotation() -> None:
    typed = np.round(Rotation.from_rotvec([0.3, -0.2, 0.9]).as_matrix(), 7)
    pose = tt.Pose(rotation=typed)
    np.testing.assert_allclose(pose.rotation.T @ pose.rotation, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(pose.rotation, typed, atol=1e-6)


def test_later_changes_of_the_argument_do_not_reach_the_pose() -> None:
    position = np.array([1.0, 2.0, 3.0])
    pose = tt.Pose(position)
    position[0] = 9.0
    assert pose.position.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("code", "where", "arguments"),
    [
        ("wrong-shape", "pose.position", ([1, 2],)),
        ("not-finite", "pose.position", ([1, 2, np.nan],)),
        ("wrong-type", "pose.position", ("here",)),
        ("not-orthogonal", "pose.rotation", ([0, 0, 0], 2 * np.eye(3))),
        ("not-orthogonal", "pose.rotation", ([0, 0, 0], [[1, 1e-5, 0], [0, 1, 0], [0, 0, 1]])),
        ("left-handed", "pose.rotation", ([0, 0, 0], np.diag([1, 1, -1]))),
        ("wrong-shape", "pose.rotation", ([0, 0, 0], [0, 0, 0, 1])),
        ("not-finite", "pose.rotation", ([0, 0, 0], np.full((3, 3), np.nan))),
    ],
)
def test_findings(code: str, where: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(tt.ModelError) as caught:
        tt.Pose(*arguments)
    assert [(finding.code, finding.where) for finding in caught.value.findings] == [(code, where)]


def test_position_and_rotation_are_reported_together() -> None:
    with pytest.raises(tt.ModelError) as caught:
        tt.Pose([1, 2], np.diag([1, 1, -1]))
    assert [finding.code for finding in caught.value.findings] == ["wrong-shape", "left-handed"]
