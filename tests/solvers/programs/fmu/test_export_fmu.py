"""Models as FMUs, run by FMPy and compared with `simulate`."""

import warnings

import control
import numpy as np
import pytest

import titop as tt
from tests.example_scripts import script
from titop.solvers.programs.fmu.fmu_archive import compiler

fmpy = pytest.importorskip("fmpy", minversion="0.3.30", reason="FMPy runs FMUs; older ones stop in CVODE or take no paths")
for _part in ("validation", "fmi2", "fmi3"):
    pytest.importorskip(f"fmpy.{_part}")
pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler")

#: Of the steps inside; errors of some hundred steps of this size are compared with 1e-9 of what is compared.
TIGHT = 1e-12


def craft() -> tt.System:
    """A free body with a swinging arm, an actuator with a lag, and sensors."""
    s = tt.System("craft", gravity=[0, 0, -9.81])
    hub = tt.RigidBody("hub", 3.0, [0.1, 0, 0], inertia=np.diag([0.3, 0.4, 0.5]), ports={"C": [0, 0.2, -0.3], "S": [0, 0, 0.1]})
    arm = tt.RigidBody("arm", 1.0, [0, 0, -0.4], inertia=np.diag([0.1, 0.1, 0.01]), ports={"tip": [0, 0, -0.8]})
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("C"), arm, tt.Revolute("hinge", axis=[1, 0, 0], stiffness=2.0, damping=0.1))
    s.add_actuator(tt.Motor("motor", "hinge", path=tt.SignalPath.lag(0.05)))
    s.add_sensor(tt.Accelerometer("felt", hub.port("S")))
    s.add_sensor(tt.Encoder("angle", "hinge"))
    return s


def simulate(path, kind="CoSimulation", stop=1.0, tolerance=TIGHT, **more):
    return fmpy.simulate_fmu(
        str(path), fmi_type=kind, stop_time=stop, output_interval=stop / 20, relative_tolerance=tolerance, **more
    )


def columns(results, *names):
    return np.column_stack([results[name] for name in names])


def vector(results, name, count=3):
    return columns(results, *(f"{name}[{k}]" for k in range(count)))


@pytest.fixture(scope="module")
def crafted(tmp_path_factory):
    """The craft in both versions, with its model and the point where it begins."""
    m = craft().resolve()
    rng = np.random.default_rng(0)
    q, v = m.integrate(m.neutral(), 0.5 * rng.normal(size=m.nv)), 0.5 * rng.normal(size=m.nv)
    point = tt.OperatingPoint(m, q, v, u=[0.7], x=[0.2])
    folder = tmp_path_factory.mktemp("craft")
    for version in (2, 3):
        tt.export_fmu(
            m,
            folder / f"{version}.fmu",
            inputs=["motor", "arm.tip.F"],
            outputs=[
                "hinge.q",
                "base.v",
                "hub.S.r",
                "hub.S.theta",
                "arm.tip.dv",
                "felt",
                "angle",
                "hinge.reaction",
                "motor.lag[0]",
            ],
            parameters=["arm.mass", "arm.com.z", "hinge.stiffness", "arm.tip.position.z", "gravity.z"],
            version=version,
            point=point,
        )
    return m, point, folder


