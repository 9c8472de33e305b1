"""Bad input: every mistake is found when the system is resolved, with where, what, what was expected and what to do."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import titop as tt

ENGINES = ("compiled", "reference")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


def body(name: str = "arm", **fields: Any) -> tt.RigidBody:
    """Return a body with a port ``tip``, fields replaced."""
    return tt.RigidBody(name, **({"mass": 1.0, "com": [0, 0, 1], "inertia": 0.1, "ports": {"tip": [0, 0, 2]}} | fields))


def hinged(arm: Any = None, joint: Any = None, placement: Any = None) -> tt.System:
    """Return a system of one body on a joint."""
    s = tt.System("rig")
    s.connect("world", arm or body(), joint or tt.Revolute("hinge", axis=[1, 0, 0]), placement)
    return s


def refused(s: tt.System, engine: str = "compiled") -> tt.ModelError:
    """Return the error with which a system is refused, and no warning besides."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(tt.ModelError) as caught:
            s.resolve(engine)
    return caught.value


def assert_says(error: tt.ModelError, code: str, where: str, *words: str) -> None:
    """Assert that one finding alone is reported, and that the message holds some words."""
    assert [finding.code for finding in error.findings] == [code]
    assert (error.code, error.where) == (code, where)
    for word in (code, where, *words):
        assert word in str(error)


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
        assert "each joint and load used once" in str(error)

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
        assert_says(error, "two-parents", "hand", "got strap and wrist", "expected one parent joint a block", "close_loop")

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
        for cure in ("close_loop", "tt.CompliantClosure", "tt.RigidClosure"):
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
        assert "expected a path from the world to every block" in str(error)
        assert 'connect("world", ..., joint=tt.Free(...)' in str(error)


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


def two_bodies() -> tt.System:
    """Return a body on a hinge, a second on a ball joint: coordinates hinge, ball.rx, ball.ry, ball.rz."""
    s = tt.System("rig")
    arm = body("arm")
    s.connect("world", arm, tt.Revolute("hinge", axis=[1, 0, 0]))
    s.connect(arm.port("tip"), body("hand"), tt.Spherical("ball"))
    return s


@pytest.fixture
def model(engine: str) -> tt.Model:
    return two_bodies().resolve(engine)


CALLS: dict[str, Callable[..., Any]] = {
    "forward_dynamics": lambda m, q, v, x: m.forward_dynamics(q, v, x),
    "inverse_dynamics": lambda m, q, v, x: m.inverse_dynamics(q, v, x),
    "hybrid_dynamics": lambda m, q, v, x: m.hybrid_dynamics(q, v, x, x, ["hinge"]),
    "nonlinear_effects": lambda m, q, v, x: m.nonlinear_effects(q, v),
    "coriolis_matrix": lambda m, q, v, x: m.coriolis_matrix(q, v),
    "passive_efforts": lambda m, q, v, x: m.passive_efforts(q, v),
    "mass_matrix": lambda m, q, v, x: m.mass_matrix(q),
    "gravity_effects": lambda m, q, v, x: m.gravity_effects(q),
    "energy": lambda m, q, v, x: m.energy(q, v),
    "momentum": lambda m, q, v, x: m.momentum(q, v),
    "center_of_mass": lambda m, q, v, x: m.center_of_mass(q),
    "pose": lambda m, q, v, x: m.pose("hand", q),
    "jacobian": lambda m, q, v, x: m.jacobian("hand", q),
    "motion": lambda m, q, v, x: m.motion("hand", q, v, x),
    "accelerometer": lambda m, q, v, x: m.accelerometer("hand", q, v, x),
    "reaction": lambda m, q, v, x: m.reaction("ball", q, v, x),
    "integrate": lambda m, q, v, x: m.integrate(q, v),
    "difference": lambda m, q, v, x: m.difference(q, q),
    "configuration_rate": lambda m, q, v, x: m.configuration_rate(q, v),
}
OF_Q_ALONE = ("mass_matrix", "gravity_effects", "center_of_mass", "pose", "jacobian", "difference")
OF_THREE = ("forward_dynamics", "inverse_dynamics", "hybrid_dynamics", "motion", "accelerometer", "reaction")
STACKING = ("forward_dynamics", "inverse_dynamics")

