"""Programs of systems of every kind against the engines: dynamics, derivatives, outputs, linear matrices, parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.every_kind import SYSTEMS, states
from titop.solvers.programs import tracing
from titop.solvers.programs.system_program import system_programs
from titop.solvers.signals.grammar import OUTPUT, read_name
from titop.solvers.signals.system_inputs import SystemInputs

#: A table of places is looked up by a whole number.
WITHOUT = {"a wire"}
#: Of their inverse or derivatives, which take seconds to record.
LARGE = {"soft bodies", "a rod that touches", "rods, tendons and chambers", "a little of everything", "beams in water"}
LARGE |= {"modal bodies and beams", "a loop in space", "a tree", "what rolls"}
#: Both engines sum in other orders; roundings grow with the conditions of inertias, most of them those of rods and beams.
ROUNDING = 1e-9

KINDS = [pytest.param(name, marks=[pytest.mark.long] if name in LARGE else []) for name in SYSTEMS if name not in WITHOUT]


def agree(found: Any, expected: Any, rounding: float = ROUNDING) -> None:
    """Assert that arrays agree, relative to the largest entry."""
    expected = np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=rounding * max(np.abs(expected).max(initial=0.0), 1e-300))


def evaluated(program: Any, function: str, given: dict[str, Any]) -> list[Any]:
    """Return the outputs of a function of a program by NumPy, without its health."""
    of = program.functions[function]
    found = of.evaluate({name: given[name] for name in of.inputs})
    return [array for name, array in found.items() if name != "health"]


def closed(model: tt.Model, rows: int = 2) -> tuple[dict[str, Any], Any]:
    """Return states of a model, and the nominal configuration."""
    given = states(model, rows)
    return given, given["q"][0]


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("name", KINDS)
def test_dynamics_are_those_of_the_engine(name: str) -> None:
    model = SYSTEMS[name]().resolve()
    given, at = closed(model)
    program = model.program("forward_dynamics", "inverse_dynamics", "mass_matrix", inputs=model.input_names, at=at)
    q, v, tau, a, u, x = (given[key][1] for key in ("q", "v", "tau", "a", "u", "x"))
    one = {"q": q, "v": v, "tau": tau, "a": a, "u": u, "x": x}
    agree(evaluated(program, "forward_dynamics", one)[0], model.forward_dynamics(q, v, tau, u=u, x=x))
    agree(evaluated(program, "inverse_dynamics", one)[0], model.inverse_dynamics(q, v, a, u=u, x=x))
    agree(evaluated(program, "mass_matrix", one)[0], model.mass_matrix(q))
    assert 1e-5 < program.health <= 1.0  # pivots of well-posed systems: far from what calls refuse, least in water


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("name", [each for each in SYSTEMS if each not in LARGE | WITHOUT])
def test_derivatives_are_those_of_the_engine(name: str) -> None:
    model = SYSTEMS[name]().resolve()
    given, at = closed(model)
    functions = ("forward_dynamics_derivatives", "inverse_dynamics_derivatives")
    program = model.program(*functions, at=at)
    q, v, tau, a, x = (given[key][1] for key in ("q", "v", "tau", "a", "x"))
    one = {"q": q, "v": v, "tau": tau, "a": a, "x": x}
    for function, last in zip(functions, (tau, a), strict=True):
        expected = getattr(model, function)(q, v, last, x=x) if model.nx else getattr(model, function)(q, v, last)
        for found, matrix in zip(evaluated(program, function, one), expected, strict=True):
            agree(found, matrix, 1e-8)  # some of the engine's own are by differences of the second order


@pytest.mark.parametrize("name", ["springs, friction and stops", "contacts", "states of joints", "surrounded, in Python"])
def test_energies_and_momenta_too(name: str) -> None:
    model = SYSTEMS[name]().resolve(engine="reference")
    given, at = closed(model)
    names = ("energy", "momentum", "center_of_mass", "nonlinear_effects", "gravity_effects", "passive_efforts")
    program = model.program(*names, "configuration_rate", "inverse_mass_matrix", at=at)
    q, v, x = (given[key][1] for key in ("q", "v", "x"))
    one = {"q": q, "v": v, "x": 0.0 * x}
    for name in (*names, "configuration_rate"):
        of_place = name in ("center_of_mass", "gravity_effects")
        expected = getattr(model, name)(q) if of_place else getattr(model, name)(q, v)
        agree(np.ravel(evaluated(program, name, one)), np.ravel(expected))
    agree(evaluated(program, "inverse_mass_matrix", one)[0] @ model.mass_matrix(q), np.eye(model.nv))


#: Terms that a model has beside these, and functions of ports, by their arguments.
TERMS = {
    "inertial_inverse_dynamics": "qva",
    "coriolis_matrix": "qv",
    "momentum_matrix": "q",
    "actuation_matrix": "q",
    "closure_error": "q",
    "closure_jacobian": "q",
    "closure_bias": "qv",
}
OF_PORTS = {
    "pose": "q",
    "twist": "qv",
    "acceleration": "qva",
    "accelerometer": "qva",
    "jacobian": "q",
    "jacobian_bias": "qv",
    "motion_derivatives": "qva",
}


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("name", ["a free base", "gears", "a planar loop", "inputs of all kinds", "an orbit", "a planet"])
def test_terms_and_motions_of_ports(name: str) -> None:
    """Of trees and loops, on a planet and about an orbit, whose world turns; what is zero is so but for rounding."""
    model = SYSTEMS[name]().resolve(engine="reference")
    given, at = closed(model)
    port, given = model.port_names[-1], {key: rows[1] for key, rows in given.items()}
    one = given | {"x": np.zeros(model.nx), "u": np.zeros(model.nu)}
    terms = TERMS if model.mechanism.assembly.field is not None else {**TERMS, "regressor": "qva"}
    program = model.program(*terms, inputs=model.input_names, at=at)
    for term, state in terms.items():
        expected = getattr(model, term)(*(given[key] for key in state))
        size = max(np.abs(expected).max(initial=0.0), 1.0)  # of the angular momentum in orbit, 1e8
        np.testing.assert_allclose(evaluated(program, term, one)[0], expected, rtol=0, atol=1e-12 * size)
    moved = given["v"] + 0.1
    with pytest.raises(AssertionError):
        agree(evaluated(program, "coriolis_matrix", one)[0], model.coriolis_matrix(given["q"], moved), 1e-3)
    for frame in ("port", "world"):
        program = model.program(*OF_PORTS, ports=port, frame=frame, at=at)
        for function, state in OF_PORTS.items():
            axes = {} if function == "pose" else {"frame": frame}
            expected = getattr(model, function)(port, *(given[key] for key in state), **axes)
            every = expected if isinstance(expected, tuple) else (expected,)
            for found, right in zip(evaluated(program, function, one), every, strict=True):
                np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-11)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("name", ["a free base", "a planar loop"])
def test_hybrid_dynamics(name: str) -> None:
    """The motion of the first joint is given, the efforts of all others."""
    model = SYSTEMS[name]().resolve(engine="reference")
    given, at = closed(model)
    q, v, tau, a = (given[key][1] for key in ("q", "v", "tau", "a"))
    joints = model.coordinate_names[:1]
    program = model.program("hybrid_dynamics", prescribed=joints, at=at)
    found = evaluated(program, "hybrid_dynamics", {"q": q, "v": v, "tau": tau, "a": a})
    for one, right in zip(found, model.hybrid_dynamics(q, v, tau, a, list(joints)), strict=True):
        agree(one, right, 1e-12)
    assert found[0][0] == a[0] != model.forward_dynamics(q, v, tau)[0]


def test_ports_are_stacked_and_belong_to_functions_of_them() -> None:
    model = SYSTEMS["a free base"]().resolve(engine="reference")
    q, ports = states(model, 1)["q"], model.port_names[-2:]
    program = model.program("jacobian", "pose", ports=ports)
    assert program.names["ports"] == ports
    np.testing.assert_allclose(program.jacobian(q)[0], [model.jacobian(port, q[0]) for port in ports], atol=1e-13)
    assert [each.shape for each in program.pose(q)] == [(1, 2, 3, 3), (1, 2, 3)]
    for code, functions, more in (
        ("no-ports", ["jacobian"], {}),
        ("no-ports", ["mass_matrix"], {"ports": ports}),
        ("no-prescribed", ["hybrid_dynamics"], {}),
        ("unknown-port", ["jacobian"], {"ports": ["tip"]}),
        ("duplicate-port", ["jacobian"], {"ports": ports[:1] * 2}),
        ("bad-frame", ["jacobian"], {"ports": ports, "frame": "body"}),
    ):
        with pytest.raises(tt.ModelError) as error:
            model.program(*functions, **more)
        assert [each.code for each in error.value.findings] == [code]


def test_stops_and_contacts_are_met_and_left() -> None:
    """At 60 random states of four hinges with stops some touch and some do not: branches are choices."""
    model = SYSTEMS["springs, friction and stops"]().resolve(engine="reference")
    program, rng = model.program("passive_efforts"), np.random.default_rng(0)
    q, v = rng.uniform(-0.3, 0.3, (2, 60, 4))
    found = evaluated(program, "passive_efforts", {"q": q, "v": v})[0]
    agree(found, [model.passive_efforts(*state) for state in zip(q, v, strict=True)])
    touching = (np.abs(q) > 0.1).sum()
    assert 40 < touching < 200


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_a_loop_is_followed_around() -> None:
    """The choice of dependent coordinates at one configuration serves others of the branch."""
    model = SYSTEMS["a planar loop"]().resolve(engine="reference")
    given, at = closed(model, 8)
    program = model.program("forward_dynamics", at=at)
    for q, v, tau in zip(given["q"], given["v"], given["tau"], strict=True):
        agree(evaluated(program, "forward_dynamics", {"q": q, "v": v, "tau": tau})[0], model.forward_dynamics(q, v, tau))


def test_parameters_are_arguments() -> None:
    """Changed ones give what a model with them gives; unchanged ones do not, which the error of the first model shows."""
    model = SYSTEMS["a free base"]().resolve(engine="reference")
    names = [name for name in model.parameters() if name.endswith((".mass", ".com.x", "inertia.xx", "axis.y", "placement.x"))][
        :8
    ]
    program = model.program("forward_dynamics", parameters=names)
    values = 1.1 * program.at["parameters"] + 0.01
    q, v, tau = (states(model, 1)[key][0] for key in ("q", "v", "tau"))
    changed = model.with_parameters(dict(zip(names, values, strict=True)))
    expected = changed.forward_dynamics(q, v, tau)
    agree(evaluated(program, "forward_dynamics", {"q": q, "v": v, "tau": tau, "parameters": values})[0], expected)
    unchanged = evaluated(program, "forward_dynamics", {"q": q, "v": v, "tau": tau, "parameters": program.at["parameters"]})[0]
    agree(unchanged, model.forward_dynamics(q, v, tau))
    assert np.abs(unchanged - expected).max() > 1e-3 * np.abs(expected).max()


def test_ratios_of_gears_and_directions_of_thrust_are_arguments_too() -> None:
    """What mechanisms of one structure share otherwise: constraints of gears, and what inputs do."""
    model = SYSTEMS["gears"]().resolve(engine="reference")
    names = ["pair.ratio", "rack.ratio", "motor.gear", "jet.direction.x", "jet.direction.y"]
    program = model.program("forward_dynamics", "inverse_dynamics", parameters=names, inputs=model.input_names)
    given, u = states(model, 1), np.array([0.7, 0.4])
    for name, number in zip(names, program.at["parameters"] + 0.1, strict=True):
        changed = model.with_parameters({name: number})
        q = changed.assemble(given["q"][0])
        v = changed.assemble_velocity(q, given["v"][0])
        a = changed.assemble_acceleration(q, v, given["a"][0])
        values = np.where([each == name for each in names], number, program.at["parameters"])
        one = {"q": q, "v": v, "tau": given["tau"][0], "a": a, "u": u, "parameters": values}
        agree(evaluated(program, "forward_dynamics", one)[0], changed.forward_dynamics(q, v, one["tau"], u=u))
        agree(evaluated(program, "inverse_dynamics", one)[0], changed.inverse_dynamics(q, v, a, u=u))


def test_what_sensors_measure_follows_parameters() -> None:
    """The momentum of a wheel, with the inertia of its body."""
    s = tt.System("wheel")
    wheel = tt.RigidBody("wheel", 1.0, inertia=[0.1, 0.1, 0.2])
    s.connect("world", wheel, tt.Revolute("spin"))
    s.add_sensor(tt.WheelMomentum("momentum", "spin"))
    program = s.resolve(engine="reference").program("outputs", parameters=["wheel.inertia.zz"])
    given = {"q": np.zeros(1), "v": np.array([3.0]), "a": np.zeros(1)}
    assert evaluated(program, "outputs", given | {"parameters": np.array([0.5])})[0] == pytest.approx(1.5)
    assert evaluated(program, "outputs", given | {"parameters": np.array([0.2])})[0] == pytest.approx(0.6)


@pytest.mark.parametrize("name", ["a free base", "inputs of all kinds", "air, light and magnetism", "an orbit"])
def test_outputs_are_those_of_sensors_and_ports(name: str) -> None:
    model = SYSTEMS[name]().resolve(engine="reference")
    given, at = closed(model)
    q, v, a = (given[key][1] for key in ("q", "v", "a"))
    program = model.program("outputs", at=at)
    agree(evaluated(program, "outputs", {"q": q, "v": v, "a": a, "tau": 0.0 * v})[0], model.outputs(q, v, a))
    port = model.port_names[-1]
    program = model.program("outputs", outputs=[f"{port}.{part}" for part in ("dv", "w", "r", "theta")], at=at)
    motion = model.motion(port, q, v, a)
    agree(evaluated(program, "outputs", {"q": q, "v": v, "a": a})[0], motion[[0, 1, 2, 9, 10, 11, 12, 13, 14, 15, 16, 17]])
    assert program.names["y"][0] == f"{port}.dv[0]"


@pytest.mark.parametrize("name", ["states of joints", "laws in Python", "air, light and magnetism"])
def test_linear_matrices_are_those_of_linearize(name: str) -> None:
    model = SYSTEMS[name]().resolve(engine="reference")
    q, v, tau = (states(model, 1)[key][0] for key in ("q", "v", "tau"))
    inputs, port = [*model.input_names[:2], model.coordinate_names[-1]], model.port_names[-1]
    outputs = [f"{model.coordinate_names[0]}.v", f"{port}.w", f"{port}.dv"]
    program = model.linear_program(inputs, outputs)
    given = {"q": q, "v": v, "tau": tau, "u": np.zeros(len(inputs) - 1), "x": np.zeros(model.nx)}
    with pytest.warns(tt.ModelWarning):  # it is no equilibrium
        linear = tt.linearize(model, (q, v, tau), inputs, outputs)
    expected = linear.A, linear.B, linear.C, linear.D
    for found, matrix in zip(evaluated(program, "linear_matrices", given), expected, strict=True):
        agree(found, matrix, 1e-8)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")  # they are no equilibria
@pytest.mark.parametrize("name", ["gears", "a planar loop", "gears in a loop"])
def test_linear_matrices_of_closed_systems_are_those_of_linearize(name: str) -> None:
    """At states away from the one at which rows and columns are chosen; some D are nothing but rounding."""
    model = SYSTEMS[name]().resolve(engine="reference")
    given, port = states(model, 4), model.port_names[-1]
    inputs, outputs = [*model.input_names[:1], model.coordinate_names[-1]], [f"{model.coordinate_names[0]}.v", f"{port}.dv"]
    program = model.linear_program(inputs, outputs, at=given["q"][0])
    independent = [path.removesuffix(".q") for path in program.names["A"] if path.endswith(".q")]
    assert program.names["A"] == (*(f"{each}.q" for each in independent), *(f"{each}.v" for each in independent))
    for k in range(1, 4):
        q, tau = model.assemble(given["q"][k]), given["tau"][k]
        v = model.assemble_velocity(q, given["v"][k])
        linear = tt.linearize(model, (q, v, tau), inputs, outputs, independent=independent)
        of = program.functions["linear_matrices"]
        found = of.evaluate({"u": np.zeros(len(inputs) - 1), "q": q, "v": v, "tau": tau})
        for side in "ABC":
            agree(found[side], getattr(linear, side), 1e-12)
        np.testing.assert_allclose(found["D"], linear.D, atol=1e-12)
        assert found["health"].min() > 0.1
        with pytest.raises(AssertionError):
            agree(found["A"], tt.linearize(model, (q, 2.0 * v, tau), inputs, outputs, independent=independent).A, 1e-12)


@pytest.mark.parametrize(
    "kind",
    [
        {"section": tt.Section.rectangle([0.01, 0.02], [0.02, 0.01]), "strains": {"torsion": 0}},
        {"section": tt.Section.circle([0.02, 0.0]), "fluid": tt.Fluid(900.0), "added_mass": "potential", "drag": 1.1},
        {"section": tt.Section.ellipse(0.02, 0.01), "reference_strain": [0.1, 0.2, 0.3, 1, 0, 0], "ports": {"fin": 0.4}},
    ],
)
def test_rods_follow_parameters_that_are_inputs(kind: dict[str, Any]) -> None:
    """Also where sections' moments have branches: which side of a rectangle is longer, ends where sections vanish."""
    s = tt.System("whip", gravity=[0, 0, -9.81])
    given = {"strains": {"bending_y": 0}, "points": 2, "damping": 30.0} | kind
    rod = tt.Rod("rod", 1.0, young=1e7, density=1e3, **given)
    s.connect("world", rod, tt.Revolute("hinge", axis=[0, 1, 0]))
    s.connect(rod.port("tip"), tt.RigidBody("bob", 0.1, inertia=1e-3 * np.eye(3)), tt.Weld("end"))
    m = s.resolve(engine="reference")
    values = {name: value for name, (value, _) in m.parameters().items() if name.startswith("rod.")}
    changed = m.with_parameters(values := {name: value + 0.1 * abs(value) for name, value in values.items()})
    program = m.program("forward_dynamics", parameters=[*values]).functions["forward_dynamics"]
    q, v, tau = 0.3 * np.random.default_rng(1).standard_normal((3, m.nv))
    found = program.evaluate({"q": q, "v": v, "tau": tau, "parameters": np.array([*values.values()])})["a"]
    right = changed.forward_dynamics(q, v, tau)
    assert np.abs(found - right).max() <= 1e-11 * np.abs(right).max()  # conditions of a rod's inertia, as in C
    assert np.abs(found - m.forward_dynamics(q, v, tau)).max() > 0.01 * np.abs(right).max()


