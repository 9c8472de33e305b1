"""Simulations against closed forms, independent models and conserved quantities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from scipy.special import ellipk

import titop as tt
from tests.solvers.simulation.simulated_models import (
    GRAVITY,
    Array,
    cart,
    largest,
    moving,
    pendulum,
    shaken,
    single_body,
    slider,
)
from tests.systems import KINDS, random_body, random_tree
from tests.tolerances import ACCURACY, TIGHT

# -- conserved quantities ----------------------------------------------------------------------------------------------


def free_flight_drifts(seed: int, rtol: float) -> Array:
    """Return how much ten bodies change energy, momentum and angular momentum in 100 s without gravity, relatively."""
    rng = np.random.default_rng(seed)
    system = random_tree(rng, 10, [kind for kind in KINDS if kind != "Weld"], base="free")
    system.gravity = np.zeros(3)
    model = system.resolve()
    q, v = model.random_configuration(rng), 0.1 * rng.normal(size=model.nv)
    trajectory = tt.simulate(model, np.linspace(0, 100, 51), q, v, rtol=rtol, atol=rtol / 100)
    path = np.array([model.center_of_mass(q) for q in trajectory.q])
    assert largest(path[-1] - path[0]) > 1  # it moved
    energy = trajectory.energy().sum(axis=1)
    momentum = np.array([model.momentum(q, v) for q, v in zip(trajectory.q, trajectory.v, strict=True)])
    linear, angular = momentum[:, :3], momentum[:, 3:]
    size = np.linalg.norm(linear[0])
    lever = np.linalg.norm(path, axis=1).max()  # the angular momentum's parts, r x p, grow with the way
    return np.array(
        [largest(energy / energy[0] - 1), largest(linear - linear[0]) / size, largest(angular - angular[0]) / (size * lever)]
    )


@pytest.mark.parametrize("seed", range(4))
def test_free_flight_of_ten_bodies_keeps_energy_and_momentum(seed: int) -> None:
    # about a hundred steps, each with a relative error of 1e-10 or less
    assert free_flight_drifts(seed, 1e-10).max() < 1e-8
    # the integrator's tolerance explains the drift: a looser one gives more
    assert free_flight_drifts(seed, 1e-6).min() > 1e-7


# -- armatures, against Euler's and Kirchhoff's equations --------------------------------------------------------------

INERTIA = np.array([[0.5, 0.1, -0.05], [0.1, 0.7, 0.08], [-0.05, 0.08, 0.9]])

TORQUE = np.array([0.3, -0.2, 0.1])


def euler_solution(inertia: Array, gyroscopic: Array, t: Array, w0: Array) -> tuple[Array, Array]:
    """Return angular velocities and quaternions of ``inertia w' + w x gyroscopic w = TORQUE``."""

    def derivative(_: float, y: Array) -> Array:
        w, (x, y_, z, s) = y[:3], y[3:]
        acceleration = np.linalg.solve(inertia, TORQUE - np.cross(w, gyroscopic @ w))
        product = np.array([[s, -z, y_], [z, s, -x], [-y_, x, s], [-x, -y_, -z]])
        return np.concatenate([acceleration, product @ w / 2])

    y = solve_ivp(derivative, (t[0], t[-1]), [*w0, 0, 0, 0, 1], "DOP853", t, rtol=1e-12, atol=1e-13).y.T
    return y[:, :3], y[:, 3:]


def test_armature_of_a_spherical_joint() -> None:
    armature = np.array([0.4, 0.05, 0.6])
    body = tt.RigidBody("body", mass=3.0, inertia=INERTIA)
    model = single_body(body, tt.Spherical("joint", armature=armature), gravity=[0, 0, -GRAVITY])
    t, w0 = np.linspace(0, 5, 26), np.array([1.0, -2.0, 0.5])
    trajectory = tt.simulate(model, t, model.neutral(), w0, tau=TORQUE, **TIGHT)
    total = INERTIA + np.diag(armature)
    w, quaternion = euler_solution(total, total, t, w0)
    assert largest(trajectory.v - w) < ACCURACY
    assert largest(trajectory.q - quaternion) < ACCURACY
    # control: an armature without its gyroscopic effort is another motion
    assert largest(trajectory.v - euler_solution(total, INERTIA, t, w0)[0]) > 1e-2
    assert trajectory.energy()[-1, 0] == pytest.approx(0.5 * w[-1] @ total @ w[-1], rel=ACCURACY)