#: The calls that read each of the three states q, v and x.
READERS = (list(CALLS), [name for name in CALLS if name not in OF_Q_ALONE], list(OF_THREE))


def assert_refused(model: tt.Model, calls: list[str], states: tuple[Any, Any, Any], code: str, *words: str) -> None:
    """Assert that all calls raise a ModelError of a code, with some words in its message; list those that do not."""
    wrong = {}
    for name in calls:
        try:
            wrong[name] = repr(CALLS[name](model, *states))[:80]
        except tt.ModelError as error:
            if error.code != code or not all(word in str(error) for word in words):
                wrong[name] = str(error)
        except Exception as error:  # whatever else it is, it is not what users should see
            wrong[name] = repr(error)[:80]
    assert wrong == {}


Z = np.zeros(4)
UNIT = np.array([0.0, 0.0, 0.0, 0.0, 1.0])


class TestStates:
    """Every function of a state refuses what it cannot use, and says which argument, and which entry of which joint."""

    def test_wrong_lengths(self, model: tt.Model) -> None:
        got, names = "got shape (4,)", "hinge, ball.qx, ball.qy, ball.qz, ball.qw"
        assert_refused(model, READERS[0], (Z, Z, Z), "wrong-length", got, "expected shape (5,)", names)
        assert_refused(
            model, READERS[1], (UNIT, np.zeros(5), Z), "wrong-length", "got shape (5,)", "expected shape (4,)", "ball.rx"
        )
        assert_refused(
            model, READERS[2], (UNIT, Z, np.zeros(3)), "wrong-length", "got shape (3,)", "expected shape (4,)", "ball.rx"
        )

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_entries_that_are_not_finite(self, model: tt.Model, bad: float) -> None:
        q, x = UNIT.copy(), Z.copy()
        q[0], x[2] = bad, bad
        assert_refused(model, READERS[0], (q, Z, Z), "not-finite", "[0]: got", "it is the entry of hinge")
        assert_refused(model, READERS[1], (UNIT, x, Z), "not-finite", "[2]: got", "it is the entry of ball.ry")
        assert_refused(model, READERS[2], (UNIT, Z, x), "not-finite", "[2]: got", "it is the entry of ball.ry")

    def test_the_argument_is_named(self, model: tt.Model) -> None:
        with pytest.raises(tt.ModelError) as caught:
            model.forward_dynamics(UNIT, Z, [0, 0, 0, np.inf])
        assert (caught.value.code, caught.value.where) == ("not-finite", "tau[3]")

    def test_entries_of_a_stack_that_are_not_finite(self, model: tt.Model) -> None:
        q, v, tau = np.tile(UNIT, (3, 1)), np.zeros((3, 4)), np.zeros((3, 4))
        v[1, 0] = np.nan
        with pytest.raises(tt.ModelError) as caught:
            model.forward_dynamics(q, v, tau)
        assert (caught.value.code, caught.value.where) == ("not-finite", "v[1, 0]")

    def test_stacks_of_uneven_height(self, model: tt.Model) -> None:
        stacked = (np.tile(UNIT, (3, 1)), np.zeros((2, 4)), np.zeros((3, 4)))
        assert_refused(model, list(STACKING), stacked, "wrong-length")
        assert_refused(model, list(STACKING), (stacked[0], Z, Z), "wrong-length")

    def test_stacks_where_none_are_taken(self, model: tt.Model) -> None:
        stacked = (np.tile(UNIT, (3, 1)), np.zeros((3, 4)), np.zeros((3, 4)))
        assert_refused(model, [name for name in CALLS if name not in STACKING], stacked, "wrong-length")

    def test_quaternions_that_are_not_unit(self, model: tt.Model) -> None:
        words = ("[1:5]: got norm 1.001", "normalise the quaternion of ball")
        assert_refused(model, READERS[0], (1.001 * UNIT, Z, Z), "not-unit", *words)

    def test_quaternions_within_tolerance_are_normalised(self, model: tt.Model) -> None:
        rng = np.random.default_rng(0)
        q, v, tau = model.random_configuration(rng), rng.normal(size=4), rng.normal(size=4)
        nearly = q.copy()
        nearly[1:] *= 1 + 5e-7
        np.testing.assert_allclose(model.forward_dynamics(nearly, v, tau), model.forward_dynamics(q, v, tau), rtol=1e-12)
        np.testing.assert_allclose(model.pose("hand", nearly)[0], model.pose("hand", q)[0], atol=1e-13)

    @pytest.mark.parametrize("text", ["abc", ["a"] * 5], ids=str)
    def test_text(self, model: tt.Model, text: Any) -> None:
        assert_refused(model, READERS[0], (text, Z, Z), "wrong-type")

    def test_complex_numbers_in_the_compiled_engine(self) -> None:
        """It computes with real numbers: an imaginary part is refused, never dropped."""
        model, words = two_bodies().resolve("compiled"), ("complex numbers", "engine='reference'")
        calls = [[name for name in names if name not in ("integrate", "difference")] for names in READERS]
        assert_refused(model, calls[0], (UNIT + 1e-20j, Z, Z), "wrong-type", *words)
        assert_refused(model, calls[1], (UNIT, Z + 1e-20j, Z), "wrong-type", *words)
        assert_refused(model, calls[2], (UNIT, Z, Z + 1e-20j), "wrong-type", *words)


