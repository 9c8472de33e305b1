"""Efforts and wrenches as functions of time and state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.simulation.simulated_models import largest, slider
from tests.systems import Array, random_tree
from tests.tolerances import ACCURACY, TIGHT


def test_constant_and_varying_wrenches_agree() -> None:
    rng = np.random.default_rng(0)
    model = random_tree(rng, 3, base="free").resolve()
    wrench, q, v = rng.normal(size=6), model.random_configuration(rng), np.zeros(model.nv)
    t = np.linspace(0, 1, 11)
    constant = tt.simulate(model, t, q, v, wrenches={"b2.A": wrench}, **TIGHT)
    varying = tt.simulate(model, t, q, v, wrenches={"b2.A": lambda t, q, v: wrench}, **TIGHT)
    assert largest(constant.v - varying.v) < ACCURACY
    assert np.array_equal(constant.wrenches["b2.A"], varying.wrenches["b2.A"])
    assert largest(constant.v - tt.simulate(model, t, q, v, **TIGHT).v) > 1e-2


def test_wrench_that_depends_on_the_state() -> None:
    t = np.linspace(0, 3, 31)
    drag = {"mass": lambda t, q, v: [-0.8 * v[0], 0, 0, 0, 0, 0]}
    trajectory = tt.simulate(slider(2.0), t, [0.0], [1.5], wrenches=drag, **TIGHT)
    assert largest(trajectory.v[:, 0] - 1.5 * np.exp(-0.4 * t)) < ACCURACY


def test_sampled_efforts_are_linear_in_between() -> None:
    t = np.array([0.0, 0.5, 2.0])
    trajectory = tt.simulate(slider(2.0), t, [0.0], [0.0], tau=3 * t[:, None], **TIGHT)
    assert largest(trajectory.q[:, 0] - 3 * t**3 / 12) < ACCURACY
    assert np.array_equal(trajectory.tau[:, 0], 3 * t)


def test_efforts_as_a_function() -> None:
    trajectory = tt.simulate(slider(2.0), [0, 1, 4], [0.3], [0.0], tau=lambda t, q, v: -2 * q - 2 * v, **TIGHT)
    decay = np.exp(-trajectory.t / 2) * (
        np.cos(np.sqrt(0.75) * trajectory.t) + np.sin(np.sqrt(0.75) * trajectory.t) / np.sqrt(3)
    )
    assert largest(trajectory.q[:, 0] - 0.3 * decay) < ACCURACY


@pytest.mark.parametrize("given_as", ["wrenches", "u", "tau"])
def test_what_is_not_finite_later_is_found_where_nothing_feels_it(given_as: str) -> None:
    """A wrench on a body that stands still moves nothing. Finite, the same functions pass."""
    s = tt.System("post and slider", gravity=[0, 0, -9.81])
    post = tt.RigidBody("post", 1.0)
    s.connect("world", post, tt.Weld("base"))
    s.connect("world", tt.RigidBody("mass", 1.0), tt.Prismatic("slide", axis=[1, 0, 0]))
    s.add_actuator(tt.Thruster("jet", post))
    model = s.resolve()
    lengths = {"wrenches": 6, "u": 1, "tau": 1}

    def run(late: float) -> tt.Trajectory:
        def acting(t: float, q: Array, v: Array) -> Array:
            return np.full(lengths[given_as], late if 0.3 < t < 0.6 else 1.0)

        given: Any = {"wrenches": {"post": acting}} if given_as == "wrenches" else {given_as: acting}
        return tt.simulate(model, [0, 1], [0.0], [0.0], max_step=0.1, progress=False, **given)

    run(2.0)
    for late in (np.nan, np.inf):
        with pytest.raises(tt.ModelError) as caught:
            run(late)
        assert caught.value.code == ("wrong-shape" if given_as == "wrenches" else "not-finite")


@pytest.mark.parametrize("given_as", ["wrenches", "u", "tau"])
@pytest.mark.parametrize("method", ["DOP853", "Radau"])
def test_functions_may_write_into_the_same_arrays_again(given_as: str, method: str) -> None:
    """Also where their slopes are taken by differences: those of Radau's steps."""
    s = tt.System("slider")
    mass = tt.RigidBody("mass", 1.0)
    s.connect("world", mass, tt.Prismatic("slide", axis=[1, 0, 0]))
    s.add_actuator(tt.Thruster("jet", mass, direction=[1, 0, 0]))
    model, room = s.resolve(), np.zeros(6 if given_as == "wrenches" else 1)

    def reusing(t: float, q: Array, v: Array) -> Array:
        room[0] = -50.0 * q[0] - 8.0 * v[0] + np.sin(t)
        return room

    def run(acting: Any) -> tt.Trajectory:
        given: Any = {"wrenches": {"mass": acting}} if given_as == "wrenches" else {given_as: acting}
        return tt.simulate(model, [0, 1], [1.0], [0.0], method=method, progress=False, **given)

    once, anew = run(reusing), run(lambda t, q, v: reusing(t, q, v).copy())
    assert np.array_equal(once.q, anew.q)
    assert once.statistics["steps"] == anew.statistics["steps"]


