"""Linear models against differences of the nonlinear system, symbolic linearisations and closed forms."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sympy
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import titop as tt
from tests.closed_systems import four_bar, slider_crank
from tests.refusals import refusal
from tests.solvers.mechanism.test_inputs import satellite
from tests.systems import random_state, random_tree
from titop.solvers.linear.system_outputs import read_outputs
from titop.solvers.model.model import Model
from titop.solvers.model.reduction import null_space
from titop.solvers.signals.snapshot import Snapshot
from titop.solvers.signals.system_inputs import SystemInputs as Drives

Array = NDArray[np.float64]

#: Sixth-order differences with a step of 1e-3 of numbers near 100: about 1e-10.
BY_DIFFERENCES = 1e-8

#: Sixth-order central difference: offset in steps, weight.
STENCIL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))


def polynomial(q: Array, v: Array, a: Array, u: Array) -> Array:
    """Return something smooth."""
    return np.array([q[0] * v[1] + a[2] * u[0] + q[4] ** 2, np.sin(q[7])])


def rough(q: Array, v: Array, a: Array, u: Array) -> Any:
    """Return something that complex steps cannot follow."""
    return abs(q[3]) * v[0] + np.linalg.norm(v)


OUTPUTS = [
    *("base.q", "base.rx.a", "elbow.v", "elbow.first.a", "elbow.tau", "wheel.tau", "elbow.reaction[2]", "base.reaction"),
    *("gyro", "accelerometer", "encoder", "rate", "load_cell", "pose", "wheel/momentum"),
    *("arm.tip.dv", "arm.tip.dw", "arm.tip.v", "arm.tip.w", "arm.tip.r", "arm.tip.theta", "hub.nozzle.r", "arm.dv"),
    *(("polynomial", polynomial), rough),
]
WRENCHES = ["arm.tip", "hub.nozzle.F"]
FORWARD = ["base.rx", "elbow", "drive", "push", "thruster", "wheel/motor", "twist", *WRENCHES]
HYBRID = ["base.rx", "elbow.first", "elbow.second.a", "push", "wheel.a", "twist", *WRENCHES]


class Nonlinear:
    """The nonlinear system about a point, as a function of deviations ``[dq, dv, inputs]``."""

    def __init__(self, point: tt.OperatingPoint, inputs: list[str], outputs: list[Any], hold: list[str]) -> None:
        self.point, self.drives = point, Drives(point.model, inputs, hold)
        self.readings = read_outputs(point.model, outputs, self.drives)

    def __call__(self, z: Array) -> Array:
        point, model, drives = self.point, self.point.model, self.drives
        dq, dv, w = np.split(z, [model.nv, 2 * model.nv])
        q, v, tau, a, u = model.integrate(point.q, dq), point.v + dv, point.tau.copy(), np.zeros(model.nv), np.array(point.u)
        wrenches = {port: np.array(value) for port, value in (point.wrenches or {}).items()}
        for value, drive in zip(w, drives.channels, strict=True):
            if drive.kind == "wrench":
                wrenches.setdefault(drive.port, np.zeros(6))[drive.entry] += value
            else:
                {"effort": tau, "actuator": u, "acceleration": a}[drive.kind][drive.entry] += value
        if drives.prescribed.any():
            a, tau = model.hybrid_dynamics(q, v, tau, a, drives.imposed_names, wrenches, u)
        else:
            a = model.forward_dynamics(q, v, tau, wrenches, u=u)
        at = Snapshot(model, q, v, a, tau, u, wrenches, point.q)
        return np.concatenate([a, *(reading.value(at) for reading in self.readings)])

    def slopes(self) -> Array:
        """Return the derivatives by all but held coordinates, and by the inputs."""
        nv, inputs = self.point.model.nv, len(self.drives.channels)
        free = np.flatnonzero(~self.drives.held)
        columns = []
        for k in (*free, *(nv + free), *(2 * nv + np.arange(inputs))):
            step = 1e-3 * np.eye(2 * nv + inputs)[k]
            columns.append(sum(weight / 1e-3 * (self(n * step) - self(-n * step)) for n, weight in STENCIL))
        return np.array(columns).T


@pytest.fixture(scope="module")
def point() -> tt.OperatingPoint:
    """A satellite that tumbles under thrust: nothing vanishes."""
    model = satellite().resolve()
    q, v, _, tau = random_state(model, np.random.default_rng(3))
    return tt.OperatingPoint(model, q, v, tau, np.linspace(0.1, 1, model.nu), {"arm.tip": 0.3 * np.arange(6.0)})


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize(("inputs", "hold"), [(FORWARD, []), (HYBRID, [])], ids=["forward", "hybrid"])
def test_against_differences_of_the_nonlinear_system(point: tt.OperatingPoint, inputs: list[str], hold: list[str]) -> None:
    system = tt.linearize(point.model, point, inputs, OUTPUTS, hold=hold)
    expected, n = Nonlinear(point, inputs, OUTPUTS, hold).slopes(), point.model.nv
    assert np.abs(np.hstack([system.A, system.B])[n:] - expected[:n]).max() < BY_DIFFERENCES
    error = np.abs(np.hstack([system.C, system.D]) - expected[n:])
    assert error.max() < BY_DIFFERENCES, system.output_labels[int(error.max(axis=1).argmax())]
    heavier = tt.linearize(point.model.with_parameters({"arm.mass": 3.001}), (point.q, point.v, point.tau), inputs, OUTPUTS)
    assert np.abs(heavier.B - system.B).max() > BY_DIFFERENCES


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_held_joints_against_differences(point: tt.OperatingPoint) -> None:
    v = point.v.copy()
    v[6:8] = 0.0  # the elbow rests
    resting = tt.OperatingPoint(point.model, point.q, v, point.tau, point.u, point.wrenches)
    outputs = ["elbow.tau", "arm.tip.dv", "elbow.reaction"]
    system = tt.linearize(point.model, resting, ["base", "wheel/motor"], outputs, hold=["elbow"])
    expected = Nonlinear(resting, ["base", "wheel/motor"], outputs, ["elbow"]).slopes()
    free = [0, 1, 2, 3, 4, 5, 8]
    assert not any("elbow" in label for label in system.state_labels)
    assert np.abs(np.hstack([system.A, system.B])[7:] - expected[free]).max() < BY_DIFFERENCES
    assert np.abs(np.hstack([system.C, system.D]) - expected[9:]).max() < BY_DIFFERENCES


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_both_engines_agree(point: tt.OperatingPoint) -> None:
    at = (point.q, point.v, point.tau)
    inputs, outputs = ["base.rx", "elbow", "drive", "thruster", "arm.tip"], OUTPUTS[:-2]
    ours, theirs = (tt.linearize(satellite().resolve(engine), at, inputs, outputs) for engine in ("compiled", "reference"))
    for name in "ABCD":
        # both are exact; numbers near 100 and rounding of sums
        assert np.abs(getattr(ours, name) - getattr(theirs, name)).max() < 1e-10, name


def cart(masses: tuple[float, float, float] = (2.0, 0.5, 0.3), lengths: tuple[float, float] = (0.4, 0.6)) -> tt.System:
    """Return a cart with two point-mass pendulums, upright at zero."""
    (m0, m1, m2), (l1, l2) = masses, lengths
    body, first = tt.RigidBody("cart", m0), tt.RigidBody("first", m1, com=[0, 0, l1], ports={"tip": [0, 0, l1]})
    s = tt.System("cart with double pendulum", gravity=[0, 0, -9.81])
    s.connect("world", body, tt.Prismatic("rail", axis=[1, 0, 0], damping=0.3))
    s.connect(body, first, tt.Revolute("lower", axis=[0, 1, 0], damping=0.05))
    s.connect(
        first.port("tip"), tt.RigidBody("second", m2, com=[0, 0, l2]), tt.Revolute("upper", axis=[0, 1, 0], stiffness=0.7)
    )
    return s


def symbolic(lagrangian: Any, q: Any, v: Any, damping: list[float], at: list[float]) -> tuple[Array, Array]:
    """Return A and B of ``d/dt dL/dv - dL/dq = tau - damping v`` at rest, by sympy."""
    momenta = [sympy.diff(lagrangian, rate) for rate in v]
    mass = sympy.Matrix([[sympy.diff(p, rate) for rate in v] for p in momenta])
    forces = sympy.Matrix([sympy.diff(lagrangian, x) for x in q])
    transport = sympy.Matrix([sum(sympy.diff(p, x) * rate for x, rate in zip(q, v, strict=True)) for p in momenta])
    effort = forces - transport - sympy.Matrix([d * rate for d, rate in zip(damping, v, strict=True)])
    rest = {**dict(zip(q, at, strict=True)), **dict.fromkeys(v, 0)}
    inverse = np.array(mass.subs(rest), dtype=float)
    by_q, by_v = (np.array(effort.jacobian(sympy.Matrix(list(x))).subs(rest), dtype=float) for x in (q, v))
    n = len(at)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [np.linalg.solve(inverse, by_q), np.linalg.solve(inverse, by_v)]])
    return A, np.vstack([np.zeros((n, n)), np.linalg.inv(inverse)])


@pytest.mark.parametrize("at", [[0.0, 0.0, 0.0], [0.3, np.pi, 0.0]], ids=["upright", "hanging"])
def test_cart_with_double_pendulum_against_sympy(at: list[float]) -> None:
    (m0, m1, m2), (l1, l2) = (2.0, 0.5, 0.3), (0.4, 0.6)
    q, v = sympy.symbols("x a b"), sympy.symbols("u p r")
    first = sympy.Matrix([q[0] + l1 * sympy.sin(q[1]), l1 * sympy.cos(q[1])])
    second = first + sympy.Matrix([l2 * sympy.sin(q[1] + q[2]), l2 * sympy.cos(q[1] + q[2])])

    def speed_squared(place: Any) -> Any:
        rate = place.jacobian(sympy.Matrix(q)) * sympy.Matrix(v)
        return (rate.T * rate)[0]

    kinetic = m0 * v[0] ** 2 + m1 * speed_squared(first) + m2 * speed_squared(second)
    potential = 9.81 * (m1 * first[1] + m2 * second[1]) + 0.7 * q[2] ** 2 / 2
    A, B = symbolic(kinetic / 2 - potential, q, v, [0.3, 0.05, 0.0], at)
    model = cart().resolve()
    found = tt.linear_matrices(model, (np.array(at), np.zeros(3)))
    # entries near 100, exact on both sides but for rounding
    assert np.abs(found[0] - A).max() < 1e-10
    assert np.abs(found[1] - B).max() < 1e-10
    damped = model.with_parameters({"rail.damping": 0.3000001})
    assert np.abs(tt.linear_matrices(damped, np.array(at))[0] - A).max() > 1e-10


def test_three_link_arm_against_sympy() -> None:
    """A spatial arm of slender links, yaw and two pitches, held by efforts away from the vertical."""
    masses, length, inertia = (3.0, 2.0, 1.0), 0.5, (0.05, 0.04, 0.01)
    s = tt.System("arm", gravity=[0, 0, -9.81])
    parent: Any = "world"
    for k, axis in enumerate(([0, 0, 1], [0, 1, 0], [0, 1, 0])):
        link = tt.RigidBody(f"link{k}", masses[k], com=[length / 2, 0, 0], inertia=inertia, ports={"tip": [length, 0, 0]})
        s.connect(parent, link, tt.Revolute(f"joint{k}", axis=axis))
        parent = link.port("tip")
    model = s.resolve()
    q, v = sympy.symbols("a b c"), sympy.symbols("u p r")

    def about(axis: str, angle: Any) -> Any:
        c, d = sympy.cos(angle), sympy.sin(angle)
        return (
            sympy.Matrix([[c, -d, 0], [d, c, 0], [0, 0, 1]])
            if axis == "z"
            else sympy.Matrix([[c, 0, d], [0, 1, 0], [-d, 0, c]])
        )

    rotation, place, lagrangian = sympy.eye(3), sympy.zeros(3, 1), 0
    for k, axis in enumerate("zyy"):
        rotation = rotation * about(axis, q[k])
        center = place + rotation * sympy.Matrix([length / 2, 0, 0])
        place = place + rotation * sympy.Matrix([length, 0, 0])
        rate = center.jacobian(sympy.Matrix(q)) * sympy.Matrix(v)
        turn = rotation.T * sum((sympy.diff(rotation, x) * y for x, y in zip(q, v, strict=True)), sympy.zeros(3, 3))
        spin = sympy.Matrix([turn[2, 1], turn[0, 2], turn[1, 0]])
        lagrangian += (masses[k] * (rate.T * rate)[0] + (spin.T * sympy.diag(*inertia) * spin)[0]) / 2 - masses[
            k
        ] * 9.81 * center[2]
    at = [0.4, -0.7, 1.1]
    A, B = symbolic(lagrangian, q, v, [0.0, 0.0, 0.0], at)
    point = tt.trim(model, [f"joint{k}.tau" for k in range(3)], q=np.array(at))
    found = tt.linear_matrices(model, point)
    # entries near 100, exact on both sides but for rounding; the efforts balance, so that M^-1(q) does not contribute
    assert np.abs(found[0] - A).max() < 1e-10
    assert np.abs(found[1] - B).max() < 1e-10


def top(spin: float, moments: tuple[float, float, float] = (2.0, 2.0, 3.0)) -> tuple[tt.Model, tt.OperatingPoint]:
    """Return a free body that spins about its third axis."""
    s = tt.System("top", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("body", 5.0, inertia=moments), tt.Free("base"))
    model = s.resolve()
    return model, tt.OperatingPoint(model, model.neutral(), model.velocity({"base.rz": spin}))


def test_a_spinning_body_nutates() -> None:
    """In body axes at ``(Ic - Ia) / Ia`` times the spin; seen from the moving reference it also turns with the spin."""
    spin, (Ia, _, Ic) = 7.0, (2.0, 2.0, 3.0)
    model, at = top(spin)
    system = tt.linearize(model, at, ["base.rx"], ["body.w[0]"], omit=["base.x", "base.y", "base.z", "base.rz"])
    assert system.nstates == 4
    expected = sorted([1j * spin, -1j * spin, 1j * spin * (Ic - Ia) / Ia, -1j * spin * (Ic - Ia) / Ia], key=lambda z: z.imag)
    found = sorted(system.poles(), key=lambda z: z.imag)
    assert np.abs(np.array(found) - expected).max() < 1e-12  # four eigenvalues of a matrix with entries of at most 7
    fixed = system.A.copy()
    fixed[:2, :2] = 0.0  # d(dq)/dt = dv, as in a fixed chart
    assert np.abs(np.sort(np.linalg.eigvals(fixed).imag) - np.array(expected).imag).max() > 1


@pytest.mark.parametrize("moments", [(2.0, 3.5, 3.0), (2.0, 2.5, 3.0)])
def test_spin_about_the_middle_axis_is_unstable(moments: tuple[float, float, float]) -> None:
    spin, (I1, I2, I3) = 2.0, moments
    _, at = top(spin, moments)
    rate = spin * np.sqrt(complex(-(I3 - I1) * (I3 - I2) / (I1 * I2)))
    assert np.abs(at.eigenvalues - rate).min() < 1e-7  # beside defective zeros
    assert (at.stability == "unstable") == (I1 < I3 < I2)


def test_the_linear_model_follows_a_spinning_body() -> None:
    """Small motions about a steady spin with drift, simulated and predicted."""
    model, _ = top(3.0)
    at = tt.OperatingPoint(model, model.random_configuration(np.random.default_rng(1)), model.velocity({"base.rz": 3.0}))
    system, size, t = tt.linearize(model, at), 1e-5, 1.3
    start = size * np.random.default_rng(2).normal(size=12)
    run = tt.simulate(model, [0, t], model.integrate(at.q, start[:6]), at.v + start[6:], rtol=1e-12, atol=1e-14)
    from scipy.linalg import expm

    found, predicted = at.deviation(run.q[-1], run.v[-1], system, t), expm(t * system.A) @ start
    # what the linear model leaves out is of second order
    assert np.abs(found - predicted).max() < 100 * size**2
    assert np.abs(predicted - start).max() > size


def test_names_units_and_components() -> None:
    model = satellite().resolve()
    at = (model.neutral(), np.zeros(model.nv), np.zeros(model.nv))
    with pytest.warns(tt.ModelWarning, match="no-equilibrium"):
        system = tt.linearize(model, at, ["elbow", "push.x", "arm.tip.F", "wheel.a"], ["gyro.y", "arm.tip.w[1]", "elbow.q"])
    assert system.name == "satellite"
    assert system.input_labels == ["elbow_first", "elbow_second", "push_x", *(f"arm_tip_F[{k}]" for k in range(3)), "wheel_a"]
    assert system.output_labels == ["gyro_y", "arm_tip_w[1]", "elbow_first_q", "elbow_second_q"]
    assert system.state_labels[:2] == ["base_x_q", "base_y_q"]
    table = tt.signal_table(system)
    assert table["arm_tip_F[2]"] == tt.Signal("arm.tip.F[2]", "N")
    assert table["wheel_a"].unit == "rad/s^2"
    assert table["base_x_v"].unit == "m/s"
    with pytest.raises(tt.ModelError, match="no-signals"):
        tt.signal_table(system + system)


def test_an_inverted_channel_gives_the_effort_back() -> None:
    """Driving a joint by its acceleration, and the effort as output: the inverse of driving it by its effort."""
    model = cart().resolve()
    forward = tt.linearize(model, model.neutral(), ["rail", "lower"], ["rail.a", "upper.q"])
    inverse = tt.linearize(model, model.neutral(), ["rail.a", "lower"], ["rail.tau", "upper.q"])
    inverted = tt.invert_channels(forward, ["rail"])
    for s in (0.3j, 2.0 + 1j):
        assert np.abs(inverted(s) - inverse(s)).max() < 1e-10  # the same rational function, evaluated
    assert np.abs(inverse(2j) - forward(2j)).max() > 1e-2


def test_omission() -> None:
    model, at = top(1.0)
    whole = tt.linearize(model, at, ["base"], ["body.w"])
    attitude = tt.linearize(model, at, ["base"], ["body.w"], omit=["base.x", "base.y", "base.z"])
    assert attitude.state_labels == [f"base_r{x}_{part}" for part in "qv" for x in "xyz"]
    for s in (0.3j, 1.0 + 2j):
        assert np.abs(whole(s) - attitude(s)).max() < 1e-12
    rates = tt.linearize(model, at, ["base"], ["body.w"], omit=[f"{name}.q" for name in model.coordinate_names])
    assert rates.nstates == 6
    with refusal("not-omissible", "output 'body.r"):
        tt.linearize(model, model.neutral(), [], ["body.r"], omit=["base.x"])
    with refusal("not-omissible", "rate of state 'base.rx.q' depends on 'base.ry.q'"):
        tt.linearize(model, at, [], [], omit=["base.ry.q"])
    with refusal("not-omissible", "or omit 'base.rz.q' alone"):
        tt.linearize(model, at, [], ["body.w"], omit=["base.rz"])


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ({"inputs": ["elbo"]}, "unknown-input", "did you mean 'elbow'"),
        ({"inputs": ["arm.tip.X"]}, "unknown-input", "arm.tip"),
        ({"inputs": ["arm.tip.F[3]"]}, "unknown-input", "arm.tip.F"),
        ({"inputs": [3]}, "unknown-input", "got 3"),
        ({"inputs": 3}, "wrong-type", "list of names"),
        ({"outputs": ["elbow.qq"]}, "unknown-output", "did you mean"),
        ({"outputs": ["elbow"]}, "unknown-output", "elbow."),
        ({"outputs": ["gyro.q"]}, "unknown-output", "gyro"),
        ({"outputs": ["hub.nozzle.w[3]"]}, "unknown-output", "hub.nozzle.w"),
        ({"inputs": ["elbow", "elbow.first"]}, "duplicate-input", "elbow.first"),
        ({"outputs": ["gyro", "gyro.x"]}, "duplicate-output", "gyro.x"),
        ({"inputs": ["wheel", "wheel.a"]}, "imposed-twice", "wheel.tau"),
        ({"inputs": ["elbow"], "hold": ["elbow"]}, "imposed-twice", "elbow.first"),
        ({"hold": ["ellbow"]}, "unknown-coordinate", "did you mean 'elbow'"),
        ({"omit": ["ellbow"]}, "unknown-coordinate", "did you mean 'elbow'"),
        ({"omit": ["elbow"], "hold": ["elbow"]}, "no-state", "held"),
        ({"independent": ["elbow"]}, "not-independent", "base.x"),
        ({"independent": ["ellbow"]}, "unknown-coordinate", "did you mean 'elbow'"),
        ({"outputs": [("bad name", lambda q, v, a, u: 0.0)]}, "bad-name", "bad name"),
        ({"outputs": [("nan", lambda q, v, a, u: np.nan)]}, "bad-output", "nan"),
        ({"outputs": [("text", lambda q, v, a, u: "x")]}, "bad-output", "text"),
        ({"point": "here"}, "wrong-type", "tt.trim"),
        ({"point": np.zeros(3)}, "wrong-length", "shape"),
        ({"model": "satellite"}, "wrong-type", "resolve"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, Any], code: str, text: str) -> None:
    model = satellite().resolve()
    with refusal(code, text):
        tt.linearize(**{"model": model, "point": model.neutral(), **arguments})


def test_points_of_other_models_and_gimbal_locks_are_refused() -> None:
    model, at = top(1.0)
    with refusal("other-model", "top"):
        tt.linearize(satellite().resolve(), at)
    with refusal("held-moves", "base.rz.a"):
        tt.linearize(model, at, hold=["base.rz"])
    with refusal("held-moves", "hold all"):
        tt.linearize(model, at, hold=["base.rx"])
    half = model.configuration({"base": tt.Pose(rotation=[[0, 0, 1], [0, 1, 0], [-1, 0, 0]])})
    with refusal("gimbal-lock", "sequence"):
        tt.linearize(model, half, [], ["body.theta"])
    point = tt.OperatingPoint(model, model.neutral())
    with refusal("unknown-state", "state"):
        point.deviation(point.q, point.v, tt.linearize(cart().resolve(), np.zeros(3)))


def test_a_pendulum_that_passes_its_lowest_point_is_no_equilibrium() -> None:
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 1.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    with pytest.warns(tt.ModelWarning, match="accelerated ever more"):
        tt.linearize(s.resolve(), ([0.0], [1.0]))


@pytest.mark.parametrize("matrices", [tt.linear_matrices, tt.linearize])
def test_accelerations_beside_stiff_springs_are_told(matrices: Any) -> None:
    """An upright sledge falls at 9.81 m/s^2, whatever stands on it; at its equilibria nothing is said."""
    for stiffness in (0.0, 1e4, 1e8):
        s = tt.System("lift", gravity=[0, 0, -9.81])
        first, second = tt.RigidBody("first", 1.0), tt.RigidBody("second", 1.0)
        s.connect("world", first, tt.Prismatic("track", axis=[0, 0, 1]))
        s.connect(first, second, tt.Prismatic("stiff", axis=[0, 0, 1], stiffness=stiffness))
        model = s.resolve()
        with pytest.warns(tt.ModelWarning, match=r"point: (track|stiff): got accelerated by -9.81"):
            matrices(model, model.neutral())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            matrices(model, (model.neutral(), np.zeros(2), np.array([2 * 9.81, 9.81])))
            held = ["stiff", "track.tau"] if stiffness else ["stiff.tau", "track.tau"]
            matrices(model, tt.trim(model, held))


def test_raw_matrices_are_those_of_the_system() -> None:
    model = cart().resolve()
    A, B = tt.linear_matrices(model, model.neutral())
    system = tt.linearize(model, model.neutral(), ["rail", "lower", "upper"])
    assert np.array_equal(system.A, A)
    assert np.array_equal(system.B, B)


@pytest.mark.parametrize("seed", range(8))
def test_raw_matrices_in_one_kernel(seed: int) -> None:
    """Against the same from separate functions, with every kind of joint; with springs on groups, lists, and inputs."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 6, passive=seed % 2 == 1, loads=seed % 3 == 1).resolve()
    q, v, _, tau = random_state(model, rng)
    found, expected = model._linear_matrices(q, v, tau), Model._linear_matrices(model, q, v, tau)
    for ours, theirs in zip(found, expected, strict=True):
        assert np.array_equal(ours, theirs)
    with pytest.warns(tt.ModelWarning, match="no-equilibrium"):
        listed = tt.linear_matrices(model, (q.tolist(), v.tolist(), tau.tolist()))
    assert np.abs(listed[0] - found[1]).max() < 1e-9 * np.abs(found[1]).max()  # quaternions divided by their norm
    with_brackets = np.abs(found[1][: model.nv, : model.nv]).max() > 0
    assert with_brackets == any(not model.has_plain_coordinates(k) for k in range(model.nv))


