"""The blocks that kernels leave to Python."""

from __future__ import annotations

import numpy as np
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


def test_their_slopes_are_those_of_their_efforts() -> None:
    """Central differences over 1e-5 along each direction."""
    model = hung(tt.Spherical("joint", stiffness=[2.0, 3.0, 4.0], rest=[0.5, -0.5, 0.5, 0.5])).resolve()
    q, step, changes = model.configuration({"joint": [0.1, 0.2, -0.3, np.sqrt(0.86)]}), 1e-5, np.zeros((3, 3, 3))
    special_blocks.add_uncompiled(model.engine.system, q, [], changes)  # type: ignore[attr-defined]
    still = np.zeros(3)
    ahead, behind = (
        np.array([model.passive_efforts(model.integrate(q, sign * step * e), still) for e in np.eye(3)]) for sign in (1, -1)
    )
    np.testing.assert_allclose(changes[0], -(ahead - behind).T / (2 * step), rtol=0, atol=1e-8)
    assert not changes[1:].any()
