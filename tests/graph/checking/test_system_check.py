"""Checks of whole systems, and of blocks that users wrote in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import assert_says, body, hinged, refused


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


def test_ports_with_dots() -> None:
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
