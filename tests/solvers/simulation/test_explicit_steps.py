"""Runge-Kutta steps, compiled and not, against those of scipy and one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import titop as tt
from tests.solvers.simulation.driven_systems import (
    closed_loop,
    controller,
    gears,
    motorised,
    plant_at_a_state,
    rigid_tree,
    swing,
    swinging,
    with_interactions,
)
from tests.systems import Array
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.explicit_steps import RungeKutta

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


@pytest.mark.parametrize("method", ["DOP853", "RK45", "RK23"])
def test_steps_are_scipys(method: str) -> None:
    """The same coefficients and step control: as many steps, to the same states."""
    s, names = rigid_tree()
    plant, y = plant_at_a_state(s, names, "compiled")
    q, v = plant.split(0.2, y)
    t, tau, wrench = np.linspace(0.2, 1.2, 6), plant.efforts(0.2, q, v), plant.constant
    run = tt.simulate(
        plant.model, t, q, v, tau, wrench, dict.fromkeys(names, swing), method=method, rtol=1e-6, atol=1e-8, progress=False
    )

    def rate(t: float, y: Array) -> Array:
        return plant.rate(t, y)

    expected = solve_ivp(rate, (0.2, 1.2), y, method, t, dense_output=True, rtol=1e-6, atol=1e-8)
    # states with unit quaternions, and motions put where they belong, step differently by the tolerance of a step
    reached = np.array([plant.split(time, state)[0] for time, state in zip(t, expected.y.T, strict=True)])
    assert np.abs(run.q - reached).max() < 1e-5
    assert abs(run.statistics["steps"] - (len(expected.sol.ts) - 1)) <= 1


def never(t: float, q: Array, v: Array) -> float:
    """Return what an event that never happens looks at."""
    return 1.0


@pytest.mark.parametrize("system", [closed_loop, gears])
def test_many_steps_at_once_are_those_one_by_one(system: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit where an event is watched for, or Python asked at each stage; to rounding where Python does all."""
    model, q, v = swinging(system)
    given: dict[str, Any] = {"t": np.linspace(0, 0.5, 4), "q0": q, "v0": v, "progress": False}
    at_once = tt.simulate(model, **given)
    watched = tt.simulate(model, **given, events=tt.Event(never))
    assert np.array_equal(at_once.q, watched.q)
    assert np.array_equal(at_once.v, watched.v)
    assert at_once.statistics["steps"] == watched.statistics["steps"] > 5
    asked = tt.simulate(model, **given, tau=lambda t, q, v: np.zeros(model.nv))
    assert np.array_equal(at_once.q, asked.q)
    assert asked.statistics["evaluations"] == at_once.statistics["evaluations"]
    monkeypatch.setattr(DrivenModel, "has_stages", False)
    in_python = tt.simulate(model, **given)
    assert in_python.statistics["steps"] == at_once.statistics["steps"]
    # states are put on the closures to 1e-13 by both, whose last Newton step may differ by as much
    assert np.abs(in_python.q - at_once.q).max() < 1e-10


def piece_by_piece(model: tt.Model, q: Array, v: Array, delay: float) -> Array:
    """Return the configuration after three samples of the controller of the test below, each piece a simulation of its own."""
    push, period = np.zeros(model.nv), 0.03
    for _ in range(3):
        later = np.eye(model.nv)[0] * -0.5 * v[0]
        for length, effort in ((delay, push), (period - delay, later)):
            run = tt.simulate(model, [0.0, length], q, v, effort, progress=False)
            q, v = run.q[-1], run.v[-1]
        push = later
    return q


@pytest.mark.parametrize("system", [with_interactions, closed_loop, gears])
def test_steps_go_on_across_samples(system: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One integrator for all samples and delays; the motion is that of integrators that begin anew."""
    model, q, v = swinging(system)
    expected, other = piece_by_piece(model, q, v, 0.01), piece_by_piece(model, q, v, 0.02)
    name, begun, begin = model.coordinate_names[0], [], RungeKutta.__init__

    def counted(self: Any, *arguments: Any, **options: Any) -> None:
        begun.append(1)
        begin(self, *arguments, **options)

    monkeypatch.setattr(RungeKutta, "__init__", counted)
    pushes = tt.Controller(lambda t, x, y, r: (x, -0.5 * y), [], [f"{name}.v"], [name], 0.03)
    for method in ("DOP853", "RK45", "RK23"):
        begun.clear()
        run = tt.simulate(model, [0.0, 0.05, 0.09], q, v, controller=pushes, delay=0.01, method=method, progress=False)
        assert len(begun) == 1
        assert np.abs(run.q[-1] - expected).max() < 1e-6  # 1e-8 a step, some hundred of the lowest order
    assert np.abs(other - expected).max() > 1e-6  # the negative control


def test_steps_between_samples_are_of_one_length() -> None:
    """Samples that come faster than the motion changes cost a step each, none of them cut to pieces."""
    model, t = motorised(False), np.linspace(0, 1, 3)
    given: dict[str, Any] = {"controller": controller(), "sample_time": 1e-3, "progress": False}
    run = tt.simulate(model, t, [0.4, 0.1], [0.0, 0.0], **given)
    assert run.statistics["steps"] <= 1010  # and those at the beginning, which grow to a sample
    assert run.statistics["evaluations"] < 12.2 * 1010
