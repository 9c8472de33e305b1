"""Dissipated power: what the energy loses beside what efforts, inputs and wrenches bring; the efforts of inertia alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson

import titop as tt
from tests.flexible import unit_beam
from tests.refusals import ENGINES
from titop.blocks.basics.differences import derivative


def lossy(undamped: bool = False) -> tt.System:
    """Return a system with everything that dissipates, or with the same springs and no losses."""
    on = 0.0 if undamped else 1.0
    s = tt.System("lossy", gravity=[0.3, 0, -9.81])
    body = tt.RigidBody("body", mass=1.0, com=[0.1, 0, 0.2], inertia=[0.1, 0.2, 0.3], ports={"E": [0.3, 0.1, 0.5]})
    arm = tt.RigidBody("arm", mass=2.0, com=[0, 0.1, 0.2], inertia=[0.1, 0.2, 0.3], ports={"E": [0.3, 0, 0.5]})
    hand = tt.RigidBody("hand", mass=0.5, com=[0, 0, 0.1], inertia=0.05)
    friction = tt.Friction(coulomb=0.7 * on, breakaway=0.9 * on, stribeck_velocity=0.5, smoothing=0.2)
    stops = tt.Limits(lower=-0.01, upper=0.01, stiffness=50.0, dissipation=0.2 * on)
    s.connect("world", body, tt.Free("float", stiffness=3.0, damping=0.4 * on))
    s.connect(
        body.port("E"),
        arm,
        tt.Revolute("elbow", axis=[0, 1, 0], stiffness=2.0, damping=0.3 * on, friction=friction, limits=stops),
    )
    beam = unit_beam("beam", damping_ratio=0.02 * on)
    s.connect(arm.port("E"), beam, tt.Weld("clamp"))
    s.connect(beam.port("C"), hand, tt.Spherical("wrist", damping=0.1 * on))
    s.close_loop("world", hand, tt.SpringDamper("spring", stiffness=20.0, damping=2.0 * on, length=0.3))
    s.close_loop(body, hand, tt.CompliantClosure("rubber", stiffness=2.0, damping=0.2 * on))
    ground = tt.Contact("ground", radius=5.0, stiffness=30.0, dissipation=0.2 * on, friction=0.5 * on, slip_velocity=0.3)
    s.close_loop("world", arm, ground)
    cable = tt.Cable("cable", stiffness=40.0, length=0.2, dissipation=0.1 * on, arms=[0.2])
    s.add_interaction(cable, "world", body, hand, "elbow")
    return s


def gained(m: tt.Model, q: Any, v: Any, tau: Any, u: Any) -> float:
    """Return the rate of the energy along the motion that the efforts cause."""
    a = m.forward_dynamics(q, v, tau, u=u)
    return derivative(lambda t: np.array([m.energy(m.integrate(q, t * v), v + t * a).total]), 1e-3)[0]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_the_energy_balance_closes(engine: str, seed: int) -> None:
    m, rng = lossy().resolve(engine), np.random.default_rng(seed)
    q, v, tau, u = m.random_configuration(rng), *rng.normal(size=(2, m.nv)), rng.normal(size=m.nu)
    brought, lost = (tau + m.actuation_matrix(q) @ u) @ v, m.dissipated_power(q, v)
    rate = gained(m, q, v, tau, u)
    assert lost > 1.0
    # differences of sixth order through energies of up to some 1e3 J: 1e-13 of these over a step of a millisecond
    assert rate == pytest.approx(brought - lost, rel=1e-8, abs=1e-6)
    assert abs(rate - brought) > 1.0  # the control: without the losses it does not close


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("frame", ["world", "port"])
def test_loads_bring_their_wrench_times_the_twist_of_their_port(engine: str, frame: str) -> None:
    s = lossy()
    load = tt.Load("wind", s["hand"], force=[3.0, -2.0, 1.0], torque=[0.5, 0.2, -0.4], frame=frame)
    s.add_load(load)
    m, rng = s.resolve(engine), np.random.default_rng(5)
    q, v, u = m.random_configuration(rng), rng.normal(size=m.nv), np.zeros(m.nu)
    rotation, _ = m.pose("hand", q)
    brought = load.wrench(rotation) @ m.twist("hand", q, v)
    assert abs(brought) > 1.0
    # as above
    rate = gained(m, q, v, np.zeros(m.nv), u)
    assert rate == pytest.approx(brought - m.dissipated_power(q, v), rel=1e-8, abs=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_is_lost_without_dampers(engine: str) -> None:
    m, rng = lossy(undamped=True).resolve(engine), np.random.default_rng(1)
    q, v = m.random_configuration(rng), rng.normal(size=m.nv)
    size = np.abs(m.passive_efforts(q, v)) @ np.abs(v)
    assert abs(m.dissipated_power(q, v)) <= 1e-13 * size  # rounding of the efforts that are compared


def test_losses_add_up_over_a_bounce() -> None:
    s = tt.System("ball", gravity=[0, 0, -9.81])
    ball = tt.RigidBody("ball", mass=0.5, inertia=0.002)
    s.connect("world", ball, tt.Free("float"))
    ground = tt.Contact("ground", radius=0.1, stiffness=1e4, dissipation=0.3, friction=0.3, slip_velocity=1e-2)
    s.close_loop("world", ball, ground)
    m, times = s.resolve(), np.linspace(0, 0.15, 1501)
    q, v = m.configuration({"float": [0, 0, 0.12, 0, 0, 0, 1]}), m.velocity({"float": [1.0, 0, 0, 0, 2.0, 3.0]})
    trajectory = tt.simulate(m, times, q, v, rtol=1e-10, atol=1e-12)
    states = list(zip(trajectory.q, trajectory.v, strict=True))
    lost = simpson([m.dissipated_power(*state) for state in states], x=times)
    assert lost > 0.1
    # a bounce of 15 ms sampled every 0.1 ms: the kinks at its ends cost Simpson's rule some 1e-5 of it
    assert m.energy(*states[0]).total - m.energy(*states[-1]).total == pytest.approx(lost, rel=1e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_inertia_alone(engine: str) -> None:
    """``M a + C v``: what gravity, springs, dampers, contact and inputs do is not among it, however the system is posed."""
    m, rng = lossy().resolve(engine), np.random.default_rng(1)
    q, (v, a) = m.random_configuration(rng), rng.normal(size=(2, m.nv))
    found = m.inertial_inverse_dynamics(q, v, a)
    expected = m.mass_matrix(q) @ a + m.coriolis_matrix(q, v) @ v
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-9)
    assert np.abs(found - m.inverse_dynamics(q, v, a)).max() > 1.0
    stacked = m.inertial_inverse_dynamics(np.array([q, q]), np.array([v, 0 * v]), np.array([a, a]))
    np.testing.assert_allclose(stacked, [found, m.mass_matrix(q) @ a], rtol=1e-10, atol=1e-9)
