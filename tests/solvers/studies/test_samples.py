"""Studies in parts, drawn states, ties, and sensitivities: against closed forms."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import titop as tt
from tests.refusals import refusal
from tests.solvers.studies.test_monte_carlo import DISTRIBUTIONS, noisy, parameter, spring

THREE = ("mass.mass", "rail.stiffness", "rail.damping")


def ishigami(model: tt.Model) -> dict[str, Any]:
    """Ishigami and Homma's function of three numbers between -pi and pi, here shifted to be positive."""
    x = [parameter(model, name) - 4.0 for name in THREE]
    return {"y": np.sin(x[0]) + 7 * np.sin(x[1]) ** 2 + 0.1 * x[2] ** 4 * np.sin(x[0]), "pair": x[:2]}


def test_parts_of_a_study_are_those_of_the_whole() -> None:
    whole = tt.monte_carlo(spring(), DISTRIBUTIONS, noisy, n=7, seed=5)
    parts = [tt.monte_carlo(spring(), DISTRIBUTIONS, noisy, seed=5, which=which) for which in ([6, 1], range(2, 6), [0])]
    assert parts[0].which.tolist() == [6, 1]
    assert np.array_equal(parts[0].outcomes["path"], whole.outcomes["path"][[6, 1]])
    joined = parts[0] + parts[1] + parts[2]
    assert joined.which.tolist() == [*range(7)]
    for name in ("parameters", "outcomes"):
        assert all(np.array_equal(values, getattr(joined, name)[key]) for key, values in getattr(whole, name).items())
    assert joined.to_xarray().equals(whole.to_xarray())
    with refusal("given-twice", "sample 1"):
        parts[0] + whole
    with refusal("other-study", "like"):
        whole + tt.monte_carlo(spring(), DISTRIBUTIONS, noisy, seed=6, which=[9])
    with refusal("other-study", "like"):
        whole + tt.monte_carlo(spring(), DISTRIBUTIONS | {"mass.mass": (1.0, 9.0)}, noisy, seed=5, which=[9])


def test_failures_of_parts_have_their_numbers() -> None:
    def run(model: tt.Model) -> dict[str, float]:
        if parameter(model, "mass.mass") > 2.05:
            raise RuntimeError("heavy")
        return {"m": parameter(model, "mass.mass")}

    with pytest.warns(tt.ModelWarning, match="heavy"):
        whole = tt.monte_carlo(spring(), DISTRIBUTIONS, run, n=20)
    with pytest.warns(tt.ModelWarning, match="heavy"):
        part = tt.monte_carlo(spring(), DISTRIBUTIONS, run, which=range(10, 20))
    assert [*part.failures] == [k for k in whole.failures if k >= 10] != []
    assert np.array_equal(part.values("m"), part.parameters["mass.mass"][part.parameters["mass.mass"] <= 2.05])


@pytest.mark.parametrize("which", [[], [-1], [1, 1], [0.5], "12", 3, [True]])
def test_numbers_of_samples_are_whole_and_different(which: Any) -> None:
    with refusal("bad-which", "range(100, 200)"):
        tt.monte_carlo(spring(), DISTRIBUTIONS, noisy, which=which)


def test_numbers_beyond_n_are_refused() -> None:
    with refusal("bad-which", "numbers below n = 3"):
        tt.monte_carlo(spring(), DISTRIBUTIONS, noisy, n=3, which=[3])
    with refusal("bad-count", "one or more"):
        tt.monte_carlo(spring(), DISTRIBUTIONS, noisy)


