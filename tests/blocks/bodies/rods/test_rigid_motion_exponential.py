"""The exponential of SE(3) and its tangent, against matrix exponentials and power series."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest
from scipy.linalg import expm

from titop.blocks.bodies.rods.recursion import adjoint, exponentials, tangent_rates, transports

#: On both sides of where series end, and far into the closed forms.
ANGLES = [0.0, 1e-6, 1e-2, 0.3, 1.0, 1.99, 2.01, 3.0, 5.0]
#: Rounding, in matrices whose entries reach ten.
ROUNDING = 1e-13


def displacement(angle: float) -> np.ndarray:
    """Return a displacement that turns by an angle."""
    x = np.random.default_rng(4).normal(size=6)
    x[3:] *= angle / np.linalg.norm(x[3:])
    return x


def series(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``T = sum (-ad)^k / (k + 1)!`` and its rate when x changes at y, term by term."""
    A, dA, power, slope = -adjoint(x), -adjoint(y), np.eye(6), np.zeros((6, 6))
    tangent, rate = np.zeros((6, 6)), np.zeros((6, 6))
    for k in range(80):
        tangent, rate = tangent + power / factorial(k + 1), rate + slope / factorial(k + 1)
        power, slope = power @ A, slope @ A + power @ dA
    return tangent, rate


@pytest.mark.parametrize("angle", ANGLES)
def test_pose_tangent_and_rate(angle: float) -> None:
    x, y = displacement(angle), np.random.default_rng(5).normal(size=6)
    hat = np.zeros((4, 4))
    hat[:3, :3], hat[:3, 3] = adjoint(x)[3:, 3:], x[:3]
    expected = expm(hat)
    found = exponentials(x[None])
    np.testing.assert_allclose(found.rotation[0], expected[:3, :3], atol=ROUNDING)
    np.testing.assert_allclose(found.position[0], expected[:3, 3], atol=ROUNDING)
    tangent, rate = series(x, y)
    np.testing.assert_allclose(found.tangent[0], tangent, atol=ROUNDING)
    np.testing.assert_allclose(tangent_rates(x[None], y[None])[0], rate, atol=ROUNDING)
    np.testing.assert_allclose(np.imag(exponentials((x + 1e-30j * y)[None]).tangent[0]) / 1e-30, rate, atol=ROUNDING)


def test_the_tangent_is_the_derivative_of_the_exponential() -> None:
    """By a complex step of the pose; with the other side's tangent, the negative control, it is not."""
    x, y = displacement(1.2), np.random.default_rng(6).normal(size=6)
    stepped, found = exponentials((x + 1e-30j * y)[None]), exponentials(x[None])
    spin = found.rotation[0].T @ np.imag(stepped.rotation[0]) / 1e-30
    twist = [*(found.rotation[0].T @ np.imag(stepped.position[0]) / 1e-30), spin[2, 1], spin[0, 2], spin[1, 0]]
    np.testing.assert_allclose(found.tangent[0] @ y, twist, atol=ROUNDING)
    assert np.abs(exponentials(-x[None]).tangent[0] @ y - twist).max() > 0.1


def test_transports_are_exponentials_of_adjoints() -> None:
    x = displacement(0.7)
    found = exponentials(x[None])
    np.testing.assert_allclose(found.transport[0], expm(-adjoint(x)), atol=ROUNDING)
    np.testing.assert_array_equal(transports(found.rotation, found.position), found.transport)