@pytest.mark.parametrize("version", [2, 3])
def test_validation_finds_nothing(crafted, version):
    assert fmpy.validation.validate_fmu(str(crafted[2] / f"{version}.fmu")) == []


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("changed", [{}, {"arm.mass": 1.5, "arm.com.z": -0.5, "hinge.stiffness": 5.0, "gravity.z": -3.0}])
def test_every_output_is_that_of_simulate(crafted, version, changed):
    m, point, folder = crafted
    force = np.array([0.3, -0.2, 0.1])
    r = simulate(folder / f"{version}.fmu", start_values=changed | {f"arm.tip.F[{k}]": force[k] for k in range(3)})
    m = m.with_parameters(changed) if changed else m
    push = {"arm.tip": np.concatenate([force, np.zeros(3)])}
    t = tt.simulate(
        m, r["time"], point.q, point.v, u=point.u, x0=point.x, wrenches=push, rtol=1e-12, atol=1e-13, progress=False
    )
    motion = np.array([m.motion("hub.S", *state) for state in zip(t.q, t.v, t.a, strict=True)])
    tip = np.array([m.motion("arm.tip", *state) for state in zip(t.q, t.v, t.a, strict=True)])
    felt = np.array([m.accelerometer("hub.S", *state) for state in zip(t.q, t.v, t.a, strict=True)])
    whole = [m.mechanism.inputs.whole(point.u, x) for x in t.x]
    reaction = [m.reaction("hinge", q, v, a, push, u) for q, v, a, u in zip(t.q, t.v, t.a, whole, strict=True)]
    for found, expected in (
        (columns(r, "hinge.q", "angle"), t.q[:, [-1, -1]]),
        (columns(r, *(f"base.{e}.v" for e in ("x", "y", "z", "rx", "ry", "rz"))), t.v[:, :6]),
        (vector(r, "hub.S.r"), motion[:, 12:15]),
        (vector(r, "hub.S.theta"), motion[:, 15:]),
        (vector(r, "arm.tip.dv"), tip[:, :3]),
        (columns(r, "felt.x", "felt.y", "felt.z"), felt),
        (vector(r, "hinge.reaction", 6), np.array(reaction)),
        (r["motor.lag[0]"], t.x[:, 0]),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_place_of_a_port_is_a_parameter(crafted):
    m, point, folder = crafted
    longer = m.with_parameters({"arm.tip.position.z": -1.1})
    r = simulate(folder / "3.fmu", start_values={"arm.tip.position.z": -1.1, "arm.tip.F[1]": 0.4})
    push = {"arm.tip": [0, 0.4, 0, 0, 0, 0]}
    t = tt.simulate(longer, r["time"], point.q, point.v, u=point.u, x0=point.x, wrenches=push, rtol=1e-12, progress=False)
    assert np.abs(r["hinge.q"] - t.q[:, -1]).max() < 1e-9
    same = tt.simulate(m, r["time"], point.q, point.v, u=point.u, x0=point.x, wrenches=push, rtol=1e-12, progress=False)
    assert np.abs(r["hinge.q"] - same.q[:, -1]).max() > 1e-3  # it matters


@pytest.mark.parametrize("version", [2, 3])
def test_model_exchange(crafted, version):
    """CVODE's errors are larger than its tolerance by the number of its steps."""
    m, point, folder = crafted
    r = simulate(folder / f"{version}.fmu", "ModelExchange", tolerance=1e-10, record_events=False)
    t = tt.simulate(m, r["time"], point.q, point.v, u=point.u, x0=point.x, rtol=1e-12, progress=False)
    assert np.abs(r["hinge.q"] - t.q[:, -1]).max() < 1e-6


def test_derivatives_are_those_of_the_model(crafted, tmp_path):
    m, point, folder = crafted
    fmpy.extract(str(folder / "3.fmu"), tmp_path)
    description = fmpy.read_model_description(tmp_path)
    place = {variable.name: variable.valueReference for variable in description.modelVariables}
    kinds = {"unzipDirectory": tmp_path, "modelIdentifier": "craft", "instanceName": "one"}
    fmu = fmpy.fmi3.FMU3Slave(guid=description.instantiationToken, **kinds)
    fmu.instantiate()
    fmu.enterInitializationMode()
    fmu.exitInitializationMode()
    u = m.mechanism.inputs.whole(point.u, point.x)
    _, by_v, _ = m.forward_dynamics_derivatives(point.q, point.v, np.zeros(m.nv), u=u)
    rates = [place[f"der({name}.v)"] for name in m.coordinate_names]
    speeds = [place[f"{name}.v"] for name in m.coordinate_names]
    size = np.abs(by_v).max()
    for k in range(m.nv):
        forward = fmu.getDirectionalDerivative(rates, [speeds[k]], [1.0])
        np.testing.assert_allclose(forward, by_v[:, k], atol=1e-13 * size)
        backward = fmu.getAdjointDerivative([rates[k]], speeds, [1.0], m.nv)
        np.testing.assert_allclose(backward, by_v[k], atol=1e-13 * size)
    step = 1e-6
    ahead, back = (
        m.with_parameters({"arm.mass": 1.0 + h}).forward_dynamics(point.q, point.v, np.zeros(m.nv), u=u) for h in (step, -step)
    )
    by_mass = fmu.getDirectionalDerivative(rates, [place["arm.mass"]], [1.0])
    np.testing.assert_allclose(
        by_mass, (ahead - back) / (2 * step), atol=1e-8 * np.abs(by_mass).max()
    )  # rounding over the step
    fmu.terminate()
    fmu.freeInstance()


def test_variables_have_units_types_and_roles(crafted):
    folder = crafted[2]
    for version in (2, 3):
        description = fmpy.read_model_description(str(folder / f"{version}.fmu"))
        found = {each.name: each for each in description.modelVariables}
        roles = {name: (found[name].causality, found[name].variability, found[name].unit) for name in found}
        assert roles["arm.mass"] == ("parameter", "tunable", "kg")
        assert roles["motor"] == ("input", "continuous", "N m")
        assert roles["arm.tip.F[0]"] == ("input", "continuous", "N")
        assert roles["hinge.q"] == ("output", "continuous", "rad")
        assert roles["base.qx"] == ("local", "continuous", "1")
        assert roles["felt.z"] == ("output", "continuous", "m/s^2")
        assert found["der(hinge.q)"].derivative is found["hinge.q"]
        assert found["hinge.q"].declaredType.quantity == "Angle"
        assert [float(found[name].start) for name in ("motor", "motor.lag[0]")] == [0.7, 0.2]
        units = {unit.name: unit.baseUnit for unit in description.unitDefinitions}
        assert (units["N m/rad"].kg, units["N m/rad"].m, units["N m/rad"].s, units["N m/rad"].rad) == (1, 2, -2, -1)


def stopped() -> tt.Model:
    s = tt.System("stopped", gravity=[0, 0, -9.81])
    limits = tt.Limits(lower=-0.5, upper=0.4, stiffness=3e3, dissipation=0.2)
    s.connect("world", tt.RigidBody("bob", 1.0, [0, 0, -1.0]), tt.Revolute("hinge", axis=[0, 1, 0], limits=limits))
    return s.resolve()


def test_stops_are_events(tmp_path):
    m = stopped()
    tt.export_fmu(m, tmp_path / "a.fmu", outputs=["hinge.q"], point=([0.3], [1.5]), parameters=["hinge.limits.upper"])
    r = simulate(tmp_path / "a.fmu", start_values={"hinge.limits.upper": 0.35})
    moved = m.with_parameters({"hinge.limits.upper": 0.35})
    t = tt.simulate(moved, r["time"], [0.3], [1.5], rtol=1e-12, atol=1e-14, progress=False)
    assert t.q.max() > 0.35  # it stops
    assert np.abs(r["hinge.q"] - t.q[:, 0]).max() < 1e-9
    found = fmpy.simulate_fmu(
        str(tmp_path / "a.fmu"), fmi_type="ModelExchange", stop_time=0.2, output_interval=0.2, output=["hinge.q"]
    )
    between = (found["time"] > 0) & (found["time"] < 0.2)
    assert np.abs(found["hinge.q"][between] - 0.4).min() < 1e-5  # where the stop begins to act


def test_contact(tmp_path):
    s = tt.System("ball", gravity=[0, 0, -9.81])
    ball = tt.RigidBody("ball", 1.0, [0, 0, 0], inertia=0.1 * np.eye(3))
    s.connect("world", ball, tt.Prismatic("fall", axis=[0, 0, 1]))
    contact = tt.Contact("ground", radius=0.1, stiffness=1e4, normal=[0, 0, 1], dissipation=0.3)
    s.close_loop("world", ball, contact)
    m = s.resolve()
    tt.export_fmu(m, tmp_path / "a.fmu", outputs=["fall.q", "ground.gap"], point=[0.3])
    r = simulate(tmp_path / "a.fmu")
    t = tt.simulate(m, r["time"], [0.3], [0.0], rtol=1e-12, atol=1e-14, progress=False)
    gaps = np.array([m.contacts(q, v).gap[0] for q, v in zip(t.q, t.v, strict=True)])
    assert np.abs(r["fall.q"] - t.q[:, 0]).max() < 1e-9
    assert np.abs(r["ground.gap"] - gaps).max() < 1e-9


def test_imposed_motion(tmp_path):
    """An acceleration is an input; the effort that causes it is an output."""
    m = craft().resolve()
    tt.export_fmu(m, tmp_path / "a.fmu", inputs=["hinge.a"], outputs=["hinge.q", "hinge.tau", "base.a"])
    r = simulate(tmp_path / "a.fmu", stop=0.5, start_values={"hinge.a": 2.0})
    np.testing.assert_allclose(r["hinge.q"], r["time"] ** 2, atol=1e-12)
    t = tt.simulate(
        m,
        r["time"],
        m.neutral(),
        np.zeros(m.nv),
        prescribed={"hinge": lambda t: (t * t, 2 * t, 2.0)},
        rtol=1e-12,
        progress=False,
    )
    np.testing.assert_allclose(r["hinge.tau"], t.tau[:, -1], atol=1e-9 * np.abs(t.tau).max())
    np.testing.assert_allclose(r["base.rx.a"], t.a[:, 3], atol=1e-9 * np.abs(t.a).max())


def four_bar() -> tt.Model:
    s = tt.System("bars", gravity=[0, 0, -9.81])
    rod = {"inertia": np.diag([1e-3, 0.1, 0.1])}
    first = tt.RigidBody("first", 1.0, [0.5, 0, 0], ports={"end": [1.0, 0, 0]}, **rod)
    second = tt.RigidBody("second", 1.0, [0.5, 0, 0], ports={"end": [1.0, 0, 0]}, **rod)
    third = tt.RigidBody("third", 1.0, [0.5, 0, 0], ports={"end": [1.0, 0, 0]}, **rod)
    s.connect("world", first, tt.Revolute("a", axis=[0, 1, 0], damping=0.05))
    s.connect(first.port("end"), second, tt.Revolute("b", axis=[0, 1, 0]))
    s.connect("world", third, tt.Revolute("c", axis=[0, 1, 0]), placement=tt.Pose([1.3, 0, 0]))
    s.close_loop(second.port("end"), third.port("end"), tt.RigidClosure("pin", kind="revolute", axis=[0, 1, 0], redundant=True))
    return s.resolve()


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_closed_loops(tmp_path):
    m = four_bar()
    q = m.assemble([-1.2, 1.3, -1.1])
    tt.export_fmu(m, tmp_path / "a.fmu", outputs=["a.q", "c.v"], parameters=["second.mass"], point=q)
    r = simulate(tmp_path / "a.fmu", start_values={"second.mass": 1.4})
    heavier = m.with_parameters({"second.mass": 1.4})
    t = tt.simulate(heavier, r["time"], q, np.zeros(m.nv), rtol=1e-12, atol=1e-14, progress=False)
    assert np.ptp(t.q[:, 0]) > 0.1
    assert np.abs(r["a.q"] - t.q[:, 0]).max() < 1e-9
    assert np.abs(r["c.v"] - t.v[:, 2]).max() < 1e-9


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_closed_loops_stay_closed(tmp_path):
    """Co-simulation moves states back to the constraints; with model exchange they drift, as accelerations alone are closed."""
    m = four_bar()
    q = m.assemble([-1.2, 1.3, -1.1])
    tt.export_fmu(m, tmp_path / "a.fmu", point=q)
    drifts = []
    for kind in ("CoSimulation", "ModelExchange"):
        r = simulate(tmp_path / "a.fmu", kind, stop=5.0, tolerance=1e-6)
        drifts.append(max(np.abs(m.closure_error(x)).max() for x in columns(r, "a.q", "b.q", "c.q")))
    assert drifts[0] < 1e-9 < drifts[1]  # what a step of Newton's method leaves of errors of 1e-6; and what they add up to


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_imposed_motion_of_a_closed_loop(tmp_path):
    m = four_bar()
    q = m.assemble([-1.2, 1.3, -1.1])
    tt.export_fmu(m, tmp_path / "a.fmu", inputs=["a.a"], outputs=["a.q", "c.q", "a.tau"], point=q)
    r = simulate(tmp_path / "a.fmu", stop=0.5, start_values={"a.a": 1.0})
    turned = {"a": lambda t: (q[0] + t * t / 2, t, 1.0)}
    t = tt.simulate(m, r["time"], q, np.zeros(m.nv), prescribed=turned, rtol=1e-12, atol=1e-14, progress=False)
    assert np.abs(r["c.q"] - t.q[:, 2]).max() < 1e-9
    np.testing.assert_allclose(
        r["a.tau"], t.tau[:, 0], atol=1e-8 * np.abs(t.tau).max()
    )  # of accelerations, on states 1e-10 apart


@pytest.mark.parametrize(("version", "kind"), [(3, "CoSimulation"), (2, "ModelExchange")])
@pytest.mark.parametrize("delay", [0.0, 0.05])
def test_sampled_controller_inside(tmp_path, version, kind, delay):
    """With its operating point, delay, references and the motor's limit."""
    s = tt.System("arm", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 1.0, [0, 0, -0.5]), tt.Revolute("hinge", axis=[0, 1, 0], damping=0.1))
    s.add_actuator(tt.Motor("motor", "hinge", effort_limit=6.0))
    m = s.resolve()
    point = tt.OperatingPoint(m, [0.5], u=[0.5 * 9.81 * np.sin(0.5)])
    matrices = [[0.9]], [[1.0, 0.0]], [[-0.5]], [[-20.0, -4.0]]
    K = control.ss(*matrices, 0.05, inputs=["hinge_q", "hinge_v"], outputs=["motor"], name="law")
    loop = {"controller": K, "operating_point": point, "delay": delay}
    tt.export_fmu(m, tmp_path / "a.fmu", outputs=["hinge.q"], controller=tt.Loop(**loop), version=version, point=[0.1])
    assert fmpy.validation.validate_fmu(str(tmp_path / "a.fmu")) == []
    r = fmpy.simulate_fmu(
        str(tmp_path / "a.fmu"),
        fmi_type=kind,
        stop_time=2.0,
        output_interval=0.1,
        relative_tolerance=1e-11,
        record_events=False,
    )
    t = tt.simulate(m, r["time"], [0.1], [0.0], controller=tt.Loop(**loop), rtol=1e-12, atol=1e-13, progress=False)
    limit = 1e-9 if kind == "CoSimulation" else 1e-6
    assert np.abs(r["hinge.q"] - t.q[:, 0]).max() < limit
    assert np.abs(t.u).max() == 6.0  # the motor's limit acts


