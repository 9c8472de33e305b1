"""Integrators of scipy's that go on from states on the closures, also across singular configurations.

Next to a singular configuration what a state is off the closures, over the distance or its square, would be taken for motion:
there the states within a step are projected too, and no step ends so near that rounding alone would do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from scipy.integrate import DOP853, RK23, RK45, DenseOutput, OdeSolver, Radau

from titop.blocks.errors import ConvergenceError, Finding, ModelError
from titop.blocks.spatial import Array
from titop.solvers.loops.multipliers import independence
from titop.solvers.simulation.closed_states import project
from titop.solvers.simulation.plant import Plant

#: Integrators that can go on from a projected state. Those of several steps cannot: their history would have to move as well.
METHODS: dict[str, type[OdeSolver]] = {"DOP853": DOP853, "RK45": RK45, "RK23": RK23, "Radau": Radau}

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


def require_method(method: str) -> type[OdeSolver]:
    """Return the integrator of a name.

    Raises
    ------
    ModelError
        If it cannot keep loops closed.
    """
    if method not in METHODS:
        expected = " or ".join((*METHODS, "generalized-alpha"))
        advice = 'with rigid closures or gears take "Radau" for stiff systems, "DOP853" for others'
        raise ModelError(Finding("unknown-method", "method", method, expected, advice))
    return METHODS[method]


class Stepping:
    """An integrator of scipy's, step by step; see `Stepper` of `constrained_integration`.

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

    def step(self) -> None:
        """Make a step.

        Raises
        ------
        ConvergenceError
            If the integrator gives up.
        """
        self._try()
        self._steps += 1

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

    def go_on(self, state: Array) -> None:
        """Go on as if nothing had been: states need no projection."""

    def statistics(self) -> dict[str, float]:
        """Return what was counted."""
        return {"steps": self._steps, "evaluations": self._solver.nfev, "jacobians": int(self._solver.njev)}


class Projected(Stepping):
    """An integrator that goes on from projected states.

    Parameters
    ----------
    plant : Plant
    integrator : subclass of scipy.integrate.OdeSolver
    start, end : float, s
    y0 : array
        On the closures.
    **options
        ``rtol``, ``atol`` and ``max_step`` of the integrator; ``jac`` of an implicit one.
    """

    def __init__(self, plant: Plant, integrator: type[OdeSolver], start: float, end: float, y0: Array, **options: Any) -> None:
        self._plant = plant
        self._least = _STUCK * abs(end - start)
        self._farthest = 0.0
        self._away = self._distance(y0)
        right_hand_side = _right_hand_side(plant, lambda: self._away < _NEAR)
        super().__init__(plant, integrator(right_hand_side, start, y0, end, **options))

    def step(self) -> None:
        """Make a step; a shorter one if it ended too near to a singular configuration.

        Raises
        ------
        ConvergenceError
            If the integrator gives up, or runs into a singular configuration.
        """
        start = vars(self._solver).copy()
        self._try()
        length = self._solver.step_size
        for part in _SHORTER if self._away > _LANDING else ():
            if self._distance(self.y) > _LANDING:
                break
            counted = {name: getattr(self._solver, name) for name in ("nfev", "njev", "nlu")}
            vars(self._solver).update(start | counted | {"h_abs": part * length})
            self._try()
        if self._away < _LANDING and self._solver.step_size < self._least and self.status == "running":
            self._give_up(self.t, "steps that shrink to nothing next to a singular configuration")
        self._steps += 1

    def _distance(self, y: Array) -> float:
        """Return the distance from a singular configuration, relative to the largest so far."""
        model, free = self._plant.model, ~self._plant.motion.mask
        weighted = model.closure_weights[:, None] * model.closure_jacobian(y[: model.nq])
        distance = independence(weighted[:, free], self._plant.held_rank, model.gear_count)
        self._farthest = max(self._farthest, distance)
        return distance / self._farthest if self._farthest else 1.0

    def go_on(self, state: Array) -> None:
        """Go on from the projected state."""
        self._away = self._distance(state)
        self._solver.y = state
        self._solver.f = self._solver.fun(self.t, state)  # both kinds of integrator keep it for the next step


def _right_hand_side(plant: Plant, near: Callable[[], bool]) -> Callable[[float, Array], Array]:
    """Return dy/dt, at the projected state if it is `near` a singular configuration.

    NaN where a trial step went so far that numbers overflow or loops do not close, for the integrator to take a shorter one.
    """

    def derivative(t: float, y: Array) -> Array:
        if not np.isfinite(y).all():
            return np.full(len(y), np.nan)
        try:
            return plant.rate(t, project(plant, t, np.ascontiguousarray(y), _ROUNDING) if near() else y)
        except ConvergenceError:
            return np.full(len(y), np.nan)
        except ModelError as error:
            if (error.code, error.where) != ("not-finite", "result"):
                raise
            return np.full(len(y), np.nan)

    return derivative
