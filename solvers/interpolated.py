"""Samples at given times as a function of time."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array


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

    def __call__(self, t: float) -> Any:
        """Return the value at time t (s)."""
        k = bisect_right(self._times, t) - 1
        if k < 0:
            return self._samples[0]
        if k == len(self._times) - 1:
            return self._samples[-1]
        return self._slopes[k] * (t - self._times[k]) + self._samples[k]
