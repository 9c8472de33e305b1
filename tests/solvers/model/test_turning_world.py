"""A world that turns, against the same system on a frame whose spherical joint is made to turn alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.systems import Array, random_body, random_joint, random_pose, random_tree
from titop.graph.network.assembly import assemble
from titop.solvers.engines.compiled.compiled_engine import CompiledEngine
from titop.solvers.engines.reference.reference_engine import ReferenceEngine
from titop.solvers.model.mechanism import Mechanism

#: Angular velocity of the world, and its derivative.
W, RATE = np.array([0.7, -0.4, 1.1]), np.array([0.5, 0.9, -0.3])

#: Both are double precision after some fifty operations on numbers of order one to a hundred.
CLOSE: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-9}


def turned(s: tt.System, turning: Array, engine: str = "compiled") -> tt.Model:
    engines: Any = {"compiled": CompiledEngine, "reference": ReferenceEngine}
    return tt.Model(Mechanism(replace(assemble(s), turning=np.asarray(turning, dtype=float)), engines[engine]))


def on_frame(s: tt.System) -> tt.System:
    """Return the system with a frame for the world, on a spherical joint ``spin``, with inertia 1 about all axes."""
    other, ports = tt.System("on_frame", gravity=s.gravity), {}
    for name in s.world.ports:
        rotation, position = s.world.pose(name, s.world.neutral())
        ports[name] = tt.Pose(position, rotation)
    frame = tt.RigidBody("frame", mass=0.0, inertia=1.0, ports=ports)
    other.connect("world", frame, tt.Spherical("spin"))

    def moved(ref: Any) -> Any:
        block = frame if ref.block is s.world else ref.block
        return block if ref.name is None else block.port(ref.name)

    for c in s.connections:
        other.connect(moved(c.parent), moved(c.child), c.joint, c.placement)
    for loop in s.loops:
        if isinstance(loop.closure, tt.Interaction):
            other.add_interaction(loop.closure, *map(moved, loop.ports))
        else:
            other.close_loop(*map(moved, loop.ports), loop.closure)
    for gear in s.gears:
        other.add_gear(gear)
    for load in s.loads:
        other.add_load(load)
    return other


def rigid(rng: np.random.Generator) -> tt.System:
    return random_tree(rng, 6, passive=True, loads=True)


def free(rng: np.random.Generator) -> tt.System:
    return random_tree(rng, 5, base="free", loads=False)


def flexible(rng: np.random.Generator) -> tt.System:
    s = tt.System("soft", gravity=rng.uniform(-9, 9, 3))
    s.world.add_port("A", rng.uniform(-0.5, 0.5, 3))
    s.connect("world", hub := random_body(rng, "hub"), tt.Free("base"))
    beam = tt.Beam("beam", 1.5, 40.0, 1e-2, 1e6, 1e-5, 2e-5, modes=2, damping_ratio=0.01)
    s.connect(hub.port("A"), beam, random_joint(rng, "j1", "Revolute"))
    rod = tt.Rod("rod", 0.8, tt.Section.circle([0.03, 0.02]), 1e6, 1000.0, basis=1)
    s.connect(hub.port("B"), rod, random_joint(rng, "j2", "Universal"))
    s.add_interaction(tt.SpringDamper("spring", 30.0, 2.0, 0.2), s.world.port("A"), hub.port("B"))
    return s


def closed(rng: np.random.Generator) -> tt.System:
    s = tt.System("closed", gravity=rng.uniform(-9, 9, 3))
    s.world.add_port("A", [1.0, 0.2, 0.0])
    first, second, third = (random_body(rng, f"b{k}") for k in range(3))
    s.connect("world", first, tt.Spherical("j0"))
    s.connect(first.port("A"), second, tt.Spherical("j1"), random_pose(rng))
    s.connect(first.port("B"), third, tt.Revolute("j2", damping=0.3))
    s.connect(third, tt.RigidBody("b3", 0.4, inertia=0.1), tt.Revolute("j3", axis=[1, 0, 0]))
    s.close_loop(s.world.port("A"), second.port("B"), tt.RigidClosure("pin", kind="spherical"))
    s.close_loop("world", third.port("A"), tt.CompliantClosure("glue", stiffness=np.diag([9.0] * 6), damping=np.eye(6)))
    s.add_gear(tt.Gear("pair", "j2", "j3", 2.0))
    return s


def state_of(m: tt.Model, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    q = m.integrate(m.neutral(), 0.3 * rng.normal(size=m.nv))
    v, a = rng.normal(size=(2, m.nv))
    return q, v, a


def lifted(m: tt.Model, q: Array, v: Array, a: Array, turning: Array) -> tuple[Array, Array, Array]:
    """Return the state of the system on the frame, whose joint comes first."""
    return np.concatenate([[0, 0, 0, 1], q]), np.concatenate([turning[:3], v]), np.concatenate([turning[3:], a])


BUILDS = [rigid, free, flexible]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__)
def test_dynamics_and_derivatives(build: Callable[..., tt.System], seed: int) -> None:
    rng, turning = np.random.default_rng(seed), np.concatenate([W, RATE])
    s = build(rng)
    m, peer = turned(s, turning), on_frame(s).resolve()
    q, v, a = state_of(m, rng)
    at = lifted(m, q, v, a, turning)
    np.testing.assert_allclose(m.inverse_dynamics(q, v, a), peer.inverse_dynamics(*at)[3:], **CLOSE)
    tau, spin = m.inverse_dynamics(q, v, a), ["spin"]
    np.testing.assert_allclose(m.forward_dynamics(q, v, tau), a, rtol=1e-8, atol=1e-8)  # through an inverse
    ours = m.inverse_dynamics_derivatives(q, v, a)
    theirs = peer.inverse_dynamics_derivatives(*at)
    for one, two in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, two[3:, 3:], **CLOSE)
    driven = np.concatenate([np.zeros(3), tau])
    ours = m.forward_dynamics_derivatives(q, v, tau)
    changes = peer.hybrid_dynamics_derivatives(at[0], at[1], driven, at[2], prescribed=spin)
    for one, two in zip(ours, (changes.da_dq, changes.da_dv, changes.da_dtau), strict=True):
        np.testing.assert_allclose(one, two[3:, 3:], rtol=1e-7, atol=1e-7 * np.abs(two).max())
    dq, dv, dtau = rng.normal(size=(3, m.nv))
    along = ours[0] @ dq + ours[1] @ dv + ours[2] @ dtau
    tangent = m.forward_dynamics_tangent(q, v, tau, dq, dv, dtau)
    np.testing.assert_allclose(tangent, along, rtol=1e-8, atol=1e-8 * np.abs(along).max())
    np.testing.assert_allclose(
        m.nonlinear_effects(q, v),
        peer.nonlinear_effects(*at[:2])[3:] + (peer.mass_matrix(at[0]) @ np.concatenate([RATE, 0 * a]))[3:],
        **CLOSE,
    )
    np.testing.assert_allclose(m.gravity_effects(q), peer.gravity_effects(at[0])[3:], **CLOSE)
    np.testing.assert_allclose(m.mass_matrix(q), peer.mass_matrix(at[0])[3:, 3:], **CLOSE)
    np.testing.assert_allclose(m.momentum(q, v), peer.momentum(*at[:2]) - np.concatenate([0 * W, W]), **CLOSE)
    np.testing.assert_allclose(m.momentum_matrix(q), peer.momentum_matrix(at[0])[:, 3:], **CLOSE)
    np.testing.assert_allclose(m.energy(q, v), np.array(peer.energy(*at[:2])) - [W @ W / 2, 0, 0], **CLOSE)
    joint = m.joint_names[-1]
    np.testing.assert_allclose(m.reaction(joint, q, v, a), peer.reaction(joint, *at), **CLOSE)
    for port in (m.port_names[-1], "world"):
        there = "frame" if port == "world" else port
        np.testing.assert_allclose(m.motion(port, q, v, a), peer.motion(there, *at), **CLOSE)
        np.testing.assert_allclose(m.accelerometer(port, q, v, a), peer.accelerometer(there, *at), **CLOSE)
        np.testing.assert_allclose(m.twist(port, q, v, frame="world"), peer.twist(there, *at[:2], frame="world"), **CLOSE)
        for one, two in zip(m.motion_derivatives(port, q, v, a), peer.motion_derivatives(there, *at), strict=True):
            np.testing.assert_allclose(one, two[:, 3:], **CLOSE)
    still = turned(s, 0 * turning)
    assert np.abs(still.inverse_dynamics(q, v, a) - tau).max() > 0.1  # negative control


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("build", [*BUILDS, closed], ids=lambda build: build.__name__)
def test_the_reference_agrees(build: Callable[..., tt.System], seed: int) -> None:
    rng, turning = np.random.default_rng(seed), np.concatenate([W, RATE])
    s = build(rng)
    m, reference = turned(s, turning), turned(s, turning, "reference")
    q, v, a = state_of(m, rng)
    for name, state in (
        ("mass_matrix", (q,)),
        ("nonlinear_effects", (q, v)),
        ("gravity_effects", (q,)),
        ("coriolis_matrix", (q, v)),
        ("inertial_inverse_dynamics", (q, v, a)),
        ("energy", (q, v)),
        ("momentum", (q, v)),
        ("momentum_matrix", (q,)),
        ("passive_efforts", (q, v)),
        ("inverse_mass_matrix", (q,)),
    ):
        one, two = (np.asarray(getattr(each, name)(*state)) for each in (m, reference))
        np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-8 * max(1.0, np.abs(two).max()), err_msg=name)
    port = m.port_names[-1]
    np.testing.assert_allclose(m.motion(port, q, v, a), reference.motion(port, q, v, a), **CLOSE)
    if not m.is_constrained:
        one, two = (np.array(each.inverse_dynamics_derivatives(q, v, a)) for each in (m, reference))
        np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-8 * np.abs(two).max())


@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__)
def test_the_coriolis_matrix(build: Callable[..., tt.System]) -> None:
    """``C v`` is what is due to v, and ``dM/dt - 2 C`` is skew, though not of a world at rest alone."""
    rng = np.random.default_rng(5)
    m = turned(build(rng), np.concatenate([W, RATE]))
    q, v, _ = state_of(m, rng)
    C = m.coriolis_matrix(q, v)
    due = m.nonlinear_effects(q, v) - m.nonlinear_effects(q, 0 * v)
    np.testing.assert_allclose(C @ v, due, rtol=1e-8, atol=1e-8 * np.abs(due).max())
    h = 1e-5
    rate = (m.mass_matrix(m.integrate(q, h * v)) - m.mass_matrix(m.integrate(q, -h * v))) / (2 * h)
    skew = rate - 2 * C
    np.testing.assert_allclose(skew + skew.T, 0, atol=1e-6 * np.abs(C).max())  # h^2 and rounding over h


@pytest.mark.parametrize("build", [rigid, free], ids=lambda build: build.__name__)
def test_time_derivatives(build: Callable[..., tt.System]) -> None:
    rng, turning, order = np.random.default_rng(7), np.concatenate([W, np.zeros(3)]), 3
    s = build(rng)
    s.gravity = 7.0 * W  # along the axis, so that both worlds see the same
    for joint in (c.joint for c in s.connections):
        if joint.nv > 1:
            joint.stiffness = np.zeros((joint.nv, joint.nv))
    m, peer = turned(s, turning), on_frame(s).resolve()
    q, _, _ = state_of(m, rng)
    series, efforts = rng.normal(size=(order + 2, m.nv)), rng.normal(size=(order + 1, m.nv))
    spun = np.hstack([np.vstack([W, np.zeros((order + 1, 3))]), series])
    there = np.concatenate([[0, 0, 0, 1], q])
    ours = m.inverse_dynamics_series(q, series)
    theirs = peer.inverse_dynamics_series(there, spun)[:, 3:]
    if build is free:  # loads on the world turn with it, on the frame they do not
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())
        a = m.forward_dynamics_series(q, series[0], efforts)
        whole = np.hstack([np.zeros((order + 1, 3)), efforts])
        accelerations, _ = peer.hybrid_dynamics_series(there, spun[0], whole, np.zeros(whole.shape), prescribed=["spin"])
        np.testing.assert_allclose(a, accelerations[:, 3:], rtol=1e-7, atol=1e-8 * np.abs(a).max())
    reference = turned(s, turning, "reference")
    np.testing.assert_allclose(ours, reference.inverse_dynamics_series(q, series), rtol=1e-9, atol=1e-9 * np.abs(ours).max())
    mass, coriolis, gravity, external = m.equation_series(q, series)
    np.testing.assert_allclose(mass[0] @ series[1] + coriolis[0] + gravity[0] + external[0], ours[0], **CLOSE)


@pytest.mark.parametrize("seed", range(2))
def test_closures_and_gears(seed: int) -> None:
    rng, turning = np.random.default_rng(seed), np.concatenate([W, RATE])
    s = closed(rng)
    m, peer = turned(s, turning), on_frame(s).resolve()
    q = m.assemble(m.neutral())
    v = m.assemble_velocity(q, rng.normal(size=m.nv))
    tau = rng.normal(size=m.nv)
    at = lifted(m, q, v, 0 * v, turning)
    a = m.forward_dynamics(q, v, tau)
    whole = np.concatenate([np.zeros(3), tau])
    there, _ = peer.hybrid_dynamics(at[0], at[1], whole, at[2], prescribed=["spin"])
    np.testing.assert_allclose(a, there[3:], rtol=1e-8, atol=1e-8 * np.abs(a).max())
    np.testing.assert_allclose(m.reaction("pin", q, v, a), peer.reaction("pin", *lifted(m, q, v, a, turning)), rtol=1e-8)
    ours = m.forward_dynamics_derivatives(q, v, tau)
    changes = peer.hybrid_dynamics_derivatives(at[0], at[1], whole, at[2], prescribed=["spin"])
    for one, two in zip(ours, (changes.da_dq, changes.da_dv, changes.da_dtau), strict=True):
        np.testing.assert_allclose(one, two[3:, 3:], rtol=1e-6, atol=1e-7 * np.abs(two).max())
    both = turned(s, turning, "reference").forward_dynamics(q, v, tau)
    np.testing.assert_allclose(a, both, rtol=1e-8, atol=1e-8 * np.abs(a).max())


def test_a_bead_on_a_turning_hoop() -> None:
    """``angle'' = (W^2 cos(angle) - g / R) sin(angle)``: above a rate the bead rests aside of the bottom."""
    g, radius, rate = 9.81, 0.4, 7.0
    s = tt.System("hoop", gravity=[0, 0, -g])
    s.connect("world", tt.RigidBody("bead", 0.3, com=[0, 0, -radius]), tt.Revolute("angle", axis=[0, 1, 0]))
    m = turned(s, [0, 0, rate, 0, 0, 0])
    for angle in (0.1, 0.7, 2.0):
        expected = (rate**2 * np.cos(angle) - g / radius) * np.sin(angle)
        np.testing.assert_allclose(m.forward_dynamics([angle], [0.3], [0.0]), [expected], rtol=1e-12)
    aside = np.arccos(g / radius / rate**2)
    np.testing.assert_allclose(tt.trim(m, q=[1.0]).q, [aside], rtol=1e-9)


@pytest.mark.parametrize("latitude", [np.pi / 2, 0.7])
def test_foucaults_pendulum(latitude: float) -> None:
    """It swings in a plane that turns back by the vertical part of the world's rate, exactly so at a pole."""
    g, length, rate = 9.81, 2.0, 1e-3
    s = tt.System("pendulum", gravity=[0, 0, -g])
    s.connect("world", tt.RigidBody("bob", 3.0, com=[0, 0, -length]), tt.Universal("pivot", [1, 0, 0], [0, 1, 0]))
    m = turned(s, rate * np.array([np.cos(latitude), 0, np.sin(latitude), 0, 0, 0]))
    poles = np.sort(np.abs(tt.linearize(m, tt.trim(m)).poles().imag))
    up = rate * np.sin(latitude)
    natural = np.sqrt(g / length)
    # beside a pole, the square of the rate over the natural one
    np.testing.assert_allclose(poles, natural + up * np.array([-1, -1, 1, 1]), rtol=1e-12 if latitude > 1 else 1e-6)


def test_places_over_time_are_those_in_the_world() -> None:
    rng, h = np.random.default_rng(3), 1e-4
    m = turned(free(rng), [*W, 0, 0, 0])
    q, v, _ = state_of(m, rng)
    series = m.motion_series(m.port_names[-1], q, np.array([v, 0 * v, 0 * v]))
    ahead, back = (m.pose(m.port_names[-1], m.integrate(q, side * h * v)) for side in (1, -1))
    # h^2, and rounding over h
    np.testing.assert_allclose(series.position[1], (ahead[1] - back[1]) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(series.rotation[1], (ahead[0] - back[0]) / (2 * h), atol=1e-6)
    here = m.pose(m.port_names[-1], q)[1]
    np.testing.assert_allclose(series.position[2], (ahead[1] - 2 * here + back[1]) / h**2, atol=1e-5)
