"""Ports, coordinates, rods and tendons that blocks act on or read."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import assert_says, body, hinged, refused
from tests.solvers.mechanism.soft_arms import BEND, driven_arm, geared_arm, soft_arm
from titop.graph.checking.targets import full_name, moving_blocks


class TestNames:
    @pytest.mark.parametrize(
        "second",
        [
            pytest.param((body("arm"), tt.Weld("other")), id="two bodies"),
            pytest.param((body("hand"), tt.Weld("hinge")), id="two joints"),
            pytest.param((body("hinge"), tt.Weld("other")), id="a body and a joint"),
            pytest.param((body("world"), tt.Weld("other")), id="a body named world"),
        ],
    )
    def test_duplicate_names(self, engine: str, second: tuple[tt.RigidBody, tt.Joint]) -> None:
        s = tt.System("rig")
        arm = body("arm")
        s.connect("world", arm, tt.Revolute("hinge", axis=[1, 0, 0]))
        s.connect(arm, *second)
        error = refused(s, engine)
        duplicate = [finding for finding in error.findings if finding.code == "duplicate-name"]
        assert [finding.where for finding in duplicate] == [
            name for name in (second[0].name, second[1].name) if name in ("arm", "hinge", "world")
        ]
        assert "expected unique block names" in str(error)
        assert "rename one of the two" in str(error)

    def test_a_joint_used_twice(self, engine: str) -> None:
        s = tt.System("rig")
        arm, hinge = body("arm"), tt.Revolute("hinge", axis=[1, 0, 0])
        s.connect("world", arm, hinge)
        s.connect(arm, body("hand"), hinge)
        error = refused(s, engine)
        assert (error.code, error.where) == ("duplicate-name", "hinge")
        assert "each joint, closure and load used once" in str(error)

    def test_a_load_named_as_a_body(self, engine: str) -> None:
        arm = body()
        s = hinged(arm)
        s.add_load(tt.Load("arm", arm, force=[0, 0, 1]))
        error = refused(s, engine)
        assert (error.code, error.where) == ("duplicate-name", "arm")

    def test_unknown_port_of_a_parent(self, engine: str) -> None:
        arm = body(ports={"tip": [0, 0, 2]})
        s = hinged(arm)
        s.connect(arm.port("tpi"), body("hand"), tt.Revolute("wrist", axis=[1, 0, 0]))
        assert_says(refused(s, engine), "unknown-port", "arm.tpi", "expected a port of the block", "did you mean 'tip'?")

    def test_unknown_port_of_a_child(self, engine: str) -> None:
        s = tt.System("rig")
        s.connect("world", body().port("base"), tt.Revolute("hinge", axis=[1, 0, 0]))
        assert_says(refused(s, engine), "unknown-port", "arm.base", "known names: tip")

    def test_unknown_port_of_a_load_and_of_the_world(self, engine: str) -> None:
        arm = body()
        s = tt.System("rig")
        s.connect(s.world.port("A"), arm, tt.Revolute("hinge", axis=[1, 0, 0]))
        s.add_load(tt.Load("wind", arm.port("tup"), force=[1, 0, 0]))
        error = refused(s, engine)
        assert [(finding.code, finding.where) for finding in error.findings] == [
            ("unknown-port", "world.A"),
            ("unknown-port", "arm.tup"),
        ]
        assert "known names: none" in str(error)

    def test_load_on_a_foreign_body(self, engine: str) -> None:
        s = hinged()
        s.add_load(tt.Load("wind", body("sail"), force=[1, 0, 0]))
        assert_says(refused(s, engine), "foreign-target", "wind.target", "got sail", "a block of this system", "connect")

    @pytest.mark.parametrize("port", [None, "C"])
    def test_joints_carry_neither_loads_nor_other_joints(self, engine: str, port: str | None) -> None:
        """A joint's ports move against each other: loads act on bodies, and bodies carry joints."""
        hinge = tt.Revolute("hinge", axis=[1, 0, 0])
        loaded, branched = hinged(joint=hinge), hinged(joint=hinge)
        loaded.add_load(tt.Load("wind", hinge.port(port), force=[1, 2, 3]))
        branched.connect(hinge.port(port), body("hand"), tt.Revolute("wrist", axis=[0, 1, 0]))
        for s in (loaded, branched):
            error = refused(s, engine)
            assert error.code == "not-a-body"
            assert "hinge" in str(error)

    @pytest.mark.parametrize("target", ["arm", None, 3], ids=str)
    def test_loads_on_things_that_are_no_port(self, engine: str, target: Any) -> None:
        s = hinged()
        s.add_load(tt.Load("wind", target, force=[1, 0, 0]))
        assert refused(s, engine).where == "wind.target"

    @pytest.mark.parametrize("name", [None, 3, "", "a.b", "my arm"], ids=repr)
    def test_bad_names_of_blocks(self, engine: str, name: Any) -> None:
        error = refused(hinged(body(name=name)), engine)
        assert_says(error, "bad-name", f"{name}.name", "expected letters, digits and _-/", "rename the block")

    @pytest.mark.parametrize("name", [None, 3, "", "a.b"], ids=repr)
    def test_bad_names_of_ports(self, engine: str, name: Any) -> None:
        error = refused(hinged(body(ports={name: [0, 0, 1]})), engine)
        assert_says(error, "bad-name", f"arm.{name}", "expected a port name without dots", "rename it")

    @pytest.mark.parametrize("parent", ["arm", None, 3, np.zeros(3)], ids=str)
    def test_things_that_are_no_port(self, engine: str, parent: Any) -> None:
        s = tt.System("rig")
        s.connect(parent, body(), tt.Revolute("hinge", axis=[1, 0, 0]))
        error = refused(s, engine)
        assert_says(error, "not-a-port", "hinge.parent", 'body.port("C")', "pass the block itself, not its name")

    def test_things_that_are_no_joint(self, engine: str) -> None:
        s = tt.System("rig")
        s.connect("world", body(), "hinge")  # type: ignore[arg-type]
        assert_says(
            refused(s, engine), "not-a-joint", "connect.joint", "got hinge", "expected a joint block", "use tt.Revolute"
        )


