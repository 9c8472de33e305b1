"""Actuators, sensors, friction and limits against what they stand for."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from tests.systems import random_state
from titop.blocks.devices.actuators import Actuator
from titop.blocks.devices.sensors import Sensor
from titop.solvers.model import euler_angles

#: Two ways of computing the same sums of a few tens of terms of size ten.
ROUNDING = {"rtol": 1e-11, "atol": 1e-11}


def satellite() -> tt.System:
    s = tt.System("satellite", gravity=[0, 0, -1])
    turned = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    hub = tt.RigidBody("hub", 50, inertia=[5, 6, 7], ports={"nozzle": tt.Pose([1, 0, 0], turned), "wheel": [0, 0, 0.2]})
    arm = tt.RigidBody("arm", 3, com=[0.5, 0, 0], inertia=[0.1, 0.2, 0.2], ports={"tip": [1, 0, 0]})
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub, arm, tt.Universal("elbow"), placement=[0, 1, 0])
    s.add_actuator(tt.Motor("drive", "elbow.second", gear=10, rotor_inertia=0.01, effort_limit=0.5))
    s.add_actuator(tt.Thruster("thruster", hub.port("nozzle"), direction=[0, 2, 0], max_thrust=5))
    s.add_actuator(tt.ReactionWheel("wheel", hub.port("wheel"), [0, 0, 1], inertia=0.05, mass=2.0, torque_limit=0.2))
    s.add_actuator(tt.Force("push", arm.port("tip"), frame="world"))
    s.add_actuator(tt.Torque("twist", arm, direction=[1, 1, 0]))
    for sensor in (
        tt.Gyro("gyro", hub.port("nozzle")),
        tt.Accelerometer("accelerometer", arm.port("tip")),
        tt.Encoder("encoder", "elbow.first"),
        tt.Tachometer("rate", "elbow.second"),
        tt.ReactionSensor("load_cell", "elbow"),
        tt.PoseSensor("pose", hub),
    ):
        s.add_sensor(sensor)
    return s


@pytest.fixture(scope="module", params=["compiled", "reference"])
def model(request):
    return satellite().resolve(request.param)


@pytest.fixture
def state(model):
    return random_state(model, np.random.default_rng(3))


def test_names_units_and_ranges(model):
    assert model.input_names == ("drive", "thruster", "wheel/motor", "push.x", "push.y", "push.z", "twist")
    assert model.nu == 7
    assert model.inputs.units == ("N m", "N", "N m", "N", "N", "N", "N m")
    assert model.inputs.lower[:3].tolist() == [-0.5, 0, -0.2]
    assert model.inputs.upper[:3].tolist() == [0.5, 5, 0.2]
    assert len(model.output_names) == len(model.output_units) == 1 + 3 + 3 + 1 + 1 + 6 + 6


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


def test_sensors_read_the_model(model, state):
    q, v, a, _ = state
    u = np.linspace(0, 1, model.nu)
    read = dict(zip(model.output_names, model.outputs(q, v, a, u=u), strict=True))
    motion = model.motion("hub.nozzle", q, v, a)
    assert [read[f"gyro.{x}"] for x in "xyz"] == pytest.approx(motion[9:12].tolist())
    accelerometer = model.accelerometer("arm.tip", q, v, a).tolist()
    assert [read[f"accelerometer.{x}"] for x in "xyz"] == pytest.approx(accelerometer)
    assert read["encoder"] == q[model.configuration_names.index("elbow.first")]
    assert read["rate"] == v[model.coordinate_names.index("elbow.second")]
    assert read["wheel/momentum"] == 0.05 * v[model.coordinate_names.index("wheel")]
    reaction = model.reaction("elbow", q, v, a, u=u).tolist()
    assert [read[f"load_cell.{x}"] for x in ("fx", "fy", "fz", "tx", "ty", "tz")] == pytest.approx(reaction)
    assert [read[f"pose.{x}"] for x in "xyz"] == pytest.approx(model.pose("hub", q)[1].tolist())


def test_a_wheel_trades_momentum_with_its_satellite():
    """Without other forces the total stays zero: hub and wheel turn against each other."""
    s = tt.System("spin", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 10, inertia=[1, 1, 2])
    s.connect("world", hub, tt.Revolute("yaw"))
    s.add_actuator(tt.ReactionWheel("wheel", hub, [0, 0, 1], inertia=0.1, mass=1.0))
    m = s.resolve()
    trajectory = tt.simulate(m, np.linspace(0, 10, 11), [0, 0], [0, 0], u={"wheel/motor": 0.02})
    yaw, wheel = trajectory.v[-1]
    assert wheel + yaw == pytest.approx(0.02 * 10 / 0.1, rel=1e-8)  # spin of the rotor in inertial space
    assert 2.0 * yaw + 0.1 * (wheel + yaw) == pytest.approx(0, abs=1e-8)
    assert trajectory.outputs()[-1, 0] == pytest.approx(0.1 * wheel)


def test_inputs_of_a_simulation_in_every_form():
    s = tt.System("cart", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("cart", 2.0), tt.Prismatic("rail", [1, 0, 0]))
    s.add_actuator(tt.Motor("motor", "rail", gear=3.0))
    m, t = s.resolve(), np.linspace(0, 1, 5)
    for u in ([4.0], {"motor": 4.0}, np.full((5, 1), 4.0), lambda t, q, v: {"motor": 4.0}, lambda t, q, v: [4.0]):
        trajectory = tt.simulate(m, t, [0], [0], u=u)
        assert trajectory.q[-1, 0] == pytest.approx(3.0, rel=1e-8)  # a = 3 * 4 / 2 over a second
        assert (trajectory.u == 4.0).all()
        assert (trajectory.tau == 0.0).all()


def test_friction_stops_a_sliding_mass_and_follows_its_curve():
    friction = tt.Friction(coulomb=2.0, breakaway=3.0, stribeck_velocity=0.1, smoothing=1e-3)
    s = tt.System("slide", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("block", 1.0), tt.Prismatic("rail", friction=friction))
    for engine in ("compiled", "reference"):
        m = s.resolve(engine)
        for v in (-2.0, -0.05, 0.0, 1e-4, 0.03, 1.5):
            expected = -(2.0 + 1.0 * np.exp(-((v / 0.1) ** 2))) * np.tanh(v / 1e-3)
            assert m.passive_efforts([0.0], [v])[0] == pytest.approx(expected, rel=1e-13)
    trajectory = tt.simulate(s.resolve(), [0, 5], [0], [4.0], method="Radau")
    assert abs(trajectory.v[-1, 0]) < 1e-6
    assert trajectory.q[-1, 0] == pytest.approx(4.0, abs=0.01)  # v^2 / (2 F_c), a little less for the breakaway
    assert s.resolve().with_parameters({"rail.friction.coulomb": 1.0}).passive_efforts([0], [9])[0] == -1.0


def test_violations_name_the_worst_instant():
    limits = tt.Limits(lower=-1, upper=0.6, velocity=0.9, effort=3)
    s = tt.System("limits", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("block", 1.0), tt.Prismatic("rail", limits=limits))
    s.add_actuator(tt.Motor("motor", "rail", effort_limit=1.0))
    m = s.resolve()
    trajectory = tt.simulate(m, np.linspace(0, 1, 11), [0], [0], tau=[-1.0], u=[2.0])
    assert [finding.where for finding in trajectory.violations()] == ["rail velocity", "motor input"]
    assert "t = 1 s" in str(trajectory.violations()[0])
    assert tt.simulate(m, [0, 0.1], [0], [0]).violations() == []


@pytest.mark.parametrize(
    ("actuator", "code"),
    [
        (tt.Motor("m", "elbo"), "unknown-joint"),
        (tt.Motor("m", "elbow"), "several-coordinates"),
        (tt.Motor("m", "elbow.third"), "unknown-coordinate"),
        (tt.Motor("m", "elbow.first", rotor_inertia=-1), "negative-inertia"),
        (tt.Motor("m", "elbow.first", gear=10, rotor_inertia=1e307), "not-finite"),
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


@pytest.mark.parametrize("u", [[1.0], {"drvie": 1.0}, [np.nan] * 7, "all", {"drive": np.inf}])
def test_unusable_inputs(model, u):
    zero = np.zeros(model.nv)
    with pytest.raises(tt.ModelError):
        model.forward_dynamics(model.neutral(), zero, zero, u=u)


def test_no_efforts_stand_for_zero(model, state):
    q, v, _, _ = state
    zero = model.forward_dynamics(q, v, np.zeros(model.nv))
    np.testing.assert_allclose(model.forward_dynamics(q, v), zero, **ROUNDING)
    stacked = model.forward_dynamics(np.tile(q, (2, 1)), np.tile(v, (2, 1)))
    np.testing.assert_allclose(stacked[1], zero, **ROUNDING)


def test_units_of_encoders_are_their_coordinates(model):
    units = dict(zip(model.output_names, model.output_units, strict=True))
    assert units["encoder"] == "rad"
    assert units["rate"] == "rad/s"


def test_reactions_depend_on_the_inputs_that_act(model, state):
    q, v, _, tau = state
    u = {"push.x": 5.0}
    a = model.forward_dynamics(q, v, tau, u=u)
    right, wrong = model.reaction("elbow", q, v, a, u=u), model.reaction("elbow", q, v, a)
    assert np.abs(right - wrong).max() > 1.0
    # what the joint transmits along its free axes is its effort and nothing else
    passive = model.reaction("elbow", q, v, model.forward_dynamics(q, v, u=u), u=u)
    axis = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]  # second axis of the joint, in the child's frame
    rotor = 0.01 * 10**2 * model.forward_dynamics(q, v, u=u)[model.coordinate_names.index("elbow.second")]
    assert passive @ axis == pytest.approx(-rotor, abs=1e-9)


def test_sensors_spell_angles_as_ports_do() -> None:
    s = tt.System("top")
    body = tt.RigidBody("body", 1.0, inertia=1.0)
    s.connect("world", body, tt.Spherical("pivot"))
    s.add_sensor(tt.PoseSensor("tracker", body))
    model = s.resolve()
    assert model.output_names[3:] == tuple(f"tracker.theta[{k}]" for k in range(3))
    q = model.integrate(model.neutral(), [0.1, 0.2, 0.3])
    rest = np.zeros(3)
    assert model.outputs(q, rest, rest)[3:] == pytest.approx(model.motion("body", q, rest, rest)[15:], abs=1e-15)
    system = tt.linearize(model, q, outputs=["tracker.theta[1]", "body.theta[1]"])
    assert system.output_labels == ["tracker_theta[1]", "body_theta[1]"]
    assert np.abs(system.C[0] - system.C[1]).max() < 1e-15
    whole = tt.linearize(model, q, outputs=["tracker.theta", "body.theta"])
    assert whole.output_labels[:3] == [f"tracker_theta[{k}]" for k in range(3)]
    assert np.abs(whole.C[:3] - whole.C[3:]).max() < 1e-15


@pytest.mark.parametrize(("sequence", "locked"), [("XYZ", 90.0), ("ZYX", -90.0), ("ZXZ", 0.0), ("YXY", 180.0)])
def test_angles_near_a_gimbal_lock_are_told(sequence: str, locked: float) -> None:
    """Wherever they are read: motion vectors, sensors, linear models; nothing is said of what is no angle."""
    s = tt.System("top", gravity=[0, 0, 0])
    body = tt.RigidBody("body", 1.0, inertia=1.0)
    s.connect("world", body, tt.Spherical("pivot"))
    s.add_sensor(tt.PoseSensor("tracker", body, sequence))
    s.add_sensor(tt.Gyro("gyro", body))
    model = s.resolve()
    rest = np.zeros(3)
    for away, told in ((0.0, True), (0.05, True), (0.2, False)):
        turn = Rotation.from_euler(sequence, [20.0, locked - away, 30.0], degrees=True)
        q = model.configuration({"pivot": turn})
        readers = [
            lambda: model.motion("body", q, rest, rest, sequence),  # noqa: B023
            lambda: model.outputs(q, rest, rest),  # noqa: B023
        ]
        if away:  # in the lock slopes are refused
            readers.append(lambda: tt.linearize(model, q, outputs=["tracker"]))  # noqa: B023
        for read in readers:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                read()
            about = [str(warning.message) for warning in caught if "gimbal-lock" in str(warning.message)]
            assert bool(about) == told
            assert all(text.startswith("body.theta") and sequence in text for text in about)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tt.linearize(model, q, outputs=["gyro", "body.w", "body.r", "body.dv"])


@pytest.mark.parametrize("sequence", [f"{a}{b}{c}" for a in "XYZ" for b in "XYZ" for c in "XYZ" if a != b != c])
def test_euler_angles_are_scipys(sequence: str) -> None:
    rng = np.random.default_rng(0)
    for rotation in Rotation.random(50, random_state=rng):
        # rounding of rotations, over the distance to a gimbal lock: 0.01 at least here
        assert euler_angles(rotation.as_matrix(), sequence) == pytest.approx(rotation.as_euler(sequence), abs=1e-13)
    lock = 0.0 if sequence[0] == sequence[2] else np.pi / 2
    for away in (0.0, 1e-9, 1e-6, 1e-4):
        rotation = Rotation.from_euler(sequence, [0.4, lock - away, 0.7])
        angles = euler_angles(rotation.as_matrix(), sequence)
        assert (angles[2] == 0.0) == (away < 1e-7)
        # what the third angle leaves out in a lock, and rounding that the middle angle, a right one, hides
        assert (Rotation.from_euler(sequence, angles).inv() * rotation).magnitude() < away * (away < 1e-7) + 1e-7
