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


def test_samples_are_looked_at_where_they_bend() -> None:
    """A pulse from 5.01 to 5.09 s: not beyond its foot in one step, short ones at both ends, longer and longer ones behind."""
    times = np.linspace(0.0, 10.0, 1001)
    pulse = Interpolated(times, np.where((times > 5.005) & (times < 5.095), 2.0, 0.0))
    for t in np.linspace(0.0, 5.0, 777):
        assert pulse.longest_from(t) <= max(5.01 - t, 0.02)
    for t in (*np.linspace(4.995, 5.01, 20), *np.linspace(5.085, 5.1, 20)):
        assert pulse.longest_from(t) < 0.021
    assert pulse.longest_from(0.0) > 1.0
    assert pulse.longest_from(6.0) > 0.5
    assert pulse.longest_from(10.0) == np.inf
    assert Interpolated(times, 3.0 * times).longest_from(2.0) == np.inf


def test_no_look_is_later_than_the_resolution_of_what_it_passes() -> None:
    """Random peaks, few or many: no step from before one ends behind it, and none has to be finer than the finest of all."""
    rng, times = np.random.default_rng(1), np.linspace(0.0, 20.0, 401)
    for bends in (1, 3, 30, 300):
        samples = np.zeros(401)
        samples[rng.integers(1, 400, bends)] = rng.choice([-1, 1], bends) * rng.uniform(0.4, 1.0, bends)
        table = Interpolated(times, samples)
        at = np.sort(rng.uniform(times[0] - 1.0, times[-1], 2000))
        found = np.array([table.longest_from(t) for t in at])
        assert found.min() >= table.resolution
        for peak in np.flatnonzero(samples):
            assert ((at >= times[peak - 1]) | (at + found <= times[peak] + 1e-12)).all()


@pytest.mark.parametrize("times", [[0, 1, 1.01, 1.02, 20], [0, 1000, 1000.01, 1000.02, 5000], [0, 0.5, 1, 1.01, 1.02, 9]])
def test_irregular_samples_hide_no_pulse(times: list[float]) -> None:
    """From anywhere, a step ends before the pulse is over or begins within it; straight lines before it take one step."""
    samples = np.zeros(len(times))
    samples[-3] = 1.0
    table = Interpolated(np.array(times, dtype=float), samples)
    t, steps = 0.0, 0
    while t < times[-2]:
        length = table.longest_from(t)
        assert length <= max(times[-4] - t, 0.01 + 1e-9)
        t, steps = t + length, steps + 1
    assert steps < 8
