"""Actuators against the efforts and wrenches that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.actuated_systems import satellite
from tests.systems import random_state
from tests.tolerances import ROUNDING
from titop.blocks.devices.actuators import Actuator
from titop.blocks.devices.sensors import Sensor


@pytest.fixture(scope="module", params=["compiled", "reference"])
def model(request):
    return satellite().resolve(request.param)


@pytest.fixture
def state(model):
    return random_state(model, np.random.default_rng(3))


def test_inputs_are_efforts_through_the_actuation_matrix(model, state):
    q, v, a, tau = state
    u = np.linspace(-1, 1, model.nu)
    efforts = model.actuation_matrix(q) @ u
    np.testing.assert_allclose(model.forward_dynamics(q, v, tau, u=u), model.forward_dynamics(q, v, tau + efforts), **ROUNDING)
    np.testing.assert_allclose(model.inverse_dynamics(q, v, a, u=u), model.inverse_dynamics(q, v, a) - efforts, **ROUNDING)
    held = ["elbow", "wheel"]
    with_inputs = model.hybrid_dynamics(q, v, tau, a, held, u=u)
    with_efforts = model.hybrid_dynamics(q, v, tau + efforts, a, held)
    np.testing.assert_allclose(with_inputs[0], with_efforts[0], **ROUNDING)
    np.testing.assert_allclose(with_inputs[1], with_efforts[1] - efforts, **ROUNDING)
    assert np.abs(efforts).max() > 0.1


def test_inputs_are_wrenches_on_ports(model, state):
    q, v, _, tau = state
    rotation = model.pose("arm.tip", q)[0]
    wrenches = {"hub.nozzle": [0, 2.0, 0, 0, 0, 0], "arm.tip": np.concatenate([rotation.T @ [1, 2, 3], np.zeros(3)])}
    u = {"thruster": 2.0, "push.x": 1, "push.y": 2, "push.z": 3}
    expected = model.forward_dynamics(q, v, tau, wrenches)
    np.testing.assert_allclose(model.forward_dynamics(q, v, tau, u=u), expected, **ROUNDING)
    assert np.abs(expected - model.forward_dynamics(q, v, tau)).max() > 0.01


def test_rotors_add_gear_squared_to_the_mass_matrix(model):
    q = model.neutral()
    faster, k = model.with_parameters({"drive.gear": 20}), model.coordinate_names.index("elbow.second")
    difference = faster.mass_matrix(q) - model.mass_matrix(q)
    assert difference[k, k] == pytest.approx(0.01 * (20**2 - 10**2), rel=1e-12)
    difference[k, k] = 0
    assert np.abs(difference).max() < 1e-12
    heavier = faster.with_parameters({"hub.mass": 70})
    assert heavier.mass_matrix(q)[k, k] == pytest.approx(faster.mass_matrix(q)[k, k])


@pytest.mark.parametrize(
    ("actuator", "code"),
    [
        (tt.Motor("m", "elbo"), "unknown-joint"),
        (tt.Motor("m", "elbow"), "several-coordinates"),
        (tt.Motor("m", "elbow.third"), "unknown-coordinate"),
        (tt.Motor("m", "elbow.first", rotor_inertia=-1), "negative-inertia"),
        (tt.Motor("m", "elbow.first", gear=10, rotor_inertia=1e307), "out-of-range"),
        (tt.Thruster("t", tt.RigidBody("stranger", 1)), "foreign-target"),
        (tt.Thruster("t", "hub"), "not-a-port"),
        (tt.Force("f", tt.RigidBody("other", 1), frame="moon"), "bad-frame"),
        (tt.Gyro("g", tt.RigidBody("other", 1)), "not-an-actuator"),
        (tt.Motor("drive", "elbow.first"), "duplicate-name"),
    ],
)
def test_unusable_actuators(actuator, code):
    s = satellite()
    s.add_actuator(actuator)
    with pytest.raises(tt.ModelError) as caught:
        s.resolve()
    assert code in [finding.code for finding in caught.value.findings]


@pytest.mark.parametrize(("base", "code"), [(Actuator, "not-an-actuator"), (Sensor, "not-a-sensor")])
def test_kinds_of_ones_own_that_models_would_not_hear_of_are_refused(base, code):
    class Own(base):
        joint_fields = ("joint",)
        joint = "elbow.first"

    s = satellite()
    (s.add_actuator if base is Actuator else s.add_sensor)(Own("mine"))
    with pytest.raises(tt.ModelError, match=code) as caught:
        s.resolve()
    assert "mine" in str(caught.value)


@pytest.mark.parametrize(
    ("cls", "fields"), [(tt.Thruster, {}), (tt.Force, {}), (tt.Force, {"frame": "world"}), (tt.Torque, {})]
)
def test_directions_are_parameters(cls, fields):
    def rig(direction):
        s = tt.System("rig")
        hub = tt.RigidBody("hub", 2.0, inertia=[1, 2, 3], ports={"C": [0, 1, 0]})
        s.connect("world", hub, tt.Free("base"))
        s.add_actuator(cls("push", hub.port("C"), direction=direction, **fields))
        return s.resolve()

    built, changed = rig([1, 2, 3]), rig([1, 0, 0]).with_parameters({"push.direction.y": 2.0, "push.direction.z": 3.0})
    assert changed.parameters() == built.parameters()
    assert built.parameters()["push.direction.z"] == (3.0, "1")
    q, v, _, tau = random_state(built, np.random.default_rng(4))
    forward = [m.forward_dynamics(q, v, tau, u=[2.0]) for m in (built, changed, rig([1, 0, 0]))]
    np.testing.assert_array_equal(forward[0], forward[1])
    assert np.abs(forward[0] - forward[2]).max() > 0.1
    with pytest.raises(tt.ModelError, match="zero-axis"):
        rig([1, 0, 0]).with_parameters({"push.direction.x": 0.0})
    with pytest.raises(tt.ModelError, match=r"push\.direction: got \[0"):
        rig([0, 0, 0])


def test_a_force_of_three_inputs_has_no_direction(model):
    assert not [name for name in model.parameters() if name.startswith("push.")]


PROPELLER = {"thrust_coefficient": 1e-5, "drag_coefficient": 2e-7}


def quadrotor(path=None):
    """Return a body with a propeller on each of four arms, neighbours turning against each other."""
    s, places = tt.System("quadrotor"), {"a": [0.2, 0, 0], "b": [0, 0.2, 0], "c": [-0.2, 0, 0], "d": [0, -0.2, 0]}
    body = tt.RigidBody("body", mass=1.2, com=[0, 0, -0.01], inertia=[0.01, 0.012, 0.02], ports=places)
    s.connect("world", body, tt.Free("base"))
    for k, name in enumerate(places):
        s.add_actuator(tt.Propeller(name, body.port(name), **PROPELLER, turning=(-1) ** k, max_speed=300.0, path=path))
    return s


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_propellers_lift_and_turn_their_body(engine):
    m = quadrotor().resolve(engine)
    u = np.array([250.0, 260.0, 240.0, 210.0]) ** 2
    lift, about_x, about_y, about_z = 1e-5 * u.sum(), 2e-6 * (u[1] - u[3]), 2e-6 * (u[2] - u[0]), -2e-7 * u @ [1, -1, 1, -1]
    a = m.forward_dynamics(m.neutral(), np.zeros(6), u=u)
    turning = [about_x / 0.01, about_y / 0.012, about_z / 0.02]
    forward = -np.cross(turning, [0, 0, -0.01]) + [0, 0, lift / 1.2 - 9.81]  # of the frame, about the centre of mass
    np.testing.assert_allclose(a, [*forward, *turning], atol=1e-12)
    assert m.mechanism.inputs.upper.tolist() == [9e4] * 4
    assert m.parameters()["a.thrust_coefficient"] == (1e-5, "N s^2/rad^2")


@pytest.mark.parametrize("path", [None, tt.SignalPath.lag(0.05)], ids=["at once", "lagging"])
def test_families_of_propellers_hold_their_members(path):
    """Coefficients are exact in LFT models, at a point at which they act, too; their sensitivity is lift over mass."""
    m = quadrotor(path).resolve()
    u = [1.2 * 9.81 / 4e-5] * 4
    state = {"u": u, "x": u} if path else {"u": u}
    names = {name: tt.percent(10) for name in ("a.thrust_coefficient", "b.drag_coefficient", "body.mass")}
    family = tt.lft(m, tt.OperatingPoint(m, m.neutral(), **state), names, list("abcd"), ["body.v", "body.w"])
    assert family.check(3) < 1e-12
    found = m.forward_dynamics_sensitivities(m.neutral(), np.zeros(6), np.zeros(6), ["a.thrust_coefficient"], **state)
    assert found["a.thrust_coefficient"][2] == pytest.approx(u[0] / 1.2, rel=1e-12)


def test_pulses_that_are_too_short_do_not_fire():
    s = tt.System("jet", gravity=[0, 0, 0])
    s.connect("world", body := tt.RigidBody("body", mass=1.0), tt.Prismatic("x", axis=[1, 0, 0]))
    s.add_actuator(tt.Thruster("jet", body, [1, 0, 0], 2.0, minimum_pulse=0.02, path=tt.SignalPath(sample_time=0.1)))
    t = np.linspace(0, 1, 11)
    trajectory = tt.simulate(s.resolve(), t, [0.0], [0.0], u=lambda t, q, v: [0.1 + t])
    thrust = np.where(t[:-1] > 0.25, 0.1 + t[:-1], 0.0)  # 0.4 N fire for 0.02 s of 0.1
    np.testing.assert_allclose(np.diff(trajectory.v[:, 0]), 0.1 * thrust, atol=1e-9)


def test_wrong_propellers_and_pulses_are_refused():
    s = quadrotor()
    body, sampled = s["body"], tt.SignalPath(sample_time=0.1)
    s.add_actuator(tt.Propeller("odd", body, **PROPELLER, turning=2))
    s.add_actuator(tt.Thruster("free", body, max_thrust=2.0, minimum_pulse=0.02))
    s.add_actuator(tt.Thruster("long", body, max_thrust=2.0, minimum_pulse=0.2, path=sampled))
    s.add_actuator(tt.Thruster("strong", body, minimum_pulse=0.02, path=sampled))
    with pytest.raises(tt.ModelError) as caught:
        s.resolve()
    found = [(finding.code, finding.where) for finding in caught.value.findings]
    assert found == [
        ("bad-sense", "odd.turning"),
        *(("no-pulse", f"{name}.minimum_pulse") for name in ("free", "long", "strong")),
    ]
