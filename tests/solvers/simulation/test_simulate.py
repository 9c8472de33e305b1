"""Simulations against closed forms, independent models and conserved quantities."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation
from scipy.special import ellipk

import titop as tt
import titop.solvers.simulation.integration
from tests.systems import KINDS, random_body, random_tree

Array = NDArray[np.float64]

GRAVITY = 9.81
#: Tight tolerances; a hundred steps of such local errors leave about 1e-9 of the solution.
TIGHT = {"rtol": 1e-11, "atol": 1e-13}
ACCURACY = 1e-9


def pendulum(length: float = 0.7, mass: float = 2.0, name: str = "hinge", **passive: Any) -> tt.System:
    """Return a point mass that swings about x."""
    s = tt.System("pendulum", gravity=[0, 0, -GRAVITY])
    bob = tt.RigidBody("bob", mass=mass, com=[0, 0, -length], ports={"com": [0, 0, -length]})
    s.connect("world", bob, tt.Revolute(name, axis=[1, 0, 0], **passive))
    return s


def slider(mass: float = 2.0, **passive: Any) -> tt.Model:
    """Return a point mass on a rail along x, without gravity."""
    s = tt.System("slider", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", mass=mass), tt.Prismatic("rail", axis=[1, 0, 0], **passive))
    return s.resolve()


def single_body(body: tt.RigidBody, joint: tt.Joint, gravity: Any = (0, 0, 0)) -> tt.Model:
    """Return a body on a joint on the world."""
    s = tt.System("single", gravity=gravity)
    s.connect("world", body, joint)
    return s.resolve()


def largest(x: Any) -> float:
    """Return the largest absolute value."""
    return float(np.abs(x).max())


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


def sprung(kind: str, seed: int, damping: float = 0.0) -> tuple[tt.System, Array]:
    """Return a body on a joint with a full spring matrix, and a velocity at rest that takes it about 1 m and 1 rad away."""
    rng = np.random.default_rng(seed)
    n = getattr(tt, kind)("joint").nv
    spring = rng.uniform(-1.0, 1.0, (n, n))
    joint = getattr(tt, kind)("joint", stiffness=10 * (spring @ spring.T + 0.3 * np.eye(n)), damping=damping)
    s = tt.System("sprung", gravity=[0, 0, 0])
    s.connect("world", random_body(rng, "body").port("A"), joint)
    return s, 2.0 * rng.normal(size=n)


def energy_drift(system: tt.System, v: Array, engine: str = "compiled", end: float = 3.0) -> tuple[float, tt.Trajectory]:
    """Return the largest relative change of the energy, and the trajectory."""
    model = system.resolve(engine)
    trajectory = tt.simulate(model, np.linspace(0, end, 31), model.neutral(), v, rtol=1e-10, atol=1e-12)
    energy = trajectory.energy().sum(axis=1)
    return largest(energy / energy[0] - 1), trajectory


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "Weld"])
@pytest.mark.parametrize("seed", range(3))
def test_springs_conserve_energy(kind: str, seed: int) -> None:
    drift, trajectory = energy_drift(*sprung(kind, seed))
    reach = max(largest(trajectory.model.difference(trajectory.q[0], q)) for q in trajectory.q)
    assert 0.15 < reach < 2.5  # far enough for nonlinearity, below pi where the logarithm is cut
    # a hundred steps with a relative error of 1e-10 each
    assert drift < 1e-8


def test_dampers_do_not_conserve_energy() -> None:
    assert energy_drift(*sprung("Spherical", 0, damping=1e-3))[0] > 1e-5


@pytest.mark.parametrize("kind", ["Spherical", "Free"])
def test_springs_without_the_derivative_of_the_logarithm_create_energy(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system, v = sprung(kind, 0)
    assert energy_drift(system, v, "reference", end=0.5)[0] < 1e-8
    monkeypatch.setattr(getattr(tt, kind), "difference_jacobian", lambda self, delta: np.eye(self.nv))
    assert energy_drift(system, v, "reference", end=0.5)[0] > 1e-5


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


def moving(trajectory: tt.Trajectory) -> Any:
    """Return the states ``(q, v, a)`` of a trajectory."""
    return zip(trajectory.q, trajectory.v, trajectory.a, strict=True)


def test_reaction_of_a_pendulum() -> None:
    length, mass, force = 0.7, 2.0, np.array([1.0, -2.0, 3.0, 0.0, 0.0, 0.0])
    model = pendulum(length, mass).resolve()
    trajectory = tt.simulate(model, np.linspace(0, 1, 11), [1.0], [0.5], wrenches={"bob.com": force}, **TIGHT)
    q, v, a = trajectory.q[:, 0], trajectory.v[:, 0], trajectory.a[:, 0]
    # in body axes the bob accelerates by a l along y and by v^2 l along z, and gravity pulls along (0, -sin q, -cos q)
    inertial = mass * np.array([0 * q, a * length + GRAVITY * np.sin(q), v**2 * length + GRAVITY * np.cos(q)]).T
    assert largest(trajectory.reaction("hinge")[:, :3] - (inertial - force[:3])) < ACCURACY


# -- prescribed motion -------------------------------------------------------------------------------------------------


def shaken(t: float) -> tuple[float, float, float]:
    """Return position, velocity and acceleration of a support."""
    return 0.2 * np.sin(3 * t), 0.6 * np.cos(3 * t), -1.8 * np.sin(3 * t)


def cart() -> tt.Model:
    """Return a pendulum of 0.7 m and 2 kg that hangs on a cart of 1 kg; the cart rolls along y."""
    s = tt.System("cart", gravity=[0, 0, -GRAVITY])
    wagon, bob = tt.RigidBody("wagon", mass=1.0), tt.RigidBody("bob", mass=2.0, com=[0, 0, -0.7])
    s.connect("world", wagon, tt.Prismatic("track", axis=[0, 1, 0]))
    s.connect(wagon, bob, tt.Revolute("hinge", axis=[1, 0, 0]))
    return s.resolve()


def assert_efforts_are_those_of_the_motion(trajectory: tt.Trajectory, prescribed: slice) -> None:
    """Prescribed motions take the efforts of inverse dynamics, the others none."""
    expected = np.array([trajectory.model.inverse_dynamics(*state) for state in moving(trajectory)])
    # rounding of the dynamics alone
    assert largest(trajectory.tau[:, prescribed] - expected[:, prescribed]) < 1e-11
    assert largest(np.delete(trajectory.tau, prescribed, axis=1)) == 0
    assert largest(np.delete(expected, prescribed, axis=1)) < 1e-11


@pytest.mark.parametrize("given_as", ["function", "spline"])
def test_prescribed_motion_of_a_joint(given_as: str) -> None:
    knots = np.linspace(-0.5, 3.5, 801)
    spline = make_interp_spline(knots, shaken(knots)[0], k=7)
    motion: Callable[[float], Any] = shaken if given_as == "function" else spline
    t = np.linspace(0, 3, 31)
    trajectory = tt.simulate(cart(), t, [0.0, 0.4], [0.0, 0.0], prescribed={"track": motion}, **TIGHT)

    def swing(time: float, y: Array) -> list[float]:
        return [y[1], -(GRAVITY * np.sin(y[0]) + shaken(time)[2] * np.cos(y[0])) / 0.7]

    expected = solve_ivp(swing, (0, 3), [0.4, 0], "DOP853", t, rtol=1e-12, atol=1e-13).y.T
    assert largest(trajectory.q[:, 1] - expected[:, 0]) < ACCURACY
    assert largest(trajectory.v[:, 1] - expected[:, 1]) < ACCURACY
    # a spline of degree 7 through points 5 ms apart: 1e-15 in position, 1e-11 in its second derivative
    for found, exact in zip((trajectory.q, trajectory.v, trajectory.a), shaken(t), strict=True):
        assert largest(found[:, 0] - exact) < (1e-15 if given_as == "function" else 1e-10)
    assert_efforts_are_those_of_the_motion(trajectory, slice(0, 1))


def test_prescribed_motion_of_a_base() -> None:
    """A pendulum swings outwards on a hub that turns at a constant rate."""
    rate, reach, length, mass = 3.0, 0.4, 0.7, 2.0
    hub = tt.RigidBody("hub", mass=1.0, inertia=[1, 1, 1], ports={"rim": [reach, 0, 0]})
    s = tt.System("carousel", gravity=[0, 0, -GRAVITY])
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("rim"), tt.RigidBody("bob", mass=mass, com=[0, 0, -length]), tt.Revolute("hinge", axis=[0, -1, 0]))

    def turning(t: float) -> tuple[Array, Array, Array]:
        half = rate * t / 2
        return np.array([0, 0, 1.0, 0, 0, np.sin(half), np.cos(half)]), np.array([0, 0, 0, 0, 0, rate]), np.zeros(6)

    t = np.linspace(0, 3, 31)
    model = s.resolve()
    trajectory = tt.simulate(model, t, model.neutral(), np.zeros(7), prescribed={"base": turning}, **TIGHT)

    def swing(_: float, y: Array) -> list[float]:
        outwards = rate**2 * (reach + length * np.sin(y[0])) * np.cos(y[0])
        return [y[1], (outwards - GRAVITY * np.sin(y[0])) / length]

    theta, theta_rate = solve_ivp(swing, (0, 3), [0, 0], "DOP853", t, rtol=1e-12, atol=1e-13).y
    assert largest(trajectory.q[:, 7] - theta) < ACCURACY
    # what turns the hub is the change of the bob's angular momentum
    torque = 2 * mass * rate * (reach + length * np.sin(theta)) * length * np.cos(theta) * theta_rate
    assert largest(trajectory.tau[:, 5] - torque) < 10 * ACCURACY  # forces of order ten
    assert_efforts_are_those_of_the_motion(trajectory, slice(0, 6))


def test_efforts_of_other_accelerations_are_noticed() -> None:
    trajectory = tt.simulate(cart(), [0, 1], [0.0, 0.4], [0.0, 0.0], prescribed={"track": shaken})
    wrong = tt.Trajectory(trajectory.model, trajectory.t, trajectory.q, trajectory.v, trajectory.a + 1e-6, trajectory.tau)
    with pytest.raises(AssertionError):
        assert_efforts_are_those_of_the_motion(wrong, slice(0, 1))


# -- events, efforts and wrenches --------------------------------------------------------------------------------------


def oscillator(events: Any, tau: Any = None, end: float = 10.0) -> tt.Trajectory:
    """Return ``q = cos t`` with some events."""
    return tt.simulate(slider(1.0, stiffness=1.0), np.linspace(0, end, 21), [1.0], [0.0], tau, events=events, **TIGHT)


@pytest.mark.parametrize("tau", [None, lambda t, q, v: [0.0]], ids=["compiled", "python"])
@pytest.mark.parametrize(("direction", "first", "period"), [(0, 0.5, 1.0), (-1, 0.5, 2.0), (1, 1.5, 2.0)])
def test_events(direction: int, first: float, period: float, tau: Any) -> None:
    times = np.pi * np.arange(first, 10 / np.pi, period)
    through_zero = {"function": lambda t, q, v: q[0], "name": "zero", "direction": direction}
    passing = oscillator(tt.Event(**through_zero, terminal=False), tau)
    assert passing.events["zero"] == pytest.approx(times, abs=1e-8)
    assert len(passing.t) == 21
    ended = oscillator(tt.Event(**through_zero), tau)
    assert ended.events["zero"] == pytest.approx(times[:1], abs=1e-8)
    assert ended.t[-1] == ended.events["zero"][0]
    assert np.array_equal(ended.t[:-1], passing.t[passing.t < ended.t[-1]])
    assert largest(ended.q[:, 0] - np.cos(ended.t)) < 1e-8
    assert largest(ended.a + ended.q) < 1e-12  # accelerations belong to the last state too


def test_several_events() -> None:
    never = tt.Event(lambda t, q, v: q[0] - 2, "never")
    late = tt.Event(lambda t, q, v: t - 8, "late")
    fast = tt.Event(lambda t, q, v: v[0] - 0.5, "fast", terminal=False)
    trajectory = oscillator([never, late, fast])
    assert trajectory.t[-1] == pytest.approx(8, abs=1e-9)
    assert len(trajectory.events["never"]) == 0
    assert trajectory.events["fast"] == pytest.approx(np.pi * np.array([7 / 6, 11 / 6]), abs=1e-8)


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


# -- integrators -------------------------------------------------------------------------------------------------------


def stiff() -> tt.Model:
    """Return a slow mass with a light one behind a damped spring, a ten thousand times faster."""
    s = tt.System("stiff", gravity=[0, 0, -GRAVITY])
    heavy, light = tt.RigidBody("heavy", mass=1.0, com=[0, 0, -0.1]), tt.RigidBody("light", mass=0.1)
    s.connect("world", heavy, tt.Revolute("slow", axis=[1, 0, 0], stiffness=3.0))
    s.connect(heavy, light, tt.Prismatic("fast", stiffness=1e4, damping=500.0))
    return s.resolve()


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA", "RK45", "RK23"])
def test_integrators_agree_on_a_stiff_system(method: str) -> None:
    t, start = np.linspace(0, 0.5, 6), ([0.5, 0.0], [0.0, 0.0])
    exact = tt.simulate(stiff(), t, *start, rtol=1e-9, atol=1e-11)
    found = tt.simulate(stiff(), t, *start, method=method, rtol=1e-7, atol=1e-9)
    # a hundred to a thousand steps of relative errors of 1e-7
    assert largest(found.q - exact.q) < 1e-5
    assert largest(exact.q[0] - exact.q[-1]) > 1e-2


def test_tolerances_matter() -> None:
    model, t = pendulum().resolve(), [0, 10]
    exact = tt.simulate(model, t, [2.5], [0], rtol=1e-12, atol=1e-14).q
    errors = [largest(tt.simulate(model, t, [2.5], [0], rtol=rtol, atol=rtol).q - exact) for rtol in (1e-4, 1e-7, 1e-10)]
    assert errors[0] > 100 * errors[1] > 1e4 * errors[2] > 0


def test_largest_step() -> None:
    """A kick shorter than the integrator's steps is missed unless they are bounded."""

    def kick(t: float, q: Array, v: Array) -> list[float]:
        return [2000.0 if 0.5 < t < 0.501 else 0.0]

    speeds = [tt.simulate(slider(2.0), [0, 1], [0], [0], kick, max_step=step).v[-1, 0] for step in (np.inf, 2e-4)]
    assert speeds[0] == 0
    assert speeds[1] == pytest.approx(1.0, rel=1e-2)  # the kick's edges fall within steps


