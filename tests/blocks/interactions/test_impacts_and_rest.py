"""Contacts in motion and at rest, by closed forms: impacts, rest, slopes, momentum and energy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.optimize import brentq
from scipy.special import beta

import titop as tt
from tests.energy_balance import balance
from tests.tolerances import TIGHT

G = 9.81


def ball(gravity: Any = (0.0, 0.0, -G), inertia: float = 0.0, **given: Any) -> tt.Model:
    """Return a ball of 0.5 kg and 0.1 m over the ground: with an inertia it is free, else it goes up and down."""
    s = tt.System("ball", gravity=gravity)
    body = tt.RigidBody("ball", mass=0.5, inertia=inertia)
    s.connect("world", body, tt.Free("move") if inertia else tt.Prismatic("move", axis=[0, 0, 1]))
    s.close_loop("world", body, tt.Contact("ground", radius=0.1, **given))
    return s.resolve()


def impact(exponent: float, stiffness: float, mass: float, speed: float) -> tuple[float, float]:
    """Return depth and duration of an elastic impact, from its energy integral."""
    depth = ((exponent + 1) * mass * speed**2 / (2 * stiffness)) ** (1 / (exponent + 1))
    return depth, 2 * depth / speed / (exponent + 1) * beta(1 / (exponent + 1), 0.5)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.5])
def test_elastic_impacts_last_as_long_as_their_energy_says(exponent: float) -> None:
    stiffness, speed = 1e5, 2.0
    depth, duration = impact(exponent, stiffness, 0.5, speed)
    m = ball(gravity=(0, 0, 0), stiffness=stiffness, exponent=exponent)
    started = 0.01  # of free flight
    times = np.array([0.0, started + duration / 2, started + 2 * duration])
    trajectory = tt.simulate(m, times, [0.1 + started * speed], [-speed], **TIGHT)
    assert 0.1 - trajectory.q[1, 0] == pytest.approx(depth, rel=1e-8)  # where it turns, and changes by the square of times
    assert trajectory.v[2, 0] == pytest.approx(speed, rel=1e-9)
    # back where contact began after the duration: what is left of the way is as long as the flight since
    assert trajectory.q[2, 0] == pytest.approx(0.1 + duration * speed, abs=1e-9)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 3.0])
def test_restitution_is_hunt_and_crossleys_whatever_the_exponent(exponent: float) -> None:
    """``ln((1 + d v0)/(1 - d e v0)) = d v0 (1 + e)``, from ``m v dv/dx = -k x^p (1 + d v)``."""
    speed, dissipation = 2.0, 0.4
    x = dissipation * speed
    e = brentq(lambda e: np.log((1 + x) / (1 - x * e)) - x * (1 + e), 1e-3, 1.0 - 1e-9, xtol=1e-14)
    m = ball(gravity=(0, 0, 0), stiffness=1e5, exponent=exponent, dissipation=dissipation)
    end = tt.simulate(m, [0.0, 0.5], [0.1 + 1e-3], [-speed], **TIGHT).v[-1, 0]
    assert end / speed == pytest.approx(e, rel=1e-8)
    assert e < 0.8


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.5])
def test_a_resting_ball_is_as_deep_as_its_weight_says(exponent: float) -> None:
    point = tt.trim(ball(stiffness=1e5, exponent=exponent, dissipation=0.3), q=[0.09], unknowns=["move"])
    assert 0.1 - point.q[0] == pytest.approx((0.5 * G / 1e5) ** (1 / exponent), rel=1e-8)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.5])
@pytest.mark.parametrize("depth", [1e-4, 1e-9, 0.0, -1e-3])
def test_rest_is_found_from_next_to_no_depth(exponent: float, depth: float) -> None:
    """Where next to nothing pushes back: a ball's own length is its radius, so that nothing else counts as small."""
    point = tt.trim(ball(stiffness=1e5, exponent=exponent), q=[0.1 - depth])
    assert 0.1 - point.q[0] == pytest.approx((0.5 * G / 1e5) ** (1 / exponent), rel=1e-8)


def sloping(angle: float) -> Any:
    return G * np.array([np.sin(angle), 0.0, -np.cos(angle)])


