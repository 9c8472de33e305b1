"""Linear models against differences of the nonlinear system, symbolic linearisations and closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import titop as tt
from tests.actuated_systems import satellite
from tests.refusals import refusal
from tests.solvers.linear.nonlinear_systems import BY_DIFFERENCES, FORWARD, HYBRID, OUTPUTS, STENCIL, Array, cart, top
from tests.systems import random_state
from titop.solvers.linear.system_outputs import read_outputs
from titop.solvers.signals.snapshot import Snapshot
from titop.solvers.signals.system_inputs import SystemInputs as Drives


class Nonlinear:
    """The nonlinear system about a point, as a function of deviations ``[dq, dv, inputs]``."""

    def __init__(self, point: tt.OperatingPoint, inputs: list[str], outputs: list[Any], hold: list[str]) -> None:
        self.point, self.drives = point, Drives(point.model, inputs, hold)
        self.readings = read_outputs(point.model, outputs, self.drives)

    def __call__(self, z: Array) -> Array:
        point, model, drives = self.point, self.point.model, self.drives
        dq, dv, w = np.split(z, [model.nv, 2 * model.nv])
        q, v, tau, a, u = model.integrate(point.q, dq), point.v + dv, point.tau.copy(), point.residual.copy(), np.array(point.u)
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


def symbolic(lagrangian: Any, q: Any, v: Any, damping: list[float], at: list[float]) -> tuple[Array, Array]:
    """Return A and B of ``d/dt dL/dv - dL/dq = tau - damping v`` at rest, by sympy."""
    momenta = [sympy.diff(lagrangian, rate) for rate in v]
    mass = sympy.Matrix([[sympy.diff(p, rate) for rate in v] for p in momenta])
    forces = sympy.Matrix([sympy.diff(lagrangian, x) for x in q])
    transport = sympy.Matrix([sum(sympy.diff(p, x) * rate for x, rate in zip(q, v, strict=True)) for p in momenta])
    effort = forces - transport - sympy.Matrix([d * rate for d, rate in zip(damping, v, strict=True)])
    place, rest = dict(zip(q, at, strict=True)), dict.fromkeys(v, 0)
    inverse = np.array(mass.subs(rest).subs(place), dtype=float)
    # by either half of the state while the other stands still: these expressions are short
    by_q = np.array(effort.subs(rest).jacobian(sympy.Matrix(list(q))).subs(place), dtype=float)
    by_v = np.array(effort.subs(place).jacobian(sympy.Matrix(list(v))).subs(rest), dtype=float)
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


@pytest.mark.long
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


def test_stacked_states_have_their_own_loads() -> None:
    """Of which some are left out; states that do not fit are refused, and loads beside those of an operating point."""
    model = cart().resolve()
    q, wrenches = np.zeros((3, model.nq)), {model.port_names[-1]: np.eye(3, 6)}
    for given in (q, (q, 0.0 * q), (q.tolist(), (0.0 * q).tolist(), (0.0 * q).tolist())):
        A, B = tt.linear_matrices(model, given, wrenches)
        for row, wrench in enumerate(np.eye(3, 6)):
            at = tt.OperatingPoint(model, q[row], wrenches={model.port_names[-1]: wrench})
            assert np.array_equal(A[row], tt.linear_matrices(model, at)[0])
            assert np.array_equal(B[row], tt.linear_matrices(model, q[row], at.wrenches)[1])
    assert not np.array_equal(A[0], A[2])
    for wrong, code in ((q[:, 1:], "wrong-length"), ((q, q[1:]), "wrong-length"), (q + np.nan, "not-finite")):
        with refusal(code, "q"):
            tt.linear_matrices(model, wrong)
    with refusal("loads-twice", "an operating point"):
        tt.linear_matrices(model, at, u=[])


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


def test_parameters_of_a_point_are_those_of_its_model() -> None:
    model = cart().resolve()
    point = tt.trim(model, ["lower", "upper"], parameters={"second.mass": 0.6})
    system = tt.linearize(model, point)
    assert np.array_equal(system.A, tt.linear_matrices(model.with_parameters({"second.mass": 0.6}), point.q)[0])


def test_what_python_control_cannot_hold_is_said() -> None:
    """It takes a matrix of one row and no columns for one of none."""
    s = tt.System("slide", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("block", 1.0), tt.Prismatic("rail"))
    m = s.resolve()
    assert tt.linearize(m, m.neutral(), outputs=["rail.q", "rail.v"]).D.shape == (2, 0)
    with pytest.raises(tt.ModelError, match=r"name an input.*no-inputs"):
        tt.linearize(m, m.neutral(), outputs=["rail.q"])


def test_subclasses_of_spherical_joints_turn_along_as_they_do() -> None:
    """About a spin v displacements change by ``-v x dq`` too: in both engines, whoever computes the efforts."""

    class Damped(tt.Spherical):
        def damping_efforts(self, q, v):
            return -0.2 * v * np.sqrt(v @ v + 1e-4)

        def passive_efforts(self, q, v):
            return self.damping_efforts(q, v)

    s = tt.System("ball", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("body", 1.0, inertia=[0.1, 0.2, 0.3]), Damped("joint"))
    v = np.array([1.0, 2.0, 3.0])
    expected = -np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    found = []
    for engine in ("compiled", "reference"):
        m = s.resolve(engine)
        A, *_ = tt.linear_matrices(m, (m.neutral(), v, m.inverse_dynamics(m.neutral(), v, 0 * v)))
        np.testing.assert_allclose(A[:3, :3], expected, atol=1e-15)
        found.append(A)
        q, rates = np.tile(m.neutral(), (3, 1)), np.array([v, 0 * v, -v])
        for row, stacked in enumerate(tt.linear_matrices(m, (q, rates, 0 * rates))[0]):
            assert np.array_equal(stacked, tt.linear_matrices(m, (q[row], rates[row], 0 * v))[0])
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)


def wheel_on_a_cart() -> tt.System:
    """Return a cart with a wheel on it, whose momentum a sensor reads: by the wheel's inertia, which is a parameter."""
    s = tt.System("cart", gravity=[0, 0, -9.81])
    cart, wheel = tt.RigidBody("cart", 2.0), tt.RigidBody("wheel", 1.0, inertia=0.3)
    s.connect("world", cart, tt.Prismatic("rail", axis=[1, 0, 0]))
    s.connect(cart, wheel, tt.Revolute("hinge", axis=[0, 1, 0], damping=0.1))
    s.add_sensor(tt.WheelMomentum("h", "hinge"))
    return s


