"""What is read of a model's states, in the axes of a port and in inertial ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import closed_four_bar
from tests.refusals import ENGINES, refusal
from tests.solvers.engines.compiled.derivative_cases import TOLERANCE, Case, error
from tests.solvers.model.identities import Array

#: The functions that take a frame, as the reference page lists them, at a port, a joint and a state.
FRAMED: dict[str, Callable[..., Any]] = {
    "motion": lambda m, port, joint, q, v, a, **frame: m.motion(port, q, v, a, **frame),
    "pose": lambda m, port, joint, q, v, a, **frame: m.pose(port, q, **frame)[1],
    "twist": lambda m, port, joint, q, v, a, **frame: m.twist(port, q, v, **frame),
    "acceleration": lambda m, port, joint, q, v, a, **frame: m.acceleration(port, q, v, a, **frame),
    "jacobian": lambda m, port, joint, q, v, a, **frame: m.jacobian(port, q, **frame),
    "jacobian_bias": lambda m, port, joint, q, v, a, **frame: m.jacobian_bias(port, q, v, **frame),
    "accelerometer": lambda m, port, joint, q, v, a, **frame: m.accelerometer(port, q, v, a, **frame),
    "reaction": lambda m, port, joint, q, v, a, **frame: m.reaction(joint, q, v, a, **frame),
    "motion_derivatives": lambda m, port, joint, q, v, a, **frame: np.array(m.motion_derivatives(port, q, v, a, **frame)),
}


@pytest.mark.parametrize("name", FRAMED)
@pytest.mark.parametrize("seed", range(4))
def test_stacked_and_in_both_engines(name: str, seed: int) -> None:
    """Rows are what each state gives alone; engines agree; other frames are refused; a frame of the port's is the default."""
    case, read = Case(seed), FRAMED[name]
    port, joint = case.model.port_names[-1], case.model.joint_names[-1]
    state = case.q, case.v, case.a
    expected = read(case.reference, port, joint, *state, frame="world")
    # a unit of the states gives numbers near 1 to 1,000, of which each engine leaves some roundings
    assert error([read(case.model, port, joint, *state, frame="world")], [expected]) < TOLERANCE
    stacks = [np.array([x, y]) for x, y in zip(state, (case.model.neutral(), case.a, case.v), strict=True)]
    for model in (case.model, case.reference):
        rows = [read(model, port, joint, *(x[k] for x in stacks), frame="world") for k in range(2)]
        found = read(model, port, joint, *stacks, frame="world")
        axis = 1 if name == "motion_derivatives" else 0
        assert error(np.moveaxis(found, axis, 0), rows) < TOLERANCE
        own = "world" if name == "pose" else "port"
        assert np.array_equal(read(model, port, joint, *state), read(model, port, joint, *state, frame=own))
        for wrong in ("body", None, ["world"]):
            with refusal("bad-frame", "port or world"):
                read(model, port, joint, *state, frame=wrong)


@pytest.mark.parametrize("seed", range(4))
def test_motion_is_its_parts(seed: int) -> None:
    """In inertial axes as in those of the port: acceleration, twist, position and angles from the functions for each."""
    case = Case(seed)
    for frame in ("port", "world"):
        for port in case.model.port_names:
            motion = case.model.motion(port, case.q, case.v, case.a, frame=frame)
            parts = (
                case.model.acceleration(port, case.q, case.v, case.a, frame),
                case.model.twist(port, case.q, case.v, frame),
                case.model.pose(port, case.q, frame)[1],
                case.model.motion(port, case.q, case.v, case.a)[15:],
            )
            assert error([motion], [np.concatenate(parts)]) < TOLERANCE


