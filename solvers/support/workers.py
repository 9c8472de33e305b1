"""Those who answer tasks: this process, others, or an executor's.

Threads would not do: the integrator calls back into Python at every step, so that two threads take as long as one.
Each process answers its tasks one by one, so that the task at which a process died is known; its linear algebra has one thread.

BLAS splits products and factorisations of a few hundred rows among as many threads as there are processors. Where these are
busy, with processes that titop has started or with others, each waits for the slowest: two processes with eigenvalues, singular
values and solutions of up to 120 rows took nine times as long on two processors as with one thread each, beside others longer.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import pickle
import signal
import sys
import warnings
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import connection
from typing import TYPE_CHECKING, Any, NamedTuple

from titop.blocks.basics.errors import Finding, ModelError
from titop.solvers.support.threads import alone

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS work in the thread that calls it; also a decorator."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    """The libraries of this process that have threads: those of NumPy and SciPy, once both are loaded."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


#: Returns the function that answers tasks, in each process, from its arguments.
Make = Callable[..., Callable[[Any], Any]]

#: How often a task is tried whose process dies.
TRIES = 3

#: Batches that each process gets, so that none waits long for the last.
_BATCHES = 8

#: Tasks that an executor has at a time, and how many parts all tasks are given in at most.
_AWAY, _PARTS = 256, 2000

#: Seconds between two looks whether an executor that is silent still has processes, and after how many without any it is lost.
_SILENCE, _LOOKS = 10.0, 3

#: What a process says first, once it can work.
_READY = b"ready"


class Answer(NamedTuple):
    """What a task came to: a `message` from another process, a `result` of this one, or `how` its processes died."""

    key: Hashable
    message: bytes | None = None
    result: Any = None
    how: str = ""


class Here:
    """This process answers.

    All kinds of workers `give` a task under a key, `forget` one that has not begun, wait for some `answers`, and `end`.
    """

    def __init__(self, make: Make, arguments: tuple[Any, ...]) -> None:
        self._make = lambda: make(*arguments)
        self._function: Callable[[Any], Any] | None = None
        self._tasks: dict[Hashable, Any] = {}

    def give(self, key: Hashable, task: Any) -> None:
        """Add a task."""
        self._tasks[key] = task

    def forget(self, key: Hashable) -> None:
        """Take back a task."""
        self._tasks.pop(key, None)

    def answers(self, first: Hashable) -> list[Answer]:
        """Answer the `first` task; raise what its function raises."""
        self._function = self._function or self._make()
        return [Answer(first, result=self._function(self._tasks.pop(first)))]

    def end(self) -> None:
        """Stop."""