def resting(m: tt.Model, angle: float, stiffness: float, **rates: Any) -> tuple[Any, Any]:
    depth = (0.5 * G * np.cos(angle) / stiffness) ** (2 / 3)
    return m.configuration({"move": [0, 0, 0.1 - depth, 0, 0, 0, 1]}), np.zeros(6)


def test_a_ball_rolls_down_with_five_sevenths_of_what_it_would_slide_with() -> None:
    """``a = g sin / (1 + I / (m r^2))`` with r the height of the centre: a sphere's 5/7, less deep than it rests."""
    angle, stiffness, mass = 0.2, 1e6, 0.5
    inertia = 0.4 * mass * 0.1**2
    m = ball(sloping(angle), inertia, stiffness=stiffness, friction=0.6, slip_velocity=1e-4, dissipation=1.0)
    q, v = resting(m, angle, stiffness)
    trajectory = tt.simulate(m, [0.0, 0.5, 1.0], q, v, rtol=1e-9, atol=1e-11)
    height = trajectory.q[-1, 2]
    gained = np.diff(trajectory.q[:, 0])
    expected = G * np.sin(angle) / (1 + inertia / (mass * height**2))
    # between samples 0.5 s apart the second difference is a; slip at 1e-4 m/s times friction's share, over 0.5 s
    assert (gained[1] - gained[0]) / 0.25 == pytest.approx(expected, rel=1e-4)
    assert expected == pytest.approx(5 / 7 * G * np.sin(angle), rel=5e-3)
    slip = trajectory.contacts().slip[-1, 0]
    assert np.linalg.norm(slip) < 1e-4  # it rolls


def test_beyond_the_friction_angle_it_slides_with_coulombs_friction() -> None:
    s = tt.System("block", gravity=sloping(0.5))
    block = tt.RigidBody("block", mass=0.5, inertia=1.0)
    s.connect("world", block, tt.Prismatic("slide", axis=[1, 0, 0]))
    s.close_loop("world", block, tt.Contact("ground", 0.1, 1e6, friction=0.2, slip_velocity=1e-6))
    m = s.resolve()
    force, normal = m.contacts([0.0], [1.0]).force[0], 1e6 * 0.1**1.5
    assert force[0] == pytest.approx(-0.2 * normal, rel=1e-11)  # slip velocities squared, beside 1 m/s
    acceleration = m.forward_dynamics([0.0], [1.0])[0]
    assert acceleration == pytest.approx(G * np.sin(0.5) - 0.2 * normal / 0.5, rel=1e-11)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_below_the_friction_angle_it_creeps_as_slowly_as_is_said(share: float) -> None:
    """At ``slip_velocity s / sqrt(1 - s^2)``, s the tangent of the slope by the coefficient: friction is the weight then."""
    friction, stiffness, slip_velocity = 0.5, 1e6, 1e-3
    angle = float(np.arctan(share * friction))
    m = ball(sloping(angle), 1e3, stiffness=stiffness, friction=friction, slip_velocity=slip_velocity, dissipation=1.0)
    q, v = resting(m, angle, stiffness)
    end = tt.simulate(m, [0.0, 0.2], q, v, method="Radau", rtol=1e-9, atol=1e-12)
    slip = end.contacts().slip[-1, 0]
    assert slip[0] == pytest.approx(slip_velocity * share / np.sqrt(1 - share**2), rel=1e-3)  # it turns by 1e-4 rad/s in 0.2 s


def test_rolling_friction_stops_what_rolls() -> None:
    """On level ground ``a = -(rolling/r) g / (1 + I/(m r^2))``: the torque ``rolling N`` against the spin, and no slip."""
    mass, stiffness, rolling = 0.5, 1e6, 2e-3
    inertia = 0.4 * mass * 0.1**2
    m = ball((0, 0, -G), inertia, stiffness=stiffness, friction=0.6, slip_velocity=1e-5, dissipation=1.0, rolling=rolling)
    q, v = resting(m, 0.0, stiffness)
    height = q[2]
    v[0], v[4] = 1.0, 1.0 / height
    trajectory = tt.simulate(m, [0.0, 0.5], q, v, method="Radau", rtol=1e-9, atol=1e-11)
    speed = trajectory.motion("ball", frame="world")[-1, 6]
    expected = 1.0 - 0.5 * rolling / height * G / (1 + inertia / (mass * height**2))
    assert speed == pytest.approx(expected, rel=1e-4)  # friction's share of the slip velocity, and (1e-5/1)^2 of the torque
    assert 1.0 - expected > 0.05


