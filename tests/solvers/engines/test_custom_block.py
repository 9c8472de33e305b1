"""The constant-curvature segment of ``examples/custom_block.py``, against a model made of material points alone.

The independent model is an arm: a revolute joint about y on the world, the segment, and a tip body. It knows nothing of
twists, ports or recursion: it sums over points of matter at inertial positions ``p(x, q)`` that sympy differentiates. With
``J = dp/dq`` d'Alembert's principle gives ``sum_x dm J^T (J a + d(J)/dt v - g) + dU/dq = tau``.
"""

from __future__ import annotations

import itertools
import math
import runpy
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import titop as tt
from tests.refusals import ENGINES

Array = NDArray[np.float64]


EXAMPLE = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "custom_block.py"))
Segment = EXAMPLE["ConstantCurvatureSegment"]

LENGTH, RADIUS, DENSITY, STIFFNESS, DAMPING = 0.8, 0.15, 40.0, 3.0, 0.2
GRAVITY = np.array([1.0, 2.0, -9.81])
#: Point masses (kg) of the tip body, and where they are in its frame (m): from them follow mass, com and inertia.
TIP_MASSES = np.array([0.5, 0.8, 0.3, 0.6])
TIP_POINTS = np.array([[0.1, 0.0, 0.05], [-0.1, 0.2, 0.0], [0.0, -0.2, 0.3], [0.05, 0.1, -0.1]])
#: Two derivations with the same integrands, whose quadratures are exact to rounding, differ by rounding; 1e-9 is asked for.
ACCURACY = 1e-9


def tip_body() -> tt.RigidBody:
    """Return the tip body: the four point masses as one rigid body."""
    com = TIP_MASSES @ TIP_POINTS / TIP_MASSES.sum()
    levers = TIP_POINTS - com
    second_moments = np.einsum("p,pi,pj->ij", TIP_MASSES, levers, levers)
    inertia = np.trace(second_moments) * np.eye(3) - second_moments
    return tt.RigidBody("tip", mass=TIP_MASSES.sum(), com=com, inertia=inertia, ports={"A": TIP_POINTS[1]})


def arm(segment: type[tt.Block] = Segment, as_joint: bool = False, damping: float = DAMPING) -> tt.System:
    """Return the arm; the segment is a body between two joints, or itself the joint between two bodies."""
    s = tt.System("arm", gravity=GRAVITY)
    bend = segment("segment", LENGTH, RADIUS, DENSITY, STIFFNESS, damping)
    shoulder = tt.Revolute("shoulder", axis=[0, 1, 0])
    if as_joint:
        holder = tt.RigidBody("holder", mass=0.0)
        s.connect("world", holder, shoulder)
        s.connect(holder, tip_body(), bend)
    else:
        s.connect("world", bend, shoulder)
        s.connect(bend.port("C"), tip_body(), tt.Weld("wrist"))
    return s


# -- the independent model -------------------------------------------------------------------------------------------


@cache
def position(straight: bool) -> dict[str, Callable[..., Array]]:
    """Return position, Jacobian and ``d(J)/dt v`` of the material point (x, y, s) of the segment or beyond its tip.

    `x` and `y` lie in the cross-section at the abscissa `s` (0 to 1), `z` is along its normal (0 within the segment). About
    a straight segment the closed forms are 0/0; their Taylor series to third order gives two exact derivatives there.
    """
    x, y, z, s, shoulder, bend, rate1, rate2 = sympy.symbols("x y z s shoulder bend rate1 rate2")
    angle = bend * s
    backbone = sympy.Matrix([(1 - sympy.cos(angle)) / bend, 0, sympy.sin(angle) / bend]) * LENGTH
    if straight:
        backbone = backbone.applyfunc(lambda entry: sympy.series(entry, bend, 0, 4).removeO())
    p = rotation_about_y(shoulder) * (backbone + rotation_about_y(angle) * sympy.Matrix([x, y, z]))
    coordinates, rates = sympy.Matrix([shoulder, bend]), sympy.Matrix([rate1, rate2])
    jacobian = p.jacobian(coordinates)
    convective = (jacobian * rates).jacobian(coordinates) * rates
    arguments = (x, y, z, s, shoulder, bend, rate1, rate2)
    parts = {"position": p, "jacobian": jacobian, "convective": convective}
    return {name: evaluated(arguments, value) for name, value in parts.items()}


