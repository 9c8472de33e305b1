"""The functions of which strains are made."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from titop.blocks.bodies.rods.discretisation import gauss_points

PLACES = np.linspace(0.0, 1.0, 41)


def test_legendre_polynomials_are_orthogonal_and_one_at_the_tip() -> None:
    places, weights = gauss_points([0.0, 1.0], 8)
    values = tt.StrainBasis.legendre(5).values(places, 3.0)
    np.testing.assert_allclose(values.T @ (weights[:, None] * values), np.diag(1 / (2.0 * np.arange(6) + 1)), atol=1e-14)
    np.testing.assert_allclose(tt.StrainBasis.legendre(5).values(np.array([1.0]), 3.0), np.ones((1, 6)), rtol=1e-14)


def test_pieces_and_hats_add_up_to_one() -> None:
    """Constants are in their span; each hat is one at its own end and zero at the others."""
    for basis in (tt.StrainBasis.piecewise_constant(4), tt.StrainBasis.piecewise_affine(4)):
        np.testing.assert_allclose(basis.values(PLACES, 2.0).sum(1), 1.0, rtol=1e-14)
        assert basis.breaks == (0.25, 0.5, 0.75)
    ends = np.linspace(0, 1, 5)
    np.testing.assert_allclose(tt.StrainBasis.piecewise_affine(4).values(ends, 2.0), np.eye(5), atol=1e-14)
    straight = tt.StrainBasis.piecewise_affine(4).values(PLACES, 2.0) @ (1.0 + 2.0 * ends)
    np.testing.assert_allclose(straight, 1.0 + 2.0 * PLACES, rtol=1e-14)


def test_bells_fall_by_their_width() -> None:
    basis = tt.StrainBasis.gaussian(3, width=0.2)
    values = basis.values(np.array([0.0, 0.2, 0.5, 0.7]), 2.0)
    assert values[0, 0] == pytest.approx(1.0)
    assert values[2, 1] == pytest.approx(1.0)
    assert values[1, 0] == pytest.approx(np.exp(-0.5), rel=1e-14)
    assert values[3, 1] == pytest.approx(np.exp(-0.5), rel=1e-14)


def test_functions_of_users_get_metres() -> None:
    basis = tt.StrainBasis(lambda X: np.array([1.0, X]), count=2)
    np.testing.assert_allclose(basis.values(np.array([0.0, 0.5]), 3.0), [[1.0, 0.0], [1.0, 1.5]])
    with pytest.raises(tt.ModelError, match=r"shape \(3,\)"):
        tt.StrainBasis(lambda X: np.array([1.0, X]), count=3).values(PLACES, 3.0)
