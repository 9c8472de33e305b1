"""Integrals along the axis: against closed forms, and against a stiffly accurate integrator; how fast errors fall."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad, solve_ivp
from scipy.linalg import expm

from titop.blocks.bodies.soft.functions import ShapeSum, integral, planar_curve, screw, space_curve

Array = NDArray[np.float64]


def skew(w: Any) -> Array:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def alone(function: Any) -> ShapeSum:
    """Return a sum of one function."""
    return ShapeSum([function], [1.0])


def test_integrals_of_polynomials_are_exact() -> None:
    for degree in range(24):
        found = integral(alone(lambda z, power=degree: z**power), 0.7)
        assert found == pytest.approx(0.7 ** (degree + 1) / (degree + 1), rel=1e-13, abs=0)
    assert integral(alone(lambda z: z**25), 0.7) != pytest.approx(0.7**26 / 26, rel=1e-13, abs=0)


@pytest.mark.parametrize("turn", [0.0, 1e-8, 0.5, 3.0, 2 * np.pi])
def test_constant_curvature(turn: float) -> None:
    """Exact to rounding while it turns by no more than a full turn."""
    angle, aside, ahead = planar_curve(alone(lambda z: turn), 1.0)
    expected = [turn, 2 * np.sin(turn / 2) ** 2 / turn if turn else 0.0, np.sinc(turn / np.pi)]
    np.testing.assert_allclose([angle, aside, ahead], expected, rtol=0, atol=3e-14)


def test_variable_curvature_against_quadrature() -> None:
    """Angles of curvatures up to degree 11 are exact, their sines less so the more they wind; scipy is good to 1e-13."""
    for theta, curvature, error in (
        (lambda s: 2 * s + 1.5 * s**2, lambda s: 2 + 3 * s, 1e-13),
        (lambda s: s - 0.3 * s**12, lambda s: 1 - 3.6 * s**11, 1e-10),
    ):
        found = planar_curve(alone(curvature), 0.9)
        expected = [theta(0.9), *(quad(lambda s, f=f, t=theta: f(t(s)), 0, 0.9, epsabs=1e-14)[0] for f in (np.sin, np.cos))]
        np.testing.assert_allclose(found, expected, rtol=0, atol=error)
        assert found[0] == pytest.approx(theta(0.9), rel=1e-14)


@pytest.mark.parametrize("size", [0.0, 1e-7, 1.3, 4.0])
def test_screws_are_exponentials(size: float) -> None:
    turning, way = size * np.array([0.3, -0.5, 0.8]), np.array([0.1, 0.2, 1.0])
    exact = expm(np.block([[skew(turning), way[:, None]], [np.zeros((1, 4))]]))
    rotation, position = screw(turning, way)
    np.testing.assert_allclose(rotation, exact[:3, :3], atol=1e-14)
    np.testing.assert_allclose(position, exact[:3, 3], atol=1e-14)


def strain(s: float) -> tuple[Array, Array]:
    """Return a strain that turns by some two radians over a length of one."""
    return np.array([1.0 + 2.0 * s, s - 0.5, 0.3 * s**2]), np.array([0.1, 0.2 * s, 1.0])


@pytest.fixture(scope="module")
def exact() -> Array:
    """Return rotation and position at 1, to 1e-12."""

    def rate(s: float, y: Array) -> Array:
        rotation, (turning, way) = y[:9].reshape(3, 3), strain(s)
        return np.concatenate([(rotation @ skew(turning)).ravel(), rotation @ way])

    start = np.concatenate([np.eye(3).ravel(), np.zeros(3)])
    return np.asarray(solve_ivp(rate, (0, 1), start, rtol=1e-13, atol=1e-14, method="DOP853").y[:, -1])


def test_curves_in_space_converge_with_the_sixth_power(exact: Array) -> None:
    """A wrong sign of a bracket leaves second order."""
    errors = []
    for steps in (2, 4, 8):
        rotation, position = space_curve(strain, 1.0, steps)
        errors.append(np.abs(np.concatenate([rotation.ravel(), position]) - exact).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 5.7).all()
    assert errors[0] < 2e-5


@pytest.mark.parametrize(("steps", "error"), [(2, 2e-6), (4, 3e-8)])
def test_curves_in_space_that_stay_in_a_plane_are_planar_ones(steps: int, error: float) -> None:
    """What `variable_strain` promises of a radian over the length, with curvature that is linear."""
    found = space_curve(lambda s: (np.array([0.0, 0.6 + 0.8 * s, 0.0]), np.array([0.0, 0.0, 1.0])), 1.0, steps)
    angle, aside, ahead = planar_curve(alone(lambda s: 0.6 + 0.8 * s), 1.0)
    np.testing.assert_allclose(found[1], [aside, 0.0, ahead], rtol=0, atol=error)
    np.testing.assert_allclose(found[0][:, 0], [np.cos(angle), 0.0, -np.sin(angle)], atol=1e-14)


def test_steps_that_turn_too_far_are_no_number() -> None:
    """Half a turn a step is where Magnus' expansion may stop converging; two steps of it are right."""

    def turning(s: float) -> tuple[Array, Array]:
        return np.array([0.0, 3.3, 0.0]), np.array([0.0, 0.0, 1.0])

    assert np.isnan(space_curve(turning, 1.0, 1)[1]).any()
    expected = planar_curve(alone(lambda s: 3.3), 1.0)[1:]
    np.testing.assert_allclose(space_curve(turning, 1.0, 2)[1][[0, 2]], expected, rtol=0, atol=1e-13)