def test_armature_of_a_free_joint() -> None:
    """The armature is an added mass that turns with the body: Kirchhoff's equations of a body in an ideal fluid."""
    armature = np.array([0.2, 1.0, 2.0, 0.1, 0.3, 0.05])
    mass = 1.5
    model = single_body(tt.RigidBody("body", mass=mass, inertia=INERTIA), tt.Free("joint", armature=armature))
    linear, angular = mass * np.eye(3) + np.diag(armature[:3]), INERTIA + np.diag(armature[3:])

    def kirchhoff(_: float, y: Array) -> Array:
        v, w = y[:3], y[3:]
        force, torque = np.cross(linear @ v, w), np.cross(angular @ w, w) + np.cross(linear @ v, v)
        return np.concatenate([np.linalg.solve(linear, force), np.linalg.solve(angular, torque)])

    t, v0 = np.linspace(0, 5, 26), np.array([1.0, 0.5, -0.7, 0.3, -0.8, 0.6])
    expected = solve_ivp(kirchhoff, (0, 5), v0, "DOP853", t, rtol=1e-12, atol=1e-13).y.T
    assert largest(tt.simulate(model, t, model.neutral(), v0, **TIGHT).v - expected) < ACCURACY


# -- attitudes ---------------------------------------------------------------------------------------------------------


def assert_tumbles(trajectory: tt.Trajectory, quaternion: slice) -> None:
    """Every orthant of quaternions and both gimbal locks are visited, and the motion can be read everywhere."""
    x = trajectory.q[:, quaternion]
    # normalised where they are read, so that only the rounding of one division is left
    assert largest(np.linalg.norm(x, axis=1) - 1) < 1e-12
    assert len({tuple(row) for row in x > 0}) == 16
    pitch = Rotation.from_quat(x).as_euler("XYZ")[:, 1]
    assert pitch.max() > 1.5  # close to both gimbal locks
    assert pitch.min() < -1.5
    read = Rotation.from_euler("XYZ", trajectory.motion("body")[:, 15:])
    # attitudes closer than 1e-7 rad to a gimbal lock are read as if they were in it
    assert largest((read * Rotation.from_quat(x).inv()).magnitude()) < 2e-7
    energy = trajectory.energy().sum(axis=1)
    assert largest(energy / energy[0] - 1) < 1e-8


@pytest.mark.parametrize("joint", [tt.Spherical("joint"), tt.Free("joint")], ids=["spherical", "free"])
@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_tumbling_through_every_attitude(joint: tt.Joint, engine: str) -> None:
    model = single_body(tt.RigidBody("body", mass=1.0, inertia=[0.2, 0.3, 0.4]), joint)
    v = np.zeros(model.nv)
    v[-3:] = 0.3, 3.0, 0.1  # about the middle axis, so that it turns over
    # a function for the wrench keeps the simulation out of the fully compiled derivative
    wrenches = None if engine == "compiled" else {"body": lambda t, q, v: np.zeros(6)}
    t = np.linspace(0, 60, 2001)
    trajectory = tt.simulate(model, t, model.neutral(), v, wrenches=wrenches, rtol=1e-10, atol=1e-12)
    assert_tumbles(trajectory, slice(model.nq - 4, model.nq))


# -- closed forms ------------------------------------------------------------------------------------------------------


def test_period_of_a_pendulum() -> None:
    length, amplitude = 0.7, 2.5
    period = 4 * np.sqrt(length / GRAVITY) * ellipk(np.sin(amplitude / 2) ** 2)
    passing = tt.Event(lambda t, q, v: q[0], "lowest", terminal=False)
    trajectory = tt.simulate(
        pendulum(length).resolve(), [0, 1.2 * period, 2.6 * period], [amplitude], [0], events=passing, **TIGHT
    )
    expected = period * np.arange(0.25, 2.6, 0.5)
    # events are found in the dense output, two orders below the steps
    assert trajectory.events["lowest"] == pytest.approx(expected, abs=1e-8)


