"""Models at random parameters: the same bits however the work is spread, right statistics, kept failures."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from scipy import stats

import titop as tt


def spring() -> tt.Model:
    """Return a mass on a spring."""
    s = tt.System("spring", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", mass=2.0), tt.Prismatic("rail", axis=[1, 0, 0], stiffness=8.0, damping=0.2))
    return s.resolve()


DISTRIBUTIONS = {
    "mass.mass": stats.norm(2.0, 0.1),
    "rail.stiffness": (6.0, 10.0),
    "rail.damping": lambda rng: rng.exponential(0.2),
}


def parameter(model: tt.Model, name: str) -> float:
    return model.parameters()[name][0]


def noisy(model: tt.Model, seed: int) -> dict[str, Any]:
    """Simulate under control by a noisy measurement."""
    controller = tt.Controller(lambda t, x, y, r: (x, -3 * y), [], ["rail.q"], ["rail.tau"], 0.05)
    run = tt.simulate(model, np.linspace(0, 1, 6), [1.0], [0.0], controller=controller, noise=0.05, seed=seed)
    return {"end": run.q[-1, 0], "path": run.q[:, 0]}


def test_any_number_of_workers_gives_the_same_bits() -> None:
    runs = [tt.monte_carlo(spring(), DISTRIBUTIONS, noisy, n=13, seed=5, workers=workers) for workers in (1, 2, 3)]
    for other in runs[1:]:
        for kept in ("parameters", "outcomes"):
            mine, others = getattr(runs[0], kept), getattr(other, kept)
            assert list(mine) == list(others)
            assert all(np.array_equal(mine[name], others[name]) for name in mine)
    ends = runs[0].outcomes["end"]
    assert len(set(ends.tolist())) == 13
    assert np.array_equal(runs[0].outcomes["path"][:, -1], ends)
    assert not np.array_equal(tt.monte_carlo(spring(), DISTRIBUTIONS, noisy, n=13, seed=6).outcomes["end"], ends)


def test_the_order_of_the_distributions_changes_nothing() -> None:
    """Samples are of parameters, not of places in a mapping."""
    turned = dict(reversed(list(DISTRIBUTIONS.items())))
    one, other = (tt.monte_carlo(spring(), given, noisy, n=5, seed=5) for given in (DISTRIBUTIONS, turned))
    assert list(other.parameters) == list(turned) != list(DISTRIBUTIONS)
    for kept in ("parameters", "outcomes"):
        assert all(np.array_equal(values, getattr(other, kept)[name]) for name, values in getattr(one, kept).items())


def test_statistics() -> None:
    samples = tt.monte_carlo(spring(), {"rail.stiffness": (6.0, 10.0)}, lambda m: {"k": parameter(m, "rail.stiffness")}, n=101)
    values, found = samples.parameters["rail.stiffness"], samples.statistics("k")
    ordered = np.sort(values)
    assert (found.least, found.median, found.greatest) == (ordered[0], ordered[50], ordered[100])
    assert (found.low, found.high) == pytest.approx((ordered[5], ordered[95]))
    assert found.mean == pytest.approx(values.mean())
    assert found.std == pytest.approx(np.sqrt(((values - values.mean()) ** 2).sum() / 100))
    assert repr(samples) == "Samples('spring', n=101, outcomes: k; no failures)"
    with pytest.raises(tt.ModelError, match="unknown-outcome"):
        samples.statistics("kk")


@pytest.mark.parametrize("workers", [1, 2])
def test_failed_runs_are_kept_with_their_message(workers: int) -> None:
    def run(model: tt.Model) -> dict[str, float]:
        stiffness = parameter(model, "rail.stiffness")
        if stiffness > 9:
            raise RuntimeError(f"too stiff: {stiffness:.3f}")
        return {"k": stiffness}

    with pytest.warns(tt.ModelWarning, match=r"of 40 runs failed, the first at sample \d+: RuntimeError: too stiff"):
        samples = tt.monte_carlo(spring(), {"rail.stiffness": (6.0, 10.0)}, run, n=40, workers=workers)
    stiff = samples.parameters["rail.stiffness"] > 9
    assert 2 < stiff.sum() < 20
    assert sorted(samples.failures) == np.flatnonzero(stiff).tolist()
    assert np.isnan(samples.outcomes["k"]).tolist() == stiff.tolist()
    assert len(samples.values("k")) == 40 - stiff.sum()
    assert samples.statistics("k").greatest < 9
    assert f"{stiff.sum()} failed, the first at sample {np.flatnonzero(stiff)[0]}: RuntimeError: too stiff" in repr(samples)
    data = samples.to_xarray()
    assert (data["failure"] != "").values.tolist() == stiff.tolist()
    assert data.sizes == {"sample": 40, "parameter": 1}
    assert np.array_equal(data["parameters"].sel(parameter="rail.stiffness"), samples.parameters["rail.stiffness"])
    assert np.array_equal(data["k"], samples.outcomes["k"], equal_nan=True)
    named = tt.monte_carlo(spring(), DISTRIBUTIONS, lambda model: {"failure": 1.0}, 2)
    with pytest.raises(tt.ModelError, match=r"outcomes: got failure; .*reserved-name"):
        named.to_xarray()


@pytest.mark.parametrize("last", [False, True])
def test_a_process_that_dies_is_a_failure_of_its_sample(last: bool) -> None:
    stiffnesses = tt.monte_carlo(spring(), {"rail.stiffness": (6.0, 10.0)}, lambda model: {}, n=20).parameters["rail.stiffness"]
    fatal = {float(stiffnesses[k]) for k in ((19,) if last else (3, 4, 11))}

    def run(model: tt.Model) -> dict[str, float]:
        if parameter(model, "rail.stiffness") in fatal:
            os._exit(7)
        return {"k": parameter(model, "rail.stiffness")}

    with pytest.warns(tt.ModelWarning, match=r"first at sample (3|19): its process ended with exit code 7"):
        samples = tt.monte_carlo(spring(), {"rail.stiffness": (6.0, 10.0)}, run, n=20, workers=2)
    assert {float(stiffnesses[k]) for k in samples.failures} == fatal
    assert np.array_equal(samples.values("k"), np.delete(stiffnesses, list(samples.failures)))


def test_a_function_that_does_not_say_its_arguments_gets_the_model() -> None:
    with pytest.warns(tt.ModelWarning, match="sample 0: TypeError: 'Model' object is not iterable"):
        tt.monte_carlo(spring(), {"mass.mass": (1.0, 2.0)}, max, n=1)


def test_parameters_that_a_block_refuses_are_failures_of_their_runs() -> None:
    with pytest.warns(tt.ModelWarning, match="negative-mass"):
        samples = tt.monte_carlo(spring(), {"mass.mass": (-1.0, 1.0)}, lambda model: {"one": 1.0}, n=20)
    assert sorted(samples.failures) == np.flatnonzero(samples.parameters["mass.mass"] < 0).tolist()


@pytest.mark.parametrize("outcome", [3.0, {"k": "stiff"}, {"k": 1j}])
def test_outcomes_that_are_no_numbers_are_failures(outcome: Any) -> None:
    with pytest.warns(tt.ModelWarning, match="2 of 2 runs failed"):
        samples = tt.monte_carlo(spring(), {"mass.mass": (1.0, 2.0)}, lambda model: outcome, n=2)
    assert samples.outcomes == {}


def test_outcomes_of_other_shapes_are_failures() -> None:
    def run(model: tt.Model) -> dict[str, Any]:
        return {"k": np.zeros(1 if parameter(model, "rail.stiffness") < 8 else 2)}

    with pytest.warns(tt.ModelWarning, match=r"other outcomes than before: k \(\d,\)"):
        samples = tt.monte_carlo(spring(), {"rail.stiffness": (6.0, 10.0)}, run, n=10)
    assert 0 < len(samples.failures) < 10


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"model": 3}, "wrong-type"),
        ({"run": 3}, "wrong-type"),
        ({"n": 0}, "bad-count"),
        ({"n": 2.5}, "bad-count"),
        ({"workers": 0}, "wrong-type"),
        ({"seed": "x"}, "bad-seed"),
        ({"seed": -1}, "bad-seed"),
        ({"run": lambda: {}}, "wrong-type"),
        ({"run": lambda model, seed, other: {}}, "wrong-type"),
        ({"distributions": [1]}, "wrong-type"),
        ({"distributions": {"mass.mas": (1.0, 2.0)}}, "unknown-parameter"),
        ({"distributions": {"mass.mass": (2.0, 1.0)}}, "bad-distribution"),
        ({"distributions": {"mass.mass": 1.0}}, "bad-distribution"),
        ({"distributions": {"mass.mass": stats.norm}}, "bad-distribution"),
        ({"distributions": {"mass.mass": lambda rng: "heavy"}}, "bad-distribution"),
    ],
)
def test_bad_arguments(changes: dict[str, Any], code: str) -> None:
    usable = {"model": spring(), "distributions": DISTRIBUTIONS, "run": lambda model: {}, "n": 2}
    with pytest.raises(tt.ModelError) as caught:
        tt.monte_carlo(**(usable | changes))
    assert caught.value.code == code


def test_functions_that_draw_take_a_generator() -> None:
    with pytest.raises(
        tt.ModelError, match=r"distributions\['rail.stiffness'\].*expected a function f\(rng\).*wrong-signature"
    ):
        tt.monte_carlo(spring(), {"rail.stiffness": lambda: 1.0}, lambda model: {"x": 1.0}, 2)


def test_ranges_in_percent_are_about_the_nominal_value() -> None:
    model = spring()
    name = next(iter(DISTRIBUTIONS))
    nominal = model.parameters()[name][0]
    found = tt.monte_carlo(model, {name: tt.percent(-10, 20)}, lambda m: {"x": m.parameters()[name][0]}, 60).parameters[name]
    assert 0.9 * nominal <= found.min() < 0.95 * nominal
    assert 1.15 * nominal < found.max() <= 1.2 * nominal


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
