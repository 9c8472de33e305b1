"""Where a trajectory leaves the ranges of actuators."""

from __future__ import annotations

import numpy as np

import titop as tt


def test_violations_name_the_worst_instant() -> None:
    limits = tt.Limits(lower=-1, upper=0.6, velocity=0.9, effort=3)
    s = tt.System("limits", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("block", 1.0), tt.Prismatic("rail", limits=limits))
    s.add_actuator(tt.Motor("motor", "rail", effort_limit=1.0))
    m = s.resolve()
    trajectory = tt.simulate(m, np.linspace(0, 1, 11), [0], [0], tau=[-1.0], u=[2.0])
    assert [finding.where for finding in trajectory.violations()] == ["rail velocity", "motor input"]
    assert "t = 1 s" in str(trajectory.violations()[0])
    assert tt.simulate(m, [0, 0.1], [0], [0]).violations() == []
