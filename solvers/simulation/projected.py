"""Integrators that go on from states on the closures, also across singular configurations.

Next to a singular configuration what a state is off the closures, over the distance or its square, would be taken for motion:
there the states within a step are projected too, and no step ends so near that rounding alone would do the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.simulation.closed_states import NEAR, ROUNDING, OnClosures, project
from titop.solvers.simulation.plant import Plant
from titop.solvers.simulation.trial_states import went_too_far

#: Integrators that can go on from a projected state. Those of several steps cannot: their history would have to move as well.
METHODS = ("DOP853", "RK45", "RK23", "Radau")

#: Distance from singular configurations, by the least independent constraint, relative to the largest of the motion so far,
#: below which no step ends.
_LANDING = 1e-3
#: Parts of a step that ended too near to a singular configuration that are tried in its place.
_SHORTER = (0.95, 0.9, 0.8, 0.65)
#: Steps next to a singular configuration that are shorter than this part of the whole time lead into it, not across.
_STUCK = 1e-9


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


class Integrator(Protocol):
    """What makes steps: titop's own methods (`runge_kutta`), and scipy's (`scipy_steps`)."""

    name: str

    @property
    def t(self) -> float:
        """Time (s) that is reached."""

    @property
    def y(self) -> Array:
        """State that is reached."""

    @property
    def begin(self) -> float:
        """Where the last step began (s)."""

    @property
    def end(self) -> float:
        """Time (s) to which it goes."""

    @property
    def is_clear(self) -> bool | None:
        """Whether nothing that is guarded switched in the last steps; None where nobody has looked."""

    def step(self, watch: float) -> OnClosures | None:
        """Make a step, or several until one reaches the time `watch`.

        Return what is reached, None if it has to be put on the closures. Raise an `ArithmeticError` to give up.
        """

    def again(self, length: float) -> None:
        """Go back to where the last step began, to make one of another length (s)."""

    def cut(self, t: float) -> bool:
        """Let the last step end at a time (s) within it, by what is known between its ends.

        Tell whether that was done: those that go on from its end as well as from another make a step `again`.
        """

    def pass_over(self, t: float) -> bool:
        """Go on from a time (s) right behind the last step's end, where a law that jumps has surely jumped.

        Tell whether that was done: explicit methods need not.
        """

    def move(self, y: Array) -> None:
        """Go on from another state."""

    def go_to(self, end: float, anew: bool) -> bool:
        """Go on to a later end (s), see `Stepper`; tell whether that can be done."""

    def dense_output(self) -> Callable[[Array], Array]:
        """Return the states (m, n) within the last step as a function of times (m)."""

    def counted(self) -> dict[str, int]:
        """Return what was counted; see `Trajectory`."""


class Stepping:
    """An integrator, step by step; see `Stepper` of `constrained_integration`.

    Parameters
    ----------
    plant : Plant
    solver : Integrator
    """

    def __init__(self, plant: Plant, solver: Integrator) -> None:
        self._plant, self._solver = plant, solver

    @property
    def t(self) -> float:
        """Time (s) that is reached."""
        return self._solver.t

    @property
    def y(self) -> Array:
        """State that is reached."""
        return self._solver.y

    @property
    def begin(self) -> float:
        """Where the last step began (s)."""
        return self._solver.begin

    @property
    def status(self) -> str:
        """``"running"`` until the end is reached."""
        return "running" if self._solver.t < self._solver.end else "finished"

    @property
    def is_clear(self) -> bool | None:
        """Whether nothing that is guarded switched in the last steps; None where nobody has looked."""
        return self._solver.is_clear

    def step(self, watch: float) -> OnClosures:
        """Make a step, or several until one reaches the time `watch`; return the state at the end.

        Raises
        ------
        ConvergenceError
            If the integrator gives up.
        """
        reached = self._try(watch)
        if reached is not None and self._plant.has_plain_states:
            return reached
        return project(self._plant, self.t, self.y)

    def _try(self, watch: float) -> OnClosures | None:
        try:
            return self._solver.step(watch)
        except ArithmeticError as error:
            self._give_up(f"{error}; perhaps a stiff system, looser tolerances, or a singular configuration")

    def _give_up(self, reason: str) -> NoReturn:
        name, end = self._solver.name, self._solver.end
        raise ConvergenceError(f"{name} gave up after t = {self.t:.6g} s of {end:.6g} s: {reason}") from None

    def dense_output(self) -> Callable[[Array], Array]:
        """Return the states (m, n) within the last step as a function of times (m)."""
        return self._solver.dense_output()

    def go_on(self, closed: OnClosures) -> None:
        """Go on as if nothing had been: states need no projection."""

    def end_at(self, t: float) -> OnClosures:
        """Let the last step end at a time (s) within it, or before; return the state on the closures there."""
        if self._solver.cut(t):
            return project(self._plant, self.t, self.y)
        self._solver.again(t - self.begin)
        return self.step(-math.inf)

    def pass_over(self, t: float) -> OnClosures | None:
        """Go on from a time (s) right behind the last step's end; return the state on the closures there, None if it is not."""
        return project(self._plant, self.t, self.y) if t < self._solver.end and self._solver.pass_over(t) else None

    def go_to(self, end: float, anew: bool) -> bool:
        """Go on to a later end (s), see `Stepper`; tell whether that can be done."""
        return self._solver.go_to(end, anew)

    def statistics(self) -> dict[str, float]:
        """Return what was counted."""
        return dict(self._solver.counted())