def two_free(contact: tt.Contact) -> tt.Model:
    s = tt.System("two", gravity=[0, 0, 0])
    for name, mass in (("one", 1.0), ("two", 2.0)):
        body = tt.RigidBody(name, mass=mass, com=[0.02, 0.01, 0.0], inertia=[0.01, 0.02, 0.02])
        s.connect("world", body, tt.Free(f"{name}_moves"))
    s.close_loop(s["one"], s["two"], contact)
    return s.resolve()


@pytest.mark.parametrize("shape", [tt.Shape.sphere(0.1), tt.Shape.box([0.3, 0.2, 0.2]), tt.Shape.capsule(0.05, 0.2)], ids=repr)
def test_free_bodies_keep_their_momentum_and_lose_what_friction_takes(shape: tt.Shape) -> None:
    laws: dict[str, Any] = {"dissipation": 0.2, "friction": 0.4, "slip_velocity": 0.05, "rolling": 1e-3}
    m = two_free(tt.Contact("touch", 0.1, 1e4, shape=shape, **laws))
    q = m.configuration({"two_moves": [0.4, 0.05, 0.03, 0, 0, 0, 1]})
    v = m.velocity({"two_moves": [-2.0, 0.3, 0.1, 3.0, 2.0, -5.0]})
    times = np.linspace(0, 0.3, 3001)
    trajectory = tt.simulate(m, times, q, v, rtol=1e-11, atol=1e-12)
    momentum = np.array([m.momentum(*at) for at in zip(trajectory.q, trajectory.v, strict=True)])
    assert trajectory.contacts().depth.max() > 1e-3
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(momentum), 1)), rtol=0, atol=1e-9)  # the tolerance gathered
    lost, taken = balance(m, q, v, 0.3, **TIGHT)
    assert taken == pytest.approx(lost, rel=1e-7)
    assert lost > 0.05
    # the integral of the power without rolling friction is another one, by more than could be overlooked
    without = two_free(tt.Contact("touch", 0.1, 1e4, shape=shape, **{**laws, "rolling": 0.0}))
    other = simpson(without.dissipated_power(trajectory.q, trajectory.v), x=times)
    assert abs(other - lost) > 1e-4 * lost


