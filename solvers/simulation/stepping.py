"""Integrating a driven model step by step in Python, with scipy's integrators or titop's own.

Explicit methods let compiled code make many steps in a row; where functions of the state are asked for what acts, stage by
stage. Implicit ones get the exact Jacobian of what is integrated; see `rate_jacobian`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.integrate import BDF, LSODA, OdeSolver, Radau

from titop.blocks.basics.errors import ConvergenceError, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.arguments.reading import all_finite
from titop.solvers.simulation.alpha_solver import AlphaSolver
from titop.solvers.simulation.closed_states import OnClosures
from titop.solvers.simulation.constrained_integration import Stepper, integrate_steps
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.events import Watched
from titop.solvers.simulation.generalized_alpha import GeneralizedAlpha
from titop.solvers.simulation.interruption import stopped
from titop.solvers.simulation.newton_factors import NewtonFactors
from titop.solvers.simulation.pace import Chatter
from titop.solvers.simulation.projected import Integrator, Projected, Stepping
from titop.solvers.simulation.rate_jacobian import RateJacobian
from titop.solvers.simulation.reached import Reached
from titop.solvers.simulation.runge_kutta import RungeKutta
from titop.solvers.simulation.scipy_steps import ScipySteps
from titop.solvers.simulation.stiffness_watch import StiffnessWatch
from titop.solvers.simulation.switching import Switching
from titop.solvers.simulation.tableaus import tableau
from titop.solvers.simulation.trial_states import told, went_too_far

#: Explicit integrators.
EXPLICIT = ("DOP853", "RK45", "RK23")
#: Implicit integrators.
_IMPLICIT: dict[str, type[OdeSolver]] = {"LSODA": LSODA, "BDF": BDF, "Radau": Radau}


def integrate_stepwise(
    plant: DrivenModel,
    times: Array,
    y0: Array,
    events: Sequence[Watched],
    method: str | GeneralizedAlpha,
    tolerances: dict[str, float],
    kinks: Array,
    advance: Callable[[float, Array, Callable[[], float]], None],
) -> Any:
    """Return the states at the output times, and those at events; arguments as those of `integration.integrate`.

    Steps end at `kinks` (s, increasing); `advance` is told time and state after steps.
    """
    begin, end = float(times[0]), float(times[-1])
    reached, acts_until, anew = Reached(begin, y0, len(events)), begin, True
    switching = Switching(plant, (begin, end), y0) if plant.gaps.count else None
    chatter = Chatter(plant.gaps.owners, end)
    pauses = [*kinks[(kinks > begin) & (kinks < end)].tolist(), end]
    solver: Stepper | None = None
    watch, pieces = StiffnessWatch(plant, str(method), begin, tolerances["max_step"]), 0

    def steps() -> float:
        return plant.counted.get("steps", 0) + (solver.statistics()["steps"] if solver is not None else 0)

    def look(t: float, y: Array) -> None:
        advance(t, y, steps)
        if switching is not None:
            chatter.look(t, switching.counts, steps)
        if watch.is_due and solver is not None and method in EXPLICIT:
            cuts = 0 if switching is None else int(switching.counts.sum())
            watch.look(t, y, int(solver.statistics()["steps"]), pieces + cuts)

    try:
        while not reached.ended:
            t, y = reached.last
            if t >= acts_until:
                acts_until, anew = plant.act(t, y), True
            if t == end:
                break
            until, pieces = min(acts_until, pauses[bisect_right(pauses, t)]), pieces + 1
            if solver is None or not solver.go_to(until, anew):
                _count(plant, solver)
                solver = _solver(plant, method, (t, until), y, tolerances)
            anew = integrate_steps(plant, times, events, solver, look, reached, plant.half_turns.any, switching)
    except KeyboardInterrupt:
        raise stopped(reached.last, end, reached.solution(times)) from None
    _count(plant, solver)
    return reached.solution(times)


def _count(plant: DrivenModel, solver: Stepper | None) -> None:
    if solver is not None:
        plant.count(solver.statistics())


def _solver(
    plant: DrivenModel, method: str | GeneralizedAlpha, span: tuple[float, float], y0: Array, tolerances: dict[str, float]
) -> Stepper:
    if isinstance(method, GeneralizedAlpha):
        return AlphaSolver(plant, method, *span, y0, **tolerances)
    stepping = Projected if plant.model.is_constrained else Unprojected
    return stepping(
        plant, _explicit(plant, method) if method in EXPLICIT else _implicit(plant, method), *span, y0, **tolerances
    )


def _explicit(plant: DrivenModel, method: str) -> Callable[..., Integrator]:
    table = tableau(method)
    stages = plant.stages(table)

    def integrator(fun: Any, start: float, y0: Array, end: float, is_near: Callable[[], bool], **options: float) -> RungeKutta:
        return RungeKutta(fun, start, y0, end, table, stages, is_near, **options)

    return integrator


def _implicit(plant: DrivenModel, method: str) -> Callable[..., Integrator]:
    factors = NewtonFactors(plant.model)

    def integrator(fun: Any, start: float, y0: Array, end: float, is_near: Callable[[], bool], **options: float) -> ScipySteps:
        solver = _IMPLICIT[method](fun, start, y0, end, jac=RateJacobian(plant, is_near), **options)
        if hasattr(solver, "solve_lu"):
            solver.lu, solver.solve_lu = factors.factor, factors.solve
        return ScipySteps(solver)

    return integrator


class Unprojected(Stepping):
    """An integrator for a system whose states need no projection; see `Stepping` and `Projected`."""

    def __init__(
        self, plant: DrivenModel, integrator: Callable[..., Integrator], start: float, end: float, y0: Array, **options: float
    ) -> None:
        plant.dynamics(start, *plant.split(start, y0))  # raises what is wrong with it
        self._derivative, self._arguments = plant.derivative()
        self._refused: ModelError | None = None
        super().__init__(plant, integrator(self._rate, start, y0, end, lambda: False, **options))

    def _rate(self, t: float, y: Array) -> Array:
        """Return dy/dt; NaN where a trial step went too far (see `went_too_far`), for the integrator to take a shorter one."""
        dy = np.full(len(y), np.nan)
        if np.isfinite(y).all():
            try:
                self._derivative(dy, t, y, *self._arguments)
            except ModelError as error:
                if error.code != "not-finite" and not went_too_far(error):  # nor what functions make of a state out there
                    raise
                self._refused = error
        return dy

    def step(self, watch: float) -> OnClosures:
        """Make a step, or several until one reaches the time `watch`.

        Raises
        ------
        ConvergenceError
            If the integrator gives up.
        ModelError
            If that is because of what is wrong with the model there.
        """
        t, y = self.t, self.y.copy()
        try:
            reached = super().step(watch)
            if not all_finite(self.y) or self.t <= t:  # which LSODA takes for a solution, and a step
                name = self._solver.name
                raise ConvergenceError(f"{name} gave up after t = {t:.6g} s: numbers overflow, or steps are too short to count")
        except ConvergenceError as error:
            self._plant.dynamics(t, *self._plant.split(t, y))
            raise error if self._refused is None else ConvergenceError(f"{error}; {told(self._refused)}") from None
        self._refused = None
        return reached
