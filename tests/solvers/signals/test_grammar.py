"""Names of signals: what they stand for, their units, and that nobody else takes them apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import control
import numpy as np
import pytest

import titop as tt
from examples.compiled_block import Telescope
from examples.custom_block import ConstantCurvatureSegment
from titop.blocks.devices import sensors
from titop.solvers.equilibrium.continuation import unit_of
from titop.solvers.signals import grammar
from titop.solvers.signals.derivatives import DERIVATIVES
from titop.solvers.signals.grammar import COMMANDED, INPUT, MEASURED, OUTPUT, STATE, UNKNOWN, Role, read_name
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.sensors import SENSORS
from titop.solvers.signals.snapshot import Snapshot
from titop.solvers.signals.units import UNITS, units_of
from titop.solvers.signals.values import SOURCES, value_of

ROOT = Path(tt.__file__).parent

#: Of the coordinates of `rig`, with those of their efforts: the work of both is in J.
COORDINATES = {
    "lift": ("m", "N"),
    "boom.extension": ("m", "N"),
    "boom.slosh": ("m", "N"),
    "hinge": ("rad", "N m"),
    "segment.bend": ("rad", "N m"),
}


class Boom(Telescope):
    """A telescope that says in which unit it slides."""

    units = ("m", "m")


def rig() -> tt.System:
    """Return blocks of users, one with coordinates in metres and one in radians, driven, read, geared and limited."""
    s = tt.System("rig", gravity=[0, 0, -9.81])
    boom, segment = Boom("boom", spring=300.0, damping=0.1), ConstantCurvatureSegment("segment", 0.6, 0.05, 120.0, 50.0, 0.1)
    tip = tt.RigidBody("tip", 0.2, com=[0.1, 0, 0], inertia=0.01, ports={"E": [0.2, 0, 0]})
    s.connect("world", boom, tt.Prismatic("lift", axis=[0, 0, 1], stiffness=400.0))
    s.connect(boom.port("C"), segment, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=80.0))
    s.connect(segment.port("C"), tip, tt.Weld("weld"))
    s.add_actuator(tt.Motor("slide", "boom.extension"))
    s.add_actuator(tt.Motor("bender", "segment.bend"))
    s.add_sensor(tt.Encoder("length", "boom.extension"))
    s.add_sensor(tt.Tachometer("bending", "segment.bend"))
    s.add_sensor(tt.PoseSensor("pose", tip, "ZYX"))
    s.add_limits(tt.CoordinateLimits("buffer", "boom.extension", tt.Limits(upper=0.001, velocity=9.0, stiffness=0.0)))
    s.add_limits(tt.CoordinateLimits("stop", "segment.bend", tt.Limits(upper=0.001, stiffness=1.0)))
    return s


def tumbler() -> tt.System:
    """Return two bodies in space, with a gyro and a pose sensor."""
    s = tt.System("tumbler", gravity=[0.3, 0, -9.81])
    hub = tt.RigidBody("hub", 2.0, com=[0.1, 0, 0], inertia=[0.3, 0.4, 0.5], ports={"C": [0.5, 0.1, 0]})
    tip = tt.RigidBody("tip", 0.2, com=[0.1, 0, 0], inertia=0.01, ports={"E": [0.2, 0, 0.1]})
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("C"), tip, tt.Revolute("hinge", axis=[0.3, 1, 0.2]))
    s.add_sensor(tt.Gyro("gyro", hub))
    s.add_sensor(tt.PoseSensor("pose", tip, "ZYX"))
    return s


@pytest.fixture(scope="module")
def model() -> tt.Model:
    return rig().resolve()


# -- names -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "name", "kind", "owner", "entries", "paths"),
    [
        (OUTPUT, "hinge.q", Kind.POSITION, "hinge", (3,), ("hinge.q",)),
        (OUTPUT, "boom.extension.tau", Kind.EFFORT, "boom.extension", (1,), ("boom.extension.tau",)),
        (OUTPUT, "boom.a", Kind.ACCELERATION, "boom", (1, 2), ("boom.extension.a", "boom.slosh.a")),
        (OUTPUT, "segment.q", Kind.POSITION, "segment", (4,), ("segment.q",)),
        (OUTPUT, "segment.v", Kind.TWIST, "segment", (0, 1, 2), ("segment.v[0]", "segment.v[1]", "segment.v[2]")),
        (OUTPUT, "tip.E.w[1]", Kind.TWIST, "tip.E", (4,), ("tip.E.w[1]",)),
        (OUTPUT, "pose.theta[2]", Kind.POSE, "tip", (5,), ("pose.theta[2]",)),
        (OUTPUT, "pose.theta", Kind.POSE, "tip", (3, 4, 5), ("pose.theta[0]", "pose.theta[1]", "pose.theta[2]")),
        (OUTPUT, "length", Kind.CONFIGURATION, "boom.extension", (1,), ("length",)),
        (OUTPUT, "weld.reaction[3]", Kind.REACTION, "weld", (3,), ("weld.reaction[3]",)),
        (INPUT, "hinge", Kind.EFFORT, "hinge", (3,), ("hinge",)),
        (INPUT, "hinge.tau", Kind.EFFORT, "hinge", (3,), ("hinge",)),
        (INPUT, "bender", Kind.INPUT, "bender", (1,), ("bender",)),
        (INPUT, "tip.E.T", Kind.WRENCH, "tip.E", (3, 4, 5), ("tip.E.T[0]", "tip.E.T[1]", "tip.E.T[2]")),
        (INPUT, "tip.E[4]", Kind.WRENCH, "tip.E", (4,), ("tip.E.T[1]",)),
        (UNKNOWN, "segment", Kind.POSITION, "segment", (4,), ("segment.bend",)),
        (UNKNOWN, "lift.v", Kind.RATE, "lift", (0,), ("lift.v",)),
        (UNKNOWN, "tip.mass", Kind.PARAMETER, "tip.mass", (0,), ("tip.mass",)),
        (STATE, "boom", Kind.STATE, "boom", (1, 2), ("boom.extension", "boom.slosh")),
        (MEASURED, "hinge.q", Kind.CONFIGURATION, "hinge", (3,), ("hinge.q",)),
        (COMMANDED, "boom.extension", Kind.EFFORT, "boom.extension", (1,), ("boom.extension.tau",)),
    ],
)
def test_names_stand_for(model, role: Role, name: str, kind: Kind, owner: str, entries, paths) -> None:
    of = read_name(model, role, name)
    assert (of.kind, of.owner, of.entries, of.paths) == (kind, owner, entries, paths)


ROLES = {name: value for name, value in vars(grammar).items() if isinstance(value, Role)}


@pytest.mark.parametrize("role", ROLES.values(), ids=ROLES)
@pytest.mark.parametrize("name", ["hinge.x", "tip.E.w[3]", "Hinge", "", "[0]", ".q", "tip..w", 3, None])
def test_other_names_are_refused_with_advice(model, role: Role, name) -> None:
    with pytest.raises(tt.ModelError, match=re.escape(role.expected)) as refusal:
        read_name(model, role, name)
    assert refusal.value.findings[0].code == f"unknown-{role.what}"


@pytest.mark.parametrize("role", ROLES.values(), ids=ROLES)
def test_whatever_is_proposed_is_valid(model, role: Role) -> None:
    """All names of a role can be read, and the closest ones come first."""
    names = [*role.names(model)]
    assert len(names) >= model.nv
    for name in names:
        of = read_name(model, role, name)
        assert len(of.entries) == len(of.paths) > 0
        with pytest.raises(tt.ModelError, match=re.escape(repr(name))):
            read_name(model, role, f"{name}_")


# -- tables ----------------------------------------------------------------------------------------------------------------


def test_every_kind_that_can_be_named_has_its_entries(model) -> None:
    named = {of.kind for role in ROLES.values() for of in role.quantities(model)}
    readable = {of.kind for role in (OUTPUT, MEASURED) for of in role.quantities(model)}
    readable |= {Kind.MOMENTUM, Kind.SPECIFIC_FORCE}  # of sensors that this system has not
    assert named - {Kind.PARAMETER, Kind.STATE} <= set(UNITS)
    assert set(DERIVATIVES) == set(SOURCES) == readable


def test_every_sensor_has_an_entry() -> None:
    assert set(SENSORS) == set(sensors.KINDS.__args__)


@pytest.mark.parametrize(
    ("kind", "entries", "compiled"),
    [
        (Kind.SPECIFIC_FORCE, (2, 0, 1), True),
        (Kind.PORT_ACCELERATION, (1, 3, 5), True),
        (Kind.TWIST, (0, 2, 4), True),
        (Kind.TWIST, (5, 3, 4), True),
        (Kind.PLACE, (2, 1, 0), True),
        (Kind.ANGLES, (2, 0, 1), True),
        (Kind.POSE, (5, 4, 0), True),
        (Kind.RATE, (4, 0, 1), True),
        (Kind.CONFIGURATION, (3, 2, 4), True),
        (Kind.ACCELERATION, (0, 3, 1), False),
    ],
)
def test_a_sensor_is_what_its_entry_says(monkeypatch, kind: Kind, entries: tuple[int, ...], compiled: bool) -> None:
    """In both engines, for stacked states too; kinds that the kernels do not know are read in Python."""
    monkeypatch.setitem(SENSORS, sensors.PoseSensor, lambda _, s: Quantity(kind, "tip.E", entries, s.output_names[:3]))
    m, reference = (tumbler().resolve(engine) for engine in ("compiled", "reference"))
    assert (m._sensors is not None) == compiled
    rng = np.random.default_rng(1)
    q, (v, a) = m.random_configuration(rng), rng.normal(size=(2, m.nv))
    found = m.outputs(q, v, a)
    expected = value_of(Snapshot(reference, q, v, a, np.zeros(m.nv), None, None), read_name(m, OUTPUT, "pose"))
    np.testing.assert_allclose(found[3:], expected, rtol=1e-10, atol=1e-10)  # rounding of sums of some ten terms
    np.testing.assert_allclose(found, reference.outputs(q, v, a), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(m.outputs(*(np.tile(x, (2, 1)) for x in (q, v, a))), [found, found], rtol=1e-12)
    assert len(set(np.round(expected, 9))) == 3, "the order of the entries matters"


# -- units -----------------------------------------------------------------------------------------------------------------


def expected_units() -> dict[str, str]:
    """Return the unit of every signal of the coordinates, by path."""
    units: dict[str, str] = {}
    for name, (unit, effort) in COORDINATES.items():
        units |= {f"{name}.q": unit, f"{name}.v": f"{unit}/s", f"{name}.a": f"{unit}/s^2", f"{name}.tau": effort, name: effort}
    return units


def test_units_in_signal_tables(model) -> None:
    units, outputs = expected_units(), [f"{name}.{end}" for name in COORDINATES for end in ("q", "v", "a", "tau")]
    systems = [
        tt.linearize(model, tt.trim(model), [*COORDINATES], outputs),
        model.to_nlsys([*COORDINATES], outputs),
        tt.block_system(model, tt.trim(model), "boom"),
        tt.block_system(model, tt.trim(model), "segment"),
    ]
    for system in systems:
        table = {signal.path: signal.unit for signal in tt.signal_table(system).values()}
        known = {path: unit for path, unit in table.items() if path in units}
        assert known == {path: units[path] for path in known}
        assert len(known) >= 4
    assert model.output_units[:2] == ("m", "rad/s")
    assert dict(zip(model.input_names, model.inputs.units, strict=True)) == {"slide": "N", "bender": "N m"}


def test_units_of_equilibria_and_families(model) -> None:
    units = expected_units() | {name: unit for name, (unit, _) in COORDINATES.items()}  # as unknowns, names are coordinates
    for name in (*COORDINATES, *(f"{name}.{end}" for name in COORDINATES for end in ("q", "v", "tau"))):
        assert unit_of(model, name) == units[name]
    family = tt.lpv(model, {"segment.bend.q": [0.0, 0.01], "slide": [0.0]}, unknowns=[*model.coordinate_names[:4], "bender"])
    assert family.units == {"segment.bend.q": "rad", "slide": "N"}
    text = str(tt.trim(model, v={"lift": 0.0}))
    for name, (unit, _) in COORDINATES.items():
        assert re.search(rf"^  {re.escape(name)} = \S+ {unit}$", text, re.MULTILINE)


def test_units_of_trajectories(model) -> None:
    K = control.ss(
        [], [], [], -np.eye(2), inputs=["boom_extension_q", "segment_bend_v"], outputs=["boom_extension", "segment_bend"]
    )
    run = tt.simulate(model, [0, 0.05, 0.1], model.neutral() + 0.01, model.velocity(), controller=K, sample_time=0.05)
    data = run.to_xarray()
    units = expected_units()
    for axis in ("configuration", "coordinate"):
        names, found = data[axis].values.tolist(), data[f"{axis}_unit"].values.tolist()
        assert dict(zip(names, found, strict=True)) == {name: unit for name, (unit, _) in COORDINATES.items()}
    assert data["commanded_signal_unit"].values.tolist() == ["N", "N m"]
    assert data["measured_signal_unit"].values.tolist() == [units["boom.extension.q"], units["segment.bend.v"]]
    assert data["reference_signal_unit"].values.tolist() == data["measured_signal_unit"].values.tolist()
    titles = [axis.get_title() for axis in run.plot().axes if axis.get_visible()]
    assert titles == [f"{name} [{unit}]" for name, (unit, _) in COORDINATES.items()]
    beyond = {finding.where: f"{finding.value} {finding.expected}" for finding in run.violations()}
    assert re.search(r" m at t = .* and 0.001 m$", beyond["boom.extension position"])
    assert re.search(r" rad at t = .* and 0.001 rad$", beyond["segment.bend position"])


def test_units_of_parameters_are_those_of_the_coordinates(model) -> None:
    units = {name: unit for name, (_, unit) in model.parameters().items()}
    assert (units["stop.limits.upper"], units["stop.limits.stiffness"]) == ("rad", "N m/rad^1.5")
    assert (units["buffer.limits.upper"], units["slide.rotor_inertia"], units["bender.rotor_inertia"]) == ("m", "kg", "kg m^2")
    s = rig()
    s.add_gear(tt.Gear("pair", driver="segment.bend", driven="boom.slosh", ratio=0.1))
    s.add_interaction(tt.Cable("cord", arms=[0.1, 1.0]), s["boom"].port("C"), s["tip"].port("E"), "hinge", "lift")
    units = {name: unit for name, (_, unit) in s.resolve().parameters().items()}
    assert (units["pair.ratio"], units["pair.offset"]) == ("m/rad", "m")
    assert (units["cord.arms.0"], units["cord.arms.1"]) == ("m/rad", "1")


def test_units_that_titop_does_not_know() -> None:
    """The work of an effort along its coordinate is in J whatever the unit; without a unit, everything counts in parts."""
    s = tt.System("jelly")
    jelly = Telescope("jelly")
    jelly.units = ("m sqrt(kg)", "mm")
    s.connect("world", jelly, tt.Weld("weld"))
    m = s.resolve()
    assert units_of(m, read_name(m, OUTPUT, "jelly.tau")) == ("J/(m sqrt(kg))", "J/mm")
    assert units_of(m, read_name(m, OUTPUT, "jelly.q")) == ("m sqrt(kg)", "mm")
    jelly.units = ()
    assert units_of(m, read_name(s.resolve(), OUTPUT, "jelly.q")) == ("m sqrt(kg)", "mm"), "the model keeps its own"
    assert units_of(s.resolve(), read_name(m, OUTPUT, "jelly.extension.v")) == ("1/s",)
    jelly.units = ("m",)
    with pytest.raises(tt.ModelError, match=r"jelly\.units: got .*expected 2 units, or none.*bad-units"):
        s.resolve()


# -- one place -------------------------------------------------------------------------------------------------------------

#: Who takes dotted names apart; `compilation` does so with those of Python's modules.
ALLOWED = {
    "blocks/basics/paths.py",
    "solvers/signals/grammar.py",
    "solvers/signals/forms.py",
    "solvers/signals/exported.py",
    "solvers/native/compilation.py",
}

_AT_DOTS = {"partition", "rpartition", "split", "rsplit"}
_OF_ENDS = {"endswith", "removesuffix"}


def dissections(source: str) -> Iterator[int]:
    """Yield the lines in which a source takes dotted names apart: at a dot, by an ending, or by a pattern of a component."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        name, first = node.func.attr, [x.value for x in ast.walk(node.args[0]) if isinstance(x, ast.Constant)]
        texts = [text for text in first if isinstance(text, str)]
        at_dot = name in _AT_DOTS and "." in texts
        by_end = name in _OF_ENDS and any(re.fullmatch(r"\.[a-z]+", text) for text in texts)
        by_pattern = name in ("compile", "match", "fullmatch", "search") and any(r"\[" in text for text in texts)
        if at_dot or by_end or by_pattern:
            yield node.lineno


def test_nobody_else_takes_names_apart() -> None:
    files = [path for layer in ("blocks", "graph", "solvers") for path in sorted((ROOT / layer).rglob("*.py"))]
    assert len(files) > 250
    names = {path: path.relative_to(ROOT).as_posix() for path in files}
    found = {names[path] for path in files if [*dissections(path.read_text("utf8"))]}
    assert found - ALLOWED == set()


@pytest.mark.parametrize(
    "source",
    [
        'name.partition(".")',
        'owner, _, end = name.rpartition(".")',
        'name.split(".", 1)[0]',
        '"a.b".rsplit(".")',
        'name.removesuffix(".q")',
        'name.endswith((".q", ".v"))',
        're.compile(r"(.+)\\[(\\d+)\\]")',
    ],
)
def test_the_finder_of_dissections_finds(source: str) -> None:
    """The negative control."""
    assert [*dissections(source)] == [1]
    assert not [*dissections('name.split(", ") + text.endswith("q") + f"{name}.q" + re.compile("[a-z]").pattern')]