class TestStates:
    """Angles and rates of a pendulum on a slide."""

    def model(self) -> tt.Model:
        s = tt.System("pendulum", gravity=[0, 0, -9.81])
        slide, bob = tt.RigidBody("slide", mass=1.0), tt.RigidBody("bob", mass=2.0, com=[0, 0, -1], inertia=0.1)
        s.connect("world", slide, tt.Prismatic("rail", axis=[1, 0, 0]))
        s.connect(slide, bob, tt.Revolute("hinge", axis=[0, 1, 0]))
        return s.resolve()

    def test_reach_the_point(self) -> None:
        def run(point: tt.OperatingPoint, seed: int) -> dict[str, Any]:
            return {"q": point.q, "v": point.v, "mass": parameter(point.model, "bob.mass")}

        drawn = {"hinge.q": stats.norm(0.0, 0.2), "rail.v": (-1.0, 1.0), "bob.mass": (1.0, 2.0)}
        nominal = tt.OperatingPoint(self.model(), [0.3, 0.1], [0.0, 0.7])
        samples = tt.monte_carlo(self.model(), drawn, run, n=50, point=nominal)
        values = samples.parameters
        assert np.array_equal(samples.outcomes["q"], np.stack([np.full(50, 0.3), values["hinge.q"]], axis=1))
        assert np.array_equal(samples.outcomes["v"], np.stack([values["rail.v"], np.full(50, 0.7)], axis=1))
        assert np.array_equal(samples.outcomes["mass"], values["bob.mass"])
        assert stats.kstest(values["hinge.q"], stats.norm(0.0, 0.2).cdf).pvalue > 1e-3

    def test_percents_are_about_the_nominal_state(self) -> None:
        nominal = tt.OperatingPoint(self.model(), [0.3, 0.1])
        samples = tt.monte_carlo(self.model(), {"rail.q": tt.percent(10)}, lambda point: {"x": point.q[0]}, 40, point=nominal)
        assert 0.27 <= samples.outcomes["x"].min() < 0.28
        assert 0.32 < samples.outcomes["x"].max() <= 0.33

    def test_of_free_joints_are_displacements(self) -> None:
        s = tt.System("free", gravity=[0, 0, 0])
        s.connect("world", tt.RigidBody("hub", mass=1.0, inertia=1.0), tt.Free("base"))
        m = s.resolve()

        def run(point: tt.OperatingPoint) -> dict[str, Any]:
            return {"R": point.model.pose("hub", point.q)[0]}

        samples = tt.monte_carlo(m, {"base.rz": (-0.5, 0.5)}, run, n=5)
        for angle, R in zip(samples.parameters["base.rz"], samples.outcomes["R"], strict=True):
            c, s_ = np.cos(angle), np.sin(angle)
            np.testing.assert_allclose(R, [[c, -s_, 0], [s_, c, 0], [0, 0, 1]], atol=1e-14)  # rounding

    def test_loops_are_closed(self) -> None:
        s = tt.System("loop", gravity=[0, 0, 0])
        post, rider = tt.RigidBody("post", 1.0, inertia=0.1, ports={"top": [0, 0, 1.0]}), tt.RigidBody("rider", 1.0)
        s.connect("world", post, tt.Revolute("hinge", axis=[0, 1, 0]))
        s.connect("world", rider, tt.Prismatic("track", axis=[1, 0, 0]), tt.Pose([0, 0, 1.0]))
        s.close_loop(rider, post.port("top"), tt.RigidClosure("pin", directions=np.eye(6)[:, :1]))
        drawn = {"hinge.q": (-0.5, 0.5), "hinge.v": (-1.0, 1.0)}
        samples = tt.monte_carlo(s.resolve(), drawn, lambda point: {"q": point.q, "v": point.v}, n=8)
        angles, rates = samples.parameters["hinge.q"], samples.parameters["hinge.v"]
        np.testing.assert_allclose(samples.outcomes["q"], np.stack([angles, np.sin(angles)], axis=1), atol=1e-9)  # assembly's
        np.testing.assert_allclose(samples.outcomes["v"], np.stack([rates, rates * np.cos(angles)], axis=1), atol=1e-9)

    def test_given_twice_or_unknown_are_refused(self) -> None:
        with refusal("given-twice", "hinge.q"):
            tt.monte_carlo(self.model(), {"hinge": (0, 1), "hinge.q": (0, 1)}, lambda point: {}, n=1)
        with refusal("unknown-parameter", "did you mean 'hinge.q'"):
            tt.monte_carlo(self.model(), {"hing.q": (0, 1)}, lambda point: {}, n=1)
        with refusal("wrong-type", "point"):
            tt.monte_carlo(self.model(), {}, lambda point: {}, n=1, point=[0.0, 0.0])  # type: ignore[arg-type]
        with refusal("other-model", "pendulum"):
            tt.monte_carlo(self.model(), {}, lambda point: {}, n=1, point=tt.OperatingPoint(spring(), [0.0]))


