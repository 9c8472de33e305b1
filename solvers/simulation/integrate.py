"""Integrating a driven model from one time to another.

Explicit methods are CyRK's, in compiled code; the others go step by step (`stepping`): implicit ones, which take the exact
Jacobian of what is integrated, and all where loops have to stay closed or events are watched for, within steps too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError
from titop.blocks.basics.spatial import Array
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.events import Watched
from titop.solvers.simulation.generalized_alpha import GeneralizedAlpha
from titop.solvers.simulation.monitor import Monitor, StiffnessWatch
from titop.solvers.simulation.solution import ReachedStates, interrupt
from titop.solvers.simulation.steppers import EXPLICIT


def integrate(
    plant: DrivenModel,
    times: Array,
    y0: Array,
    events: Sequence[Watched],
    method: str | GeneralizedAlpha,
    tolerances: dict[str, float],
    monitor: Monitor,
) -> ReachedStates:
    """Return the states at the output times, and add to the events.

    Parameters
    ----------
    plant : DrivenModel
    times : (n,) array, s
    y0 : array
        State at the first of them.
    events : sequence of Watched
    method : str or GeneralizedAlpha
    tolerances : dict
        ``rtol``, ``atol``, ``max_step``.
    monitor : Monitor
        Looks at steps.

    Raises
    ------
    ConvergenceError
        If the integrator gives up.
    SimulationInterrupt
        On Ctrl-C, with what was reached.
    """
    is_free = not plant.model.is_constrained and not plant.has_stages
    kinks = plant.kinks(tolerances["rtol"])
    ends_within = events or plant.gaps.count or len(kinks) or (plant.loop is not None and plant.loop.sampled)
    if method in EXPLICIT and not ends_within and (plant.is_plain or is_free):
        return _integrate_at_once(plant, times, y0, str(method), tolerances, monitor)
    from titop.solvers.simulation.stepping import integrate_stepwise  # imports scipy's integrators

    return integrate_stepwise(plant, times, y0, events, method, tolerances, kinks, monitor)


def step_bounds(plant: DrivenModel, method: str | GeneralizedAlpha, longest: float) -> dict[str, float]:
    """Return what bounds the steps (s) by the argument that says so; `longest` is the longest that users allow."""
    bounds = {"max_step": longest}
    if isinstance(method, GeneralizedAlpha) and method.step is not None:
        bounds["step"] = method.step
    if plant.loop is not None:
        bounds["sample_time"] = plant.loop.sample_time
    return bounds


class _EveryStep:
    """An event that never happens, which CyRK calls after every step.

    That is when Python sees signals such as Ctrl-C (compiled loops do not), when the bar moves, and what is known of a step
    that was the last one.
    """

    terminal, direction = False, 0

    def __init__(self, t: float, y: Array, monitor: Monitor, watch: StiffnessWatch) -> None:
        self.last, self._monitor, self._steps, self._watch = (t, y), monitor, 0, watch

    def __call__(self, t: float, y: Array, *_: Any) -> float:
        self.last = t, y.copy()
        self._monitor.look(*self.last, lambda: self._steps)
        self._watch.look(*self.last, self._steps)
        self._steps += 1
        return 1.0


def _integrate_at_once(
    plant: DrivenModel, times: Array, y0: Array, method: str, tolerances: dict[str, float], monitor: Monitor
) -> ReachedStates:
    """Return the states at the output times, by CyRK's explicit integrators."""
    from CyRK import PySolver, pysolve_ivp

    derivative, arguments = plant.derivative()
    span, solver = (float(times[0]), float(times[-1])), PySolver()
    every_step = _EveryStep(span[0], y0, monitor, StiffnessWatch(plant, method, span[0], tolerances["max_step"]))
    try:
        pysolve_ivp(
            derivative,
            span,
            y0,
            method=method,
            args=arguments or None,
            t_eval=times,
            events=(every_step,),
            pass_dy_as_arg=True,
            solution_reuse=solver,
            **tolerances,
        )
    except KeyboardInterrupt:
        raise interrupt(every_step.last, span[1], _solution(solver, times, y0)) from None
    if not solver.success:
        t, state = every_step.last
        plant.dynamics(t, *plant.split(t, state))  # raises what is wrong with the model there
        raise ConvergenceError(
            f"{method} gave up after t = {t:.6g} s of {times[-1]:.6g} s ({solver.message}); "
            'perhaps a stiff system: try method="Radau"'
        )
    return _solution(solver, times, y0)


def _solution(solver: Any, times: Array, y0: Array) -> ReachedStates:
    """Return what CyRK has computed, perhaps of a solution that was interrupted, even before its first step."""
    t, y = (solver.t, solver.y) if solver.size else (times[:1], y0[:, None])
    return ReachedStates(np.array(t), np.array(y).T, {"steps": solver.steps_taken})  # CyRK counts nothing else
