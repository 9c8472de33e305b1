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


#: A port that is turned and aside, an attitude that is nominal, and the direction to the sun.
TURN, NOMINAL, SUN = Rotation.from_rotvec([0.3, -0.2, 0.5]), Rotation.from_rotvec([-0.4, 0.1, 0.7]), [1.0, 2.0, 2.0]


def spacecraft(**paths: tt.SignalPath) -> tt.System:
    s = tt.System("spacecraft", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 10.0, com=[0.1, 0, 0], inertia=[2.0, 3.0, 4.0], ports={"C": tt.Pose([0.3, 0.2, -0.1], TURN)})
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub, tt.RigidBody("mast", 1.0, com=[0, 0, 1], inertia=0.1), tt.Revolute("hinge", axis=[1, 0, 0], stiffness=9.0))
    mast = s["mast"]
    s.add_actuator(tt.Torque("wheels", hub))
    s.add_sensor(tt.StarTracker("tracker", hub.port("C"), NOMINAL, path=paths.get("tracker")))
    s.add_sensor(tt.SunSensor("sun", hub.port("C"), SUN, path=paths.get("sun")))
    s.add_sensor(tt.GNSS("gnss", mast, path=paths.get("gnss")))
    return s


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_sensors_of_spacecraft_read_what_scipy_does(engine: str) -> None:
    m, rng = spacecraft().resolve(engine), np.random.default_rng(5)
    for _ in range(5):
        q, (v, a) = m.random_configuration(rng), rng.normal(size=(2, m.nv))
        read = dict(zip(m.output_names, m.outputs(q, v, a), strict=True))
        R = Rotation.from_matrix(m.pose("hub.C", q)[0])
        x, y, z = R.inv().apply(SUN)
        assert [read[f"tracker.{i}"] for i in "xyz"] == pytest.approx((NOMINAL.inv() * R).as_rotvec().tolist(), abs=1e-12)
        assert [read["sun.x"], read["sun.y"]] == pytest.approx([np.arctan2(x, z), np.arctan2(y, z)], abs=1e-12)
        place = m.pose("mast", q)[1]
        assert [read[f"gnss.{i}"] for i in "xyz"] == pytest.approx(place.tolist(), abs=1e-12)
        ahead, behind = (m.pose("mast", m.integrate(q, h * v))[1] for h in (1e-5, -1e-5))
        rate = (ahead - behind) / 2e-5  # central: to the square of the step
        assert [read[f"gnss.v{i}"] for i in "xyz"] == pytest.approx(rate.tolist(), abs=1e-8)
    assert m.output_units[:5] == ("rad",) * 5
    assert m.output_units[5:] == ("m",) * 3 + ("m/s",) * 3


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")  # of a state that is no equilibrium
def test_linear_star_trackers_are_small_angles_of_the_port() -> None:
    """At the nominal attitude: rotations about the port's axes; away from it, and of all the others, differences."""
    m = spacecraft().resolve()
    at = m.configuration({"base": [1.0, 2.0, 3.0, *(NOMINAL * TURN.inv()).as_quat()]})
    columns = tt.linearize(m, at, ["wheels"], ["tracker"]).C[:, 3:6]
    assert np.allclose(columns, TURN.inv().as_matrix(), atol=1e-14)
    rng, still = np.random.default_rng(2), np.zeros(m.nv)
    q, v = m.random_configuration(rng), rng.normal(size=m.nv)
    C = tt.linearize(m, (q, v), ["wheels"], ["tracker", "sun", "gnss"]).C
    for k, step in enumerate(1e-5 * np.eye(m.nv)):
        by_q = (m.outputs(m.integrate(q, step), v, still) - m.outputs(m.integrate(q, -step), v, still)) / 2e-5
        by_v = (m.outputs(q, v + step, still) - m.outputs(q, v - step, still)) / 2e-5
        assert np.allclose(C[:, k], by_q, atol=1e-8)  # central: to the square of the step
        assert np.allclose(C[:, m.nv + k], by_v, atol=1e-8)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")  # of a state that is no equilibrium
