"""Events: when they are found, and what is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.simulation.simulated_models import largest, slider
from tests.systems import Array
from tests.tolerances import TIGHT
from titop.solvers.simulation import steppers


def oscillator(events: Any, tau: Any = None, end: float = 10.0) -> tt.Trajectory:
    """Return ``q = cos t`` with some events."""
    return tt.simulate(slider(1.0, stiffness=1.0), np.linspace(0, end, 21), [1.0], [0.0], tau, events=events, **TIGHT)


@pytest.mark.parametrize("tau", [None, lambda t, q, v: [0.0]], ids=["compiled", "python"])
@pytest.mark.parametrize(("direction", "first", "period"), [(0, 0.5, 1.0), (-1, 0.5, 2.0), (1, 1.5, 2.0)])
def test_events(direction: int, first: float, period: float, tau: Any) -> None:
    times = np.pi * np.arange(first, 10 / np.pi, period)
    through_zero = {"function": lambda t, q, v: q[0], "name": "zero", "direction": direction}
    passing = oscillator(tt.Event(**through_zero, terminal=False), tau)
    assert passing.events["zero"] == pytest.approx(times, abs=1e-8)
    assert len(passing.t) == 21
    ended = oscillator(tt.Event(**through_zero), tau)
    assert ended.events["zero"] == pytest.approx(times[:1], abs=1e-8)
    assert ended.t[-1] == ended.events["zero"][0]
    assert np.array_equal(ended.t[:-1], passing.t[passing.t < ended.t[-1]])
    assert largest(ended.q[:, 0] - np.cos(ended.t)) < 1e-8
    assert largest(ended.a + ended.q) < 1e-12  # accelerations belong to the last state too


def test_several_events() -> None:
    never = tt.Event(lambda t, q, v: q[0] - 2, "never")
    late = tt.Event(lambda t, q, v: t - 8, "late")
    fast = tt.Event(lambda t, q, v: v[0] - 0.5, "fast", terminal=False)
    trajectory = oscillator([never, late, fast])
    assert trajectory.t[-1] == pytest.approx(8, abs=1e-9)
    assert len(trajectory.events["never"]) == 0
    assert trajectory.events["fast"] == pytest.approx(np.pi * np.array([7 / 6, 11 / 6]), abs=1e-8)


def in_flight(events: Any, **given: Any) -> tt.Trajectory:
    """Return a fall from rest with some events: ``q = -g t^2 / 2``."""
    s = tt.System("drop", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("stone", mass=1.0), tt.Prismatic("z"))
    return tt.simulate(s.resolve(), np.linspace(0, 1, 11), [0.0], [0.0], events=events, progress=False, **given)


FALLEN = np.sqrt(2 / 9.81)
RISING = [lambda t, q, v: q[0] < -1, lambda t, q, v: max(0.0, -1 - q[0]), lambda t, q, v: -1 - q[0]]


@pytest.mark.parametrize("method", ["DOP853", "Radau", "exponential", "generalized-alpha"])
@pytest.mark.parametrize("function", RISING, ids=["comparison", "zero before", "number"])
def test_events_that_are_zero_before_they_rise(function: Any, method: str) -> None:
    """A metre of fall, seen by a comparison, the depth below it, and a number that changes its sign."""
    for direction, sign in ((1, 1), (-1, -1), (0, 1)):
        event = tt.Event(lambda t, q, v, sign=sign: sign * function(t, q, v), direction=direction)
        assert in_flight(event, method=method).events["event"] == pytest.approx([FALLEN], abs=1e-7)
        assert len(in_flight(tt.Event(event.function, direction=-sign), method=method).events["event"]) == 0


def test_zeros_that_last_count_at_both_ends_and_passages_once() -> None:
    """``cos t``: beyond 0.5 a comparison is true; with a dead band it is zero for a while, but passes once."""

    def band(t: float, q: Array, v: Array) -> float:
        return float(q[0] - np.clip(q[0], -0.5, 0.5))

    times = np.pi * np.array([1 / 3, 2 / 3, 4 / 3, 5 / 3, 7 / 3, 8 / 3])
    watched = {
        "both": tt.Event(lambda t, q, v: abs(q[0]) > 0.5, "both", terminal=False),
        "begins": tt.Event(lambda t, q, v: abs(q[0]) > 0.5, "begins", terminal=False, direction=1),
        "band": tt.Event(band, "band", terminal=False),
        "band falls": tt.Event(band, "band falls", terminal=False, direction=-1),
    }
    found = oscillator(list(watched.values())).events
    assert found["both"] == pytest.approx(times, abs=1e-8)
    assert found["begins"] == pytest.approx(times[1::2], abs=1e-8)
    assert found["band"] == pytest.approx(times[::2], abs=1e-8)
    assert found["band falls"] == pytest.approx(times[::4], abs=1e-8)


@pytest.mark.parametrize("sample_time", [1.0, 0.01])
def test_zeros_last_across_samples(sample_time: float) -> None:
    """Samples cut the time into pieces shorter than what is looked at otherwise."""
    still = tt.Controller(lambda t, x, y, r: (x, [0.0]), [], ["z.q"], ["z"], sample_time)
    event = tt.Event(RISING[0], direction=1)
    assert in_flight(event, controller=still).events["event"] == pytest.approx([FALLEN], abs=1e-8)


@pytest.mark.parametrize(("q0", "function"), [(0.0, lambda t, q, v: q[0]), (1.0, lambda t, q, v: q[0] - 1.0)])
def test_what_leaves_zero_at_the_start_is_no_event(q0: float, function: Any) -> None:
    """As when one goes on from an event: a microgravity of 1e-6 m/s^2 moves nothing of order one for 15 microseconds."""
    s = tt.System("drop", gravity=[0, 0, -1e-6])
    s.connect("world", tt.RigidBody("stone", mass=1.0), tt.Prismatic("z"))
    run = tt.simulate(s.resolve(), np.linspace(0, 100, 11), [q0], [0.0], events=tt.Event(function), progress=False)
    assert len(run.events["event"]) == 0
    assert run.t[-1] == 100


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]])
def test_all_events_of_the_instant_of_a_terminal_one_are_found(order: list[int]) -> None:
    events = [
        tt.Event(lambda t, q, v: q[0] + 1, "stop"),
        tt.Event(lambda t, q, v: q[0] + 1, "seen", terminal=False),
        tt.Event(lambda t, q, v: 3 * (-1 - q[0]), "also"),
        tt.Event(lambda t, q, v: q[0] + 1.1, "later", terminal=False),
    ]
    run = in_flight([events[k] for k in order])
    for name in ("stop", "seen", "also"):
        assert run.events[name] == pytest.approx([FALLEN], abs=1e-8)
        assert run.events[name][0] <= run.t[-1]
    assert len(run.events["later"]) == 0


def test_events_of_one_name_are_refused() -> None:
    """One would hide the other's times."""
    twice = [tt.Event(lambda t, q, v: t - 0.2, terminal=False), tt.Event(lambda t, q, v: t - 0.4, terminal=False)]
    with pytest.raises(tt.ModelError, match="duplicate-name"):
        tt.simulate(slider(), [0, 1], [0.0], [0.0], events=twice)


