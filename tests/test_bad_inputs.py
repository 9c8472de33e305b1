"""Bad inputs of all public functions: each is refused, or warned of, by name, with what was expected and what to do."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar

Z = np.zeros(2)
URDF = (
    '<robot name="r"><link name="a">{0}</link><link name="b">{0}</link><joint name="j" type="continuous"><parent link="a"/>'
    '<child link="b"/><axis xyz="0 0 1"/></joint></robot>'
).format('<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>')
TOML = """\
format = "titop"
version = 1
[parameters]
half = "1 / 2"
[world]
ports.A = { position = [0, 0, 1] }
[bodies.arm]
type = "rigid"
mass = 3
inertia = ["half", 1, 1]
[joints.hinge]
type = "revolute"
parent = "world.A"
child = "arm"
"""


def crane() -> tt.System:
    """Return a bob on a cart, with a motor and an encoder."""
    s = tt.System("crane", gravity=[0, 0, -9.81])
    bob = tt.RigidBody("bob", mass=1.0, com=[0, 0, -0.5], inertia=0.01, ports={"tip": [0, 0, -1]})
    s.connect("world", tt.RigidBody("cart", mass=2.0), tt.Prismatic("rail", axis=[1, 0, 0], damping=0.1))
    s.connect(s["cart"], bob, tt.Revolute("hinge", axis=[0, 1, 0]))
    s.add_actuator(tt.Motor("motor", "hinge", effort_limit=8.0))
    s.add_sensor(tt.Encoder("encoder", "hinge"))
    return s


@cache
def model() -> tt.Model:
    """Return the crane's model."""
    return crane().resolve()


@cache
def loop() -> tt.Model:
    """Return a closed loop's model."""
    return four_bar(tt.RigidClosure("pin", directions=np.eye(6)[:, :2])).resolve()


@cache
def point() -> tt.OperatingPoint:
    """Return the crane at rest."""
    return tt.trim(model(), ["hinge"])


def simulated(**k: Any) -> Any:
    """Simulate the crane, arguments replaced."""
    state = {"t": [0, 0.01], "q0": Z, "v0": Z, "progress": False} | k
    return tt.simulate(model(), state.pop("t"), state.pop("q0"), state.pop("v0"), **state)


def controlled(**k: Any) -> Any:
    """Simulate the crane with a controller, arguments replaced."""
    gains = control.ss([], [], [], [[20.0, 4.0]], inputs=["hinge_q", "hinge_v"], outputs=["motor"])
    return simulated(**({"controller": gains, "sample_time": 0.01} | k))


def trimmed(unknowns: Any = ("hinge",), **k: Any) -> Any:
    """Trim the crane."""
    return tt.trim(model(), unknowns, **k)


def linear(inputs: Any = ("rail",), outputs: Any = ("hinge.q",), at: Any = None, **k: Any) -> Any:
    """Linearise the crane at rest."""
    return tt.linearize(model(), at or point(), inputs=inputs, outputs=outputs, **k)


def family(values: Any = (0.5, 1.0), name: str = "bob.mass", **k: Any) -> Any:
    """Return the crane's family over a parameter."""
    fields = {"inputs": ["rail"], "outputs": ["hinge.q"], "unknowns": ["hinge"], "progress": False} | k
    return tt.lpv(model(), {name: values}, **fields)


def sampled(draw: Any = (0.8, 1.2), n: Any = 2, run: Any = lambda m: {"x": 1.0}, name: str = "bob.mass", **k: Any) -> Any:
    """Run something at random parameters."""
    return tt.monte_carlo(model(), {name: draw}, run, n, progress=False, **k)


def robot(old: str, new: str, **k: Any) -> Any:
    """Resolve a robot, a part of its file replaced."""
    return tt.from_urdf(URDF.replace(old, new, 1), **k).resolve()


def filed(old: str, new: str) -> Any:
    """Resolve a model file, a part replaced."""
    assert old in TOML
    Path("x.toml").write_text(TOML.replace(old, new, 1), "utf-8")
    return tt.load("x.toml").resolve()


def with_(*methods: Any) -> Any:
    """Resolve the crane with additions: names of methods, and functions of the system that return their arguments."""
    s = crane()
    for method, arguments in zip(methods[::2], methods[1::2], strict=True):
        getattr(s, method)(*arguments(s))
    return s.resolve()