def test_parameters_of_a_point_are_those_of_its_model() -> None:
    model = cart().resolve()
    point = tt.trim(model, ["lower", "upper"], parameters={"second.mass": 0.6})
    system = tt.linearize(model, point)
    assert np.array_equal(system.A, tt.linear_matrices(model.with_parameters({"second.mass": 0.6}), point.q)[0])


def test_reduction_by_a_closure() -> None:
    """Two angles of which the sine of one is the other, by hand: T = [1, cos], R = [0, -sin times the rate]."""
    v = np.array([2.0, 2.0 * np.cos(0.4)])
    jacobian, slopes = np.array([[np.cos(0.4), -1.0]]), np.array([[-np.sin(0.4) * v[0], 0.0]])
    T, R = null_space(jacobian, slopes, np.arange(2), np.array([0]))
    assert T.ravel() == pytest.approx([1.0, np.cos(0.4)], abs=1e-15)
    assert R.ravel() == pytest.approx([0.0, -np.sin(0.4) * 2.0], abs=1e-15)
    assert null_space(np.array([[1.0, 0.0]]), slopes, np.arange(2), np.array([0])) == (None, None)


def test_a_closed_chain_has_the_states_of_its_freedom() -> None:
    """A slider-crank about a moving state, by any of its coordinates: the same poles, and the slopes of its Lagrangian."""
    with pytest.warns(tt.ModelWarning, match="redundant-closure"):
        model = slider_crank().resolve()
    q = model.assemble([0.7, -1.0, 0.3], fixed=["q1"])
    v = model.assemble_velocity(q, [1.3, 0.0, 0.0], fixed=["q1"])
    point = tt.OperatingPoint(model, q, v, np.array([0.4, 0.0, 0.0]))
    with pytest.warns(tt.ModelWarning, match="equilibrium"):
        by_crank = tt.linearize(model, point, ["q1"], independent=["q1"])
    with pytest.warns(tt.ModelWarning, match="equilibrium"):
        by_rod = tt.linearize(model, point, ["q1"], ["q1.q"], independent=["q2"])
    assert by_crank.state_labels == ["q1_q", "q1_v"]
    assert by_rod.state_labels == ["q2_q", "q2_v"]

    def crank(x: float, w: float, effort: float) -> float:
        closed = model.assemble([x, q[1], q[2]], fixed=["q1"])
        rates = model.assemble_velocity(closed, [w, 0.0, 0.0], fixed=["q1"])
        return float(model.forward_dynamics(closed, rates, [effort, 0.0, 0.0])[0])

    step = 1e-4
    at = np.array([q[0], 1.3, 0.4])
    slopes = [(crank(*(at + d)) - crank(*(at - d))) / (2 * step) for d in step * np.eye(3)]
    # central differences of second order with a step of 1e-4, of functions of order ten: 1e-6
    assert by_crank.A[1] == pytest.approx(slopes[:2], rel=1e-6)
    assert by_crank.B[1, 0] == pytest.approx(slopes[2], rel=1e-6)
    with refusal("not-independent", "q1"):
        tt.linearize(model, point, ["q1"], independent=["q1", "q2"])


