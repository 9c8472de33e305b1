"""What happens on a path of equilibria between two stations: its load factor turns round, or stability changes.

A step may also have left the path: where another one is next to it, as next to the buckling of what is not quite straight. Then
stability changes from one to the other, and the line between the two does not shrink to a point when it is halved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError
from titop.solvers.equilibrium.description import efforts_of_motions, negative_stiffnesses
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.path_curve import Curve, Station

#: Lengths on the curve: how exactly events are found; what is closer together is one event, and paths as close are one: what is
#: left of the equations, 1e-9, may part them by its root.
_EXACT, _SAME = 1e-10, 3e-5

#: Half of a step, seen from its other end, is no more than this part of it.
_HALF = 0.9

#: A tangent's part along the load factor that rounding does not make negative.
_NEGATIVE = 1e-12

#: Eigenvalues oscillate whose imaginary part is more than this part of the largest one.
_PAIR = 1e-6


class Event(NamedTuple):
    """The station at which something happens, and what: ``"limit"``, ``"bifurcation"`` or ``"flutter"``."""

    station: Station
    kind: str


def events_between(curve: Curve, before: Station, after: Station) -> list[Event]:
    """Return what happens between two stations of a step, in this order.

    Raises
    ------
    ConvergenceError
        Where no path leads from one to the other.
    """
    events = []
    while _state(before) != _state(after):
        near, far = before, after
        for near, far in _halved(curve, before, after, _state):
            if curve.distance(near, far) <= _SAME:
                break
        before = _onwards(curve, far, after)
        for kind, state in KINDS.items():
            if state(near) != state(before):
                events.append(Event(_first(curve, near, before, state), kind))
                break
    return events


def _halved(curve: Curve, near: Station, far: Station, state: Callable[[Station], object]) -> Iterator[tuple[Station, Station]]:
    """Yield stations closer and closer together, between which a state changes first.

    Raises
    ------
    ConvergenceError
        Where they are on different paths.
    """
    begin, length = state(near), curve.distance(near, far)
    while length > _EXACT:
        middle = curve.between(near, far)
        near, far = (middle, far) if state(middle) == begin else (near, middle)
        length, last = curve.distance(near, far), length
        if length > _HALF * last:
            raise ConvergenceError("another branch is near")
        yield near, far


def _onwards(curve: Curve, far: Station, after: Station) -> Station:
    """Return a station so far on that what happened before is over."""
    length = curve.distance(far, after)
    return curve.between(far, after, _SAME / length) if length > _SAME else after


def _first(curve: Curve, near: Station, far: Station, state: Callable[[Station], object]) -> Station:
    """Return the first station in another state, as exactly as the curve can be followed there."""
    first = far
    with suppress(ConvergenceError):
        for pair in _halved(curve, near, far, state):
            first = pair[1]
    return first


def _state(station: Station) -> tuple[object, ...]:
    """Return all that changes where something happens."""
    return tuple(state(station) for state in KINDS.values())


def _unloading(station: Station) -> bool:
    """Tell whether the load factor falls."""
    return bool(station.tangent[0] < -_NEGATIVE)


def _falling(point: OperatingPoint) -> int:
    """Return in how many directions a point at rest has a negative stiffness; of one that moves, how many modes grow alone."""
    if point.v.any():
        return len(point.growing) - _oscillating(point)
    return negative_stiffnesses(-efforts_of_motions(point, point.forward_derivatives[0]))


def _oscillating(point: OperatingPoint) -> int:
    """Return how many eigenvalues of oscillations grow."""
    return int((np.abs(point.growing.imag) > _PAIR * np.abs(point.eigenvalues).max(initial=0.0)).sum())


#: What changes at an event of each kind; of several at once the first one counts.
KINDS: dict[str, Callable[[Station], object]] = {
    "limit": _unloading,
    "bifurcation": lambda station: _falling(station.point),
    "flutter": lambda station: _oscillating(station.point),
}
