"""Reaction wheels trade momentum."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt


def test_a_wheel_trades_momentum_with_its_satellite():
    """Without other forces the total stays zero: hub and wheel turn against each other."""
    s = tt.System("spin", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 10, inertia=[1, 1, 2])
    s.connect("world", hub, tt.Revolute("yaw"))
    s.add_actuator(tt.ReactionWheel("wheel", hub, [0, 0, 1], inertia=0.1, mass=1.0))
    m = s.resolve()
    trajectory = tt.simulate(m, np.linspace(0, 10, 11), [0, 0], [0, 0], u={"wheel/motor": 0.02})
    yaw, wheel = trajectory.v[-1]
    assert wheel + yaw == pytest.approx(0.02 * 10 / 0.1, rel=1e-8)  # spin of the rotor in inertial space
    assert 2.0 * yaw + 0.1 * (wheel + yaw) == pytest.approx(0, abs=1e-8)
    assert trajectory.outputs()[-1, 0] == pytest.approx(0.1 * wheel)