def test_symmetric_top_without_torque() -> None:
    transverse, axial, spin, nutation = 0.3, 0.5, 4.0, 1.2
    model = single_body(tt.RigidBody("top", mass=2.0, inertia=[transverse, transverse, axial]), tt.Free("base"))
    t = np.linspace(0, 5, 51)
    trajectory = tt.simulate(model, t, model.neutral(), model.velocity({"base.rx": nutation, "base.rz": spin}), **TIGHT)
    rate = (axial - transverse) / transverse * spin
    expected = np.array([nutation * np.cos(rate * t), nutation * np.sin(rate * t), np.full_like(t, spin)]).T
    assert largest(trajectory.v[:, 3:] - expected) < ACCURACY
    angular_momentum = np.array([transverse * nutation, 0, axial * spin])
    precession = Rotation.from_rotvec(np.outer(t, angular_momentum / transverse))
    axis = Rotation.from_quat(trajectory.q[:, 3:]).as_matrix()[:, :, 2]
    assert largest(axis - precession.apply([0, 0, 1])) < ACCURACY


def test_projectile() -> None:
    body = random_body(np.random.default_rng(3), "stone")
    model = single_body(body, tt.Free("base"), gravity=[0, 0, -GRAVITY])
    t, v = np.linspace(0, 2, 21), np.array([3.0, 1.0, 5.0, 2.0, -1.0, 4.0])
    trajectory = tt.simulate(model, t, model.neutral(), v, **TIGHT)
    start = v[:3] + np.cross(v[3:], body.com)
    expected = body.com + np.outer(t, start) + np.outer(t**2 / 2, [0, 0, -GRAVITY])
    found = np.array([model.center_of_mass(q) for q in trajectory.q])
    assert largest(found - expected) < ACCURACY
    assert largest(np.linalg.norm([model.accelerometer("stone", *state) for state in moving(trajectory)], axis=1)) > 1
    # at the centre of mass an accelerometer reads nothing
    body.add_port("com", body.com)
    model = single_body(body, tt.Free("base"), gravity=[0, 0, -GRAVITY])
    assert largest([model.accelerometer("stone.com", *state) for state in moving(trajectory)]) < ACCURACY


def test_reaction_of_a_pendulum() -> None:
    length, mass, force = 0.7, 2.0, np.array([1.0, -2.0, 3.0, 0.0, 0.0, 0.0])
    model = pendulum(length, mass).resolve()
    trajectory = tt.simulate(model, np.linspace(0, 1, 11), [1.0], [0.5], wrenches={"bob.com": force}, **TIGHT)
    q, v, a = trajectory.q[:, 0], trajectory.v[:, 0], trajectory.a[:, 0]
    # in body axes the bob accelerates by a l along y and by v^2 l along z, and gravity pulls along (0, -sin q, -cos q)
    inertial = mass * np.array([0 * q, a * length + GRAVITY * np.sin(q), v**2 * length + GRAVITY * np.cos(q)]).T
    assert largest(trajectory.reaction("hinge")[:, :3] - (inertial - force[:3])) < ACCURACY


