"""Simulations that their own bounds make endless, or what switches all the time, are told of."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.solvers.simulation import pace
from titop.solvers.simulation.pace import Chatter, Pace


def falling() -> tt.Model:
    s = tt.System("drop")
    s.connect("world", tt.RigidBody("stone", mass=1.0), tt.Prismatic("fall"))
    return s.resolve()


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_step": 1e-9},
        pytest.param({"max_step": 1e-9, "method": "BDF"}, marks=pytest.mark.long),
        pytest.param({"max_step": 1e-9, "events": tt.Event(lambda t, q, v: 1.0, name="never")}, marks=pytest.mark.long),
        pytest.param({"method": tt.GeneralizedAlpha(step=1e-9)}, marks=pytest.mark.long),
    ],
    ids=["compiled", "BDF", "stepwise", "fixed"],
)
def test_a_step_that_makes_a_simulation_endless(arguments: dict[str, Any]) -> None:
    """10 s in steps of 1 ns are 1e10 steps; told after a second, and the simulation goes on until it is interrupted."""
    model = falling()
    tt.simulate(model, [0.0, 1e-8], [0.0], [0.0], tau=lambda t, q, v: [0.0], **arguments)  # compiles
    endless = {"tau": _stop_after(4.0), **arguments}
    said = r"which asks for 1e\+10 steps over 10 s.*many-steps"
    with pytest.warns(tt.ModelWarning, match=said) as caught, pytest.raises(RuntimeError, match="stop"):
        tt.simulate(model, [0.0, 10.0], [0.0], [0.0], **endless)
    assert any(str(w.message).startswith(("max_step: got", "step: got")) for w in caught)


def _stop_after(seconds: float) -> Any:
    """Return efforts of zero that end a simulation so long after they were first asked for."""
    asked: list[float] = []

    def tau(t: float, q: Any, v: Any) -> list[float]:
        asked.append(time.perf_counter())
        if asked[-1] > asked[0] + seconds:
            raise RuntimeError("stop")
        return [0.0]

    return tau


class Sticky(tt.Interaction):
    """Pushes back across a plane from both sides: what comes there stays, as dry friction holds it, and switches endlessly."""

    def wrenches(self, R: Any, r: Any, V1: Any, V2: Any) -> Any:
        push = np.array([-1.0 if np.real(r[0]) > 0 else 1.0, 0, 0]) + 0 * r - V2[:3]
        return np.concatenate([-push, np.zeros(3)]), np.concatenate([R.T @ push, np.zeros(3)])

    def energy(self, R: Any, r: Any) -> Any:
        return np.sign(np.real(r[0])) * r[0]

    def gaps(self, motion: tt.TargetMotion) -> Any:
        return np.array([motion.r[1][0]])


@pytest.mark.long
def test_what_switches_all_the_time_is_told_by_name() -> None:
    s = tt.System("sticky", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 1.0), tt.Prismatic("x", axis=[1, 0, 0]))
    s.close_loop("world", s["mass"], Sticky("plane"))
    model = s.resolve()
    tt.simulate(model, [0.0, 1.0], [-1e-3], [0.0], tau=lambda t, q, v: [0.0])  # compiles
    stop, said = _stop_after(8.0), r"plane\.gaps: got \d+ switches in .*at this rate the simulation takes .*chattering"
    with pytest.warns(tt.ModelWarning, match=said), pytest.raises(RuntimeError, match="stop"):
        tt.simulate(model, [0.0, 1e6], [-1e-3], [0.0], tau=stop)


def test_what_switches_now_and_then_needs_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative controls: many steps between, few seconds left, nothing, a few that switch; then one that is told."""
    cases = [(100, 4000, 1e-3, 0), (100, 200, 0.5, 0), (0, 200, 1e-3, 0), (10, 20, 1e-3, 0), (100, 200, 1e-3, 1)]
    for switches, steps, reached, told in cases:
        clock = iter([0.1, 1.2])
        monkeypatch.setattr(time, "perf_counter", lambda clock=clock: next(clock))
        watch = Chatter(["a", "b"], 1.0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            watch.look(0.0, np.zeros(2), lambda: 0)
            watch.look(reached, np.array([0, switches]), lambda steps=steps: steps)
        assert [str(w.message).startswith(f"b.gaps: got {switches} switches in 0.001 s") for w in caught] == [True] * told


def test_quick_simulations_need_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: so many steps are made in a moment, and a slow simulation that nothing bounds is left alone."""
    clock = iter([0.1, 1.2, 0.1, 1.2, 0.1, 1.2])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    for reached, bounds in ((0.5, {"max_step": 1e-9}), (1e-9, {}), (1e-9, {"max_step": float("inf")})):
        watch = Pace(0.0, 1.0, bounds)
        for t in (0.0, reached):
            watch.look(t, lambda t=t, span=reached: 1e6 * t / span)


@pytest.mark.parametrize(("steps", "binds"), [(1000, True), (1900, True), (2100, False), (10**6, False)])
def test_a_bound_is_blamed_where_steps_come_near_it(steps: int, binds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """1 ms in steps of 1 us at most, of 1 s: an hour of which only steps of about that length are to be told."""
    clock, made = iter([0.1, 3.7]), iter([5, 5 + steps])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    watch = Pace(0.0, 1.0, {"max_step": 1e-6})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for t in (1e-9, 1e-9 + 1e-3):
            watch.look(t, lambda: next(made))
    assert [str(w.message).startswith("max_step: got") for w in caught] == [True] * binds


@pytest.mark.parametrize("arguments", [{"events": tt.Event(lambda t, q, v: 1.0, name="never")}, {"tau": lambda t, q, v: [0.0]}])
def test_looks_are_told_how_many_steps_were_made(arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[float] = []
    monkeypatch.setattr(Pace, "look", lambda self, t, steps: counts.append(steps()))
    run = tt.simulate(falling(), [0.0, 1.0], [0.0], [0.0], max_step=0.01, **arguments)
    assert counts == sorted(counts)
    assert counts[-1] == pytest.approx(run.statistics["steps"], abs=1)
    assert counts[-1] >= 99


@pytest.mark.parametrize(
    ("seconds", "words"), [(90.0, "1.5 minutes"), (9000.0, "2.5 hours"), (1e6, "12 days"), (1e9, "32 years")]
)
def test_durations(seconds: float, words: str) -> None:
    assert pace._duration(seconds) == f"about {words}"