class TestTies:
    """A tie is exact, a covariance that of the samples."""

    def test_follow_what_is_drawn(self) -> None:
        ties = {
            "rail.stiffness": ("mass.mass", 4.0),
            "rail.damping": lambda values: values["mass.mass"] ** 2,
            "rail.v": "mass.mass",
        }
        samples = tt.monte_carlo(
            spring(),
            {"mass.mass": (1.0, 2.0)},
            lambda p: {n: parameter(p.model, n) for n in THREE} | {"v": p.v},
            n=9,
            ties=ties,
        )
        mass = samples.parameters["mass.mass"]
        assert np.array_equal(samples.outcomes["rail.stiffness"], 4.0 * mass)
        assert np.array_equal(samples.outcomes["rail.damping"], [x**2 for x in mass.tolist()])
        assert np.array_equal(samples.outcomes["v"][:, 0], mass)
        assert [*samples.parameters] == ["mass.mass", *ties]

    def test_normal_by_their_covariance(self) -> None:
        means, covariance = [2.0, 8.0], np.array([[0.01, 0.024], [0.024, 0.09]])
        drawn = {("mass.mass", "rail.stiffness"): stats.multivariate_normal(means, covariance), "rail.damping": (0.1, 0.2)}
        samples = tt.monte_carlo(spring(), drawn, lambda model: {"k": parameter(model, "rail.stiffness")}, n=2000)
        columns = np.array([*samples.parameters.values()][:2])
        assert np.array_equal(samples.outcomes["k"], columns[1])
        np.testing.assert_allclose(columns.mean(axis=1), means, atol=4 * 0.3 / np.sqrt(2000))  # four deviations of a mean
        # relative errors of covariances of 2000 samples: some sqrt(2 / 2000) = 3 %, four times that
        np.testing.assert_allclose(np.cov(columns), covariance, rtol=0.13)

    @pytest.mark.parametrize("shared", [(1.0, 2.0), tt.percent(20), stats.norm(2.0, 0.1), lambda rng: rng.normal()])
    def test_names_in_a_tuple_share_a_number(self, shared: Any) -> None:
        """As in `tt.lft`; of some percent about the first."""
        samples = tt.monte_carlo(spring(), {("rail.stiffness", "rail.damping"): shared}, lambda model: {"x": 0.0}, n=5)
        k, d = samples.parameters.values()
        assert np.array_equal(k, d)
        assert len(set(k)) == 5

    @pytest.mark.parametrize(
        "tie",
        ["nothing", ("mass.mass", "x"), ("mass.mass", 1.0, 2.0), 3.0, lambda values: "heavy"],
        ids=["unknown", "no number", "three", "number", "text"],
    )
    def test_that_are_none_are_refused(self, tie: Any) -> None:
        with refusal("bad-tie", "ties['rail.damping']"):
            tt.monte_carlo(spring(), {"mass.mass": (1.0, 2.0)}, lambda model: {}, n=1, ties={"rail.damping": tie})

    def test_of_what_is_drawn_or_unknown_are_refused(self) -> None:
        with refusal("given-twice", "ties['mass.mass']"):
            tt.monte_carlo(spring(), DISTRIBUTIONS, lambda model: {}, n=1, ties={"mass.mass": "rail.stiffness"})
        with refusal("unknown-parameter", "ties['mass.mas']"):
            tt.monte_carlo(spring(), DISTRIBUTIONS, lambda model: {}, n=1, ties={"mass.mas": "rail.stiffness"})
        with refusal("bad-distribution", "a finite number drawn for all, or 2"):
            tt.monte_carlo(spring(), {("mass.mass", "rail.damping"): lambda rng: [1.0, 2.0, 3.0]}, lambda model: {}, n=1)