@pytest.mark.parametrize("has_controller", [True, False])
def test_inputs_at_rest_and_from_outside_are_limited_in_closed_loop(tmp_path, has_controller):
    """As in `simulate`: what rests at the point, and what the tool sets; without a controller both act as they are."""
    s = tt.System("arms", gravity=[0, 0, -9.81])
    for k, limit in enumerate((6.0, 2.0, 3.0)):
        link = tt.RigidBody(f"link{k}", 1.0, [0, 0, -0.5], 0.1)
        s.connect("world", link, tt.Revolute(f"hinge{k}", axis=[0, 1, 0], damping=0.5))
        s.add_actuator(tt.Motor(f"motor{k}", f"hinge{k}", effort_limit=limit))
    m, u = s.resolve(engine="reference"), [0.0, 5.0, 0.0]
    point = tt.OperatingPoint(m, np.zeros(3), u=u)
    K = control.ss([], [], [], [[-2.0, -0.4]], 0.05, inputs=["hinge0_q", "hinge0_v"], outputs=["motor0"])
    loop = tt.Loop(K, operating_point=point) if has_controller else None
    outputs = [f"hinge{k}.q" for k in range(3)]
    tt.export_fmu(m, tmp_path / "a.fmu", ["motor2"], outputs, controller=loop, point=point)
    r = simulate(tmp_path / "a.fmu", stop=0.5, start_values={"motor2": -9.0})
    acting = {"controller": loop, "u": [0, 0, -9.0]} if has_controller else {"u": [0, 5.0, -9.0]}
    t = tt.simulate(m, r["time"], np.zeros(3), np.zeros(3), **acting, rtol=1e-11, atol=1e-12, progress=False)
    np.testing.assert_allclose(columns(r, *outputs), t.q, atol=1e-9)
    assert np.abs(t.u).max(axis=0)[1:].tolist() == ([2.0, 3.0] if has_controller else [5.0, 9.0])


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_lost_inertia_is_an_error(tmp_path):
    """At a state where a coordinate moves no inertia there are no accelerations."""
    s = tt.System("lost", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("rod", 1.0, [0, 0, 1.0]), tt.Universal("cross", axis1=[0, 0, 1], axis2=[1, 0, 0]))
    m = s.resolve()
    tt.export_fmu(m, tmp_path / "a.fmu", point=[0.0, 0.5])
    assert len(simulate(tmp_path / "a.fmu")) == 21
    with pytest.raises(Exception, match="error"):
        simulate(tmp_path / "a.fmu", start_values={"cross.second.q": 0.0})