def test_reactions_of_a_closed_chain() -> None:
    """Of a closure, a joint and a sensor, by the crank's angle and rate, its effort and a wrench: against differences."""
    s = four_bar()
    s.add_sensor(tt.ReactionSensor("cell", "q2"))
    with pytest.warns(tt.ModelWarning, match="redundant-closure"):
        model = s.resolve()
    point = tt.trim(model, ["q1", "q2", "q3"], q={"q1": -1.5, "q2": 1.0, "q3": 1.0})
    outputs = ["pin.reaction", "q1.reaction", "cell"]
    system = tt.linearize(model, point, ["q1", "coupler.end"], outputs, independent=["q1"])

    def reactions(x: Array) -> Array:
        q = model.assemble([point.q[0] + x[0], *point.q[1:]], fixed=["q1"])
        v = model.assemble_velocity(q, [x[1], 0.0, 0.0], fixed=["q1"])
        tau, wrenches = np.array([x[2], 0.0, 0.0]), {"coupler.end": x[3:]}
        a = model.forward_dynamics(q, v, tau, wrenches)
        return np.concatenate([model.reaction(name, q, v, a, wrenches, tau=tau) for name in ("pin", "q1", "q2")])

    step = 1e-5
    slopes = np.column_stack([(reactions(d) - reactions(-d)) / (2 * step) for d in step * np.eye(9)])
    # second-order differences of forces near 10 N with a step of 1e-5: about 1e-9
    assert np.abs(np.hstack([system.C, system.D]) - slopes).max() < 1e-7
    assert np.abs(slopes).max() > 1


