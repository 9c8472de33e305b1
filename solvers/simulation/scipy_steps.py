"""Scipy's integrators, as titop steps with its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import OdeSolver

from titop.blocks.basics.spatial import Array


class ScipySteps:
    """An integrator of scipy's; see `Integrator` of `projected`.

    Parameters
    ----------
    solver : scipy.integrate.OdeSolver
    longest_from : callable ``f(t)``, optional
        The longest step (s) from a time on, if that is not always the solver's own.
    """

    def __init__(self, solver: OdeSolver, longest_from: Callable[[float], float] | None = None) -> None:
        self._solver, self._steps, self.name = solver, 0, type(solver).__name__
        self._longest_from, self._longest = longest_from, getattr(solver, "max_step", np.inf)
        self._begin = vars(solver).copy()

    @property
    def t(self) -> float:
        """Time (s) that is reached."""
        return float(self._solver.t)

    @property
    def y(self) -> Array:
        """State that is reached."""
        return self._solver.y

    @property
    def end(self) -> float:
        """Time (s) to which it goes."""
        return float(self._solver.t_bound)

    @property
    def begin(self) -> float:
        """Where the last step began (s)."""
        return float(self._solver.t_old)

    def step(self, watch: float) -> None:
        """Make one step, whatever the time to `watch` for.

        Raises
        ------
        ArithmeticError
            If the integrator gives up.
        """
        if self._longest_from is not None:
            self._solver.max_step = min(self._longest, self._longest_from(self.t))
        self._begin = vars(self._solver).copy()
        message = self._solver.step()
        if self._solver.status == "failed":
            raise ArithmeticError(message)
        self._steps += 1

    def again(self, length: float) -> None:
        """Go back to where the last step began, to make one of another length."""
        counted = {name: getattr(self._solver, name) for name in ("nfev", "njev", "nlu")}
        vars(self._solver).update(self._begin | counted | {"h_abs": length})
        self._steps -= 1

    def move(self, y: Array) -> None:
        """Go on from another state."""
        self._solver.y = y
        self._solver.f = self._solver.fun(self.t, y)  # implicit integrators keep it for the next step

    def go_to(self, end: float) -> bool:
        """Tell that it goes to no other end than the one it knows."""
        return False

    def dense_output(self) -> Callable[[Array], Array]:
        """Return the states (m, n) within the last step as a function of times (m)."""
        dense = self._solver.dense_output()
        return lambda times: dense(times).T

    def counted(self) -> dict[str, int]:
        """Return what was counted; see `Trajectory`."""
        return {"steps": self._steps, "evaluations": int(self._solver.nfev), "jacobians": int(self._solver.njev)}
