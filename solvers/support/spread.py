"""Sweeps: independent tasks, spread over processes, their answers kept in a file, whatever becomes of either.

Answers are handed out in the order of the tasks, so that nothing depends on who was first.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.user_input import read_count
from titop.solvers.support.workers import Answer, Borrowed, Here, Make, Processes, one_thread

#: Most processes.
_MOST = 10_000


def died_at(where: Callable[[Any], str]) -> Callable[[Any, str], ModelError]:
    """Return what makes an error of a task whose processes died, which `where` names."""
    expected, advice = "processes that come to their end", "workers=1 shows what happens there"
    return lambda task, how: ModelError(Finding("worker-died", "workers", f"{how} at {where(task)}", expected, advice))


class SweepInterrupt(KeyboardInterrupt):
    """Ctrl-C during a sweep (`lpv`, `trim_along`, `monte_carlo`, `mu` and the like); what was computed until then is kept.

    Parameters
    ----------
    message : str
    found : object, optional
        What the function would have returned, with what was computed.

    Examples
    --------
    ::

        try:
            samples = tt.monte_carlo(m, distributions, run, n=10_000, workers=4)
        except tt.SweepInterrupt as stopped:
            samples = stopped.found
    """

    def __init__(self, message: str, found: Any = None) -> None:
        super().__init__(message)
        self.found = found

    def __reduce__(self) -> tuple[Any, ...]:
        """Send only the message to another process."""
        return type(self), self.args


def read_workers(workers: Any) -> int | Executor:
    """Return a number of processes, or an executor, checked. Raises `ModelError` if it is neither."""
    if isinstance(workers, Executor):
        return workers
    expected = f"a number of processes from 1 to {_MOST:,}, or an executor of concurrent.futures"
    return read_count(Finding("wrong-type", "workers", workers, expected, "leave it out for one"), 1, _MOST)


class Spread:
    """Answers the tasks of a sweep; to be used in a ``with`` statement, which ends the processes and writes the file.

    - `make`, `arguments`: ``make(*arguments)`` returns the function that answers a task, in each process;
    - `workers`: one process is this one;
    - `died`: ``f(task, how)``, what a task comes to whose processes died, after some tries: its result, or an error; `how` says
      what became of them;
    - `method`: how processes start, ``"fork"``, ``"spawn"`` or ``"forkserver"``. Forked ones, the default on Linux,
      take functions of any kind;
    - `checkpoint`: keeps the answers.

    `key` in the methods is a task's own, the same in every run of the sweep.
    """

    def __init__(
        self,
        make: Make,
        arguments: tuple[Any, ...],
        workers: int | Executor,
        died: Callable[[Any, str], Any],
        method: str | None = None,
        checkpoint: Any = None,
    ) -> None:
        self._died, self.checkpoint = died, checkpoint
        self._tasks: dict[Hashable, Any] = {}
        self._answers: dict[Hashable, Answer] = {}
        self._crew: Here | Processes | Borrowed
        if isinstance(workers, Executor):
            self._crew = Borrowed(make, arguments, workers)
        else:
            self._crew = Processes(make, arguments, workers, method) if workers > 1 else Here(make, arguments)

    def __enter__(self) -> Spread:
        self._open = ExitStack()
        self._open.enter_context(one_thread())
        if self.checkpoint is not None:
            self._open.callback(self.checkpoint.save)
        self._open.callback(self._crew.end)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open.close()

    def ask(self, key: Hashable, task: Any) -> None:
        """Add a task, unless it was asked or is answered in the checkpoint."""
        if key not in self._tasks:
            self._tasks[key] = task
            if self.checkpoint is None or key not in self.checkpoint:
                self._crew.give(key, task)

    def answer(self, key: Hashable) -> Any:
        """Return the answer to a task that was asked, once it is there.

        Raises what the function raises for the task; `ModelError` if processes cannot start, or functions or results cannot be
        sent between them.
        """
        if self.checkpoint is not None and key in self.checkpoint and key not in self._answers:
            del self._tasks[key]
            return self.checkpoint.answer(key)[1]
        while key not in self._answers:
            for answer in self._crew.answers(key):
                self._answers[answer.key] = answer
                self._keep(answer)
        task, answer = self._tasks.pop(key), self._answers.pop(key)
        if answer.how:
            good, result = True, self._died(task, answer.how)
        else:
            good, result = (True, answer.result) if answer.message is None else pickle.loads(answer.message)
        if not good or isinstance(result, Exception):
            raise result
        return result

    def forget(self) -> None:
        """Take back the tasks that are not answered."""
        for key in self._tasks:
            self._crew.forget(key)
        self._tasks.clear()

    def here(self, key: Hashable, function: Callable[[], Any]) -> Any:
        """Return the answer of a function, computed in this process unless it is in the checkpoint."""
        if self.checkpoint is not None and key in self.checkpoint:
            return self.checkpoint.answer(key)[1]
        answer = Answer(key, result=function())
        self._keep(answer)
        return answer.result

    def results(self, tasks: list[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        """Yield the key and the answer of each task, in their order; after Ctrl-C those that are there, before it is raised.

        The list of keys and tasks may grow meanwhile.
        """
        asked = done = 0
        try:
            while done < len(tasks):
                for key, task in tasks[asked:]:
                    self.ask(key, task)
                asked = len(tasks)
                answer = self.answer(tasks[done][0])
                done += 1
                yield tasks[done - 1][0], answer
        except KeyboardInterrupt:
            for key, _ in tasks[done:asked]:
                if key in self._answers or (self.checkpoint is not None and key in self.checkpoint):
                    yield key, self.answer(key)
            raise

    def _keep(self, answer: Answer) -> None:
        if self.checkpoint is None or answer.how:
            return
        message = answer.message if answer.message is not None else pickle.dumps((True, answer.result))
        if answer.message is None or pickle.loads(message)[0]:
            self.checkpoint.put(answer.key, message)


def spread(
    tasks: Any,
    make: Make,
    arguments: tuple[Any, ...],
    workers: int | Executor,
    died: Callable[[Any, str], Any],
    method: str | None = None,
) -> Iterator[Any]:
    """Yield what a function returns for each task, in the tasks' order; arguments are as in `Spread`."""
    with Spread(make, arguments, workers, died, method) as sweep:
        for _, result in sweep.results(list(enumerate(tasks))):
            yield result
