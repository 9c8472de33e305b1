"""Spreading independent work over processes.

Threads would not do: the integrator calls back into Python at every step, so that two threads take as long as one.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

#: Batches that each process gets, so that none waits long for the last.
_BATCHES = 8

#: The function of a worker process: forked processes inherit it, so that it may be any function.
_work: Callable[[int], Any]


def spread(function: Callable[[int], Any], n: int, workers: int, progress: bool) -> list[Any]:
    """Return ``[function(0), ..., function(n - 1)]``, computed by a number of processes.

    Parameters
    ----------
    function : callable
    n : int
    workers : int
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.
    """
    from tqdm import tqdm

    bar: dict[str, Any] = {"total": n, "unit": "run", "delay": 1.0, "disable": None if progress else True, "leave": False}
    if workers == 1:
        return list(tqdm(map(function, range(n)), **bar))
    forks = "fork" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if forks else None)
    size = max(1, n // (workers * _BATCHES))
    with ProcessPoolExecutor(min(workers, n), context, _start, (function,)) as pool:
        return list(tqdm(pool.map(_call, range(n), chunksize=size), **bar))


def _start(function: Callable[[int], Any]) -> None:
    global _work
    _work = function


def _call(k: int) -> Any:
    return _work(k)
