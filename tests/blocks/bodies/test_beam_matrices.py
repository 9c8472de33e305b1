"""Matrices of a uniform beam against closed forms of textbooks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.beam_matrices import bending_shapes, kind_matrices, points_of, rod_shapes, shear_bending_shapes

INERTIA, STIFFNESS, LENGTH = 2.0, 5.0, 0.7
#: Gauss sums of a dozen terms of size hundred.
ROUNDING = {"rtol": 1e-12, "atol": 1e-12}


def rod_matrices(bubbles: int) -> tuple[Array, Array]:
    return kind_matrices(rod_shapes(LENGTH, bubbles, bubbles), bubbles, LENGTH, INERTIA, STIFFNESS)


def bending_matrices(bubbles: int) -> tuple[Array, Array]:
    return kind_matrices(bending_shapes(LENGTH, bubbles, bubbles), bubbles, LENGTH, INERTIA, STIFFNESS)


def test_ends_alone_are_the_elements_of_textbooks() -> None:
    """Przemieniecki's bar, and his beam with cubic shapes."""
    mass, stiffness = rod_matrices(0)
    np.testing.assert_allclose(mass, INERTIA * LENGTH / 6 * np.array([[2, 1], [1, 2]]), **ROUNDING)
    np.testing.assert_allclose(stiffness, STIFFNESS / LENGTH * np.array([[1, -1], [-1, 1]]), **ROUNDING)
    scale = np.diag([1.0, LENGTH, 1.0, LENGTH])
    unit = np.array([[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]])
    bent = np.array([[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]])
    mass, stiffness = bending_matrices(0)
    np.testing.assert_allclose(mass, INERTIA * LENGTH / 420 * scale @ unit @ scale, **ROUNDING)
    np.testing.assert_allclose(stiffness, STIFFNESS / LENGTH**3 * scale @ bent @ scale, **ROUNDING)


def test_bubbles_leave_the_ends_alone_and_have_a_diagonal_stiffness() -> None:
    for matrices, ends in ((rod_matrices, 2), (bending_matrices, 4)):
        mass, stiffness = matrices(5)
        own = stiffness[ends:, ends:]
        np.testing.assert_allclose(own, np.diag(np.diag(own)), rtol=0, atol=1e-11 * own.max())
        np.testing.assert_allclose(stiffness[:ends, ends:], 0.0, rtol=0, atol=1e-11 * own.max())
        np.testing.assert_array_equal(mass.shape, (ends + 5, ends + 5))


@pytest.mark.parametrize("k", range(3))
def test_a_cantilever_has_its_natural_frequencies(k: int) -> None:
    """``cos b cosh b = -1``, ``w^2 = (b / L)^4 E I / m``; a bar held at one end ``w = (k + 1/2) pi / L sqrt(E A / m)``."""
    mass, stiffness = bending_matrices(14)
    b = brentq(lambda x: np.cos(x) * np.cosh(x) + 1, np.pi * k + 1e-3, np.pi * (k + 1), xtol=1e-14)
    squares = eigh(stiffness[2:, 2:], mass[2:, 2:], eigvals_only=True)
    assert squares[k] == pytest.approx((b / LENGTH) ** 4 * STIFFNESS / INERTIA, rel=1e-9)  # converges exponentially
    mass, stiffness = rod_matrices(14)
    squares = eigh(stiffness[1:, 1:], mass[1:, 1:], eigvals_only=True)
    assert squares[k] == pytest.approx(((k + 0.5) * np.pi / LENGTH) ** 2 * STIFFNESS / INERTIA, rel=1e-9)


def test_shear_adds_to_the_deflection_under_a_force() -> None:
    """``L^3 / 3 E I + L / kappa G A`` of a cantilever, exactly; without shear the second part is missing."""
    _, stiffness = kind_matrices(shear_bending_shapes(LENGTH, 4, 4), 4, LENGTH, INERTIA, STIFFNESS, 0.01, 40.0)
    clamped = np.delete(np.delete(stiffness, [0, 1], axis=0), [0, 1], axis=1)
    deflection = np.linalg.solve(clamped, np.eye(len(clamped))[0])[0]
    assert deflection == pytest.approx(LENGTH**3 / (3 * STIFFNESS) + LENGTH / 40.0, rel=1e-12)
    _, stiffness = bending_matrices(0)
    assert np.linalg.inv(stiffness[2:, 2:])[0, 0] == pytest.approx(LENGTH**3 / (3 * STIFFNESS), rel=1e-12)


def test_slopes_are_derivatives_of_values() -> None:
    """Integrated by the same points, which are exact for their products: ``int f' g = f g - int f g'`` at the ends."""
    shapes = bending_shapes(LENGTH, 3, 6)
    values, slopes, curvatures = shapes.values, LENGTH * shapes.turns, LENGTH**2 * shapes.strains
    _, weights = points_of(6)
    ends = np.zeros((7, 2))  # of all shapes: deflection at both ends
    ends[[0, 2], [0, 1]] = 1.0
    turned = np.zeros((7, 2))
    turned[[1, 3], [0, 1]] = LENGTH
    for low, high, at in ((values, slopes, ends), (slopes, curvatures, turned)):
        jump = np.outer(at[:, 1], at[:, 1]) - np.outer(at[:, 0], at[:, 0])
        np.testing.assert_allclose((high * weights) @ low.T + (low * weights) @ high.T, jump, **ROUNDING)
