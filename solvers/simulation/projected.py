"""Integrators that go on from states on the closures, also across singular configurations.

Next to a singular configuration what a state is off the closures, over the distance or its square, would be taken for motion:
there the states within a step are projected too, and no step ends so near that rounding alone would do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from scipy.integrate import DenseOutput, OdeSolver

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.simulation.closed_states import OnClosures, project
from titop.solvers.simulation.plant import Plant
from titop.solvers.simulation.runge_kutta import RungeKutta

#: Integrators that can go on from a projected state. Those of several steps cannot: their history would have to move as well.
METHODS = ("DOP853", "RK45", "RK23", "Radau")

#: Distances from singular configurations, by the least independent constraint, relative to the largest of the motion so far.
#: Below the first states within a step are projected, below the second no step ends.
_NEAR = 0.3
_LANDING = 1e-3
#: Parts of a step that ended too near to a singular configuration that are tried in its place.
_SHORTER = (0.95, 0.9, 0.8, 0.65)
#: Steps next to a singular configuration that are shorter than this part of the whole time lead into it, not across.
_STUCK = 1e-9
#: How well loops are closed near singular configurations (rad, and m for a system of size one): as well as rounding lets them.
_ROUNDING = 1e-17


def require_method(method: str) -> None:
    """Refuse other integrators than `METHODS`.

    Raises
    ------
    ModelError
        If it cannot keep loops closed.
    """
    if method not in METHODS:
        expected = " or ".join((*METHODS, "generalized-alpha"))
        advice = 'with rigid closures or gears take "Radau" for stiff systems, "DOP853" for others'
        raise ModelError(Finding("unknown-method", "method", method, expected, advice))


class Stepping:
    """An integrator of scipy's kind, step by step; see `Stepper` of `constrained_integration`.

    Parameters
    ----------
    plant : Plant
    solver : scipy.integrate.OdeSolver
    """

    def __init__(self, plant: Plant, solver: OdeSolver) -> None:
        self._plant, self._solver, self._steps = plant, solver, 0

    @property
    def t(self) -> float:
        """Time (s) that is reached."""
        return float(self._solver.t)

    @property
    def y(self) -> Array:
        """State that is reached."""
        return self._solver.y

    @property
    def status(self) -> str:
        """``"running"`` until the end is reached."""
        return str(self._solver.status)

    def step(self) -> OnClosures:
        """Make a step; return the state at its end.

        Raises
        ------
        ConvergenceError
            If the integrator gives up.
        """
        self._try()
        self._steps += 1
        return project(self._plant, self.t, self.y)

    def _try(self) -> None:
        before, message = self.t, self._solver.step()
        if self.status == "failed":
            self._give_up(before, f"{message}; perhaps a stiff system, looser tolerances, or a singular configuration")

    def _give_up(self, t: float, reason: str) -> NoReturn:
        name, end = type(self._solver).__name__, self._solver.t_bound
        raise ConvergenceError(f"{name} gave up after t = {t:.6g} s of {end:.6g} s: {reason}")

    def dense_output(self) -> DenseOutput:
        """Return the state within the last step as a function of time."""
        return self._solver.dense_output()

    def go_on(self, closed: OnClosures) -> None:
        """Go on as if nothing had been: states need no projection."""

    def statistics(self) -> dict[str, float]:
        """Return what was counted."""
        return {"steps": self._steps, "evaluations": self._solver.nfev, "jacobians": int(self._solver.njev)}


class Projected(Stepping):
    """An integrator that goes on from projected states.

    Parameters
    ----------
    plant : Plant
    integrator : callable ``f(fun, start, y0, end, is_near, **options) -> scipy.integrate.OdeSolver``
        `is_near` tells whether states within the next step are projected too.
    start, end : float, s
    y0 : array
        On the closures.
    **options
        ``rtol``, ``atol`` and ``max_step`` of the integrator.
    """

    def __init__(
        self, plant: Plant, integrator: Callable[..., OdeSolver], start: float, end: float, y0: Array, **options: Any
    ) -> None:
        self._plant = plant
        self._least = _STUCK * abs(end - start)
        self._farthest = project(plant, start, y0).distance
        self._away = self._relative(self._farthest)
        derivative = _right_hand_side(plant, self._is_near)
        super().__init__(plant, integrator(derivative, start, y0, end, self._is_near, **options))

    def step(self) -> OnClosures:
        """Make a step; a shorter one if it ended too near to a singular configuration.

        Raises
        ------
        ConvergenceError
            If the integrator gives up, or runs into a singular configuration.
        """
        start = vars(self._solver).copy()
        self._try()
        length, closed = self._solver.step_size, self._end()
        for part in _SHORTER if self._away > _LANDING else ():
            if closed is not None and self._relative(closed.distance) > _LANDING:
                break
            counted = {name: getattr(self._solver, name) for name in ("nfev", "njev", "nlu")}
            vars(self._solver).update(start | counted | {"h_abs": part * length})
            self._try()
            closed = self._end()
        if self._away < _LANDING and self._solver.step_size < self._least and self.status == "running":
            self._give_up(self.t, "steps that shrink to nothing next to a singular configuration")
        self._steps += 1
        return closed or project(self._plant, self.t, self.y)

    def _end(self) -> OnClosures | None:
        """Return the state on the closures at the end of the step, None if there is none."""
        try:
            return project(self._plant, self.t, self.y)
        except ConvergenceError:
            return None

    def _is_near(self) -> bool:
        """Tell whether states within the next step are projected too."""
        return self._away < _NEAR

    def _relative(self, distance: float) -> float:
        """Return a distance from a singular configuration, relative to the largest so far."""
        self._farthest = max(self._farthest, distance)
        return distance / self._farthest if self._farthest else 1.0

    def go_on(self, closed: OnClosures) -> None:
        """Go on from the projected state."""
        self._away = self._relative(closed.distance)
        self._solver.y = closed.y
        if not isinstance(self._solver, RungeKutta):
            self._solver.f = self._solver.fun(self.t, closed.y)  # implicit integrators keep it for the next step


def _right_hand_side(plant: Plant, near: Callable[[], bool]) -> Callable[[float, Array], Array]:
    """Return dy/dt, at the projected state if it is `near` a singular configuration.

    NaN where a trial step went so far that numbers overflow or loops do not close, for the integrator to take a shorter one.
    """

    def derivative(t: float, y: Array) -> Array:
        if not np.isfinite(y).all():
            return np.full(len(y), np.nan)
        try:
            return plant.rate(t, project(plant, t, np.ascontiguousarray(y), _ROUNDING).y if near() else y)
        except ConvergenceError:
            return np.full(len(y), np.nan)
        except ModelError as error:
            if (error.code, error.where) != ("not-finite", "result"):
                raise
            return np.full(len(y), np.nan)

    return derivative
