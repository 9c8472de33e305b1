"""States of the first order at equilibria: found, kept, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.stated_systems import BristleJoint, LaggingJoint, MaxwellJoint, jointed


def arm(joint: tt.Joint) -> tt.Model:
    """Return a bar of 2 kg whose centre of mass is 0.5 m from a hinge about y, horizontal at zero."""
    s = tt.System("arm")
    s.connect("world", tt.RigidBody("bar", mass=2.0, com=[0.5, 0, 0], inertia=0.3), joint)
    return s.resolve()


class Integrating(tt.Revolute):
    """A joint whose effort is the integral of its input."""

    inputs, state_names = ("command",), ("effort",)

    def state_efforts(self, q: Any, v: Any, x: Any) -> Any:
        return x

    def state_rates(self, q: Any, v: Any, x: Any, u: Any) -> Any:
        return u


class Sticking(tt.Revolute):
    """A joint with a bristle that does not creep: its rate is zero where nothing moves."""

    state_names = ("bristle",)

    def state_efforts(self, q: Any, v: Any, x: Any) -> Any:
        return -100.0 * x

    def state_rates(self, q: Any, v: Any, x: Any, u: Any) -> Any:
        return v - v * v * x


def test_a_lag_comes_to_its_command() -> None:
    m = arm(LaggingJoint("hinge", axis=[0, 1, 0], stiffness=30.0))
    point = tt.trim(m, u=[2.0])
    np.testing.assert_allclose(point.x, [2.0], rtol=1e-12)
    weight = 2.0 * 9.81 * 0.5
    np.testing.assert_allclose(2.0 - 30.0 * point.q[0] + weight * np.cos(point.q[0]), 0.0, atol=1e-8)
    held = tt.trim(m, ["hinge.command"], q={"hinge": 0.3})
    np.testing.assert_allclose(held.u, [30.0 * 0.3 - weight * np.cos(0.3)], rtol=1e-9)
    np.testing.assert_allclose(held.x, held.u, rtol=1e-12)


def test_a_relaxed_spring_carries_nothing() -> None:
    m = arm(MaxwellJoint("hinge", axis=[0, 1, 0], stiffness=30.0))
    point, without = tt.trim(m, x=[3.0]), tt.trim(arm(tt.Revolute("hinge", axis=[0, 1, 0], stiffness=30.0)))
    np.testing.assert_allclose(point.q, without.q, rtol=1e-10)
    np.testing.assert_allclose(point.x, point.q, rtol=1e-12)


def test_what_does_not_depend_on_itself_stays() -> None:
    """A bristle at rest holds with the strain of the guess: an arm without a spring, held level."""
    weight = 2.0 * 9.81 * 0.5
    m = arm(Sticking("hinge", axis=[0, 1, 0], damping=1.0))
    point = tt.trim(m, q=[0.0], x=[weight / 100.0])
    np.testing.assert_allclose(point.x, [weight / 100.0])
    np.testing.assert_allclose(point.q, [0.0], atol=1e-9)
    other = tt.trim(m, x=[0.5 * weight / 100.0], q=[1.0])  # it sags until the bristle, bent by as much, carries the rest
    np.testing.assert_allclose(other.x - 0.5 * weight / 100.0, other.q - 1.0, rtol=1e-12)
    np.testing.assert_allclose(100.0 * other.x, weight * np.cos(other.q), rtol=1e-8)


def test_an_integrator_has_no_equilibrium_with_an_input() -> None:
    m = arm(Integrating("hinge", axis=[0, 1, 0], stiffness=30.0))
    with pytest.raises(tt.ConvergenceError, match=r"hinge\.effort goes on changing by 2"):
        tt.trim(m, u=[2.0])
    np.testing.assert_allclose(tt.trim(m, u=[0.0], x=[1.5]).x, [1.5])


def test_equilibria_over_parameters_take_states_along() -> None:
    m = jointed().resolve()
    point = tt.trim(m, ["driven", "rail", "soft.stiffness"], q={"soft": 0.8}, u=[0.7])
    np.testing.assert_allclose(point.residual, 0.0, atol=1e-7)
    np.testing.assert_allclose(point.model.state_rates(point.q, point.v, point.x, point.u), 0.0, atol=1e-9)
    assert point.x[2] == pytest.approx(0.8)


def test_a_sliding_bristle_is_steady() -> None:
    """Pulled along at a constant rate, LuGre's bristle is bent by ``g(v) / sigma`` and takes ``g(v) + viscous v``."""
    s = tt.System("slider", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("block", mass=2.0), BristleJoint("rail", axis=[1, 0, 0]))
    m = s.resolve()
    point = tt.trim(m, ["rail.tau"], v=[0.02])
    limit = 1.0 + 0.5 * np.exp(-4.0)
    np.testing.assert_allclose(point.tau, [limit + 0.4 * 0.02], rtol=1e-6)  # |v| is smoothed by 1e-6 m/s
    np.testing.assert_allclose(point.x, [limit / 1e3], rtol=1e-6)


def test_points_say_their_states() -> None:
    text = str(tt.trim(arm(LaggingJoint("hinge", axis=[0, 1, 0], stiffness=30.0)), u=[2.0]))
    assert "hinge.effort = 2 N m" in text
