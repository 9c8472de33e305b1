"""The relative motion of two ports, against homogeneous matrices and differences of these."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from tests.systems import Array, random_rotation
from titop.blocks.constraints.closure import displacement, displacement_jacobians, relative_pose


def hat(twist: Array) -> Array:
    """Return the 4x4 matrix of a twist ``[v; w]``."""
    v, (x, y, z) = twist[:3], twist[3:]
    return np.array([[0, -z, y, v[0]], [z, 0, -x, v[1]], [-y, x, 0, v[2]], [0, 0, 0, 0]])


def random_port(rng: np.random.Generator) -> Array:
    """Return a pose as a 4x4 matrix."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = random_rotation(rng).as_matrix(), rng.normal(size=3)
    return matrix


def displaced(port1: Array, port2: Array) -> Array:
    """Return the displacement between two ports."""
    return displacement(*relative_pose((port1[:3, :3], port1[:3, 3]), (port2[:3, :3], port2[:3, 3])))


@pytest.mark.parametrize("seed", range(3))
def test_port_2_stands_in_port_1(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = random_port(rng), random_port(rng)
    relative, delta = np.linalg.inv(first) @ second, displaced(first, second)
    np.testing.assert_allclose(delta[:3], relative[:3, 3], rtol=0, atol=1e-14)  # some roundings of metres
    turned = expm(hat(np.concatenate([np.zeros(3), delta[3:]])))[:3, :3]
    np.testing.assert_allclose(turned, relative[:3, :3], rtol=0, atol=1e-13)
    assert np.linalg.norm(delta[3:]) <= np.pi


@pytest.mark.parametrize("seed", range(3))
def test_the_displacement_moves_with_both_twists(seed: int) -> None:
    """Central differences over 1e-5: 1e-10 of second order, and of rounding."""
    rng = np.random.default_rng(seed)
    first, second, step = random_port(rng), random_port(rng), 1e-5
    relative = np.linalg.inv(first) @ second
    at_1, at_2 = displacement_jacobians(relative[:3, :3], relative[:3, 3])
    for axis in np.eye(6):
        ahead, behind = expm(step * hat(axis)), expm(-step * hat(axis))
        by_1 = (displaced(first @ ahead, second) - displaced(first @ behind, second)) / (2 * step)
        by_2 = (displaced(first, second @ ahead) - displaced(first, second @ behind)) / (2 * step)
        np.testing.assert_allclose(at_1 @ axis, by_1, rtol=0, atol=1e-7)
        np.testing.assert_allclose(at_2 @ axis, by_2, rtol=0, atol=1e-7)