def test_long_programs_are_told_before_they_are_compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    s = tt.System("whip", gravity=[0, 0, -9.81])
    rod = tt.Rod("whip", 1.0, tt.Section.circle(0.01), 1e7, 1e3, strains={"bending_y": 1}, points=2)
    s.connect("world", rod, tt.Weld("clamp"))
    model = s.resolve(engine="reference")
    monkeypatch.setattr(tracing, "LONG", 500)
    with pytest.warns(tt.ModelWarning, match=r"forward_dynamics: got .* operations.*give whip fewer coordinates"):
        model.program("forward_dynamics")
    monkeypatch.setattr(tracing, "LONGEST", 500)
    for function, got in (
        ("forward_dynamics", r"got \d+ op"),
        ("forward_dynamics_derivatives", "got more than 2500 operations"),
    ):
        with pytest.raises(tt.ModelError, match=got):  # the last while it is recorded
            model.program(function)
    for export in (lambda: model.program("forward_dynamics"), lambda: tt.export_fmu(model, tmp_path / "whip.fmu")):
        with pytest.raises(tt.ModelError, match="long-program"):
            export()
    assert not [*tmp_path.iterdir()]


def satellite() -> tt.System:
    """Return a hub with wheels out of balance and liquid in three tanks, one of them known by a table."""
    hub = tt.RigidBody("hub", 100.0, inertia=[10.0, 12.0, 14.0], ports={"A": [0.1, 0.2, 0.3]})
    s, at = tt.System("satellite", gravity=[0, 0, -1.0]), hub.port("A")
    s.connect("world", hub, tt.Free("base"))
    rotor = {"static_imbalance": 1e-3, "dynamic_imbalance": 1e-3, "phase": 0.3, "transverse_inertia": 0.08}
    s.add_device(tt.ReactionWheel("wheel", at, [0, 0.1, 1], 0.1, 5.0, 0.3, **rotor, speed_limit=1.0))
    lines = [(2, 1e-3, 1e-4)]
    s.add_device(tt.ReactionWheel("shaking", at, [0, 1, 0.2], 0.1, 5.0, **rotor, jitter="force", harmonics=lines))
    s.add_device(tt.Slosh.cylinder("lox", at, 0.6, 1.5, 0.7, 100.0, modes=2, viscosity=1e-3))
    s.add_device(tt.Slosh.sphere("tank", at, 0.6, 0.7, 114.0, model="spring", damping_ratio=0.01))
    rows = {"fills": [0, 1, 2], "mass": [10, 20, 30], "centre": [0.1, 0.15, 0.2]}
    modes = {"masses": [8, 12, 14], "lengths": [0.3, 0.28, 0.25], "heights": [0.1, 0.2, 0.3]}
    s.add_device(tt.Slosh.table("fuel", at, 0.5, **rows, **modes))
    return s


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_parameters_of_devices_are_those_of_the_model() -> None:
    """Each moves the parts as `with_parameters` does, all of them at once."""
    model, rng = satellite().resolve(engine="reference"), np.random.default_rng(0)
    names = [f"{device.name}.{entry}" for device in model.mechanism.assembly.devices for entry in device.parameters()]
    names.remove("fuel.fill")
    values = {name: model.parameters()[name][0] * rng.uniform(1.0, 1.05) for name in names}
    program = model.program("forward_dynamics", parameters=names)
    q, v, tau = model.random_configuration(rng), *rng.standard_normal((2, model.nv))
    given = {"q": q, "v": v, "tau": tau, "parameters": np.array([*values.values()])}
    expected = model.with_parameters(values).forward_dynamics(q, v, tau)
    agree(evaluated(program, "forward_dynamics", given)[0], expected, 1e-12)
    with pytest.raises(AssertionError):
        agree(expected, model.forward_dynamics(q, v, tau), 1e-3)
    stored = model.program("outputs", outputs=["wheel/momentum"], parameters=["wheel.inertia"])
    found = evaluated(stored, "outputs", {"q": q, "v": v, "a": 0.0 * v, "parameters": np.array([0.11])})[0]
    changed = model.with_parameters({"wheel.inertia": 0.11}).outputs(q, v, 0.0 * v)
    agree(found[0], changed[model.output_names.index("wheel/momentum")], 1e-12)
    both = model.program("mass_matrix", parameters=["wheel.mass", "wheel/rotor.mass"])  # what is given for a part precedes
    mass = evaluated(both, "mass_matrix", {"q": q, "parameters": np.array([9.0, 6.0])})[0]
    agree(mass, model.with_parameters({"wheel.mass": 9.0, "wheel/rotor.mass": 6.0}).mass_matrix(q), 1e-12)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_fmus_take_parameters_of_devices() -> None:
    """The programs of which FMUs are printed: rates, and a momentum that is weighed with the inertia."""
    hub = tt.RigidBody("hub", 100.0, inertia=[10.0, 12.0, 14.0])
    s = tt.System("satellite", gravity=[0, 0, 0])
    s.connect("world", hub, tt.Revolute("base"))
    s.add_device(tt.ReactionWheel("wheel", hub, [0, 0, 1], 0.1, 5.0))
    model, changed = s.resolve(engine="reference"), {"wheel.inertia": 0.3}
    point = tt.OperatingPoint(model, [0.1, 0.2], [0.3, 2.0], [0.0, 0.5])
    outputs = [read_name(model, OUTPUT, "wheel/momentum")]
    programs = system_programs(point, SystemInputs(model, []), outputs, [], [*changed])
    given = {"states": np.array([0.1, 0.2, 0.3, 2.0]), "inputs": np.zeros(0), "parameters": np.array([*changed.values()])}
    other = model.with_parameters(changed)
    agree(programs.rates.evaluate(given)["xdot"][2:], other.forward_dynamics(point.q, point.v, point.tau), 1e-12)
    agree(programs.outputs.evaluate(given)["y"], other.outputs(point.q, point.v, [0, 0]), 1e-12)