K = {"inputs": ["hinge_q"], "outputs": ["hinge_tau"]}


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("bad-path", {"path": "swing.zip"}),
        ("bad-path", {"path": 3}),
        ("no-folder", {"path": "nowhere/swing.fmu"}),
        ("bad-version", {"version": 1}),
        ("bad-version", {"version": 2.0}),
        ("bad-kinds", {"kinds": "me"}),
        ("bad-kinds", {"kinds": []}),
        ("bad-kinds", {"kinds": 5}),
        ("bad-kinds", {"kinds": [["me"]]}),
        ("unknown-input", {"inputs": ["hing"]}),
        ("duplicate-input", {"inputs": ["hinge", "hinge.tau"]}),
        ("improper", {"inputs": ["hinge.q"]}),
        ("no-delay", {"inputs": ["motor"]}),
        ("unknown-output", {"outputs": ["bob.x"]}),
        ("unknown-parameter", {"parameters": ["bob.mas"]}),
        ("duplicate-name", {"parameters": ["bob.mass", "bob.mass"]}),
        ("no-sample-time", {"controller": control.ss([], [], [], [[1.0]], **K)}),
        ("python-function", {"controller": tt.Controller(lambda t, x, y, r: (x, y), [], ["hinge.q"], ["hinge.tau"], 0.1)}),
        ("bad-delay", {"controller": tt.Loop(control.ss([], [], [], [[1.0]], 0.1, **K), delay=0.05)}),
        ("duplicate-input", {"inputs": ["hinge"], "controller": control.ss([], [], [], [[1.0]], 0.1, **K)}),
    ],
)
def test_bad_input_is_refused_by_name(tmp_path, monkeypatch, code, arguments):
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 2.0, [0, 0, -1.0]), tt.Revolute("hinge", axis=[0, 1, 0]))
    s.add_actuator(tt.Motor("motor", "hinge", path=tt.SignalPath(delay=0.1)))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tt.ModelError, match=code):
        tt.export_fmu(s.resolve(), **{"path": "swing.fmu", **arguments})
    assert list(tmp_path.iterdir()) == []


