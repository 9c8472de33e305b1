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
