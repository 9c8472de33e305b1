"""Steps along a curve of equilibria: long where it is straight, short where it bends or others are near."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from titop.blocks.basics.errors import ConvergenceError
from titop.solvers.equilibrium.path_curve import Curve, Station
from titop.solvers.equilibrium.path_events import Event, events_between

#: Steps grow by this factor where the cosine of the angle between the tangents at both ends is more than that.
_GROWTH, _STRAIGHTER = 1.5, 0.98

#: Where the curve is said to end: steps of this part of the longest.
_LEAST = 2.0**-20


class Step(NamedTuple):
    """A step along the curve.

    Attributes
    ----------
    events : list of Event
        What happens on the way, in this order.
    reached : Station
    last : bool
        Whether the load factor leaves its range there.
    """

    events: list[Event]
    reached: Station
    last: bool


def steps_along(curve: Curve, start: Station, longest: float, within: tuple[float, float]) -> Iterator[Step]:
    """Yield the steps from a station until the load factor leaves a range.

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
            step = _step(curve, station, length, within)
        except ConvergenceError as error:
            length /= 2
            if length < _LEAST * longest:
                raise ConvergenceError(
                    f"the path ends near a load factor of {station.y[0]:.6g}: {error}; a contact or a cable may let go "
                    "there, or a block refuse its parameters: narrow within, or begin beyond it from a guess"
                ) from None
            continue
        yield step
        if step.last:
            return
        if curve.product(step.reached.tangent, station.tangent) > _STRAIGHTER:
            length = min(_GROWTH * length, longest)
        station = step.reached


def _step(curve: Curve, station: Station, length: float, within: tuple[float, float]) -> Step:
    """Return a step of some length, or to where the load factor leaves its range.

    Raises
    ------
    ConvergenceError
        If there is none, or it may lead to another curve.
    """
    reached = curve.along(station, length)
    last = not within[0] < reached.y[0] < within[1]
    if last:
        reached = curve.at_factor(station, reached, within[1] if reached.y[0] >= within[1] else within[0])
    return Step(events_between(curve, station, reached), reached, last)
