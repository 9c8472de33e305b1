"""The samples of a Monte Carlo analysis."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import titop as tt
from tests.solvers.sampling.sprung_masses import DISTRIBUTIONS, parameter, spring


def test_more_samples_go_on_where_fewer_ended() -> None:
    few, many = (tt.monte_carlo(spring(), DISTRIBUTIONS, lambda model: {}, n=n) for n in (3, 6))
    for name in DISTRIBUTIONS:
        assert np.array_equal(many.parameters[name][:3], few.parameters[name])


def test_parameters_follow_their_distributions_and_reach_the_model() -> None:
    def run(model: tt.Model) -> dict[str, float]:
        return {name: parameter(model, name) for name in DISTRIBUTIONS}

    samples = tt.monte_carlo(spring(), DISTRIBUTIONS, run, n=400)
    expected = (stats.norm(2.0, 0.1), stats.uniform(6.0, 4.0), stats.expon(scale=0.2))
    for name, distribution in zip(DISTRIBUTIONS, expected, strict=True):
        assert np.array_equal(samples.outcomes[name], samples.parameters[name])
        assert stats.kstest(samples.parameters[name], distribution.cdf).pvalue > 1e-3
    columns = np.array(list(samples.parameters.values()))
    assert np.abs(np.corrcoef(columns) - np.eye(3)).max() < 4 / np.sqrt(400)


def test_everything_wrong_with_the_distributions_is_reported_at_once() -> None:
    with pytest.raises(tt.ModelError) as caught:
        tt.monte_carlo(spring(), {"mass.mas": (1.0, 2.0), "mass.mass": (2.0, 1.0)}, lambda model: {}, n=2)
    assert [finding.code for finding in caught.value.findings] == ["unknown-parameter", "bad-distribution"]
    assert "mass.mass" in caught.value.findings[0].advice