def strided(x: np.ndarray) -> np.ndarray:
    """Return the array as every second entry of another."""
    return np.repeat(x, 2)[::2]


def read_only(x: np.ndarray) -> np.ndarray:
    """Return a copy that cannot be written."""
    x = x.copy()
    x.flags.writeable = False
    return x


#: Ways to give a state. Its numbers have few binary digits, so that none is lost in single precision.
FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": np.ndarray.tolist,
    "tuple": tuple,
    "float32": lambda x: x.astype(np.float32),
    "longdouble": lambda x: x.astype(np.longdouble),
    "big endian": lambda x: x.astype(">f8"),
    "objects": lambda x: x.astype(object),
    "strided": strided,
    "read-only": read_only,
    "backwards": lambda x: x[::-1].copy()[::-1],
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_in_which_a_state_may_be_given(model: tt.Model, form: str) -> None:
    states = np.array([0.5, 0, 0, 1, 0]), np.array([1, -0.5, 2, 0.25]), np.array([0.5, 1, 1.5, 2])
    wrong = {}
    for name, call in CALLS.items():
        expected = np.concatenate([np.ravel(part) for part in call(model, *states)])
        try:
            found = np.concatenate([np.ravel(part) for part in call(model, *(FORMS[form](state) for state in states))])
        except Exception as error:
            wrong[name] = repr(error)[:80]
        else:
            if found.dtype != np.float64 or not np.array_equal(found, expected):
                wrong[name] = f"{found} instead of {expected}"
    assert wrong == {}


@pytest.mark.parametrize("call", ["forward_dynamics", "inverse_dynamics"])
class TestOut:
    def test_result_is_written_there(self, model: tt.Model, call: str) -> None:
        out = np.empty(4)
        assert getattr(model, call)(UNIT, np.ones(4), np.ones(4), out=out) is out
        np.testing.assert_array_equal(out, getattr(model, call)(UNIT, np.ones(4), np.ones(4)))

    @pytest.mark.parametrize("which", range(3))
    def test_it_may_be_one_of_the_arguments(self, engine: str, call: str, which: int) -> None:
        m = hinged(joint=tt.Cylindrical("hinge", axis=[1, 2, 3], stiffness=[1, 2], damping=0.5)).resolve(engine)
        states = np.random.default_rng(0).normal(size=(3, 2))
        expected = getattr(m, call)(*states)
        np.testing.assert_allclose(getattr(m, call)(*states, out=states[which]), expected, rtol=1e-12)

    @pytest.mark.parametrize(
        "out",
        [
            np.empty(3),
            np.empty((1, 4)),
            np.empty(4, dtype=int),
            np.empty(4, dtype=np.float32),
            read_only(np.empty(4)),
            [0.0] * 4,
        ],
        ids=["short", "two axes", "int", "float32", "read-only", "list"],
    )
    def test_what_cannot_hold_the_result_is_refused(self, model: tt.Model, call: str, out: Any) -> None:
        with pytest.raises(tt.ModelError) as caught:
            getattr(model, call)(UNIT, np.ones(4), np.ones(4), out=out)
        assert caught.value.where == "out"


