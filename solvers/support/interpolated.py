"""Samples at given times as a function of time."""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array

#: Lines between few of the samples may be so far off the others, in parts of each column's range.
_SHOWN = 0.05


class Interpolated:
    """Samples, linear between their times and constant outside, as ``np.interp`` has it for each column.

    Parameters
    ----------
    times : (n,) array, s
        Increasing.
    samples : (n, ...) array
    """

    def __init__(self, times: Array, samples: Array) -> None:
        self._times, self._samples = times.tolist(), samples
        self._slopes = np.diff(samples, axis=0) / np.diff(times).reshape(-1, *(1,) * (samples.ndim - 1))

    @cached_property
    def resolution(self) -> float:
        """The longest time (s) after which to look again without missing anything; endless for straight lines.

        Lines between every other sample, every fourth and so on are compared with all samples.
        """
        times, count = np.array(self._times), len(self._times)
        samples = self._samples.reshape(count, -1)
        sizes = _SHOWN * np.ptp(samples, axis=0)
        stride, every = 1, np.arange(count)
        while stride < count - 1:
            before = every - every % (2 * stride)
            behind = np.minimum(before + 2 * stride, count - 1)
            before = np.minimum(before, count - 2)
            part = ((times - times[before]) / (times[behind] - times[before]))[:, None]
            off = (np.abs(samples[before] + part * (samples[behind] - samples[before]) - samples) > sizes).any(axis=1)
            if off.any():
                return float((times[behind] - times[before])[off].min() / 2)
            stride *= 2
        return math.inf

    def rows(self, t: Array) -> Array:
        """Return the values (n, ...) at times t (n, s)."""
        times, last = np.array(self._times), len(self._times) - 1
        within = np.clip(t, times[0], times[-1])
        k = np.minimum(np.searchsorted(times, within, "right") - 1, last - 1)
        passed = (within - times[k]).reshape(-1, *(1,) * (self._samples.ndim - 1))
        ends = (within == times[-1]).reshape(passed.shape)
        return np.where(ends, self._samples[-1], self._slopes[k] * passed + self._samples[k])

    def __call__(self, t: float) -> Any:
        """Return the value at time t (s)."""
        k = bisect_right(self._times, t) - 1
        if k < 0:
            return self._samples[0]
        if k == len(self._times) - 1:
            return self._samples[-1]
        return self._slopes[k] * (t - self._times[k]) + self._samples[k]
