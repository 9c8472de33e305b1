"""The curve of equilibria over unknowns and a load factor: steps along it, and events in these steps.

A step goes along the tangent and returns to the curve perpendicular to it (Keller 1977, pseudo-arclength), so that it passes
points at which the load factor turns round. Steps are long where the curve is straight, and short where it bends or other
curves are near. Lengths are those of `TrimUnknowns`; the load factor is not scaled.

Events in a step are that the load factor turns round, or that stability changes. The step may also have jumped to another path
close by, as near the buckling of an imperfect structure. Then stability differs between the two paths, and bisection does not
shrink the line between the two points to one point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSED, EXACT, NEAR_AXIS, SAME
from titop.solvers.equilibrium.equations import AccelerationEquations, easiest, negative_stiffnesses, stiffness_at
from titop.solvers.equilibrium.newton import Course, newton, shortest_solution
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.search import Candidate
from titop.solvers.equilibrium.sizes import sizes_of
from titop.solvers.equilibrium.unknowns import TrimUnknown, TrimUnknowns
from titop.solvers.signals.quantities import Kind

# -- the curve -------------------------------------------------------------------------------------------------------------

#: Smallest cosine of the angle between the tangents at both ends of a step.
_STRAIGHT = 0.9

#: Newton steps to return to the curve.
_ITERATIONS = 12


class Station(NamedTuple):
    """An equilibrium on the curve.

    - `y` (n): load factor, unknowns, and multipliers where loops are closed;
    - `tangent` (n): of unit length without the multipliers, in the direction in which the curve is followed.
    """

    y: Array
    tangent: Array
    point: OperatingPoint


class Curve:
    """Equilibria over a load factor, from that at zero, the start.

    From zero to one it changes the quantities `names` by `changes` (m, in their own units). `tolerance` is as in `trim`, `axes`
    as in `TrimUnknowns`. Where there is no equilibrium, or Newton's method does not converge directly, the methods that return
    a station raise a ConvergenceError.
    """

    def __init__(
        self,
        start: OperatingPoint,
        names: Sequence[str],
        unknowns: Sequence[str | TrimUnknown],
        changes: Array,
        tolerance: float,
        axes: Array | None = None,
    ) -> None:
        loaded = TrimUnknowns(start, names)
        sizes = sizes_of(loaded.with_values(loaded.values() + changes))
        self._unknowns, self._tolerance = TrimUnknowns(start, [*names, *unknowns], sizes, axes), tolerance
        self._judged = AccelerationEquations(self._unknowns)
        self._equations = easiest(self._judged)
        count, loads, multipliers = len(self._unknowns.entries), len(names), self._equations.multipliers
        #: Maps y to the unknowns and multipliers of the equations.
        self._expand = np.zeros((count + multipliers, 1 + count - loads + multipliers))
        self._expand[:loads, 0] = changes / self._unknowns.scales[:loads]
        self._expand[loads:, 1:] = np.eye(count - loads + multipliers)
        #: Entries of y that count in lengths.
        self._weights = np.repeat([1.0, 0.0], [1 + count - loads, multipliers])
        self._turns = np.zeros(len(self._weights))
        self._turns[1 : 1 + count - loads] = [self._turn(k) for k in range(loads, count)]

    def _turn(self, k: int) -> float:
        """Return a whole turn of an unknown, in its scale; zero for unknowns that are not angles."""
        model, entry = self._unknowns.guess.model, self._unknowns.entries[k]
        plain = entry.kind == Kind.POSITION and model.mechanism.has_plain_coordinates(entry.number)
        turns = plain and model.mechanism.assembly.coordinate_units[entry.number] == "rad"
        return 2 * np.pi / self._unknowns.scales[k] if turns else 0.0

    def begin(self) -> Station:
        """Return the start, in the direction of growing load."""
        growing, start = np.eye(len(self._weights))[0], np.zeros(len(self._weights))
        begin = self._equations.begin(np.zeros(len(self._unknowns.entries)))
        start[len(start) - self._equations.multipliers :] = begin[len(self._unknowns.entries) :]
        station = self.across(start, growing, growing)
        station.y[0] = 0.0  # exactly, without rounding
        return station

    def _residual(self, y: Array) -> Array:
        return self._equations.residual(self._expand @ y)

    def _derivatives(self, y: Array) -> Array:
        return self._equations.derivatives(self._expand @ y) @ self._expand

    def _station(self, y: Array, towards: Array) -> Station:
        """Return the equilibrium at y, with a tangent at less than a right angle to a direction."""
        candidate = Candidate(self._judged, (self._expand @ y)[: len(self._unknowns.entries)], self._tolerance)
        candidate.refuse()
        by_y = candidate.by_x @ self._expand if self._equations is self._judged else self._derivatives(y)
        sizes = np.abs(by_y).max(axis=1, keepdims=True)
        bordered = np.vstack([by_y / np.where(sizes > 0, sizes, 1.0), self._weights * towards])
        tangent = shortest_solution(bordered, np.eye(len(bordered))[-1])
        return Station(y, tangent / np.linalg.norm(self._weights * tangent), candidate.point)

    def across(self, start: Array, normal: Array, towards: Array) -> Station:
        """Return the equilibrium next to `start` in the plane through it, normal to a vector; its tangent points `towards`."""
        if not np.isfinite(self._residual(start)).all():
            raise ConvergenceError("a block refuses its parameters, or cannot be evaluated")
        weight = float(np.abs(self._derivatives(start)).max(initial=0.0)) or 1.0  # scales the plane's equation to stiff ones
        plane, course, anywhere = weight * self._weights * normal, Course(strict=True), np.full(len(start), np.inf)
        y = newton(
            lambda y: np.append(self._residual(y), plane @ (y - start)),
            lambda y: np.vstack([self._derivatives(y), plane]),
            start,
            (-anywhere, anywhere),
            anywhere,
            _ITERATIONS,
            course,
            lengths=self._equations.lengths(len(start) - self._equations.multipliers),
        )
        station = self._station(y, towards)
        if course.strayed:
            raise ConvergenceError("another branch is near")
        return station

    def product(self, first: Array, second: Array) -> float:
        """Return the scalar product of two vectors, without multipliers."""
        return float((self._weights * first) @ second)

    def distance(self, near: Station, far: Station) -> float:
        """Return the length of the straight line between two stations."""
        return float(np.linalg.norm(self._weights * (far.y - near.y)))

    def nearest_turn(self, station: Station, towards: Station) -> Station:
        """Return a station with whole turns added to its angles so that it is closest to another one."""
        turns = np.divide(towards.y - station.y, self._turns, out=np.zeros(len(self._turns)), where=self._turns > 0)
        return station._replace(y=station.y + self._turns * np.round(turns))

    def along(self, station: Station, length: float) -> Station:
        """Return the equilibrium one step from a station: a length along its tangent, then in the plane across.

        None counts where the curve bends so much that it may be on another one.
        """
        reached = self.across(station.y + length * station.tangent, station.tangent, station.tangent)
        if self.product(reached.tangent, station.tangent) < _STRAIGHT:
            raise ConvergenceError("the path bends too sharply")
        return reached

    def between(self, near: Station, far: Station, part: float = 0.5) -> Station:
        """Return the equilibrium next to a point of the line from `near` (part 0) to `far` (1), in the plane across."""
        line = (far.y - near.y) / self.distance(near, far)
        return self.across(near.y + part * (far.y - near.y), line, line)

    def at_factor(self, near: Station, far: Station, factor: float) -> Station:
        """Return the equilibrium at a load factor between those of two stations."""
        part = (factor - near.y[0]) / (far.y[0] - near.y[0])
        start = near.y + part * (far.y - near.y)
        start[0] = factor
        return self.across(start, np.eye(len(start))[0], near.tangent)


# -- events in a step ------------------------------------------------------------------------------------------------------

#: Distance below which events, or stations, count as one: a residual may separate them by its root.
_EXACT, _SAME = CLOSED, np.sqrt(SAME)

#: Half a step, measured from its other end, may be no longer than this part of the step.
_HALF = 0.9


class PathEvent(NamedTuple):
    """The station of an event, and its kind: ``"limit"``, ``"bifurcation"`` or ``"flutter"``."""

    station: Station
    kind: str


def events_between(curve: Curve, before: Station, after: Station) -> list[PathEvent]:
    """Return the events between two stations of a step, in order.

    Raises `ConvergenceError` if no path leads from one to the other.
    """
    events = []
    while _state(before) != _state(after):
        near, far = before, after
        for near, far in _bisect(curve, before, after, _state):
            if curve.distance(near, far) <= _SAME:
                break
        length = curve.distance(far, after)  # far enough to be past the event before
        before = curve.between(far, after, _SAME / length) if length > _SAME else after
        for kind, state in KINDS.items():
            if state(near) != state(before):
                events.append(PathEvent(_first(curve, near, before, state), kind))
                break
    return events


def _bisect(curve: Curve, near: Station, far: Station, state: Callable[[Station], object]) -> Iterator[tuple[Station, Station]]:
    """Yield stations closer and closer together, between which a state first changes; refuse those on different paths."""
    begin, length = state(near), curve.distance(near, far)
    while length > _EXACT:
        middle = curve.between(near, far)
        near, far = (middle, far) if state(middle) == begin else (near, middle)
        length, last = curve.distance(near, far), length
        if length > _HALF * last:
            raise ConvergenceError("another branch is near")
        yield near, far


def _first(curve: Curve, near: Station, far: Station, state: Callable[[Station], object]) -> Station:
    """Return the first station in the changed state, as exactly as the curve can be followed there."""
    first = far
    with suppress(ConvergenceError):
        for pair in _bisect(curve, near, far, state):
            first = pair[1]
    return first


def _state(station: Station) -> tuple[object, ...]:
    return tuple(state(station) for state in KINDS.values())


def _falling_directions(point: OperatingPoint) -> int:
    """Return the number of negative stiffnesses of a point at rest; of a moving one, of growing modes that do not oscillate."""
    moves = point.v.any() or point.model.mechanism.engine.turning.any()
    return len(point.growing) - _growing_oscillations(point) if moves else negative_stiffnesses(stiffness_at(point))


def _growing_oscillations(point: OperatingPoint) -> int:
    return int((np.abs(point.growing.imag) > NEAR_AXIS * np.abs(point.eigenvalues).max(initial=0.0)).sum())


#: State that changes at events of each kind; if several change at once, the first kind counts.
KINDS: dict[str, Callable[[Station], object]] = {
    "limit": lambda station: bool(station.tangent[0] < -EXACT),  # the load factor falls
    "bifurcation": lambda station: _falling_directions(station.point),
    "flutter": lambda station: _growing_oscillations(station.point),
}


# -- steps -----------------------------------------------------------------------------------------------------------------

#: Steps grow by this factor if the cosine of the angle between the tangents at their ends exceeds that value.
_GROWTH, _STRAIGHTER = 1.5, 0.98

#: The curve is taken to end where steps are shorter than this part of the longest.
_LEAST = 2.0**-20


class PathStep(NamedTuple):
    """A step along the curve.

    - `events`: the events on the way, in order;
    - `end`, {"", "left", "closed"}: why the curve ends there: the load factor leaves its range, or the start is reached again.
    """

    events: list[PathEvent]
    reached: Station
    end: str


def steps_along(curve: Curve, start: Station, longest: float, within: tuple[float, float]) -> Iterator[PathStep]:
    """Yield the steps from a station until the load factor is not `within` its range any more, or the curve is closed.

    Raises `ConvergenceError` where the curve ends, with the load factor there.
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


def _step(curve: Curve, start: Station, station: Station, length: float, within: tuple[float, float]) -> PathStep:
    reached, end = curve.along(station, length), ""
    back = _start_again(curve, start, station, reached)
    if back is not None:
        reached, end = back, "closed"
    elif not within[0] < reached.y[0] < within[1]:
        reached, end = curve.at_factor(station, reached, within[1] if reached.y[0] >= within[1] else within[0]), "left"
    return PathStep(events_between(curve, station, reached), reached, end)


def _start_again(curve: Curve, start: Station, before: Station, after: Station) -> Station | None:
    """Return the start, whole turns added to its angles, if a step passes it in its first direction; else None."""
    again, length = curve.nearest_turn(start, before), curve.distance(before, after)
    ahead = curve.product(again.y - before.y, before.tangent)
    if not (0.0 < ahead <= length and curve.distance(before, again) <= length):
        return None
    passed = curve.along(before, ahead)
    differences = np.abs([passed.y - again.y, passed.tangent - again.tangent])  # with multipliers
    return passed if differences.max() <= _SAME else None