@pytest.mark.parametrize("method", ["DOP853", "RK45", "RK23", "LSODA", "BDF", "Radau"])
@pytest.mark.parametrize("outputs", [2, 201])
def test_giving_up(method: str, outputs: int) -> None:
    """With ``dv/dt = v^2`` the velocity is infinite after a second; the message says so, however coarse the output."""
    with pytest.raises(tt.ConvergenceError) as caught:
        tt.simulate(slider(1.0), np.linspace(0, 2, outputs), [0.0], [1.0], tau=lambda t, q, v: v**2, method=method)
    reached = float(str(caught.value).split("gave up after t = ")[1].split(" s")[0])
    assert 0.98 < reached < 1.01


@pytest.mark.parametrize("tau", [None, lambda t, q, v: [0.0, 0.0]], ids=["compiled", "python"])
def test_a_state_without_inertia(tau: Any) -> None:
    """A point mass on the first axis of a universal joint: nothing resists the first angle."""
    model = single_body(tt.RigidBody("bob", mass=1.0, com=[0, 0, -1]), tt.Universal("cross"))
    with pytest.raises((tt.ModelError, tt.ConvergenceError)):
        tt.simulate(model, [0, 1], [0.3, np.pi / 2], [1.0, 0.4], tau)


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(titop.solvers.simulation.integration, "_SHOW_PROGRESS_AFTER", 0.0)
    arguments = pendulum().resolve(), [0, 10, 20], [2.5], [0]
    shown, plain = Terminal(), io.StringIO()
    for stream, progress, visible in ((shown, True, True), (shown, False, False), (plain, True, False)):
        stream.truncate(0)
        monkeypatch.setattr(sys, "stderr", stream)
        found = tt.simulate(*arguments, progress=progress)
        assert ("20.0" in stream.getvalue()) == visible
        assert np.array_equal(found.q, tt.simulate(*arguments, progress=False).q)


