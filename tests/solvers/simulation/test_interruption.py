"""Ctrl-C stops simulations at once, and what they computed is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.closed_systems import four_bar
from tests.solvers.simulation.long_runs import LONG, pendulum

Array = NDArray[np.float64]

METHODS = ("DOP853", "RK45", "RK23", "LSODA", "BDF", "Radau", "generalized-alpha")


@contextmanager
def ctrl_c(after: float) -> Iterator[list[float]]:
    """Send Ctrl-C to this process after a time (s), and again while nothing happens; yields the times when it was sent.

    Python loses an exception that meets the end of an object with weak references: of a thread, say.
    """
    sent: list[float] = []
    over = threading.Event()

    def send() -> None:
        while not over.wait(5.0 if sent else after):
            sent.append(time.process_time())
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield sent
    finally:
        over.set()
        thread.join()


def stopped(model: tt.Model, *state: Any, times: Any = LONG, after: float = 0.3, **arguments: Any) -> tt.SimulationInterrupt:
    """Simulate until Ctrl-C, and return the exception."""
    tt.simulate(model, times[:2], *state, **arguments)  # compiled and imported
    with ctrl_c(after) as sent, pytest.raises(tt.SimulationInterrupt) as caught:
        tt.simulate(model, times, *state, **arguments)
    assert time.process_time() - sent[-1] < 0.2  # of this process's own time: others may keep the processor
    return caught.value


def further(run: tt.Trajectory) -> Array:
    """Return the output times of a stopped simulation, and one so far off that steps do not yet lead there."""
    return np.append(run.t[:-1], run.t[-1] + 2.0)


def assert_is_the_beginning(run: tt.Trajectory, whole: tt.Trajectory) -> None:
    """Assert that a trajectory is another one's beginning, and one state more."""
    n = len(run.t) - 1
    assert n > 1
    assert run.t[-1] > run.t[-2]
    for name in ("t", "q", "v", "a", "tau"):
        assert np.array_equal(getattr(run, name)[:n], getattr(whole, name)[:n]), name


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tau", [None, lambda t, q, v: [0.0]], ids=["compiled", "python"])
def test_every_integrator_stops(method: str, tau: Any) -> None:
    arguments = {"tau": tau, "method": method, "rtol": 1e-6, "atol": 1e-6}
    model, event = pendulum(), tt.Event(lambda t, q, v: q[0], "below", terminal=False)
    run = stopped(model, [1.0], [0.0], events=event, **arguments).trajectory
    # the others' first steps depend on the end; explicit ones are at hand to compare with
    other = arguments if method in ("DOP853", "RK45", "RK23") else arguments | {"method": "DOP853"}
    whole = tt.simulate(model, further(run), [1.0], [0.0], events=event, **other)
    if other is arguments:
        assert_is_the_beginning(run, whole)
        assert len(run.events["below"]) > 0
    n, found = len(run.t) - 1, run.events["below"]
    assert np.abs(run.q[:n] - whole.q[:n]).max() < 1e-2  # hundreds of steps of 1e-6
    found = found[found < LONG[-2]]  # how far the last step leads depends on the machine, and phases drift all the way
    assert np.abs(found - whole.events["below"][: len(found)]).max(initial=0.0) < 1e-2


@pytest.mark.filterwarnings("ignore:.*redundant-closure")
def test_closed_loops_stop() -> None:
    model = four_bar().resolve()
    q = model.assemble([0.5, 0.5, -1.5], fixed=["q1"])
    run = stopped(model, q, np.zeros(3), times=np.linspace(0, 1e4, 1_000_001)).trajectory
    assert len(run.t) > 2
    assert np.abs(model.closure_error(run.q[-1])).max() < 1e-9  # projected after every step, to rounding


