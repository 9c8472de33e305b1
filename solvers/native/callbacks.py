"""Python functions that machine code calls by their addresses.

An exception cannot pass through compiled code: the function answers with the status `RAISED`, and `raise_pending` raises it
where Python goes on.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

from titop.solvers.native.signatures import RAISED

_pending = threading.local()


class Callback:
    """A Python function of `count` integers, with an address; it returns a status, or None for zero."""

    def __init__(self, function: Callable[..., int | None], count: int) -> None:
        def guarded(*arguments: int) -> int:
            try:
                return function(*arguments) or 0
            except BaseException as error:  # raised again by `raise_pending`
                _pending.error = error
                return RAISED

        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)(guarded)

    @property
    def address(self) -> int:
        """Where the function stands, as long as this object lives."""
        return ctypes.cast(self._function, ctypes.c_void_p).value or 0


def raise_pending() -> None:
    """Raise what a function called by its address has raised in this thread since the last call, if anything."""
    error, _pending.error = getattr(_pending, "error", None), None
    if error is not None:
        raise error
