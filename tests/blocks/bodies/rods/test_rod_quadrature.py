"""Points along rods: what they integrate exactly, and where they stand."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from titop.blocks.bodies.rods.discretisation import breaks_of, gauss_points, rod_points


@pytest.mark.parametrize("count", [1, 3, 5])
def test_polynomials_in_every_stretch_are_integrated_exactly(count: int) -> None:
    """Up to degree 2 count - 1, the sum over stretches of x^k: 1 / (k + 1); one degree more is not."""
    places, weights = gauss_points([0.0, 0.3, 1.0], count)
    for k in range(2 * count):
        assert weights @ places**k == pytest.approx(1 / (k + 1), rel=1e-14)
    assert abs(weights @ places ** (2 * count) - 1 / (2 * count + 1)) > 1e-10


def test_ends_of_stretches_are_points_without_weight() -> None:
    places, weights = rod_points([0.0, 0.25, 1.0], 2)
    assert len(places) == 7
    assert (np.diff(places) > 0).all()
    assert places[weights == 0].tolist() == [0.0, 0.25, 1.0]
    assert weights.sum() == pytest.approx(1.0, rel=1e-15)


def test_breaks_that_nearly_coincide_are_one() -> None:
    thirds, halves = tt.StrainBasis.piecewise_constant(3), tt.StrainBasis.piecewise_constant(2)
    assert breaks_of([thirds, halves], [1 / 3 + 1e-12, 1.0 - 1e-12]) == [0.0, 1 / 3, 0.5, 2 / 3, 1.0]