@pytest.mark.parametrize("sample_time", [None, 0.01])
def test_control_loops_stop(sample_time: float | None) -> None:
    import control

    # it damps: however far the simulation comes before it stops, states stay finite
    K = control.ss([[-4.0]], [[1.0]], [[-2.0]], [[3.0]], inputs=["hinge_q"], outputs=["hinge"])
    arguments: dict[str, Any] = {"controller": K, "sample_time": sample_time}
    run = stopped(pendulum(), [1.0], [0.0], **arguments).trajectory
    assert run.control is not None
    whole = tt.simulate(pendulum(), further(run), [1.0], [0.0], **arguments)
    assert_is_the_beginning(run, whole)
    n = len(run.t) - 1
    assert np.array_equal(run.signal("hinge.tau")[:n], whole.signal("hinge.tau")[:n])


def interrupted_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, count: int) -> None:
    """Let a method be interrupted when it is called so many times."""
    method, calls = getattr(owner, name), []

    def called(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == count:
            raise KeyboardInterrupt
        return method(*arguments)

    monkeypatch.setattr(owner, name, called)


def test_the_first_moment_of_a_piece_is_no_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before the integrator goes on, between samples."""
    from titop.solvers.control.sampled_loop import SampledLoop

    interrupted_at(monkeypatch, SampledLoop, "act", 100)
    K = tt.Controller(lambda t, x, y, r: (x, -y), [], ["hinge.q"], ["hinge.tau"], 0.05)
    event = tt.Event(lambda t, q, v: q[0] - 0.9, "past", terminal=False)
    with pytest.raises(tt.SimulationInterrupt) as caught:
        tt.simulate(pendulum(), np.linspace(0, 10, 11), [1.0], [0.0], controller=K, events=event)
    monkeypatch.undo()
    run = caught.value.trajectory
    assert run.t[-1] == pytest.approx(99 * 0.05)  # the last sample was not taken
    assert 1 < len(run.t) < 11
    assert len(run.events["past"]) > 0
    assert run.statistics["steps"] >= 99  # one a sample at least: what is counted until then is told


def test_the_first_moment_of_all_is_no_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before the integrator has made a step."""
    from titop.solvers.simulation.explicit_steps import HeldSteps

    interrupted_at(monkeypatch, HeldSteps, "go_to", 1)
    with pytest.raises(tt.SimulationInterrupt) as caught:
        tt.simulate(pendulum(), np.linspace(0, 10, 11), [1.0], [0.0])
    monkeypatch.undo()
    assert caught.value.trajectory.t.tolist() == [0.0]


def test_a_controller_may_be_what_takes_long() -> None:
    def update(t: float, x: Any, y: Any, r: Any) -> Any:
        time.sleep(0.01 if t < 0.1 else 60.0)
        return x, -y

    K = tt.Controller(update, [], ["hinge.q"], ["hinge.tau"], 0.05)
    run = stopped(pendulum(), [1.0], [0.0], times=np.linspace(0, 1, 101), controller=K, after=0.5).trajectory
    assert run.t[-1] == pytest.approx(0.1)


SCRIPT = """
import sys, time
import numpy as np, titop as tt
from tests.solvers.simulation.long_runs import LONG, pendulum
model = pendulum()
tt.simulate(model, [0, 1], [1.0], [0.0])
print("ready", flush=True)
try:
    tt.simulate(model, LONG, [1.0], [0.0])
except KeyboardInterrupt as stop:
    print(time.time(), len(stop.trajectory.t), stop.trajectory.t[-1], flush=True)
    raise
"""


def test_a_script_without_a_terminal_stops() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    begin = time.time()
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    end, count, reached = output.split()
    assert float(end) - begin < 1.0  # 0.2 s where no other process keeps the processor
    assert int(count) > 2
    assert float(reached) < 1e6
    assert "SimulationInterrupt: stopped at t = " in errors
    assert process.returncode != 0


def test_a_copy_has_no_trajectory() -> None:
    with pytest.raises(tt.ModelError, match="no-trajectory"):
        _ = tt.SimulationInterrupt("stopped").trajectory
