"""Cubics through values and rates at two times, against polynomials' roots."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from titop.solvers.simulation.switching import Cubic


def through(curve: Polynomial, begin: float, end: float) -> Cubic:
    rate = curve.deriv()
    return Cubic(begin, end, curve(begin), curve(end), rate(begin), rate(end))


@pytest.mark.parametrize("seed", range(20))
def test_zeros_and_bottoms_are_those_of_the_polynomial(seed: int) -> None:
    """Of curves that fall from 1 and rise again, in spans of any length."""
    rng, begin, length = np.random.default_rng(seed), 0.0, 10.0 ** (seed % 7 - 3)
    low, depth, skew = rng.uniform(0.3, 0.7), rng.uniform(0.1, 0.5), rng.uniform(-0.3, 0.3)
    x = Polynomial([-begin / length, 1.0 / length])
    curve = (x - low) ** 2 * (1 + skew * (x - low)) - depth**2
    ends = through(curve, begin, begin + length)
    bottom = ends.bottom()
    assert bottom == pytest.approx(begin + low * length, rel=1e-12)
    part = ends.until(bottom, curve(bottom), 0.0)
    if part.a > 0:
        assert abs(curve(part.zero())) < 1e-12
        assert begin < part.zero() < bottom
    else:
        assert curve(begin) <= 0


def test_parts_and_signs() -> None:
    ends = Cubic(0.0, 1.0, 2.0, -1.0, -3.0, -3.0)
    assert ends.since(0.5, 0.5, -3.0) == Cubic(0.5, 1.0, 0.5, -1.0, -3.0, -3.0)
    assert ends.until(0.5, 0.5, -3.0) == Cubic(0.0, 0.5, 2.0, 0.5, -3.0, -3.0)
    assert ends.opposite() == Cubic(0.0, 1.0, -2.0, 1.0, 3.0, 3.0)
    assert ends.zero() == pytest.approx(2 / 3)


@pytest.mark.parametrize(("lift", "stays"), [(1.0, True), (0.3, False), (-0.1, False)])
def test_control_points_above_zero_keep_the_cubic_there(lift: float, stays: bool) -> None:
    """Of a dip of a quarter, which changes by 1 in all, with rates -1 and 1."""
    ends = Cubic(0.0, 1.0, lift, lift, -1.0, 1.0)
    assert ends.stays_above(0.25) is stays
