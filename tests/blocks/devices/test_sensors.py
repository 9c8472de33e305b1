"""Sensors against what they read."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from tests.actuated_systems import satellite
from tests.systems import random_state
from titop.blocks.basics.pose import euler_angles


@pytest.fixture(scope="module", params=["compiled", "reference"])
def model(request):
    return satellite().resolve(request.param)


@pytest.fixture
def state(model):
    return random_state(model, np.random.default_rng(3))


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


def test_units_of_encoders_are_their_coordinates(model):
    units = dict(zip(model.output_names, model.output_units, strict=True))
    assert units["encoder"] == "rad"
    assert units["rate"] == "rad/s"


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
            tt.linearize(model, q, outputs=["gyro", "body.w", "body.r", "body.dv", "tracker.x"])
            where = tt.Controller(lambda t, x, y, r: (x, y), [], ["tracker.x"], ["pivot.rx"], 0.1)
            tt.simulate(model, [0.0, 0.1], q, rest, controller=where)


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