def rotation_about_y(angle: sympy.Expr) -> sympy.Matrix:
    """Return the rotation matrix about y."""
    c, s = sympy.cos(angle), sympy.sin(angle)
    return sympy.Matrix([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def evaluated(arguments: tuple[sympy.Symbol, ...], matrix: sympy.Matrix) -> Callable[..., Array]:
    """Return a matrix as a function of arrays: shape (rows, columns, points)."""
    entries = sympy.lambdify(arguments, list(matrix), "numpy", cse=True)

    def function(*values: Any) -> Array:
        found = np.broadcast_arrays(*entries(*values), values[0])[:-1]
        return np.array(found).reshape(*matrix.shape, -1)

    return function


def matter() -> tuple[Array, Array]:
    """Return the masses of material points, and their x, y, z and s.

    Gauss points: 30 along the length; across, 4 in radius (times radius) and 8 around, exact for the squares of x and y.
    """
    s, s_weights = ((x + shift) / 2 for x, shift in zip(leggauss(30), (1, 0), strict=True))
    r, r_weights = ((x + shift) / 2 for x, shift in zip(leggauss(4), (1, 0), strict=True))
    turn = np.arange(8) * np.pi / 4
    masses, points = [], []
    for (sk, sw), (rk, rw), phi in itertools.product(
        zip(s, s_weights, strict=True), zip(RADIUS * r, RADIUS * r_weights, strict=True), turn
    ):
        masses.append(DENSITY * LENGTH * sw * rk * rw * np.pi / 4)
        points.append([rk * np.cos(phi), rk * np.sin(phi), 0.0, sk])
    tip = np.column_stack([TIP_POINTS, np.ones(len(TIP_POINTS))])
    return np.concatenate([masses, TIP_MASSES]), np.vstack([points, tip]).T


class MaterialPoints:
    """The arm as a sum over material points, at a state."""

    def __init__(self, q: Array, v: Array) -> None:
        self.masses, self.points = matter()
        self.q, self.v = q, v
        self.p, self.J, self.convective = (self.evaluate(name, self.points) for name in ("position", "jacobian", "convective"))

    def evaluate(self, name: str, points: Array) -> Array:
        """Return a quantity of points (4, n)."""
        return position(abs(self.q[1]) < 1e-9)[name](*points, *self.q, *self.v)

    def mass_matrix(self) -> Array:
        return np.einsum("p,xip,xjp->ij", self.masses, self.J, self.J)

    def inverse_dynamics(self, a: Array) -> Array:
        """Return the applied efforts: inertia, gravity, elasticity and damping."""
        acceleration = self.J.transpose(2, 0, 1) @ a + self.convective[:, 0].T - GRAVITY
        inertial = np.einsum("p,xip,px->i", self.masses, self.J, acceleration)
        return inertial + np.array([0.0, STIFFNESS * self.q[1] + DAMPING * self.v[1]])

    def force_efforts(self, force: Array, point: Array) -> Array:
        """Return the efforts of an inertial force at a material point (x, y, z, s)."""
        return self.evaluate("jacobian", point[:, None])[:, :, 0].T @ force

    def energy(self) -> Array:
        velocity = np.einsum("xip,i->px", self.J, self.v)
        kinetic = 0.5 * self.masses @ (velocity**2).sum(axis=1)
        gravity = -self.masses @ (self.p[:, 0].T @ GRAVITY)
        return np.array([kinetic, gravity, 0.5 * STIFFNESS * self.q[1] ** 2])

    def momentum(self) -> Array:
        momenta = self.masses[:, None] * np.einsum("xip,i->px", self.J, self.v)
        return np.concatenate([momenta.sum(axis=0), np.cross(self.p[:, 0].T, momenta).sum(axis=0)])

    def center_of_mass(self) -> Array:
        return self.p[:, 0] @ self.masses / self.masses.sum()


STATES = [
    (np.array([0.4, 0.9]), np.array([0.7, -1.1]), np.array([0.5, 1.3])),
    (np.array([-1.2, -2.0]), np.array([2.0, 3.0]), np.array([-2.0, 0.4])),
    (np.array([0.3, 0.0]), np.array([1.5, -2.0]), np.array([0.2, -0.6])),
    (np.array([2.5, 0.05]), np.array([-1.0, 0.5]), np.array([1.0, 1.0])),
]


@pytest.fixture(params=range(len(STATES)))
def state(request: pytest.FixtureRequest) -> tuple[Array, Array, Array]:
    return STATES[request.param]


def assert_close(found: Any, expected: Any, accuracy: float = ACCURACY) -> None:
    """Compare relative to the largest entry."""
    expected = np.asarray(expected)
    assert np.abs(np.asarray(found) - expected).max() < accuracy * max(1.0, np.abs(expected).max())


def assert_agrees(model: tt.Model, q: Array, v: Array, a: Array, accuracy: float = ACCURACY) -> None:
    """Compare everything that both models know."""
    oracle = MaterialPoints(q, v)
    tau = oracle.inverse_dynamics(a)
    assert_close(model.mass_matrix(q), oracle.mass_matrix(), accuracy)
    assert_close(model.inverse_dynamics(q, v, a), tau, accuracy)
    assert_close(model.forward_dynamics(q, v, tau), a, accuracy)
    passive = -np.array([0, STIFFNESS * q[1] + DAMPING * v[1]])
    assert_close(model.passive_efforts(q, v), passive, accuracy)
    assert_close(model.nonlinear_effects(q, v), oracle.inverse_dynamics(np.zeros(2)) + passive, accuracy)
    assert_close(model.energy(q, v), oracle.energy(), accuracy)
    assert_close(model.momentum(q, v), oracle.momentum(), accuracy)
    assert_close(model.center_of_mass(q), oracle.center_of_mass(), accuracy)


@pytest.mark.parametrize("as_joint", [False, True], ids=["as body", "as joint"])
@pytest.mark.parametrize("engine", ENGINES)
def test_dynamics_of_the_arm(engine: str, as_joint: bool, state: tuple[Array, Array, Array]) -> None:
    assert_agrees(arm(as_joint=as_joint).resolve(engine), *state)


@pytest.mark.parametrize("engine", ENGINES)
def test_another_density_is_noticed(engine: str) -> None:
    model = arm().resolve(engine).with_parameters({"segment.density": DENSITY * (1 + 1e-6)})
    with pytest.raises(AssertionError):
        assert_agrees(model, *STATES[0])
    assert_agrees(model.with_parameters({"segment.density": DENSITY}), *STATES[0])


def test_gyroscopic_terms_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that forgets the change of its inertia with its own coordinate still keeps everything else."""
    monkeypatch.setattr(Segment, "gyroscopic", lambda self, q, v, twist: 0.999 * tt.Block.gyroscopic(self, q, v, twist))
    with pytest.raises(AssertionError):
        assert_agrees(arm().resolve(), *STATES[0])


# -- the published value -----------------------------------------------------------------------------------------------


def test_inertia_of_the_toy_example() -> None:
    segment = Segment("segment")
    # five printed digits
    assert segment.mass_matrix(np.array([0.7]))[6, 6] == pytest.approx(0.41585, abs=5e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_inertia_of_the_toy_example_in_a_system(engine: str) -> None:
    s = tt.System("toy")
    s.connect("world", Segment("segment"), tt.Weld("clamp"))
    model = s.resolve(engine)
    assert model.mass_matrix([0.7])[0, 0] == pytest.approx(0.41585, abs=5e-6)
    # straight: the integral of s^4 / 4 (sideways motion of the axis) and of s^2 / 4 (turning of sections), times pi
    assert model.mass_matrix([0.0])[0, 0] == pytest.approx(np.pi * (1 / 20 + 1 / 12), rel=1e-14)


# -- ports, loads and wrenches -----------------------------------------------------------------------------------------

FORCE = np.array([1.0, -2.0, 3.0])
TIP_CENTER = np.array([0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize("as_joint", [False, True], ids=["as body", "as joint"])
@pytest.mark.parametrize("engine", ENGINES)
def test_motion_of_the_tip(engine: str, as_joint: bool, state: tuple[Array, Array, Array]) -> None:
    q, v, a = state
    model, oracle = arm(as_joint=as_joint).resolve(engine), MaterialPoints(q, v)
    for port, point in (("tip", TIP_CENTER), ("tip.A", np.array([*TIP_POINTS[1], 1.0]))):
        p, J, convective = (oracle.evaluate(name, point[:, None])[..., 0] for name in ("position", "jacobian", "convective"))
        rotation, found = model.pose(port, q)
        assert_close(found, p[:, 0])
        assert_close(rotation, Rotation.from_euler("y", q.sum()).as_matrix())
        jacobian = model.jacobian(port, q)
        assert_close(rotation @ jacobian[:3], J)
        assert_close(rotation @ jacobian[3:], [[0, 0], [1, 1], [0, 0]])
        motion = model.motion(port, q, v, a)
        assert_close(rotation @ motion[6:9], J @ v)
        specific_force = rotation @ model.accelerometer(port, q, v, a)
        assert_close(specific_force, J @ a + convective[:, 0] - GRAVITY)


@pytest.mark.parametrize("engine", ENGINES)
def test_ports_of_the_segment_move_like_what_hangs_on_them(engine: str) -> None:
    q, v, a = STATES[0]
    model = arm().resolve(engine)
    assert {"segment", "segment.C"} <= set(model.port_names)
    for function in (model.motion, model.accelerometer):
        assert_close(function("segment.C", q, v, a), function("tip", q, v, a), 1e-12)
    assert_close(model.jacobian("segment.C", q), model.jacobian("tip", q), 1e-12)
    assert_close(model.jacobian("segment", q), [[0, 0], [0, 0], [0, 0], [0, 0], [1, 0], [0, 0]], 1e-12)


@pytest.mark.parametrize("frame", ["world", "port"])
@pytest.mark.parametrize("engine", ENGINES)
def test_load_on_the_segments_port(engine: str, frame: str, state: tuple[Array, Array, Array]) -> None:
    q, v, a = state
    s = arm()
    segment = s.graph.nodes["segment"]["block"]
    s.add_load(tt.Load("push", segment.port("C"), force=FORCE, torque=[0.3, 0.7, -0.2], frame=frame))
    rotation = Rotation.from_euler("y", q.sum() if frame == "port" else 0.0)
    oracle = MaterialPoints(q, v)
    efforts = oracle.force_efforts(rotation.apply(FORCE), TIP_CENTER) + 0.7  # the torque about y acts on both angles
    model = s.resolve(engine)
    tau = oracle.inverse_dynamics(a) - efforts
    assert_close(model.inverse_dynamics(q, v, a), tau)
    assert_close(model.forward_dynamics(q, v, tau), a)


@pytest.mark.parametrize("engine", ENGINES)
def test_wrenches_on_the_segments_ports(engine: str, state: tuple[Array, Array, Array]) -> None:
    q, v, a = state
    oracle = MaterialPoints(q, v)
    model = arm().resolve(engine)
    wrench = np.array([*FORCE, 0.3, 0.7, -0.2])
    at_tip = oracle.force_efforts(Rotation.from_euler("y", q.sum()).apply(FORCE), TIP_CENTER) + 0.7
    at_base = np.array([0.7, 0.0])  # at the shoulder's axis: only the torque about it
    for wrenches, efforts in (({"segment.C": wrench}, at_tip), ({"segment": wrench}, at_base)):
        tau = oracle.inverse_dynamics(a) - efforts
        assert_close(model.inverse_dynamics(q, v, a, wrenches), tau)
        assert_close(model.forward_dynamics(q, v, tau, wrenches), a)
        # the wrench goes through the wrist or into the segment; the shoulder carries it in any case
        change = model.reaction("shoulder", q, v, a, wrenches) - model.reaction("shoulder", q, v, a)
        assert change[4] == pytest.approx(-efforts[0], rel=1e-9, abs=1e-9)
    assert_close(model.reaction("wrist", q, v, a, {"segment.C": wrench}), model.reaction("wrist", q, v, a), 1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_prescribed_bend(engine: str, state: tuple[Array, Array, Array]) -> None:
    q, v, a = state
    oracle = MaterialPoints(q, v)
    tau = oracle.inverse_dynamics(a)
    model = arm().resolve(engine)
    for name in ("segment", "segment.bend"):
        found_a, found_tau = model.hybrid_dynamics(q, v, [tau[0], 99.0], [99.0, a[1]], [name])
        assert_close(found_a, a)
        assert_close(found_tau, tau)
    found_a, found_tau = model.hybrid_dynamics(q, v, [99.0, tau[1]], [a[0], 99.0], ["shoulder"])
    assert_close(found_a, a)
    assert_close(found_tau, tau)


# -- simulation --------------------------------------------------------------------------------------------------------


def test_swinging_arm_conserves_energy() -> None:
    model = arm(damping=0.0).resolve()
    trajectory = tt.simulate(model, np.linspace(0, 1, 11), [0.4, -0.5], [1.0, 2.0], rtol=1e-9, atol=1e-11)
    energy = trajectory.energy()
    # energies of ten joules, about fifty steps of relative error 1e-9, and parts that cancel in the sum
    assert np.ptp(energy.sum(axis=1)) < 1e-6
    assert np.ptp(energy, axis=0).min() > 0.1  # kinetic, gravity and elastic energy all took part


def test_damped_arm_does_not() -> None:
    trajectory = tt.simulate(arm().resolve(), [0, 0.5], [0.4, -0.5], [1.0, 2.0], rtol=1e-6, atol=1e-8)
    assert trajectory.energy().sum(axis=1)[1] < trajectory.energy().sum(axis=1)[0] - 1e-2


def test_prescribed_bend_over_time() -> None:
    def bending(t: float) -> tuple[float, float, float]:
        return 0.5 * np.sin(2 * t), np.cos(2 * t), -2 * np.sin(2 * t)

    trajectory = tt.simulate(arm().resolve(), [0, 0.2, 0.4], [0.4, 0], [0, 1], prescribed={"segment": bending}, rtol=1e-7)
    for q, v, a, tau in zip(trajectory.q, trajectory.v, trajectory.a, trajectory.tau, strict=True):
        assert_close(tau, MaterialPoints(q, v).inverse_dynamics(a))
    assert np.array_equal(trajectory.q[:, 1], 0.5 * np.sin(2 * trajectory.t))


# -- a block that cannot take complex numbers ----------------------------------------------------------------------------


class RealSegment(Segment):
    """Takes real numbers only; ``float`` of a complex number is an error or a warning, as numpy pleases."""

    def section(self, x: float, q: Any) -> tuple[Array, Array, Array]:
        return super().section(x, [float(q[0])])

    def elastic_energy(self, q: Any) -> float:
        return 0.5 * self.stiffness * math.pow(q[0], 2)


class SilentSegment(Segment):
    """Takes complex numbers, but loses the derivative of its energy in an absolute value."""

    def elastic_energy(self, q: Any) -> float:
        return 0.5 * self.stiffness * abs(q[0]) ** 2


UNSAFE = pytest.mark.parametrize("segment", [RealSegment, SilentSegment])


@UNSAFE
@pytest.mark.parametrize("engine", ENGINES)
def test_block_that_is_not_complex_safe(engine: str, segment: type[tt.Block], state: tuple[Array, Array, Array]) -> None:
    with pytest.warns(tt.ModelWarning, match="not-complex-safe"):
        model = arm(segment).resolve(engine)
    # sixth-order differences with steps of 2e-3 leave 1e-10 or less, twice where second derivatives are needed
    assert_agrees(model, *state, accuracy=1e-8)


def test_block_that_is_complex_safe_gives_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm().resolve()


@UNSAFE
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_complex_steps_would_be_wrong_there(segment: type[tt.Block]) -> None:
    with pytest.warns(tt.ModelWarning, match="not-complex-safe"):
        model = arm(segment).resolve("reference")
    model.mechanism.assembly.blocks["segment"].complex_safe = True
    with pytest.raises((AssertionError, TypeError)):
        assert_agrees(model, *STATES[0], accuracy=1e-8)


# -- the two resolvers -------------------------------------------------------------------------------------------------


def test_resolvers_agree_on_the_free_soft_arm() -> None:
    system = EXAMPLE["build"](damping=0.1)
    compiled, reference = (system.resolve(engine) for engine in ENGINES)
    rng = np.random.default_rng(0)
    q = compiled.random_configuration(rng)
    v, a, tau = rng.normal(size=(3, compiled.nv))
    wrenches = {"far.C": rng.normal(size=6), "tip": rng.normal(size=6), "near": rng.normal(size=6)}
    prescribed = ["near", "base.x", "shoulder"]
    accuracy = 1e-12 + 10 * np.finfo(float).eps * np.linalg.cond(compiled.mass_matrix(q))
    for function in (
        lambda model: model.forward_dynamics(q, v, tau, wrenches),
        lambda model: model.inverse_dynamics(q, v, a, wrenches),
        lambda model: np.concatenate(model.hybrid_dynamics(q, v, tau, a, prescribed, wrenches)),
        lambda model: model.mass_matrix(q),
        lambda model: model.nonlinear_effects(q, v),
        lambda model: model.gravity_effects(q),
        lambda model: model.coriolis_matrix(q, v),
        lambda model: model.passive_efforts(q, v),
        lambda model: model.energy(q, v),
        lambda model: model.momentum(q, v),
        lambda model: model.center_of_mass(q),
        *(lambda model, port=port: model.motion(port, q, v, a) for port in compiled.port_names),
        *(lambda model, port=port: model.jacobian(port, q) for port in compiled.port_names),
        *(lambda model, port=port: model.accelerometer(port, q, v, a) for port in compiled.port_names),
        *(lambda model, joint=joint: model.reaction(joint, q, v, a, wrenches) for joint in compiled.joint_names),
    ):
        assert_close(function(compiled), function(reference), accuracy)


@pytest.mark.parametrize("engine", ENGINES)
def test_batches_equal_single_calls(engine: str) -> None:
    model = arm().resolve(engine)
    q, v, a = (np.array(stack) for stack in zip(*STATES, strict=True))
    for function in (model.forward_dynamics, model.inverse_dynamics):
        assert np.array_equal(function(q, v, a), [function(*row) for row in STATES])
