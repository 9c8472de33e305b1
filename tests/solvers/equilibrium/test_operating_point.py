"""The stability of operating points."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.solvers.equilibrium.spinners import GRAVITY


@pytest.mark.parametrize("stiffness", [0.0, 1e3, 1e9, 1e12])
@pytest.mark.parametrize(("damping", "up", "down"), [(0.0, "unstable", "neutral"), (0.1, "unstable", "stable")])
def test_stability_beside_stiff_springs(stiffness: float, damping: float, up: str, down: str) -> None:
    """A pendulum, of 3 rad/s, keeps its stability beside oscillations of up to 3e7 rad/s."""
    s = tt.System("row", gravity=[0, 0, -GRAVITY])
    s.connect("world", tt.RigidBody("bob", 1.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0], damping=damping))
    if stiffness:
        rate = 1e-3 * np.sqrt(stiffness * 1e-3) * (damping > 0)  # a damping ratio of 5e-4
        spring = tt.Prismatic("spring", axis=[1, 0, 0], stiffness=stiffness, damping=rate)
        s.connect("world", tt.RigidBody("mass", 1e-3), spring)
    model = s.resolve()
    assert tt.trim(model).stability == down
    assert tt.trim(model, q={"hinge": 3.1}).stability == up
    s.connect("world", tt.RigidBody("sledge", 1.0), tt.Prismatic("track", axis=[1, 0, 0]))
    drifting = s.resolve()
    assert tt.trim(drifting).stability == "neutral"
    assert tt.trim(drifting, q={"hinge": 3.1}).stability == "unstable"
