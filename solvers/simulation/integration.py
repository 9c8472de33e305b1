"""Integrating a driven model from one time to another.

Explicit methods are CyRK's, in compiled code; the others go step by step (`stepping`): implicit ones, which take the exact
Jacobian of what is integrated, and all where loops have to stay closed or events are watched for, within steps too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from titop.blocks.basics.errors import ConvergenceError
from titop.blocks.basics.spatial import Array
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.events import Watched
from titop.solvers.simulation.generalized_alpha import GeneralizedAlpha
from titop.solvers.simulation.interruption import stopped
from titop.solvers.simulation.pace import Pace
from titop.solvers.simulation.stiffness_watch import StiffnessWatch
from titop.solvers.support.progress import progress_bar

#: CyRK's integrators.
_EXPLICIT = ("DOP853", "RK45", "RK23")

#: Is told time and state after every step, or some, and what tells how many steps were made.
Advance = Callable[[float, Array, Callable[[], float]], None]


def integrate(
    plant: DrivenModel,
    times: Array,
    y0: Array,
    events: Sequence[Watched],
    method: str | GeneralizedAlpha,
    tolerances: dict[str, float],
    progress: bool,
) -> Any:
    """Return the states at the output times, and those at events.

    Parameters
    ----------
    plant : DrivenModel
    times : (n,) array, s
    y0 : array
        State at the first of them.
    events : sequence of callable
    method : str or GeneralizedAlpha
    tolerances : dict
        ``rtol``, ``atol``, ``max_step``.
    progress : bool
        Show a progress bar on a terminal.

    Returns
    -------
    object
        ``t``, ``y`` (a column for each), ``t_events`` and ``y_events`` (a list for each event), ``event_terminated``.

    Raises
    ------
    ConvergenceError
        If the integrator gives up.
    SimulationInterrupt
        On Ctrl-C, with what was reached.
    """
    with _bar(float(times[-1] - times[0]), progress) as bar:
        pace = Pace(float(times[0]), float(times[-1]), _bounds(plant, method, tolerances["max_step"]))

        def advance(t: float, y: Array, steps: Callable[[], float]) -> None:
            pace.look(t, steps)
            if plant.half_turns.any:
                plant.half_turns.look(t, plant.split(t, y)[0])
            if bar is not None and t - times[0] - bar.n > bar.total / 200:
                bar.update(t - times[0] - bar.n)

        looked_at = not plant.model.is_constrained and not plant.has_stages
        kinks = plant.kinks(tolerances["rtol"])
        ends_within = events or plant.gaps.count or len(kinks) or (plant.loop is not None and plant.loop.sampled)
        if method in _EXPLICIT and not ends_within and (plant.is_plain or looked_at):
            return _explicit(plant, times, y0, method, tolerances, advance)
        from titop.solvers.simulation.stepping import integrate_stepwise  # imports scipy's integrators

        return integrate_stepwise(plant, times, y0, events, method, tolerances, kinks, advance)


def _bounds(plant: DrivenModel, method: str | GeneralizedAlpha, longest: float) -> dict[str, float]:
    """Return what bounds the steps (s), as users call it."""
    bounds = {"max_step": longest}
    if isinstance(method, GeneralizedAlpha) and method.step is not None:
        bounds["step"] = method.step
    if plant.loop is not None:
        bounds["sample_time"] = plant.loop.sample_time
    return bounds


def _bar(length: float, progress: bool) -> Any:
    """Return a context that gives a progress bar of a length (s), None if there is to be no progress."""
    if not progress:
        return nullcontext()
    return progress_bar(total=length, unit="s")


class _EveryStep:
    """An event that never happens, which CyRK calls after every step.

    That is when Python sees signals such as Ctrl-C (compiled loops do not), when the bar moves, and what is known of a step
    that was the last one.
    """

    terminal, direction = False, 0

    def __init__(self, t: float, y: Array, advance: Advance, watch: StiffnessWatch) -> None:
        self.last, self._advance, self._steps, self._watch = (t, y), advance, 0, watch

    def __call__(self, t: float, y: Array, *_: Any) -> float:
        self.last = t, y.copy()
        self._advance(*self.last, lambda: self._steps)
        self._watch.look(*self.last, self._steps)
        self._steps += 1
        return 1.0


def _explicit(
    plant: DrivenModel,
    times: Array,
    y0: Array,
    method: str,
    tolerances: dict[str, float],
    advance: Advance,
) -> Any:
    from CyRK import PySolver, pysolve_ivp

    derivative, arguments = plant.derivative()
    span, solver = (float(times[0]), float(times[-1])), PySolver()
    every_step = _EveryStep(span[0], y0, advance, StiffnessWatch(plant, method, span[0], tolerances["max_step"]))
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
        raise stopped(every_step.last, span[1], _solution(solver, times, y0)) from None
    if not solver.success:
        t, state = every_step.last
        plant.dynamics(t, *plant.split(t, state))  # raises what is wrong with the model there
        raise ConvergenceError(
            f"{method} gave up after t = {t:.6g} s of {times[-1]:.6g} s ({solver.message}); "
            'perhaps a stiff system: try method="Radau"'
        )
    plant.count({"steps": solver.steps_taken})  # CyRK counts nothing else
    return _solution(solver, times, y0)


def _solution(solver: Any, times: Array, y0: Array) -> SimpleNamespace:
    """Return what CyRK has computed, perhaps of a solution that was interrupted, even before its first step."""
    t, y = (solver.t, solver.y) if solver.size else (times[:1], y0[:, None])
    return SimpleNamespace(t=t, y=y, t_events=[], y_events=[], event_terminated=False)
