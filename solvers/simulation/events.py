"""Events: zeros of functions of time and state that a simulation watches for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_function, check_switch
from titop.blocks.basics.user_input import real_array
from titop.solvers.simulation.driven_model import DrivenModel

#: An event: its function of time and state, with `terminal` and `direction` as attributes.
Watched = Callable[[float, Array], float]


@dataclass(frozen=True)
class Event:
    """Something to watch for: a zero of a function of time and state.

    Parameters
    ----------
    function : callable ``f(t, q, v) -> float``
    name : str
        Key of the times in `Trajectory.events`.
    terminal : bool
        Whether the simulation ends there.
    direction : {-1, 0, 1}
        Count only falling, all, or only rising zeros.

    Notes
    -----
    Changes of sign are looked for between output times and eighths of the integrator's steps, the longest of which are some
    quarter of a period. What begins and ends within less is missed: more output times, or ``max_step``, look more closely.

    A function that is zero for a while, such as ``max(0, x)`` or a comparison (zero where it is false), counts where it falls
    or rises to zero, and where it leaves zero, unless that goes on as it came. What leaves zero right at the start does not
    count. Whatever else happens at the instant of a terminal event is found too.
    """

    function: Callable[[float, Array, Array], float]
    name: str = "event"
    terminal: bool = True
    direction: int = 0


def read_events(plant: DrivenModel, events: Event | Sequence[Event]) -> dict[str, Watched]:
    """Return the functions of time and state ``y`` that events stand for, by name.

    Raises
    ------
    ModelError
        For what is no event, and names that are there twice.
    """
    given = [events] if isinstance(events, Event) or not isinstance(events, Iterable) else list(events)
    for event in given:
        if not isinstance(event, Event):
            raise ModelError(Finding("wrong-type", "events", event, "tt.Event objects", "write tt.Event(f, name=...)"))
        where = f"event {event.name!r}"
        check_function(where, event.function, "t, q, v")
        check_switch(f"{where}, terminal", event.terminal)
        way = real_array(event.direction)
        if isinstance(event.direction, bool | np.bool_) or way is None or way.shape != () or way not in (-1, 0, 1):
            advice = "take 0 for all zeros, 1 for rising and -1 for falling ones"
            raise ModelError(Finding("bad-direction", f"{where}, direction", event.direction, "-1, 0 or 1", advice))
    names = [event.name for event in given]
    if len(set(names)) < len(names):
        raise ModelError(Finding("duplicate-name", "events", names, "names that differ", 'write tt.Event(f, name="...")'))
    return {event.name: _watched(plant, event) for event in given}


def _number(event: Event, returned: Any) -> float:
    value = None if returned is None else real_array(returned)
    if value is None or value.size != 1:
        raise ModelError(Finding("wrong-type", f"event {event.name!r}", returned, "a number", "return a float"))
    return float(value.ravel()[0])


def _watched(plant: DrivenModel, event: Event) -> Watched:
    def watched(t: float, y: Array, *_: Any) -> float:
        returned = event.function(t, *plant.split(t, np.array(y)))
        number = returned if isinstance(returned, float) else _number(event, returned)
        if math.isnan(number):
            where, advice = f"event {event.name!r} at t = {t:.6g} s", "its function must have a sign at every state"
            raise ModelError(Finding("not-finite", where, number, "a number", advice))
        return number

    watched.terminal = event.terminal  # type: ignore[attr-defined]
    watched.direction = int(event.direction)  # type: ignore[attr-defined]
    return watched