def test_filters_receive_what_these_sensors_read() -> None:
    lag = {"tracker": tt.SignalPath.lag(0.5, scale_factor=0.1), "sun": tt.SignalPath.lag(0.5), "gnss": tt.SignalPath.lag(0.5)}
    plain, m = spacecraft().resolve(), spacecraft(**lag).resolve()
    q, v = m.random_configuration(np.random.default_rng(4)), np.linspace(-1, 1, m.nv)
    right = plain.outputs(q, v, 0 * v)
    assert m.state_names[:2] == ("tracker.lag[0]", "tracker.lag[1]")
    x = np.linspace(0.1, 1.1, m.nx)
    assert m.state_rates(q, v, x=x) == pytest.approx((right - x) / 0.5, abs=1e-12)
    assert m.outputs(q, v, 0 * v, x=x)[:5] == pytest.approx([*(1.1 * x[:3]), *x[3:5]], abs=1e-12)
    slow, fast = (tt.linearize(each, q, ["wheels"], ["tracker", "gnss"])(2j) for each in (m, plain))
    fast[:3] *= 1.1
    assert np.allclose(slow, fast / (1 + 1j), atol=1e-10)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.filterwarnings("ignore::titop.ModelWarning")  # of a state that is no equilibrium
def test_star_trackers_follow_orbits(engine: str) -> None:
    """What a tracker reads about a `tt.Orbit` at any anomaly, it reads on the inertial world; with a lag too."""
    planet, still = tt.CentralGravity(3.986004418e14, 6.378e6), np.zeros(6)
    for orbit in (
        tt.Orbit(planet, 7e6, inclination=1.0),
        tt.Orbit(planet, 9e6, eccentricity=0.2, inclination=0.4, anomaly=2.0),
    ):
        read, attitude = [], Rotation.from_rotvec([0.2, -0.3, 0.1])
        for gravity in (orbit, planet):
            s = tt.System("spacecraft", gravity=gravity)
            hub = tt.RigidBody("hub", 10.0, inertia=[2.0, 3.0, 4.0], ports={"C": tt.Pose(rotation=TURN)})
            s.connect("world", hub, tt.Free("base"))
            for name, path in (("fixed", None), ("tracker", None), ("slow", tt.SignalPath.lag(0.5))):
                s.add_sensor(tt.StarTracker(name, hub.port("C"), NOMINAL, orbiting=name != "fixed", path=path))
            m = s.resolve(engine)
            base = tt.Pose(rotation=attitude)
            q, v = orbit.state(base) if gravity is planet else (m.configuration({"base": base}), still)
            read.append((m.outputs(q, v, still, x=np.zeros(3)), 0.5 * m.state_rates(q, v, x=np.zeros(3))))
        (hill, hill_lag), (inertial, inertial_lag) = read
        right = (NOMINAL.inv() * attitude * TURN).as_rotvec()
        for found in (hill[3:6], hill_lag, inertial[3:6], inertial_lag):
            assert found == pytest.approx(right, abs=1e-14)  # roundings of rotations
        assert hill[:3] == pytest.approx(right, abs=1e-14)
        assert np.abs(inertial[:3] - right).max() > 0.1
        columns = tt.linearize(m, (q, v), [], ["tracker"]).C
        for k, h in enumerate(np.repeat([1e2, 1e-5, 0.1], 3)):  # of place, attitude and velocity: 1e-5 of what matters
            step = h * np.eye(12)[k]
            moved = [(m.integrate(q, way * step[:6]), v + way * step[6:]) for way in (1, -1)]
            ahead, behind = (m.outputs(*state, still, x=still[:3])[3:6] for state in moved)
            assert columns[:, k] * h == pytest.approx((ahead - behind) / 2, abs=1e-9)  # cubes of 1e-5


