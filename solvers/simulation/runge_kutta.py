"""Explicit Runge-Kutta methods that let compiled code make whole steps, or do all their stages, where what acts allows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.kernels.entries.step_control import (
    ATOL,
    BEFORE,
    BEGUN,
    CLOCK_COLUMNS,
    END,
    EVALUATIONS,
    EXPONENT,
    GROWTH,
    LAST,
    LENGTH,
    LONGEST,
    MOST,
    RTOL,
    STEPS,
    TIME,
    WISH,
)
from titop.solvers.kernels.entries.stepping_entries import judge, set_out
from titop.solvers.simulation.closed_states import OnClosures
from titop.solvers.simulation.tableaus import Tableau


class Stages(Protocol):
    """What makes steps, and fills in stages of one."""

    is_clear: bool | None

    def work_on(self, clock: Array, y: Array, states: Array, rates: Array) -> None:
        """Work on these arrays from now on: a `clock`, the state that is reached, and rows of stages."""

    def act(self) -> None:
        """Let act what is commanded now."""

    def steps(self, watch: float) -> OnClosures | None:
        """Make a step, or several until one reaches the time `watch`; return what is reached, if nobody has to look closer."""

    def fill(self, first: int, last: int, t: float, h: float) -> bool:
        """Write the rates from stage `first` on to before `last`, and the states up to that; tell whether all are finite."""


class RungeKutta:
    """An explicit method with the step control of scipy's; see `Integrator` of `projected`.

    Parameters
    ----------
    fun : callable ``f(t, y) -> dy/dt``
    start, end : float, s
    y0 : array
    method : Tableau
    stages : Stages or None
        None for `fun`, one by one.
    is_near : callable
        Tells whether `fun` has to be used for the next step in any case.
    rtol, atol, max_step : float

    Attributes
    ----------
    t : float, s
        What is reached, and
    y : array
        the state there.
    begin : float, s
        Where the last step began.
    end : float, s
    is_clear : bool or None
        Whether compiled code saw that nothing that it guards switched in the last steps; None where it did not look.
    """

    is_clear: bool | None = None
    t: float
    begin: float
    end: float

    def __init__(
        self,
        fun: Callable[[float, Array], Array],
        start: float,
        y0: Array,
        end: float,
        method: Tableau,
        stages: Stages | None,
        is_near: Callable[[], bool],
        rtol: float,
        atol: float,
        max_step: float,
    ) -> None:
        self.name, self.y = method.kind.__name__, np.array(y0, dtype=float)
        self._fun, self._method, self._stages, self._is_near = fun, method, stages, is_near
        shape = len(method.nodes), len(y0)
        self._states, self._rates, self._clock = np.zeros(shape), np.zeros(shape), np.zeros(CLOCK_COLUMNS)
        if stages is not None:
            stages.work_on(self._clock, self.y, self._states, self._rates)
        first = method.kind(fun, start, y0, end, rtol=rtol, atol=atol, max_step=max_step)
        known = {TIME: start, END: end, WISH: first.h_abs, GROWTH: MOST, LONGEST: max_step, RTOL: rtol, ATOL: atol}
        known |= {EXPONENT: method.exponent, EVALUATIONS: first.nfev}
        for column, number in known.items():
            self._clock[column] = number
        self._set_out = set_out.compiled
        self._set_out(self._clock)
        self._look()

    def _look(self) -> None:
        """Look at the clock."""
        self.t, self.begin, self.end = self._clock.item(TIME), self._clock.item(BEFORE), self._clock.item(END)

    def step(self, watch: float) -> OnClosures | None:
        """Make a step, or several in compiled code until one reaches the time `watch`.

        Returns
        -------
        OnClosures or None
            What is reached; None if it has to be put on the closures.

        Raises
        ------
        ArithmeticError
            If steps become too short to count.
        """
        clock, reached = self._clock, None
        if self._stages is not None and not self._is_near():
            reached = self._stages.steps(watch)
            self.is_clear = self._stages.is_clear
        else:
            self.is_clear = None
            self._step()
        self._look()
        if self.t < self.end and clock[LENGTH] <= 0.0:
            raise ArithmeticError("Required step size is less than spacing between numbers.")
        return reached

    def _step(self) -> None:
        """Make a step, its stages one by one by `fun`."""
        clock, method, is_step = self._clock, self._method, False
        self._states[0] = self.y
        while not is_step and clock[LENGTH] > 0.0:
            filled = self._fill(None, int(clock[BEGUN]), method.used, float(clock[TIME]), float(clock[LENGTH]))
            is_step = bool(judge(filled, method.end, clock, method.estimators, self._states, self._rates))
        if is_step:
            self.y[:] = self._states[method.end]

    def _fill(self, stages: Stages | None, first: int, last: int, t: float, h: float) -> bool:
        """Fill in stages; tell whether they are finite."""
        self._clock[EVALUATIONS] += last - first
        if stages is not None:
            return stages.fill(first, last, t, h)
        states, rates, method = self._states, self._rates, self._method
        for s in range(first, min(last + 1, len(states))):
            states[s] = states[0] + h * (method.coefficients[s, :s] @ rates[:s])
            if s < last:
                rates[s] = self._fun(t + method.nodes[s] * h, states[s].copy())
                if not np.isfinite(rates[s]).all():
                    return False
        return True

    def again(self, length: float) -> None:
        """Go back to where the last step began, to make one of another length; those behind it may be as long as they were."""
        clock = self._clock
        self.y[:] = self._states[0]
        clock[TIME], clock[LENGTH], clock[BEGUN] = clock[BEFORE], length, 0.0
        clock[STEPS] -= 1.0
        self._look()

    def move(self, y: Array) -> None:
        """Go on from another state."""
        self.y[:] = y

    def cut(self, t: float) -> bool:
        """Tell that it makes a step again."""
        return False

    def pass_over(self, t: float) -> bool:
        """Tell that steps begin where others end: what jumps in the first of them shortens it, and no more."""
        return False

    def go_to(self, end: float, anew: bool) -> bool:
        """Go on to a later end (s); what acts is asked for anew in any case."""
        self._clock[END] = end
        self._set_out(self._clock)
        self._look()
        if self._stages is not None:
            self._stages.act()
        return True

    def dense_output(self) -> Callable[[Array], Array]:
        """Return the states (m, n) within the last step as a function of times (m)."""
        method, begin, h = self._method, self.begin, float(self._clock[LAST])
        self._fill(None if self._is_near() else self._stages, method.used, len(method.nodes), begin, h)
        within = method.within(self._states, self._rates, h)
        return lambda times: within((times - begin) / h)

    def counted(self) -> dict[str, int]:
        """Return what was counted; see `Trajectory`."""
        return {"steps": int(self._clock[STEPS]), "evaluations": int(self._clock[EVALUATIONS]), "jacobians": 0}
