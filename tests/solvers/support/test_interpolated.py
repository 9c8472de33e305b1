"""Interpolation, against that of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from titop.solvers.support.interpolated import Interpolated


def test_interpolation_is_numpys() -> None:
    rng = np.random.default_rng(0)
    times, samples = np.array([0.0, 0.1, 0.7, 2.0]), rng.normal(size=(4, 3))
    several, one = Interpolated(times, samples), Interpolated(times, samples[:, 0])
    for t in (-1.0, *times, 0.05, 0.3, 1.9, 3.0):
        expected = [np.interp(t, times, column) for column in samples.T]
        np.testing.assert_array_equal(several(t), expected)
        assert one(t) == expected[0]
    many = np.array([-1.0, 0.0, 0.05, 0.1, 0.3, 0.7, 1.9, 2.0, 3.0])
    np.testing.assert_array_equal(several.rows(many), [several(t) for t in many])
    np.testing.assert_array_equal(one.rows(many[::-1]), [one(t) for t in many[::-1]])
    for piece in (many[2:4], many[3:6], many[6:8], np.zeros(0)):  # on one line, as a step's stages are, where ends are rounded
        np.testing.assert_allclose(several.rows(piece), [several(t) for t in piece] or np.zeros((0, 3)), rtol=1e-15, atol=1e-15)


def test_kinks_are_where_the_lines_bend() -> None:
    times = np.array([0.0, 0.1, 0.7, 2.0, 2.3])
    slopes = np.array([[0.0, 1.0], [0.0, 1.0], [3.0, 1.0], [3.0, 0.0]])
    samples = np.vstack([np.zeros(2), np.cumsum(slopes * np.diff(times)[:, None], axis=0)])
    # by either column, and at the ends, behind which all is constant
    assert Interpolated(times, samples).kinks(0.0).tolist() == [0.0, 0.7, 2.0, 2.3]
    assert Interpolated(times, samples[:, 1]).kinks(0.0).tolist() == [0.0, 2.0]


@pytest.mark.parametrize("size", [1.0, 1e-9, 1e12])
def test_rounding_makes_no_kinks(size: float) -> None:
    """A straight line, high above zero: its samples are rounded by 1e-16 of that; a bend of 1e-9 of the slope is one."""
    times = np.linspace(0.0, 10.0, 1001)
    line = size * (1000.0 + 3.0 * times)
    assert Interpolated(times, line).kinks(0.0).tolist() == [0.0, 10.0]
    assert not len(Interpolated(times, np.full((1001, 2), 0.3 * size)).kinks(0.0))
    late = times + 1e5  # which are rounded by 1e-9 of the step between them
    assert Interpolated(late, 0.3 * size * (times - 5.0)).kinks(0.0).tolist() == [late[0], late[-1]]
    bent = line + size * 3e-6 * np.maximum(times - 4.0, 0.0)
    assert Interpolated(times, bent).kinks(0.0).tolist() == [0.0, 4.0, 10.0]


def test_late_ramps_are_straight_and_late_bends_are_kinks() -> None:
    times, heights = np.linspace(1000.0, 1001.0, 1001), np.linspace(0.0, 2.0, 1001)
    assert Interpolated(times, heights[:, None]).kinks(0.0).tolist() == [1000.0, 1001.0]
    # the control: a bend of 1e-6 of the slope, a thousand times what rounding of the times makes of it
    bent = heights + 2e-6 * np.maximum(times - times[400], 0.0)
    assert Interpolated(times, bent).kinks(0.0).tolist() == [1000.0, times[400], 1001.0]


@pytest.mark.parametrize("size", [1.0, 1e-9, 1e12])
def test_bends_of_smooth_curves_that_tolerances_do_not_see_are_left_out(size: float) -> None:
    """Two periods of a sine: lines between n samples are off by (4 pi/n)^2/8 of its amplitude, half of how far it reaches."""
    tolerance, near_ends = 1e-6, 4  # the constants outside make corners of the ends, which those beside them know of
    for count, is_smooth in ((10001, True), (3001, False)):  # 1e-7 and 1.1e-6 of it
        times = np.linspace(0.0, 4 * np.pi, count)
        found = Interpolated(times, size * np.sin(times)).kinks(tolerance)
        assert (len(found) <= near_ends) == is_smooth
    smooth = size * np.sin(times := np.linspace(0.0, 4 * np.pi, 10001))
    corner = smooth + size * 1e-3 * np.maximum(times - times[4000], 0.0)
    assert times[4000] in (found := Interpolated(times, corner).kinks(tolerance))
    assert len(found) <= near_ends + 3
    jump = smooth + size * (times > times[4000])
    assert {times[4000], times[4001]} <= set(Interpolated(times, jump).kinks(tolerance).tolist())
    noisy = smooth + size * 1e-4 * np.random.default_rng(0).normal(size=10001)
    assert len(Interpolated(times, noisy).kinks(tolerance)) > 9900
