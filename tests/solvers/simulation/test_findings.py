"""What is suspicious about a motion is told, and nothing else."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

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


# -- springs that are turned past half a turn are named; all others are not


SPIN = 5.0
HALF = np.pi / SPIN


def spinning(kind: str, stiffness: Any = 1e-6, offset: float = 0.0) -> tuple[tt.Model, Any, Any]:
    """Return a body that turns about a tilted axis against a weak spring, and its start."""
    s = tt.System("rig", gravity=[0, 0, 0])
    rock = tt.RigidBody("rock", mass=1.0, inertia=1.0)
    axis = np.array([1.0, 2.0, 2.0]) / 3
    if kind == "closure":
        s.connect("world", rock, tt.Revolute("hinge", axis=axis))
        s.close_loop("world", rock, tt.CompliantClosure("rubber", stiffness=stiffness))
        return s.resolve(), [offset], [SPIN]
    joint = {"free": tt.Free, "spherical": tt.Spherical}[kind]("rubber", stiffness=stiffness)
    s.connect("world", rock, joint)
    model = s.resolve()
    v = np.zeros(model.nv)
    v[-3:] = axis
    return model, model.integrate(model.neutral(), offset * v), SPIN * v


def said(model: tt.Model, q: Any, v: Any, end: float, **arguments: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tt.simulate(model, [0, end], q, v, **arguments)
    assert all(w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau", "exponential", "LSODA", "generalized-alpha"])
def test_a_closure_past_half_a_turn_is_named_with_the_time(method: str) -> None:
    (message,) = said(*spinning("closure"), 1.2 * HALF, method=method, max_step=0.02)
    assert message.startswith("rubber: got half a turn by t = ")
    assert 0 <= float(message.split("by t = ")[1].split(" s")[0]) - HALF <= 0.02 + 1e-9  # the end of the step


@pytest.mark.parametrize("kind", ["free", "spherical"])
def test_joints_with_springs_too(kind: str) -> None:
    (message,) = said(*spinning(kind), 1.2 * HALF, max_step=0.1)
    assert message.startswith("rubber: got half a turn by t = ")


@pytest.mark.parametrize("kind", ["closure", "free", "spherical"])
def test_less_than_half_a_turn_is_fine(kind: str) -> None:
    assert said(*spinning(kind, offset=-0.9 * np.pi), 1.8 * HALF) == []  # nearly a whole one, from one side to the other
    assert said(*spinning(kind, 0.0 if kind != "closure" else [1, 1, 1, 0, 0, 0]), 3 * HALF) == []


def test_control_loops_are_watched_across_samples() -> None:
    K = tt.Controller(lambda t, x, y, r: (x, 0.0 * y), [], ["hinge.q"], ["hinge.tau"], 0.01)
    assert len(said(*spinning("closure"), 5 * HALF, controller=K)) == 1


def test_it_is_where_energy_jumps() -> None:
    """Rotation by 0.9 pi and 1.1 pi about one axis stores the same; a linear torsion spring would not."""
    model, _, _ = spinning("closure", 1.0)
    before, after, beyond = (model.energy([x * np.pi], [0.0]).elastic for x in (0.9, 1.1, 1.0 - 1e-9))
    assert after == pytest.approx(before)
    assert beyond == pytest.approx(0.5 * np.pi**2)
    inertia = model.mass_matrix([0.0])[0, 0]
    torques = [inertia * model.forward_dynamics([x], [0.0])[0] for x in (np.pi - 1e-9, np.pi + 1e-9)]
    assert torques == pytest.approx([-np.pi, np.pi])
