"""Motions as functions of time, those of users and scipy's splines: rows of position, velocity and acceleration.

Integrators ask for all times of a step at once. All that comes back is looked at: numbers that are not finite, and wrong
shapes, do not pass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import comb, factorial, isfinite
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME, TYPED
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import real_array

#: Numbers that need no conversion.
_FLOATS = (float, np.float64)
#: Where else than at knots splines are looked at, in parts of the way to the next.
_BETWEEN = 0.3, 0.7
#: How many times are kept: those of some steps.
_KEPT = 64


def read_motion(where: str, function: Any, sizes: tuple[int, int], span: tuple[float, float]) -> Motion:
    """Return a motion as a user gives it.

    `where`: what messages call it; `function`: ``f(t)`` returns position, velocity and acceleration, one after the other or as
    the rows of an array; a spline is differentiated; `sizes` (int, int): how many numbers a position has, and a velocity;
    `span` (float, float; s): times over which it is used.
    """
    if not callable(function):
        raise ModelError(Finding("wrong-type", "prescribed", function, "functions of time", "give f(t) or a scipy spline"))
    if not hasattr(function, "derivative"):
        advice = "an imposed motion follows time alone: forces may follow the state (tau, u)"
        check_function("prescribed", function, "t", advice)
        return FunctionMotion(function, where, sizes)
    check_knots(where, function, span)
    pieces = _pieces(function)
    if pieces is not None:
        return PiecewiseMotion(pieces, where, sizes)
    rate, second = function.derivative(1), function.derivative(2)
    return FunctionMotion(lambda t: (function(t), rate(t), second(t)), where, sizes, _knots(function))


class Motion(ABC):
    """The motion of a joint or a coordinate.

    `where`, `sizes`: see `read_motion`.
    """

    def __init__(self, where: str, sizes: tuple[int, int]) -> None:
        nq, nv = sizes
        self._where, self._shapes = where, [(nq,), (nv,), (nv,)]
        self._parts = slice(nq), slice(nq, nq + nv), slice(nq + nv, None)

    def rows(self, times: Sequence[float]) -> Array:
        """Return ``[position, velocity, acceleration]`` at some times (n, nq + 2 nv)."""
        rows = self._rows(times)
        numbers = rows.reshape(-1)
        if not (isfinite(numbers.dot(numbers)) or np.isfinite(numbers).all()):  # the product may overflow
            wrong = rows[int(np.argmin(np.isfinite(rows).all(axis=1)))]
            raise self._refusal(tuple(wrong[part] for part in self._parts) if len(wrong) > 3 else tuple(wrong.tolist()))
        return rows

    def kinks(self) -> Array:
        """Return the times (s) at which it may not be smooth, if they are known."""
        return np.zeros(0)

    def jumps(self) -> Array:
        """Return the times (s) at which a velocity is known to jump."""
        return np.zeros(0)

    @abstractmethod
    def _rows(self, times: Sequence[float]) -> Array:
        """Return the rows, perhaps of numbers that are not finite."""

    def _refusal(self, value: Any) -> ModelError:
        nq, nv, _ = (shape[0] for shape in self._shapes)
        expected = f"finite position ({nq}), velocity ({nv}) and acceleration ({nv})"
        return ModelError(Finding("bad-motion", self._where, value, expected, "return all three, or give a scipy spline"))


class FunctionMotion(Motion):
    """A motion that a function says, asked once for each of the last times.

    `where`, `sizes`: see `read_motion`; `knots`: times (s) at which it may not be smooth.
    """

    def __init__(self, function: Callable[[float], Any], where: str, sizes: tuple[int, int], knots: Any = None) -> None:
        super().__init__(where, sizes)
        self._knots = np.zeros(0) if knots is None else np.asarray(knots, dtype=float)
        self._function, self._is_single = function, self._shapes[0] == (1,)
        self._known: dict[float, Any] = {}

    def kinks(self) -> Array:
        return self._knots

    def _rows(self, times: Sequence[float]) -> Array:
        known, numbers = self._known, list[float]()
        if len(known) > _KEPT:
            known.clear()
        for t in times:
            row = known.get(t)
            if row is None:
                row = known[t] = self._read(self._function(t))
            numbers.extend(row)
        return np.array(numbers).reshape(len(times), -1)

    def _read(self, value: Any) -> Any:
        """Return the numbers that the function returned, copied: it may use its arrays again."""
        if self._is_single and type(value) is tuple and len(value) == 3:
            position, rate, second = value
            if type(position) in _FLOATS and type(rate) in _FLOATS and type(second) in _FLOATS:
                return value
        several = isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.ndim > 0)
        parts = [real_array(part) for part in value] if several else []
        vectors = [part if part is None else np.atleast_1d(part) for part in parts]
        if [None if vector is None else vector.shape for vector in vectors] != self._shapes:
            raise self._refusal(value)
        return np.concatenate(vectors)  # type: ignore[arg-type]


class PiecewiseMotion(Motion):
    """A piecewise polynomial and its derivatives, in one.

    `where`, `sizes`: see `read_motion`.
    """

    def __init__(self, function: Any, where: str, sizes: tuple[int, int]) -> None:
        super().__init__(where, sizes)
        value = function(function.x[0])
        if np.iscomplexobj(function.c) or [np.atleast_1d(value).shape] * 3 != self._shapes:
            raise self._refusal(value)
        orders, pieces = function.c.shape[:2]
        c = np.zeros((orders, pieces, 3, *value.shape))
        for order in range(3):
            slopes = function.derivative(order).c
            c[orders - len(slopes) :, :, order] = slopes
        self._all = type(function)(c, function.x)

    def kinks(self) -> Array:
        """Return the knots (s) at which a derivative of any order jumps."""
        x, c = self._all.x, self._all.c[::-1, :, 0].reshape(*self._all.c.shape[:2], -1)  # the constant first
        lengths, orders = np.diff(x)[:, None], range(len(c))
        ends = np.array([sum(comb(p, o) * lengths[:-1] ** (p - o) * c[p, :-1] for p in orders[o:]) for o in orders])
        scales = np.array([np.minimum(lengths[:-1], lengths[1:]) ** o for o in orders])
        jumps, size = np.abs(scales * (c[:, 1:] - ends)), (scales * (np.abs(c[:, 1:]) + np.abs(ends))).sum(axis=0)
        knots: Array = x[1:-1][(jumps > SAME * size).any(axis=(0, 2))]
        return knots

    def jumps(self) -> Array:
        knots, rates = self._all.x[1:-1], self._parts[1]
        behind, before = (self._rows(times.tolist())[:, rates] for times in (knots, np.nextafter(knots, -np.inf)))
        between = self._rows((self._all.x[:-1] + _BETWEEN[0] * np.diff(self._all.x)).tolist())[:, rates]
        size = TYPED * np.abs(np.concatenate([behind, before, between])).max(axis=0, initial=0.0)
        jumping: Array = knots[(np.abs(behind - before) > size).any(axis=1)]
        return jumping

    def _rows(self, times: Sequence[float]) -> Array:
        return self._all(times).reshape(len(times), -1)  # type: ignore[no-any-return]


def check_knots(where: str, function: Any, span: tuple[float, float]) -> None:
    """Refuse a spline whose knots do not cover the times `span`: it would be extrapolated."""
    knots = _knots(function)
    if knots is not None and (span[0] < knots[0] or span[1] > knots[-1]):
        expected, covered = f"knots from {span[0]:g} to {span[1]:g} s", f"knots from {knots[0]:g} to {knots[-1]:g} s"
        raise ModelError(Finding("short-spline", where, covered, expected, "give knots for all times"))


def _knots(function: Any) -> Any:
    """Return the knots of a spline of scipy's, from its begin to its end; None if it does not tell."""
    if hasattr(function, "get_knots"):
        return function.get_knots()
    if hasattr(function, "k") and hasattr(function, "t"):
        return function.t[function.k : len(function.t) - function.k]
    return getattr(function, "x", None)


def _pieces(function: Any) -> Any:
    """Return a spline of scipy's as a PPoly; None for what evaluates itself otherwise."""
    from scipy.interpolate import BSpline, PPoly

    if isinstance(function, PPoly) and type(function).__call__ is PPoly.__call__:
        return PPoly(function.c, function.x)
    if isinstance(function, BSpline) and type(function).__call__ is BSpline.__call__:
        knots = np.unique(function.t[function.k : len(function.t) - function.k])
        terms = (function(knots[:-1], nu=order) / factorial(order) for order in range(function.k, -1, -1))  # of Taylor's series
        return PPoly(np.array([np.moveaxis(term, function.axis, 0) for term in terms]), knots)
    return None