@pytest.mark.parametrize(
    ("acting", "code", "where", "words"),
    [
        (tt.Motor("m", "pannel.mode1"), "unknown-joint", "m.joint", "did you mean 'panel'?"),
        (tt.Motor("m", "panel"), "several-coordinates", "m.joint", "'panel.mode1'"),
        (tt.Motor("m", "panel.mode4"), "unknown-coordinate", "m.joint", "a coordinate of the block"),
        (tt.Motor("m", "segment", rotor_inertia=0.1), "no-armature", "m.rotor_inertia", "mass matrix of 'segment'"),
        (tt.Motor("m", "tip"), "unknown-joint", "m.joint", "or a block with coordinates"),
        (tt.Encoder("e", "segment.bent"), "unknown-coordinate", "e.joint", "did you mean 'segment.bend'?"),
        (tt.ReactionSensor("r", "segment"), "unknown-joint", "r.joint", "a joint of the system"),
        (tt.Gear("g", "segment", "segment.bend"), "self-connection", "g", "two different coordinates"),
        (tt.Gear("g", "panel", "segment"), "several-coordinates", "g.driver", "'panel.mode1'"),
    ],
)
def test_what_is_no_target_is_refused_by_name(acting: tt.Block, code: str, where: str, words: str) -> None:
    s = soft_arm()
    s.connect(s["panel"].port("C0"), tt.RigidBody("tip", 1.0, inertia=0.1), tt.Weld("bracket"))
    add = {tt.Motor: s.add_actuator, tt.Gear: s.add_gear}.get(type(acting), s.add_sensor)
    add(acting)  # type: ignore[operator]
    assert_says(refused(s), code, where, words)


def test_circles_and_contradictions_of_gears_on_own_coordinates_are_seen() -> None:
    s = geared_arm()
    s.add_gear(tt.Gear("back", driver="panel.mode1", driven="shoulder"))
    assert_says(refused(s), "gear-cycle", "panel.mode1", "segment.bend and shoulder.angle")
    s = geared_arm()
    s.add_gear(tt.Gear("again", driver="shoulder", driven="segment.bend", ratio=BEND, offset=0.0))
    assert_says(refused(s), "gears-contradict", "again")


def test_a_rotor_that_no_joint_bears_is_refused_later_too() -> None:
    model = driven_arm().resolve()
    assert "bender.gear" in model.parameters()
    assert "bender.rotor_inertia" not in model.parameters()
    q, v = model.neutral(), np.zeros(model.nv)
    assert model.forward_dynamics_sensitivities(q, v, v, list(model.parameters())).keys() == model.parameters().keys()
    with pytest.raises(tt.ModelError, match=r"bender\.rotor_inertia.*no-armature"):
        model.with_parameters({"bender.rotor_inertia": 0.1})


def rod(name: str, **fields: Any) -> tt.Rod:
    return tt.Rod(name, 0.3, tt.Section.circle(0.01), young=1e6, density=1000.0, strains={"bending_z": 0}, **fields)


def chain(joint: tt.Block | None = None, port: str = "tip", link: tt.Block | None = None) -> tuple[tt.System, tt.Rod, tt.Rod]:
    s, near, far = tt.System("chain"), rod("near", ports={"middle": 0.15, "end": 0.3}), rod("far")
    s.connect("world", near, tt.Weld("clamp"))
    knuckle = tt.RigidBody("knuckle", mass=0.1, inertia=1e-4, ports={"top": [0.01, 0, 0]}) if link is None else link
    s.connect(near.port(port), knuckle, tt.Weld("first"))
    s.connect(knuckle.port(knuckle.ports[0] if link else "top"), far, tt.Weld("second") if joint is None else joint)
    return s, near, far


def codes(s: tt.System) -> list[str]:
    return [finding.code for finding in s.check()]


@pytest.mark.parametrize("port", ["tip", "end"])
def test_rods_that_carry_each_other_are_fine(port: str) -> None:
    s, near, far = chain(port=port)
    s.add_interaction(tt.Tendon("tendon", [near, far], y=0.005))
    assert not codes(s)