def sledges(stiffness: float, rail: float, closed: str = "") -> tt.Model:
    """Return two sledges of 1 kg on each other, coupled stiffly by a spring or a closure; the first on a sprung rail."""
    s = tt.System("sledges", gravity=[0, 0, -9.81])
    turned = tt.Pose([0.3, 0.2, 0.1], Rotation.from_rotvec([0.3, -0.4, 0.5]).as_matrix())
    first, second = (tt.RigidBody(name, 1.0, inertia=1.0, ports={"A": turned}) for name in ("first", "second"))
    spring = {"stiffness": stiffness} if not closed else {}
    s.connect("world", first, tt.Prismatic("rail", axis=[1, 0, 0], stiffness=rail))
    s.connect(first, second, tt.Prismatic("stiff", axis=[1, 0, 0], **spring))
    if closed == "compliant":
        s.close_loop(first.port("A"), second.port("A"), tt.CompliantClosure("pad", stiffness * np.eye(6), np.zeros((6, 6))))
    return s.resolve()


@pytest.mark.parametrize("stiffness", [1e9, 1e12])
@pytest.mark.parametrize("closed", ["", "compliant"])
def test_a_soft_spring_beside_a_stiff_one_is_not_omitted(stiffness: float, closed: str) -> None:
    """The rail's mode at sqrt(1/2) rad/s is there however stiff the rest is; without its spring nothing depends on it."""
    soft = sledges(stiffness, 1.0, closed)
    # poles near 0.7 rad/s beside 1e6: eigenvalues of the squares would lose them, balanced ones do not
    assert np.abs(tt.linearize(soft, soft.neutral()).poles()).min() == pytest.approx(np.sqrt(0.5), rel=1e-3)
    for omit in (["rail"], ["rail.q"]):
        with refusal("not-omissible", "depends on 'rail.q'"):
            tt.linearize(soft, soft.neutral(), omit=omit)
        with refusal("not-omissible", "depends on 'rail.q'"):
            tt.lpv(soft, {"second.mass": [1.0, 2.0]}, omit=omit)
    free = sledges(stiffness, 0.0, closed)
    for q in ([0.0, 0.0], [0.7, 0.0]):
        assert tt.linearize(free, np.array(q), omit=["rail"]).state_labels == ["stiff_q", "stiff_v"]
    assert len(tt.lpv(free, {"second.mass": [1.0, 2.0]}, omit=["rail"]).states) == 2


