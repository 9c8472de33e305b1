"""Scipy's integrators, as titop steps with its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import LSODA, OdeSolver, Radau

from titop.blocks.basics.spatial import Array


class ScipySteps:
    """An integrator of scipy's; see `Integrator` of `projected`.

    Parameters
    ----------
    solver : scipy.integrate.OdeSolver
    """

    #: Whether nothing switched: nobody has looked.
    is_clear = None

    def __init__(self, solver: OdeSolver) -> None:
        self._solver, self._steps, self.name = solver, 0, type(solver).__name__
        self._begin = vars(solver).copy()
        self._is_one_step = isinstance(solver, Radau)
        self._dense: Callable[[Array], Array] | None = None

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
        self._begin, self._dense = vars(self._solver).copy(), None
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

    def cut(self, t: float) -> bool:
        """Let the last step end at a time (s) within it, if the method is one of several steps: others make it again."""
        return not self._is_one_step and self.pass_over(t)

    def pass_over(self, t: float) -> bool:
        """Let the last step end at another time (s), by the curve between its ends."""
        self._solver.y, self._solver.t = self.dense_output()(np.array([t]))[0], t
        return True

    def go_to(self, end: float, anew: bool) -> bool:
        """Go on to a later end (s), unless something begins `anew`; LSODA's Fortran does not know of any."""
        if anew or isinstance(self._solver, LSODA):
            return False
        self._solver.t_bound, self._solver.status = end, "running"
        return True

    def dense_output(self) -> Callable[[Array], Array]:
        """Return the states (m, n) within the last step as a function of times (m)."""
        if self._dense is None:
            dense = self._solver.dense_output()
            self._dense = lambda times: dense(times).T
        return self._dense

    def counted(self) -> dict[str, int]:
        """Return what was counted; see `Trajectory`."""
        return {"steps": self._steps, "evaluations": int(self._solver.nfev), "jacobians": int(self._solver.njev)}
