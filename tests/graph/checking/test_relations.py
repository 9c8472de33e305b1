"""Closures that constrain nothing, on what is not there, and gears that contradict each other are found."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import assert_says, body, hinged, refused


def linkage() -> tt.System:
    """Return two bars on hinges, a plate welded to the second, and a body that floats."""
    s = tt.System("linkage")
    s.world.add_port("foot", [1, 0, 0])
    left, right, plate, buoy = (body(name) for name in ("left", "right", "plate", "buoy"))
    s.connect("world", left, tt.Revolute("hinge1", axis=[1, 0, 0]))
    s.connect(s.world.port("foot"), right, tt.Revolute("hinge2", axis=[1, 0, 0]))
    s.connect(right.port("tip"), plate, tt.Weld("bolts"))
    s.connect("world", buoy, tt.Free("base"))
    return s


class Rod(tt.Block):
    """A rod with a coordinate of its own between its ends."""

    coordinates = ("bend",)
    ports = ("C", "D")

    def pose(self, port: str, q: Any) -> Any:
        zero = 0 * q[0]
        return np.eye(3) + zero, np.array([zero, q[0] * (1 if port == "C" else 2), 1 + zero])

    def mass_matrix(self, q: Any) -> Any:
        return np.eye(7) + 0 * q[0]


class TestClosures:
    def test_sound_ones(self) -> None:
        s = linkage()
        s.close_loop(s["left"].port("tip"), s["plate"].port("tip"), tt.RigidClosure("rope", "spherical"))
        s.close_loop("world", s["buoy"], tt.CompliantClosure("mooring", stiffness=1))
        assert s.check() == []

    def test_unknown_ports(self, engine: str) -> None:
        s = linkage()
        s.close_loop(s["left"].port("tpi"), s.world.port("fot"), tt.RigidClosure("rope"))
        error = refused(s, engine)
        assert [(finding.code, finding.where) for finding in error.findings] == [
            ("unknown-port", "left.tpi"),
            ("unknown-port", "world.fot"),
        ]
        for advice in ("did you mean 'tip'?", "did you mean 'foot'?"):
            assert advice in str(error)

    def test_a_block_that_is_not_in_the_system(self, engine: str) -> None:
        s = linkage()
        s.close_loop(s["left"], body("stranger").port("tip"), tt.RigidClosure("rope"))
        words = ("got stranger.tip", "a block of this system", "connect the block first")
        assert_says(refused(s, engine), "foreign-target", "rope.second", *words)

    def test_a_block_of_another_system_with_a_name_of_this_one(self, engine: str) -> None:
        s = linkage()
        s.close_loop(linkage()["left"], s["right"], tt.RigidClosure("rope"))
        assert_says(refused(s, engine), "foreign-target", "rope.first", "got left")

    def test_both_ports_on_one_body(self, engine: str) -> None:
        s = linkage()
        s.close_loop(s["left"], s["left"].port("tip"), tt.RigidClosure("rope"))
        assert_says(refused(s, engine), "self-connection", "rope", "left and left.tip", "two different blocks", "another block")

    def test_a_closure_used_twice(self, engine: str) -> None:
        s, rope = linkage(), tt.RigidClosure("rope", "spherical")
        s.close_loop(s["left"], s["right"], rope)
        s.close_loop(s["left"], s["buoy"], rope)
        assert_says(refused(s, engine), "duplicate-name", "rope", "each joint, closure and load used once", "rename")

    @pytest.mark.parametrize("name", ["hinge1", "left", "world", "rope"])
    def test_a_name_that_is_taken(self, engine: str, name: str) -> None:
        s = linkage()
        s.close_loop(s["left"], s["right"], tt.RigidClosure("rope", "spherical"))
        s.close_loop(s["left"], s["buoy"], tt.RigidClosure(name, "spherical"))
        assert_says(refused(s, engine), "duplicate-name", name, "unique block names")

    def test_a_part_that_hangs_on_a_closure_alone(self, engine: str) -> None:
        s = linkage()
        lamp = body("lamp")
        s.connect(lamp, body("bulb"), tt.Revolute("socket", axis=[1, 0, 0]))
        s.close_loop(s["left"].port("tip"), lamp, tt.RigidClosure("cable", "spherical"))
        words = (
            "got bulb, lamp, socket",
            "a path of joints",
            "tt.Free",
            "the closure cable constrains",
            "carries nothing itself",
        )
        assert_says(refused(s, engine), "unconnected", "bulb", *words)

    def test_a_part_of_one_body_that_nothing_connects(self, engine: str) -> None:
        """A body that only a closure names is no block of the system at all."""
        s = linkage()
        s.close_loop(body("lamp"), body("bulb"), tt.RigidClosure("cable", "spherical"))
        error = refused(s, engine)
        assert [(finding.code, finding.where) for finding in error.findings] == [
            ("foreign-target", "cable.first"),
            ("foreign-target", "cable.second"),
        ]

    def test_ports_that_are_fixed_to_each_other(self, engine: str) -> None:
        s = linkage()
        s.close_loop(s["plate"].port("tip"), s["right"], tt.RigidClosure("strut"))
        words = ("got plate.tip and right, fixed to each other", "a coordinate between", "constrains nothing", "free a joint")
        assert_says(refused(s, engine), "motionless-loop", "strut", *words)

    def test_two_bodies_welded_to_the_world(self, engine: str) -> None:
        s = tt.System("posts")
        for name in "ab":
            s.connect("world", body(name), tt.Weld(f"weld_{name}"))
        s.close_loop(s["a"], s["b"], tt.RigidClosure("beam"))
        assert_says(refused(s, engine), "motionless-loop", "beam", "got a and b")

    def test_a_spring_between_fixed_ports_is_suspicious_only(self) -> None:
        s = linkage()
        s.close_loop(s["plate"], s["right"], tt.CompliantClosure("spring", stiffness=1))
        (finding,) = s.check()
        assert (finding.code, finding.where) == ("motionless-loop", "spring")
        assert "moves nothing" in finding.advice

    def test_what_bends_is_not_fixed(self) -> None:
        """Ports of a block move with its coordinates; only its parent port is fixed to what it is welded to."""
        s = linkage()
        rod = Rod("rod")
        s.connect(s["plate"], rod, tt.Weld("clamp"))
        s.connect(rod.port("C"), body("tool"), tt.Weld("chuck"))
        s.close_loop(s["tool"], s["right"], tt.RigidClosure("rope", "spherical"))
        s.close_loop(rod.port("D"), s["tool"].port("tip"), tt.RigidClosure("string", "spherical"))
        assert "motionless-loop" not in {finding.code for finding in s.check()}
        s.close_loop(rod.port("C"), s["tool"].port("tip"), tt.RigidClosure("bond", "spherical"))
        s.close_loop(rod, s["right"], tt.RigidClosure("root", "spherical"))
        with pytest.raises(tt.ModelError) as caught:
            s.check()
        assert [finding.where for finding in caught.value.findings] == ["bond", "root"]

    @pytest.mark.parametrize("what", ["left", None, 3, np.zeros(3)], ids=str)
    def test_things_that_are_no_port(self, engine: str, what: Any) -> None:
        s = linkage()
        s.close_loop(s["right"], what, tt.RigidClosure("rope"))
        assert_says(refused(s, engine), "not-a-port", "rope.second", 'body.port("C")', "pass the block itself")

    @pytest.mark.parametrize("what", ["rope", None, tt.Revolute("rope"), tt.Weld], ids=str)
    def test_things_that_are_no_closure(self, engine: str, what: Any) -> None:
        s = linkage()
        s.close_loop(s["right"], s["left"], what)
        error = refused(s, engine)
        assert error.code == "not-a-closure"
        assert "use tt.RigidClosure, tt.CompliantClosure, tt.SpringDamper or tt.Contact" in str(error)

    @pytest.mark.parametrize("name", ["hinge1", "rope", "push"])
    def test_blocks_that_are_no_bodies(self, engine: str, name: str) -> None:
        s = linkage()
        s.add_load(tt.Load("push", s["left"], force=[0, 0, 1]))
        s.close_loop(s["right"], s["left"], tt.RigidClosure("rope", "spherical"))
        s.close_loop(s["right"], s[name], tt.RigidClosure("strut", "spherical"))
        assert_says(refused(s, engine), "not-a-body", "strut.second", "expected a body", "at a body's port")

    def test_a_closure_is_no_parent(self, engine: str) -> None:
        s = linkage()
        rope = tt.RigidClosure("rope", "spherical")
        s.close_loop(s["right"], s["left"], rope)
        s.connect(rope, body("tool"), tt.Revolute("hook", axis=[1, 0, 0]))
        assert refused(s, engine).code == "not-a-body"

    def test_many_closures_take_linear_time(self) -> None:
        s = tt.System("ladder")
        parent: Any = "world"
        for k in range(3000):
            link = body(f"b{k}")
            s.connect(parent, link, tt.Revolute(f"j{k}", axis=[1, 0, 0]))
            parent = link
        for k in range(3000 - 2):
            s.close_loop("world", s[f"b{k + 2}"], tt.CompliantClosure(f"c{k}", stiffness=1))
        start = time.process_time()
        s.check()
        assert time.process_time() - start < 10.0  # about a second when written; a search for every closure takes minutes


class TestGearsThatContradict:
    @staticmethod
    def train(*gears: tuple[str, str, float, float]) -> tt.System:
        """Return three hinges, with gears from driver to driven by ratio and offset."""
        s, parent = hinged(joint=tt.Revolute("a")), "arm"
        for name in "bc":
            s.connect(s[parent].port("tip"), body(f"link_{name}"), tt.Revolute(name))
            parent = f"link_{name}"
        for k, (driver, driven, ratio, offset) in enumerate(gears, start=1):
            s.add_gear(tt.Gear(f"g{k}", driver, driven, ratio=ratio, offset=offset))
        return s

    @pytest.mark.parametrize(
        "gears",
        [
            (("a", "b", 2.0, 0.0), ("a", "b", 3.0, 0.0)),
            (("a", "b", 2.0, 0.0), ("a", "b", 2.0, 0.1)),
            (("a", "b", 2.0, 0.1), ("b", "c", 3.0, 0.0), ("a", "c", 6.0, 0.2)),
            (("b", "c", 3.0, 0.0), ("a", "c", 6.0, 0.3), ("a", "b", -2.0, 0.1)),
        ],
        ids=str,
    )
    def test_the_last_is_named_beside_the_others(self, gears: tuple[tuple[str, str, float, float], ...]) -> None:
        with pytest.raises(tt.ModelError, match="gears-contradict") as caught:
            self.train(*gears).resolve()
        assert caught.value.where == f"g{len(gears)}"
        assert "by g1" in str(caught.value)

    @pytest.mark.parametrize(
        "gears",
        [
            (("a", "b", 2.0, 0.1), ("a", "b", 2.0, 0.1)),
            (("a", "b", 2.0, 0.1), ("b", "c", 3.0, 0.0), ("a", "c", 6.0, 0.3)),
            (("b", "c", 3.0, 0.0), ("a", "c", 6.0, 0.3), ("a", "b", 2.0, 0.1)),
            (("a", "c", 2.0, 0.1), ("b", "c", 3.0, 0.0)),
        ],
        ids=str,
    )
    def test_gears_that_agree_pass(self, gears: tuple[tuple[str, str, float, float], ...]) -> None:
        """The control, redundant gears among them."""
        self.train(*gears).check()