def test_an_equilibrium_that_is_known_to_its_tolerance_has_what_can_be_omitted() -> None:
    """A hovering body turns freely about the vertical; a tilt of 1e-10 rad, which a search leaves, is no dependence."""
    s = tt.System("drone", gravity=[0, 0, -9.81])
    body = tt.RigidBody("body", 2.0, com=[0, 0, -0.3], inertia=[1.0, 2.0, 2.5], ports={"rotor": [0, 0, 0.2]})
    s.connect("world", body, tt.Free("base"))
    s.add_actuator(tt.Thruster("rotor", body.port("rotor"), max_thrust=30))
    s.add_load(tt.Load("kite", body.port("rotor"), force=[0, 0, 1.0], frame="world"))
    model = s.resolve()
    for tilt in (0.0, 1e-10):
        q = model.integrate(model.neutral(), [0, 0, 0, tilt, -0.7 * tilt, 0.4])
        point = tt.OperatingPoint(model, q, u={"rotor": 2 * 9.81 - 1.0})
        omit = ["base.x.q", "base.y.q", "base.z.q", "base.rz.q"]
        assert tt.linearize(model, point, ["rotor"], ["base.rx.v"], omit=omit).nstates == 8
        with refusal("not-omissible", "depends on 'base.rx.q'"):
            tt.linearize(model, point, ["rotor"], omit=["base.rx.q"])
