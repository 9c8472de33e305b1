"""Integration of a driven model step by step in Python, to output times, events, and switches.

The integration is divided at the instants at which loads jump or have kinks: a controller's samples, and kinks of samples and
splines. Explicit methods make many steps in a row in compiled code, or stage by stage if loads are functions of the state.
Implicit ones use the exact Jacobian of dy/dt.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.kernels.entries.gap_entries import LONGER, TRIES
from titop.solvers.simulation.alpha_solver import AlphaSolver
from titop.solvers.simulation.closed_states import ClosedState, follow_branch
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.events import WatchedEvent, find_events
from titop.solvers.simulation.explicit_steps import CompiledRungeKutta, RungeKutta
from titop.solvers.simulation.exponential_steps import ExponentialSteps
from titop.solvers.simulation.generalized_alpha import GeneralizedAlpha
from titop.solvers.simulation.monitor import Monitor
from titop.solvers.simulation.scipy_steps import ScipySteps
from titop.solvers.simulation.start_and_end import ReachedStates, interrupt
from titop.solvers.simulation.steppers import EXPLICIT, LastStep, Stepper, Tolerances
from titop.solvers.simulation.switching import Switching


def integrate_stepwise(
    plant: DrivenModel,
    times: Array,
    y0: Array,
    events: Sequence[WatchedEvent],
    method: str | GeneralizedAlpha,
    tolerances: Tolerances,
    kinks: Array,
    monitor: Monitor,
    memory: Mapping[str, Array],
) -> ReachedStates:
    """Return the states at the output times, and append to the events.

    - `times` (n, s);
    - `y0`: state at the first time;
    - `kinks` (s): increasing; steps end there;
    - `monitor`: examines the steps;
    - `memory`: left by the same method where it ended before, or nothing.
    """
    begin, end = float(times[0]), float(times[-1])
    outputs, last, acts_until, anew = OutputStates(times, y0), (begin, y0), begin, True
    switching = Switching(plant, (begin, end), y0) if plant.gaps.count else None
    pauses = [*kinks[(kinks > begin) & (kinks < end)].tolist(), end]
    stepper: Stepper | None = None
    counted: dict[str, float] = {}
    pieces = 0

    def statistics() -> dict[str, float]:
        added = {} if stepper is None else stepper.statistics()
        return {name: counted.get(name, 0) + added.get(name, 0) for name in counted | added}

    def steps() -> float:
        return statistics().get("steps", 0)

    def look(t: float, y: Array) -> None:
        nonlocal last
        last = t, y
        monitor.look(t, y, steps, None if switching is None else switching.counts, pieces)

    if switching is not None and "gaps" in memory:
        switching.recall(memory["gaps"])
    for event in events:
        event.begin_at(begin, y0)
    jumped = False
    try:
        while not outputs.is_over:
            t, y = last
            if jumped := t >= acts_until:
                acts_until, anew = plant.act(t, y), True
            if t == end:
                break
            until, pieces = min(acts_until, pauses[bisect_right(pauses, t)]), pieces + 1
            if stepper is None or not stepper.go_to(until, anew):
                counted = statistics()
                is_first, stepper = stepper is None, _stepper(plant, method, (t, until), y, tolerances)
                if is_first and _remembers(memory, stepper, method):
                    stepper.recall(memory)
                    if memory["jumped"]:
                        stepper.go_to(until, anew)
            every = monitor.half_turns.any or bool(events) or (switching is not None and not switching.is_guarded)
            anew = _step_to_end(plant, stepper, events, outputs, look, every, switching)
    except KeyboardInterrupt:
        raise interrupt(last, end, outputs.solution(statistics())) from None
    if outputs.is_over or stepper is None:
        return outputs.solution(statistics())
    left = stepper.memory() | {"method": np.array(_name(method)), "jumped": np.array(jumped)}
    left |= {} if switching is None else {"gaps": switching.memory()}
    return outputs.solution(statistics())._replace(memory={name: np.array(value) for name, value in left.items()})


def _name(method: str | GeneralizedAlpha) -> str:
    return method if isinstance(method, str) else "generalized-alpha"


def _remembers(memory: Mapping[str, Array], stepper: Stepper, method: str | GeneralizedAlpha) -> bool:
    """Tell whether a memory is one of this method, for the same states; another method begins without it."""
    if str(memory.get("method")) != _name(method):
        return False
    now = stepper.memory()
    return all(name in ("jerk", "stiffness", "damping") or memory[name].shape == now[name].shape for name in now)


def _stepper(
    plant: DrivenModel, method: str | GeneralizedAlpha, span: tuple[float, float], y0: Array, tolerances: Tolerances
) -> Stepper:
    if isinstance(method, GeneralizedAlpha):
        return AlphaSolver(plant, method, *span, y0, tolerances)
    if method == "exponential":
        return ExponentialSteps(plant, method, *span, y0, tolerances)
    explicit = CompiledRungeKutta if plant.has_stages else RungeKutta
    return (explicit if method in EXPLICIT else ScipySteps)(plant, method, *span, y0, tolerances)


class OutputStates:
    """The states at the output times reached so far.

    - `next` (s): the next output time, infinite after the last;
    - `is_over`: whether a terminal event ended the simulation.
    """

    def __init__(self, times: Array, y0: Array) -> None:
        self.times, self.next, self.is_over, self._states = times, float(times[1]), False, [y0]

    def add(self, step: LastStep, end: float) -> None:
        """Add the states within a step, up to a time `end` (s)."""
        due = self.times[len(self._states) : np.searchsorted(self.times, end, "right")]
        self._states += step.states(due.tolist())
        reached = len(self._states)
        self.next = float(self.times[reached]) if reached < len(self.times) else math.inf

    def solution(self, statistics: dict[str, float]) -> ReachedStates:
        """Return the states reached."""
        return ReachedStates(self.times[: len(self._states)], np.array(self._states), statistics)


def _step_to_end(
    plant: DrivenModel,
    stepper: Stepper,
    events: Sequence[WatchedEvent],
    outputs: OutputStates,
    look: Callable[[float, Array], None],
    every: bool,
    switching: Switching | None,
) -> bool:
    """Integrate to the end of a stepper, to a switch, or to a terminal event; tell whether something switched.

    `look` is called with time and state on the closures after every step if `every` is set, else after some.
    """
    while stepper.is_running:
        watch = outputs.next
        closed = follow_branch(plant, stepper.t, stepper.step(-math.inf if every else watch))
        t, has_switched = stepper.t, False
        if switching is not None or events or watch <= t:
            step = LastStep(plant, stepper, closed.y)
            if switching is not None:
                step, closed, has_switched = _end_where_it_switches(plant, stepper, step, closed, switching)
                t = step.end
            if events or watch <= t:
                end = find_events(events, step, outputs.times) if events else None
                outputs.add(step, t if end is None else end)
                outputs.is_over = end is not None
                if outputs.is_over:
                    break
        stepper.go_on(closed)
        look(t, closed.y)
        if has_switched:
            return True
    return False


def _end_where_it_switches(
    plant: DrivenModel, stepper: Stepper, step: LastStep, closed: ClosedState, switching: Switching
) -> tuple[LastStep, ClosedState, bool]:
    """End a step at the first switch within it; return it, its end, and whether something switches there."""
    if switching.clears(step, closed.y, stepper.is_clear):
        return step, closed, False
    first, cut = switching.first(step)
    for _ in range(TRIES):
        if first >= step.end - step.exact:
            break
        switching.go_back(step)
        closed = follow_branch(plant, stepper.t, stepper.end_at(first))
        step = LastStep(plant, stepper, closed.y)
        switching.clears(step, closed.y, stepper.is_clear)
        late, is_short = switching.late(), step.end < first - step.exact
        first = step.end - late
        if late > step.exact and first > step.begin + step.exact:  # the discontinuity seen by the step has moved the switch
            continue
        if is_short or not step.exact < -late <= LONGER * (step.end - step.begin):
            break
    has_switched = switching.go_on(step, cut)
    if has_switched and (beyond := stepper.pass_over(stepper.t + step.exact)) is not None:
        step, closed = LastStep(plant, stepper, beyond.y), beyond
    return step, closed, has_switched