def test_star_trackers_need_an_orbit_to_follow() -> None:
    def read(gravity: object) -> None:
        s = tt.System("spacecraft", gravity=gravity)
        hub = tt.RigidBody("hub", 10.0, inertia=1.0)
        s.connect("world", hub, tt.Free("base"))
        s.add_sensor(tt.StarTracker("tracker", hub, orbiting=True))
        m = s.resolve("reference")
        m.outputs(m.configuration({"base": [7e6, 0, 0, 0, 0, 0, 1]}), np.zeros(6), np.zeros(6))

    for gravity, code in (([0, 0, 0], "no-planet"), (tt.CentralGravity(4e14, 6e6), "no-orbit")):
        with pytest.raises(tt.ModelError, match=code):
            read(gravity)


def test_a_satellite_that_points_to_the_earth_reads_zero_all_around() -> None:
    orbit = tt.Orbit(tt.CentralGravity(3.986004418e14, 6.378e6, j2=1.08e-3), 7e6, inclination=1.0)
    s = tt.System("spacecraft", gravity=orbit.gravity)
    hub = tt.RigidBody("hub", 10.0, inertia=2.0)  # without a torque
    s.connect("world", hub, tt.Free("base"))
    for name in ("tracker", "fixed"):
        s.add_sensor(tt.StarTracker(name, hub, orbiting=name == "tracker"))
    m = s.resolve("reference")
    run = tt.simulate(m, np.linspace(0, orbit.period, 20), *orbit.state(), rtol=1e-9)
    angles = np.array([m.outputs(q, v, np.zeros(6)) for q, v in zip(run.q, run.v, strict=True)])
    assert 1e-4 < np.abs(angles[:, :3]).max() < 0.02  # J2: it turns evenly, its orbit does not, and precesses by 5e-3 rad
    assert np.linalg.norm(angles[:, 3:], axis=1).max() > 2.5


def test_a_sun_sensor_follows_its_direction() -> None:
    m = spacecraft().resolve()
    changed = m.with_parameters({"sun.direction.x": 0.0, "sun.direction.y": 0.0})
    q = m.configuration({"base": [0, 0, 0, *TURN.inv().as_quat()]})  # the port's axes are the world's
    still = np.zeros(m.nv)
    for model, right in ((m, [np.arctan(0.5), np.pi / 4]), (changed, [0.0, 0.0])):
        assert model.outputs(q, still, still)[3:5] == pytest.approx(right, abs=1e-14)
        assert tt.linearize(model, q, [], ["sun"]).C[:, 3].any()
    aside = tt.SunSensor("sun", tt.RigidBody("b", 1.0), [0, 2, 0])
    assert aside.observed(np.eye(3), np.zeros(3), np.zeros(6)).tolist() == [0.0, np.pi / 2]
    with pytest.raises(tt.ModelError, match=r"sun.*no-angle"):
        aside.observed_slopes(np.eye(3), np.zeros(3), np.zeros(6))
    for direction, code in (([0, 0, 0], "zero-axis"), ("up", "wrong-type")):
        codes = [finding.code for finding in tt.SunSensor("sun", tt.RigidBody("b", 1.0), direction).check()[0]]
        assert codes[0] == code
    wrong = tt.StarTracker("tracker", tt.RigidBody("b", 1.0), np.diag([1.0, 1.0, -1.0]))
    assert [(each.code, each.where) for each in wrong.check()[0]] == [("left-handed", "tracker.nominal")]


def test_sensors_of_spacecraft_go_through_files(tmp_path) -> None:
    path = tt.SignalPath(
        sample_time=0.1,
        noise_density=1e-5,
        bias_instability=[1e-6, 1e-6, 1e-5],
        correlation_time=30.0,
        scale_factor=0.0,
        misalignment=[1e-4, 0, 0],
    )
    s = spacecraft(tracker=path, gnss=tt.SignalPath(bias_instability=1.0, correlation_time=(10.0, 1e3)))
    s.save(tmp_path / "s.toml")
    loaded = tt.load(tmp_path / "s.toml")
    assert loaded["tracker"].path == path
    assert loaded["gnss"].path.correlation_time == (10.0, 1e3)
    one, other = s.resolve("reference"), loaded.resolve("reference")
    q, v = one.random_configuration(np.random.default_rng(0)), np.ones(one.nv)
    assert (one.outputs(q, v, v) == other.outputs(q, v, v)).all()


