"""Integrating in time step by step: systems with rigid closures, and all in which events are watched for.

Accelerations keep the loops closed to second order only (index 1), so that errors of the integrator would open them. After
every step the state is therefore projected onto the closures (the configuration by least change, then the velocity), and the
integrator goes on from there; outputs and events are projected too. The rank of the constraints is held: at states that the
integrator has moved off the closures redundant constraints look independent by as little as they are off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from scipy.optimize import brentq

from titop.blocks.basics.spatial import Array
from titop.solvers.kernels.entries.gap_entries import LONGER, TRIES
from titop.solvers.kernels.ports.guards import PARTS
from titop.solvers.simulation.closed_states import OnClosures, follow_branch, project_rows
from titop.solvers.simulation.plant import Plant
from titop.solvers.simulation.reached import Found, Reached, Seen
from titop.solvers.simulation.switching import Switching, Within

#: An event: its function of time and state, with `terminal` and `direction` as attributes.
Watched = Callable[[float, Array], float]

#: How long a function has to be zero, in parts of the whole time, for the end of that to count: more than rounding makes of
#: what leaves zero with a horizontal tangent.
_LASTING = 1e-5
#: How exactly zeros are found: relatively, and in s.
_EXACT = 4 * np.finfo(float).eps
#: Evaluations to find one: multiple zeros want several times as many as bisection.
_MOST = 1000


class Stepper(Protocol):
    """An integrator as `integrate_steps` sees it: time t (s) and state y that it has reached."""

    @property
    def t(self) -> float: ...

    @property
    def y(self) -> Array: ...

    @property
    def status(self) -> str:
        """``"running"`` until the end is reached."""

    @property
    def begin(self) -> float:
        """Where the last step began (s)."""

    @property
    def is_clear(self) -> bool | None:
        """Whether nothing that is guarded switched in the last steps; None where nobody has looked."""

    def step(self, watch: float) -> OnClosures:
        """Make a step, or raise a `ConvergenceError`; return the state on the closures at its end.

        Where nobody has to see every step it may be several, until one reaches the time `watch`.
        """

    def dense_output(self) -> Callable[[Array], Array]:
        """Return the states (m, n) within the last step as a function of times (m)."""

    def end_at(self, t: float) -> OnClosures:
        """Let the last step end at a time (s) within it, or before; return the state on the closures there."""

    def pass_over(self, t: float) -> OnClosures | None:
        """Go on from a time (s) right behind the last step's end; return the state on the closures there, None if it is not."""

    def go_on(self, closed: OnClosures) -> None:
        """Go on from the state on the closures that belongs to y."""

    def go_to(self, end: float, anew: bool) -> bool:
        """Go on to a later end (s); tell whether that can be done.

        From now on what acts bends in another way; where that is to begin `anew`, it is another.
        """

    def statistics(self) -> dict[str, float]:
        """Return what was counted; see `Trajectory`."""


def integrate_steps(
    plant: Plant,
    times: Array,
    events: Sequence[Watched],
    solver: Stepper,
    advance: Callable[[float, Array], None],
    reached: Reached,
    every: bool,
    switching: Switching | None = None,
) -> bool:
    """Integrate to the end of a solver, to where something switches, or to a terminal event; tell whether something switched.

    Parameters
    ----------
    plant : Plant
    times : (n,) array, s
    events : sequence of callable
    solver : Stepper
    advance : callable
        Is told time and state after every step, or some.
    reached : Reached
        Its last state is on the closures; gets the states at the output times, and those at events.
    every : bool
        Whether it is told after every step.
    switching : Switching, optional
    """
    every = every or bool(events) or (switching is not None and not switching.is_guarded)
    for event, found in zip(events, reached.found, strict=True):
        if found.seen is None:
            found.seen = Seen(event(*reached.last), reached.last[0], 0)
    while solver.status == "running":
        watch = times[len(reached.outputs)] if len(reached.outputs) < len(times) else math.inf
        closed = solver.step(-math.inf if every else watch)
        closed = follow_branch(plant, solver.t, closed)
        step = _Step(plant, solver.begin, solver, closed.y)
        switched = False
        if switching is not None:
            step, closed, switched = _settled(step, closed, switching)
        if events or watch <= solver.t:
            end = step.find(events, times, reached.found) if events else None
            last = solver.t if end is None else end
            due = times[len(reached.outputs) : np.searchsorted(times, last, "right")]
            reached.outputs += step.states(due.tolist())
            reached.ended = end is not None
            if reached.ended:
                break
        reached.last = solver.t, closed.y
        solver.go_on(closed)
        advance(*reached.last)
        if switched:
            return True
    return False


