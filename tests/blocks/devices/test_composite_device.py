"""Devices that are made of several blocks: what follows from their fields, in models, files and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.blocks.contract.fields import Field, Fixed, scalar
from titop.blocks.devices.loads import read_target
from titop.graph.files.saving import to_text

AT = {"bell.length": 0.7, "bell.height": 0.4, "bell.mass": 3.0}


class Bell(tt.CompositeDevice):
    """A pendulum below a port, with a bob, a motor and a spring to the ground; everything follows from three numbers."""

    parameter_units = {"length": "m", "height": "m", "mass": "kg"}  # noqa: RUF012
    target = Fixed(read_target)
    length, height, mass = Field(scalar), Field(scalar), Field(scalar)

    def __init__(self, name: str, target: Any, length: float = 0.5, height: float = 0.2, mass: float = 2.0) -> None:
        super().__init__(name)
        self.target, self.length, self.height, self.mass = target, length, height, mass

    def parts(self) -> Iterator[tuple[Any, ...]]:
        tip = tt.Pose([0.0, 0.0, -self.length])
        bob = tt.RigidBody(f"{self.name}/bob", self.mass, com=tip.position, inertia=0.1 * self.mass, ports={"tip": tip})
        hinge = tt.Revolute(self.name, axis=[1, 0, 0], stiffness=self.mass * self.length**2)
        yield "connect", self.target, bob, hinge, tt.Pose([0.0, 0.0, self.height])
        yield "add_load", tt.Load(f"{self.name}/pull", bob.port("tip"), force=[0.0, 1.0, 0.0])
        yield "add_actuator", tt.Motor(f"{self.name}/motor", self.name, gear=4.0 * self.length)
        yield "add_sensor", tt.Encoder(f"{self.name}/angle", self.name)


tt.register_block(Bell, "bell")


def tower(late: bool = False, **fields: float) -> tt.System:
    """Return a bell on a body that swings; its fields are given, or set `late`, after it was added."""
    s = tt.System("tower")
    base = tt.RigidBody("base", 5.0, inertia=1.0, ports={"top": tt.Pose([0.1, 0, 1.0])})
    bell = Bell("bell", base.port("top"), **({} if late else fields))
    s.add_device(bell)
    s.connect("world", base, tt.Revolute("sway", axis=[1, 0, 0], stiffness=300.0))
    s.connect(bell["bob"].port("tip"), tt.RigidBody("clapper", 0.3, com=[0, 0, -0.1], inertia=0.01), tt.Revolute("clap"))
    for field, value in fields.items() if late else ():
        setattr(bell, field, value)
    return s


def motion(model: tt.Model) -> np.ndarray:
    rng = np.random.default_rng(3)
    return model.forward_dynamics(*(rng.normal(size=model.nv) for _ in range(3)))


FIELDS = {name.removeprefix("bell."): value for name, value in AT.items()}


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_parts_follow_in_every_way_of_changing_the_device(engine: str) -> None:
    built = tower(**FIELDS).resolve(engine)
    at_once = tower().resolve(engine).with_parameters(AT)
    one_by_one = tower().resolve(engine)
    for name, value in AT.items():
        one_by_one = one_by_one.with_parameters({name: value})
    for model in (at_once, one_by_one, tower(late=True, **FIELDS).resolve(engine)):
        assert motion(model) == pytest.approx(motion(built), rel=1e-13)  # the same numbers, summed in the same order
        assert model.parameters() == built.parameters()
    assert np.abs(motion(tower().resolve(engine)) - motion(built)).max() > 0.1


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_part_that_was_changed_stays_so_where_nothing_follows(engine: str) -> None:
    model = tower().resolve(engine).with_parameters({"bell/bob.inertia.xx": 0.3, "bell/motor.gear": 5.0})
    model = model.with_parameters({"bell.height": 0.3})
    assert model.parameters()["bell/bob.inertia.xx"][0] == 0.3
    assert model.parameters()["bell/motor.gear"][0] == 5.0
    model = model.with_parameters({"bell.mass": 1.0, "bell/bob.inertia.yy": 0.15})
    assert [model.parameters()[f"bell/bob.inertia.{k}"][0] for k in ("xx", "yy")] == [0.1, 0.15]


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_sensitivities_to_a_device_are_those_of_models_built_with_other_fields(engine: str) -> None:
    rng, model = np.random.default_rng(4), tower().resolve(engine)
    state, step = [rng.normal(size=3) for _ in range(3)], 1e-3
    for function, sensitivities in (
        ("forward_dynamics", model.forward_dynamics_sensitivities),
        ("inverse_dynamics", model.inverse_dynamics_sensitivities),
    ):
        found = sensitivities(*state, [*AT, "base.mass", "bell/bob.mass"])
        for name in AT:
            field, value = name.removeprefix("bell."), getattr(tower().devices[0], name.removeprefix("bell."))
            ahead, behind = (
                [getattr(tower(**{field: value + k * sign * step}).resolve(engine), function)(*state) for k in (1, 2, 3)]
                for sign in (1, -1)
            )
            pairs = [a - b for a, b in zip(ahead, behind, strict=True)]
            expected = (45 * pairs[0] - 9 * pairs[1] + pairs[2]) / (60 * step)
            assert found[name] == pytest.approx(expected, rel=1e-8, abs=1e-8)  # rounding of differences over the step
        assert np.abs(found["bell.mass"] - found["bell/bob.mass"]).max() > 1e-3  # of which it is only a part


@pytest.mark.parametrize("names", [["bell.mass"], ["bell.height", "clapper.mass"], [*AT]])
def test_linear_models_of_uncertain_devices_are_those_of_changed_ones(names: list[str]) -> None:
    """The family of fractions at values inside, and a grid; nothing is fitted."""
    s, signals = tower(), {"inputs": ["bell/motor"], "outputs": ["sway.q", "bell/angle"]}
    s["bell/pull"].force = np.zeros(3)
    model = s.resolve()
    family = tt.lft(model, model.neutral(), {name: tt.percent(20) for name in names}, **signals)
    at = {name: 1.13 * model.parameters()[name][0] for name in names}
    expected = tt.linearize(model.with_parameters(at), model.neutral(), **signals)
    grid = tt.lpv(model, {name: [value, 1.1 * value] for name, value in at.items()}, **signals)
    for found, tolerance in ((family.at(at), 1e-11), (grid.at(at), 1e-13)):  # rounding of pieces of a fourth degree; none
        for w in (0.3, 2.0, 11.0):
            assert np.abs(found(1j * w) - expected(1j * w)).max() < tolerance * np.abs(expected(1j * w)).max()


def test_a_part_is_not_uncertain_twice() -> None:
    model = tower().resolve()
    with pytest.raises(tt.ModelError, match=r"bell/bob.mass: got bell.mass and bell/bob.mass.*given-twice"):
        tt.lft(model, model.neutral(), dict.fromkeys(("bell.mass", "bell/bob.mass"), tt.percent(5)), ["bell/motor"], ["sway.q"])


def test_files_hold_one_table_and_keep_the_order() -> None:
    s = tower(**FIELDS)
    text = to_text(s)
    assert ["[devices.bell]" in text, "bell/bob]" in text, "[joints.bell]" in text] == [True, False, False]
    loaded = tt.load(text)
    assert to_text(loaded) == text
    assert motion(loaded.resolve()).tolist() == motion(s.resolve()).tolist()
    assert loaded.resolve().parameters() == s.resolve().parameters()
    s["bell/bob"].mass = 9.0
    with pytest.raises(tt.ModelError, match=r"bell: got bell/bob.mass.*changed-part"):
        to_text(s)


@pytest.mark.parametrize(("order", "code"), [("3", "wrong-type"), ('["bell", 3]', "wrong-type"), ('["bull"]', "unknown-block")])
def test_an_order_that_is_none_is_refused(order: str, code: str) -> None:
    text = to_text(tower()).replace("order = [", f"order = {order} # [")
    with pytest.raises(tt.ModelError, match=f"order.*{code}"):
        tt.load(text)


def test_unknown_parts_are_refused_by_name() -> None:
    with pytest.raises(tt.ModelError, match=r"bell: got bop; .*did you mean 'bell/bob'"):
        tower().devices[0]["bop"]


def bob_mass(model: tt.Model) -> dict[str, float]:
    return {"bob": model.parameters()["bell/bob.mass"][0]}


def test_random_and_sought_numbers_may_be_those_of_devices() -> None:
    model = tower().resolve()
    samples = tt.monte_carlo(model, {"bell.mass": (1.0, 3.0)}, bob_mass, n=4, progress=False)
    assert (samples.outcomes["bob"] == samples.parameters["bell.mass"]).all()
    point = tt.trim(model, ["bell.length", "sway.tau", "clap.tau"], q={"bell": 0.03, "sway": 0.0, "clap": 0.0})
    assert np.abs(point.residual).max() < 1e-9  # an equilibrium's, of newtons
    assert point.model.parameters()["bell/bob.com.z"][0] == -point.parameters["bell.length"] < 0.0


def test_an_included_device_is_one_of_its_own() -> None:
    """Also below the world's port, which becomes one of the body that replaces the world."""
    s, other = tt.System("all"), tt.System("half")
    other.world.add_port("beam", tt.Pose([0, 0, 2.0], np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])))
    other.add_device(Bell("bell", other.world.port("beam")))
    carrier = tt.RigidBody("carrier", 1.0, inertia=1.0)
    s.connect("world", carrier, tt.Revolute("sway", axis=[0, 1, 0]))
    s.include(other, "left", at=carrier)
    s.include(other, "right")
    model = s.resolve().with_parameters({"left/bell.height": 0.5})
    values = model.parameters()
    assert [values[f"{side}/bell.placement.position.z"][0] for side in ("left", "right")] == [0.5, 0.2]
    assert model.pose("left/bell/bob", model.neutral())[1] == pytest.approx([0, 0, 2.5])
    assert model.pose("left/bell/bob", model.neutral())[0][1, 0] == pytest.approx(1.0)
    s.devices[0].mass = 7.0
    assert [s[f"{side}/bell/bob"].mass for side in ("left", "right")] == [7.0, 2.0]
    assert other["bell/bob"].mass == 2.0
    again = tt.System("outer")
    again.include(s, "a")
    assert to_text(tt.load(to_text(again))) == to_text(again)


