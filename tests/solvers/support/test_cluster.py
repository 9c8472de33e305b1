"""A dask cluster of two local processes, one of which is killed: nothing is lost, and all bits are those of one process."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from titop.solvers.support import workers

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.long


@pytest.fixture
def cluster() -> Iterator[Executor]:
    """Return the executor of two processes, which a nanny starts again when they die."""
    import dask

    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    never = {"distributed.scheduler.allowed-failures": 0}  # dask tries nothing again: titop does
    with dask.config.set(never), distributed.LocalCluster(**settings) as local, distributed.Client(local) as client:
        yield client.get_executor()


def pendulum() -> tt.Model:
    s = tt.System("pendulum", gravity=[0, 0, -9.81])
    bob = tt.RigidBody("bob", mass=2.0, com=[0, 0, -1], inertia=0.1)
    s.connect("world", bob, joint=tt.Revolute("hinge", axis=[0, 1, 0], damping=0.1))
    return s.resolve()


def test_samples_with_a_process_killed(cluster: Executor, tmp_path: Path) -> None:
    fatal = tmp_path / "killed"

    def run(model: tt.Model, seed: int) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        return {"a": model.forward_dynamics([rng.uniform()], [0.0])[0], "pid": os.getpid()}

    def killing(model: tt.Model, seed: int) -> dict[str, Any]:
        if not fatal.exists():
            fatal.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return run(model, seed)

    drawn = {"bob.mass": (1.0, 3.0), "hinge.damping": tt.percent(20)}
    here = tt.monte_carlo(pendulum(), drawn, run, n=40)
    there = tt.monte_carlo(pendulum(), drawn, killing, n=40, workers=cluster)
    assert fatal.exists()
    assert not there.failures
    assert np.array_equal(here.outcomes["a"], there.outcomes["a"])
    assert os.getpid() not in there.outcomes["pid"]


def test_a_cluster_that_loses_all_processes_is_refused(
    cluster: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are retired in the midst of a sweep; without the cluster it goes on from its file to the same bits."""
    monkeypatch.setattr(workers, "_SILENCE", 0.5)
    begun = tmp_path / "begun"

    def run(model: tt.Model, seed: int) -> dict[str, Any]:
        begun.touch()
        time.sleep(0.2)
        return {"a": model.forward_dynamics([np.random.default_rng(seed).uniform()], [0.0])[0]}

    def end() -> None:
        while not begun.exists():
            time.sleep(0.05)
        cluster._client.cluster.scale(0)  # type: ignore[attr-defined]

    sweep = {"distributions": {"bob.mass": (1.0, 3.0)}, "run": run, "n": 40, "checkpoint": tmp_path / "file"}
    ending = threading.Thread(target=end)
    ending.start()
    with refusal("worker-died", "tasks not answered"):
        tt.monte_carlo(pendulum(), **sweep, workers=cluster)
    ending.join()
    monkeypatch.setattr(time, "sleep", lambda _: None)
    found, expected = (tt.monte_carlo(pendulum(), **(sweep | more)) for more in ({}, {"checkpoint": None}))
    assert np.array_equal(found.outcomes["a"], expected.outcomes["a"])


#: Just one of the first twelve samples is heavier.
HEAVY = 2.885


def test_a_task_that_always_kills_is_named(cluster: Executor) -> None:
    def run(model: tt.Model) -> dict[str, float]:
        mass = model.parameters()["bob.mass"][0]
        if mass > HEAVY:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"mass": mass}

    with pytest.warns(tt.ModelWarning, match="KilledWorker"):
        samples = tt.monte_carlo(pendulum(), {"bob.mass": (1.0, 3.0)}, run, which=range(12), workers=cluster)
    heavy = samples.parameters["bob.mass"] > HEAVY
    assert sorted(samples.failures) == np.flatnonzero(heavy).tolist() != []
    assert np.array_equal(samples.values("mass"), samples.parameters["bob.mass"][~heavy])


def test_families_branches_and_bounds(cluster: Executor) -> None:
    model = pendulum()
    grid = {"bob.mass": [1.0, 2.0, 3.0], "hinge.q": np.linspace(0, 1, 30)}
    here, there = (tt.lpv(model, grid, unknowns=["hinge.tau"], inputs=["hinge"], workers=w) for w in (1, cluster))
    assert all(np.array_equal(getattr(here, name), getattr(there, name)) for name in ("A", "B", "C", "D", "tau", "valid"))
    one, other = (tt.trim_along(model, "hinge.tau", [0.0, 15.0], steps=50, workers=w) for w in (1, cluster))
    assert [point.q.tolist() for point in one] == [point.q.tolist() for point in other]
    family = tt.lft(model, [0.0], {"bob.mass": tt.percent(20), "hinge.damping": tt.percent(50)}, ["hinge"], ["hinge.q"])
    bounds = [tt.mu(family, np.geomspace(0.1, 10, 6), workers=w) for w in (1, cluster)]
    assert all(np.array_equal(getattr(bounds[0], name), getattr(bounds[1], name)) for name in ("upper", "lower", "shares"))
