"""Variances over frequency, with the exact weights of windows in time.

With a window Δt and a separation s of windows, the mean over the window, the deviation from it (its mean square over the
window) and the difference of two means have, of a signal of angular frequency ω, the parts

    MPE: sinc²(ω Δt / 2),    RPE: 1 - sinc²(ω Δt / 2),    PDE, PRE: 2 (1 - cos ω s) sinc²(ω Δt / 2)

of its mean square, sinc x = sin x / x (Lucke, Sirlin and San Martin 1992; ESSB-HB-E-003, Annex). Of samples, a mean of n has
sinc²(ω Δt / 2) / sinc²(ω T / 2), with the sample time T. The handbook replaces these by squares of rational functions (Ott et
al. 2011, Pittelkau 2003) for use with Lyapunov equations: those of MPE and RPE add up to as much as 1.11, not one.

The axis is cut into panels, no wider than half the distance to the nearest pole, on which a spectrum is a polynomial of degree
15 to rounding: narrow resonances cost some panels more. What oscillates with ω, cos ω τ, is no part of it where it is fast, but
is integrated exactly against Legendre's polynomials, ``∫ P_k(x) exp(j κ x) dx = 2 j^k j_k(κ)`` with spherical Bessel functions
(Filon). So windows may be as long, or as far apart, as one likes. The last panel reaches to infinity, in 1/ω.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import eval_legendre, spherical_jn

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, COARSE, EPS, SAME, TYPED
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.peaks import find_peaks, frequencies

#: Nodes of a panel; what turns values there into coefficients of Legendre's polynomials.
_NODES, _GAUSS = np.polynomial.legendre.leggauss(16)
_ORDERS = np.arange(len(_NODES))
_TO_LEGENDRE = (_ORDERS + 0.5)[:, None] * eval_legendre(_ORDERS[:, None], _NODES) * _GAUSS
#: Angles over half a panel from which an oscillation counts as fast, and where the last panel begins, over those of windows.
_FAST, _BEYOND = 4.0, 1 / CLOSE
#: Angles between frequencies at which an oscillation is seen as it is.
_SLOW = 1 / 256
#: How often panels are halved, and panels at most.
_HALVINGS, _MOST = 60, 20_000
#: Frequencies of a range at which a line is looked at.
_LINES = 2000


@dataclass(frozen=True)
class Metric:
    """What is asked of an error.

    - `kind`: ``"absolute"``, ``"mean"``, ``"relative"`` or ``"difference"`` (of means);
    - `window`, `separation`: of windows and between their beginnings (s).
    """

    name: str
    kind: str = "absolute"
    window: float = 0.0
    separation: float = 0.0

    def weights(self, omega: Array, period: float) -> Array:
        """Return the part of the mean square at frequencies (rad/s) that counts."""
        whole, sample = _deficit(omega * self.window / 2), _deficit(omega * period / 2)
        if self.kind == "absolute":
            return np.ones(np.shape(omega))
        if self.kind == "relative":  # 1 - sinc² / sinc², without a difference from one
            return np.asarray((whole - sample) / np.maximum(1 - sample, EPS))
        mean = (1 - whole) / np.maximum(1 - sample, EPS)
        return mean * 4 * np.sin(omega * self.separation / 2) ** 2 if self.kind == "difference" else mean

    def highest_weights(self, omega: Array, period: float) -> Array:
        """Return what weights do not exceed between frequencies (rad/s) that are equally far apart, waves at their most."""
        if (omega[1] - omega[0]) * (self.window + self.separation) < _SLOW:
            return self.weights(omega, period)
        if self.kind in ("absolute", "relative"):
            return np.ones(len(omega))
        mean = (2 / np.maximum(omega[0] * self.window, EPS)) ** 2 / np.maximum(1 - _deficit(omega[-1] * period / 2), EPS)
        return np.full(len(omega), min(mean, 1.0) * (4 if self.kind == "difference" else 1))


def _deficit(x: Array) -> Array:
    """Return ``1 - sinc² x``, to rounding near zero too."""
    square = x * x
    return np.where(np.abs(x) < COARSE, square / 3 - 2 * square**2 / 45 + square**3 / 315, 1 - np.sinc(x / np.pi) ** 2)


def responder(system: Matrices, period: float) -> Callable[[Array], Array]:
    """Return the function from frequencies (n, rad/s) to responses (n, outputs, inputs) of a system."""
    system = system.balance()
    poles, vectors = np.linalg.eig(system.A)
    residues = None
    if len(poles) and np.linalg.cond(vectors) * EPS < COARSE * SAME:
        into = np.linalg.solve(vectors, system.B.astype(complex))
        residues = ((system.C @ vectors).T[:, :, None] * into[:, None]).reshape(len(poles), -1)

    def at(omega: Array) -> Array:
        points = np.exp(1j * omega * period) if period else 1j * omega
        if residues is None:
            return system.responses(points).reshape(-1, *system.D.shape)
        result: Array = (1 / (points[:, None] - poles)) @ residues
        return result.reshape(-1, *system.D.shape) + system.D

    return at


@dataclass
class Panels:
    """Parts of the frequency axis, and spectra there.

    - `far` (p);
    - `low`, `high` (p): ends of the panels (rad/s), or of 1/ω (s) of those that are `far`;
    - `values` (p, 16, channels): spectra at their nodes, times the change of ω with the panel's coordinate;
    - `is_open` (p, channels): where these are no polynomials, even on the shortest panels.
    """

    low: Array
    high: Array
    far: Array
    values: Array
    is_open: Array

    @classmethod
    def of(
        cls, density: Callable[[Array], Array], poles: Array, places: Array, window: float, last: float, far_too: bool
    ) -> Panels:
        """Return panels on which a density is resolved: a function from frequencies (n, rad/s) to densities (n, channels).

        `places`: where it bends (rad/s); `window`: its length; `last`: where panels end, or where the one to infinity begins
        that there is if `far_too`.
        """
        ends, floor = [0.0], 2 / window if window else TYPED * last
        while ends[-1] < last:
            near = min(float(np.abs(1j * ends[-1] - poles).min(initial=np.inf)), max(ends[-1], floor))
            ends.append(min(ends[-1] + near / 2, last))
        cuts = np.unique([*ends, *(w for w in places if 0 < w < last)])
        low, high, far = cuts[:-1], cuts[1:], np.zeros(len(cuts) - 1, dtype=bool)
        if far_too:
            low, high, far = np.append(low, 0.0), np.append(high, 1 / last), np.append(far, True)
        values, rough = cls._look(density, low, high, far)
        for _ in range(_HALVINGS):
            whole = (np.abs(_GAUSS @ values) * (high - low)[:, None]).sum(axis=0) / 2
            wrong = (rough > SAME / 10 * whole).any(axis=1)
            if not wrong.any() or len(low) > _MOST:
                break
            middle = (low[wrong] + high[wrong]) / 2
            new = np.append(low[wrong], middle), np.append(middle, high[wrong]), np.tile(far[wrong], 2)
            more, rougher = cls._look(density, *new)
            low, high, far = (np.append(old[~wrong], part) for old, part in zip((low, high, far), new, strict=True))
            values, rough = np.concatenate([values[~wrong], more]), np.concatenate([rough[~wrong], rougher])
        whole = (np.abs(_GAUSS @ values) * (high - low)[:, None]).sum(axis=0) / 2
        return cls(low, high, far, values, rough > SAME / 10 * whole)

    @staticmethod
    def _look(density: Callable[[Array], Array], low: Array, high: Array, far: Array) -> tuple[Array, Array]:
        """Return values at the nodes of panels, and what polynomials leave of their integrals (p, channels)."""
        x = (low + high)[:, None] / 2 + (high - low)[:, None] / 2 * _NODES
        omega = np.where(far[:, None], 1 / x, x)
        values = density(omega.ravel()).reshape(*x.shape, -1) * np.where(far[:, None], omega**2, 1.0)[:, :, None]
        return values, np.abs(_TO_LEGENDRE[-2:] @ values).max(axis=1) * (high - low)[:, None]

    @property
    def omega(self) -> Array:
        """Frequencies (p, 16; rad/s) of the nodes."""
        x = (self.low + self.high)[:, None] / 2 + (self.high - self.low)[:, None] / 2 * _NODES
        return np.where(self.far[:, None], 1 / x, x)

    def variances(self, metric: Metric, period: float) -> Array:
        """Return the integral over each panel (p, channels) of the part that counts, over 2 π; infinite where it is none."""
        delays = [metric.window] * (metric.kind != "absolute") + [metric.separation] * (metric.kind == "difference")
        half, omega = (self.high - self.low) / 2, self.omega
        fast = np.array([self.far | (half * delay > _FAST) for delay in delays]).reshape(len(delays), len(half))
        result = np.zeros((len(half), self.values.shape[2]))
        for pattern in product((False, True), repeat=len(delays)):
            which = (fast == np.array(pattern)[:, None]).all(axis=0)
            if not which.any():
                continue
            if not any(pattern):
                smooth = self.values[which] * metric.weights(omega[which], period)[:, :, None]
                result[which] = half[which, None] * (_GAUSS @ smooth)
                continue
            oscillating = [delay for delay, yes in zip(delays, pattern, strict=True) if yes]
            result[which] = self._with_waves(which, omega[which], metric, oscillating, period)
        result /= 2 * np.pi
        ends = (self.low == 0)[:, None] & self.is_open  # zero, or infinity
        unbounded = (ends & (np.abs(result) > TYPED * np.abs(result).sum(axis=0))).any(axis=0)
        result[:, unbounded] = np.inf
        return result

    def _with_waves(self, which: Array, omega: Array, metric: Metric, oscillating: Sequence[float], period: float) -> Array:
        """Return integrals over panels on which the cosines of some delays are fast.

        Of those to infinity they count as their mean.
        """
        scale = np.ones(omega.shape)
        if metric.window in oscillating:
            scale = 2 / (omega * metric.window) ** 2 / np.maximum(1 - _deficit(omega * period / 2), EPS)
        elif metric.kind == "difference":
            scale = Metric("", "mean", metric.window).weights(omega, period)
        if metric.kind == "difference":
            scale = scale * (2 if metric.separation in oscillating else 4 * np.sin(omega * metric.separation / 2) ** 2)
        waves = {0.0: 1.0}
        for delay in oscillating:
            for wave, part in tuple(waves.items()):
                for other in (wave + delay, abs(wave - delay)):
                    waves[other] = waves.get(other, 0.0) - part / 2
        values, half, far = self.values[which] * scale[:, :, None], (self.high - self.low)[which] / 2, self.far[which]
        coefficients, middle = _TO_LEGENDRE @ values, (self.high + self.low)[which] / 2
        total = np.zeros((len(half), values.shape[2]))
        for wave, part in waves.items():
            moments = 2 * 1j**_ORDERS * spherical_jn(_ORDERS, half[:, None] * wave) * np.exp(1j * middle * wave)[:, None]
            integral = half[:, None] * np.einsum("pk,pkc->pc", moments, coefficients).real
            total += part * np.where(far[:, None] & (wave > 0), 0.0, integral)
        if metric.kind == "relative":
            total = half[:, None] * (_GAUSS @ self.values[which]) - total
        return total


def last_panel(poles: Array, places: Array, delays: Sequence[float]) -> float:
    """Return where the panel to infinity begins (rad/s): beyond all that is known, and the oscillations of windows."""
    return float(max([8 * np.abs(poles).max(initial=0.0), 2 * max(places, default=0.0), *(_BEYOND / d for d in delays)]) or 1.0)


def worst_line(gain: Callable[[Array], Array], poles: Array, band: tuple[float, float]) -> tuple[float, float]:
    """Return the highest value of a function of frequencies (n, rad/s) in a band, and where."""
    low, high = band
    omega = np.array([low]) if low == high else frequencies(poles, np.linspace(low, high, _LINES), band)
    values = gain(omega)
    best = int(values.argmax())
    places, heights = (omega, values) if low == high else find_peaks(gain, values, omega, 0.0, 1 - COARSE, 3)
    if len(heights) and heights[0] > values[best] and low <= places[0] <= high:
        return float(heights[0]), float(places[0])
    return float(values[best]), float(omega[best])
