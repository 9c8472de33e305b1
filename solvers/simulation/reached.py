"""Solutions in the making, step by step."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array


class Seen(NamedTuple):
    """What an event's function was when it was looked at last.

    Attributes
    ----------
    value : float
    since : float, s
        When it was seen to come to zero, if it is zero, and
    way : {-1, 0, 1}
        whether it had fallen or risen to that; 0 where it began.
    """

    value: float
    since: float
    way: int

    @property
    def sign(self) -> int:
        """Sign of the value, or zero."""
        return int(self.value > 0) - int(self.value < 0)

    def then(self, t: float, value: float) -> Seen:
        """Return what it is at a later look."""
        return self if value == self.value == 0 else Seen(value, t, -self.sign)


class Found:
    """Times and states of an event, and what was seen of it last, from the first look on."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.states: list[Array] = []
        self.seen: Seen | None = None


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