def test_pictures_show_one_box() -> None:
    s = tower()
    for text in (s.to_mermaid(), s.to_dot()):
        assert ["Bell" in text, "clapper" in text, "bell/bob" in text] == [True, True, False]
    assert "Bell" in s._repr_html_()
    names = [artist.get_gid() for artist in s.draw().axes[0].texts if artist.get_gid().startswith("name:")]
    assert sorted(names) == ["name:base", "name:bell", "name:clap", "name:clapper", "name:sway", "name:world"]


def test_what_is_wrong_is_said_by_the_devices_name() -> None:
    s = tt.System("s")
    s.add_device(Bell("bell", "nothing", length="long"))  # type: ignore[arg-type]
    s.add_device(tt.Revolute("hinge"))  # type: ignore[arg-type]
    with pytest.raises(tt.ModelError) as caught:
        s.check()
    assert [f"{each.where}: {each.code}" for each in caught.value.findings] == [
        "bell.target: not-a-port",
        "bell.length: wrong-type",
        "add_device: not-a-device",
    ]
    s = tower()
    s.connect("world", s.devices[0], tt.Revolute("other"))
    with pytest.raises(tt.ModelError, match="not-a-body"):
        s.check()
    s = tower()
    s.devices[0].mass = "heavy"
    with pytest.raises(tt.ModelError, match=r"bell.mass: got heavy"):
        s.check()
    s.devices[0].mass = 1.0
    assert s.resolve().parameters()["bell/bob.mass"][0] == 1.0


def test_a_device_needs_a_name_of_its_own() -> None:
    s = tower()
    body = tt.RigidBody("tank", 1.0, inertia=1.0)

    class Nothing(Bell):
        def parts(self) -> Iterator[tuple[Any, ...]]:
            yield "add_load", tt.Load(f"{self.name}/push", self.target, force=[1, 0, 0])

    s.connect("world", body, tt.Revolute("hinge"))
    s.add_device(Nothing("tank", body))
    with pytest.raises(tt.ModelError, match=r"tank.*duplicate-name"):
        s.check()


@pytest.mark.parametrize("name", ["bell.weight", "bell/bob.weight"])
def test_unknown_and_unusable_parameters_are_refused(name: str) -> None:
    for engine in ("compiled", "reference"):
        model = tower().resolve(engine)
        with pytest.raises(tt.ModelError, match="unknown-parameter"):
            model.with_parameters({name: 1.0})
        with pytest.raises(tt.ModelError, match=r"bell.mass.*not-finite"):
            model.with_parameters({"bell.mass": np.nan})
        with pytest.raises(tt.ModelError, match=r"bell/bob.mass.*negative-mass"):
            model.with_parameters({"bell.mass": -1.0})
