"""Rotation vectors and their rates, against scipy's rotations, matrix exponentials and complex steps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from tests.solvers.kernels.spatial.matrices_by_hand import ad, hat, right_jacobian
from tests.systems import Array
from titop.solvers.kernels.spatial import rotations

#: Angles (rad): tiny, where series are used, where closed forms are, and almost half a turn.
ANGLES = (1e-9, 1e-3, 0.3, 1.0, 3.1)

#: Numbers of order one, through coefficients that have lost some four digits just above where series end.
CLOSE = {"rtol": 0, "atol": 1e-11}


def vector(angle: float, seed: int = 0) -> Array:
    """Return a rotation vector of some angle."""
    x = np.random.default_rng(seed).normal(size=3)
    return angle * x / np.linalg.norm(x)


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("seed", range(6))  # each axis is the largest one for some
def test_logarithms_undo_the_exponential(angle: float, seed: int) -> None:
    phi = vector(angle, seed)
    np.testing.assert_allclose(rotations.rotation_log(expm(hat(phi)).ravel()), phi, rtol=0, atol=1e-13)
    for sign in (1.0, -1.0):
        quaternion = sign * Rotation.from_rotvec(phi).as_quat()
        np.testing.assert_allclose(rotations.quaternion_log(*quaternion), phi, rtol=0, atol=1e-14)


@pytest.mark.parametrize("angle", ANGLES)
def test_rates_undo_the_right_jacobian(angle: float) -> None:
    phi, x = vector(angle), np.array([0.3, -1.2, 0.7])
    jacobian = right_jacobian(hat(phi))
    np.testing.assert_allclose(rotations.right_jacobian_times(phi, x), jacobian @ x, **CLOSE)
    np.testing.assert_allclose(rotations.log_rate(phi, x), np.linalg.solve(jacobian, x), **CLOSE)
    np.testing.assert_allclose(rotations.log_rate_transposed(phi, x), np.linalg.solve(jacobian.T, x), **CLOSE)


@pytest.mark.parametrize("angle", ANGLES)
def test_the_bias_is_the_derivative_of_the_rate(angle: float) -> None:
    """A complex step along the motion, the angular velocity held."""
    phi, w, step = vector(angle), np.array([0.3, -1.2, 0.7]), 1e-30
    moved = rotations.log_rate(phi + 1j * step * np.array(rotations.log_rate(phi, w)), w)
    np.testing.assert_allclose(rotations.log_rate_bias(phi, w), np.imag(moved) / step, **CLOSE)


@pytest.mark.parametrize("angle", ANGLES)
def test_poses_and_the_coupling_of_their_jacobian(angle: float) -> None:
    phi, rho, e = vector(angle), np.array([1.0, -0.5, 0.25]), np.array([0.3, -1.2, 0.7])
    algebra = np.zeros((4, 4))
    algebra[:3, :3], algebra[:3, 3] = hat(phi), rho
    position = expm(algebra)[:3, 3]
    np.testing.assert_allclose(rotations.pose_log(position, phi), [*rho, *phi], **CLOSE)
    coupling = right_jacobian(ad(np.concatenate([rho, phi])))[:3, 3:]
    np.testing.assert_allclose(rotations.coupling_times(rho, phi, e), coupling @ e, **CLOSE)