# -- what is kept of a trajectory --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trajectory() -> tt.Trajectory:
    rng = np.random.default_rng(5)
    model = random_tree(rng, 2, ["Revolute", "Planar"], base="free").resolve()
    event = tt.Event(lambda t, q, v: t - 0.25, "quarter", terminal=False)
    wrenches = {"b1.A": rng.normal(size=6)}
    state = model.random_configuration(rng), rng.normal(size=model.nv)
    return tt.simulate(model, np.linspace(0, 1, 5), *state, wrenches=wrenches, events=event)


def test_saving_and_loading(trajectory: tt.Trajectory, tmp_path: Path) -> None:
    path = tmp_path / "motion.npz"
    trajectory.save(path)
    with np.load(path, allow_pickle=False) as file:  # refuses anything that needs pickle
        assert all(array.dtype != object for array in file.values())
    loaded = tt.load_trajectory(path, trajectory.model)
    for name in ("t", "q", "v", "a", "tau"):
        assert np.array_equal(getattr(loaded, name), getattr(trajectory, name))
    for kind in ("wrenches", "events"):
        assert getattr(loaded, kind).keys() == getattr(trajectory, kind).keys()
        assert all(np.array_equal(value, getattr(trajectory, kind)[name]) for name, value in getattr(loaded, kind).items())
    assert np.array_equal(
        loaded.reaction(trajectory.model.joint_names[-1]), trajectory.reaction(trajectory.model.joint_names[-1])
    )
    with pytest.raises(tt.ModelError, match="other-model"):
        tt.load_trajectory(path, cart())


