"""Noises of signal paths: spectrum and Allan deviation in closed form (IEEE Std 952), and filters that shape white noise."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE
from titop.blocks.basics.user_input import real_array

#: White noises that err, as inputs of linear models are called, and the numbers of paths by which they act.
NOISES = {"noise": "noise_density", "walk": "random_walk", "instability": "bias_instability", "rounding": "rounding_density"}


class NoisySignal:
    """What errs at random in a signal, as `SignalPath` says; numbers are those of all channels, or arrays with one for each."""

    noise_density: Any
    random_walk: Any
    bias_instability: Any
    correlation_time: float | tuple[float, float]
    quantum: Any
    sample_time: float | None

    @property
    def rounding_density(self) -> Any:
        """Density of the rounding errors of what is sampled, as of `noise_density`; zero of what is not."""
        return self.quantum * math.sqrt((self.sample_time or 0.0) / 12.0)

    @property
    def drifts(self) -> tuple[Array, float]:
        """Correlation times (k, s) of the processes of the bias instability, and the standard deviation of each over it."""
        if isinstance(self.correlation_time, float):
            return np.array([self.correlation_time]), 1.0
        shortest, longest = self.correlation_time
        decades = math.log10(longest / shortest)
        steps = max(round(decades), 1)
        return np.geomspace(shortest, longest, steps + 1), math.sqrt(math.log(10.0) * decades / steps / math.pi)

    def spectrum(self, frequency: Any) -> Array:
        """Return the two-sided spectral density of the errors: white noise, random walk, bias instability and rounding.

        Parameters
        ----------
        frequency : float or array_like (p,), Hz
            Positive; of sampled signals far below half the sampling frequency.

        Returns
        -------
        array (p,), or (p, n) if numbers differ between channels
            In the square of the unit of the signal per Hz. The one-sided density of many instruments is twice as large.

        Raises
        ------
        ModelError
            For frequencies that are not positive.
        """
        omega = 2.0 * math.pi * _read_all_positive("frequency", frequency)
        times, x = self.drifts[0], np.multiply.outer(omega, self.drifts[0])
        return self._summed(np.ones_like(omega), omega**-2.0, (2.0 * times / (1.0 + x * x)).sum(axis=-1))

    def allan_deviation(self, tau: Any) -> Array:
        """Return the Allan deviation of the errors: white noise, random walk, bias instability and rounding (IEEE Std 952).

        Parameters
        ----------
        tau : float or array_like (p,), s
            Times over which the signal is averaged, positive. Of sampled signals: multiples of the sample time; white noise is
            exact for all, the rest within 2 % from five samples on, for correlation times of two samples or more.

        Returns
        -------
        array (p,), or (p, n) if numbers differ between channels
            In the unit of the signal.

        Raises
        ------
        ModelError
            For times that are not positive.
        """
        tau = _read_all_positive("tau", tau)
        x = np.divide.outer(tau, self.drifts[0])
        e = -np.expm1(-x)
        drift = np.where(x < CLOSE, x * (2.0 / 3.0 - x / 2.0), 2.0 / x * (1.0 - (e + e * e / 2.0) / x))
        return np.sqrt(self._summed(1.0 / tau, tau / 3.0, drift.sum(axis=-1)))

    def _summed(self, white: Array, walk: Array, drift: Array) -> Array:
        """Return a sum over the errors (p) of their shares per unit of their sizes, in the square of the unit of the signal."""
        sizes = (
            self.noise_density**2 + self.rounding_density**2,
            self.random_walk**2,
            (self.drifts[1] * self.bias_instability) ** 2,
        )
        parts = zip((white, walk, drift), np.broadcast_arrays(*sizes), strict=True)
        return sum(np.multiply.outer(part, size) for part, size in parts)  # type: ignore[return-value]

    def shaping(self, noise: str, size: float) -> tuple[Array, Array, Array, Array]:
        """Return A (k, k), B (k, 1), C (1, k) and D of a filter from white noise of unit density to the error of one channel.

        `noise` is one of `NOISES`, `size` the number by which it acts, in the unit of the signal; the unit of time is s.
        The processes of a bias instability have one filter together, of the same density: its numerator is the factor of
        ``sum_k q_k prod_(j != k) (p_j^2 - s^2)`` without zeros on the right, with rates p and the noises' densities q.
        """
        if noise == "instability":
            rates = 1.0 / self.drifts[0]
            zeros = _zeros(rates[::-1])
            gain = self.drifts[1] * size * math.sqrt(2.0 * rates.sum())
            apart = np.where(np.eye(len(rates)), 1.0, np.subtract.outer(rates, rates).T)  # p_j - p_k in row k
            residues = gain * np.subtract.outer(-rates, -zeros).prod(axis=1) / apart.prod(axis=1)
            return np.diag(-rates), np.ones((len(rates), 1)), residues[None], np.zeros((1, 1))
        if noise == "walk":
            return np.zeros((1, 1)), np.full((1, 1), size), np.ones((1, 1)), np.zeros((1, 1))
        return np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.full((1, 1), size)


def _read_all_positive(name: str, value: Any) -> Array:
    numbers = real_array(value)
    if numbers is None or not (numbers > 0).all() or not np.isfinite(numbers).all():
        raise ModelError(Finding("not-positive", name, value, "positive numbers", "use np.geomspace"))
    return numbers


def _zeros(rates: Array) -> Array:
    """Return the zeros (k - 1, rad/s) of the filter of a bias instability with some rising `rates` (k, rad/s), without signs.

    The square of each lies between those of two rates.
    """
    from scipy.optimize import brentq

    squares = rates * rates

    def numerator(log: float) -> Any:
        return sum(np.prod(1.0 - math.exp(2.0 * log) / np.delete(squares, k)) / rate for k, rate in enumerate(rates))

    return np.exp([brentq(numerator, *between) for between in itertools.pairwise(np.log(rates))])