class _Others:
    """Tasks for other processes: those that wait, and how often the process of each has died."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, Any] = {}
        self._waiting: deque[Hashable] = deque()
        self._deaths: Counter[Hashable] = Counter()

    def give(self, key: Hashable, task: Any) -> None:
        self._tasks[key] = task
        self._waiting.append(key)

    def forget(self, key: Hashable) -> None:
        """Take back a task, unless it has begun."""
        if key in self._waiting:
            self._waiting.remove(key)
            del self._tasks[key]


class Processes(_Others):
    """A number of processes answer; arguments are those of `titop.solvers.support.spread.Spread`."""

    def __init__(self, make: Make, arguments: tuple[Any, ...], count: int, method: str | None = None) -> None:
        if method is None and sys.platform != "darwin" and "fork" in multiprocessing.get_all_start_methods():
            method = "fork"  # macOS's own libraries do not survive it
        self._begin = lambda: _Worker(multiprocessing.get_context(method), make, arguments)
        self._count = min(count, 30) if sys.platform == "win32" else count  # there one can wait for 63 things: two of each
        self._crew = list[_Worker]()
        super().__init__()
        self._falls, self._begun = 0, False

    def answers(self, first: Hashable) -> list[Answer]:
        """Wait until some tasks are answered, be it the `first` or others. Raises `ModelError` if processes cannot start."""
        while True:
            self._employ()
            lines = {worker.line: worker for worker in self._crew if worker.batch or not worker.ready}
            ends = {worker.process.sentinel: worker for worker in lines.values()}
            told = connection.wait([*lines, *ends])
            spoken = dict.fromkeys({**lines, **ends}[source] for source in told)
            if answers := [answer for worker in spoken for answer in self._listen(worker)]:
                return answers

    def _employ(self) -> None:
        """Start processes and give tasks to those that have none."""
        while len(self._crew) < min(self._count, len(self._waiting)):
            self._crew.append(self._begin())
        for worker in self._crew:
            if worker.ready and not worker.batch and self._waiting:
                size = max(1, len(self._waiting) // (self._count * _BATCHES))
                batch = [self._waiting.popleft() for _ in range(size)]
                worker.give(batch, [self._tasks[key] for key in batch])

    def _listen(self, worker: _Worker) -> list[Answer]:
        """Return what a process has answered; replace a dead one, and try its task again."""
        message = worker.receive()
        if message == _READY:
            worker.ready, self._begun, self._falls = True, True, 0
            return []
        if message is not None:
            key = worker.batch.pop(0)
            del self._tasks[key]
            return [Answer(key, message)]
        how = worker.fate()
        self._crew.remove(worker)
        worker.end()
        if not worker.ready:
            self._falls += 1
            if not self._begun or self._falls == TRIES:
                found, expected = f"{how} before its first task", "processes that start"
                advice = 'its own message says more; begin a script with if __name__ == "__main__":, or use workers=1'
                raise ModelError(Finding("worker-died", "workers", found, expected, advice))
        self._waiting.extendleft(reversed(worker.batch[1:]))
        for key in worker.batch[:1]:
            self._deaths[key] += 1
            if self._deaths[key] == TRIES:
                del self._tasks[key]
                return [Answer(key, how=f"{how}, each of {TRIES} times that it was tried")]
            self._waiting.appendleft(key)
        return []

    def end(self) -> None:
        """End the processes."""
        for worker in self._crew:
            worker.end()


class _Worker:
    """A process, seen from the one that started it; `batch` holds the keys of the tasks that it has to answer."""

    def __init__(self, context: Any, make: Make, arguments: tuple[Any, ...]) -> None:
        self.line, far_end = context.Pipe()
        self.process = context.Process(target=_serve, args=(far_end, make, arguments))
        with warnings.catch_warnings():  # Python 3.12 and later warn of threads: those of linear algebra end at a fork
            warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
            try:
                self.process.start()
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise _unsendable(error) from error
        far_end.close()
        self.ready, self.batch = False, list[Hashable]()

    def give(self, keys: list[Hashable], tasks: list[Any]) -> None:
        self.batch = keys
        with suppress(OSError):  # it has just died, which shows when it is listened to
            self.line.send(tasks)

    def receive(self) -> bytes | None:
        """Return what it says, or None if it is dead; one of these it is."""
        try:
            return self.line.recv_bytes() if self.line.poll() else None
        except (EOFError, OSError):
            return None

    def fate(self) -> str:
        self.process.join()
        code = self.process.exitcode
        if code >= 0:
            return f"its process ended with exit code {code}"
        return f"its process was ended by {signal.Signals(-code).name}"

    def end(self) -> None:
        """End the process."""
        self.line.close()
        self.process.terminate()
        self.process.join()


def _serve(line: Any, make: Make, arguments: tuple[Any, ...]) -> None:
    """Answer tasks until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one, and ends it
    with one_thread(), alone():
        function = make(*arguments)
        line.send_bytes(_READY)
        while True:
            try:
                batch = line.recv()
            except EOFError:
                return
            for task in batch:
                line.send_bytes(_answer(function, task))


