"""Members that neither decay nor grow: named, and not called unstable for rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from titop.solvers.robust.lyapunov_tests import abscissa, marginal_poles, rounding_of_poles


def test_the_largest_growth_of_members() -> None:
    members = np.array([np.diag([-1.0, -2.0]), [[0.3, 2.0], [-2.0, 0.3]], np.full((2, 2), np.nan)])
    np.testing.assert_allclose(abscissa(members), [-1.0, 0.3, np.inf])
    assert rounding_of_poles(members[2]) == 0


@pytest.mark.parametrize("rate", [1.0, 1e-3])
def test_what_swings_without_damping_is_named(rate: float) -> None:
    """Two oscillators: one of 3 rad/s that is damped, one of 2 rad/s that is not."""
    A = np.zeros((4, 4))
    A[:2, :2], A[2:, 2:] = [[0, 1], [-9, -0.2]], [[0, 1], [-4, 0]]
    told = marginal_poles(A / rate, ["a.q", "a.v", "b.q", "b.v"], rate)
    assert told.startswith("a member neither decays nor grows at 2 rad/s, in b.q, b.v:")


def wheels() -> tuple[tt.Model, dict[str, Any], Callable[[float], control.StateSpace]]:
    """Return a hub with two equal wheels, its signals, and what drives both alike at a gain: their difference keeps turning."""
    s = tt.System("craft", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("hub", 10.0, inertia=5.0), joint=tt.Revolute("yaw", axis=[0, 0, 1]))
    for k in (0, 1):
        s.add_actuator(tt.ReactionWheel(f"w{k}", s["hub"], [0, 0, 1], 0.1, mass=1.0))
    motors = ["w0/motor", "w1/motor"]

    def alike(gain: float) -> control.StateSpace:
        return control.ss([], [], [], gain * np.array([[1.0, 2.0]] * 2), inputs=["yaw_q", "yaw_v"], outputs=motors)

    return s.resolve(), {"inputs": motors, "outputs": ["yaw.q", "yaw.v"], "omit": ["w0.q", "w1.q"]}, alike


def test_wheels_that_keep_turning_are_named() -> None:
    """The same loop as a fractional model, which has no such states, is stable."""
    m, signals, alike = wheels()
    family = tt.lpv(m, {"hub.inertia.zz": [4.0, 5.0, 6.0]}, **signals, progress=False)
    sampled = tt.lyapunov_stability(family, controller=alike(1.0))
    assert sampled.stable is None
    assert not sampled.member
    assert "a member neither decays nor grows at 0 rad/s, in w0.v, w1.v: omit=" in str(sampled)
    assert str(tt.lyapunov_stability(family, controller=alike(-1.0), sign=-1)) == str(sampled)
    exact = tt.lft(m, m.neutral(), {"hub.inertia.zz": (4.0, 6.0)}, **signals).close(alike(1.0))
    assert tt.lyapunov_stability(exact).stable
    unstable = tt.lyapunov_stability(family, controller=alike(-1.0))
    assert unstable.stable is False
    assert 4 <= unstable.member["hub.inertia.zz"] <= 6
