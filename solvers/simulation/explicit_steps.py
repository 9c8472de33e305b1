"""Explicit Runge-Kutta methods that let compiled code make whole steps, or do all their stages, where what acts allows it."""

from __future__ import annotations

from collections.abc import Callable

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
from titop.solvers.simulation.compiled_stages import CompiledStages
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.steppers import OdeStepper
from titop.solvers.simulation.tableaus import tableau


class RungeKutta(OdeStepper):
    """An explicit method with the step control of scipy's, in compiled code where the plant `has_stages`.

    Parameters
    ----------
    plant : DrivenModel
    method : str
        As in `tableau`.
    start, end : float, s
    y0 : array
    rtol, atol, max_step : float
    """

    def __init__(
        self,
        plant: DrivenModel,
        method: str,
        start: float,
        end: float,
        y0: Array,
        rtol: float,
        atol: float,
        max_step: float,
    ) -> None:
        super().__init__(plant, start, end, y0)
        self.name, self._y, self._method = method, np.array(y0, dtype=float), tableau(method)
        self._stages = CompiledStages(plant, self._method) if plant.has_stages else None
        shape = len(self._method.nodes), len(y0)
        self._states, self._rates, self._clock = np.zeros(shape), np.zeros(shape), np.zeros(CLOCK_COLUMNS)
        if self._stages is not None:
            self._stages.work_on(self._clock, self._y, self._states, self._rates)
        first = self._method.kind(self.rate, start, y0, end, rtol=rtol, atol=atol, max_step=max_step)
        clock = {TIME: start, END: end, WISH: first.h_abs, GROWTH: MOST, LONGEST: max_step, RTOL: rtol, ATOL: atol}
        clock |= {EXPONENT: self._method.exponent, EVALUATIONS: first.nfev}
        for column, number in clock.items():
            self._clock[column] = number
        self._set_out = set_out.compiled
        self._set_out(self._clock)

    @property
    def t(self) -> float:
        return self._clock.item(TIME)

    @property
    def begin(self) -> float:
        return self._clock.item(BEFORE)

    @property
    def end(self) -> float:
        return self._clock.item(END)

    @property
    def y(self) -> Array:
        return self._y

    def advance(self, watch: float) -> OnClosures | None:
        clock, reached = self._clock, None
        if self._stages is not None and not self.is_near():
            reached = self._stages.steps(watch)
            self.is_clear = self._stages.is_clear
        else:
            self.is_clear = None
            self._step_in_python()
        if self.is_running and clock[LENGTH] <= 0.0:
            raise ArithmeticError("Required step size is less than spacing between numbers.")
        return reached

    def _step_in_python(self) -> None:
        """Make a step, its stages one by one by `rate`."""
        clock, method, is_step = self._clock, self._method, False
        self._states[0] = self._y
        while not is_step and clock[LENGTH] > 0.0:
            filled = self._fill(None, int(clock[BEGUN]), method.used, float(clock[TIME]), float(clock[LENGTH]))
            is_step = bool(judge(filled, method.end, clock, method.estimators, self._states, self._rates))
        if is_step:
            self._y[:] = self._states[method.end]

    def _fill(self, stages: CompiledStages | None, first: int, last: int, t: float, h: float) -> bool:
        """Fill in stages; tell whether they are finite."""
        self._clock[EVALUATIONS] += last - first
        if stages is not None:
            return stages.fill(first, last, t, h)
        states, rates, method = self._states, self._rates, self._method
        for s in range(first, min(last + 1, len(states))):
            states[s] = states[0] + h * (method.coefficients[s, :s] @ rates[:s])
            if s < last:
                rates[s] = self.rate(t + method.nodes[s] * h, states[s].copy())
                if not np.isfinite(rates[s]).all():
                    return False
        return True

    def go_back(self, length: float) -> None:
        clock = self._clock  # steps behind that one may be as long as they were
        self._y[:] = self._states[0]
        clock[TIME], clock[LENGTH], clock[BEGUN] = clock[BEFORE], length, 0.0
        clock[STEPS] -= 1.0

    def move(self, y: Array) -> None:
        self._y[:] = y

    def go_to(self, end: float, anew: bool) -> bool:
        self._clock[END] = end
        self._set_out(self._clock)
        if self._stages is not None:
            self._stages.act()  # anew in any case
        return True

    def dense_output(self) -> Callable[[Array], Array]:
        method, begin, h = self._method, self.begin, float(self._clock[LAST])
        self._fill(None if self.is_near() else self._stages, method.used, len(method.nodes), begin, h)
        within = method.within(self._states, self._rates, h)
        return lambda times: within((times - begin) / h)

    def statistics(self) -> dict[str, float]:
        return {"steps": int(self._clock[STEPS]), "evaluations": int(self._clock[EVALUATIONS]), "jacobians": 0}
