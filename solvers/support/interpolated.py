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
    def _pieces(self) -> tuple[list[float], list[float]]:
        """Return when pieces of the time begin (s), and the longest time (s) after which to look again within each.

        Lines between every other sample, every fourth and so on are compared with all samples: what is under the shortest that
        is off bends in its middle, and is looked at again after no more than the half that is begun.
        """
        times, count = np.array(self._times), len(self._times)
        samples = self._samples.reshape(count, -1)
        sizes = _SHOWN * np.ptp(samples, axis=0)
        stride, every, longest = 1, np.arange(count), np.full(count, math.inf)
        while stride < count - 1:
            block = every - every % (2 * stride)
            before, behind = np.minimum(block, count - 2), np.minimum(block + 2 * stride, count - 1)
            part = ((times - times[before]) / (times[behind] - times[before]))[:, None]
            off = (np.abs(samples[before] + part * (samples[behind] - samples[before]) - samples) > sizes).any(axis=1)
            is_off = np.zeros(count, dtype=bool)
            is_off[block[off]] = True
            middle = np.minimum(block + stride, count - 1)
            halves = np.where(every < middle, times[middle] - times[block], times[behind] - times[middle])
            longest[is_off[block]] = np.minimum(longest, halves)[is_off[block]]
            stride *= 2
        longest[-1] = math.inf
        begins = np.flatnonzero(np.concatenate([[True], longest[1:] != longest[:-1]]))
        return times[begins].tolist(), longest[begins].tolist()

    @property
    def resolution(self) -> float:
        """The longest time (s) after which to look again without missing anything; endless for straight lines."""
        return min(self._pieces[1])

    def longest_from(self, t: float) -> float:
        """Return the longest time (s) after which to look again from time t (s) on: until the lines bend, or as they do."""
        begins, longest = self._pieces
        k = bisect_right(begins, t)
        most = longest[k - 1] if k else math.inf
        while k < len(begins) and begins[k] - t < most:
            most = min(most, max(begins[k] - t, longest[k]))
            k += 1
        return most

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
