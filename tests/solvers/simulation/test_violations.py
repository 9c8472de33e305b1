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


def test_motors_count_towards_the_efforts_of_their_joint() -> None:
    s = tt.System("drive", gravity=[0, 0, 0])
    panel = tt.RigidBody("panel", 5.0, com=[1, 0, 0], inertia=[0.1, 1, 1])
    s.connect("world", panel, tt.Revolute("sada", axis=[1, 0, 0], limits=tt.Limits(effort=0.3)))
    s.add_actuator(tt.Motor("drive", "sada", gear=5.0, effort_limit=0.2))
    m = s.resolve()
    for acting in ({"tau": [0.75]}, {"u": {"drive": 0.15}}, {"tau": [0.25], "u": {"drive": 0.1}}):
        (finding,) = tt.simulate(m, [0, 1], [0.0], [0.0], **acting).violations()
        assert (finding.where, finding.value) == ("sada effort", "0.75 N m at t = 0 s")
    assert tt.simulate(m, [0, 1], [0.0], [0.0], tau=[-0.5], u={"drive": 0.15}).violations() == []


def test_joints_with_quaternions_have_limits_of_velocity_and_effort() -> None:
    s = tt.System("ball", gravity=[0, 0, 0])
    limits = tt.Limits(velocity=1.0, effort=0.5)
    s.connect("world", tt.RigidBody("b", 1.0, inertia=1.0), tt.Spherical("ball", limits=limits))
    m = s.resolve()
    found = tt.simulate(m, [0, 1], m.neutral(), [3.0, 0, 0], tau=[0, 0, 2.0]).violations()
    assert {finding.where for finding in found} == {"ball.rx velocity", "ball.rz velocity", "ball.rz effort"}
    assert tt.simulate(m, [0, 1], m.neutral(), [0.5, 0, 0], tau=[0, 0, 0.4]).violations() == []


def test_what_is_no_number_is_in_no_range() -> None:
    """A trajectory whose arrays were written over, or came from elsewhere."""
    s = tt.System("limits", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("block", 1.0), tt.Prismatic("rail", limits=tt.Limits(lower=-1, upper=1)))
    trajectory = tt.simulate(s.resolve(), [0, 1, 2], [0.0], [0.0])
    assert trajectory.violations() == []
    trajectory.q[1] = np.nan
    (finding,) = trajectory.violations()
    assert (finding.where, finding.value) == ("rail position", "nan m at t = 1 s")
