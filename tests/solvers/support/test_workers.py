"""Work spread over processes comes back in order, and whatever goes wrong is told with its task."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import control
import numpy as np
import pytest
import scipy.linalg  # noqa: F401 (its library is one of those that are counted)
from threadpoolctl import ThreadpoolController

import titop as tt
from titop.solvers.linear.matrices import Matrices
from titop.solvers.support import workers
from titop.solvers.support.spread import spread
from titop.solvers.support.workers import one_thread


def given(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return function


def refuse(task: Any, how: str) -> Any:
    raise AssertionError(f"{task}: {how}")


def double(task: Any) -> Any:
    time.sleep(0.01 * (task % 2))  # some take longer than their neighbours
    return 2 * task


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_results_are_in_order(method: str) -> None:
    assert list(spread(range(9), given, (double,), 2, refuse, method)) == list(range(0, 18, 2))


def test_large_tasks_and_results_pass() -> None:
    """More than a pipe holds (64 KiB), both ways at once."""
    tasks = [np.full(100_000, k) for k in range(6)]
    for task, result in zip(tasks, spread(tasks, given, (lambda x: 2 * x,), 2, refuse), strict=True):
        assert np.array_equal(result, 2 * task)


def fails(task: int) -> int:
    if task == 3:
        raise tt.ModelError(tt.Finding("three", "task", task, "another", "none"))
    return task


def test_an_error_comes_back_as_it_was_after_the_results_before_it() -> None:
    results = spread(range(6), given, (fails,), 2, refuse)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(tt.ModelError, match="three"):
        next(results)


def test_an_error_that_cannot_be_sent_comes_back_as_its_words() -> None:
    class LocalError(Exception):
        pass

    def raising(task: int) -> None:
        raise LocalError("here")

    with pytest.raises(RuntimeError, match="LocalError: here"):
        list(spread(range(2), given, (raising,), 2, refuse))


def test_functions_and_results_that_do_not_pickle_are_refused_by_name() -> None:
    with pytest.raises(tt.ModelError, match="a result of type function that does not pickle"):
        list(spread(range(2), given, (lambda k: lambda: k,), 2, refuse))
    with pytest.raises(tt.ModelError, match="functions or models that do not pickle"):
        list(spread(range(2), given, (lambda k: k,), 2, refuse, "spawn"))


@pytest.mark.filterwarnings("error")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no forks here")
def test_forks_beside_threads_are_not_warned_of() -> None:
    with ThreadPoolExecutor() as pool:
        pool.submit(time.sleep, 0.2)
        assert list(spread(range(2), given, (double,), 2, refuse, "fork")) == [0, 2]


def dies(task: int) -> int:
    if task == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    if task in (6, 8):
        os._exit(task)
    return task


def test_processes_that_die_are_replaced() -> None:
    results = list(spread(range(40), given, (dies,), 2, lambda task, how: how))
    fates = {5: "was ended by SIGKILL", 6: "ended with exit code 6", 8: "ended with exit code 8"}
    ends = {k: f"its process {fate}, each of 3 times that it was tried" for k, fate in fates.items()}
    assert results == [ends.get(k, k) for k in range(40)]


def never(argument: Any) -> Any:
    os._exit(9)


def test_processes_that_cannot_start_are_not_started_for_ever() -> None:
    with pytest.raises(tt.ModelError, match=r"exit code 9 before its first task.*__main__"):
        list(spread(range(100), never, (1,), 2, refuse))


def test_ctrl_c_ends_all_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, time\n"
        "from titop.solvers.support.spread import spread\n"
        "def slow(task):\n"
        "    os.write(1, f'{os.getpid()}\\n'.encode())\n"  # at once: the lines of two processes must not mix
        "    time.sleep(60)\n"
        "list(spread(range(100), lambda f: f, (slow,), 2, None))\n"
    )
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    workers = [int(process.stdout.readline()) for _ in range(2)]
    process.send_signal(signal.SIGINT)
    begin = time.perf_counter()
    _, errors = process.communicate(timeout=30)
    assert time.perf_counter() - begin < 1.0  # ends processes: far from the 60 s that they would sleep
    assert errors.endswith("KeyboardInterrupt\n")
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)


def threads(task: Any = None) -> set[int]:
    """Return how many threads the libraries of linear algebra have."""
    return {library.num_threads for library in ThreadpoolController().select(user_api="blas").lib_controllers}


@pytest.fixture
def two() -> Iterator[None]:
    """Let linear algebra have two threads, wherever the tests run."""
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("OPENBLAS_NUM_THREADS was set before: libraries began with one thread, and keep to it")
        yield


@pytest.mark.usefixtures("two")
def test_one_is_left_for_a_while() -> None:
    with one_thread():
        assert threads() == {1}
    assert threads() == {2}


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_that_work_side_by_side_have_one_each(method: str) -> None:
    for found in spread(range(3), given, (threads,), 2, given, method):
        assert found == {1}
    assert threads() == {2}


@pytest.mark.usefixtures("two")
def test_bounds_of_robustness_are_found_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []

    def response(self: Matrices, omega: float) -> Any:
        counts.extend(threads())
        return original(self, omega)

    original = Matrices.response
    monkeypatch.setattr(Matrices, "response", response)
    system = control.ss([[-1.0]], [[1.0]], [[0.5]], [[0.0]])
    tt.mu(system, [1.0], blocks=[tt.DeltaBlock.real("k")])
    assert set(counts) == {1}
    assert threads() == {2}


@pytest.mark.parametrize(("system", "method", "count"), [("linux", "fork", 40), ("darwin", None, 40), ("win32", None, 30)])
def test_processes_start_as_their_system_can(system: str, method: str | None, count: int, monkeypatch: Any) -> None:
    known = ["spawn"] if system == "win32" else ["fork", "spawn"]
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: known)
    asked: list[Any] = []
    monkeypatch.setattr(multiprocessing, "get_context", asked.append)
    monkeypatch.setattr(workers, "_Worker", lambda *_: Busy())
    crew = workers.Processes(given, (double,), 40)
    for k in range(50):
        crew.give(k, k)
    crew._employ()
    assert asked == [method] * count


class Busy:
    """Stands for a process that has not begun yet."""

    ready, batch = False, ()
