"""Values that sums of independent errors keep below at a level of confidence.

What is Gaussian, uniform or a sinusoid of any phase (an arcsine's density) is convolved exactly, by characteristic functions

    exp(-σ² t² / 2),     sinc(a t),     J0(A t),

on a lattice: with L beyond all values, ``P(|X| < x) = x / L + 2 Σ φ(k π / L) sin(k π x / L) / (k π)``. What is
fixed is a bound, and is added. This is the handbook's advanced method; its simplified one takes Gaussian quantiles of the
standard deviation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import j0, ndtri

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EPS, EXACT

#: Distributions of errors, and the standard deviation of each in parts of its size.
Law = Literal["gaussian", "arcsine", "uniform", "fixed"]
DEVIATIONS: Mapping[Law, float] = {"gaussian": 1.0, "arcsine": 0.5**0.5, "uniform": 3**-0.5, "fixed": 0.0}
#: Terms of a series at most, and standard deviations beyond which a Gaussian error does not count.
_TERMS, _SIGMAS = 2**14, 10.0


def quantile(parts: Sequence[tuple[Law, float]], confidence: float, simplified: bool = False) -> float:
    """Return what the absolute value of a sum of independent errors, each of a law and a size, is below with a probability.

    `simplified`: all that is not fixed counts as Gaussian with its standard deviation.
    """
    sizes = {law: np.array([size for other, size in parts if other == law and size > 0]) for law in DEVIATIONS}
    fixed, sigma = float(sizes["fixed"].sum()), float(np.linalg.norm([*sizes["gaussian"], 0.0]))
    bounded = float(sizes["arcsine"].sum() + sizes["uniform"].sum())
    if not np.isfinite(fixed + sigma + bounded):
        return np.inf
    if simplified or not bounded:
        rest = [DEVIATIONS[law] * size for law, size in parts if law != "fixed"]
        return fixed + float(np.linalg.norm([*rest, 0.0])) * in_sigmas(confidence)
    end = bounded + _SIGMAS * sigma
    terms = _TERMS if not sigma else min(_TERMS, int(_SIGMAS * end / (np.pi * sigma)) + 1)
    t = np.pi * np.arange(1, terms + 1) / end
    phi = np.exp(-((sigma * t) ** 2) / 2)
    phi *= np.prod(j0(sizes["arcsine"][:, None] * t), axis=0) * np.prod(np.sinc(sizes["uniform"][:, None] * t / np.pi), axis=0)

    def missing(x: float) -> float:
        return float(x / end + 2 / end * np.sum(phi * np.sin(t * x) / t) - confidence)

    return fixed + (brentq(missing, 0.0, end, xtol=EXACT * end, rtol=4 * EPS) if missing(end) > 0 else end)


def in_sigmas(confidence: float) -> float:
    """Return the quantile of a Gaussian's absolute value, in standard deviations: three for 0.9973."""
    return float(ndtri((1 + confidence) / 2))


def correlate(parts: Array, laws: Sequence[Law], groups: Sequence[Sequence[int]]) -> list[tuple[Law, float]]:
    """Return sizes (n) by law, those of the same law within a group of places added: fully correlated, the worst case."""
    grouped = {k for group in groups for k in group}
    found = [(laws[k], float(parts[k])) for k in range(len(laws)) if k not in grouped]
    for group in groups:
        for law in DEVIATIONS:
            found.append((law, float(sum(parts[k] for k in group if laws[k] == law))))
    return found
