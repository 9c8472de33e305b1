"""Rules on lengths, radii and arcs: what they are exact for, and what they are not."""

from __future__ import annotations

import numpy as np
import pytest

from titop.blocks.bodies.soft.quadrature import gauss, gauss_angles, gauss_radii

#: Sums of a few terms of one.
ROUNDING = 1e-14
ANGLES = [1e-6, 0.5, 2.0, np.pi, 5.0, 2 * np.pi]


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_powers_on_lengths_and_radii(count: int) -> None:
    """Exact up to degree 2n - 1, and no further."""
    for rule, more in ((gauss, 1), (gauss_radii, 2)):
        points, weights = rule(count, 0.5)
        errors = [(weights @ points**k) * (k + more) / 0.5 ** (k + more) - 1.0 for k in range(2 * count + 1)]
        np.testing.assert_allclose(errors[:-1], 0.0, rtol=0, atol=ROUNDING)
        assert abs(errors[-1]) > 1e-9


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("count", [1, 2, 6, 12])
def test_harmonics_on_arcs(angle: float, count: int) -> None:
    points, weights = gauss_angles(count, angle)
    for n in range(count):
        assert weights @ np.cos(n * points) == pytest.approx(2 * np.sin(n * angle / 2) / n if n else angle, abs=ROUNDING * 10)
        assert weights @ np.sin(n * points) == pytest.approx(0.0, abs=ROUNDING * angle)


def test_the_next_harmonic_is_not_known() -> None:
    points, weights = gauss_angles(3, np.pi)
    assert abs(weights @ np.cos(3 * points) - 2 * np.sin(1.5 * np.pi) / 3) > 1e-2


def test_a_turn_is_divided_evenly() -> None:
    points, weights = gauss_angles(6, 2 * np.pi)
    np.testing.assert_allclose(points, np.pi / 3 * (np.arange(6) - 2.5), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(weights, np.pi / 3, rtol=ROUNDING)
