"""Every class of joint: its kinematics, spring and parameters, against complex steps of its pose and energy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from titop.blocks.joints.joint import CHILD_PORT, Joint

Array = NDArray[Any]

#: Complex steps are exact: what is left is a few roundings of numbers of order one (stiffnesses of order ten).
ROUNDING = 1e-12

STEP = 1e-30

#: Axes are of no unit length and none is parallel to a coordinate axis.
FIELDS: dict[str, dict[str, Any]] = {
    "Revolute": {"axis": [1, -2, 0.5]},
    "Prismatic": {"axis": [0.3, 0.1, -0.7]},
    "Screw": {"axis": [-1, 0.4, 2], "pitch": 0.3},
    "Cylindrical": {"axis": [0.2, 3, -1]},
    "Universal": {"axis1": [1, 0.5, 0.1], "axis2": [-0.2, 2, 1]},
    "Planar": {},
    "Spherical": {},
    "Free": {},
    "Weld": {},
}
MOVING = [kind for kind in FIELDS if kind != "Weld"]


def make(kind: str, rng: np.random.Generator) -> Joint:
    """Return a joint with a full, anisotropic stiffness and damping matrix, a random rest configuration and armatures."""
    plain: Joint = getattr(tt, kind)("plain", **FIELDS[kind])
    if kind == "Weld":
        return plain
    n = plain.nv
    spring, damper = rng.normal(size=(2, n, n))
    return getattr(tt, kind)(
        kind.lower(),
        stiffness=spring @ spring.T + np.diag(np.arange(1.0, n + 1)),
        damping=damper @ damper.T,
        rest=plain.random_configuration(rng),
        armature=rng.uniform(0.1, 1.0, n),
        **FIELDS[kind],
    )


def along(joint: Joint, function: Callable[[Array], Any], q: Array, direction: Array) -> Array:
    """Return the derivative of a function of the configuration along a tangent vector, by a complex step."""
    return np.imag(function(joint.integrate(q, 1j * STEP * direction))) / STEP


def numerical_subspace(joint: Joint, q: Array) -> Array:
    """Return ``g^-1 dg/dq`` (6 x n)."""
    rotation, _ = joint.pose(CHILD_PORT, q)
    columns = []
    for unit in np.eye(joint.nv):
        spin = rotation.T @ along(joint, lambda x: joint.pose(CHILD_PORT, x)[0], q, unit)
        np.testing.assert_allclose(spin, -spin.T, atol=ROUNDING)
        velocity = rotation.T @ along(joint, lambda x: joint.pose(CHILD_PORT, x)[1], q, unit)
        columns.append([*velocity, spin[2, 1], spin[0, 2], spin[1, 0]])
    return np.array(columns).reshape(joint.nv, 6).T


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.mark.parametrize("kind", FIELDS)
class TestKinematics:
    def test_no_motion_at_neutral(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        rotation, position = joint.pose(CHILD_PORT, joint.neutral())
        np.testing.assert_array_equal(rotation, np.eye(3))
        np.testing.assert_array_equal(position, np.zeros(3))

    def test_motion_subspace_is_the_pose_s_derivative(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        q = joint.random_configuration(rng)
        np.testing.assert_allclose(joint.motion_subspace(CHILD_PORT, q), numerical_subspace(joint, q), atol=ROUNDING)

    def test_subspace_rate_is_the_subspace_s_derivative(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        q, v = joint.random_configuration(rng), rng.normal(size=joint.nv)
        expected = along(joint, lambda x: joint.motion_subspace(CHILD_PORT, x) @ v, q, v)
        np.testing.assert_allclose(joint.subspace_rate(CHILD_PORT, q, v), expected, atol=ROUNDING)

    def test_integrate_and_difference_are_inverse(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        q, step = joint.random_configuration(rng), rng.uniform(-1, 1, joint.nv)
        np.testing.assert_allclose(joint.difference(q, joint.integrate(q, step)), step, atol=ROUNDING)
        other = joint.random_configuration(rng)
        reached = joint.integrate(q, joint.difference(q, other))
        for found, expected in zip(joint.pose(CHILD_PORT, reached), joint.pose(CHILD_PORT, other), strict=True):
            np.testing.assert_allclose(found, expected, atol=ROUNDING)

    def test_bracket_is_the_commutator_of_motions(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        a, b = 1e-3 * rng.normal(size=(2, joint.nv))
        q = joint.neutral()
        there_and_back = joint.integrate(joint.integrate(joint.integrate(joint.integrate(q, a), b), -a), -b)
        # the commutator is of second order in the steps (1e-6), what else the loop leaves of third (a few times 1e-9)
        np.testing.assert_allclose(joint.difference(q, there_and_back), joint.bracket(a) @ b, atol=1e-8)


@pytest.mark.parametrize("kind", MOVING)
class TestPassiveEfforts:
    def test_spring_acts_with_minus_the_energy_s_gradient(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        q, rest = joint.random_configuration(rng), np.zeros(joint.nv)
        gradient = [along(joint, joint.elastic_energy, q, unit) for unit in np.eye(joint.nv)]
        np.testing.assert_allclose(joint.passive_efforts(q, rest), -np.array(gradient), atol=10 * ROUNDING)

    def test_spring_rests_at_rest(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        np.testing.assert_allclose(joint.passive_efforts(joint.rest, np.zeros(joint.nv)), 0.0, atol=ROUNDING)
        assert joint.elastic_energy(joint.random_configuration(rng)) > 0.0

    def test_damper_takes_power(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        v = rng.normal(size=joint.nv)
        effort = joint.passive_efforts(joint.rest, v)
        np.testing.assert_allclose(effort, -joint.damping @ v, atol=ROUNDING)
        assert effort @ v < 0.0

    def test_armature_does_no_work_by_its_gyroscopic_terms(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        v = rng.normal(size=joint.nv)
        h = joint.gyroscopic(joint.neutral(), v, rng.normal(size=6))
        np.testing.assert_array_equal(h[:6], np.zeros(6))
        np.testing.assert_allclose(h[6:] @ v, 0.0, atol=ROUNDING)


@pytest.mark.parametrize("kind", ["Spherical", "Free"])
def test_stiffness_times_displacement_alone_is_no_gradient(kind: str, rng: np.random.Generator) -> None:
    """The negative control of the gradient test: on a group, an anisotropic ``-K delta`` would create energy."""
    joint = make(kind, rng)
    q = joint.random_configuration(rng)
    naive = -joint.stiffness @ joint.difference(joint.rest, q)
    assert np.abs(joint.passive_efforts(q, np.zeros(joint.nv)) - naive).max() > 0.1


@pytest.mark.parametrize("kind", ["Universal", "Planar"])
def test_subspaces_that_turn_have_a_rate(kind: str, rng: np.random.Generator) -> None:
    """The negative control of the rate test."""
    joint = make(kind, rng)
    rate = joint.subspace_rate(CHILD_PORT, joint.random_configuration(rng), rng.normal(size=joint.nv))
    assert np.abs(rate).max() > 0.1


@pytest.mark.parametrize("kind", FIELDS)
class TestParameters:
    def test_round_trip(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        values = {name: value for name, (value, _) in joint.parameters().items()}
        assert joint.with_parameters(values).parameters() == joint.parameters()

    def test_each_changes_itself_alone_and_in_a_copy(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        before = joint.parameters()
        for name, (value, unit) in before.items():
            after = joint.with_parameters({name: value + 0.5}).parameters()
            assert after == before | {name: (value + 0.5, unit)}
        assert joint.parameters() == before

    def test_matrices_stay_symmetric(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        changed = joint.with_parameters(dict.fromkeys(joint.parameters(), 0.25))
        assert isinstance(changed, Joint)
        np.testing.assert_array_equal(changed.stiffness, changed.stiffness.T)
        np.testing.assert_array_equal(changed.damping, changed.damping.T)


class TestUnits:
    def test_names_and_units_of_a_single_coordinate(self) -> None:
        parameters = tt.Prismatic("rail", axis=[1, 0, 0], stiffness=3.0, damping=0.5, rest=0.1, armature=0.2).parameters()
        assert parameters["stiffness"] == (3.0, "N/m")
        assert parameters["damping"] == (0.5, "N s/m")
        assert parameters["rest"] == (0.1, "m")
        assert parameters["armature"] == (0.2, "kg")
        assert parameters["axis.x"] == (1.0, "1")

    def test_units_of_coupled_coordinates(self) -> None:
        parameters = tt.Cylindrical("slide").parameters()
        assert parameters["stiffness.displacement.displacement"][1] == "N/m"
        assert parameters["stiffness.displacement.angle"][1] == "N/rad"
        assert parameters["damping.angle.angle"][1] == "N m s/rad"
        assert parameters["armature.angle"][1] == "kg m^2"


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

    def test_spherical_and_free_read_rotations_and_poses(self) -> None:
        turn = tt.Pose([1, 2, 3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
        quarter = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]
        np.testing.assert_allclose(tt.Spherical("ball", rest=turn.rotation).rest, quarter, atol=ROUNDING)
        np.testing.assert_allclose(tt.Free("base", rest=turn).rest, [1, 2, 3, *quarter], atol=ROUNDING)

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
