"""Tasks are answered by this process, by others and by executors alike; what dies is tried again, what is done is kept."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from titop.solvers.support import workers as workers_module
from titop.solvers.support.checkpoint import Checkpoint, digest
from titop.solvers.support.spread import Spread, read_workers, spread


def same(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return function


def square(task: int) -> int:
    return task * task


def how_it_died(task: Any, how: str) -> Any:
    return how


class Backwards(Executor):
    """Answers at once, but says so in the reverse order; refuses tasks of some tries, as if a process had died."""

    def __init__(self, deaths: int = 0, first: int = 0) -> None:
        self.calls, self.deaths, self.first = 0, deaths, first

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.calls += 1
        if self.first < self.calls <= self.first + self.deaths:
            future.set_exception(RuntimeError("lost"))
        else:
            future.set_result(function(*arguments))
        return future


@pytest.mark.parametrize("workers", [1, 2, Backwards(), Backwards(2), Backwards(2, 5)], ids=["1", "2", "far", "lost", "later"])
def test_all_give_the_same(workers: int | Executor) -> None:
    assert list(spread(range(20), same, (square,), workers, how_it_died)) == [k * k for k in range(20)]


def test_threads_are_an_executor_too() -> None:
    with ThreadPoolExecutor(2) as pool:
        assert list(spread(range(20), same, (square,), pool, how_it_died)) == [k * k for k in range(20)]


def test_what_is_lost_too_often_is_told() -> None:
    assert list(spread(range(3), same, (square,), Backwards(5, 1), how_it_died))[:1] == [0]
    results = list(spread([7, 8], same, (square,), Backwards(3, 1), how_it_died))
    assert results == [49, "Backwards: RuntimeError: lost, each of 3 times that it was tried"]


def test_an_executor_that_answers_nothing_is_refused() -> None:
    with refusal("worker-died", "RuntimeError: lost (task 0)"):
        list(spread(range(3), same, (square,), Backwards(99), how_it_died))
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with refusal("worker-died", "cannot schedule new futures"):
        list(spread(range(3), same, (square,), pool, how_it_died))


def die(task: int) -> int:
    if task == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def test_a_pool_whose_process_dies_is_refused_with_its_task() -> None:
    """`concurrent.futures` gives up the whole pool: what comes of it has to be said."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool, refusal("worker-died", "Broken"):
        list(spread(range(5), same, (die,), pool, how_it_died))


class DiesOnce:
    """Kills its process at a task, the first time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, task: int) -> int:
        if task == 5 and not self.path.exists():
            self.path.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return task * task


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_that_is_killed_loses_nothing(tmp_path: Path, method: str) -> None:
    function = DiesOnce(tmp_path / "died")
    assert list(spread(range(30), same, (function,), 2, how_it_died, method)) == [k * k for k in range(30)]
    assert function.path.exists()


class Stubborn(Executor):
    """Never answers some calls; a second after the last of these Ctrl-C is pressed."""

    def __init__(self, *never: int) -> None:
        self.calls, self.never = 0, never

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.calls not in self.never:
            future.set_result(function(*arguments))
        elif self.calls == max(self.never):
            threading.Timer(1.0, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()
        self.calls += 1
        return future


def test_ctrl_c_gives_what_came_out_of_order() -> None:
    """Answers behind one that is missing are told with their own keys."""
    results: dict[int, int] = {}

    def collect() -> None:
        with Spread(same, (square,), Stubborn(0, 3), how_it_died) as crew:
            for key, result in crew.results([(k, k) for k in range(6)]):
                results[key] = result

    with pytest.raises(KeyboardInterrupt):
        collect()
    assert results == {k: k * k for k in (1, 2, 4, 5)}


class Cluster(Executor):
    """Has processes for some looks, then none; answers the first tasks only."""

    def __init__(self, looks: int, answers: int) -> None:
        self._client, self._answers, self._left = self, answers, looks

    def scheduler_info(self) -> dict[str, Any]:
        self._left -= 1
        return {"workers": {"one": {}} if self._left >= 0 else {}}

    def submit(self, function: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._answers -= 1
        if self._answers >= 0:
            future.set_result(function(*arguments))
        return future


@pytest.mark.parametrize(("looks", "answers"), [(2, 0), (0, 3)])
def test_an_executor_that_loses_all_processes_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, looks: int, answers: int
) -> None:
    """Processes were seen, or have answered; what they have answered is in the file."""
    monkeypatch.setattr(workers_module, "_SILENCE", 0.01)
    keeper = Checkpoint(tmp_path / "file", "squares", {})
    with (
        refusal("worker-died", f"{6 - answers} tasks not answered"),
        Spread(same, (square,), Cluster(looks, answers), how_it_died, checkpoint=keeper) as crew,
    ):
        list(crew.results([(k, k) for k in range(6)]))
    again = Checkpoint(tmp_path / "file", "squares", {})
    assert [k for k in range(6) if k in again] == [*range(answers)]


def test_an_executor_may_get_its_first_process_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a queue: more looks than would tell that one is lost."""
    monkeypatch.setattr(workers_module, "_SILENCE", 0.01)
    pool = Cluster(0, 0)
    late: Future[Any] = Future()
    monkeypatch.setattr(pool, "submit", lambda function, *arguments: (calls.append((function, arguments)), late)[1])
    calls: list[Any] = []
    threading.Timer(0.2, lambda: late.set_result(calls[0][0](*calls[0][1]))).start()
    with Spread(same, (square,), pool, how_it_died) as crew:
        assert list(crew.results([(3, 3)])) == [(3, 9)]


