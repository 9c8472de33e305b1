"""Bad input: every mistake is found when the system is resolved, with where, what, what was expected and what to do."""

from __future__ import annotations

import itertools
import time
import warnings
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import ENGINES, assert_says, body, hinged, refused


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


class TestBodies:
    @pytest.mark.parametrize(
        ("fields", "code", "where", "words"),
        [
            ({"mass": -2.0}, "negative-mass", "arm.mass", ["got -2.0", "expected a mass >= 0", "check the sign"]),
            ({"mass": np.nan}, "not-finite", "arm.mass", ["got nan", "expected finite numbers", "give finite numbers"]),
            ({"mass": "heavy"}, "wrong-type", "arm.mass", ["got heavy", "expected a number"]),
            (
                {"inertia": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]},
                "not-symmetric",
                "arm.inertia",
                ["expected a symmetric matrix", "use (M + M.T) / 2"],
            ),
            (
                {"inertia": [1, 1, -0.5]},
                "negative-inertia",
                "arm.inertia",
                ["-0.5", "expected principal moments >= 0", "centre of mass"],
            ),
            ({"com": [0, 1]}, "wrong-shape", "arm.com", ["expected shape (3,), not (2,)", "give"]),
            (
                {"inertia": [1, 2]},
                "wrong-shape",
                "arm.inertia",
                ["expected shape (3, 3), not (2,)", "3 numbers or a 3x3 matrix"],
            ),
            ({"ports": {"tip": [0, 0]}}, "wrong-shape", "arm.tip", ["expected shape (3,), not (2,)", "tt.Pose"]),
        ],
        ids=lambda value: value if isinstance(value, str) else None,
    )
    def test_unusable_fields(self, engine: str, fields: dict[str, Any], code: str, where: str, words: list[str]) -> None:
        assert_says(refused(hinged(body(**fields)), engine), code, where, *words)

    def test_violated_triangle_inequality_is_a_warning_only(self, engine: str) -> None:
        with pytest.warns(tt.ModelWarning, match=r"arm.inertia: .* no principal moment above the sum of the others"):
            hinged(body(inertia=[1, 1, 3])).resolve(engine)

    def test_the_warning_points_at_the_user_s_line(self) -> None:
        with pytest.warns(tt.ModelWarning) as caught:
            hinged(body(inertia=[1, 1, 3])).resolve()
        assert caught[0].filename == __file__


class TestJointsAndPlacements:
    def test_zero_axis(self, engine: str) -> None:
        error = refused(hinged(joint=tt.Revolute("hinge", axis=[0, 0, 0])), engine)
        assert_says(error, "zero-axis", "hinge.axis", "expected a non-zero direction", "[0, 0, 1]")

    def test_axis_of_wrong_shape(self, engine: str) -> None:
        error = refused(hinged(joint=tt.Prismatic("hinge", axis=[1, 0])), engine)
        assert_says(error, "wrong-shape", "hinge.axis", "expected shape (3,), not (2,)", "[0, 0, 1]")

    def test_stiffness_of_wrong_shape(self, engine: str) -> None:
        error = refused(hinged(joint=tt.Planar("hinge", stiffness=[1, 2])), engine)
        assert_says(error, "wrong-shape", "hinge.stiffness", "shape (3, 3), not (2,)", "3 numbers or a 3x3 matrix")

    def test_negative_armature(self, engine: str) -> None:
        error = refused(hinged(joint=tt.Revolute("hinge", armature=-0.1)), engine)
        assert_says(error, "negative-armature", "hinge.armature", "-0.1", "expected values >= 0", "check the sign")

    @pytest.mark.parametrize(
        ("matrix", "code", "words"),
        [
            (1.01 * np.eye(3), "not-orthogonal", ["R^T R - 1 is 2.0e-02", "orthonormalise"]),
            (np.diag([1, 1, -1]), "left-handed", ["expected determinant +1, not -1", "swap or negate one axis"]),
        ],
    )
    def test_rotation_matrices(self, matrix: np.ndarray, code: str, words: list[str]) -> None:
        with pytest.raises(tt.ModelError) as caught:
            tt.Pose([0, 0, 0], matrix)
        assert_says(caught.value, code, "pose.rotation", *words)

    def test_placement_of_wrong_shape(self, engine: str) -> None:
        error = refused(hinged(placement=[1, 2]), engine)
        assert error.findings[0].code == "wrong-shape"
        assert error.where == "hinge.placement"
        assert "give a position [x, y, z] or a tt.Pose" in str(error)

    def test_gravity_of_wrong_shape(self, engine: str) -> None:
        s = tt.System("rig", gravity=9.81)
        s.connect("world", body(), tt.Revolute("hinge", axis=[1, 0, 0]))
        assert_says(refused(s, engine), "wrong-shape", "rig.gravity", "expected shape (3,), not ()")


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
        start = time.perf_counter()
        s.check()
        assert time.perf_counter() - start < 10.0  # about a second when written; a search for every closure takes minutes


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