def test_members_of_a_family_have_their_own_wheels_and_filters() -> None:
    """By `lpv`: the momentum of each wheel, and the accelerometer behind a filter of each time constant."""
    s = wheel_on_a_cart()
    s.add_sensor(tt.Accelerometer("felt", s.connections[-1].child.block, path=tt.SignalPath.lag(0.2)))
    m = s.resolve("reference")
    grid = {"wheel.inertia.yy": [0.3, 0.5], "felt.path.time_constant": [0.2, 0.4]}
    family = tt.lpv(m, grid, inputs=["rail", "hinge"], outputs=["h", "felt.x"])
    member = m.with_parameters({"wheel.inertia.yy": 0.5, "felt.path.time_constant": 0.4})
    right = tt.linearize(member, member.neutral(), ["rail", "hinge"], ["h", "felt.x"])
    found = family.at({"wheel.inertia.yy": 0.5, "felt.path.time_constant": 0.4})
    np.testing.assert_allclose(found(2j), right(2j), rtol=1e-12, atol=1e-12)  # a point of the grid
    assert not np.allclose(family.at({"wheel.inertia.yy": 0.3, "felt.path.time_constant": 0.4})(2j), right(2j), rtol=0.1)


def test_names_that_were_read_before_stand_for_the_same() -> None:
    """Asked twice in turn, with other names, omitted states, held joints and functions between: as models that never were.

    More askings than are kept; of a model with another inertia the sensor reads another number.
    """
    first = wheel_on_a_cart().resolve()
    models = {0.3: first, 0.6: first.with_parameters({"wheel.inertia.yy": 0.6})}
    kinematic = ("rail.q", "rail.v", "rail.a", "rail.tau", "hinge.v", "hinge.a")
    asked: list[dict[str, Any]] = [
        {"inputs": ["rail"], "outputs": ["hinge.q", "h"]},
        {"inputs": "rail", "outputs": "h"},
        {"inputs": ["hinge", "rail"], "outputs": ["hinge.q"]},
        {"inputs": ["hinge"], "outputs": ["h"], "hold": ["rail"]},
        {"inputs": ["rail"], "outputs": ["hinge.q", "h"], "omit": ["rail.q"]},
        *({"inputs": ["rail"], "outputs": [("power", lambda q, v, a, u, k=k: k * v[1])]} for k in (1.0, 2.0)),
        *({"inputs": [name], "outputs": [read]} for name in ("rail", "hinge") for read in kinematic),
    ]
    assert len(asked) > 16
    cases = [(inertia, arguments) for arguments in asked for inertia in models]
    right = []
    for inertia, arguments in cases:
        fresh = first.with_parameters({"wheel.inertia.yy": inertia})
        right.append(tt.linearize(fresh, fresh.neutral(), **arguments))
    for (inertia, arguments), expected in zip(2 * cases, 2 * right, strict=True):
        found = tt.linearize(models[inertia], first.neutral(), **arguments)
        for name in ("state_labels", "input_labels", "output_labels"):
            assert getattr(found, name) == getattr(expected, name)
        assert all(np.array_equal(getattr(found, name), getattr(expected, name)) for name in "ABCD")
        if arguments["outputs"] == "h":
            assert found.C[0, 3] == pytest.approx(inertia, rel=1e-12)  # the wheel's momentum by its rate