@pytest.mark.parametrize("engine", ENGINES)
def test_an_accelerometer_in_inertial_axes(engine: str) -> None:
    """The acceleration of the port's origin less gravity."""
    case = Case(5)
    model = case.model if engine == "compiled" else case.reference
    for port in model.port_names:
        expected = model.acceleration(port, case.q, case.v, case.a, "world", classical=True)[:3] - model.gravity
        assert error([model.accelerometer(port, case.q, case.v, case.a, "world")], [expected]) < TOLERANCE


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("port", ["", "A", "B"])
def test_a_reaction_in_inertial_axes(engine: str, port: str) -> None:
    """What Newton and Euler ask of the last body: ``m (a_c - g)``, and ``dL_c/dt`` with the force's moment about the port."""
    rng = np.random.default_rng(11)
    s = tt.System("arm", gravity=[1.0, -2.0, -9.0])
    turned = {"A": tt.Pose([0.1, 0.2, -0.3], _rotation(rng)), "B": tt.Pose([-0.4, 0.2, 0.1], _rotation(rng))}
    s.connect("world", tt.RigidBody("hub", 3.0, [0.1, 0, 0.2], 0.2, ports=turned), tt.Free("base"))
    inertia = np.array([[0.3, 0.02, 0.01], [0.02, 0.4, -0.03], [0.01, -0.03, 0.5]])
    ports = turned | {"centre": [0.2, -0.1, 0.4]}
    hand = tt.RigidBody("hand", 2.0, [0.2, -0.1, 0.4], inertia, ports=ports)
    s.connect(
        s["hub"].port("B"), hand.port(port) if port else hand, tt.Universal("wrist"), tt.Pose([0, 0.1, 0], _rotation(rng))
    )
    m = s.resolve(engine)
    q, (v, a) = m.random_configuration(rng), rng.normal(size=(2, m.nv))
    rotation, centre = m.pose("hand.centre", q)
    spin = m.twist("hand.centre", q, v, "world")[3:]
    acceleration = m.acceleration("hand.centre", q, v, a, "world", classical=True)
    turning = rotation @ inertia @ rotation.T
    force = 2.0 * (acceleration[:3] - m.gravity)
    arm = centre - m.pose(f"hand.{port}" if port else "hand", q)[1]
    moment = turning @ acceleration[3:] + np.cross(spin, turning @ spin) + np.cross(arm, force)
    found = m.reaction("wrist", q, v, a, frame="world")
    assert error([found], [np.concatenate([force, moment])]) < TOLERANCE
    assert error([m.reaction("wrist", q, v, a)], [found]) > 0.1  # turned indeed


@pytest.mark.parametrize("engine", ENGINES)
def test_the_reaction_of_a_closure_in_inertial_axes(engine: str) -> None:
    """Of the pin of a four-bar linkage: on its second port, the rocker's end, whose axes are turned about z by all angles."""
    m, q, v = closed_four_bar(engine=engine, closure=tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    a = m.forward_dynamics(q, v, np.zeros(3))
    angle = q.sum()
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    own = m.reaction("pin", q, v, a)
    expected = np.concatenate([turn @ own[:3], turn @ own[3:]])
    assert error([m.reaction("pin", q, v, a, frame="world")], [expected]) < TOLERANCE


@pytest.mark.parametrize("seed", range(6))
def test_derivatives_of_motion_in_inertial_axes(seed: int) -> None:
    """Against complex steps through the reference engine's twists and accelerations in inertial axes."""
    case = Case(seed)
    r, q, v, a = case.reference, case.q, case.v, case.a
    directions = 1e-30 * np.eye(r.nv)

    def by(function: Callable[[Array], Array]) -> Array:
        return np.array([function(1j * step).imag / 1e-30 for step in directions]).T

    ports, apart = r.port_names[-4:], []
    for port in ports:
        expected = (
            by(lambda dv: r.twist(port, q, v + dv, "world")),  # noqa: B023
            by(lambda dq: r.twist(port, r.integrate(q, dq), v, "world")),  # noqa: B023
            by(lambda dq: r.acceleration(port, r.integrate(q, dq), v, a, "world")),  # noqa: B023
            by(lambda dv: r.acceleration(port, q, v + dv, a, "world")),  # noqa: B023
        )
        for model in (case.model, r):
            assert error(model.motion_derivatives(port, q, v, a, "world"), expected) < TOLERANCE
        apart.append(error(case.model.motion_derivatives(port, q, v, a), expected))
    assert max(apart) > 1e-3  # not those in the port's axes


def test_trajectories_read_in_inertial_axes() -> None:
    """As the model does at every state."""
    m, q, v = closed_four_bar(closure=tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    run = tt.simulate(m, np.linspace(0, 0.2, 5), q, v)
    motion, reaction = run.motion("rocker.end", frame="world"), run.reaction("pin", frame="world")
    for k in range(5):
        state = run.q[k], run.v[k], run.a[k]
        assert np.abs(motion[k, :15] - m.motion("rocker.end", *state, frame="world")[:15]).max() < 1e-12  # of numbers near 10
        assert np.abs(reaction[k] - m.reaction("pin", *state, tau=run.tau[k], frame="world")).max() < 1e-10  # near 100 N


def _rotation(rng: np.random.Generator) -> Array:
    x = rng.normal(size=(3, 3))
    q, r = np.linalg.qr(x)
    q = q * np.sign(np.diag(r))
    return q * np.linalg.det(q)
