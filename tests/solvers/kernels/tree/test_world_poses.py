"""Poses in the inertial frame, against the reference engine and products of 4x4 matrices."""

from __future__ import annotations

import numpy as np

from tests.solvers.kernels.packed_trees import Packed
from tests.solvers.kernels.spatial.matrices_by_hand import random_frame
from tests.systems import Array
from tests.tolerances import ROUNDING
from titop.solvers.kernels.tree import kinematics


def test_poses_of_a_tree_are_the_reference_engines() -> None:
    packed = Packed(0, bodies=8)
    found, expected = np.full((len(packed.ints), 12), np.nan), packed.world()
    law = np.zeros((1, 1))
    kinematics._write_poses(packed.ints, law, packed.work(), found)
    bodies = [packed.system.tables.elements[body] for body in packed.model.body_names]
    np.testing.assert_allclose(found[[0, *bodies]], expected[[0, *bodies]], **ROUNDING)


def test_a_pose_before_another_is_their_product() -> None:
    rng = np.random.default_rng(0)
    (first, first_place), (second, second_place) = random_frame(rng), random_frame(rng)
    table, pose = np.zeros((2, 14)), np.array([[*second.ravel(), *second_place]])
    table[1, 2:] = [*first.ravel(), *first_place]
    kinematics.prepend(table, 1, 2, pose)
    expected = homogeneous(first, first_place) @ homogeneous(second, second_place)
    np.testing.assert_allclose(homogeneous(pose[0, :9].reshape(3, 3), pose[0, 9:]), expected, **ROUNDING)


def homogeneous(rotation: Array, position: Array) -> Array:
    """Return a pose as a 4x4 matrix."""
    return np.vstack([np.column_stack([rotation, position]), [0.0, 0.0, 0.0, 1.0]])
