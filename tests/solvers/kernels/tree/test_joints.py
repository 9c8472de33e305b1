"""Elementary joints as the kernels know them, against scipy's rotations and the motion subspace as a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.solvers.kernels.packed_trees import Packed
from tests.solvers.kernels.spatial.matrices_by_hand import ad, random_frame
from tests.systems import Array
from tests.tolerances import ROUNDING
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.tree import armatures, joints

KINDS = {layout.WELD: 0, layout.AXIAL: 1, layout.SPHERICAL: 3, layout.FREE: 6}
AT = 2  # where the joint's coordinates begin


def element(kind: int, along: float = 0.3, about: float = 1.0) -> tuple[Any, Any, Array]:
    """Return the tables of the world and an element on such a joint, and the joint's motion subspace."""
    rng = np.random.default_rng(0)
    ints, floats = np.zeros((2, layout.INT_COLUMNS), dtype=np.int64), np.zeros((2, layout.FLOAT_COLUMNS))
    ints[0, layout.ELEMENTS], ints[1, layout.KIND], ints[1, layout.V], ints[1, layout.Q] = 2, kind, AT, AT
    rotation, position = random_frame(rng)
    floats[1, :12] = [*rotation.ravel(), *position]
    floats[1, layout.LINEAR], floats[1, layout.ANGULAR] = along, about
    floats[1, layout.ARMATURE : layout.ARMATURE + 6] = rng.uniform(0.1, 0.5, 6)
    axes = np.eye(6)
    subspace = {layout.AXIAL: along * axes[:, [2]] + about * axes[:, [5]]}.get(kind, axes[:, 6 - KINDS[kind] :])
    return ints, floats, subspace


@pytest.mark.parametrize("kind", KINDS)
def test_motion_goes_along_the_subspace(kind: int) -> None:
    ints, floats, subspace = element(kind)
    rng, n = np.random.default_rng(1), KINDS[kind]
    x, wrench, rates = rng.normal(size=6), rng.normal(size=6), rng.normal(size=AT + 6)
    own = rates[AT : AT + n]
    np.testing.assert_allclose(joints.move(ints, floats, 1, x, rates, AT), x + subspace @ own, **ROUNDING)
    np.testing.assert_allclose(joints.coriolis(ints, floats, 1, x, rates, AT), ad(x) @ subspace @ own, **ROUNDING)
    for j in range(n):
        assert np.array_equal(joints.axis(ints, floats, 1, j), subspace[:, j])
    tau = np.zeros(AT + 6)
    joints.along_joint(ints, floats, 1, wrench, tau, AT)
    np.testing.assert_allclose(tau, [*np.zeros(AT), *(subspace.T @ wrench), *np.zeros(6 - n)], **ROUNDING)
    armatures.armature_effort(ints, floats, 1, rates, tau, AT)
    np.testing.assert_allclose(tau[AT : AT + n], subspace.T @ wrench + floats[1, layout.ARMATURE :][:n] * own, **ROUNDING)


@pytest.mark.parametrize(("along", "about"), [(0.0, 1.0), (1.0, 0.0), (0.3, 1.0)])
def test_axial_joints_turn_about_and_go_along_their_axis(along: float, about: float) -> None:
    ints, floats, _ = element(layout.AXIAL, along, about)
    work, q = np.zeros((2, layout.INVERSE_COLUMNS)), np.full(AT + 1, 0.7)
    assert joints.place(ints, floats, 1, q, work) == layout.OK
    rotation, position = floats[1, :9].reshape(3, 3), floats[1, 9:12]
    turned = rotation @ Rotation.from_rotvec([0.0, 0.0, 0.7 * about]).as_matrix()
    np.testing.assert_allclose(work[1, :9].reshape(3, 3), turned, **ROUNDING)
    np.testing.assert_allclose(work[1, 9:12], position + 0.7 * along * rotation[:, 2], **ROUNDING)


def test_quaternions_turn_and_others_are_told() -> None:
    _, floats, _ = element(layout.FREE)
    q, work = np.array([0.1, 0.2, 0.3, *Rotation.from_rotvec([0.3, -1.0, 0.5]).as_quat()]), np.zeros((1, 12))
    assert joints._place_quaternion(floats[1:], q, 3, *q[:3], work) == layout.OK
    rotation, position = floats[1, :9].reshape(3, 3), floats[1, 9:12]
    np.testing.assert_allclose(work[0, :9].reshape(3, 3), rotation @ Rotation.from_quat(q[3:]).as_matrix(), **ROUNDING)
    np.testing.assert_allclose(work[0, 9:], position + rotation @ q[:3], **ROUNDING)
    assert joints._place_quaternion(floats[1:], 1.001 * q, 3, *q[:3], work) == layout.NOT_UNIT


def test_every_coordinate_belongs_to_the_element_that_it_moves() -> None:
    packed = Packed(3)
    columns = [joints.element_of(packed.ints, k) for k in range(packed.model.nv)]
    joint_of = [packed.system.tables.joints[row] for row in columns]
    assert joint_of == [name.split(".")[0] for name in packed.model.coordinate_names]


@pytest.mark.parametrize("kind", [layout.SPHERICAL, layout.FREE])
def test_armatures_have_no_power(kind: int) -> None:
    """``-bracket(v)^T (armature v)`` is what a body with this diagonal inertia takes on its way, and no work."""
    _, floats, subspace = element(kind)
    v, tau, n = np.random.default_rng(2).normal(size=AT + KINDS[kind]), np.zeros(AT + KINDS[kind]), KINDS[kind]
    tau[AT : AT + n] -= armatures.armature_wrench(floats, 1, v, AT, n)[6 - n :]
    bracket, armature = subspace.T @ ad(subspace @ v[AT:]) @ subspace, np.diag(floats[1, layout.ARMATURE :][:n])
    np.testing.assert_allclose(tau[AT:], bracket.T @ armature @ v[AT:], **ROUNDING)
    assert abs(tau[AT:] @ v[AT:]) < 1e-14
