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
from titop.solvers.simulation.closed_states import OnClosures, follow_branch, project_rows
from titop.solvers.simulation.plant import Plant
from titop.solvers.simulation.reached import Found, Reached

#: An event: its function of time and state, with `terminal` and `direction` as attributes.
Watched = Callable[[float, Array], float]

#: Into how many parts a step is split where events are looked for: the longest are about a quarter of a period.
_PARTS = 8


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

    def step(self, watch: float) -> OnClosures:
        """Make a step, or raise a `ConvergenceError`; return the state on the closures at its end.

        Where nobody has to see every step it may be several, until one reaches the time `watch`.
        """

    def dense_output(self) -> Callable[[Array], Array]:
        """Return the states (m, n) within the last step as a function of times (m)."""

    def go_on(self, closed: OnClosures) -> None:
        """Go on from the state on the closures that belongs to y."""

    def go_to(self, end: float) -> bool:
        """Go on to a later end (s), what acts being another from now on; tell whether that can be done."""

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
) -> None:
    """Integrate to the end of a solver, or a terminal event.

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
    """
    values, every = [event(*reached.last) for event in events], every or bool(events)
    while solver.status == "running":
        watch = times[len(reached.outputs)] if len(reached.outputs) < len(times) else math.inf
        closed = follow_branch(plant, solver.t, solver.step(-math.inf if every else watch))
        if events or watch <= solver.t:
            step = _Step(plant, solver.begin, solver, closed.y, values)
            end = step.find(events, times, reached.found)
            last = solver.t if end is None else end
            due = times[len(reached.outputs) : np.searchsorted(times, last, "right")]
            reached.outputs += step.states(due.tolist())
            reached.ended = end is not None
            if reached.ended:
                break
            values = step.values
        reached.last = solver.t, closed.y
        solver.go_on(closed)
        advance(*reached.last)


class _Step:
    """A step of the integrator: states within it, and events."""

    def __init__(self, plant: Plant, before: float, solver: Stepper, state: Array, values: list[float]) -> None:
        self.plant, self.before, self.solver, self.last, self.values = plant, before, solver, state, values
        self.after = solver.t
        self._known = {self.after: state}
        self._dense: Callable[[Array], Array] | None = None

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
        t = self.before
        for then in (*places, self.after):
            state = self.state(then)
            old, self.values = self.values, [event(then, state) for event in events]
            if (end := self._between(events, old, (t, then), found)) is not None:
                return end
            t = then
        return None

    def _split(self) -> list[float]:
        """Return the times that split the step into equal parts."""
        return [self.before + k / _PARTS * (self.after - self.before) for k in range(1, _PARTS)]

    def _between(
        self, events: Sequence[Watched], old: list[float], span: tuple[float, float], found: list[Found]
    ) -> float | None:
        """Do so for a part of the step, at whose beginning the events have the `old` values."""
        zeros: list[tuple[float, int]] = []
        for k, (event, value, new) in enumerate(zip(events, old, self.values, strict=True)):
            direction = event.direction  # type: ignore[attr-defined]
            if (value < 0 <= new and direction >= 0) or (value > 0 >= new and direction <= 0):
                zeros.append((self._zero(event, value, span), k))
        for t, k in sorted(zeros):
            found[k].times.append(t)
            found[k].states.append(self.state(t))
            if events[k].terminal:  # type: ignore[attr-defined]
                return t
        return None

    def _zero(self, event: Watched, value: float, span: tuple[float, float]) -> float:
        def along(t: float) -> float:
            return value if t == span[0] else event(t, self.state(t))

        zero: float = brentq(along, *span, xtol=4 * np.finfo(float).eps, rtol=4 * np.finfo(float).eps)
        return zero