class TestSensitivity:
    def test_of_monotone_functions(self) -> None:
        """Ranks of a rising function are those of its argument: correlations are one, and those of columns else."""

        def run(model: tt.Model) -> dict[str, Any]:
            mass = parameter(model, "mass.mass")
            return {"rising": np.exp(3 * mass), "both": [-(mass**3), parameter(model, "rail.stiffness")], "same": 1.0}

        samples = tt.monte_carlo(spring(), DISTRIBUTIONS, run, n=60)
        found = samples.sensitivity("rising")
        assert found.parameters == tuple(DISTRIBUTIONS)
        assert found.rank[0] == pytest.approx(1.0, abs=1e-15)  # rounding of a sum of ranks
        other = stats.rankdata(samples.parameters["rail.stiffness"]) - stats.rankdata(samples.parameters["mass.mass"])
        assert found.rank[1] == pytest.approx(1 - 6 * (other**2).sum() / (60 * (60**2 - 1)), abs=1e-14)  # Spearman's formula
        assert samples.sensitivity("both").rank[:2] == pytest.approx(np.array([[-1, found.rank[1]], [-found.rank[1], 1]]))
        assert np.isnan(samples.sensitivity("same").rank).all()
        assert found.first is None

    def test_of_ishigami(self) -> None:
        """Sobol indices in closed form (a = 7, b = 0.1); 1024 samples find them to some hundredths."""
        a, b = 7.0, 0.1
        drawn = dict.fromkeys(THREE, (4.0 - np.pi, 4.0 + np.pi))
        found = tt.monte_carlo(spring(), drawn, ishigami, n=4).sensitivity("y", sobol=1024)
        variance = a**2 / 8 + b * np.pi**4 / 5 + b**2 * np.pi**8 / 18 + 0.5
        one, crossed = 0.5 * (1 + b * np.pi**4 / 5) ** 2, b**2 * np.pi**8 * (1 / 18 - 1 / 50)
        assert found.first is not None
        np.testing.assert_allclose(found.first, np.array([one, a**2 / 8, 0]) / variance, atol=0.03)
        np.testing.assert_allclose(found.total, np.array([one + crossed, a**2 / 8, crossed]) / variance, atol=0.03)

    def test_of_one_parameter(self) -> None:
        """The whole variance is due to it; Saltelli's estimates differ by their sampling."""
        samples = tt.monte_carlo(spring(), {THREE[0]: (1.0, 2.0)}, ishigami, n=4)
        for outcome in ("y", "pair"):
            found = samples.sensitivity(outcome, sobol=256)
            assert found.first is not None
            assert found.total is not None
            assert found.first.shape == found.total.shape == found.rank.shape
            assert np.ravel(found.first)[0] == pytest.approx(1.0, abs=0.05)
            assert np.ravel(found.total)[0] == pytest.approx(1.0, abs=0.05)

    def test_of_arrays_and_ties(self) -> None:
        samples = tt.monte_carlo(
            spring(), dict.fromkeys(THREE[:2], (1.0, 2.0)), ishigami, n=4, ties={"rail.damping": "mass.mass"}
        )
        found = samples.sensitivity("pair", sobol=64)
        assert found.first is not None
        np.testing.assert_allclose(found.first[:2], np.eye(2), atol=0.1)  # each depends on one alone
        assert np.isnan(found.first[2]).all()

    def test_what_it_cannot_be_told_of_is_refused(self) -> None:
        samples = tt.monte_carlo(spring(), DISTRIBUTIONS, ishigami, n=5)
        with refusal("no-quantiles", "rail.damping"):
            samples.sensitivity("y", sobol=64)
        with refusal("no-function", "called again"):
            pickle.loads(pickle.dumps(samples)).sensitivity("y", sobol=64)
        with refusal("bad-count", "a power of two"):
            samples.sensitivity("y", sobol=100)
        with refusal("unknown-outcome", "did you mean 'y'"):
            samples.sensitivity("yy")
        with refusal("too-few-samples", "2 samples"):
            tt.monte_carlo(spring(), DISTRIBUTIONS, ishigami, n=2).sensitivity("y")

    def test_runs_that_fail_spoil_indices(self) -> None:
        def run(model: tt.Model) -> dict[str, float]:
            return {"y": 1.0 / (parameter(model, "mass.mass") < 1.9)}

        with pytest.warns(tt.ModelWarning, match="division"):
            samples = tt.monte_carlo(spring(), {"mass.mass": (1.0, 2.0)}, run, n=40)
        with refusal("failed-runs", "division"):
            samples.sensitivity("y", sobol=64)


