"""What may be named as a coordinate: joints, and other blocks with coordinates of their own."""

from __future__ import annotations

import pytest

from tests.solvers.mechanism.soft_arms import soft_arm
from titop.graph.checking.coordinate_names import full_name, moving_blocks


def test_joints_and_bodies_with_coordinates_may_be_named() -> None:
    s = soft_arm()
    found = moving_blocks(s)
    assert {*found} == {"shoulder", "wrist", "segment", "panel"}
    assert all(block.name == name for name, block in found.items())


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("shoulder", "shoulder.angle"),
        ("segment", "segment.bend"),
        ("segment.bend", "segment.bend"),
        ("panel", "panel"),  # has several
        ("wrist", "wrist"),  # has none
        ("elbow", "elbow"),
    ],
)
def test_the_only_coordinate_has_its_full_name(name: str, full: str) -> None:
    assert full_name(moving_blocks(soft_arm()), name) == full
