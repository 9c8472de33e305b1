"""Interpolation, against that of NumPy."""

from __future__ import annotations

import numpy as np

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


def test_samples_are_looked_at_as_often_as_they_bend() -> None:
    times = np.linspace(0.0, 10.0, 1001)
    assert Interpolated(times, 3.0 * times).resolution == np.inf
    assert Interpolated(times, np.full((1001, 2), 0.3)).resolution == np.inf
    slow = Interpolated(times, np.sin(times)).resolution
    assert 0.3 < slow < 1.0  # lines over half a radian miss a sine by some 4 % of its range
    pulse = np.where((times > 5) & (times < 5.1), 2.0, 0.0)
    assert Interpolated(times, np.column_stack([np.sin(times), pulse])).resolution < 0.021
    uneven = np.array([0.0, 50.0, *np.linspace(50.1, 60.0, 100)])  # what matters is how far apart they are where they bend
    assert Interpolated(uneven, np.where((uneven > 55) & (uneven < 56), 1.0, 0.0)).resolution < 0.11
    assert Interpolated(np.array([0.0, 1.0]), np.array([0.0, 5.0])).resolution == np.inf
