"""Simulations that their own bounds make endless, or what switches all the time, are told of."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.solvers.simulation import monitor
from titop.solvers.simulation.monitor import Chatter, Pace


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
    assert monitor._duration(seconds) == f"about {words}"


# -- explicit steps that stiffness bounds: told by the coordinate, and no others


def cart(damping: float) -> tt.Model:
    """Return a pendulum on a cart that a strong damper holds: 2e4 1/s beside some 1/s."""
    s = tt.System("cart", gravity=[0, 0, -9.81])
    base = tt.RigidBody("base", 1.0)
    s.connect("world", base, tt.Prismatic("rail", axis=[1, 0, 0], stiffness=1.0, damping=damping))
    s.connect(base, tt.RigidBody("bob", 1e-3, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    return s.resolve()


def run(model: tt.Model, method: str, **others: Any) -> list[str]:
    """Return what is said of stiffness, looked for at once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        times = np.linspace(0, 0.05, 3)
        tt.simulate(model, times, [0.0, 1.0], [0.0, 0.0], method=method, rtol=1e-3, atol=1e-6, **others)
    return [str(each.message) for each in caught if "stiff" in str(each.message)]


class LateWatch(monitor.StiffnessWatch):
    """Looks after 120 steps: the first are shorter than stability asks for."""

    least = 120

    def look(self, t: float, y: Any, steps: int, pieces: int = 1) -> None:
        if steps >= self.least:
            super().look(t, y, steps, pieces)


@pytest.fixture
def early_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "_LOOK_AFTER", 0.0)
    monkeypatch.setattr(monitor, "StiffnessWatch", LateWatch)


@pytest.mark.usefixtures("early_look")
@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
@pytest.mark.parametrize("act", [None, lambda t, q, v: np.zeros(2)], ids=["plain", "driven"])
def test_it_names_the_coordinate_once(method: str, act: Any) -> None:
    (said,) = run(cart(2e4), method, tau=act)
    assert "for rail (" in said
    assert said.split("; ")[-1].startswith('take "Radau", or "BDF"')


@pytest.mark.usefixtures("early_look")
def test_what_suits_is_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `which_integrator.md` has it: no multistep methods for vibrations, under sampled controllers and with closed loops."""
    s = tt.System("spring", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("base", 1.0), tt.Prismatic("rail", axis=[1, 0, 0], stiffness=4e8, damping=1e2))
    s.connect(s["base"], tt.RigidBody("bob", 1e-3, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    quiet = tt.Controller(lambda t, x, y, r: (x, np.zeros(1)), [], ["hinge.q"], ["hinge.tau"], 0.012)
    oscillating = run(s.resolve(), "DOP853")
    monkeypatch.setattr(LateWatch, "least", 300)  # in the second sample
    creeping, advice = run(cart(1e5), "DOP853", controller=quiet), 'take "Radau", or "exponential" if vibrations matter ['
    for (said,), expected in ((oscillating, advice), (creeping, 'take "Radau" [')):
        assert said.split("; ")[-1].startswith(expected)


@pytest.mark.usefixtures("early_look")
@pytest.mark.parametrize(("sample_time", "told"), [(2e-5, False), (1e-3, False), (5e-2, True)])
def test_steps_that_a_controller_cuts_tell_nothing(sample_time: float, told: bool) -> None:
    """At 2e5 1/s stability asks for steps of 3e-5 s: of a sample's 31 all together take less than two of an implicit method."""
    quiet = tt.Controller(lambda t, x, y, r: (x, np.zeros(1)), [], ["hinge.q"], ["hinge.tau"], sample_time)
    assert bool(run(cart(2e5), "DOP853", controller=quiet)) is told


@pytest.mark.usefixtures("early_look")
@pytest.mark.parametrize(("max_step", "told"), [(3e-4, False), (1.0, True)])
def test_steps_that_may_be_no_longer_tell_nothing(max_step: float, told: bool) -> None:
    assert bool(run(cart(2e4), "DOP853", max_step=max_step)) is told


def test_its_rate() -> None:
    """``damping / mass`` to the bob's part of the mass, a thousandth, and the spring's."""
    model = cart(2e4)
    plant = monitor.DrivenModel(model, np.array([0.0, 1.0]), None, {}, tt_motion(model), None, None)
    rate, name, creeps = monitor.fastest_motion(plant, 0.0, np.array([0.0, 0.0, 0.0, 0.0]))
    assert (name, creeps) == ("rail", True)
    assert rate == pytest.approx(2e4, rel=2e-3)


def tt_motion(model: tt.Model) -> Any:
    """Return no prescribed motion."""
    from titop.solvers.motions.prescribed import PrescribedMotion

    return PrescribedMotion(model, {}, (0.0, 1.0))


@pytest.mark.usefixtures("early_look")
def test_soft_and_implicit_ones_are_left_alone() -> None:
    assert run(cart(1.0), "RK45", max_step=5e-4) == []
    assert run(cart(2e4), "BDF") == []
