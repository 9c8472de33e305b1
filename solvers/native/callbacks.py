"""Python functions that machine code calls by their addresses.

An exception cannot pass through compiled code: the function answers with the status `RAISED`, and `raise_pending` raises it
where Python goes on. What a signal's handler raises before the first line of the function is out of reach, and printed by
ctypes: then machine code counts in `LOST` that there was no answer.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

from titop.solvers.native.object_code import provide
from titop.solvers.native.signatures import ANSWERED, IN_PYTHON, LOST, RAISED

_pending = threading.local()
#: How many answers were lost: in the main thread, where Python handles signals.
_lost = ctypes.c_int64()
provide(LOST, ctypes.addressof(_lost))


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
