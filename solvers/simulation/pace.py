"""Telling of simulations whose steps are bounded to be so short that they would not end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from math import inf, isfinite

from titop.blocks.basics.errors import Finding, warn
from titop.solvers.support.progress import SHOW_AFTER

#: A simulation that would take longer than this (s) from there on is told of.
_LONG = 60.0
#: A bound is what makes steps short where they are longer than this part of it, taken all together.
_BINDING = 0.5


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


def _duration(seconds: float) -> str:
    """Return a duration in words."""
    for unit, length in (("years", 3.156e7), ("days", 86400.0), ("hours", 3600.0)):
        if seconds > 2 * length:
            return f"about {seconds / length:.2g} {unit}"
    return f"about {seconds / 60:.2g} minutes"
