"""Python functions that machine code calls by their addresses.

An exception cannot pass through compiled code: the function answers with the status `RAISED`, and `raise_pending` raises it
where Python goes on; likewise what a compiled function raises that is called by its address. What a signal's handler raises
before the first line of the function is out of reach, and printed by ctypes: then machine code counts in `LOST` that there was
no answer.
"""

from __future__ import annotations

import ctypes
import pickle
import threading
from collections.abc import Callable
from contextlib import suppress

from titop.solvers.native.object_code import provide
from titop.solvers.native.signatures import ANSWERED, IN_PYTHON, LOST, RAISED, STOPPED

_pending = threading.local()
#: How many answers were lost: in the main thread, where Python handles signals.
_lost = ctypes.c_int64()
provide(LOST, ctypes.addressof(_lost))


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _note_stop(record: int | None) -> None:
    """Note what a compiled function has raised, by numba's record: address and size of a pickle, and what it lacks."""
    if record is None:
        return
    with suppress(Exception):  # a class that cannot be found, say: then only that something was raised is told
        text, size = ctypes.c_void_p.from_address(record).value, ctypes.c_int32.from_address(record + 8).value
        kind, arguments, place = pickle.loads(ctypes.string_at(text or 0, size))
        error = kind(*(x for x in arguments if isinstance(x, str | int | float)))
        if place:
            error.add_note("in {}, {}, line {}".format(*place))
        _pending.error = error


provide(STOPPED, ctypes.cast(_note_stop, ctypes.c_void_p).value or 0)


class Callback:
    """A Python function of `count` integers, with an address; it returns a status, or None for zero."""

    def __init__(self, function: Callable[..., int | None], count: int) -> None:
        def guarded(*arguments: int) -> int:
            try:
                return ANSWERED + (function(*arguments) or 0)
            except BaseException as error:  # raised again by `raise_pending`
                _pending.error = error
                return ANSWERED + RAISED

        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)(guarded)

    @property
    def address(self) -> int:
        """Where the function stands, as long as this object lives, marked as one of Python's."""
        return (ctypes.cast(self._function, ctypes.c_void_p).value or 0) + IN_PYTHON


def raise_pending() -> None:
    """Raise what a function called by its address has raised in this thread since the last call, if anything.

    Where a signal kept one from answering, a `KeyboardInterrupt`, whatever its handler has raised.
    """
    error, _pending.error = getattr(_pending, "error", None), None
    if _lost.value and threading.current_thread() is threading.main_thread():
        _lost.value = 0
        error = error or KeyboardInterrupt("a signal came where Python was called by machine code")
    if error is not None:
        raise error