def hinged(**fields: Any) -> Any:
    """Resolve a body, fields replaced."""
    return on(tt.Revolute("j"), tt.RigidBody(**({"name": "b", "mass": 1.0, "inertia": 1.0} | fields)))


def on(joint: Any, body: Any = None) -> Any:
    """Resolve a body on a joint."""
    s = tt.System("rig")
    s.connect("world", body or tt.RigidBody("b", 1.0, inertia=1.0), joint)
    return s.resolve()


#: Code, where, and the call.
CASES: list[tuple[str, str, Callable[[], Any]]] = [
    ("bad-times", "t", lambda: simulated(t=[0, 1, 0.5])),
    ("bad-times", "t", lambda: simulated(t=[0, np.nan])),
    ("bad-times", "t", lambda: simulated(t="soon")),
    ("no-state", "q0", lambda: simulated(q0=None)),
    ("wrong-type", "v0", lambda: simulated(v0={"nope": 1})),
    ("wrong-length", "tau", lambda: simulated(tau=lambda t, q, v: [1, 2, 3])),
    ("not-finite", "tau[0]", lambda: simulated(tau=lambda t, q, v: [np.nan, 0])),
    ("wrong-signature", "tau", lambda: simulated(tau=lambda t, q: [0, 0])),
    ("wrong-signature", "u", lambda: simulated(u=lambda t, q: [0])),
    ("wrong-signature", "u['motor']", lambda: simulated(u={"motor": lambda: 0})),
    ("wrong-signature", "wrenches['bob.tip']", lambda: simulated(wrenches={"bob.tip": lambda t, q: np.zeros(6)})),
    ("unknown-port", "wrenches['nope.C']", lambda: simulated(wrenches={"nope.C": np.zeros(6)})),
    ("wrong-shape", "wrenches['bob.tip']", lambda: simulated(wrenches={"bob.tip": [0, 0, 1]})),
    ("bad-tolerance", "rtol", lambda: simulated(rtol=0.0)),
    ("bad-tolerance", "atol", lambda: simulated(atol="fine")),
    ("unknown-name", "atol", lambda: simulated(atol={"hing": 1e-9, "default": 1e-6})),
    ("bad-tolerance", "max_step", lambda: simulated(max_step=np.nan)),
    ("unknown-method", "method", lambda: simulated(method="RK7")),
    ("unknown-method", "method", lambda: simulated(method=tt.GeneralizedAlpha)),
    ("unknown-coordinate", "prescribed", lambda: simulated(prescribed={"nope": lambda t: 0})),
    ("wrong-type", "prescribed", lambda: simulated(prescribed={"hinge": 0.5})),
    ("wrong-signature", "prescribed", lambda: simulated(prescribed={"hinge": lambda t, q: 0})),
    ("bad-motion", "prescribed['hinge']", lambda: simulated(prescribed={"hinge": lambda t: [0, 1]})),
    ("wrong-type", "events", lambda: simulated(events=lambda t, q, v: q[0])),
    ("wrong-type", "event 'event'", lambda: simulated(events=tt.Event(3))),
    ("wrong-signature", "event 'end'", lambda: simulated(events=tt.Event(lambda t, q: t, "end"))),
    ("wrong-type", "event 'end'", lambda: simulated(events=tt.Event(lambda t, q, v: q, "end"))),
    ("duplicate-name", "events", lambda: simulated(events=[tt.Event(lambda t, q, v: 1.0), tt.Event(lambda t, q, v: 1.0)])),
    ("unknown-input", "u", lambda: simulated(u={"nope": 1})),
    ("wrong-type", "u['motor']", lambda: simulated(u={"motor": "1"})),
    ("no-parameter", "parameters", lambda: tt.lft(model(), point(), {(): (1.0, 2.0)})),
    ("unknown-parameter", "3", lambda: model().with_parameters({3: 1.0})),
    ("wrong-type", "path", lambda: tt.LPVModel.load(None)),  # type: ignore[arg-type]
    ("wrong-type", "path", lambda: tt.load_trajectory(3, model())),  # type: ignore[arg-type]
    ("wrong-type", "saturate", lambda: simulated(saturate="no")),
    ("no-controller", "reference", lambda: simulated(reference={"hinge.q": 0})),
    ("no-controller", "operating_point", lambda: simulated(operating_point="trim")),
    ("wrong-type", "controller", lambda: controlled(controller="K")),
    ("bad-time", "sample_time", lambda: controlled(sample_time=-1)),
    ("bad-time", "delay", lambda: controlled(delay=np.nan)),
    ("unknown-signal", "reference", lambda: controlled(reference={"nope.q": 0})),
    ("wrong-signature", "reference['hinge.q']", lambda: controlled(reference={"hinge.q": lambda: 0})),
    ("bad-noise", "noise", lambda: controlled(noise={"hinge.q": -1})),
    ("bad-seed", "seed", lambda: controlled(noise={"hinge.q": 1e-3}, seed="x")),
    ("no-sample-time", "noise", lambda: controlled(noise={"hinge.q": 1e-3}, sample_time=None)),
    ("wrong-type", "model", lambda: tt.simulate(crane(), [0, 1], Z, Z)),
    ("wrong-signature", "update", lambda: tt.Controller(lambda t: 0, [], ["hinge.q"], ["motor"], 0.1)),
    ("wrong-type", "family", lambda: tt.ScheduledController(None, None, 0.1)),
    ("bad-radius", "spectral_radius", lambda: tt.GeneralizedAlpha(2.0)),
    ("unknown-unknown", "unknowns", lambda: trimmed(["nope"])),
    ("duplicate-unknown", "unknowns", lambda: trimmed(["hinge", "hinge"])),
    ("bad-bounds", "bounds['hinge']", lambda: trimmed(bounds={"hinge": (1, -1)})),
    ("unknown-bound", "bounds", lambda: trimmed(bounds={"rail": (0, 1)})),
    ("bad-bounds", "bounds['hinge']", lambda: trimmed(bounds={"hinge": 1})),
    ("bad-tolerance", "tolerance", lambda: trimmed(tolerance=0)),
    ("wrong-type", "max_iterations", lambda: trimmed(max_iterations=1.5)),
    ("unknown-parameter", "nope", lambda: trimmed(parameters={"nope": 1})),
    ("wrong-type", "model", lambda: tt.trim(crane())),
    ("wrong-type", "values", lambda: tt.trim_along(model(), ["hinge"], {})),
    ("bad-tolerance", "tolerance", lambda: tt.trim_along(model(), "hinge.tau", [0, 1], tolerance=-1)),
    ("bad-tolerance", "tolerance", lambda: tt.trim_along(model(), "hinge.tau", [0, 1], tolerance=None)),
    ("wrong-type", "q", lambda: model().forward_dynamics([[0, 0], [0]], Z)),
    ("wrong-type", "v", lambda: model().forward_dynamics(Z, [[0, 0], [0]])),
    ("wrong-type", "q", lambda: model().energy([[0, 0], [0]], Z)),
    ("wrong-type", "q", lambda: model().inverse_dynamics_derivatives([[0, 0], [0]], Z, Z)),
    ("wrong-type", "dq", lambda: model().forward_dynamics_tangent(Z, Z, Z, [[0, 0], [0]], Z, Z)),
    ("wrong-length", "out", lambda: model().forward_dynamics(Z, Z, out=[[0, 0], [0]])),
    ("wrong-type", "out", lambda: model().mass_inverse_dynamics(Z, Z, Z, out=np.empty(3))),
    ("wrong-type", "port", lambda: model().pose(crane()["bob"], Z)),
    ("wrong-type", "model", lambda: tt.load_trajectory("run.npz", crane())),
    ("wrong-type", "model", lambda: tt.trajectory_series(crane(), 0.0, {})),
    ("wrong-type", "rho", lambda: family().at(0.7)),
    ("bad-direction", "event 'event', direction", lambda: simulated(events=tt.Event(lambda t, q, v: 1.0, direction=2))),
    ("unknown-input", "inputs", lambda: linear(inputs=["nope"])),
    ("duplicate-input", "inputs", lambda: linear(inputs=["rail", "rail"])),
    ("unknown-output", "outputs", lambda: linear(outputs=[3])),
    ("bad-output", "outputs['f']", lambda: linear(outputs=[("f", lambda *x: np.nan)])),
    ("bad-output", "outputs['f']", lambda: linear(outputs=[("f", lambda *x: "a")])),
    ("wrong-type", "point", lambda: linear(at="here")),
    ("not-omissible", "omit", lambda: linear(omit=["hinge.q"])),
    ("unknown-coordinate", "coordinates", lambda: linear(hold=["nope"])),
    ("not-independent", "independent", lambda: linear(independent=["rail"])),
    ("other-model", "point", lambda: tt.linearize(loop(), point())),
    ("unknown-input", "inputs", lambda: model().to_nlsys(["nope"])),
    ("wrong-type", "point", lambda: tt.block_system(model(), "nope", point())),
    ("unknown-channel", "channels", lambda: tt.invert_channels(linear(), "nope")),
    ("wrong-type", "system", lambda: tt.invert_channels(model(), "rail")),
    ("wrong-type", "percent, lower", lambda: tt.percent("x")),
    ("wrong-type", "percent, upper", lambda: tt.percent(1.0, np.nan)),
    ("wrong-type", "path", lambda: crane().save(None)),
    ("bad-frame", "frame", lambda: model().jacobian("bob", Z, frame=np.zeros(2))),
    ("no-signals", "system", lambda: tt.signal_table(None)),
    ("wrong-type", "block", lambda: tt.check_block("b")),
    ("wrong-type", "parameters['bob.mass']", lambda: family([])),
    ("wrong-type", "parameters['bob.mass']", lambda: family([0.5, np.nan])),
    ("not-sorted", "parameters['bob.mass']", lambda: family([1.0, 1.0])),
    ("negative-mass", "bob.mass", lambda: family([-1.0, 1.0])),
    ("unknown-unknown", "unknowns", lambda: family(name="nope")),
    ("wrong-type", "workers", lambda: family(workers=0)),
    ("wrong-length", "points", lambda: family(points=[point()])),
    ("unknown-parameter", "at", lambda: family().at(nope=1)),
    ("outside", "at", lambda: family().at(bob_mass=7.0)),
    ("no-parameter", "at", lambda: family().at()),
    ("bad-count", "n", lambda: sampled(n=0)),
    ("bad-count", "n", lambda: sampled(n=10**12)),
    ("bad-distribution", "distributions['bob.mass']", lambda: sampled(draw=(1.2, 0.8))),
    ("bad-distribution", "distributions['bob.mass']", lambda: sampled(draw="normal")),
    ("bad-distribution", "distributions['bob.mass']", lambda: sampled(draw=lambda rng: np.nan)),
    ("failed-runs", "run", lambda: sampled(draw=(-2, -1))),
    ("unknown-parameter", "distributions['nope']", lambda: sampled(name="nope")),
    ("failed-runs", "run", lambda: sampled(run=lambda m: None)),
    ("failed-runs", "run", lambda: sampled(run=lambda m: 1 / 0)),
    ("wrong-type", "run", lambda: sampled(run=lambda: {})),
    ("wrong-type", "workers", lambda: sampled(workers=-1)),
    ("unknown-outcome", "outcome", lambda: sampled().statistics("nope")),
    ("unknown-parameter", "nope", lambda: model().with_parameters({"nope": 1})),
    ("not-finite", "bob.mass", lambda: model().with_parameters({"bob.mass": np.nan})),
    ("negative-mass", "bob.mass", lambda: model().with_parameters({"bob.mass": -1})),
    ("wrong-type", "bob.mass", lambda: model().with_parameters({"bob.mass": "heavy"})),
    ("wrong-type", "parameters", lambda: model().with_parameters(["bob.mass"])),
    ("bad-base", "base", lambda: robot("", "", base="floating")),
    ("wrong-shape", "r.gravity", lambda: robot("", "", gravity=[0, 0])),
    ("wrong-type", "repair", lambda: robot("", "", repair="yes")),
    ("cycle", "r.a", lambda: robot('<child link="b"/>', '<child link="a"/>')),
    ("missing-attribute", "r.j.type", lambda: robot(' type="continuous"', "")),
    ("zero-axis", "r.j.axis.xyz", lambda: robot("0 0 1", "0 0 0")),
    ("wrong-shape", "r.j.axis.xyz", lambda: robot("0 0 1", "0 1")),
    ("negative-damping", "r.j.dynamics.damping", lambda: robot("<axis", '<dynamics damping="-1"/><axis')),
    ("missing-limit", "r.j.limit", lambda: robot("continuous", "revolute")),
    ("unknown-joint", "r.j.mimic.joint", lambda: robot("<axis", '<mimic joint="j"/><axis')),
    ("beyond-a-turn", "r.j.origin.rpy", lambda: robot("<parent", '<origin rpy="0 0 90"/><parent')),
    ("negative-mass", "r.a.mass", lambda: robot('mass value="1"', 'mass value="-1"')),
    ("unreadable-file", "path", lambda: tt.from_urdf("/nowhere/r.urdf")),
    ("unknown-version", "version", lambda: filed("version = 1", "version = 9")),
    ("unknown-key", "springs", lambda: filed("[world]", "[springs.a]\nk = 1\n[world]")),
    ("bad-value", "parameters.half", lambda: filed('"1 / 2"', '"1 / 0"')),
    ("cyclic-parameters", "parameters.half", lambda: filed('"1 / 2"', '"half"')),
    ("bad-value", "parameters.half", lambda: filed('"1 / 2"', '"9**9**9**9"')),
    ("wrong-type", "bodies.arm.mass", lambda: filed("mass = 3", "mass = true")),
    ("unknown-port", "world.B", lambda: filed('"world.A"', '"world.B"')),
    ("wrong-type", "load", lambda: tt.load(None)),
    ("bad-prefix", "crane.include", lambda: with_("include", lambda s: (crane(), "a.b"))),
    ("not-a-port", "crane.a.at", lambda: with_("include", lambda s: (crane(), "a", "nope"))),
    ("not-a-system", "crane.include", lambda: with_("include", lambda s: (model(), "a"))),
    ("self-connection", "g", lambda: with_("add_gear", lambda s: (tt.Gear("g", "hinge", "hinge"),))),
    ("unknown-joint", "g.driven", lambda: with_("add_gear", lambda s: (tt.Gear("g", "hinge", None),))),
    ("not-finite", "g.ratio", lambda: with_("add_gear", lambda s: (tt.Gear("g", "hinge", "rail", ratio=np.nan),))),
    ("not-a-gear", "add_gear", lambda: with_("add_gear", lambda s: ("g",))),
    ("not-a-sensor", "add_sensor", lambda: with_("add_sensor", lambda s: (3,))),
    ("unknown-joint", "e.joint", lambda: with_("add_sensor", lambda s: (tt.Encoder("e", "nope"),))),
    (
        "bad-sequence",
        "tracker.sequence",
        lambda: with_("add_sensor", lambda s: (tt.PoseSensor("tracker", s["bob"], sequence="xyz"),)),
    ),
    ("bad-name", "a.b.name", lambda: with_("add_sensor", lambda s: (tt.Gyro("a.b", s["bob"]),))),
    ("idle-motor", "idle.gear", lambda: with_("add_actuator", lambda s: (tt.Motor("idle", "rail", gear=0),))),
    ("bad-limits", "m2.effort_limit", lambda: with_("add_actuator", lambda s: (tt.Motor("m2", "rail", effort_limit=-1),))),
    (
        "zero-axis",
        "jet.direction",
        lambda: with_("add_actuator", lambda s: (tt.Thruster("jet", s["bob"], direction=[0, 0, 0]),)),
    ),
    ("bad-frame", "l.frame", lambda: with_("add_load", lambda s: (tt.Load("l", s["bob"], force=[1, 0, 0], frame="body"),))),
    ("not-a-closure", "x.closure", lambda: with_("close_loop", lambda s: ("world", s["bob"], tt.Revolute("x")))),
    ("two-parents", "bob", lambda: with_("connect", lambda s: ("world", s["bob"], tt.Revolute("x")))),
    ("not-a-port", "x.parent", lambda: with_("connect", lambda s: (None, tt.RigidBody("z", 1.0), tt.Revolute("x")))),
    ("zero-axis", "j.axis", lambda: on(tt.Revolute("j", axis=[0, 0, 0]))),
    ("negative-stiffness", "j.stiffness", lambda: on(tt.Revolute("j", stiffness=-1))),
    ("wrong-type", "j.limits", lambda: on(tt.Revolute("j", limits=(-1, 1)))),
    ("wrong-type", "j.friction", lambda: on(tt.Revolute("j", friction=0.1))),
    ("bad-friction", "j.friction", lambda: on(tt.Revolute("j", friction=tt.Friction(coulomb=1, smoothing=0)))),
    ("wrong-shape", "j.rest", lambda: on(tt.Revolute("j", rest=[1, 2]))),
    ("not-a-count", "b.modes", lambda: on(tt.Weld("j"), tt.Beam("b", 1, 1, 1, 1, 1, 1, modes=1.5))),
    ("wrong-shape", "b.com", lambda: hinged(com=[0, 0])),
    ("not-finite", "b.mass", lambda: hinged(mass=np.inf)),
    ("not-finite", "b.mass", lambda: hinged(mass=None)),
    ("wrong-type", "b.ports", lambda: hinged(ports=["a"])),
    ("bad-name", "b.a.b", lambda: hinged(ports={"a.b": [0, 0, 1]})),
    ("duplicate-name", "world", lambda: hinged(name="world")),
    ("unknown-coordinate", "fixed", lambda: loop().assemble(np.zeros(3), fixed=["nope"])),
    ("wrong-length", "q", lambda: loop().inverse_dynamics(Z, Z, Z)),
    ("unknown-coordinate", "prescribed", lambda: model().hybrid_dynamics(Z, Z, Z, Z, prescribed=["nope"])),
    ("wrong-type", "q", lambda: model().forward_dynamics([10**400, 0], Z, Z)),
    ("out-of-range", "bob.mass", lambda: model().with_parameters({"bob.mass": 10**400})),
    ("wrong-type", "u['motor']", lambda: model().forward_dynamics(Z, Z, Z, u={"motor": 10**400})),
    ("wrong-type", "u['motor']", lambda: model().forward_dynamics(Z, Z, Z, u={"motor": [1, 2]})),
    ("wrong-length", "u", lambda: model().forward_dynamics(Z, Z, Z, u=[1, 2])),
    ("unknown-joint", "joint", lambda: model().reaction("nope", Z, Z, Z)),
    ("unknown-port", "port", lambda: simulated().motion("nope.C")),
    ("unknown-coordinate", "name", lambda: simulated().plot(["nope"])),
    ("unknown-block", "crane", lambda: crane()["nope"]),
    ("bad-engine", "engine", lambda: crane().resolve("numba")),
    ("unknown-format", "x.json", lambda: crane().save("x.json")),
]


