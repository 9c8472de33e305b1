"""States of the first order at equilibria: found, kept, or refused; how they follow coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.stated_systems import BristleJoint, LaggingJoint, MaxwellJoint, jointed

WEIGHT, FRICTION, BRISTLE, STIFFNESS, EXPONENT = 2.0 * 9.81, 0.5, 2e3, 1e5, 1.5
REACH = FRICTION / BRISTLE


def on_slope(angle: float = 0.3, tangential_stiffness: float = BRISTLE, engine: str = "compiled") -> tt.Model:
    """Return a block of 2 kg that cannot turn on a plane; gravity is inclined by the slope."""
    s = tt.System("slope", gravity=[9.81 * np.sin(angle), 0, -9.81 * np.cos(angle)])
    carriage, block = tt.RigidBody("carriage", mass=0.0), tt.RigidBody("block", mass=2.0)
    s.connect("world", carriage, tt.Prismatic("along", axis=[1, 0, 0]))
    s.connect(carriage, block, tt.Prismatic("up", axis=[0, 0, 1]))
    ground: dict[str, Any] = {
        "stiffness": STIFFNESS,
        "exponent": EXPONENT,
        "friction": FRICTION,
        "slip_velocity": 0.01,
        "dissipation": 1.0,
    }
    contact = tt.Contact("ground", radius=0.0, tangential_stiffness=tangential_stiffness, **ground)
    s.close_loop("world", block, contact)
    return s.resolve(engine=engine)


def bent(angle: float) -> float:
    """Return how far a bristle is bent that holds a block on a slope: friction is ``N w/(1 + w^8)^(1/8)`` at ``w = b/e``."""
    part = np.tan(angle) / FRICTION
    return float(REACH * part / (1.0 - part**8) ** 0.125)


def depth(angle: float) -> float:
    return float((WEIGHT * np.cos(angle) / STIFFNESS) ** (1.0 / EXPONENT))


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("before", [0.0, 5e-5, -1e-4])
def test_a_block_on_a_slope_moves_by_what_its_bristle_bends(before: float, engine: str) -> None:
    angle = 0.3
    m = on_slope(angle, engine=engine)
    point = tt.trim(m, q=[0.2, -depth(0.0)], x=[before, 0.0, 0.0])
    assert (point.stability, point.free) == ("stable", ())
    np.testing.assert_allclose(point.x, [bent(angle), 0, 0], rtol=0, atol=1e-9 * REACH)  # the search's tolerance
    np.testing.assert_allclose(point.q, [0.2 + bent(angle) - before, -depth(angle)], rtol=0, atol=1e-12)
    force = m.contacts(point.q, point.v, "ground", x=point.x).force[0]
    np.testing.assert_allclose(force, WEIGHT * np.array([-np.sin(angle), 0, np.cos(angle)]), rtol=0, atol=1e-7)


def test_without_bristles_nothing_holds() -> None:
    with pytest.raises(tt.ConvergenceError, match="no equilibrium near the guess"):
        tt.trim(on_slope(tangential_stiffness=0.0), q=[0.0, -depth(0.0)], max_iterations=20)


def test_a_simulation_rests_where_it_is_trimmed() -> None:
    """From its end all stays: the anchor of the bristle too."""
    m, angle = on_slope(), 0.3
    times = np.linspace(0.0, 1.0, 3)
    run = tt.simulate(m, times, [0.0, -depth(angle)], [0.0, 0.0], rtol=1e-8, atol=1e-11)
    point = tt.trim(m, q=run.q[-1], x=run.x[-1])
    np.testing.assert_allclose(point.q, run.q[-1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(point.x, run.x[-1], rtol=0, atol=1e-8)


def test_a_wheel_that_turns_far_stays_where_it_rolls() -> None:
    """A spring turns a wheel by a radian; it rolls without bending its bristle beyond what holds the slope's pull.

    Slip is ``dx - r dtheta``: x follows by as much as the spring turns it, less by what the bristle gives.
    """
    s, radius, turned = tt.System("wheel", gravity=[0, 0, -9.81]), 0.1, 1.0
    carriage, lift = tt.RigidBody("carriage", mass=0.0), tt.RigidBody("lift", mass=2.0)
    wheel = tt.RigidBody("wheel", mass=1.0, inertia=0.01)
    s.connect("world", carriage, tt.Prismatic("along", axis=[1, 0, 0]))
    s.connect(carriage, lift, tt.Prismatic("up", axis=[0, 0, 1]))
    s.connect(lift, wheel, tt.Revolute("axle", axis=[0, 1, 0], stiffness=5.0, rest=turned))
    laws: dict[str, Any] = {"stiffness": STIFFNESS, "friction": FRICTION, "tangential_stiffness": BRISTLE}
    s.close_loop("world", wheel, tt.Contact("ground", radius=radius, **laws))
    m = s.resolve()
    point = tt.trim(m, q=[0.0, radius - (3.0 * 9.81 / STIFFNESS) ** (1 / 1.5), 0.0])
    np.testing.assert_allclose(point.q[2], turned, rtol=1e-6)
    lever = radius - (3.0 * 9.81 / STIFFNESS) ** (1.0 / EXPONENT)
    np.testing.assert_allclose(point.q[0], lever * turned, rtol=1e-6)  # what friction's torque bends
    np.testing.assert_allclose(point.x, 0.0, rtol=0, atol=1e-3 * REACH)


def test_stiffness_of_what_bristles_hold() -> None:
    """On a level plane: ``tangential_stiffness N``, in the linear model at low frequency and between equilibria."""
    m, far = on_slope(0.0), 1e-2
    point = tt.trim(m, q=[0.0, -depth(0.0)])
    system = tt.linearize(m, point, inputs=["along"], outputs=["along.q"])
    expected = BRISTLE * WEIGHT
    assert np.real(system(1j * far)) == pytest.approx(1.0 / expected, rel=1e-6)  # (0.01 / 140 rad/s)^2
    pushed = [tt.trim(m, q=point.q, x=point.x, tau=[push, 0.0]).q[0] for push in (-0.01, 0.01)]
    assert 0.02 / (pushed[1] - pushed[0]) == pytest.approx(expected, rel=1e-6)
    poles = system.poles()
    still = np.abs(poles) < 1e-6
    assert still.sum() == 2  # bristles along x and y are no states of their own
    assert len(point.eigenvalues) == len(poles) - 2
    assert point.stability == "stable"


def test_integrators_of_inputs_are_states_of_their_own() -> None:
    """What integrates an input follows no coordinate: where it stays is an open question, as before."""
    for joint, count, stability in (
        (Integrating("hinge", axis=[0, 1, 0], stiffness=30.0, damping=1.0), 3, "neutral"),
        (LaggingJoint("hinge", axis=[0, 1, 0], stiffness=30.0, damping=1.0), 3, "stable"),
    ):
        s = tt.System("arm")
        s.connect("world", tt.RigidBody("bar", mass=2.0, com=[0.5, 0, 0], inertia=0.3), joint)
        point = tt.trim(s.resolve())
        assert (len(point.eigenvalues), point.stability) == (count, stability)


def test_families_of_what_bristles_hold() -> None:
    """Slopes as a parameter: every member of an LPV model is held, the linear model of its own point."""
    m, angles = on_slope(0.0), [0.0, 0.1, 0.2]
    points = []
    for angle in angles:
        gravity = {"gravity.x": 9.81 * np.sin(angle), "gravity.z": -9.81 * np.cos(angle)}
        points.append(tt.trim(m, q=[0.0, -depth(angle)], parameters=gravity))
    places = {"gravity.x": [point.parameters["gravity.x"] for point in points]}
    family = tt.lpv(m, places, points, inputs=["along"], outputs=["along.q"])
    for point, place in zip(points, places["gravity.x"], strict=True):
        own = tt.linearize(m, point, inputs=["along"], outputs=["along.q"])
        np.testing.assert_allclose(family.at({"gravity.x": place}).A, own.A, rtol=1e-9, atol=1e-9 * np.abs(own.A).max())


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
