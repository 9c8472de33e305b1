"""The blocks that kernels leave to Python."""

from __future__ import annotations

import pytest

import titop as tt
from titop.solvers.engines.compiled import special_blocks


def hung(joint: tt.Joint) -> tt.System:
    """Return a body on a joint."""
    s = tt.System("hung", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("body", mass=1.0, com=[0.1, 0.2, 0.3], inertia=0.5), joint)
    return s


@pytest.mark.parametrize(
    ("joint", "expected"),
    [
        (tt.Spherical("joint", stiffness=2.0), True),
        (tt.Free("joint", stiffness=2.0), True),
        (tt.Spherical("joint", damping=2.0), False),
        (tt.Revolute("joint", stiffness=2.0), False),
    ],
)
def test_springs_of_groups_are_found(joint: tt.Joint, expected: bool) -> None:
    system = hung(joint).resolve().engine.system  # type: ignore[attr-defined]
    assert [each.name for each in special_blocks.group_springs(system)] == ["joint"] * expected
