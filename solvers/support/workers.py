"""Spreading independent work over processes.

Threads would not do: the integrator calls back into Python at every step, so that two threads take as long as one.
Each process answers its tasks one by one, so that the task at which a process died is known; its linear algebra has one thread.

BLAS splits products and factorisations of a few hundred rows among as many threads as there are processors. Where these are
busy, with processes that titop has started or with others, each waits for the slowest: two processes with eigenvalues, singular
values and solutions of up to 120 rows took nine times as long on two processors as with one thread each, beside others longer.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import connection
from typing import TYPE_CHECKING, Any

from titop.blocks.basics.errors import Finding, ModelError

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


#: Batches that each process gets, so that none waits long for the last.
_BATCHES = 8

#: What a process says first, once it can work.
_READY = b"ready"


def spread(
    tasks: Sequence[Any],
    make: Callable[..., Callable[[Any], Any]],
    arguments: tuple[Any, ...],
    workers: int,
    died: Callable[[Any, str], Any],
    method: str | None = None,
) -> Iterator[Any]:
    """Yield what a function returns for each task, in the tasks' order, computed by a number of processes.

    Parameters
    ----------
    tasks : sequence
    make : callable
        ``make(*arguments)`` returns the function, in each process.
    workers : int
    died : callable ``f(task, how)``
        What a task comes to whose process died: its result, or an error; `how` says what became of the process.
    method : {"fork", "spawn", "forkserver"}, optional
        How processes start. Forked ones, the default where there are any, take functions of any kind.

    Raises
    ------
    Exception
        What the function raises for a task.
    ModelError
        If processes cannot start, or functions or results cannot be sent between them.
    """
    if method is None and "fork" in multiprocessing.get_all_start_methods():
        method = "fork"
    context = multiprocessing.get_context(method)
    size = max(1, len(tasks) // (workers * _BATCHES))
    waiting = [range(k, min(k + size, len(tasks))) for k in reversed(range(0, len(tasks), size))]
    crew = [_Worker(context, make, arguments) for _ in range(min(workers, len(waiting)))]
    answers: dict[int, tuple[bool, Any]] = {}
    try:
        for k in range(len(tasks)):
            while k not in answers:
                _take_answers(tasks, waiting, crew, answers, died)
            good, answer = answers.pop(k)
            if not good:
                raise answer
            yield answer
    finally:
        for worker in crew:
            worker.end()


class _Worker:
    """A process, seen from the one that started it; `batch` holds the numbers of the tasks that it has to answer."""

    def __init__(self, context: Any, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._context, self._made = context, (make, arguments)
        self.begin()

    def begin(self) -> None:
        """Start the process."""
        self.line, far_end = self._context.Pipe()
        self.process = self._context.Process(target=_serve, args=(far_end, *self._made))
        with warnings.catch_warnings():  # Python 3.12 and later warn of threads: those of linear algebra end at a fork
            warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
            try:
                self.process.start()
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                found, expected = f"functions or models that do not pickle: {error}", "what spawned processes can be sent"
                advice = "define functions at the top of a module, or use workers=1"
                raise ModelError(Finding("worker-function", "workers", found, expected, advice)) from error
        far_end.close()
        self.ready, self.batch = False, range(0)

    def give(self, tasks: Sequence[Any], batch: range) -> None:
        """Give it tasks, if it has none."""
        self.batch = batch
        with suppress(OSError):  # it has just died, which shows when it is listened to
            self.line.send([tasks[k] for k in batch])

    def receive(self) -> bytes | None:
        """Return what it says, or None if it is dead; one of these it is."""
        try:
            return self.line.recv_bytes() if self.line.poll() else None
        except (EOFError, OSError):
            return None

    def fate(self) -> str:
        """Say what became of a dead process."""
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


def _take_answers(
    tasks: Sequence[Any],
    waiting: list[range],
    crew: list[_Worker],
    answers: dict[int, tuple[bool, Any]],
    died: Callable[[Any, str], Any],
) -> None:
    """Wait until some workers say something; keep their answers, and give them new tasks."""
    lines = {worker.line: worker for worker in crew if worker.batch or not worker.ready}
    ends = {worker.process.sentinel: worker for worker in lines.values()}
    told = connection.wait([*lines, *ends])
    for worker in dict.fromkeys({**lines, **ends}[source] for source in told):
        message = worker.receive()
        if message is None and not worker.ready:
            found, expected = f"{worker.fate()} before its first task", "processes that start"
            advice = 'its own message says more; begin a script with if __name__ == "__main__":, or use workers=1'
            raise ModelError(Finding("worker-died", "workers", found, expected, advice))
        if message is None:
            k, rest = worker.batch[0], worker.batch[1:]
            answers[k] = True, died(tasks[k], worker.fate())
            waiting += [rest] if rest else []
            if waiting:
                worker.begin()
            else:
                worker.batch = range(0)
            continue
        if message == _READY:
            worker.ready = True
        else:
            answers[worker.batch[0]] = pickle.loads(message)
            worker.batch = worker.batch[1:]
        if not worker.batch and waiting:
            worker.give(tasks, waiting.pop())


def _serve(line: Any, make: Callable[..., Callable[[Any], Any]], arguments: tuple[Any, ...]) -> None:
    """Answer tasks until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one, and ends it
    with one_thread():
        function = make(*arguments)
        line.send_bytes(_READY)
        while True:
            try:
                batch = line.recv()
            except EOFError:
                return
            for task in batch:
                line.send_bytes(_answer(function, task))


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
