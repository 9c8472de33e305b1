"""Stacked states, split among threads of this process: kernels let these run, and no state depends on those beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

#: Parts begin at multiples of it: so many states at most are computed together (lanes).
TOGETHER = 8
#: Seconds of work for which a part is worth a thread, which begins within some 30 microseconds.
_WORTH = 1e-4
#: Seconds that a state takes, at least, where Python calls a kernel for each: shorter ones wait for each other's Python.
BY_PYTHON = 2e-5
#: Seconds after which Python looks for signals, such as Ctrl-C; states and numbers of results that are less than that.
_PIECE, _FEW_STATES, _FEW_NUMBERS = 0.1, 2048, 1 << 20
#: Most threads.
_MOST = 1000

_alone = ContextVar("alone", default=False)


def read_threads(threads: Any) -> int | None:
    """Return a number of threads, or None for as many as there are processors. Raises `ModelError` if it is neither."""
    if threads is None or (isinstance(threads, int) and not isinstance(threads, bool) and 1 <= threads <= _MOST):
        return threads
    expected = f"a number of threads from 1 to {_MOST:,}, or None for one a processor"
    raise ModelError(Finding("wrong-type", "threads", threads, expected, "leave it out for one"))


@contextmanager
def alone() -> Iterator[None]:
    """Let stacked states be computed by the thread that asks: in processes among others, each has a processor."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def in_parts(threads: int | None, count: int, run: Callable[[slice], int], least: float = 0.0, numbers: int = 0) -> int:
    """Run ``run(rows) -> status`` for all rows; return the first status other than zero, in the order of the rows, or zero.

    The first rows, which this thread computes, tell how long a row takes (s): whether it is the `least`, and how many parts are
    worth a thread. Errors of a part are raised once all have ended. Long parts are run in pieces, between which Ctrl-C ends
    all. `numbers`: how many there are in the results.
    """
    most = 1 if threads == 1 or _alone.get() else threads or os.cpu_count() or 1
    if count <= TOGETHER or (most == 1 and count <= _FEW_STATES and numbers <= _FEW_NUMBERS):
        return run(slice(0, count))
    is_stopped = False

    def run_pieces(rows: slice, row: float) -> int:
        begin, status = rows.start, 0
        while begin < rows.stop and not status and not is_stopped:
            end = min(begin + TOGETHER * max(1, int(_PIECE / (TOGETHER * row or _PIECE))), rows.stop)
            clock = perf_counter()
            status = run(slice(begin, end))
            begin, row = end, (perf_counter() - clock) / (end - begin)
        return status

    clock = perf_counter()
    status = run(slice(0, TOGETHER))
    row, left = (perf_counter() - clock) / TOGETHER, count - TOGETHER
    parts = min(most, int(left * row / _WORTH)) if row >= least else 1
    if status or parts < 2:
        return status or run_pieces(slice(TOGETHER, count), row)
    from concurrent.futures import wait

    size = TOGETHER * -(-left // (TOGETHER * parts))
    first, *others = (slice(k, min(k + size, count)) for k in range(TOGETHER, count, size))
    running = [_pool(most).submit(run_pieces, rows, row) for rows in others]
    try:
        status = run_pieces(first, row)
        wait(running)
    except KeyboardInterrupt:
        is_stopped = True
        raise
    finally:
        wait(running)
    return next(filter(None, (status, *(each.result() for each in running))), 0)


def call_in_parts(threads: int | None, kernel: Callable[..., int], *arrays: Any) -> int:
    """Call a kernel of arrays with a row for each state, the last for results, as `in_parts` does; others it is to refuse."""
    if threads == 1 and len(arrays[-1]) <= _FEW_STATES and arrays[-1].size <= _FEW_NUMBERS:
        return kernel(*arrays)
    if any(type(array) is not np.ndarray or array.shape[:1] != arrays[0].shape[:1] for array in arrays):
        return kernel(*arrays)
    return in_parts(threads, len(arrays[0]), lambda rows: kernel(*[array[rows] for array in arrays]), numbers=arrays[-1].size)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """The threads beside the one that asks."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads - 1, "titop")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads stay behind in the parent
