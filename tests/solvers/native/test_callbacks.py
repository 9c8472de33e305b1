"""Python functions called by their addresses: what they return, and that their exceptions arrive."""

from __future__ import annotations

import ctypes
import threading

import pytest

from titop.solvers.native.callbacks import Callback, raise_pending
from titop.solvers.native.signatures import RAISED


def called(callback: Callback, *arguments: int) -> int:
    """Call a callback as machine code does."""
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(arguments))(callback.address)
    return int(function(*arguments))


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
