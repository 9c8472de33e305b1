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
