"""Choices by value, for one state and in *lanes*: with the numbers of several states side by side.

There a value cannot decide an ``if``. `everywhere` asks about all of them, `select` takes for each what holds for it.
"""

from __future__ import annotations

import math
from typing import Any


class Undecided:
    """A truth that is not known while a program is made (`titop.blocks.programs.graph`)."""

    __slots__ = ()

    def choose(self, x: Any, y: Any) -> Any:
        """Return what is x where this is true, else y."""
        raise NotImplementedError


def everywhere(truth: Any) -> bool:
    """Tell whether something is so in all lanes; the bits of a lane may not depend on the answer, since others decide it."""
    return not isinstance(truth, Undecided) and bool(truth)


def nowhere(truth: Any) -> bool:
    """Tell whether something is so in no lane."""
    return everywhere(select(truth, 0.0, 1.0) > 0.0)


def select(chosen: Any, x: Any, y: Any) -> Any:
    """Return x where it is chosen, else y; both are computed."""
    if isinstance(chosen, Undecided):
        return chosen.choose(x, y)
    return x if chosen else y


def rounded(x: Any) -> Any:
    """Return the nearest whole number, of two the even one."""
    return float(round(x)) if math.isfinite(x) else x


def positive(x: Any) -> Any:
    """Return x where it is positive, else zero."""
    return select(x.real > 0.0, x, 0.0 * x)