def _settled(step: _Step, closed: OnClosures, switching: Switching) -> tuple[_Step, OnClosures, bool]:
    """Let a step end where something switches; return it, its end, and whether it does there."""
    plant, solver, within = step.plant, step.solver, step.within
    if switching.clears(within, closed.y, solver.is_clear):
        return step, closed, False
    first, cut = switching.first(within)
    for _ in range(TRIES):
        if first >= within.end - within.exact:
            break
        switching.go_back(within)
        closed = follow_branch(plant, solver.t, solver.end_at(first))
        step = _Step(plant, solver.begin, solver, closed.y)
        within = step.within
        switching.clears(within, closed.y, solver.is_clear)
        late, is_short = switching.late(), within.end < first - within.exact
        first = within.end - late
        if late > within.exact and first > within.begin + within.exact:  # what the step felt has moved it
            continue
        if is_short or not within.exact < -late <= LONGER * (within.end - within.begin):
            break
    switched = switching.go_on(within, cut)
    if switched and (beyond := solver.pass_over(solver.t + within.exact)) is not None:
        step, closed = _Step(plant, solver.begin, solver, beyond.y), beyond
    return step, closed, switched


class _Step:
    """A step of the integrator: states within it, and events."""

    def __init__(self, plant: Plant, before: float, solver: Stepper, state: Array) -> None:
        self.plant, self.before, self.after, self.solver = plant, before, solver.t, solver
        self._known = {self.after: state}
        self._dense: Callable[[Array], Array] | None = None

    @property
    def within(self) -> Within:
        """The states and gaps within."""
        return Within(self.plant, self.before, self.after, self.states)

    def state(self, t: float) -> Array:
        """Return the state at a time within the step, on the closures."""
        return self._known[t] if t in self._known else self.states([t])[0]

    def states(self, times: Sequence[float]) -> list[Array]:
        """Return the states at times within the step, on the closures; those that are not known are found at once."""
        if unknown := [t for t in times if t not in self._known]:
            if self._dense is None:
                self._dense = self.solver.dense_output()
            found = project_rows(self.plant, np.array(unknown), np.ascontiguousarray(self._dense(np.array(unknown))))
            self._known.update(zip(unknown, found, strict=True))
        return [self._known[t] for t in times]

    def find(self, events: Sequence[Watched], times: Array, found: list[Found]) -> float | None:
        """Add the events within the step to what is found; return the time of the first terminal one.

        They are looked for between its ends, the output `times` in it, and places that split it into equal parts.
        """
        within = times[np.searchsorted(times, self.before, "right") : np.searchsorted(times, self.after)]
        places = sorted({*within.tolist(), *self._split()} - {self.after}) if events else []
        self.states(places)
        lasting, t = _LASTING * float(times[-1] - times[0]), self.before
        for then in (*places, self.after):
            if (end := self._between(events, found, (t, then), lasting)) is not None:
                return end
            t = then
        return None

    def _split(self) -> list[float]:
        """Return the times that split the step into equal parts."""
        return [self.before + k / PARTS * (self.after - self.before) for k in range(1, PARTS)]

    def _between(
        self, events: Sequence[Watched], found: list[Found], span: tuple[float, float], lasting: float
    ) -> float | None:
        """Do so for a part of the step; what happens at the instant at which it ends is found too."""
        zeros: list[tuple[float, int]] = []
        state = self.state(span[1])
        for k, event in enumerate(events):
            seen = found[k].seen
            assert seen is not None
            now = found[k].seen = seen.then(span[1], event(span[1], state))
            way = (now.sign > seen.sign) - (now.sign < seen.sign)
            passes = seen.value != 0 or seen.way != way  # what has come from the other side was found when it came
            if way and passes and event.direction in (0, way):  # type: ignore[attr-defined]
                zero = self._zero(event, seen, now, span)
                if seen.value != 0 or zero - seen.since > lasting:
                    zeros.append((zero, k))
        ends = [t for t, k in zeros if events[k].terminal]  # type: ignore[attr-defined]
        end = min(ends, default=math.inf)
        for t, k in sorted(zeros):
            if t <= end + 2 * _EXACT * (1 + abs(end)):
                found[k].times.append(min(t, end))
                found[k].states.append(self.state(min(t, end)))
        return end if ends else None

    def _zero(self, event: Watched, seen: Seen, now: Seen, span: tuple[float, float]) -> float:
        """Return when an event's sign changes; what begins or ends to be zero has its new sign there."""

        def along(t: float) -> float:
            return seen.value if t == span[0] else event(t, self.state(t))

        if seen.value != 0 and now.value != 0:
            return float(brentq(along, *span, xtol=_EXACT, rtol=_EXACT, maxiter=_MOST))
        begin, end = span
        while begin < (middle := 0.5 * (begin + end)) < end and end - begin > _EXACT * (1 + abs(end)):
            begin, end = (begin, middle) if now.then(middle, along(middle)).sign == now.sign else (middle, end)
        return end
