"""Fields that are tables themselves: what is written is read as it was, to the last bit, and mistakes keep their place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.graph.files.file_fields import FRICTION, LIMITS, PORTS, POSE, SHAPES, ValueKind
from titop.graph.files.file_reading import FileReading


def there_and_back(kind: ValueKind, value: Any) -> Any:
    """Return what is read of what is written of a value."""
    reading = FileReading()
    found = kind.read(kind.write(value), "arm.field", reading)
    assert reading.findings == []
    return found


@pytest.mark.parametrize("vector", [[0.0, 0.0, 0.0], [0.1, -1.2, 1 / 3], [np.pi, 0.0, 0.0]])
def test_poses_keep_their_bits(vector: list[float]) -> None:
    pose = tt.Pose.from_rotation_vector([1 / 3, 0.0, -2.0], vector)
    found = there_and_back(POSE, pose)
    assert np.array_equal(found.position, pose.position)
    assert np.array_equal(found.rotation_vector, pose.rotation_vector)
    ports = there_and_back(PORTS, {"C": pose, "D": tt.Pose()})
    assert [*ports] == ["C", "D"]
    assert np.array_equal(ports["C"].rotation, found.rotation)


def test_a_pose_that_does_not_turn_is_its_position() -> None:
    assert POSE.write(tt.Pose([1.0, 2.0, 3.0])) == [1.0, 2.0, 3.0]
    assert set(POSE.write(tt.Pose.from_rotation_vector([0, 0, 0], [0, 0, 1.0]))) == {"rotation_vector"}


def test_limits_are_one_table_where_all_coordinates_have_the_same() -> None:
    same, other = tt.Limits(-1.0, 1 / 3, stiffness=5.0), tt.Limits(upper=2.0)
    assert isinstance(LIMITS.write((same, same)), dict)
    assert there_and_back(LIMITS, (same, same)) == same
    assert there_and_back(LIMITS, (same, other)) == [same, other]


def test_friction_is_read_from_rows_of_numbers() -> None:
    """As joints keep it: Coulomb, breakaway, Stribeck velocity, smoothing."""
    for friction in (tt.Friction(0.3), tt.Friction(0.3, 0.5, 0.1, 1 / 300)):
        joint = tt.Revolute("joint", friction=friction)
        assert there_and_back(FRICTION, joint.friction) == friction


def test_matrices_by_name() -> None:
    found = there_and_back(SHAPES, {"C": np.arange(6.0).reshape(3, 2) / 3})
    assert np.array_equal(found["C"], np.arange(6.0).reshape(3, 2) / 3)


@pytest.mark.parametrize(
    ("kind", "value", "where"),
    [
        (POSE, {"positon": [0, 0, 0]}, "arm.field.positon"),
        (POSE, "here", "arm.field"),
        (PORTS, {"C": [0, 0]}, "arm.field.C"),
        (LIMITS, [{"lower": 1.0}, {"lower": 2.0, "uper": 3.0}], "arm.field[1].uper"),
        (LIMITS, [{"lower": "x"}], "arm.field[0].lower"),
    ],
)
def test_mistakes_are_found_where_they_stand(kind: ValueKind, value: Any, where: str) -> None:
    reading = FileReading()
    kind.read(value, "arm.field", reading)
    assert [finding.where[: len(where)] for finding in reading.findings] == [where]
