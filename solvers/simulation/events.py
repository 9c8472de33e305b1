"""Events: zeros of functions of time and state that a simulation watches for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EPS, ROUNDING
from titop.blocks.basics.user_functions import check_switch, function_of_state
from titop.blocks.basics.user_input import read_number, real_array
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.steppers import LastStep

#: How long a function has to stay zero, in parts of the whole time, for the end of that to count: longer than rounding keeps
#: at zero a function that leaves it with a horizontal tangent.
_LASTING = 30 * float(np.sqrt(ROUNDING))
#: Tolerances of the time of a zero: relative, and in s.
_EXACT = 4 * EPS
#: Most evaluations to find one: multiple zeros take several times as many as bisection.
_MOST = 1000


@dataclass(frozen=True)
class Event:
    """A zero of a function of time and state, to be found during a simulation.

    Parameters
    ----------
    function : callable ``f(t, q, v) -> float`` or ``f(t) -> float``
    name : str
        Key of the event's times in `Trajectory.events`.
    terminal : bool
        Whether the simulation ends at the event.
    direction : {-1, 0, 1}
        Count falling zeros only (-1), all (0), or rising zeros only (1).

    Notes
    -----
    Changes of sign are looked for between output times and eighths of the integrator's steps; the longest steps are about a
    quarter of a period. Two changes of sign within less are missed: add output times, or reduce ``max_step``.

    A function may be zero for a while, such as ``max(0, x)`` or a comparison (zero where it is false). It counts where it falls
    or rises to zero, and where it leaves zero, unless it leaves in the direction in which it came. Leaving zero right at the
    start does not count. Other events at the instant of a terminal event are recorded too.
    """

    function: Callable[..., float]
    name: str = "event"
    terminal: bool = True
    direction: int = 0


class EventValue(NamedTuple):
    """An event function at its last evaluation.

    - `since` (s): when it was first seen at zero, if it is zero;
    - `way`, {-1, 0, 1}: whether it had fallen or risen to zero; 0 at the start.
    """

    value: float
    since: float
    way: int

    @property
    def sign(self) -> int:
        """Sign of the value, or zero."""
        return int(self.value > 0) - int(self.value < 0)

    def at(self, t: float, value: float) -> EventValue:
        """Return the record for a later evaluation."""
        return self if value == self.value == 0 else EventValue(value, t, -self.sign)


class WatchedEvent:
    """An event as a function of time and state ``y``, and its occurrences.

    - `terminal`, `direction`: as those of the event;
    - `states`: at the occurrences;
    - `seen`: the function at its last evaluation; None before the first.
    """

    def __init__(self, plant: DrivenModel, event: Event) -> None:
        self._plant, self._event = plant, event
        self._function = function_of_state(f"event {event.name!r}", event.function)
        self.terminal, self.direction = event.terminal, int(event.direction)
        self.times: list[float] = []
        self.states: list[Array] = []
        self.seen: EventValue | None = None

    def __call__(self, t: float, y: Array) -> float:
        """Return the function's value."""
        returned = self._function(t, *self._plant.split(t, np.array(y)))
        number = returned if isinstance(returned, float) else self._read(returned)
        if math.isnan(number):
            where, advice = f"event {self._event.name!r} at t = {t:.6g} s", "its function must have a sign at every state"
            raise ModelError(Finding("not-finite", where, number, "a number", advice))
        return number

    def begin_at(self, t: float, y: Array) -> None:
        """Look at the function where a simulation begins; one that goes on has `seen` it."""
        if self.seen is None:
            self.seen = EventValue(self(t, y), t, 0)

    def memory(self) -> Array:
        """Return the function's value at its last evaluation, since when (s) it is zero, and which way it came there."""
        return np.array(self.seen or (math.nan, 0.0, 0), dtype=float)

    def recall(self, memory: Array) -> None:
        """Go on as after the simulation that left a `memory`."""
        value, since, way = memory.tolist()
        self.seen = None if math.isnan(value) else EventValue(value, since, int(way))

    def _read(self, returned: Any) -> float:
        value = None if returned is None else real_array(returned)
        if value is None or value.size != 1:
            raise ModelError(Finding("wrong-type", f"event {self._event.name!r}", returned, "a number", "return a float"))
        return float(value.ravel()[0])