FIELD = tt.MagneticField.dipole(2.98e-5, axis=[0.1, 0.2, -1.0], radius=6.3712e6)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_magnetometers_read_the_field_at_their_place(engine: str) -> None:
    """About the planet, and about an orbit, whose world is elsewhere and turned; with a lag, which receives the same."""
    planet = tt.CentralGravity(3.986004418e14, 6.378e6)
    orbit = tt.Orbit(planet, semi_major_axis=7e6, inclination=1.0)
    for gravity, path in ((planet, None), (orbit, None), (orbit, tt.SignalPath.lag(0.5))):
        s = tt.System("spacecraft", gravity=gravity)
        hub = tt.RigidBody("hub", 10.0, inertia=[2.0, 3.0, 4.0], ports={"C": tt.Pose([0.3, 0.2, -0.1], TURN)})
        s.connect("world", hub, tt.Free("base"))
        s.add_sensor(tt.Magnetometer("m", hub.port("C"), FIELD, path=path))
        m, v = s.resolve(engine), np.zeros(6)
        place = [4e6, 3e6, 4e6] if gravity is planet else [100.0, 50.0, -80.0]
        q = m.configuration({"base": [*place, *NOMINAL.as_quat()]})
        R, r = m.pose("hub.C", q)
        axes, origin = (np.eye(3), np.zeros(3)) if gravity is planet else orbit.place
        B = R.T @ axes.T @ FIELD.at(axes @ r + origin)
        found = m.outputs(q, v, v) if path is None else 0.5 * m.state_rates(q, v, x=np.zeros(3))
        np.testing.assert_allclose(found, B, rtol=0, atol=1e-18)  # rounding of some 1e-5 T
        changed = m.with_parameters({"m.field.z": 0.0})
        assert (m.outputs(q, v, v, x=np.ones(m.nx)) == changed.outputs(q, v, v, x=np.ones(m.nx))).all() == (path is not None)
        if gravity is orbit:
            later = m.with_parameters({"gravity.anomaly": 1.0})
            found = later.outputs(q, v, v) if path is None else 0.5 * later.state_rates(q, v, x=np.zeros(3))
            assert np.abs(found - B).max() > 1e-6
            at, there = (later.mechanism.assembly.field.place, R.T)
            np.testing.assert_allclose(found, there @ at[0].T @ FIELD.at(at[0] @ r + at[1]), rtol=0, atol=1e-18)


def test_linear_magnetometers_are_differences() -> None:
    s = tt.System("spacecraft", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("hub", 10.0, inertia=2.0), tt.Free("base"))
    s.add_sensor(tt.Magnetometer("m", s["hub"], FIELD, path=tt.SignalPath(scale_factor=0.1)))
    m, still = s.resolve(), np.zeros(6)
    q = m.configuration({"base": [4e6, 3e6, 4e6, *NOMINAL.as_quat()]})
    C = tt.linearize(m, q, [], ["m"]).C
    for k, size in enumerate([1e3] * 3 + [1e-4] * 3):
        ahead, behind = (m.outputs(m.integrate(q, sign * size * np.eye(6)[k]), still, still) for sign in (1, -1))
        # central: to the square of 1e-4, in parts of 3e-5 T per 7e6 m, or per radian
        assert np.allclose(C[:, k], (ahead - behind) / (2 * size), atol=1e-6 * (3e-5 / 7e6 if k < 3 else 3e-5))
    wrong = tt.Magnetometer("m", s["hub"], [0, 0, 3e-5])
    assert [(each.code, each.where) for each in wrong.check()[0]] == [("no-field", "m.field")]
