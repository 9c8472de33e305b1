"""Spatial algebra against matrix exponentials (scipy's `expm`, an independent source) and complex steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from titop.blocks.basics import spatial

Array = NDArray[Any]

#: Rotation angles (rad): zero, where series take over from closed forms (0.01), in between, and up to a half turn.
ANGLES = (0.0, 1e-9, 1e-4, 0.00999, 0.01001, 0.3, 1.0, 2.5, np.pi - 1e-3, np.pi - 1e-7)

#: Entries of order one: a few roundings.
ROUNDING = 1e-14

#: Just above the angle where the series end (0.01), a coefficient of SE(3)'s Jacobian has lost eight of sixteen digits, and
#: multiplies terms of 1e-4: 4e-13 were measured there.
JACOBIAN = 2e-12

STEP = 1e-30


def direction(seed: int) -> Array:
    """Return a random unit vector."""
    x = np.random.default_rng(seed).normal(size=3)
    return x / np.linalg.norm(x)


def hat(xi: Array) -> Array:
    """Return the 4x4 matrix of a twist ``[v; w]``."""
    v, (x, y, z) = xi[:3], xi[3:]
    return np.array([[0, -z, y, v[0]], [z, 0, -x, v[1]], [-y, x, 0, v[2]], [0, 0, 0, 0]])


def unhat(matrix: Array) -> Array:
    """Return the twist of a 4x4 matrix."""
    return np.array([*matrix[:3, 3], matrix[2, 1], matrix[0, 2], matrix[1, 0]])


def pose_matrix(rotation: Array, position: Array) -> Array:
    """Return the homogeneous 4x4 matrix of a pose."""
    return np.vstack([np.column_stack([rotation, position]), [0, 0, 0, 1]])


def twist_of_angle(angle: float, seed: int = 0) -> Array:
    """Return a twist displacement with a given angle and a translation of order one."""
    return np.concatenate([direction(seed + 100), angle * direction(seed)])


def complex_step(function: Callable[[Array], Array], x: Array) -> Array:
    """Return the matrix of derivatives of `function` at `x`."""
    return np.array([np.imag(function(x + 1j * STEP * unit)) / STEP for unit in np.eye(len(x))]).T


def integral_of_exponential(matrix: Array) -> Array:
    """Return the integral of ``expm(s matrix)`` for s from 0 to 1, by one exponential of twice the size."""
    n = len(matrix)
    return expm(np.block([[matrix, np.eye(n)], [np.zeros((n, 2 * n))]]))[:n, n:]


class TestExponentials:
    @pytest.mark.parametrize("angle", [*ANGLES, 5.0, 40.0])
    def test_rotation_is_the_matrix_exponential(self, angle: float) -> None:
        phi = angle * direction(1)
        tolerance = ROUNDING * max(1.0, angle)  # the argument of sine and cosine is itself rounded
        np.testing.assert_allclose(spatial.rotation_exp(phi), expm(hat(np.append(np.zeros(3), phi))[:3, :3]), atol=tolerance)
        np.testing.assert_allclose(
            spatial.quaternion_matrix(spatial.quaternion_exp(phi)), spatial.rotation_exp(phi), atol=tolerance
        )

    @pytest.mark.parametrize("angle", [*ANGLES, 5.0])
    def test_pose_is_the_matrix_exponential(self, angle: float) -> None:
        xi = twist_of_angle(angle)
        np.testing.assert_allclose(pose_matrix(*spatial.pose_exp(xi)), expm(hat(xi)), atol=ROUNDING)

    @pytest.mark.parametrize("angle", ANGLES)
    def test_log_undoes_exp(self, angle: float) -> None:
        xi = twist_of_angle(angle)
        rotation, position = spatial.pose_exp(xi)
        np.testing.assert_allclose(spatial.rotation_log(rotation), xi[3:], atol=1e-13)
        np.testing.assert_allclose(spatial.quaternion_log(spatial.quaternion_exp(xi[3:])), xi[3:], atol=1e-13)
        np.testing.assert_allclose(spatial.pose_log(xi[3:], position), xi, atol=1e-13)

    def test_log_of_a_half_turn_has_length_pi(self) -> None:
        axis = direction(3)
        phi = spatial.rotation_log(Rotation.from_rotvec(np.pi * axis).as_matrix())
        np.testing.assert_allclose(np.abs(phi @ axis), np.pi, atol=1e-13)

    @pytest.mark.parametrize("seed", range(5))
    def test_log_agrees_with_scipy(self, seed: int) -> None:
        rotation = Rotation.random(None, np.random.default_rng(seed))
        np.testing.assert_allclose(spatial.rotation_log(rotation.as_matrix()), rotation.as_rotvec(), atol=1e-13)
        np.testing.assert_allclose(spatial.quaternion_log(-rotation.as_quat()), rotation.as_rotvec(), atol=1e-13)


class TestJacobians:
    @pytest.mark.parametrize("angle", ANGLES)
    def test_log_jacobian_is_the_derivative_of_log(self, angle: float) -> None:
        phi = angle * direction(2)
        q = spatial.quaternion_exp(phi)
        derivative = complex_step(
            lambda w: spatial.quaternion_log(spatial.quaternion_product(q, spatial.quaternion_exp(w))), np.zeros(3)
        )
        np.testing.assert_allclose(spatial.log_jacobian(phi), derivative, atol=JACOBIAN)

    @pytest.mark.parametrize("angle", ANGLES)
    def test_log_jacobian_inverts_the_integral_of_exponentials(self, angle: float) -> None:
        phi = angle * direction(2)
        right_jacobian = integral_of_exponential(-spatial.skew(phi))
        np.testing.assert_allclose(spatial.log_jacobian(phi) @ right_jacobian, np.eye(3), atol=JACOBIAN)

    @pytest.mark.parametrize("angle", ANGLES)
    def test_pose_log_jacobian_is_the_derivative_of_log(self, angle: float) -> None:
        xi = twist_of_angle(angle)
        base_rotation, base_position = spatial.pose_exp(xi)
        q = spatial.quaternion_exp(xi[3:])

        def log_after(step: Array) -> Array:
            _, position = spatial.pose_exp(step)
            turn = spatial.quaternion_product(q, spatial.quaternion_exp(step[3:]))
            return spatial.pose_log(spatial.quaternion_log(turn), base_position + base_rotation @ position)

        np.testing.assert_allclose(spatial.pose_log_jacobian(xi), complex_step(log_after, np.zeros(6)), atol=JACOBIAN)

    @pytest.mark.parametrize("angle", ANGLES)
    def test_pose_log_jacobian_inverts_the_integral_of_exponentials(self, angle: float) -> None:
        xi = twist_of_angle(angle)
        ad = np.array([unhat(hat(xi) @ hat(unit) - hat(unit) @ hat(xi)) for unit in np.eye(6)]).T
        right_jacobian = integral_of_exponential(-ad)
        np.testing.assert_allclose(spatial.pose_log_jacobian(xi) @ right_jacobian, np.eye(6), atol=JACOBIAN)

    def test_right_and_left_jacobians_differ(self) -> None:
        phi = direction(2)
        left_jacobian = integral_of_exponential(spatial.skew(phi))
        assert np.abs(spatial.log_jacobian(phi) @ left_jacobian - np.eye(3)).max() > 0.1


class TestQuaternions:
    @pytest.mark.parametrize("seed", range(8))
    def test_matrix_and_quaternion_agree_with_scipy(self, seed: int) -> None:
        rotation = Rotation.random(None, np.random.default_rng(seed))
        q = spatial.matrix_quaternion(rotation.as_matrix())
        np.testing.assert_allclose(spatial.quaternion_matrix(rotation.as_quat()), rotation.as_matrix(), atol=ROUNDING)
        np.testing.assert_allclose(q * np.sign(q @ rotation.as_quat()), rotation.as_quat(), atol=ROUNDING)

    @pytest.mark.parametrize("axis", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, -1, 1]])
    def test_half_turns_keep_all_digits(self, axis: list[float]) -> None:
        matrix = Rotation.from_rotvec(np.pi * np.array(axis) / np.linalg.norm(axis)).as_matrix()
        q = spatial.matrix_quaternion(matrix)
        np.testing.assert_allclose(spatial.quaternion_matrix(q), matrix, atol=ROUNDING)

    def test_product_and_conjugate_are_those_of_rotations(self) -> None:
        a, b = Rotation.random(2, np.random.default_rng(0))
        product = spatial.quaternion_product(a.as_quat(), b.as_quat())
        np.testing.assert_allclose(spatial.quaternion_matrix(product), (a * b).as_matrix(), atol=ROUNDING)
        np.testing.assert_allclose(
            spatial.quaternion_matrix(spatial.quaternion_conjugate(a.as_quat())), a.as_matrix().T, atol=ROUNDING
        )


class TestTwists:
    @pytest.mark.parametrize("seed", range(5))
    def test_transport_is_conjugation_by_the_pose(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        g, twist = expm(hat(rng.normal(size=6))), rng.normal(size=6)
        transported = spatial.twist_transport(g[:3, :3], g[:3, 3]) @ twist
        np.testing.assert_allclose(transported, unhat(np.linalg.inv(g) @ hat(twist) @ g), atol=1e-13)

    @pytest.mark.parametrize("seed", range(5))
    def test_cross_is_the_commutator_and_generates_transport(self, seed: int) -> None:
        a, b = np.random.default_rng(seed).normal(size=(2, 6))
        cross = spatial.twist_cross(a)
        np.testing.assert_allclose(cross @ b, unhat(hat(a) @ hat(b) - hat(b) @ hat(a)), atol=ROUNDING)
        np.testing.assert_allclose(expm(-cross), spatial.twist_transport(*spatial.pose_exp(a)), atol=1e-13)

    def test_skew_is_the_cross_product(self) -> None:
        a, b = np.random.default_rng(0).normal(size=(2, 3))
        np.testing.assert_allclose(spatial.skew(a) @ b, np.cross(a, b), atol=ROUNDING)

    def test_power_of_a_wrench_does_not_depend_on_the_frame(self) -> None:
        rng = np.random.default_rng(1)
        transport = spatial.twist_transport(*spatial.pose_exp(rng.normal(size=6)))
        twist, wrench_at_child = rng.normal(size=(2, 6))
        np.testing.assert_allclose((transport.T @ wrench_at_child) @ twist, wrench_at_child @ (transport @ twist), atol=1e-13)


def test_rigid_inertia_is_the_sum_over_point_masses() -> None:
    rng = np.random.default_rng(0)
    masses, points = rng.uniform(0.1, 1.0, 7), rng.normal(size=(7, 3))
    com = masses @ points / masses.sum()
    about_com = sum(m * spatial.skew(r - com).T @ spatial.skew(r - com) for m, r in zip(masses, points, strict=True))
    twist = rng.normal(size=6)
    velocities = twist[:3] + np.cross(twist[3:], points)
    energy = 0.5 * masses @ (velocities**2).sum(axis=1)
    inertia = spatial.rigid_inertia(masses.sum(), com, about_com)
    np.testing.assert_allclose(0.5 * twist @ inertia @ twist, energy, rtol=1e-13)
    np.testing.assert_allclose(inertia, inertia.T, atol=ROUNDING)


class TestComplexSafety:
    """Every function keeps an imaginary part and gives derivatives equal to those of central differences."""

    FUNCTIONS: tuple[tuple[str, Callable[[Array], Array], int], ...] = (
        ("rotation_exp", spatial.rotation_exp, 3),
        ("quaternion_exp", spatial.quaternion_exp, 3),
        ("quaternion_log", lambda x: spatial.quaternion_log(x / np.sqrt(x @ x)), 4),
        ("quaternion_matrix", spatial.quaternion_matrix, 4),
        ("matrix_quaternion", lambda x: spatial.matrix_quaternion(spatial.rotation_exp(x)), 3),
        ("rotation_log", lambda x: spatial.rotation_log(spatial.rotation_exp(x)), 3),
        ("pose_exp", lambda x: np.column_stack(spatial.pose_exp(x)), 6),
        ("pose_log", lambda x: spatial.pose_log(x[3:], x[:3]), 6),
        ("log_jacobian", spatial.log_jacobian, 3),
        ("pose_log_jacobian", spatial.pose_log_jacobian, 6),
        ("twist_transport", lambda x: spatial.twist_transport(*spatial.pose_exp(x)), 6),
        ("twist_cross", spatial.twist_cross, 6),
        ("rigid_inertia", lambda x: spatial.rigid_inertia(x[0], x[1:4], np.diag(x[4:7])), 7),
    )

    @pytest.mark.parametrize(("name", "function", "size"), FUNCTIONS, ids=[entry[0] for entry in FUNCTIONS])
    @pytest.mark.parametrize("scale", [1e-3, 1.0])
    def test_complex_step_is_the_derivative(
        self, name: str, function: Callable[[Array], Array], size: int, scale: float
    ) -> None:
        rng = np.random.default_rng(len(name))
        x, along = scale * rng.uniform(0.3, 1.0, size), rng.normal(size=size)
        h = 1e-4 * scale
        exact = np.imag(function(x + 1j * STEP * along)) / STEP
        difference = (function(x + h * along) - function(x - h * along)) / (2 * h)
        # central differences: h^2 times a third derivative of order 1/scale^2, and rounding over h
        np.testing.assert_allclose(exact, difference, atol=1e-7 * np.abs(difference).max() + 1e-15 / h)


def test_cross_products_are_numpys() -> None:
    rng = np.random.default_rng(0)
    one, several, others = rng.normal(size=3), rng.normal(size=(4, 3)), rng.normal(size=(4, 3)) + 1j
    for a, b in ((one, one + 1), (one, several), (several, others)):
        np.testing.assert_array_equal(spatial.cross(a, b), np.cross(a, b))
