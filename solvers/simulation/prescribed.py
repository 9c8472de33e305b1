"""Motions prescribed as functions of time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_function
from titop.solvers.arguments.reading import coordinate_mask
from titop.solvers.model.model import Model

#: Position, velocity and acceleration, each a number, or one per coordinate.
Motion = tuple[Any, Any, Any]

#: Numbers that need no conversion.
_FLOATS = (float, np.float64)

#: How many times are kept: those of some steps.
_KEPT = 64


class PrescribedMotion:
    """The prescribed coordinates of a simulation.

    Parameters
    ----------
    model : Model
    functions : mapping of joint or coordinate name to callable
        ``f(t)`` returns position, velocity and acceleration; a scipy spline is differentiated.
    span : (float, float), s
        Times over which they are used.

    Attributes
    ----------
    names : list of str
    mask : (nv,) bool array
    moved : (nq,) bool array

    Raises
    ------
    ModelError
        For unknown names and functions that do not return three values of the right length.
    """

    def __init__(
        self, model: Model, functions: Mapping[str, Callable[[float], Any]], span: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        self.names = list(functions)
        self.mask = coordinate_mask(self.names, model.assembly)
        self._parts: list[_Part] = []
        for name, function in functions.items():
            q, v = self._where(model, name)
            _check_knots(name, function, span)
            motion = _with_derivatives(function)
            self._parts.append(_Part(_checked(name, motion, q.stop - q.start, v.stop - v.start), q, v))
        self._nowhere = np.zeros(model.nv)
        self.moved = np.zeros(model.nq, dtype=bool)
        self._columns: list[list[int]] = []
        for part in self._parts:
            self.moved[part.in_q] = True
            second = range(part.in_v.start, part.in_v.stop)
            self._columns.append([*range(part.in_q.start, part.in_q.stop), *(model.nq + k for k in second)])
            self._columns[-1] += [model.nq + model.nv + k for k in second]

    @staticmethod
    def _where(model: Model, name: str) -> tuple[slice, slice]:
        assembly = model.assembly
        if name in assembly.v_slices:
            return assembly.q_slices[name], assembly.v_slices[name]
        k = model.coordinate_names.index(name)
        block = next(b for b, where in assembly.v_slices.items() if where.start <= k < where.stop)
        if assembly.blocks[block].configuration_names != assembly.blocks[block].coordinates:
            raise ModelError(
                Finding(
                    "not-separable", "prescribed", name, "a joint with plain coordinates", f"prescribe all of {block!r} at once"
                )
            )
        j = assembly.q_slices[block].start + k - assembly.v_slices[block].start
        return slice(j, j + 1), slice(k, k + 1)

    def impose(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return q and v with the prescribed entries at time t."""
        if not self._parts:
            return q, v
        q, v = q.copy(), v.copy()
        for part in self._parts:
            q[part.in_q], v[part.in_v], _ = part.known.get(t) or part.at(t)
        return q, v

    def acceleration(self, t: float) -> Array:
        """Return accelerations (nv), zero where nothing is prescribed."""
        if not self._parts:
            return self._nowhere
        a = self._nowhere.copy()
        for part in self._parts:
            a[part.in_v] = (part.known.get(t) or part.at(t))[2]
        return a

    def write(self, times: Sequence[float], rows: Array) -> None:
        """Write what is prescribed at some times into rows ``[q, v, a]`` (n x nq + 2 nv)."""
        for part, columns in zip(self._parts, self._columns, strict=True):
            values = [part.known.get(t) or part.at(t) for t in times]
            rows[:, columns] = values if len(columns) == 3 else [np.concatenate(value) for value in values]


class _Part:
    """One of the motions: its function, and where its coordinates stand in q and in v; it knows the times asked for last."""

    def __init__(self, function: Callable[[float], Motion], in_q: slice, in_v: slice) -> None:
        self.function, self.in_q, self.in_v = function, in_q, in_v
        self.known: dict[float, Motion] = {}

    def at(self, t: float) -> Motion:
        """Return position, velocity and acceleration at a time that is not known."""
        if len(self.known) >= _KEPT:
            self.known.clear()
        motion = self.known[t] = self.function(t)
        return motion


def _check_knots(name: str, function: Any, span: tuple[float, float]) -> None:
    """Refuse a spline whose knots do not cover the times `span` of a simulation: it would be extrapolated."""
    knots = getattr(function, "x", None)
    if knots is None and hasattr(function, "k"):
        knots = function.t[function.k : len(function.t) - function.k]
    if hasattr(function, "derivative") and knots is not None and (span[0] < knots[0] or span[1] > knots[-1]):
        expected, found = f"knots from {span[0]:g} to {span[1]:g} s", f"knots from {knots[0]:g} to {knots[-1]:g} s"
        raise ModelError(
            Finding("short-spline", f"prescribed[{name!r}]", found, expected, "give knots for the whole simulation")
        )


def _with_derivatives(function: Any) -> Callable[[float], Any]:
    """Return a function of time that gives position, velocity and acceleration."""
    if not callable(function):
        raise ModelError(Finding("wrong-type", "prescribed", function, "functions of time", "give f(t) or a scipy spline"))
    if not hasattr(function, "derivative"):
        check_function("prescribed", function, "t")
        return function
    from scipy.interpolate import PPoly

    if isinstance(function, PPoly) and type(function).__call__ is PPoly.__call__:
        return _Piecewise(function)
    rate, second = function.derivative(1), function.derivative(2)
    return lambda t: (function(t), rate(t), second(t))


class _Piecewise:
    """Position, velocity and acceleration of a piecewise polynomial of scipy's, all at once, within its knots."""

    def __init__(self, function: Any) -> None:
        self._pieces = list(np.moveaxis(function.c, 1, 0))  # of each the coefficients, the highest order first
        if function.c.ndim == 2:
            self._pieces = [piece.tolist() for piece in self._pieces]
        self._knots = function.x.tolist()

    def __call__(self, t: float) -> Motion:
        piece = min(max(bisect_right(self._knots, t) - 1, 0), len(self._pieces) - 1)
        s, value, rate, half = t - self._knots[piece], 0.0, 0.0, 0.0
        for c in self._pieces[piece]:  # Horner's rule, for the derivatives too
            half, rate, value = half * s + rate, rate * s + value, value * s + c
        return value, rate, 2.0 * half


def _checked(name: str, function: Callable[[float], Any], nq: int, nv: int) -> Callable[[float], Motion]:
    def checked(t: float) -> Motion:
        value = function(t)
        if type(value) is tuple and len(value) == 3 and nq == 1 and type(value[0]) in _FLOATS:
            position, rate, second = value
            if type(rate) in _FLOATS and type(second) in _FLOATS and isfinite(position + rate + second):
                return value
        if isinstance(value, (tuple, list)) and len(value) == 3:
            position, rate, second = (np.atleast_1d(np.asarray(part, dtype=float)) for part in value)
            finite = all(np.isfinite(part).all() for part in (position, rate, second))
            if position.shape == (nq,) and rate.shape == second.shape == (nv,) and finite:
                return (position.item(), rate.item(), second.item()) if nq == 1 else (position, rate, second)
        expected = f"finite position ({nq}), velocity ({nv}) and acceleration ({nv})"
        raise ModelError(
            Finding("bad-motion", f"prescribed[{name!r}]", value, expected, "return all three, or give a scipy spline")
        )

    return checked