# -- bad arguments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"t": [0, 1, 1]}, "bad-times"),
        ({"t": [1, 0]}, "bad-times"),
        ({"t": [0]}, "bad-times"),
        ({"t": [0, np.nan]}, "bad-times"),
        ({"t": [0, np.inf]}, "bad-times"),
        ({"t": 1.0}, "bad-times"),
        ({"method": "Euler"}, "unknown-method"),
        ({"q0": [0.0]}, "wrong-length"),
        ({"q0": [[[0.0, 0.0]]]}, "wrong-length"),
        ({"v0": [0.0, 0.0, 0.0]}, "wrong-length"),
        ({"v0": [0.0, np.nan]}, "not-finite"),
        ({"tau": [1.0]}, "wrong-length"),
        ({"tau": np.zeros((3, 2))}, "wrong-length"),
        ({"tau": [np.inf, 0.0]}, "not-finite"),
        ({"tau": lambda t, q, v: [0.0]}, "wrong-length"),
        ({"tau": lambda t, q, v: [0.0, np.nan]}, "not-finite"),
        ({"wrenches": {"bobb": np.zeros(6)}}, "unknown-port"),
        ({"wrenches": {"bobb": lambda t, q, v: np.zeros(6)}}, "unknown-port"),
        ({"wrenches": {"bob": np.zeros(3)}}, "wrong-shape"),
        ({"wrenches": {"bob": lambda t, q, v: np.zeros(3)}}, "wrong-shape"),
        ({"prescribed": {"trak": shaken}}, "unknown-coordinate"),
        ({"prescribed": {"track": np.sin}}, "bad-motion"),
        ({"prescribed": {"track": lambda t: (0.0, 0.0)}}, "bad-motion"),
        ({"prescribed": {"track": lambda t: (0.0, 0.0, np.nan)}}, "bad-motion"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], code: str) -> None:
    usable: dict[str, Any] = {"t": [0, 1], "q0": [0.0, 0.4], "v0": [0.0, 0.0]}
    tt.simulate(cart(), **usable)
    with pytest.raises(tt.ModelError) as caught:
        tt.simulate(cart(), **(usable | arguments))
    assert caught.value.code == code


@pytest.mark.parametrize("value", [-1e-6, np.nan, np.inf, "tight"])
@pytest.mark.parametrize("name", ["rtol", "atol"])
def test_bad_tolerances(name: str, value: Any) -> None:
    with pytest.raises(tt.ModelError, match=name):
        tt.simulate(slider(), [0, 1], [0.0], [0.0], **{name: value})


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_bad_largest_step(value: float) -> None:
    with pytest.raises(tt.ModelError, match="max_step"):
        tt.simulate(slider(), [0, 1], [0.0], [0.0], max_step=value)


@pytest.mark.parametrize("q0", [[0, 0, 0, 0, 0, 0, 2.0], [0, 0, 0, 0, 0, 0, 0.0]])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_bad_quaternions(q0: list[float]) -> None:
    model = single_body(tt.RigidBody("rock", mass=1.0, inertia=1.0), tt.Free("base"))
    moved = {"base": lambda t: (q0, np.zeros(6), np.zeros(6))}
    for start, prescribed in ((q0, {}), (model.neutral(), moved)):
        with pytest.raises(tt.ModelError, match="unit quaternion"):
            tt.simulate(model, [0, 1], start, np.zeros(6), prescribed=prescribed)


@pytest.mark.parametrize("where", ["tau", "wrenches", "prescribed", "events"])
def test_errors_in_functions_of_the_user_come_through(where: str) -> None:
    def broken(*state: Any) -> Any:
        if state[0] > 0.3:
            raise KeyError("a mistake in the user's function")
        return {"tau": [0, 0], "wrenches": np.zeros(6), "prescribed": (0, 0, 0), "events": 1.0}[where]

    wrapped = {"tau": broken, "wrenches": {"bob": broken}, "prescribed": {"track": broken}, "events": tt.Event(broken)}
    with pytest.raises(KeyError, match="a mistake"):
        tt.simulate(cart(), [0, 1], [0.0, 0.4], [0.0, 0.0], **{where: wrapped[where]})


@pytest.mark.parametrize("method", ["DOP853", "Radau", "exponential", "generalized-alpha"])
def test_tolerances_below_rounding_are_the_finest_there_are(method: str) -> None:
    """With no other warning than titop's, whatever integrates."""
    loose = {"t": [0, 1e-3], "q0": [1.0], "v0": [0.0], "method": method, "atol": 1e-6, "progress": False}
    with pytest.warns(tt.ModelWarning, match="rtol: got 1e-15") as told:
        run = tt.simulate(slider(stiffness=1.0), rtol=1e-15, **loose)
    assert len(told) == 1
    assert np.array_equal(run.q, tt.simulate(slider(stiffness=1.0), rtol=100 * np.finfo(float).eps, **loose).q)