def test_name_that_is_taken_is_refused(tmp_path):
    s = tt.System("clock", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 2.0, [0, 0, -1.0]), tt.Revolute("time", axis=[0, 1, 0]))
    with pytest.raises(tt.ModelError, match=r"time.*duplicate-name"):
        tt.export_fmu(s.resolve(), tmp_path / "a.fmu", inputs=["time"])


class Branching(tt.RigidBody):
    """A body that weighs what the state says, by a function that makes floats."""

    def gyroscopic(self, q, v, twist):
        return super().gyroscopic(q, v, twist) * float(twist[4])


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_block_without_program_is_named(tmp_path):
    s = tt.System("own", gravity=[0, 0, 0])
    s.connect("world", Branching("odd", 1.0, [0, 0, 1.0]), tt.Revolute("hinge", axis=[0, 1, 0]))
    with pytest.raises(tt.ModelError, match="odd"):
        tt.export_fmu(s.resolve(engine="reference"), tmp_path / "a.fmu")
    assert list(tmp_path.iterdir()) == []


#: Scripts of examples, with what `build` takes, and names of functions that give a state.
EXAMPLES = {
    "balloon": ((), "initial_state"),
    "cart_double_pendulum": ((), None),
    "robot_arm": ((), None),
    "diver": ((), None),
    "satellite": ((), None),
    "quadrotor": ((), None),
    "swing_up": ((), None),
    "draining_tank": ((0.01,), None),
    "lander": ((), "touchdown"),
    "compiled_block": ((), None),
    "slider_crank": ((), None),
    "rod_antenna": ((), None),
}


