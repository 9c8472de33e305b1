"""Samples at given times as a function of time."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EPS


class Interpolated:
    """Samples, linear between their times and constant outside, as ``np.interp`` has it for each column.

    `times` (n, s): increasing; `samples` (n, ...).
    """

    def __init__(self, times: Array, samples: Array) -> None:
        self._times, self._samples, self._places = times.tolist(), samples, np.array(times)
        self._slopes = np.diff(samples, axis=0) / np.diff(times).reshape(-1, *(1,) * (samples.ndim - 1))

    def kinks(self, tolerance: float) -> Array:
        """Return the times (k, s) at which the lines bend, the ends included.

        Left out are bends that a smooth curve through the samples has as well, if the lines stay next to it: between samples of
        a step h they are off by h/8 of the bend, by less than a `tolerance` in parts of how far the samples reach from each
        other. So do bends that differ from those beside them by so little that this is less even over the whole time.
        """
        times, samples = self._places, self._samples.reshape(len(self._times), -1)
        slopes, steps = self._slopes.reshape(len(times) - 1, -1), np.diff(times)
        bends = np.diff(slopes, axis=0, prepend=0.0, append=0.0)
        alone = np.diff(bends, n=2, axis=0, prepend=0.0, append=0.0) / 2
        longest = np.maximum(np.append(steps, 0.0), np.insert(steps, 0, 0.0))[:, None]
        nearest = np.minimum(np.append(steps, math.inf), np.insert(steps, 0, math.inf))[:, None]
        off = np.maximum(longest * np.abs(bends), (times[-1] - times[0]) * np.abs(alone)) / 8
        steepness = np.abs(np.pad(slopes, ((1, 1), (0, 0))))
        rounding = 8 * EPS * np.abs(samples).max(axis=0, initial=0.0) / nearest
        rounding += 8 * EPS * (np.abs(times)[:, None] / nearest) * np.maximum(steepness[:-1], steepness[1:])
        return np.asarray(times[((np.abs(bends) > rounding) & (off > tolerance * np.ptp(samples, axis=0))).any(axis=1)])

    def rows(self, t: Array) -> Array:
        """Return the values (n, ...) at times t (n, s)."""
        times, last = self._places, len(self._times) - 1
        line = bisect_right(self._times, first := t.min(initial=math.inf)) - 1
        if 0 <= line < last and t.max(initial=first) <= self._times[line + 1]:  # on one of them, as in most steps
            return np.asarray(np.multiply.outer(t - self._times[line], self._slopes[line]) + self._samples[line])
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