class Borrowed(_Others):
    """The processes of an executor answer: `concurrent.futures`, dask, MPI; titop has to be installed there."""

    def __init__(self, make: Make, arguments: tuple[Any, ...], executor: Executor) -> None:
        self._executor, self._made = executor, _pack((make, arguments))
        self._token = hashlib.sha256(self._made).hexdigest()
        super().__init__()
        self._away: dict[Future[list[bytes]], list[Hashable]] = {}
        self._most, self._begun = 0, False
        self._seen, self._looks = False, 0

    def answers(self, first: Hashable) -> list[Answer]:
        """Wait until some tasks are answered, be it the `first` or others.

        Raises `ModelError` if the executor takes no tasks, if its processes cannot do the first, or if none of them is left.
        """
        while True:
            self._submit()
            done, _ = wait(self._away, _SILENCE, FIRST_COMPLETED)
            if not done:
                self._refuse_loss()
            if answers := [answer for future in [*self._away] if future in done for answer in self._collect(future)]:
                return answers

    def _submit(self) -> None:
        self._most = max(self._most, len(self._tasks))
        while self._waiting and len(self._away) < _AWAY:
            size = min(len(self._waiting), -(-self._most // _PARTS))
            again = self._deaths[self._waiting[0]]  # also part of what a caching executor knows a task by
            if again and self._away:
                return
            batch = [self._waiting.popleft() for _ in range(1 if again else size)]
            sent = _pack([self._tasks[key] for key in batch])
            try:
                future = self._executor.submit(_answer_far, self._token, self._made, sent, again)
            except Exception as error:
                raise self._broken(f"{type(error).__name__}: {error}", batch[0]) from error
            self._away[future] = batch

    def _collect(self, future: Future[list[bytes]]) -> list[Answer]:
        """Return what came of some tasks; what was lost is tried again at the end, each task alone."""
        batch = self._away.pop(future)
        try:
            messages = future.result()
        except (Exception, CancelledError) as error:
            how = f"{type(self._executor).__name__}: {type(error).__name__}: {error}"
            self._deaths.update(batch)
            dead = [key for key in batch if self._deaths[key] >= TRIES]
            if dead and not self._begun:
                raise self._broken(how, dead[0]) from error
            self._waiting.extend(key for key in batch if key not in dead)
            for key in dead:
                del self._tasks[key]
            return [Answer(key, how=f"{how}, each of {TRIES} times that it was tried") for key in dead]
        self._begun = True
        for key in batch:
            del self._tasks[key]
        return [Answer(key, message) for key, message in zip(batch, messages, strict=True)]

    def _refuse_loss(self) -> None:
        """Refuse to wait for an executor that had processes and has had none for some looks; queues may give the first late."""
        self._looks = 0 if _has_processes(self._executor) else self._looks + 1
        self._seen = self._seen or self._begun or not self._looks
        if self._seen and self._looks >= _LOOKS:
            got = f"no process for {_LOOKS * _SILENCE:.0f} s, {len(self._tasks)} tasks not answered"
            advice = "start processes, and call again; what was answered is in the checkpoint, if there is one"
            raise ModelError(Finding("worker-died", "workers", got, "an executor that has processes", advice))

    def _broken(self, how: str, key: Hashable) -> ModelError:
        found, expected = f"{how} (task {key})", "an executor whose processes answer tasks"
        advice = "titop has to be installed there; a pool of concurrent.futures ends with its first process"
        return ModelError(Finding("worker-died", "workers", found, expected, advice))

    def end(self) -> None:
        """Take back what has not begun."""
        for future in self._away:
            future.cancel()


def _has_processes(executor: Executor) -> bool:
    """Tell whether an executor has processes; dask's client knows, others end their futures with the last process."""
    client: Any = getattr(executor, "_client", None)
    try:
        return not hasattr(client, "scheduler_info") or bool(client.scheduler_info()["workers"])
    except OSError:  # the scheduler is gone, too
        return False


#: The functions that this process has made for executors, by their token: the last few.
_made: dict[str, Callable[[Any], Any]] = {}


def _answer_far(token: str, made: bytes, tasks: bytes, again: int) -> list[bytes]:
    with one_thread(), alone():
        if token not in _made:
            make, arguments = pickle.loads(made)
            while len(_made) > 1:
                _made.pop(next(iter(_made)), None)
            _made[token] = make(*arguments)
        function = _made[token]
        return [_answer(function, task) for task in pickle.loads(tasks)]


def _pack(thing: Any) -> bytes:
    """Return what can be sent to another machine: functions of a script by their code, if there is cloudpickle."""
    try:
        from cloudpickle import dumps
    except ImportError:
        dumps = pickle.dumps
    try:
        return bytes(dumps(thing))
    except Exception as error:
        raise _unsendable(error) from error


def _unsendable(error: Exception) -> ModelError:
    found, expected = f"functions or models that do not pickle: {error}", "what other processes can be sent"
    return ModelError(Finding("worker-function", "workers", found, expected, "define functions in a module, or use workers=1"))


def _answer(function: Callable[[Any], Any], task: Any) -> bytes:
    """Return whether the function has a result for a task, and the result or the error, to be sent to another process."""
    try:
        result = function(task)
    except Exception as error:
        return _pickle_error(error)
    try:
        return pickle.dumps((True, result))
    except Exception as error:
        found = f"a result of type {type(result).__name__} that does not pickle: {error}"
        expected = "what processes can send back"
        advice = "return numbers, arrays or what titop returns, or use workers=1"
        return _pickle_error(ModelError(Finding("worker-result", "workers", found, expected, advice)))


def _pickle_error(error: Exception) -> bytes:
    """Return an error to be sent; one that cannot be sent, as its words."""
    try:
        answer = pickle.dumps((False, error))
        pickle.loads(answer)
    except Exception:
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
    return answer
