"""One tree of bodies and joints; closures and gears that constrain nothing; joints without inertia."""

from __future__ import annotations

import itertools
import time
import warnings
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import assert_says, body, hinged, refused


class TestTopology:
    def test_two_parents(self, engine: str) -> None:
        s = tt.System("rig")
        arm, hand = body("arm"), body("hand")
        s.connect("world", arm, tt.Revolute("shoulder", axis=[1, 0, 0]))
        s.connect(arm, hand, tt.Revolute("wrist", axis=[1, 0, 0]))
        s.connect("world", hand, tt.Revolute("strap", axis=[1, 0, 0]))
        error = refused(s, engine)
        words = (
            "got strap and wrist",
            "expected one parent joint a block",
            "keep one of them and close the loop by s.close_loop",
        )
        assert_says(error, "two-parents", "hand", *words)

    def test_a_body_connected_to_itself(self, engine: str) -> None:
        arm = body()
        s = hinged(arm)
        s.connect(arm.port("tip"), arm, tt.Revolute("elbow", axis=[1, 0, 0]))
        error = refused(s, engine)
        assert (error.code, error.where) == ("self-connection", "elbow")
        assert "arm.tip -> arm" in str(error)
        assert "expected two different blocks" in str(error)

    def test_a_cycle_is_listed_hop_by_hop(self, engine: str) -> None:
        s = tt.System("rig")
        a, b, c = body("a"), body("b"), body("c")
        s.connect("world", a, tt.Revolute("j0", axis=[1, 0, 0]))
        s.connect(a, b, tt.Revolute("j1", axis=[1, 0, 0]))
        s.connect(b, c, tt.Revolute("j2", axis=[1, 0, 0]))
        s.connect(c, a, tt.Revolute("j3", axis=[1, 0, 0]))
        error = refused(s, engine)
        finding = next(finding for finding in error.findings if finding.code == "cycle")
        hops = finding.value.split(" -> ")
        assert hops[0] == hops[-1] == finding.where
        assert sorted(hops[1:]) == ["a", "b", "c", "j1", "j2", "j3"]
        assert all((hop, after) in s.graph.edges for hop, after in itertools.pairwise(hops))
        for cure in ("take one of the joints out and close the loop by s.close_loop", "tt.CompliantClosure", "tt.RigidClosure"):
            assert cure in str(error)

    def test_a_cycle_away_from_the_world(self, engine: str) -> None:
        s = hinged()
        a, b = body("a"), body("b")
        s.connect(a, b, tt.Revolute("j1", axis=[1, 0, 0]))
        s.connect(b, a, tt.Revolute("j2", axis=[1, 0, 0]))
        assert {"cycle", "unconnected"} == {finding.code for finding in refused(s, engine).findings}

    def test_the_world_as_a_child(self, engine: str) -> None:
        arm = body()
        s = hinged(arm)
        s.connect(arm, s.world, tt.Revolute("back", axis=[1, 0, 0]))
        error = refused(s, engine)
        assert "world-as-child" in {finding.code for finding in error.findings}
        assert "swap parent and child" in str(error)

    def test_unconnected_parts_are_listed(self, engine: str) -> None:
        s = hinged()
        s.connect(body("sun"), body("earth"), tt.Free("orbit"))
        s.connect(body("fork"), body("knife"), tt.Weld("glue"))
        error = refused(s, engine)
        assert [(finding.code, finding.value) for finding in error.findings] == [
            ("unconnected", "earth, orbit, sun"),
            ("unconnected", "fork, glue, knife"),
        ]
        assert "expected a path of joints from the world to every block" in str(error)
        assert 'connect("world", ..., joint=tt.Free(...)' in str(error)


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


POINT = {"com": [0, 0, 0], "inertia": 0.0}