@pytest.mark.long
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(tmp_path, name):
    given, start = EXAMPLES[name]
    defined = script(name)
    built = defined["build"](*given)
    m = built if isinstance(built, tt.Model) else defined.get("resolve", tt.System.resolve)(built)
    rng = np.random.default_rng(3)
    q = m.assemble(m.neutral()) if m.is_constrained else m.integrate(m.neutral(), 0.2 * rng.normal(size=m.nv))
    q, v = defined[start](m) if start else (q, m.assemble_velocity(q, 0.3 * rng.normal(size=m.nv)))
    u, known = 0.05 * rng.normal(size=m.nu), m.parameters()
    parameters = [each for each in known if each.endswith((".mass", ".damping", ".stiffness")) and known[each][0] > 0][:4]
    port = m.body_names[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)
        point = tt.OperatingPoint(m, q, v, u=u if m.nu else None)
        outputs = [*(f"{each}.v" for each in m.coordinate_names), f"{port}.r", f"{port}.dv"]
        tt.export_fmu(m, tmp_path / "a.fmu", inputs=m.input_names, outputs=outputs, parameters=parameters, point=point)
        assert fmpy.validation.validate_fmu(str(tmp_path / "a.fmu")) == []
        for values in ({}, {each: 1.2 * known[each][0] for each in parameters}):
            r = simulate(tmp_path / "a.fmu", stop=1.0, start_values=values)
            changed = m.with_parameters(values) if values else m
            t = tt.simulate(changed, r["time"], q, v, u=u if m.nu else None, rtol=1e-12, atol=1e-13, progress=False)
            motion = np.array([changed.motion(port, *state) for state in zip(t.q, t.v, t.a, strict=True)])
            for found, expected in (
                (columns(r, *(f"{each}.v" for each in m.coordinate_names)), t.v),
                (vector(r, f"{port}.r"), motion[:, 12:15]),
                (vector(r, f"{port}.dv"), motion[:, :3]),
            ):
                np.testing.assert_allclose(found, expected, atol=1e-9 * max(1.0, np.abs(expected).max()))