def read_events(plant: DrivenModel, events: Event | Sequence[Event]) -> dict[str, WatchedEvent]:
    """Return the functions of time and state ``y`` that events stand for, by name."""
    listed = [events] if isinstance(events, Event) or not isinstance(events, Iterable) else list(events)
    for event in listed:
        if not isinstance(event, Event):
            raise ModelError(Finding("wrong-type", "events", event, "tt.Event objects", "write tt.Event(f, name=...)"))
        where = f"event {event.name!r}"
        function_of_state(where, event.function)
        check_switch(f"{where}, terminal", event.terminal)
        way, advice = event.direction, "take 0 for all zeros, 1 for rising and -1 for falling ones"
        wrong = Finding("bad-direction", f"{where}, direction", way, "-1, 0 or 1", advice)
        if isinstance(way, bool | np.bool_):
            raise ModelError(wrong)
        read_number(wrong, lambda x: x in (-1, 0, 1))
    names = [event.name for event in listed]
    if len(set(names)) < len(names):
        raise ModelError(Finding("duplicate-name", "events", names, "names that differ", 'write tt.Event(f, name="...")'))
    return {event.name: WatchedEvent(plant, event) for event in listed}


def find_events(events: Sequence[WatchedEvent], step: LastStep, times: Array) -> float | None:
    """Append the occurrences within a step to the events; return the time (s) of the first terminal one.

    Changes of sign are looked for between the step's ends, the output `times` in it, and points that divide it into equal
    parts.
    """
    within = times[np.searchsorted(times, step.begin, "right") : np.searchsorted(times, step.end)]
    places = sorted({*within.tolist(), *step.split()} - {step.end})
    step.states(places)
    lasting, t = _LASTING * float(times[-1] - times[0]), step.begin
    for then in (*places, step.end):
        if (end := _find_between(events, step, (t, then), lasting)) is not None:
            return end
        t = then
    return None


def _find_between(events: Sequence[WatchedEvent], step: LastStep, span: tuple[float, float], lasting: float) -> float | None:
    """Append the occurrences within a part of the step, its end included; return the time (s) of the first terminal event."""
    zeros: list[tuple[float, WatchedEvent]] = []
    state = step.state(span[1])
    for event in events:
        seen = event.seen
        assert seen is not None
        now = event.seen = seen.at(span[1], event(span[1], state))
        way = (now.sign > seen.sign) - (now.sign < seen.sign)
        passes = seen.value != 0 or seen.way != way  # what has come from the other side was found when it came
        if way and passes and event.direction in (0, way):
            zero = _zero(event, step, seen, now, span)
            if seen.value != 0 or zero - seen.since > lasting:
                zeros.append((zero, event))
    end = min((t for t, event in zeros if event.terminal), default=math.inf)
    for t, event in zeros:
        if t <= end + 2 * _EXACT * (1 + abs(end)):
            event.times.append(min(t, end))
            event.states.append(step.state(min(t, end)))
    return end if end < math.inf else None


def _zero(event: WatchedEvent, step: LastStep, seen: EventValue, now: EventValue, span: tuple[float, float]) -> float:
    """Return when an event's sign changes; where a function becomes or ceases to be zero, it already has its new sign there."""

    def along(t: float) -> float:
        return seen.value if t == span[0] else event(t, step.state(t))

    if seen.value != 0 and now.value != 0:
        from scipy.optimize import brentq

        return float(brentq(along, *span, xtol=_EXACT, rtol=_EXACT, maxiter=_MOST))
    begin, end = span
    while begin < (middle := 0.5 * (begin + end)) < end and end - begin > _EXACT * (1 + abs(end)):
        begin, end = (begin, middle) if now.at(middle, along(middle)).sign == now.sign else (middle, end)
    return end
