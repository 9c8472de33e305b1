"""Steps along a curve of equilibria: long where it is straight, short where it bends or others are near."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError
from titop.solvers.equilibrium.path_curve import Curve, Station
from titop.solvers.equilibrium.path_events import Event, events_between

#: Steps grow by this factor where the cosine of the angle between the tangents at both ends is more than that.
_GROWTH, _STRAIGHTER = 1.5, 0.98

#: Where the curve is said to end: steps of this part of the longest.
_LEAST = 2.0**-20

#: Stations closer together than this, their multipliers too, are the same one.
_SAME = 1e-6


class Step(NamedTuple):
    """A step along the curve.

    Attributes
    ----------
    events : list of Event
        What happens on the way, in this order.
    reached : Station
    end : {"", "left", "closed"}
        How the curve ends there: the load factor leaves its range, or the start is reached again.
    """

    events: list[Event]
    reached: Station
    end: str


def steps_along(curve: Curve, start: Station, longest: float, within: tuple[float, float]) -> Iterator[Step]:
    """Yield the steps from a station until the load factor leaves a range or the curve is closed.

    Parameters
    ----------
    curve : Curve
    start : Station
    longest : float
        Longest step.
    within : pair of float
        The range.

    Raises
    ------
    ConvergenceError
        Where the curve ends, with the load factor there.
    """
    station, length = start, longest / 4
    while True:
        try:
            step = _step(curve, start, station, length, within)
        except ConvergenceError as error:
            length /= 2
            if length < _LEAST * longest:
                raise ConvergenceError(
                    f"the path ends near a load factor of {station.y[0]:.6g}: {error}; a contact or a cable may let go "
                    "there, or a block refuse its parameters: narrow within, or begin beyond it from a guess"
                ) from None
            continue
        yield step
        if step.end:
            return
        if curve.product(step.reached.tangent, station.tangent) > _STRAIGHTER:
            length = min(_GROWTH * length, longest)
        station = step.reached


def _step(curve: Curve, start: Station, station: Station, length: float, within: tuple[float, float]) -> Step:
    """Return a step of some length, or to where the curve ends.

    Raises
    ------
    ConvergenceError
        If there is none, or it may lead to another curve.
    """
    reached, end = curve.along(station, length), ""
    back = _start_again(curve, start, station, reached)
    if back is not None:
        reached, end = back, "closed"
    elif not within[0] < reached.y[0] < within[1]:
        reached, end = curve.at_factor(station, reached, within[1] if reached.y[0] >= within[1] else within[0]), "left"
    return Step(events_between(curve, station, reached), reached, end)


def _start_again(curve: Curve, start: Station, before: Station, after: Station) -> Station | None:
    """Return the start, angles turned by whole turns, if a step passes it the way it was left; else None.

    Raises
    ------
    ConvergenceError
        Where the step has no part as long as that to the start.
    """
    again, length = curve.turned(start, before), curve.distance(before, after)
    ahead = curve.product(again.y - before.y, before.tangent)
    if not (0.0 < ahead <= length and curve.distance(before, again) <= length):
        return None
    passed = curve.along(before, ahead)
    same = np.allclose(passed.y, again.y, rtol=0.0, atol=_SAME) and np.allclose(
        passed.tangent, again.tangent, rtol=0.0, atol=_SAME
    )
    return passed if same else None