def test_what_executors_cannot_be_sent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with refusal("worker-function", "do not pickle"):
        list(spread(range(3), same, (lambda k: k,), Backwards(), how_it_died))


@pytest.mark.parametrize("workers", [0, -1, True, 2.0, "two", None, 10**9])
def test_workers_are_a_number_or_an_executor(workers: Any) -> None:
    with refusal("wrong-type", "an executor of concurrent.futures"):
        read_workers(workers)


class TestCheckpoints:
    """A sweep of squares that counts what it computes."""

    def sweep(
        self, path: Path, tasks: range, about: Any = 1, workers: Any = 1, stop: int | None = None
    ) -> tuple[Any, list[int]]:
        computed: list[int] = []

        def function(task: int) -> Any:
            if task == stop:
                raise KeyboardInterrupt
            computed.append(task)
            return {"square": np.array(task * task), "z": 1j, "name": "x"}

        results: dict[int, Any] = {}
        keeper = Checkpoint(path, "squares", {"about": about})
        try:
            with Spread(same, (function,), workers, how_it_died, checkpoint=keeper) as crew:
                for key, result in crew.results([(k, k) for k in tasks]):
                    results[key] = int(result["square"])
        except KeyboardInterrupt:
            assert stop is not None
        return results, computed

    def test_goes_on_where_it_was(self, tmp_path: Path) -> None:
        path = tmp_path / "squares"
        assert self.sweep(path, range(10), stop=6) == ({k: k * k for k in range(6)}, [*range(6)])
        assert self.sweep(path, range(10)) == ({k: k * k for k in range(10)}, [*range(6, 10)])
        assert self.sweep(path, range(12), workers=Backwards())[0] == {k: k * k for k in range(12)}
        assert self.sweep(path, range(12)) == ({k: k * k for k in range(12)}, [])

    def test_ctrl_c_gives_what_the_file_has_behind_it(self, tmp_path: Path) -> None:
        path = tmp_path / "squares"
        self.sweep(path, range(5, 10))
        assert self.sweep(path, range(10), stop=2)[0] == {k: k * k for k in (0, 1, 5, 6, 7, 8, 9)}

    def test_of_another_sweep_is_refused_by_name(self, tmp_path: Path) -> None:
        path = tmp_path / "squares"
        self.sweep(path, range(3))
        before = path.read_bytes()
        with refusal("other-sweep", "of another about"):
            self.sweep(path, range(3), about=2)
        with refusal("other-sweep", "another sweep's: squares"):
            Checkpoint(path, "cubes", {"about": 1})
        assert path.read_bytes() == before

    @pytest.mark.parametrize("bad", [b"", b"numbers", b"\x80\x04K\x01."], ids=["empty", "text", "one"])
    def test_that_is_none_is_refused(self, tmp_path: Path, bad: bytes) -> None:
        (tmp_path / "other").write_bytes(bad)
        with refusal("wrong-format", "other"):
            Checkpoint(tmp_path / "other", "squares", {})
        with refusal("wrong-type", "checkpoint"):
            Checkpoint(3, "squares", {})  # type: ignore[arg-type]
        with refusal("no-folder", "nowhere"):
            Checkpoint(tmp_path / "nowhere" / "file", "squares", {})

    def test_of_which_a_bit_is_another_is_refused(self, tmp_path: Path) -> None:
        """Wherever it is, if it changes an answer or the name of its task."""
        path, refused = tmp_path / "squares", 0
        self.sweep(path, range(3))
        whole = path.read_bytes()
        for place in range(len(whole)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            try:
                found = self.sweep(path, range(3))
            except tt.ModelError:
                refused += 1
            else:  # of how things are laid out
                assert found == ({0: 0, 1: 1, 2: 4}, [])
        assert refused > 0.9 * len(whole)

    def test_executes_nothing(self, tmp_path: Path) -> None:
        """A pickle that would make a file, as a whole and as an answer."""
        import pickle

        class Evil:
            def __reduce__(self) -> Any:
                return os.mkdir, (str(tmp_path / "made"),)

        path = tmp_path / "evil"
        path.write_bytes(pickle.dumps(Evil()))
        with refusal("wrong-format", "mkdir"):
            Checkpoint(path, "squares", {})
        path.unlink()
        keeper = Checkpoint(path, "squares", {})
        keeper.put(0, pickle.dumps((True, Evil())))
        keeper.save()
        with refusal("wrong-format", "mkdir"):
            Checkpoint(path, "squares", {}).answer(0)
        assert not (tmp_path / "made").exists()

    def test_errors_are_not_kept(self, tmp_path: Path) -> None:
        def fail(task: int) -> int:
            raise ValueError("once")

        keeper = Checkpoint(tmp_path / "file", "squares", {})
        with pytest.raises(ValueError, match="once"), Spread(same, (fail,), 2, how_it_died, checkpoint=keeper) as crew:
            list(crew.results([(0, 0)]))
        assert 0 not in keeper


def test_a_sweep_that_is_killed_goes_on(tmp_path: Path) -> None:
    """The whole program, by SIGKILL, while its file is written after every answer."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys, time\n"
        "from titop.solvers.support import checkpoint\n"
        "from titop.solvers.support.spread import Spread\n"
        "checkpoint._EVERY = checkpoint._RARELY = 0.0\n"
        "def slow(task):\n"
        "    if task == 3 and len(sys.argv) > 1:\n"
        "        os.write(1, b'there\\n')\n"
        "        time.sleep(60)\n"
        "    os.write(1, f'{task}\\n'.encode())\n"
        "    return task\n"
        f"keeper = checkpoint.Checkpoint({str(tmp_path / 'kept')!r}, 'numbers', {{}})\n"
        "with Spread(lambda f: f, (slow,), 1, None, checkpoint=keeper) as crew:\n"
        "    print([result for _, result in crew.results([(k, k) for k in range(6)])])\n"
    )
    process = subprocess.Popen([sys.executable, script, "slow"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while process.stdout.readline() != "there\n":
        pass
    process.kill()
    process.communicate()
    again = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert again.stdout == "3\n4\n5\n[0, 1, 2, 3, 4, 5]\n"


def test_digests_tell_things_apart() -> None:
    factor = 2.0

    def one(x: float) -> float:
        return x * 2.0

    def other(x: float) -> float:
        return x * 3.0

    def closing(gain: float) -> Callable[[float], float]:
        return lambda x: gain * x

    def with_default(gain: float) -> Callable[..., float]:
        return lambda x, gain=gain: gain * x

    def recursive(x: float) -> float:
        return recursive(x)

    assert digest(closing(2.0)) == digest(closing(2.0)) != digest(closing(3.0))
    assert digest(with_default(2.0)) == digest(with_default(2.0)) != digest(with_default(3.0))
    source = "def f(x):\n    return K * x\n"
    outside = [{"K": 1.0}, {"K": 1.0}, {"K": 2.0}]
    for names in outside:
        exec(source, names)
    assert digest(outside[0]["f"]) == digest(outside[1]["f"]) != digest(outside[2]["f"])
    things = [
        1,
        1.0,
        "1",
        [1],
        (1,),
        {"a": 1},
        {"a": 2},
        np.array([1.0]),
        np.array([1]),
        None,
        one,
        other,
        [[1], 2],
        [1, [2]],
        factor,
    ]
    assert len({digest(thing) for thing in things}) == len(things)
    assert digest({"a": np.arange(3), "b": one}) == digest({"a": np.arange(3), "b": one})


def test_files_are_written_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = Checkpoint(tmp_path / "file", "squares", {})
    clock = iter(np.arange(0.0, 100.0))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    keeper._due = 3.0
    before = (tmp_path / "file").read_bytes()
    for k in range(3):
        keeper.put(k, b"x")
        assert (tmp_path / "file").read_bytes() == before
    keeper.put(3, b"x")
    assert (tmp_path / "file").read_bytes() != before
    assert keeper._due == 5.0 + 20.0  # a writing that took a second comes once in twenty
