"""The stability of operating points."""

from __future__ import annotations

import warnings

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


def test_rounding_between_states_that_do_not_act_on_each_other_is_no_matter() -> None:
    """Balancing scales what a spinning whip's rigid motions have to do with each other, 1e-20, by any power of two."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 60.0, inertia=[3.0, 3.2, 4.2], ports={"mount": [0.3, 0, 0]})
    s.connect("world", hub, tt.Free("base"))
    bending = {"bending_y": 1, "bending_z": 1}
    whip = tt.Rod("whip", 6.0, tt.Section.circle(0.004), young=4e10, density=1900.0, strains=bending)
    s.connect(hub.port("mount"), whip, tt.Weld("root"))
    model = s.resolve()
    for spin in (1.0, 2.0, 3.0):
        point = tt.trim(model, ["whip", "base.y.v"], v={"base.rz": spin})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert point.stability == "neutral"  # without damping, about the largest inertia


def test_defective_eigenvalues_beside_fast_ones_are_no_overflow() -> None:
    """Left and right eigenvectors of a drift are at right angles but for 1e-308: a norm of 1e20 over that is endless."""
    s = tt.System("drift", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 1.0), tt.Prismatic("rail", axis=[1, 0, 0]))
    point = tt.trim(s.resolve())
    fast = 1e20
    matrix = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, -fast, fast], [0.0, 0.0, -fast, -fast]])
    point.__dict__["_derivatives"] = matrix
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert point.stability == "neutral"
