"""Motions prescribed as functions of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from titop.blocks.errors import Finding, ModelError
from titop.blocks.functions import check_function
from titop.blocks.spatial import Array
from titop.solvers.arguments import coordinate_mask
from titop.solvers.model import Model


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

    Raises
    ------
    ModelError
        For unknown names and functions that do not return three values of the right length.
    """

    def __init__(
        self, model: Model, functions: Mapping[str, Callable[[float], Any]], span: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        self.names = list(functions)
        self.mask = coordinate_mask(self.names, model.coordinate_names, model.assembly.v_slices)
        self._nv = model.nv
        self._parts: list[tuple[Callable[[float], Any], slice, slice]] = []
        for name, function in functions.items():
            q, v = self._where(model, name)
            _check_knots(name, function, span)
            motion = _with_derivatives(function)
            self._parts.append((_checked(name, motion, q.stop - q.start, v.stop - v.start), q, v))

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
        for function, where_q, where_v in self._parts:
            q[where_q], v[where_v], _ = function(t)
        return q, v

    def acceleration(self, t: float) -> Array:
        """Return accelerations (nv), zero where nothing is prescribed."""
        a = np.zeros(self._nv)
        for function, _, where_v in self._parts:
            a[where_v] = function(t)[2]
        return a


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
    rate, second = function.derivative(1), function.derivative(2)
    return lambda t: (function(t), rate(t), second(t))


def _checked(name: str, function: Callable[[float], Any], nq: int, nv: int) -> Callable[[float], tuple[Array, Array, Array]]:
    def checked(t: float) -> tuple[Array, Array, Array]:
        value = function(t)
        if isinstance(value, tuple | list) and len(value) == 3:
            position, rate, second = (np.atleast_1d(np.asarray(part, dtype=float)) for part in value)
            finite = all(np.isfinite(part).all() for part in (position, rate, second))
            if position.shape == (nq,) and rate.shape == second.shape == (nv,) and finite:
                return position, rate, second
        expected = f"finite position ({nq}), velocity ({nv}) and acceleration ({nv})"
        raise ModelError(
            Finding("bad-motion", f"prescribed[{name!r}]", value, expected, "return all three, or give a scipy spline")
        )

    return checked