@pytest.mark.parametrize("given_as", ["wrenches", "u", "entry of u", "tau"])
@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau", "exponential", "LSODA", "generalized-alpha"])
def test_functions_may_change_and_keep_the_state_they_are_given(given_as: str, method: str) -> None:
    """A mass on a spring and a damper that spoil their arguments: the motion of one that does not, in closed form."""
    s = tt.System("slider")
    mass = tt.RigidBody("mass", 1.0)
    s.connect("world", mass, tt.Prismatic("slide", axis=[1, 0, 0]))
    s.add_actuator(tt.Thruster("jet", mass, direction=[1, 0, 0]))
    kept: list[tuple[float, Array, Array]] = []

    def spoiling(t: float, q: Array, v: Array) -> Array:
        force = -5.0 * q[0] - 2.0 * v[0]
        kept.append((force, q, v))
        q, v = kept[-1][1:] if len(kept) % 2 else (q.copy(), v.copy())
        q -= 0.5
        v *= 3.0
        return np.array([force, *np.zeros(5 if given_as == "wrenches" else 0)])

    ways: dict[str, Any] = {"wrenches": {"mass": spoiling}, "entry of u": {"jet": lambda *at: spoiling(*at)[0]}}
    given = {given_as.split()[-1]: ways.get(given_as, spoiling)}
    run = tt.simulate(s.resolve(), [0, 0.5, 1], [1.0], [0.0], method=method, rtol=1e-6, progress=False, **given)
    closed = np.exp(-run.t) * (np.cos(2 * run.t) + np.sin(2 * run.t) / 2)
    assert largest(run.q[:, 0] - closed) < 1e-4  # a hundred tolerances: errors of steps add up
    for force, q, v in kept[1::2]:
        assert force == -5.0 * q[0] - 2.0 * v[0]


@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau", "exponential", "BDF", "LSODA", "generalized-alpha"])
@pytest.mark.parametrize("given", ["u", "tau"])
def test_short_pulses_among_samples_are_not_stepped_over(method: str, given: str) -> None:
    """A second's push of a satellite that is at rest for fifty seconds before: its impulse by the trapezoidal rule."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 10.0, inertia=[1, 2, 3])
    s.connect("world", hub, tt.Prismatic("rail", axis=[1, 0, 0]))
    s.add_actuator(tt.Motor("jet", "rail"))
    t = np.linspace(0, 100, 1001)
    push = np.where((t >= 50) & (t < 51.001), 2.0, 0.0)[:, None]
    run = tt.simulate(s.resolve(), t, [0.0], [0.0], **{given: push}, method=method, progress=False)
    assert run.v[-1, 0] == pytest.approx(np.trapezoid(push[:, 0], t) / 10, rel=1e-5)


@pytest.mark.parametrize("method", ["DOP853", "RK45", "RK23", "Radau", "exponential", "BDF", "generalized-alpha"])
def test_random_short_pulses_among_samples(method: str) -> None:
    """Velocities by the trapezoidal rule and ways by Simpson's for what is linear in between: both exact."""
    rng, mass = np.random.default_rng(5), 2.0
    model = slider(mass)
    t = np.linspace(0, 20, 2001)
    for pulses in (1, 1, 2, 5):
        push = np.zeros(len(t))
        for begin, length in zip(rng.integers(0, 1990, pulses), rng.integers(1, 6, pulses), strict=True):
            push[begin : begin + length] = rng.choice([-1, 1]) * rng.uniform(0.3, 1.0)
        run = tt.simulate(model, t, [0.0], [0.0], tau=push[:, None], method=method, rtol=1e-6, atol=1e-9, progress=False)
        step = t[1] - t[0]
        v = np.concatenate([[0.0], np.cumsum((push[:-1] + push[1:]) * step / 2 / mass)])
        q = np.concatenate([[0.0], np.cumsum(v[:-1] * step + (2 * push[:-1] + push[1:]) * step**2 / 6 / mass)])
        within = 1e-3 if method == "generalized-alpha" else 1e-4  # it is of second order
        assert largest(run.v[:, 0] - v) < within * largest(v)
        assert largest(run.q[:, 0] - q) < within * largest(q)


@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau", "BDF"])
def test_steps_are_short_where_samples_bend_and_nowhere_else(method: str) -> None:
    """A jump among ten thousand samples takes about as many steps as the same jump of a function."""
    t = np.linspace(0, 10, 10001)
    jump = np.where(t < 5, 0.0, 1.0)[:, None]
    model = slider(2.0, damping=1.0)
    run = tt.simulate(model, t, [0.0], [0.0], tau=jump, method=method, progress=False)
    asked = tt.simulate(model, t, [0.0], [0.0], tau=lambda t, q, v: np.array([float(t >= 5)]), method=method, progress=False)
    assert run.statistics["steps"] < 1.5 * asked.statistics["steps"]
    ramp = 2.0 * np.expm1(0.0005) * np.exp(-(t - 4.999) / 2) / 0.001  # of the millisecond before
    assert largest((run.v[:, 0] - 1 + ramp)[t >= 5]) < 1e-6


def test_wrenches_are_taken_as_they_are_at_the_start() -> None:
    """An array that a function writes over while the simulation runs; a constant push of 2 N on 2 kg moves it by t^2 / 2."""
    push = np.array([2.0, 0, 0, 0, 0, 0])

    def spoiling(t: float, q: Array, v: Array) -> list[float]:
        push[0] = np.nan
        return [0.0]

    trajectory = tt.simulate(slider(2.0), [0.0, 1.0], [0.0], [0.0], tau=spoiling, wrenches={"mass": push}, **TIGHT)
    assert largest(trajectory.q[-1] - 0.5) < ACCURACY


def test_gravity_of_a_model_cannot_be_written_over() -> None:
    model = slider(2.0)
    model.gravity[:] = np.nan
    assert np.isfinite(model.gravity).all()