def test_linear_models_where_something_is_about_to_touch_warn() -> None:
    m = ball(gravity=(0, 0, 0), stiffness=1e5)
    for height, warned in ((0.1, True), (0.1 + 1e-6, False), (0.1 - 1e-6, False)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tt.linearize(m, [height], inputs=["move"])
        assert [str(w.message).startswith("ground: got a gap") for w in caught if "near-switching" in str(w.message)] == [
            True
        ] * warned


def test_bodies_that_start_deep_inside_are_told_of() -> None:
    m = ball(gravity=(0, 0, 0), stiffness=1.0)
    with pytest.warns(tt.ModelWarning, match="ground 0.15 m deep at the start; expected less than its radius, 0.1 m"):
        tt.simulate(m, [0.0, 1e-3], [-0.05], [0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tt.simulate(m, [0.0, 1e-3], [0.05], [0.0])


def test_rods_that_start_deep_in_a_shape_are_told_of_and_points_by_the_size_of_the_system() -> None:
    rod = tt.Rod("rod", 0.5, tt.Section.circle(0.01), young=1e6, density=1000.0, strains={"bending_y": 1})
    s = tt.System("rod", gravity=[0, 0, 0])
    s.connect("world", rod, tt.Prismatic("up", axis=[0, 0, 1]))
    s.add_interaction(tt.Contact("floor", stiffness=1.0, on=rod, points=3), "world")
    s.add_interaction(tt.Contact("thin", 0.0, 1.0, on=rod, points=3), "world")
    m = s.resolve()
    with pytest.warns(tt.ModelWarning) as told:
        tt.simulate(m, [0.0, 1e-4], m.configuration({"up": -0.02}), np.zeros(m.nv))
    texts = [str(warning.message) for warning in told]
    assert any("floor[0] 0.03 m deep at the start; expected less than its radius, 0.01 m" in text for text in texts)
    assert any("thin[0] 0.02 m deep at the start; expected less than 0.005" in text for text in texts)  # of half a metre
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tt.simulate(m, [0.0, 1e-4], m.configuration({"up": 0.004}), np.zeros(m.nv))


def test_impacts_that_fixed_steps_pass_over_are_told_of_with_the_step_that_would_not() -> None:
    m = ball(gravity=(0, 0, 0), stiffness=1e6)
    _, duration = impact(1.5, 1e6, 0.5, 2.0)
    few, many = np.array([0.0, 0.05]), np.linspace(0.0, 0.05, 26)  # it has bounced before the second of the few
    for times, steps, warned in ((few, 5, True), (many, 5, True), (few, 20, False), (many, 20, False)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tt.simulate(m, times, [0.121], [-2.0], method=tt.GeneralizedAlpha(step=duration / steps))
        told = [str(w.message) for w in caught if "brief-impact" in str(w.message)]
        assert len(told) == warned
        assert all(f"an impact of {duration:.2g} s" in text and f"take step={duration / 10:.1g}" in text for text in told)


def held(angle: float, friction: float = 0.5, stiffness: float = 1e6) -> tuple[tt.Model, Any, Any]:
    """Return a block that does not turn on a slope, on a bristle of 0.05 mm, at rest there."""
    s = tt.System("block", gravity=sloping(angle))
    block, slide, lift = (tt.RigidBody(name, mass=mass) for name, mass in (("block", 0.5), ("slide", 0.0), ("lift", 0.0)))
    s.connect("world", slide, tt.Prismatic("along", axis=[1, 0, 0]))
    s.connect(slide, lift, tt.Prismatic("across", axis=[0, 1, 0]))
    s.connect(lift, block, tt.Prismatic("up", axis=[0, 0, 1]))
    laws: dict[str, Any] = {"friction": friction, "slip_velocity": 1e-3, "dissipation": 1.0, "tangential_stiffness": 1e4}
    s.close_loop("world", block, tt.Contact("ground", 0.1, stiffness, **laws))
    depth = (0.5 * G * np.cos(angle) / stiffness) ** (2 / 3)
    return s.resolve(), [0.0, 0.0, 0.1 - depth], np.zeros(3)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_bristles_hold_below_the_friction_angle(share: float) -> None:
    """It stops where ``w / (1 + w^8)^(1/8)`` is the slope's tangent by the coefficient, w the bend by 0.05 mm."""
    m, q, v = held(float(np.arctan(share * 0.5)))
    trajectory = tt.simulate(m, [0.0, 1.0, 2.0], q, v, method="Radau", rtol=1e-8, atol=1e-12)
    bend = 5e-5 * brentq(lambda w: w / (1 + w**8) ** 0.125 - share, 0.0, 3.0, xtol=1e-14)
    assert trajectory.q[1, 0] == pytest.approx(bend, rel=1e-5)  # settled, by the bristle's damping
    assert abs(trajectory.q[2, 0] - trajectory.q[1, 0]) < 1e-9  # without them it creeps by a millimetre here
    assert np.linalg.norm(trajectory.contacts().force[-1, 0, :2]) == pytest.approx(
        0.5 * G * np.sin(np.arctan(share * 0.5)), rel=1e-5
    )


def test_beyond_the_friction_angle_bristles_give_in() -> None:
    angle = 0.6  # tangent 0.68, coefficient 0.5
    m, q, v = held(angle)
    trajectory = tt.simulate(m, [0.0, 0.5, 1.0], q, v, method="Radau", rtol=1e-8, atol=1e-10)
    expected = G * (np.sin(angle) - 0.5 * 2.0 / (1 + 2.0**8) ** 0.125 * np.cos(angle))
    # bristles bent by twice their reach, 0.1 mm; what passes until they are is a hundredth of a second
    assert trajectory.v[2, 0] - trajectory.v[1, 0] == pytest.approx(0.5 * expected, rel=1e-5)