def test_events_that_return_no_number_are_refused() -> None:
    with pytest.raises(tt.ModelError, match="return a float"):
        tt.simulate(slider(), [0, 1], [0.0], [0.0], events=tt.Event(lambda t, q, v: None))


@pytest.mark.parametrize("method", ["DOP853", "Radau", "exponential", "generalized-alpha"])
def test_events_that_are_not_a_number_are_refused(method: str) -> None:
    """A comparison with NaN is never true: the event would be missed."""
    root = tt.Event(lambda t, q, v: np.sqrt(np.float64(0.47 - t)), name="root")
    with pytest.raises(tt.ModelError, match=r"event 'root' at t = .*not-finite"), np.errstate(invalid="ignore"):
        tt.simulate(slider(), [0, 1], [0.0], [1.0], events=root, method=method)


def crossings(method: str, times: np.ndarray) -> int:
    """Return how often ``cos t`` is found to pass 0.99 in 100 s: at both ends of some 0.28 s in a period."""
    gate = tt.Event(lambda t, q, v: q[0] - 0.99, "gate", terminal=False)
    given = {"method": method, "rtol": 1e-6, "atol": 1e-8}
    trajectory = tt.simulate(slider(1.0, stiffness=1.0), times, [1.0], [0.0], events=gate, **given)
    return len(trajectory.events["gate"])


@pytest.mark.parametrize("method", ["DOP853", "RK45", "RK23", "Radau", "LSODA", "BDF", "exponential"])
def test_events_that_begin_and_end_within_a_step_are_found(method: str) -> None:
    assert crossings(method, np.array([0.0, 100.0])) == 31  # once at the start, twice a period


def test_they_are_missed_where_nobody_looks_within_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: steps of a second are too long for what lasts a quarter; output times find it again."""
    monkeypatch.setattr(steppers, "PARTS", 1)
    assert crossings("DOP853", np.array([0.0, 100.0])) < 31
    assert crossings("DOP853", np.linspace(0, 100, 1001)) == 31


def test_systems_in_which_nothing_moves_have_none() -> None:
    s = tt.System("fixed")
    s.connect("world", tt.RigidBody("p", 1.0), tt.Weld("w"))
    still = tt.simulate(s.resolve(), [0, 1, 2], [], [])
    assert len(still.t) == 3
    with pytest.raises(tt.ModelError, match="nothing-to-plot"):
        still.plot()
    with pytest.raises(tt.ModelError, match=r"events: got half.*no-motion"):
        tt.simulate(s.resolve(), [0, 1, 2], [], [], events=tt.Event(lambda t, q, v: t - 0.5, "half"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"direction": 5},
        {"direction": 0.5},
        {"direction": [1]},
        {"direction": "up"},
        {"direction": None},
        {"direction": True},
        {"direction": np.True_},
        {"terminal": "no"},
    ],
)
def test_what_events_count_is_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(tt.ModelError, match=f"event 'event', {next(iter(wrong))}"):
        tt.simulate(slider(), [0, 1], [0.0], [0.0], events=tt.Event(lambda t, q, v: q[0], **wrong))


@pytest.mark.parametrize("kind", [np.int64, float, np.float32, np.array])
def test_directions_are_numbers_of_any_kind(kind: Any) -> None:
    for direction, times in (
        (1, [1.5 * np.pi]),
        (-1, [0.5 * np.pi, 2.5 * np.pi]),
        (0, [0.5 * np.pi, 1.5 * np.pi, 2.5 * np.pi]),
    ):
        event = tt.Event(lambda t, q, v: q[0], terminal=False, direction=kind(direction))
        assert oscillator(event).events["event"] == pytest.approx(times, abs=1e-8)


@pytest.mark.parametrize("power", [3, 5])
def test_multiple_zeros_are_found(power: int) -> None:
    """A multiple zero is known to the root of rounding of that order."""
    s = tt.System("slide", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("block", mass=2.0), tt.Prismatic("rail"))
    event = tt.Event(lambda t, q, v: (q[0] - 1.3) ** power)
    found = tt.simulate(s.resolve(), [0, 1, 2, 3.0], [0.0], [1.0], events=event, progress=False).events["event"]
    assert found == pytest.approx([1.3], abs=1e-6)
