"""Python functions called by their addresses: what they return, and that their exceptions arrive."""

from __future__ import annotations

import ctypes
import operator
import signal
import threading
from functools import partial

import numpy as np
import pytest

import titop as tt
from titop.solvers.kernels.entries import dynamics_entries
from titop.solvers.kernels.interface import layout
from titop.solvers.native.callbacks import Callback, raise_pending
from titop.solvers.native.signatures import ANSWERED, IN_PYTHON, RAISED


def called(callback: Callback, *arguments: int) -> int:
    """Call a callback as machine code does."""
    assert callback.address % 2 == IN_PYTHON
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(arguments))(callback.address - IN_PYTHON)
    return int(function(*arguments)) - ANSWERED


def test_integers_arrive_whole_and_none_is_zero() -> None:
    heard: list[tuple[int, ...]] = []
    callback = Callback(lambda *arguments: heard.append(arguments), 3)
    assert called(callback, 2**62, -1, 0) == 0
    assert heard == [(2**62, -1, 0)]
    assert called(Callback(lambda a, b: a - b, 2), 3, 5) == -2


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, MemoryError])
def test_an_exception_waits_until_python_goes_on_and_is_raised_once(kind: type[BaseException]) -> None:
    def fails(_: int) -> int:
        raise kind("no")

    callback = Callback(fails, 1)
    assert called(callback, 1) == RAISED
    with pytest.raises(kind, match="no"):
        raise_pending()
    raise_pending()  # nothing is left


def test_exceptions_wait_in_the_thread_in_which_they_were_raised() -> None:
    def fails(_: int) -> int:
        raise ValueError("here")

    callback, seen = Callback(fails, 1), []
    called(callback, 1)

    def elsewhere() -> None:
        try:
            raise_pending()
        except ValueError:
            seen.append("there")

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == []
    with pytest.raises(ValueError, match="here"):
        raise_pending()


class Spring(tt.Interaction):
    """A spring from one port to another, in plain Python."""

    def wrenches(self, R, r, V1, V2):
        return np.concatenate([50.0 * r, 0 * r]), -np.concatenate([R.T @ (50.0 * r), 0 * r])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that send signals")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_at_the_door_of_python_is_no_answer() -> None:
    """The signal comes while machine code runs, so that Python raises before the first line of the function that is called.

    Two calls in one: that to the C library, which sends the signal, and that of a kernel, nothing of Python's between them.
    """
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", mass=1.0, com=[0, 0.2, -1], inertia=0.1), tt.Revolute("pivot", axis=[1, 0, 0]))
    s.close_loop("world", s["bob"], Spring("spring"))
    m = s.resolve()
    q, v, expected = np.array([0.3]), np.array([0.1]), m.forward_dynamics([0.3], [0.1])
    system, found = m.mechanism.engine.system, np.zeros(1)
    kernel = partial(system.kernel(dynamics_entries.forward_dynamics).compiled, *system.arrays, q, v, np.zeros(1), found)
    assert kernel() == layout.OK
    assert found == expected
    send = partial(ctypes.CDLL(None)["raise"], int(signal.SIGALRM))
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        _, status = map(operator.call, [send, kernel])
    finally:
        signal.signal(signal.SIGALRM, before)
    assert status == RAISED
    with pytest.raises(KeyboardInterrupt, match="a signal came"):
        raise_pending()
    raise_pending()  # nothing is left
    assert m.forward_dynamics(q, v) == expected
