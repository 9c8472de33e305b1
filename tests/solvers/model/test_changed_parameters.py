"""Models with other parameters: what these make suspicious is said, as the constructor says it, and once of many."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import ENGINES, body
from titop.solvers.engines.compiled import rounding
from titop.solvers.mechanism import system_parameters


def pendulum(engine: str = "compiled") -> tt.Model:
    """Return a body with a sprung, damped hinge, and a compliant closure to the world."""
    s = tt.System("pendulum", gravity=[0, 0, -9.81])
    arm = body(com=[0, 0, -1], inertia=[0.1, 0.2, 0.2])
    s.connect("world", arm, tt.Revolute("hinge", axis=[1, 0, 0], damping=0.1, stiffness=1.0))
    s.close_loop(s.world, arm.port("tip"), tt.CompliantClosure("rope", stiffness=0.1, damping=0.1))
    return s.resolve(engine)


def said(function: Callable[[], Any]) -> list[str]:
    """Return the titop warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return [str(warning.message) for warning in caught if issubclass(warning.category, tt.ModelWarning)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"hinge.damping": -0.1}, "negative-damping"),
        ({"hinge.stiffness": -0.1}, "negative-stiffness"),
        ({"rope.damping.x.x": -0.1}, "negative-damping"),
        ({"arm.inertia.zz": 0.9}, "triangle-inequality"),
        ({"arm.mass": 0.0}, "massless-inertia"),
        ({"hinge.damping": 0.2, "arm.inertia.zz": 0.25, "arm.mass": 2.0, "gravity.z": 1.0}, None),
    ],
)
def test_with_parameters_warns_as_the_constructor_does(engine: str, values: dict[str, float], code: str | None) -> None:
    model = pendulum(engine)
    found = said(lambda: model.with_parameters(values))
    assert [code in message for message in found] == ([True] if code else [])
    changed = model.with_parameters({"arm.com.z": -1.0}) if code is None else None
    assert changed is None or not said(lambda: changed.with_parameters({"arm.mass": 1.5}))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_was_said_before_is_not_said_again(engine: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        odd = pendulum(engine).with_parameters({"arm.inertia.zz": 0.9})
    assert len(said(lambda: odd.with_parameters({"arm.inertia.yy": 0.1}))) == 1  # another triangle
    s = tt.System("odd")
    s.connect("world", body(inertia=[1, 1, 3]), tt.Revolute("hinge", axis=[1, 0, 0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = s.resolve(engine)
    assert not said(lambda: model.with_parameters({"arm.com.x": 0.1}))


@pytest.mark.parametrize("engine", ENGINES)
def test_bad_conditioning_is_said(engine: str) -> None:
    s = tt.System("whip")
    handle, lash = body("handle"), body("lash")
    s.connect("world", handle, tt.Revolute("first", axis=[1, 0.2, 0.1]))
    s.connect(handle.port("tip"), lash, tt.Revolute("second", axis=[1, 0.2, 0.1]))
    model = s.resolve(engine)
    (message,) = said(lambda: model.with_parameters({"lash.mass": 1e12}))
    assert "ill-conditioned" in message
    assert message.startswith("first: ")


def test_monte_carlo_warns_once() -> None:
    def run(model: tt.Model) -> dict[str, float]:
        return {"weight": float(model.gravity_effects([0.3])[0])}

    (message,) = said(lambda: tt.monte_carlo(pendulum(), {"hinge.damping": (-1.0, 1.0)}, run, n=40, seed=1))
    assert "negative-damping" in message
    assert "times in 40" in message
    assert not said(lambda: tt.monte_carlo(pendulum(), {"hinge.damping": (0.1, 1.0)}, run, n=10))


def test_lpv_warns_once() -> None:
    grid = {"hinge.damping": np.linspace(-0.2, 0.2, 5), "arm.mass": [1.0, 2.0]}
    (message,) = said(lambda: tt.lpv(pendulum(), grid, unknowns=["hinge"], inputs=["hinge"]))
    assert "negative-damping" in message
    assert "4 times in 10" in message


def sprung_chain(gravity: float = -9.81, stiffness: float = 1.0, push: float = 0.0, mass: float = 1.0) -> tt.System:
    """Return eighty links, of which elimination leaves so little that it has to be looked at closely."""
    s, at = tt.System("chain", gravity=[0, gravity, 0]), "world"
    for k in range(80):
        link = tt.RigidBody(f"link{k}", mass if k == 3 else 1.0, [0.25, 0, 0], [2e-4, 0.02, 0.02], {"end": [0.5, 0, 0]})
        axis = np.roll([0.0, 0.0, 1.0], -(k % 3))
        s.connect(at, link, tt.Revolute(f"hinge{k}", axis=axis, stiffness=stiffness if k == 3 else 1.0, damping=0.1))
        at = link.port("end")
    s.add_load(tt.Load("push", at, force=[push, 0, 0]))
    return s


@pytest.fixture
def pivots_met(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that grows where pivots are looked at."""
    met: list[Any] = []
    found = rounding.pivots_at

    def noted(*given: Any) -> Any:
        met.append(given)
        return found(*given)

    monkeypatch.setattr(rounding, "pivots_at", noted)
    return met


@pytest.mark.parametrize(
    ("values", "built"),
    [
        ({"gravity.y": -5.0}, {"gravity": -5.0}),
        ({"hinge3.stiffness": 2.0}, {"stiffness": 2.0}),
        ({"push.force.x": 3.0}, {"push": 3.0}),
        ({"link3.mass": 1.25}, {"mass": 1.25}),
    ],
    ids=str,
)
def test_changes_are_looked_at_where_they_change_inertia(
    pivots_met: list[Any], values: dict[str, float], built: dict[str, float]
) -> None:
    """What comes out is bit by bit what a system built so gives."""
    model, expected = sprung_chain().resolve(), sprung_chain(**built).resolve()
    pivots_met.clear()
    changed = model.with_parameters(values)
    assert bool(pivots_met) == ("mass" in built)
    q, v = np.random.default_rng(0).normal(size=(2, 80))
    np.testing.assert_array_equal(changed.forward_dynamics(q, v), expected.forward_dynamics(q, v))
    pivots_met.clear()
    again = changed.with_parameters({"gravity.y": -5.0}).with_parameters({"gravity.y": built.get("gravity", -9.81)})
    assert not pivots_met
    np.testing.assert_array_equal(again.forward_dynamics(q, v), expected.forward_dynamics(q, v))


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("mass", [1.0, 0.0], ids=["massive", "massless"])
def test_changes_beside_gears_are_looked_at_where_they_change_inertia(pivots_met: list[Any], mass: float) -> None:
    """Also where a driven link has no inertia; what comes out is what a system built so gives."""

    def driven(stiffness: float) -> tt.System:
        s = tt.System("driven", gravity=[0, -9.81, 0])
        arm = tt.RigidBody("arm", 1.0, com=[0.5, 0, 0], inertia=[0.1] * 3, ports={"end": [1, 0, 0]})
        s.connect("world", arm, tt.Revolute("a", stiffness=stiffness))
        s.connect(arm.port("end"), tt.RigidBody("needle", mass, inertia=0.1 * mass), tt.Revolute("b"))
        s.add_gear(tt.Gear("mesh", driver="a", driven="b", ratio=2.0))
        return s

    model, expected = driven(1.0).resolve(), driven(2.0).resolve()
    pivots_met.clear()
    changed = model.with_parameters({"a.stiffness": 2.0})
    assert not pivots_met
    q, v = np.array([0.3, 0.6]), np.array([1.0, 2.0])
    np.testing.assert_array_equal(changed.forward_dynamics(q, v), expected.forward_dynamics(q, v))
    with pytest.raises(tt.ModelError, match="too large for double precision"):
        changed.with_parameters({"gravity.y": 1.7e308}).forward_dynamics(q, v)


@pytest.mark.parametrize(
    "name",
    [
        "hinge3.armature",
        "hinge3.axis.x",
        "hinge3.placement.position.y",
        "link3.com.y",
        "link3.inertia.zz",
        "link3.end.position.x",
    ],
)
def test_all_that_elimination_meets_is_looked_at(pivots_met: list[Any], name: str) -> None:
    model = sprung_chain().resolve()
    pivots_met.clear()
    model.with_parameters({name: model.parameters()[name][0] + 1e-3})
    assert pivots_met


def test_a_pull_without_end_is_refused_as_ever() -> None:
    """Whether a gear drives any of it or not."""
    model = sprung_chain().resolve()
    with pytest.raises(tt.ModelError, match="too large for double precision"):
        model.with_parameters({"gravity.y": 1.7e308})


@pytest.mark.parametrize("engine", ENGINES)
def test_joints_bear_the_rotors_of_all_motors_whatever_changes(engine: str) -> None:
    """An inertia of 0.5 kg m^2, an armature, and two rotors through gears 2 and 3."""
    s = tt.System("drive")
    s.connect("world", tt.RigidBody("wheel", 1.0, inertia=[1, 1, 0.5]), tt.Revolute("hinge", axis=[0, 0, 1], armature=0.1))
    s.add_actuator(tt.Motor("first", "hinge", gear=2.0, rotor_inertia=0.01))
    s.add_actuator(tt.Motor("second", "hinge", gear=3.0, rotor_inertia=0.02))
    model = s.resolve(engine)
    changes = [
        ({"first.rotor_inertia": 0.05}, 0.5 + 0.1 + 4 * 0.05 + 9 * 0.02),
        ({"second.gear": 1.0}, 0.5 + 0.1 + 4 * 0.01 + 0.02),
        ({"hinge.armature": 0.3}, 0.5 + 0.3 + 4 * 0.01 + 9 * 0.02),
        ({"wheel.inertia.zz": 0.7}, 0.7 + 0.1 + 4 * 0.01 + 9 * 0.02),
        ({"gravity.x": 1.0}, 0.5 + 0.1 + 4 * 0.01 + 9 * 0.02),
    ]
    for values, expected in changes:
        changed = model.with_parameters(values)
        assert changed.mass_matrix([0.0]).item() == pytest.approx(expected, rel=1e-14)
        assert model._on(model.mechanism.with_assembly(changed.mechanism.assembly)).mass_matrix([0.0]).item() == pytest.approx(
            expected, rel=1e-14
        )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_changed_block_is_built_once(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    s = tt.System("boom")
    s.connect("world", tt.Beam("boom", 1.0, density=1.0, area=1.0, young=1e4, iy=1e-4, iz=1e-4), tt.Revolute("hinge"))
    model, built, build = s.resolve(engine), [], tt.Beam._fields

    def noted(self: tt.Beam, unusable: bool) -> dict[str, Any]:
        built.append(self.young)
        return build(self, unusable)

    monkeypatch.setattr(tt.Beam, "_fields", noted)
    changed = model.with_parameters({"boom.young": 2e4})
    assert built == [2e4]
    assert changed.parameters()["boom.young"] == (2e4, "Pa")


def test_an_inertia_is_judged_once_whatever_of_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    model, judged = sprung_chain().resolve(), []
    sound = system_parameters.is_plainly_sound

    def noted(*inertia: float) -> bool:
        judged.append(inertia)
        return sound(*inertia)

    monkeypatch.setattr(system_parameters, "is_plainly_sound", noted)
    changed = model.with_inertial_parameters(20.0 * model.inertial_parameters())
    assert len(judged) == len(model.mechanism.inertial_bodies)
    np.testing.assert_allclose(changed.mass_matrix(np.zeros(80)), 20.0 * model.mass_matrix(np.zeros(80)), rtol=1e-10)