def test_a_failing_write_leaves_the_old_file(
    trajectory: tt.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "motion.npz"
    trajectory.save(path)
    before = path.read_bytes()

    def disk_full(file: Any, **arrays: Any) -> None:
        file.write(b"half a file")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", disk_full)
    with pytest.raises(OSError, match="no space"):
        trajectory.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_foreign_files_are_refused(trajectory: tt.Trajectory, tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    np.savez(path, x=np.zeros(3))
    with pytest.raises(tt.ModelError, match="wrong-format"):
        tt.load_trajectory(path, trajectory.model)


def test_dataset(trajectory: tt.Trajectory) -> None:
    pytest.importorskip("xarray")
    data, model = trajectory.to_xarray(), trajectory.model
    assert data.sizes == {"t": 5, "configuration": model.nq, "coordinate": model.nv}
    for k, name in enumerate(model.coordinate_names):
        for variable in ("v", "a", "tau"):
            assert np.array_equal(data[variable].sel(coordinate=name), getattr(trajectory, variable)[:, k])
    for k, name in enumerate(model.configuration_names):
        assert np.array_equal(data["q"].sel(configuration=name), trajectory.q[:, k])
        assert np.array_equal(trajectory.coordinate(name), trajectory.q[:, k])
    assert np.array_equal(data["t"], trajectory.t)


def test_figure(trajectory: tt.Trajectory) -> None:
    names = list(trajectory.model.configuration_names)
    for shown, figure in ((names, trajectory.plot()), (names[:2], trajectory.plot(names[:2]))):
        axes = [axis for axis in figure.axes if axis.get_visible()]
        assert [axis.get_title().split(" [")[0] for axis in axes] == shown
        for name, axis in zip(shown, axes, strict=True):
            assert np.array_equal(axis.lines[0].get_ydata(), trajectory.coordinate(name))
    with pytest.raises(tt.ModelError, match="unknown-coordinate"):
        trajectory.plot(["no such entry"])


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
        ({"q0": [[0.0, 0.0]]}, "wrong-length"),
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


@pytest.mark.parametrize(
    ("prescribed", "code"),
    [({"disc": None, "disc.x": None}, "prescribed-twice"), ({"base.x": None}, "not-separable"), ({"base": None}, "bad-motion")],
)
def test_bad_choices_of_prescribed_coordinates(prescribed: dict[str, Any], code: str) -> None:
    s = tt.System("two")
    base, disc = tt.RigidBody("rock", mass=1.0, inertia=1.0), tt.RigidBody("pebble", mass=1.0, inertia=1.0)
    s.connect("world", base, tt.Free("base"))
    s.connect(base, disc, tt.Planar("disc"))
    model = s.resolve()
    motions = {name: (lambda t, n=3 if name == "disc" else 1: (np.zeros(n),) * 3) for name in prescribed}
    with pytest.raises(tt.ModelError) as caught:
        tt.simulate(model, [0, 1], model.neutral(), np.zeros(9), prescribed=motions)
    assert caught.value.code == code


def test_one_prescribed_coordinate_of_several() -> None:
    model = single_body(tt.RigidBody("disc", mass=1.0, inertia=1.0), tt.Planar("plane"))
    trajectory = tt.simulate(model, [0, 1, 2], np.zeros(3), [0, 1, 2], prescribed={"plane.x": shaken}, **TIGHT)
    t = trajectory.t
    assert largest(trajectory.q - np.array([shaken(t)[0], t, 2 * t]).T) < ACCURACY
    assert_efforts_are_those_of_the_motion(trajectory, slice(0, 1))


@pytest.mark.parametrize("where", ["tau", "wrenches", "prescribed", "events"])
def test_errors_in_functions_of_the_user_come_through(where: str) -> None:
    def broken(*state: Any) -> Any:
        if state[0] > 0.3:
            raise KeyError("a mistake in the user's function")
        return {"tau": [0, 0], "wrenches": np.zeros(6), "prescribed": (0, 0, 0), "events": 1.0}[where]

    wrapped = {"tau": broken, "wrenches": {"bob": broken}, "prescribed": {"track": broken}, "events": tt.Event(broken)}
    with pytest.raises(KeyError, match="a mistake"):
        tt.simulate(cart(), [0, 1], [0.0, 0.4], [0.0, 0.0], **{where: wrapped[where]})


WELDED = """
import numpy as np, titop as tt
s = tt.System("rock")
s.connect("world", tt.RigidBody("rock", mass=1.0), tt.Weld("ground"))
trajectory = tt.simulate(s.resolve(), [0, 1, 2], [], [])
assert trajectory.q.shape == (3, 0)
assert not trajectory.motion("rock").any()
"""


def test_a_system_without_coordinates_stays_where_it_is() -> None:
    """In a process of its own: integrators of compiled code may abort on an empty state."""
    result = subprocess.run([sys.executable, "-c", WELDED], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_events_of_one_name_are_refused() -> None:
    """One would hide the other's times."""
    twice = [tt.Event(lambda t, q, v: t - 0.2, terminal=False), tt.Event(lambda t, q, v: t - 0.4, terminal=False)]
    with pytest.raises(tt.ModelError, match="duplicate-name"):
        tt.simulate(slider(), [0, 1], [0.0], [0.0], events=twice)


def test_events_that_return_no_number_are_refused() -> None:
    with pytest.raises(tt.ModelError, match="return a float"):
        tt.simulate(slider(), [0, 1], [0.0], [0.0], events=tt.Event(lambda t, q, v: None))


@pytest.mark.parametrize("method", ["DOP853", "Radau", "generalized-alpha"])
def test_events_that_are_not_a_number_are_refused(method: str) -> None:
    """A comparison with NaN is never true: the event would be missed."""
    root = tt.Event(lambda t, q, v: np.sqrt(np.float64(0.5 - t)), name="root")
    with pytest.raises(tt.ModelError, match=r"event 'root' at t = .*not-finite"), np.errstate(invalid="ignore"):
        tt.simulate(slider(), [0, 1], [0.0], [1.0], events=root, method=method)


def test_splines_are_not_extrapolated() -> None:
    from scipy.interpolate import CubicSpline, make_interp_spline

    knots = np.linspace(0, 1, 9)
    for spline in (CubicSpline(knots, knots**2), make_interp_spline(knots, knots**2, k=5)):
        tt.simulate(cart(), [0, 1], [0.0, 0.4], [0.0, 0.0], prescribed={"track": spline})
        with pytest.raises(tt.ModelError, match="short-spline"):
            tt.simulate(cart(), [0, 2], [0.0, 0.4], [0.0, 0.0], prescribed={"track": spline})


@pytest.mark.parametrize("given", [{}, {"u": [0.3]}, {"tau": [0.1, 0.2], "wrenches": {"bob.tip": np.arange(6.0)}}])
def test_many_output_times_have_the_accelerations_of_each(given: dict[str, Any]) -> None:
    """Stacked states beside single ones, which go the same way through the same numbers."""
    s = tt.System("swing", gravity=[0, 0, -9.81])
    arm = tt.RigidBody("arm", 1.0, [0, 0, -0.5], [0.1] * 3, ports={"end": [0, 0, -1]})
    s.connect("world", arm, tt.Revolute("hinge", axis=[0, 1, 0]))
    s.connect(arm.port("end"), tt.RigidBody("bob", 1.0, ports={"tip": [0.1, 0, 0]}), tt.Prismatic("slide", axis=[1, 0, 0]))
    s.add_actuator(tt.Motor("motor", "hinge"))
    model = s.resolve()
    run = tt.simulate(model, np.linspace(0, 1, 300), [0.3, 0.0], [0.0, 0.1], progress=False, **given)
    for k in (0, 1, 150, 299):
        wrenches = {port: values[k] for port, values in run.wrenches.items()}
        assert np.array_equal(run.a[k], model.forward_dynamics(run.q[k], run.v[k], run.tau[k], wrenches or None, u=run.u[k]))
    assert run.u[:, 0] == pytest.approx(given.get("u", [0.0])[0])
    assert run.tau == pytest.approx(np.tile(given.get("tau", [0.0, 0.0]), (300, 1)))
