"""Coefficients of rotations: Euler angles, quaternions and matrices of one turn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import Akima1DInterpolator, BSpline, CubicSpline, KroghInterpolator, UnivariateSpline, make_interp_spline
from scipy.spatial.transform import Rotation

from tests.refusals import refusal
from titop.solvers.motions.motion_series import (
    angular_velocity,
    body_velocity,
    function_derivatives,
    quaternions,
    rotation_coefficients,
)

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


# -- time derivatives of functions of time, and what is refused of them


KNOTS = np.linspace(0.0, 2.0, 7)
TIMES = np.array([0.1, 0.9])


def test_functions_and_their_derivatives() -> None:
    found = function_derivatives("f", lambda t: np.exp(-t) * np.sin(2 * t), TIMES, 6)
    # the imaginary part of exp((2i - 1) t), whose derivatives are powers
    power = 2j - 1
    expected = [(power**k * np.exp(power * TIMES)).imag for k in range(7)]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_shapes() -> None:
    assert function_derivatives("f", 0.3, TIMES, 2).shape == (3, 2)
    assert function_derivatives("f", np.eye(3), TIMES, 2).shape == (3, 2, 3, 3)
    assert function_derivatives("f", lambda t: [t, 0, t * t], TIMES, 2)[:, 1].tolist() == [
        [0.9, 0, 0.81],
        [1, 0, 1.8],
        [0, 0, 2],
    ]
    assert function_derivatives("f", make_interp_spline(KNOTS, np.eye(7)[:, :3]), TIMES, 2).shape == (3, 2, 3)


@pytest.mark.parametrize(
    ("spline", "degree"),
    [
        (CubicSpline(KNOTS, np.sin(KNOTS)), 3),
        (make_interp_spline(KNOTS, np.sin(KNOTS), k=5), 5),
        (UnivariateSpline(KNOTS, np.sin(KNOTS), k=4, s=0), 4),
        (Akima1DInterpolator(KNOTS, np.sin(KNOTS)), 3),
    ],
)
def test_splines_serve_up_to_their_degree(spline: Any, degree: int) -> None:
    found = function_derivatives("f", spline, TIMES, degree)
    np.testing.assert_allclose(found[degree], spline.derivative(degree)(TIMES), rtol=1e-12)
    with refusal("low-degree", f"degree {degree + 1} at least"):
        function_derivatives("f", spline, TIMES, degree + 1)


def test_one_polynomial_serves_to_any_order() -> None:
    line = BSpline([0, 0, 1, 1], [1.0, 3.0], 1)
    assert function_derivatives("f", line, np.array([0.25]), 3)[:, 0].tolist() == [1.5, 2.0, 0.0, 0.0]


def test_splines_are_not_extrapolated() -> None:
    with refusal("short-spline", "knots from 0.1 to 2.5"):
        function_derivatives("f", CubicSpline(KNOTS, KNOTS), np.array([0.1, 2.5]), 2)


def test_what_differentiates_otherwise_is_refused() -> None:
    with refusal("wrong-type", "a spline f(t, nu) of scipy's"):
        function_derivatives("f", KroghInterpolator(KNOTS, np.sin(KNOTS)), TIMES, 2)


def test_functions_that_do_not_carry_derivatives() -> None:
    for function in (
        math.sin,
        lambda t: math.sin(t),
        lambda t: np.interp(t, [0, 1], [0, 1]),
        lambda t: [t, [t]],
        lambda t: "no",
    ):
        with refusal("not-a-series", "use np.sin, not math.sin"):
            function_derivatives("f", function, TIMES, 1)
    with refusal("wrong-type", "a function of time, a scipy spline, or numbers that stay"):
        function_derivatives("f", "sin", TIMES, 1)
