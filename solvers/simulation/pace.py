"""Telling of simulations that would not end: their steps are bounded to be too short, or something switches all the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf, isfinite

import numpy as np

from titop.blocks.basics.errors import Finding, warn
from titop.blocks.basics.spatial import Array
from titop.solvers.support.progress import SHOW_AFTER

#: A simulation that would take longer than this (s) from there on is told of.
_LONG = 60.0
#: A bound is what makes steps short where they are longer than this part of it, taken all together.
_BINDING = 0.5
#: What switches is what makes steps short where there are no more steps than this from one switch to the next: some twenty
#: until they are as long as before, where what acts jumps.
_BETWEEN = 30
#: So many switches are looked at together at least.
_SEVERAL = 20


class Pace:
    """Looks once, after a second of steps, how long the rest will take.

    Parameters
    ----------
    start, end : float, s
    bounds : mapping of argument to float, s
        What bounds the steps, as users call it: `max_step`, a fixed step, the time between a controller's samples.
    """

    def __init__(self, start: float, end: float, bounds: Mapping[str, float]) -> None:
        self._argument, self._bound = min(bounds.items(), key=lambda item: item[1], default=("max_step", inf))
        self._span = end - start
        self._end, self._begun_at, self._look_at = end, start, inf
        self._begun = self._first = 0.0

    def look(self, t: float, steps: Callable[[], float]) -> None:
        """Look at the time `t` (s) that was reached in some `steps`, which are asked for when it is due.

        Warns
        -----
        ModelWarning
            Telling how many steps the bound asks for, where it is what makes them short.
        """
        now = time.perf_counter()
        if not self._begun:
            self._begun, self._begun_at, self._look_at, self._first = now, t, now + SHOW_AFTER, steps()
        if now < self._look_at:
            return
        self._look_at = inf
        left = (self._end - t) * (now - self._begun) / (t - self._begun_at) if t > self._begun_at else inf
        if left < _LONG or not isfinite(self._bound):
            return
        if t - self._begun_at < _BINDING * self._bound * (steps() - self._first):  # something else makes them shorter
            return
        found = f"{self._bound:.3g} s, which asks for {self._span / self._bound:.2g} steps over {self._span:.3g} s"
        expected = f"steps that end: these will take {_duration(left)} more"
        warn([Finding("many-steps", self._argument, found, expected, "lengthen it, or interrupt (Ctrl-C keeps what is there)")])


class Chatter:
    """Looks after every second of steps in which something has switched several times how long the rest will take; tells once.

    Parameters
    ----------
    owners : sequence of str
        The blocks whose gaps switch, gap by gap.
    end : float, s
    """

    def __init__(self, owners: Sequence[str], end: float) -> None:
        self._owners, self._end, self._told = owners, end, False
        self._before: tuple[float, float, Array, float] | None = None

    def look(self, t: float, counts: Array, steps: Callable[[], float]) -> None:
        """Look at the time `t` (s), at which something switches, and how often each gap did (n), in some `steps`.

        Warns
        -----
        ModelWarning
            Naming the block that switches most, if these switches are what makes steps short.
        """
        now = time.perf_counter()
        if self._before is not None and (self._told or now < self._before[0] + SHOW_AFTER):
            return
        here = now, t, counts.copy(), steps()
        then, since, counted, made = self._before or here
        switches, advanced = counts - counted, t - since
        if self._before is not None and switches.sum() < _SEVERAL:
            return
        self._before = here
        left = (self._end - t) * (now - then) / advanced if advanced > 0 else inf
        if not switches.any() or left < _LONG or here[3] - made > _BETWEEN * switches.sum():
            return
        self._told, most = True, int(np.argmax(switches))
        found = f"{int(switches[most])} switches in {advanced:.2g} s, up to t = {t:.6g} s"
        expected = f"one now and then: at this rate the simulation takes {_duration(left)} more"
        advice = "let the law change smoothly there, by a softer spring or dissipation, or give what it moves a mass"
        warn([Finding("chattering", f"{self._owners[most]}.gaps", found, expected, advice)])


def _duration(seconds: float) -> str:
    """Return a duration in words."""
    if seconds == inf:
        return "for ever"
    for unit, length in (("years", 3.156e7), ("days", 86400.0), ("hours", 3600.0)):
        if seconds > 2 * length:
            return f"about {seconds / length:.2g} {unit}"
    return f"about {seconds / 60:.2g} minutes"