class TestUnitsInDoubt:
    """Usable, and most likely not meant."""

    @staticmethod
    def codes(s: tt.System) -> list[str]:
        return [finding.code for finding in s.check()]

    def test_inertia_in_kg_mm2(self) -> None:
        (finding,) = hinged(body(inertia=[2e5, 2e5, 3e5])).check()
        assert (finding.code, finding.where) == ("large-inertia", "arm.inertia")
        assert "radius of gyration of 548 m" in str(finding)
        assert not hinged(body(inertia=[1.0, 1.0, 1.5], com=[0, 0, 0.02], ports={})).check()  # a hub: reach is not size
        assert not hinged(body(inertia=2e4, com=[0, 0, 0], ports={})).check()  # no length to compare with

    @pytest.mark.parametrize("turn", [[0, 0, 90.0], [45.0, 0, 0], [0, -180.0, 0]])
    def test_rotation_vectors_in_degrees(self, turn: list[float]) -> None:
        pose = tt.Pose.from_rotation_vector([0, 0, 1], turn)
        (finding,) = hinged(body(ports={"tip": pose})).check()
        assert (finding.code, finding.where) == ("degrees", "arm.tip.rotation_vector")
        (finding,) = hinged(placement=pose).check()
        assert (finding.code, finding.where) == ("degrees", "hinge.placement.rotation_vector")
        s = hinged()
        s.world.add_port("stand", pose)
        assert self.codes(s) == ["degrees"]
        assert not hinged(placement=tt.Pose.from_rotation_vector([0, 0, 1], [0, 0, 2 * np.pi])).check()

    def test_masses_that_no_system_holds_together(self) -> None:
        s = hinged(body(mass=1e9, inertia=1e8))
        s.connect(s["arm"].port("tip"), body("speck", mass=1e-6, inertia=1e-7), tt.Revolute("second"))
        (finding,) = s.check()
        assert (finding.code, finding.where) == ("far-masses", "speck.mass")
        assert "beside 1e+09 kg of arm" in str(finding)
        s["speck"].mass = 1e-2
        assert not s.check()

    def test_ports_with_dots(self) -> None:
        with pytest.raises(tt.ModelError, match=r"arm\.a\.b: got a\.b; expected a port name without dots"):
            hinged(body(ports={"a.b": [0, 0, 0]})).check()
        s = hinged()
        s.world.add_port("c.d")
        with pytest.raises(tt.ModelError, match=r"world\.c\.d"):
            s.check()

        class Dotted(tt.Block):
            """A user's block with an unusable port."""

            coordinates, ports = ("x",), ("C.D",)

            def pose(self, port: str, q: Any) -> tuple[Any, Any]:
                return np.eye(3) + 0 * q[0], np.zeros(3) + 0 * q[0]

            def mass_matrix(self, q: Any) -> Any:
                return np.eye(7) + 0 * q[0]

        s = tt.System("dotted")
        s.connect("world", Dotted("block"), tt.Free("base"))
        with pytest.raises(tt.ModelError, match=r"block\.C\.D: .*without dots"):
            s.check()


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


class TestSeveralFindings:
    def test_all_are_shown_together(self, engine: str) -> None:
        s = tt.System("rig", gravity=[0, 0])
        arm = body("arm", mass=-1.0, com=[0, 0])
        s.connect("world", arm.port("typ"), tt.Revolute("hinge", axis=[0, 0, 0]))
        s.connect(body("fork"), body("knife"), tt.Weld("glue"))
        s.add_load(tt.Load("wind", arm, force=[1, 2], frame="here"))
        error = refused(s, engine)
        found = {(finding.code, finding.where) for finding in error.findings}
        assert found == {
            ("wrong-shape", "rig.gravity"),
            ("negative-mass", "arm.mass"),
            ("wrong-shape", "arm.com"),
            ("zero-axis", "hinge.axis"),
            ("wrong-shape", "wind.force"),
            ("bad-frame", "wind.frame"),
            ("unknown-port", "arm.typ"),
            ("unconnected", "fork"),
        }
        assert len(error.findings) == len(found)
        lines = str(error).splitlines()
        assert lines[0] == "8 findings:"
        assert [line.split(".")[0].strip() for line in lines[1:]] == [str(k) for k in range(1, 9)]

    def test_check_alone_returns_what_is_suspicious(self) -> None:
        findings = hinged(body(inertia=[1, 1, 3]), tt.Revolute("hinge", axis=[1, 0, 0], stiffness=-1.0)).check()
        assert {finding.code for finding in findings} == {"triangle-inequality", "negative-stiffness"}

    def test_a_model_error_is_a_value_error(self) -> None:
        with pytest.raises(ValueError, match=r"hinge\.axis"):
            hinged(joint=tt.Revolute("hinge", axis=[0, 0, 0])).resolve()

    def test_unknown_engine(self) -> None:
        with pytest.raises(tt.ModelError, match="'compiled' or 'reference'"):
            hinged().resolve("fast")
