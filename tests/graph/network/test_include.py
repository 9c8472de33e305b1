"""A system used as a block of another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.systems import random_state

TURNED = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]


def arm() -> tt.System:
    s = tt.System("arm")
    s.world.add_port("foot", [0.1, 0, 0], TURNED)
    upper = tt.RigidBody("upper", 2.0, com=[0, 0, 0.2], inertia=0.1, ports={"elbow": [0, 0, 0.4]})
    lower = tt.RigidBody("lower", 1.0, com=[0, 0, 0.1], inertia=0.05, ports={"tip": [0, 0, 0.3]})
    s.connect(s.world.port("foot"), upper, tt.Revolute("shoulder", [1, 0, 0], damping=0.1))
    s.connect(upper.port("elbow"), lower, tt.Revolute("elbow", [0, 1, 0]))
    s.add_load(tt.Load("weight", lower.port("tip"), force=[0, 0, -1], frame="world"))
    s.add_actuator(tt.Motor("motor", "elbow"))
    s.add_sensor(tt.Encoder("encoder", "elbow"))
    return s


def test_on_the_world_nothing_changes_but_names():
    alone = arm().resolve()
    s = tt.System("shop")
    s.include(arm(), "a")
    included = s.resolve()
    q, v, _, tau = random_state(alone, np.random.default_rng(0))
    # the same numbers, poses composed in another order
    expected = alone.forward_dynamics(q, v, tau, u=[1.0])
    np.testing.assert_allclose(included.forward_dynamics(q, v, tau, u=[1.0]), expected, rtol=1e-12)
    np.testing.assert_allclose(included.pose("a/lower.tip", q)[1], alone.pose("lower.tip", q)[1], atol=1e-14)
    assert included.coordinate_names == ("a/shoulder", "a/elbow")
    assert included.input_names == ("a/motor",)
    assert included.output_names == ("a/encoder",)


def test_two_arms_on_a_satellite_equal_one_built_by_hand():
    hub = tt.RigidBody("hub", 30, inertia=[3, 4, 5], ports={"left": [0, 1, 0], "right": [0, -1, 0]})
    s = tt.System("satellite")
    s.connect("world", hub, tt.Free("base"))
    parts = [s.include(arm(), side, at=hub.port(side)) for side in ("left", "right")]
    s.connect(parts[1].port("lower.tip"), tt.RigidBody("tool", 0.5, inertia=0.01), tt.Revolute("wrist"), placement=[0, 0, 0.1])
    m = s.resolve()
    assert m.nv == 6 + 2 + 2 + 1
    q, v, a, _ = random_state(m, np.random.default_rng(1))
    np.testing.assert_allclose(m.forward_dynamics(q, v, m.inverse_dynamics(q, v, a)), a, atol=1e-11)
    mirrored = m.configuration({"left/shoulder": 0.3, "right/shoulder": 0.3})
    left, right = (m.pose(f"{side}/upper.elbow", mirrored)[1] for side in ("left", "right"))
    np.testing.assert_allclose(left - right, [0, 2, 0], atol=1e-14)


def test_the_original_is_not_changed():
    original = arm()
    before = str(original)
    s = tt.System("shop")
    s.include(original, "a")
    s.include(original, "b")
    assert str(original) == before
    assert s.resolve().nv == 4


def four_bar() -> tt.System:
    """Return a parallelogram on the ground, closed by a pin, with a spring to the ground."""
    s = tt.System("four_bar")
    s.world.add_port("foot", [1, 0, 0], TURNED)
    crank, coupler, rocker = (
        tt.RigidBody(name, 1.0, com=[0.5, 0, 0], inertia=0.1, ports={"tip": [1, 0, 0]})
        for name in ("crank", "coupler", "rocker")
    )
    s.connect("world", crank, tt.Revolute("drive"))
    s.connect(crank.port("tip"), coupler, tt.Revolute("elbow"))
    s.connect(s.world.port("foot"), rocker, tt.Revolute("pivot"))
    s.close_loop(coupler.port("tip"), rocker.port("tip"), tt.RigidClosure("pin", "revolute"))
    s.close_loop(s.world.port("foot"), coupler, tt.CompliantClosure("spring", stiffness=3))
    s.close_loop(rocker, "world", tt.CompliantClosure("damper", damping=1))
    return s


def test_closures_are_carried_over():
    s = tt.System("shop")
    hub = tt.RigidBody("hub", 30, inertia=[3, 4, 5], ports={"left": tt.Pose([0, 1, 0], TURNED)})
    s.connect("world", hub, tt.Free("base"))
    original = four_bar()
    part = s.include(original, "a", at=hub.port("left"))
    s.include(original, "b")
    ends = [(str(loop.first), str(loop.second), loop.closure.name) for loop in s.loops]
    assert ends == [
        ("a/coupler.tip", "a/rocker.tip", "a/pin"),
        ("hub.a/foot", "a/coupler", "a/spring"),
        ("a/rocker", "hub.left", "a/damper"),
        ("b/coupler.tip", "b/rocker.tip", "b/pin"),
        ("world.b/foot", "b/coupler", "b/spring"),
        ("b/rocker", "world", "b/damper"),
    ]
    assert s.loops[0].closure is part["pin"] is not original.loops[0].closure
    assert part["pin"].kind == "revolute"
    assert original.world.ports == ("foot",)
    # the foot of the copy is where its rocker stands: with all angles zero the frames of port and joint coincide
    model = s.resolve("reference")
    q = model.neutral()
    for port, rocker in (("hub.a/foot", "a/rocker"), ("world.b/foot", "b/rocker")):
        for here, there in zip(model.pose(port, q), model.pose(rocker, q), strict=True):
            np.testing.assert_allclose(here, there, atol=1e-14)


def test_a_system_of_subsystems_with_closures():
    inner, outer = tt.System("inner"), tt.System("outer")
    inner.include(four_bar(), "a")
    outer.include(inner, "b")
    assert [loop.closure.name for loop in outer.loops] == ["b/a/pin", "b/a/spring", "b/a/damper"]
    assert str(outer.loops[1].first) == "world.b/a/foot"
    assert outer.check() == []


def test_loads_keep_their_place_on_the_world():
    original = arm()
    original.add_sensor(tt.PoseSensor("datum", original.world.port("foot")))
    s = tt.System("shop")
    hub = tt.RigidBody("hub", 30, inertia=1.0, ports={"left": [0, 1, 0]})
    s.connect("world", hub, tt.Weld("base"))
    s.include(original, "a", at=hub.port("left"))
    assert str(s["a/datum"].target) == "hub.a/foot"
    np.testing.assert_allclose(hub.pose("a/foot")[1], [0.1, 1, 0])


def test_names_are_those_of_the_included_system():
    part = tt.System("shop").include(four_bar(), "a")
    assert part.names == ("drive", "crank", "elbow", "coupler", "pivot", "rocker", "pin", "spring", "damper")
    assert all(part[name].name == f"a/{name}" for name in part.names)


def test_what_is_wrong_in_the_other_is_reported_with_its_prefix():
    original = four_bar()
    original.close_loop(original.world.port("fot"), original["crank"], tt.RigidClosure("strut", "sperical"))
    original.close_loop(tt.RigidBody("stranger", 1.0), original["crank"], tt.RigidClosure("rope", "spherical"))
    original.connect(original.world.port("top"), tt.RigidBody("lamp", 1.0, inertia=1.0), tt.Revolute("hook"))
    s = tt.System("shop")
    s.include(original, "a")
    with pytest.raises(tt.ModelError) as caught:
        s.check()
    assert {(finding.code, finding.where) for finding in caught.value.findings} == {
        ("unknown-kind", "a/strut.kind"),
        ("unknown-port", "world.a/fot"),
        ("unknown-port", "world.a/top"),
        ("foreign-target", "a/rope.first"),
    }


@pytest.mark.parametrize("at", ["hub", 3, None])
def test_places_that_are_none(at):
    s = tt.System("shop")
    s.include(four_bar(), "a", at=at)
    with pytest.raises(tt.ModelError) as caught:
        s.check()
    assert [(finding.code, finding.where) for finding in caught.value.findings] == [("not-a-port", "shop.a.at")]


def test_unknown_parts_and_prefixes_used_twice():
    s = tt.System("shop")
    part = s.include(arm(), "a")
    with pytest.raises(tt.ModelError, match="did you mean 'upper'"):
        part.port("uper.elbow")
    s.include(arm(), "a")
    with pytest.raises(tt.ModelError, match="duplicate-name"):
        s.resolve()


def parts(s: tt.System) -> list[object]:
    """Return all that a system holds but for its findings."""
    return [*s.connections, *s.loops, *s.attachments, *s.graph.nodes, *s.graph.edges, *s.world.ports]


@pytest.mark.filterwarnings("ignore:.*redundant-closure")
def test_a_system_in_itself_is_there_twice() -> None:
    s = four_bar()
    s.include(s, "again")
    once, twice = four_bar().resolve("reference"), s.resolve("reference")
    assert twice.nv == 2 * once.nv
    assert [loop.closure.name for loop in s.loops][3:] == ["again/pin", "again/spring", "again/damper"]
    q, v = np.array([0.3, -0.3, -1.2]), np.zeros(3)
    alone = once.inverse_dynamics(q, v, v)
    np.testing.assert_allclose(twice.inverse_dynamics(np.tile(q, 2), np.zeros(6), np.zeros(6)), np.tile(alone, 2), atol=1e-12)
    s.include(s, "more")
    assert len(s.connections) == 4 * 3


@pytest.mark.parametrize("prefix", ["", None, 3, "a.b", "a b", "\x1b[31m"])
def test_prefixes_that_are_no_names(prefix: object) -> None:
    s = arm()
    before = parts(s)
    s.include(arm(), prefix)  # type: ignore[arg-type]
    assert parts(s) == before
    with pytest.raises(tt.ModelError) as caught:
        s.check()
    assert [(finding.code, finding.where) for finding in caught.value.findings] == [("bad-prefix", "arm.include")]


@pytest.mark.parametrize("other", [None, "arm", tt.RigidBody("arm", 1.0)])
def test_what_is_no_system(other: object) -> None:
    s = arm()
    assert s.include(other, "a").names == ()  # type: ignore[arg-type]
    with pytest.raises(tt.ModelError, match="not-a-system"):
        s.check()


class Foot(tt.PoseSensor):
    """A sensor that does not go where it is told."""

    @property
    def joint_fields(self) -> tuple[str, ...]:  # type: ignore[override]
        if self.name.startswith("a/") and self.target.name == "a/far":
            raise RuntimeError("no place here")
        return ()


def test_a_failure_leaves_the_system_as_it_was() -> None:
    """The last of what is added fails, when bodies and joints are connected."""
    original = arm()
    original.world.add_port("far", [1.0, 0, 0])
    original.add_sensor(Foot("datum", original.world.port("far")))
    hub = tt.RigidBody("hub", 1.0, inertia=1.0, ports={"C": [0, 0, 1]})
    s = tt.System("shop")
    s.connect("world", hub, tt.Free("base"))
    before = parts(s)
    with pytest.raises(RuntimeError, match="no place here"):
        s.include(original, "a", at=hub.port("C"))
    assert parts(s) == before
    assert hub.ports == ("C",)
    s.resolve(engine="reference")


@pytest.mark.parametrize("wrong", ["twice", "joint", "load", "stranger"])
def test_a_refusal_leaves_nothing_behind(wrong: str) -> None:
    """Nor does it add what could be added of it: a name that is there, a place that is no body."""
    s, hub = tt.System("shop"), tt.RigidBody("hub", 1.0, inertia=1.0)
    base, push = tt.Free("base"), tt.Load("push", hub)
    s.connect("world", hub, base)
    s.add_load(push)
    s.include(arm(), "a", at=hub)
    before = parts(s)
    stranger = tt.Revolute("never connected")
    places: dict[str, Any] = {"twice": hub, "joint": base, "load": push, "stranger": stranger}
    s.include(arm(), "a" if wrong == "twice" else "b", at=places[wrong])
    assert parts(s) == before
    with pytest.raises(tt.ModelError) as caught:
        s.resolve(engine="reference")
    assert {finding.code for finding in caught.value.findings} == {"duplicate-name" if wrong == "twice" else "not-a-body"}