class Projected(Stepping):
    """An integrator that goes on from projected states.

    Parameters
    ----------
    plant : Plant
    integrator : callable ``f(fun, start, y0, end, is_near, **options) -> Integrator``
        `is_near` tells whether states within the next step are projected too.
    start, end : float, s
    y0 : array
        On the closures.
    **options
        ``rtol``, ``atol`` and ``max_step`` of the integrator.
    """

    def __init__(
        self, plant: Plant, integrator: Callable[..., Integrator], start: float, end: float, y0: Array, **options: Any
    ) -> None:
        self._plant = plant
        self._least = _STUCK * abs(end - start)
        self._away = self._relative(project(plant, start, y0).distance)
        derivative = _right_hand_side(plant, self._is_near)
        super().__init__(plant, integrator(derivative, start, y0, end, self._is_near, **options))

    def step(self, watch: float) -> OnClosures:
        """Make a step, or several until one reaches the time `watch`; a shorter one near a singular configuration.

        Raises
        ------
        ConvergenceError
            If the integrator gives up, or runs into a singular configuration.
        """
        closed = self._try(watch)
        if closed is not None:
            return closed
        length, closed = self.t - self.begin, self._end()
        for part in _SHORTER if self._away > _LANDING else ():
            if closed is not None and self._relative(closed.distance) > _LANDING:
                break
            self._solver.again(part * length)
            self._try(-math.inf)
            closed = self._end()
        if self._away < _LANDING and self.t - self.begin < self._least and self.status == "running":
            self._give_up("steps that shrink to nothing next to a singular configuration")
        return closed or project(self._plant, self.t, self.y)

    def _end(self) -> OnClosures | None:
        """Return the state on the closures at the end of the step, None if there is none."""
        try:
            return project(self._plant, self.t, self.y)
        except ConvergenceError:
            return None

    def _is_near(self) -> bool:
        """Tell whether states within the next step are projected too."""
        return self._away < NEAR

    def _relative(self, distance: float) -> float:
        """Return a distance from a singular configuration, relative to the largest so far."""
        self._plant.farthest = max(self._plant.farthest, distance)
        return distance / self._plant.farthest if self._plant.farthest else 1.0

    def go_on(self, closed: OnClosures) -> None:
        """Go on from the projected state."""
        self._away = self._relative(closed.distance)
        self._solver.move(closed.y)


def _right_hand_side(plant: Plant, near: Callable[[], bool]) -> Callable[[float, Array], Array]:
    """Return dy/dt, at the projected state if it is `near` a singular configuration.

    NaN where a trial step went too far or loops do not close, for the integrator to take a shorter one.
    """

    def derivative(t: float, y: Array) -> Array:
        if not np.isfinite(y).all():
            return np.full(len(y), np.nan)
        try:
            return plant.rate(t, project(plant, t, np.ascontiguousarray(y), ROUNDING).y if near() else y)
        except ConvergenceError:
            return np.full(len(y), np.nan)
        except ModelError as error:
            if not went_too_far(error):
                raise
            return np.full(len(y), np.nan)

    return derivative