def found(call: Callable[[], Any]) -> list[tuple[str, str, str]]:
    """Return code, place and message of all that a call refuses or warns of; other exceptions and warnings pass."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "Setting the shape", DeprecationWarning)  # python-control 0.10 with NumPy 2.5
        try:
            call()
        except tt.ModelError as error:
            return [(finding.code, finding.where, str(error)) for finding in error.findings]
    texts = [str(w.message) for w in caught if w.category is tt.ModelWarning]
    assert len(texts) == len(caught)
    return [(text.rpartition("[")[2].rstrip("]"), text.partition(": got ")[0], text) for text in texts]


@pytest.mark.parametrize(("code", "where", "call"), CASES, ids=[f"{k}-{where}" for k, (_, where, _) in enumerate(CASES)])
def test_it_is_refused_or_warned_of_by_name(
    code: str, where: str, call: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    findings = found(call)
    assert (code, where) in [finding[:2] for finding in findings], findings
    for _, _, text in findings:
        assert ": got " in text
        assert "; expected " in text
        assert text.partition("; expected ")[2].partition(";")[2].strip()  # advice


def test_there_are_a_hundred() -> None:
    assert len(CASES) >= 100


def test_good_inputs_pass() -> None:
    """The control: nothing is found where nothing is wrong."""
    for call in (simulated, controlled, trimmed, linear, family, sampled, hinged, with_, lambda: robot("", "")):
        assert found(call) == []