class TestJointsThatMoveNoInertia:
    """All found when resolving, at the joint, never as a LinAlgError."""

    WORDS = ("expected inertia to move along every coordinate", "armature")

    @pytest.mark.parametrize("kind", ["Revolute", "Prismatic", "Cylindrical", "Universal", "Planar", "Spherical", "Free"])
    def test_a_massless_leaf(self, engine: str, kind: str) -> None:
        arm = body()
        s = hinged(arm)
        s.connect(arm.port("tip"), body("ghost", mass=0.0, inertia=0.0), getattr(tt, kind)("loose"))
        assert_says(refused(s, engine), "massless-joint", "loose", *self.WORDS)

    @pytest.mark.parametrize(
        ("joint", "com"),
        [
            pytest.param(tt.Revolute("loose", axis=[0, 0, 1]), [0, 0, 0], id="point mass at the joint"),
            pytest.param(tt.Revolute("loose", axis=[0, 0, 1]), [0, 0, 0.7], id="point mass on the axis"),
            pytest.param(tt.Revolute("loose", axis=[1, 2, -1]), [0.3, 0.6, -0.3], id="point mass on a slanted axis"),
            pytest.param(tt.Cylindrical("loose", axis=[1, 2, -1]), [0.3, 0.6, -0.3], id="cylindrical"),
            pytest.param(tt.Universal("loose", axis1=[1, 0, 0], axis2=[0, 1, 0]), [0, 0.7, 0], id="universal"),
            pytest.param(tt.Planar("loose"), [0, 0, 0.7], id="planar"),
            pytest.param(tt.Spherical("loose"), [0, 0, 0], id="spherical"),
            pytest.param(tt.Spherical("loose"), [0.1, 0.2, 0.7], id="spherical, point mass on a line through it"),
            pytest.param(tt.Free("loose"), [0.1, 0.2, 0.7], id="free"),
        ],
    )
    def test_inertia_but_not_along_every_coordinate(self, engine: str, joint: tt.Joint, com: list[float]) -> None:
        assert_says(refused(hinged(body(com=com, inertia=0.0), joint), engine), "massless-joint", "loose", *self.WORDS)

    def test_the_joint_is_named_in_the_midst_of_a_chain(self, engine: str) -> None:
        s = tt.System("rig")
        a, b, c = body("a"), body("b", **POINT), body("c")
        s.connect("world", a, tt.Revolute("j0", axis=[1, 0, 0]))
        s.connect(a.port("tip"), b, tt.Revolute("loose", axis=[0, 0, 1]))
        s.connect("world", c, tt.Revolute("j2", axis=[1, 0, 0]))
        assert_says(refused(s, engine), "massless-joint", "loose", *self.WORDS)

    def test_two_parallel_axes_at_one_place(self, engine: str) -> None:
        """Each axis moves inertia, the two together do not: their mass matrix is singular."""
        s = tt.System("rig")
        ring = body("ring", mass=0.0, inertia=0.0)
        s.connect("world", ring, tt.Revolute("outer", axis=[1, 2, 3]))
        s.connect(ring, body(), tt.Revolute("inner", axis=[1, 2, 3]))
        error = refused(s, engine)
        assert error.code == "massless-joint"
        assert error.where in ("outer", "inner")

    def test_singular_at_one_configuration_only(self, engine: str) -> None:
        """Rings without mass in a gimbal: the outer axes coincide when all angles are zero, and nowhere near."""
        s = tt.System("gimbal")
        outer, inner = (body(name, mass=0.0, inertia=0.0, ports={}) for name in ("outer", "inner"))
        s.connect("world", outer, tt.Revolute("yaw", axis=[0, 0, 1]))
        s.connect(outer, inner, tt.Revolute("pitch", axis=[1, 0, 0]))
        s.connect(inner, body(com=[0.1, 0.2, 0.3]), tt.Revolute("roll", axis=[0, 0, 1]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tt.ModelWarning)
            m = s.resolve(engine)
        q, tau = np.array([0.1, 0.5, 0.3]), np.array([1.0, 2.0, 3.0])
        a = m.forward_dynamics(q, np.zeros(3), tau)
        np.testing.assert_allclose(m.inverse_dynamics(q, np.zeros(3), a), tau, rtol=1e-10)
        with pytest.raises(tt.ModelError, match="massless-joint"):
            m.forward_dynamics(np.zeros(3), np.zeros(3), tau)

    @pytest.mark.parametrize(
        "arm",
        [
            pytest.param(body(com=[0, 1e-3, 0], inertia=0.0), id="a small lever arm"),
            pytest.param(body(mass=1e-9, com=[0, 0, 0], inertia=1e-15), id="a small body"),
            pytest.param(body(com=[0, 0, 1e3], inertia=[1e3, 1e3, 1e-3]), id="a slender body"),
        ],
    )
    def test_little_inertia_is_inertia(self, engine: str, arm: tt.RigidBody) -> None:
        """The negative control: nothing here is singular."""
        m = hinged(arm, tt.Revolute("hinge", axis=[0, 0, 1])).resolve(engine)
        tau = float(m.mass_matrix([0.0])[0, 0])
        np.testing.assert_allclose(m.forward_dynamics([0.0], [0.0], [tau]), [1.0], rtol=1e-6)

    def test_armature_is_inertia(self, engine: str) -> None:
        ghost = body("ghost", mass=0.0, inertia=0.0)
        m = hinged(ghost, tt.Revolute("motor", armature=0.5)).resolve(engine)
        np.testing.assert_allclose(m.forward_dynamics([0.0], [0.0], [1.0]), [2.0], rtol=1e-14)

    def test_welds_need_no_inertia(self, engine: str) -> None:
        arm = body()
        s = hinged(arm)
        s.connect(arm.port("tip"), body("ghost", mass=0.0, inertia=0.0), tt.Weld("glue"))
        assert s.resolve(engine).nv == 1