HAND_INERTIA = ("hand.inertia.xx", "hand.inertia.yy", "hand.inertia.zz")


class TestNamesOfArguments:
    def test_prescribing_twice(self, model: tt.Model) -> None:
        z = np.zeros(4)
        pairs = ((["hinge", "hinge"], "hinge"), (["ball", "ball.ry"], "ball.ry"), (["ball.rx", "ball"], "ball.rx"))
        for prescribed, twice in pairs:
            with pytest.raises(tt.ModelError) as caught:
                model.hybrid_dynamics(model.neutral(), z, z, z, prescribed)
            assert (caught.value.code, caught.value.where) == ("prescribed-twice", "prescribed")
            assert "expected each coordinate once" in str(caught.value)
            assert f"{twice} is there already" in str(caught.value)

    @pytest.mark.parametrize(
        ("code", "call", "advice"),
        [
            ("unknown-coordinate", lambda m, q, z: m.hybrid_dynamics(q, z, z, z, ["hing"]), "did you mean 'hinge'?"),
            ("unknown-coordinate", lambda m, q, z: m.configuration({"hinje": 1.0}), "did you mean 'hinge'?"),
            ("unknown-coordinate", lambda m, q, z: m.velocity({"bal": [1, 2, 3]}), "did you mean 'ball'"),
            ("unknown-port", lambda m, q, z: m.pose("arm.tipp", q), "did you mean 'arm.tip'"),
            ("unknown-port", lambda m, q, z: m.forward_dynamics(q, z, z, wrenches={"hnd": np.zeros(6)}), "did you mean 'hand'"),
            ("unknown-joint", lambda m, q, z: m.reaction("bal", q, z, z), "did you mean 'ball'?"),
            ("unknown-parameter", lambda m, q, z: m.with_parameters({"arm.mas": 1.0}), "did you mean 'arm.mass'"),
        ],
    )
    def test_unknown_names(self, model: tt.Model, code: str, call: Callable[..., Any], advice: str) -> None:
        with pytest.raises(tt.ModelError) as caught:
            call(model, model.neutral(), np.zeros(4))
        assert caught.value.code == code
        assert advice in str(caught.value)

    @pytest.mark.parametrize("wrench", [[1, 2, 3], np.full(6, np.nan), "push", None, [[1, 2, 3, 4, 5, 6]]], ids=str)
    def test_unusable_wrenches(self, model: tt.Model, wrench: Any) -> None:
        with pytest.raises(tt.ModelError) as caught:
            model.forward_dynamics(model.neutral(), np.zeros(4), np.zeros(4), wrenches={"hand": wrench})
        assert caught.value.where == "wrenches['hand']"
        assert "six finite numbers [F; T]" in str(caught.value)

    @pytest.mark.parametrize(
        ("values", "code", "where"),
        [
            ({"arm.mass": -1.0}, "negative-mass", "arm.mass"),
            ({"arm.mass": np.nan}, "not-finite", "arm.mass"),
            ({"arm.mass": "heavy"}, "wrong-type", "arm.mass"),
            ({"arm.mass": None}, "wrong-type", "arm.mass"),
            ({"hand.inertia.xy": 7.0}, "negative-inertia", "hand.inertia"),
            ({"hinge.axis.x": 0.0}, "zero-axis", "hinge.axis"),
            ({"hinge.armature": -1.0}, "negative-armature", "hinge.armature"),
            ({"gravity.x": np.inf}, "not-finite", "gravity.x"),
            ({"arm.tip.position.x": np.nan}, "not-finite", "arm.tip.position.x"),
            ({"hand.com.z": 0.0, **dict.fromkeys(HAND_INERTIA, 0.0)}, "massless-joint", "ball"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_unusable_parameters(self, model: tt.Model, values: dict[str, Any], code: str, where: str) -> None:
        with pytest.raises(tt.ModelError) as caught:
            model.with_parameters(values)
        assert (caught.value.code, caught.value.where) == (code, where)
