"""Solutions in the making: step by step, and over consecutive intervals, joined at the output times."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.simulation.interruption import SimulationInterrupt, stopped

#: Times this close, relatively to the interval between two of their kind, count as one.
ROUNDING = 1e-9


class Found:
    """Times and states of an event."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.states: list[Array] = []


class Reached:
    """What an integration has reached, step by step.

    Parameters
    ----------
    t : float, s
    y0 : array
        State at the beginning.
    events : int
        How many are watched for.

    Attributes
    ----------
    outputs : list of array
        States at the output times.
    found : list of Found
    last : (float, array)
        Time and state at the end of the last step.
    ended : bool
        Whether an event ended it.
    """

    def __init__(self, t: float, y0: Array, events: int) -> None:
        self.outputs = [y0]
        self.found = [Found() for _ in range(events)]
        self.last = (t, y0)
        self.ended = False

    def solution(self, times: Array) -> SimpleNamespace:
        """Return it as CyRK returns solutions."""
        return SimpleNamespace(
            t=times[: len(self.outputs)],
            y=np.array(self.outputs).T,
            t_events=[event.times for event in self.found],
            y_events=[np.array(event.states).T for event in self.found],
            event_terminated=self.ended,
        )


class SolutionPieces:
    """What the integrator returns for consecutive intervals.

    Parameters
    ----------
    times : (n,) array, s
        Output times.

    Attributes
    ----------
    ended : bool
        Whether an event ended the last one.
    """

    def __init__(self, times: Array) -> None:
        self._times = times
        self._margin = ROUNDING * (times[-1] - times[0]) / len(times)
        self._solutions: list[Any] = []
        self.ended = False

    def within(self, begin: float, end: float) -> Array:
        """Return the beginning, the output times strictly between, and the end."""
        first, last = np.searchsorted(self._times, [begin + self._margin, end - self._margin])
        return np.concatenate([[begin], self._times[first:last], [end]])

    def add(self, solution: Any) -> Array:
        """Keep a solution and return its last state."""
        self._solutions.append(solution)
        self.ended = bool(solution.event_terminated)
        return np.array(solution.y)[:, -1]

    def stopped(self, interrupt: KeyboardInterrupt) -> KeyboardInterrupt:
        """Return the exception for a simulation that was stopped, with all solutions and that in the making."""
        if isinstance(interrupt, SimulationInterrupt):
            self.add(interrupt.solution)
        if not self._solutions:
            return interrupt
        last = self._solutions[-1]
        return stopped((last.t[-1], np.array(last.y)[:, -1]), self._times[-1], self.joined())

    def joined(self) -> Any:
        """Return one solution."""
        t = np.concatenate([solution.t for solution in self._solutions])
        y = np.concatenate([np.array(solution.y) for solution in self._solutions], axis=1)
        found = np.searchsorted(t, self._times - self._margin)
        found = found[found < len(t)]
        times = self._times[: len(found)]
        events = [self._event(k) for k in range(len(self._solutions[0].t_events or ()))]
        return SimpleNamespace(t=times, y=y[:, found], t_events=[t for t, _ in events], y_events=[y for _, y in events])

    def _event(self, k: int) -> tuple[Array, Array]:
        """Return times and states of an event; one that is found at the end and again at the next beginning is one."""
        found: list[tuple[float, Array]] = []
        for solution in self._solutions:
            if not np.size(solution.t_events[k]):
                continue
            for t, y in zip(solution.t_events[k], np.array(solution.y_events[k]).T, strict=True):
                if not found or t - found[-1][0] > self._margin:
                    found.append((t, y))
        return np.array([t for t, _ in found]), np.array([y for _, y in found]).T
