"""Monte Carlo studies of simulations: many at once, with the bits of each alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt

T = np.linspace(0, 1, 6)
DRAWN = {"mass.mass": (1.5, 2.5), "rail.stiffness": (6.0, 10.0)}


def spring() -> tt.Model:
    s = tt.System("spring", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", mass=2.0), tt.Prismatic("rail", axis=[1, 0, 0], stiffness=8.0, damping=0.2))
    return s.resolve()


def outcome(trajectory: tt.Trajectory) -> dict[str, Any]:
    return {"end": trajectory.q[-1, 0], "path": trajectory.q[:, 0]}


def loop() -> dict[str, Any]:
    return {"controller": tt.Controller(lambda t, x, y, r: (x, -3 * y), [], ["rail.q"], ["rail.tau"], 0.05), "noise": 0.05}


def alone(at: Any, seed: int) -> dict[str, Any]:
    """Simulate one sample, from one metre or the state that was drawn."""
    model, q0, v0 = (at, [1.0], [0.0]) if isinstance(at, tt.Model) else (at.model, at.q, at.v)
    return outcome(tt.simulate(model, T, q0, v0, **loop(), seed=seed))


@pytest.mark.parametrize("states", [False, True])
def test_a_run_has_the_bits_of_single_simulations(states: bool) -> None:
    drawn, begin = (DRAWN | {"rail.q": (0.5, 1.5)}, ()) if states else (DRAWN, ([1.0], [0.0]))
    run = tt.Run(T, *begin, outcome=outcome, **loop())
    singly = tt.monte_carlo(spring(), drawn, alone, n=11, seed=3)
    for workers, which in ((1, range(11)), (2, range(11)), (1, range(4, 9))):
        study = tt.monte_carlo(spring(), drawn, run, which=which, seed=3, workers=workers)
        assert all(np.array_equal(study.outcomes[name], singly.outcomes[name][which]) for name in ("end", "path"))
    other = tt.monte_carlo(spring(), drawn, run, n=11, seed=4)
    assert not np.array_equal(other.outcomes["end"], singly.outcomes["end"])  # negative control


def test_a_checkpoint_keeps_samples_one_by_one(tmp_path: Path) -> None:
    told: list[float] = []

    def telling(trajectory: tt.Trajectory) -> dict[str, Any]:
        told.append(trajectory.q[0, 0])
        return outcome(trajectory)

    run = tt.Run(T, [1.0], [0.0], outcome=telling, **loop())
    tt.monte_carlo(spring(), DRAWN, run, which=range(2, 6), checkpoint=tmp_path / "study")
    assert len(told) == 4
    whole = tt.monte_carlo(spring(), DRAWN, run, n=9, checkpoint=tmp_path / "study")
    assert len(told) == 9
    assert np.array_equal(whole.outcomes["path"], tt.monte_carlo(spring(), DRAWN, run, n=9).outcomes["path"])
    with pytest.raises(tt.ModelError, match="of another run"):
        tt.monte_carlo(spring(), DRAWN, tt.Run(T, [2.0], [0.0], outcome=telling), n=9, checkpoint=tmp_path / "study")


def test_failures_are_those_of_samples() -> None:
    def failing(trajectory: tt.Trajectory) -> dict[str, Any]:
        if trajectory.model.parameters()["mass.mass"][0] > 2.0:
            raise RuntimeError("too heavy")
        return outcome(trajectory)

    with pytest.warns(tt.ModelWarning, match="failed-runs"):
        study = tt.monte_carlo(spring(), DRAWN, tt.Run(T, [1.0], [0.0], outcome=failing), n=8)
    heavy = np.flatnonzero(study.parameters["mass.mass"] > 2.0).tolist()
    assert list(study.failures) == heavy
    assert 0 < len(heavy) < 8
    assert set(study.failures.values()) == {"RuntimeError: too heavy"}


def test_a_sample_that_kills_its_process_takes_no_other_with_it() -> None:
    worst = tt.monte_carlo(spring(), DRAWN, tt.Run(T, [1.0], [0.0], outcome=outcome), n=8).outcomes["end"].argmax()
    mass = tt.monte_carlo(spring(), DRAWN, lambda m: {}, n=8).parameters["mass.mass"][worst]

    def killing(trajectory: tt.Trajectory) -> dict[str, Any]:
        if trajectory.model.parameters()["mass.mass"][0] == mass:
            os._exit(3)
        return outcome(trajectory)

    with pytest.warns(tt.ModelWarning, match="failed-runs"):
        study = tt.monte_carlo(spring(), DRAWN, tt.Run(T, [1.0], [0.0], outcome=killing), n=8, workers=2)
    assert list(study.failures) == [worst]
    assert not np.isnan(np.delete(study.outcomes["end"], worst)).any()


def test_groups_that_die_leave_sobol_indices_as_they_are() -> None:
    class Dying:
        def __call__(self, model: tt.Model, seed: int) -> dict[str, Any]:
            known = model.parameters()
            return {"sum": known["mass.mass"][0] + 2.0 * known["rail.stiffness"][0]}

        def of_many(self, models: list[tt.Model], seeds: list[int]) -> list[Any]:
            if len(models) > 1 and any(model.parameters()["mass.mass"][0] > 2.4 for model in models):
                os._exit(3)  # its samples are run one by one, after those of other groups
            return [self(model, seed) for model, seed in zip(models, seeds, strict=True)]

    def indices(run: Any, workers: int) -> Any:
        study = tt.monte_carlo(spring(), DRAWN, run, n=4, workers=workers)
        return study.sensitivity("sum", sobol=8).first

    assert np.array_equal(indices(Dying(), 2), indices(lambda model, seed: Dying()(model, seed), 1))


def test_the_loads_of_a_point_act() -> None:
    model = spring()
    point = tt.OperatingPoint(model, [0.5], tau=[4.0])  # where the spring's 8 N/m are held
    study = tt.monte_carlo(model, {"mass.mass": (1.0, 2.0)}, tt.Run(T, outcome=outcome), n=3, point=point)
    assert study.outcomes["path"] == pytest.approx(np.full((3, 6), 0.5), abs=1e-12)  # at rest, but for rounding
    other = tt.monte_carlo(model, {"mass.mass": (1.0, 2.0)}, tt.Run(T, outcome=outcome, tau=[0.0]), n=3, point=point)
    assert (np.abs(other.outcomes["end"] - 0.5) > 0.1).all()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"rtoll": 1e-6}, "unknown-argument"),
        ({"seeds": [1, 2]}, "unknown-argument"),
        ({"parameters": {"mass.mass": 1.0}}, "unknown-argument"),
        ({"tau": tt.each([[0.0], [1.0]])}, "wrong-type"),
        ({"u": {"motor": [0.0, 1.0]}}, "wrong-type"),
        ({"outcome": None}, "wrong-type"),
        ({"outcome": 3}, "wrong-type"),
    ],
)
def test_wrong_runs_are_refused(arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(tt.ModelError) as refused:
        tt.Run(T, [1.0], [0.0], **({"outcome": outcome} | arguments))
    assert refused.value.code == code
    with pytest.raises(tt.ModelError, match="one for all samples"):
        tt.Run(T, [[1.0], [2.0]], [0.0], outcome=outcome)


def test_states_that_are_drawn_are_not_given_twice() -> None:
    with pytest.warns(tt.ModelWarning, match="given-twice"):
        study = tt.monte_carlo(spring(), {"rail.q": (0.0, 1.0)}, tt.Run(T, [1.0], [0.0], outcome=outcome), n=2)
    assert len(study.failures) == 2
