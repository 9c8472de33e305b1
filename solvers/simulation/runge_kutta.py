"""Explicit Runge-Kutta methods that let compiled code do all stages of a step at once, where what acts allows it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.integrate import DenseOutput, OdeSolver

from titop.blocks.basics.spatial import Array
from titop.solvers.kernels.stepping_entries import step_error
from titop.solvers.simulation.tableaus import Tableau

#: Limits of the next step's length over the last one's, and what is left off for safety, as in scipy's methods.
_LEAST, _MOST, _SAFETY = 0.2, 10.0, 0.9


class Stages(Protocol):
    """What fills in stages of a step."""

    def fill(self, first: int, last: int, t: float, h: float, states: Array, rates: Array) -> bool:
        """Write the rates from stage `first` on to before `last`, and the states up to that; tell whether all are finite."""


class RungeKutta(OdeSolver):
    """An explicit method with the step control of scipy's.

    Parameters
    ----------
    fun : callable ``f(t, y) -> dy/dt``
    t0 : float, s
    y0 : array
    t_bound : float, s
    method : Tableau
    stages : callable
        Returns what fills in the stages of the next step; None for `fun`, one by one.
    rtol, atol, max_step : float
    """

    def __init__(
        self,
        fun: Any,
        t0: float,
        y0: Array,
        t_bound: float,
        method: Tableau,
        stages: Callable[[], Stages | None],
        rtol: float,
        atol: float,
        max_step: float,
    ) -> None:
        self.t: float
        self.y: Array
        super().__init__(fun, t0, y0, t_bound, vectorized=False)
        self._method, self._stages = method, stages
        self._tolerances, self._max_step = (rtol, atol), max_step
        count = len(method.nodes)
        self._states, self._rates = np.zeros((count, self.n)), np.zeros((count, self.n))
        first = method.kind(fun, t0, y0, t_bound, rtol=rtol, atol=atol, max_step=max_step)
        self.h_abs, self.nfev = float(first.h_abs), int(first.nfev)

    def _step_impl(self) -> tuple[bool, str | None]:
        method, t, end, begun = self._method, float(self.t), float(self.t_bound), 0
        smallest = 10 * (math.nextafter(t, math.inf) - t)
        h, most = max(min(self.h_abs, self._max_step), smallest), _MOST
        self._states[0] = self.y
        while h >= smallest:
            later = min(t + h, end)
            h = later - t
            done = self._fill(begun, method.used, t, h)
            error = self._error(h) if done else math.nan
            if error < 1:
                self.h_abs = h * (min(most, _SAFETY * error**method.exponent) if error else most)
                self._length = h
                self.t, self.y = later, self._states[method.end].copy()
                return True, None
            h *= max(_LEAST, _SAFETY * error**method.exponent) if error < math.inf else _LEAST
            begun, most = int(done), 1.0
        return False, self.TOO_SMALL_STEP

    def _error(self, h: float) -> float:
        """Return the error of the step beside its tolerances."""
        return float(step_error(self._method.end, h, *self._tolerances, self._method.estimators, self._states, self._rates))

    def _fill(self, first: int, last: int, t: float, h: float) -> bool:
        """Fill in stages; tell whether they are finite."""
        self.nfev += last - first
        stages = self._stages()
        if stages is not None:
            return stages.fill(first, last, t, h, self._states, self._rates)
        states, rates, method = self._states, self._rates, self._method
        for s in range(first, min(last + 1, len(states))):
            states[s] = states[0] + h * (method.coefficients[s, :s] @ rates[:s])
            if s < last:
                rates[s] = self.fun_single(t + method.nodes[s] * h, states[s].copy())
                if not np.isfinite(rates[s]).all():
                    return False
        return True

    def _dense_output_impl(self) -> DenseOutput:
        method, begin, h = self._method, float(self.t_old), self._length
        self._fill(method.used, len(method.nodes), begin, h)
        return _Within(begin, float(self.t), method.within(self._states, self._rates, h))


class _Within(DenseOutput):
    """The states within a step."""

    def __init__(self, t_old: float, t: float, within: Callable[[float], Array]) -> None:
        super().__init__(t_old, t)
        self._within = within

    def _call_impl(self, t: float) -> Array:
        return self._within((t - self.t_old) / (self.t - self.t_old))