@pytest.mark.parametrize("eccentricity", [0.0, 0.01])
def test_parameters_of_orbits_are_those_of_the_model(eccentricity: float) -> None:
    """Also where a circular orbit becomes an ellipse: which form of its rates is taken is no matter of the nominal one."""
    model = SYSTEMS["an orbit"]().resolve(engine="reference")
    names = [name for name in model.parameters() if name.startswith("gravity.")]
    values = {name: model.parameters()[name][0] * 1.01 for name in names}
    values |= {"gravity.eccentricity": eccentricity, "gravity.anomaly": 0.7, "gravity.node": 0.2, "gravity.perigee": -0.3}
    program = model.program("forward_dynamics", parameters=names)
    given = {key: rows[0] for key, rows in states(model, 1).items()}
    given |= {"parameters": np.array([values[name] for name in names])}
    found, q, v, tau = evaluated(program, "forward_dynamics", given)[0], given["q"], given["v"], given["tau"]
    agree(found, model.with_parameters(values).forward_dynamics(q, v, tau))
    with pytest.raises(AssertionError):
        agree(found, model.forward_dynamics(q, v, tau))


def test_rates_are_those_of_the_parts() -> None:
    model = SYSTEMS["states of interactions"]().resolve(engine="reference")
    given = states(model, 1)
    q, v, tau, x = (given[key][0] for key in ("q", "v", "tau", "x"))
    program = model.program("rates", outputs=[f"{model.coordinate_names[0]}.a"])
    dq, dv, dx, y = evaluated(program, "rates", {"q": q, "v": v, "tau": tau, "x": x})
    agree(dq, model.configuration_rate(q, v))
    agree(dv, model.forward_dynamics(q, v, tau, x=x))
    agree(dx, model.state_rates(q, v, x))
    assert y[0] == dv[0]


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_what_cannot_be_recorded_is_named() -> None:
    with pytest.raises(tt.ModelError, match=r"wire.*float|wire.*known"):
        SYSTEMS["a wire"]().resolve(engine="reference").program("mass_matrix")
    model = SYSTEMS["what rolls"]().resolve(engine="reference")
    with pytest.raises(tt.ModelError, match=r"fuel.*float"):
        satellite().resolve(engine="reference").program("mass_matrix", parameters=["fuel.fill"])
    with pytest.raises(tt.ModelError, match="linear_matrices"):
        model.linear_program(model.coordinate_names[:1], [])