def test_what_moves_between_rods_is_suspicious() -> None:
    for s, near, far in (chain(tt.Revolute("hinge")), chain(link=rod("middle"))):
        s.add_interaction(tt.Tendon("tendon", [near, far], y=0.005))
        assert codes(s) == ["moving-joint"]
    s, near, far = chain(tt.Revolute("hinge"))
    s.add_interaction(tt.Tendon("tendon", [near], y=0.005))
    assert not codes(s)


def test_rods_in_another_order_or_place_are_suspicious() -> None:
    s, near, far = chain()
    s.add_interaction(tt.Tendon("tendon", [far, near], y=0.005))
    assert codes(s) == ["not-in-series"]
    s, near, far = chain(port="middle")
    s.add_interaction(tt.Tendon("tendon", [near, far], y=0.005))
    assert codes(s) == ["not-at-the-tip"]


def test_rods_of_other_systems_are_refused() -> None:
    s, _near, _ = chain()
    s.add_interaction(tt.Tendon("twin", rod("near"), y=0.005))
    s.add_interaction(tt.Tendon("lost", rod("elsewhere"), y=0.005))
    with pytest.raises(tt.ModelError) as error:
        s.check()
    assert "twin.rods: got near; expected a rod of this system" in str(error.value)
    assert "lost.rods: got elsewhere" in str(error.value)


def test_targets_beside_the_rods_are_those_of_arms() -> None:
    s, near, _far = chain(tt.Revolute("hinge"))
    s.add_interaction(tt.Tendon("tendon", near, y=0.005), "hinge")
    with pytest.raises(tt.ModelError, match="tendon: got 2 coordinates; expected 1 coordinates"):
        s.check()


def test_sensors_read_tendons() -> None:
    s, near, _ = chain()
    s.add_interaction(tt.Tendon("tendon", near, y=0.005))
    s.add_interaction(tt.PressureChamber("chamber", near, area=1e-5, y=0.005))
    s.add_sensor(tt.TendonSensor("good", s["tendon"]))
    assert not codes(s)
    s.add_sensor(tt.TendonSensor("typo", "tndon"))
    s.add_sensor(tt.TendonSensor("other", "chamber"))
    with pytest.raises(tt.ModelError) as error:
        s.check()
    assert "typo.tendon: got tndon; expected a tendon of the system; did you mean 'tendon'" in str(error.value)
    assert "other.tendon: got chamber" in str(error.value)


# Names that stand for one thing each, and full names of coordinates.


def hung(body: tt.Block, joint: tt.Joint | None = None) -> tt.System:
    s = tt.System("hung")
    s.connect("world", body, joint or tt.Revolute("hinge", axis=[0, 1, 0]))
    return s


def test_nothing_else_is_gravity() -> None:
    assert_says(refused(hung(tt.RigidBody("gravity", 2.0, inertia=1.0))), "reserved-name", "gravity", "gravity.x, .y and .z")
    assert_says(refused(hung(tt.RigidBody("b", 2.0, inertia=1.0), tt.Revolute("gravity"))), "reserved-name", "gravity")


def test_a_port_named_like_a_parameter_is_suspicious() -> None:
    with pytest.warns(tt.ModelWarning, match=r"hub\.mass: got a port 'mass'.*ambiguous-name"):
        hung(tt.RigidBody("hub", 2.0, inertia=1.0, ports={"mass": [0, 1, 0]})).resolve()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hung(tt.RigidBody("hub", 2.0, inertia=1.0, ports={"top": [0, 1, 0]})).resolve()


@pytest.mark.parametrize(("joint", "coordinate"), [(tt.Spherical("j"), "j.rz"), (tt.Free("j"), "j.rx")])
def test_encoders_do_not_read_rotations_that_quaternions_hold(joint: tt.Joint, coordinate: str) -> None:
    s = hung(tt.RigidBody("b", 2.0, inertia=1.0), joint)
    s.add_sensor(tt.Encoder("encoder", coordinate))
    assert_says(refused(s), "not-a-position", "encoder.joint", "tt.PoseSensor")


def test_encoders_read_positions_of_free_bodies() -> None:
    s = hung(tt.RigidBody("b", 2.0, inertia=1.0), tt.Free("j"))
    s.add_sensor(tt.Encoder("encoder", "j.y"))
    assert s.resolve().outputs([0.1, 0.2, 0.3, 0, 0, 0, 1.0], [0.0] * 6, [0.0] * 6).tolist() == [0.2]


def test_joints_and_bodies_with_coordinates_may_be_named() -> None:
    s = soft_arm()
    found = moving_blocks(s)
    assert {*found} == {"shoulder", "wrist", "segment", "panel"}
    assert all(block.name == name for name, block in found.items())


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("shoulder", "shoulder.angle"),
        ("segment", "segment.bend"),
        ("segment.bend", "segment.bend"),
        ("panel", "panel"),  # has several
        ("wrist", "wrist"),  # has none
        ("elbow", "elbow"),
    ],
)
def test_the_only_coordinate_has_its_full_name(name: str, full: str) -> None:
    assert full_name(moving_blocks(soft_arm()), name) == full
