"""Explicit Runge-Kutta methods as tables, with the coefficients of scipy's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import DOP853, RK23, RK45

from titop.blocks.basics.spatial import Array

#: States (m, n) as a function of the parts (m) of a step that have passed, 0 to 1.
Within = Callable[[Array], Array]


class Tableau(NamedTuple):
    """A method: stage s stands at ``t + nodes[s] h``, its state is ``y + h sum_j coefficients[s, j] rates[j]``.

    Attributes
    ----------
    kind : subclass of scipy.integrate.OdeSolver
        Scipy's form of it.
    nodes : list of float
        Of all stages.
    coefficients : (n, n) array
    end : int
        The stage whose state is that at the end of the step; those behind it serve `within`.
    used : int
        How many stages the error needs.
    estimators : (1, used) or (2, used) array
        See `error_of` of the kernels' `step_control`.
    exponent : float
        Of the error in the length of the next step.
    curve : (k, n) array
        The states within a step: ``y + h sum_p passed^(p + 1) curve[p] @ rates`` where a part of it has passed.
    """

    kind: Any
    nodes: list[float]
    coefficients: Array
    end: int
    used: int
    estimators: Array
    exponent: float
    curve: Array

    def within(self, states: Array, rates: Array, h: float) -> Within:
        """Return the states within a step of length h, from all its stages."""
        terms, begin = h * (self.curve @ rates), states[0].copy()
        powers = np.arange(1, len(terms) + 1)
        return lambda parts: begin + np.power.outer(parts, powers) @ terms


@cache
def tableau(method: str) -> Tableau:
    """Return a method, ``"DOP853"``, ``"RK45"`` or ``"RK23"``."""
    return _dop853() if method == "DOP853" else _of_a_pair({"RK45": RK45, "RK23": RK23}[method])


def _of_a_pair(kind: Any) -> Tableau:
    n = kind.n_stages
    coefficients = np.zeros((n + 1, n + 1))
    coefficients[:n, : kind.A.shape[1]], coefficients[n, :n] = kind.A, kind.B

    exponent = -1 / (kind.error_estimator_order + 1)
    return Tableau(
        kind, [*kind.C.tolist(), 1.0], coefficients, n, n + 1, kind.E[None].copy(), exponent, np.ascontiguousarray(kind.P.T)
    )


def _dop853() -> Tableau:
    n, more = DOP853.n_stages, len(DOP853.C_EXTRA)
    coefficients = np.zeros((n + 1 + more, n + 1 + more))
    coefficients[:n, :n], coefficients[n, :n] = DOP853.A, DOP853.B
    coefficients[n + 1 :, : DOP853.A_EXTRA.shape[1]] = DOP853.A_EXTRA
    estimators = np.array([DOP853.E5[:n], DOP853.E3[:n]])  # the rate at the end counts for nothing

    whole, first, last = np.zeros((3, n + 1 + more))
    whole[:n], first[0], last[n] = DOP853.B, 1.0, 1.0
    terms = np.vstack([whole, first - whole, 2 * whole - last - first, DOP853.D])
    curve, factor = np.zeros((len(terms), n + 1 + more)), np.ones(1)
    for k, term in enumerate(terms):  # factors are what has passed and what is left, in turns
        factor = np.convolve(factor, [1.0, -1.0] if k % 2 else [0.0, 1.0])
        curve += np.outer(np.append(factor[1:], np.zeros(len(terms) - len(factor) + 1)), term)
    exponent = -1 / (DOP853.error_estimator_order + 1)
    return Tableau(DOP853, [*DOP853.C.tolist(), 1.0, *DOP853.C_EXTRA.tolist()], coefficients, n, n, estimators, exponent, curve)