class TestFans:
    """Bode diagrams of a mass on a spring of random stiffness: ``1 / (k - m w^2 + j c w)``."""

    OMEGA = np.geomspace(0.5, 8.0, 40)

    def samples(self) -> tt.Samples:
        def run(model: tt.Model) -> dict[str, Any]:
            m, k, c = (parameter(model, name) for name in THREE)
            response = -1 / (k - m * self.OMEGA**2 + 1j * c * self.OMEGA)
            # a phase that begins at 180 or -180 degrees, by chance
            phase = np.rad2deg(np.angle(response)) + (360 if k > 8 else 0)
            return {
                "gain": np.abs(response),
                "phase": phase,
                "both": np.stack([np.abs(response), 2 * np.abs(response)], axis=1),
            }

        return tt.monte_carlo(spring(), DISTRIBUTIONS, run, n=80)

    def test_bands_are_quantiles(self) -> None:
        samples = self.samples()
        axis = samples.plot("gain", self.OMEGA, log="xy", label="frequency [rad/s]").axes[0]
        assert (axis.get_xscale(), axis.get_yscale(), axis.get_xlabel()) == ("log", "log", "frequency [rad/s]")
        np.testing.assert_array_equal(axis.lines[0].get_ydata(), np.median(samples.outcomes["gain"], axis=0))
        low, high = np.quantile(samples.outcomes["gain"], [0.05, 0.95], axis=0)
        edges = axis.collections[0].get_paths()[0].vertices[:, 1]
        assert set(low.tolist()) | set(high.tolist()) <= set(edges.tolist())
        assert len(samples.plot("both", self.OMEGA).axes[0].lines) == 2

    def test_phases_do_not_jump(self) -> None:
        """All begin where the first one does, and none spreads over more than the half turn of a resonance."""
        samples = self.samples()
        jumping, steady = (samples.plot("phase", self.OMEGA, period=p).axes[0].collections[0] for p in (None, 360.0))
        assert np.ptp(jumping.get_paths()[0].vertices[:, 1]) > 400, "the negative control"
        assert np.ptp(steady.get_paths()[0].vertices[:, 1]) < 181

    def test_what_is_no_curve_is_refused(self) -> None:
        samples = self.samples()
        with refusal("wrong-shape", "ishi"):
            tt.Samples("s", {}, {"ishi": np.zeros(3)}, {}, 0).plot("ishi")
        with refusal("wrong-length", "40 numbers"):
            samples.plot("gain", [1.0])
        with refusal("wrong-length", "40 positive numbers"):
            samples.plot("gain", np.arange(40), log="x")
        with refusal("bad-axes", "xy or nothing"):
            samples.plot("gain", self.OMEGA, log="z")


class TestInterrupted:
    """Ctrl-C in the middle of a study."""

    def study(self, path: Path | None, stop: float, calls: list[float]) -> tt.Samples:
        limit = [stop]  # a list, as of numbers that a run refers to a checkpoint takes note

        def run(model: tt.Model) -> dict[str, float]:
            if len(calls) == limit[0]:
                raise KeyboardInterrupt
            calls.append(parameter(model, "mass.mass"))
            return {"m": calls[-1]}

        return tt.monte_carlo(spring(), DISTRIBUTIONS, run, n=10, checkpoint=path)

    def test_gives_what_was_computed(self, tmp_path: Path) -> None:
        with pytest.raises(tt.SweepInterrupt, match="after 4 of 10 samples") as stopped:
            self.study(None, 4, [])
        assert stopped.value.found.n == 4
        whole = self.study(None, np.inf, [])
        assert np.array_equal(stopped.value.found.outcomes["m"], whole.outcomes["m"][:4])

    def test_goes_on_from_its_checkpoint(self, tmp_path: Path) -> None:
        path, calls = tmp_path / "study", list[float]()
        with pytest.raises(tt.SweepInterrupt):
            self.study(path, 4, calls)
        samples = self.study(path, np.inf, calls)
        assert calls == samples.outcomes["m"].tolist() == samples.parameters["mass.mass"].tolist()

    def test_checkpoints_of_other_studies_are_refused(self, tmp_path: Path) -> None:
        path, calls = tmp_path / "study", list[float]()
        self.study(path, np.inf, calls)
        model = spring()

        def run(model: tt.Model) -> dict[str, float]:
            return {"m": 1.0}

        with refusal("other-sweep", "run"):
            tt.monte_carlo(model, DISTRIBUTIONS, run, n=10, checkpoint=path)
        with refusal("other-sweep", "distributions, seed, run"):
            tt.monte_carlo(model, DISTRIBUTIONS, run, n=10, seed=1, checkpoint=path)
        with refusal("other-sweep", "model"):
            tt.monte_carlo(model.with_parameters({"mass.mass": 3.0}), DISTRIBUTIONS, run, n=10, checkpoint=path)
        with refusal("other-sweep", "another sweep's: monte_carlo"):
            tt.trim_along(model, "rail.tau", [0.0, 1.0], checkpoint=path)
