"""Springs that are turned past half a turn are named; all others are not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import titop as tt

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


@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau", "LSODA", "generalized-alpha"])
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
