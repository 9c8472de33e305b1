"""How joints are made, and what of it is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import titop as tt
from tests.blocks.joints.joint_kinds import ROUNDING
from titop.blocks.joints.joint import CHILD_PORT, Joint


class TestConstruction:
    def test_axes_are_normalised(self) -> None:
        np.testing.assert_allclose(tt.Prismatic("rail", axis=[0, 0, 5]).pose(CHILD_PORT, np.array([2.0]))[1], [0, 0, 2])

    def test_screw_moves_by_its_pitch_a_radian(self) -> None:
        _, position = tt.Screw("screw", axis=[0, 0, 2], pitch=0.1).pose(CHILD_PORT, np.array([np.pi]))
        np.testing.assert_allclose(position, [0, 0, 0.1 * np.pi])

    def test_universal_turns_about_the_first_axis_first(self) -> None:
        rotation, _ = tt.Universal("cross").pose(CHILD_PORT, np.array([np.pi / 2, np.pi / 2]))
        # the child's x axis turns about y into -z, which the first turn about x takes to y
        np.testing.assert_allclose(rotation @ [1, 0, 0], [0, 1, 0], atol=ROUNDING)

    @pytest.mark.parametrize(
        ("code", "where", "joint"),
        [
            ("zero-axis", "j.axis", lambda: tt.Revolute("j", axis=[0, 0, 0])),
            ("wrong-shape", "j.axis", lambda: tt.Revolute("j", axis=[0, 1])),
            ("not-finite", "j.axis", lambda: tt.Prismatic("j", axis=[0, np.nan, 1])),
            ("wrong-type", "j.axis", lambda: tt.Prismatic("j", axis="z")),
            ("parallel-axes", "j.axis2", lambda: tt.Universal("j", axis1=[1, 0, 0], axis2=[-2, 0, 0])),
            ("not-symmetric", "j.stiffness", lambda: tt.Planar("j", stiffness=[[1, 2, 0], [0, 1, 0], [0, 0, 1]])),
            ("wrong-shape", "j.damping", lambda: tt.Spherical("j", damping=[1, 2])),
            ("negative-armature", "j.armature", lambda: tt.Revolute("j", armature=-1)),
            ("not-unit", "j.rest", lambda: tt.Spherical("j", rest=[0, 0, 0, 2])),
            ("wrong-shape", "j.rest", lambda: tt.Free("j", rest=[0, 0, 0])),
            ("wrong-type", "j.pitch", lambda: tt.Screw("j", pitch="1 mm")),
        ],
    )
    def test_findings(self, code: str, where: str, joint: Callable[[], Joint]) -> None:
        errors, _ = joint().check()
        assert [(finding.code, finding.where) for finding in errors] == [(code, where)]

    def test_negative_stiffness_is_suspicious_only(self) -> None:
        errors, warnings = tt.Revolute("j", stiffness=-1.0).check()
        assert errors == []
        assert [finding.code for finding in warnings] == ["negative-stiffness"]


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_cartesian_is_three_rails_one_on_the_other(engine: str) -> None:
    body = tt.RigidBody("body", mass=2.0, com=[0.1, 0.2, -0.3], inertia=[0.3, 0.4, 0.5], ports={"E": [0.3, 0, 0.1]})
    one, three = (tt.System(name, gravity=[0.3, -0.2, -9.81]) for name in ("one", "three"))
    tilted = tt.Pose(rotation=np.eye(3)[[1, 2, 0]])
    one.connect("world", body, tt.Cartesian("at", stiffness=[3.0, 4.0, 5.0], armature=[0.1, 0.2, 0.3]), placement=tilted)
    above, place = "world", tilted
    for k, axis in enumerate("xyz"):
        carried = body if axis == "z" else tt.RigidBody(axis, mass=0.0)
        rail = tt.Prismatic(f"at_{axis}", np.eye(3)[k], stiffness=3.0 + k, armature=0.1 + 0.1 * k)
        three.connect(above, carried, rail, placement=place)
        above, place = carried, tt.Pose()
    for s in (one, three):
        s.connect(body.port("E"), tt.RigidBody("arm", 0.5, com=[0.2, 0, 0], inertia=0.1), tt.Revolute("hinge", [0, 1, 1]))
    state = np.array([[0.1, -0.2, 0.3, 0.7], [0.5, 0.4, -0.3, 2.0], [1.0, 2.0, -1.0, 0.3]])
    answers = [s.resolve(engine=engine).forward_dynamics(*state) for s in (one, three)]
    np.testing.assert_allclose(*answers, rtol=1e-12)  # rounding of two ways to one number
