"""Forms of names, each by itself: what they read, and that they read all that they propose."""

from __future__ import annotations

import pytest

import titop as tt
from titop.solvers.signals.forms import (
    CoordinateForm,
    Form,
    InputForm,
    LineForm,
    ParameterForm,
    PlainPositions,
    PortForm,
    ReactionForm,
    SectionForm,
    SensorForm,
)
from titop.solvers.signals.quantities import Kind


def system() -> tt.System:
    s = tt.System("s")
    rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e8, density=1e3, strains={"bending_z": 1})
    s.connect("world", tt.RigidBody("b", 1.0, inertia=1.0, ports={"C": [0, 0, 1]}), tt.Spherical("ball"))
    s.connect(s["b"].port("C"), rod, tt.Cylindrical("tube"))
    s.add_actuator(tt.Motor("motor", "tube.angle"))
    s.add_interaction(tt.Tendon("tendon", rod, y=0.005))
    s.add_sensor(tt.PoseSensor("pose", s["b"]))
    return s


MODEL = system().resolve("reference")
TWIST = {"v": (Kind.TWIST, range(3)), "w": (Kind.TWIST, range(3, 6))}
FORMS: dict[str, Form] = {
    "coordinates": CoordinateForm({".q": (Kind.POSITION, ".q"), "": (Kind.STATE, "")}),
    "plain positions": PlainPositions(),
    "ports": PortForm(TWIST),
    "ports as a whole": PortForm(TWIST, whole=True, world=True),
    "sections": SectionForm({"strain": (Kind.STRAIN, range(6))}),
    "inputs": InputForm(),
    "single inputs": InputForm(single=True),
    "sensors": SensorForm(),
    "reactions": ReactionForm(),
    "lines": LineForm(),
    "parameters": ParameterForm(),
}


@pytest.mark.parametrize("name", FORMS)
def test_what_is_proposed_is_read(name: str) -> None:
    form = FORMS[name]
    proposed = [*form.names(MODEL)]
    assert proposed
    assert len(set(proposed)) == len(proposed)
    for path in proposed:
        found = form.read(MODEL, path)
        assert found is not None
        assert len(found.entries) == len(found.paths) == len(set(found.paths)) > 0
    for other in ("nobody", "nobody.q", "ball.nothing", "", "."):
        assert form.read(MODEL, other) is None


def test_entries_of_several_coordinates_are_named_after_these() -> None:
    form = CoordinateForm({".v": (Kind.RATE, ".v")})
    tube = form.read(MODEL, "tube.v")
    assert tube is not None
    assert (tube.paths, tube.entries) == (("tube.displacement.v", "tube.angle.v"), (3, 4))
    one = form.read(MODEL, "tube.angle.v")
    assert one is not None
    assert one.paths == ("tube.angle.v",)
    assert form.read(MODEL, "tube") is None


def test_quaternions_have_entries_of_q_alone() -> None:
    found = [*PlainPositions().names(MODEL)]
    assert "tube.angle.q" in found
    numbers = [name for name in found if name.startswith("ball")]
    assert len(numbers) == 4  # one more than it has coordinates
    entry = PlainPositions().read(MODEL, numbers[3])
    assert entry is not None
    assert (entry.kind, entry.entries) == (Kind.CONFIGURATION, (3,))


def test_the_world_moves_only_if_it_is_asked_for() -> None:
    assert FORMS["ports"].read(MODEL, "world.v") is None
    whole = FORMS["ports as a whole"].read(MODEL, "world")
    assert whole is not None
    assert whole.entries == (0, 1, 2, 3, 4, 5)


def test_only_ports_on_rods_are_sections() -> None:
    assert FORMS["sections"].read(MODEL, "b.C.strain") is None
    assert FORMS["sections"].read(MODEL, "rod.tip.strain") is not None


def test_owners_stand_for_their_inputs_unless_single() -> None:
    several, single = FORMS["inputs"], FORMS["single inputs"]
    assert (several.read(MODEL, "tendon"), single.read(MODEL, "tendon")) != (None, None)
    assert single.read(MODEL, "tendon") is None
    assert several.read(MODEL, "tendon") is not None
    assert single.read(MODEL, "tendon.tension") is not None


def test_rates_of_lines_are_their_second_entry() -> None:
    length, rate = (FORMS["lines"].read(MODEL, f"tendon.{ending}") for ending in ("length", "rate"))
    assert length is not None
    assert rate is not None
    assert (length.kind, length.entries, rate.kind, rate.entries) == (Kind.LENGTH, (0,), Kind.LENGTH, (1,))
    assert FORMS["lines"].read(MODEL, "tendon.volume") is None
