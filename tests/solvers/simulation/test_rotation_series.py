"""Coefficients of rotations: Euler angles, quaternions and matrices of one turn."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from tests.refusals import refusal
from titop.solvers.simulation.rotation_series import angular_velocity, body_velocity, quaternions, rotation_coefficients

#: Angles (rad) and rates (rad/s) at two times, as coefficients of their series.
ANGLES = np.array(
    [[[0.3, -0.8, 1.1], [0.1, 0.2, 0.3]], [[0.5, 0.4, -0.7], [1.0, 2.0, 3.0]], np.zeros((2, 3)), np.zeros((2, 3))]
)


def test_values_are_scipys() -> None:
    for sequence in ("XYZ", "ZXZ"):
        rotation = rotation_coefficients("r", ANGLES, sequence)
        expected = Rotation.from_euler(sequence, ANGLES[0])
        np.testing.assert_allclose(rotation[0], expected.as_matrix(), atol=1e-15)
        np.testing.assert_allclose(
            Rotation.from_quat(quaternions(ANGLES, rotation)).as_matrix(), expected.as_matrix(), atol=1e-15
        )


def test_angular_velocity_is_that_of_differences() -> None:
    rotation, step = rotation_coefficients("r", ANGLES, "XYZ"), 1e-5
    after, before = (Rotation.from_euler("XYZ", ANGLES[0] + sign * step * ANGLES[1]) for sign in (1, -1))
    expected = (before.inv() * after).as_rotvec() / (2 * step)
    np.testing.assert_allclose(angular_velocity(rotation)[0], expected, atol=1e-9)  # central differences of 1e-5


def test_steady_turns_have_one_angular_velocity() -> None:
    turn = np.zeros((6, 1, 3))
    turn[1, 0, 2] = 2.0
    w = angular_velocity(rotation_coefficients("r", turn, "XYZ"))
    np.testing.assert_allclose(w[:, 0, 2], [2, 0, 0, 0, 0], atol=1e-14)
    position = np.zeros((6, 1, 3))
    position[1, 0, 0] = 1.0  # straight ahead, seen from a frame that turns left: exp(-2 i t)
    ahead = body_velocity(rotation_coefficients("r", turn, "XYZ"), position)[:, 0]
    np.testing.assert_allclose(ahead[:, 0] + 1j * ahead[:, 1], [1, -2j, -2, 4j / 3, 2 / 3], atol=1e-14)


def test_quaternions_are_normalised_with_their_derivatives() -> None:
    c = np.zeros((5, 1, 4))
    c[0, 0], c[1, 0] = [0.0, 0.0, 0.6, 0.8], [0.0, 0.0, 0.3, -0.2]  # a straight line: arctan of its ratio turns
    rotation = rotation_coefficients("r", c, "XYZ")
    np.testing.assert_allclose(np.einsum("nji,njk->nik", rotation[0], rotation[0]), [np.eye(3)], atol=1e-15)
    w = angular_velocity(rotation)[:, 0, 2]
    # of the angle 2 arctan(z/w): rate 2 (w dz - z dw) over the square of the length
    length = np.array([1.0, 2 * (0.6 * 0.3 - 0.8 * 0.2), 0.13])
    expected = np.zeros(4)
    for k in range(4):
        expected[k] = 2 * (0.8 * 0.3 + 0.6 * 0.2) * (k == 0) - sum(length[j] * expected[k - j] for j in range(1, min(k, 2) + 1))
    np.testing.assert_allclose(w, expected, atol=1e-14)


def test_what_is_no_rotation_is_refused() -> None:
    with refusal("wrong-shape", "shape (2,)"):
        rotation_coefficients("r", np.zeros((2, 1, 2)), "XYZ")
    with refusal("not-orthogonal", "R^T R - 1"):
        rotation_coefficients("r", np.ones((1, 1, 3, 3)), "XYZ")
