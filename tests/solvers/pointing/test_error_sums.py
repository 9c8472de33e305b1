"""Quantiles of sums of errors against closed forms and samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from titop.solvers.pointing.error_sums import Law, correlate, in_sigmas, quantile


@pytest.mark.parametrize("level", [0.5, 0.9, 0.9973])
def test_single_errors(level: float) -> None:
    """To the lattice: a part of 2^-14 of the range, where a density is infinite."""
    assert in_sigmas(level) == pytest.approx(norm.ppf((1 + level) / 2), rel=1e-12)
    assert quantile([("gaussian", 2.0)], level) == pytest.approx(2 * in_sigmas(level), rel=1e-12)
    assert quantile([("arcsine", 2.0)], level) == pytest.approx(2 * np.sin(np.pi * level / 2), rel=1e-4)
    assert quantile([("uniform", 2.0)], level) == pytest.approx(2 * level, rel=1e-4)
    assert quantile([("fixed", 2.0), ("fixed", 1.0)], level) == 3.0
    assert quantile([], level) == 0.0


@pytest.mark.parametrize("level", [0.5, 0.9, 0.9973])
def test_two_uniform_errors_are_triangular(level: float) -> None:
    assert quantile([("uniform", 1.0), ("uniform", 1.0)], level) == pytest.approx(2 - 2 * np.sqrt(1 - level), rel=1e-8)


def test_sums_of_all_kinds_agree_with_samples() -> None:
    """Quantiles of 2e6 samples: their standard error is ``sqrt(p (1 - p) / n)`` over the density, 0.002 at most here."""
    rng, n = np.random.default_rng(0), 2_000_000
    parts: list[tuple[Law, float]] = [("arcsine", 1.0), ("gaussian", 0.5), ("uniform", 1.0), ("fixed", 0.3)]
    samples = np.sin(rng.uniform(0, 2 * np.pi, n)) + 0.5 * rng.standard_normal(n) + rng.uniform(-1, 1, n)
    for level in (0.5, 0.9, 0.9973):
        assert quantile(parts, level) == pytest.approx(0.3 + np.quantile(np.abs(samples), level), abs=0.008)
    simplified = 0.3 + in_sigmas(0.9973) * np.sqrt(0.5 + 0.25 + 1 / 3)
    assert quantile(parts, 0.9973, simplified=True) == pytest.approx(simplified, rel=1e-12)
    assert quantile(parts, 0.9973) < simplified - 0.1  # bounded errors have no tails


def test_many_lines_become_gaussian() -> None:
    """The central limit: 40 sinusoids; the error of Gauss's quantile is of the order of one over their number."""
    assert quantile([("arcsine", 1.0)] * 40, 0.9) == pytest.approx(in_sigmas(0.9) * np.sqrt(20), rel=0.01)


def test_correlated_errors_of_a_kind_are_added() -> None:
    laws: list[Law] = ["gaussian", "gaussian", "arcsine", "gaussian"]
    parts = correlate(np.array([3.0, 4.0, 1.0, 2.0]), laws, [(0, 1, 2)])
    assert sorted((law, size) for law, size in parts if size) == [("arcsine", 1.0), ("gaussian", 2.0), ("gaussian", 7.0)]
