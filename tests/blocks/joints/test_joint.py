"""Every class of joint: its kinematics, spring and parameters, against complex steps of its pose and energy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.blocks.joints.joint_kinds import FIELDS, ROUNDING, make
from titop.blocks.joints.joint import CHILD_PORT, Joint

Array = NDArray[Any]

STEP = 1e-30

MOVING = [kind for kind in FIELDS if kind != "Weld"]


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


@pytest.mark.parametrize("kind", FIELDS)
class TestKinematics:
    def test_no_motion_at_neutral(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        if isinstance(joint, tt.Curvilinear):
            pytest.skip("its curve need not begin in the joint frame's origin")
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


@pytest.mark.parametrize("limits", [None, (-0.5, 0.5)])
@pytest.mark.parametrize("kind", MOVING)
def test_slopes_of_the_law_are_its_derivatives(kind: str, limits: tuple[float, float] | None, rng: np.random.Generator) -> None:
    """Whether they are written down, as of springs and dampers on plain coordinates, or found by complex steps, as of stops."""
    joint = make(kind, rng)
    if limits is not None:
        if joint.configuration_names != joint.coordinates:
            pytest.skip("limits are of plain coordinates")
        joint.limits = [tt.Limits(*limits, stiffness=50.0)] * joint.nv
    q, v, twist, x = joint.random_configuration(rng), *(rng.normal(size=n) for n in (joint.nv, 6, 6 + joint.nv))
    found = joint.law_slopes(q, v, twist, x)
    for slope, right in zip(found, tt.Block.law_slopes(joint, q, v, twist, x), strict=True):
        np.testing.assert_allclose(slope, right, atol=1e2 * ROUNDING)
    assert any(slope.any() for slope in found)


# Parameters of every class of joint: their names, units, and what they change.


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
