"""Time derivatives of any order of functions of time: splines of scipy's, functions written with NumPy, and constants."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.taylor import Taylor, derivatives_of
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import real_array
from titop.solvers.simulation.motions import check_knots


def function_derivatives(where: str, function: Any, times: Array, order: int) -> Array:
    """Return the derivatives of a function of time, the value first (order + 1, n, ...), at times (n, s).

    Parameters
    ----------
    where : str
        What messages call it.
    function : callable, spline of scipy's, or array_like
        A spline is differentiated; a function is called with a `Taylor` for the time; numbers stay what they are.
    times : (n,) array, s
    order : int

    Raises
    ------
    ModelError
        For splines that end before or have too low a degree, functions that cannot be called so, and what is not finite.
    """
    if hasattr(function, "derivative"):
        derivatives = _of_spline(where, function, times, order)
    elif callable(function):
        check_function(where, function, "t")
        derivatives = np.stack([_of_function(where, function, t, order) for t in times.tolist()], axis=1)
    else:
        derivatives = _of_constant(where, function, len(times), order)
    if not np.isfinite(derivatives).all():
        at = times[np.argwhere(~np.isfinite(derivatives))[0][1]]
        advice = "derive it where it is smooth: roots and quotients are not at zero"
        raise ModelError(Finding("not-finite", where, f"NaN or infinity at t = {at:g}", "finite derivatives", advice))
    return derivatives


def _of_constant(where: str, value: Any, count: int, order: int) -> Array:
    numbers = real_array(value)
    if numbers is None:
        expected = "a function of time, a scipy spline, or numbers that stay"
        raise ModelError(Finding("wrong-type", where, value, expected, "write lambda t: ... with NumPy's functions"))
    derivatives = np.zeros((order + 1, count, *numbers.shape))
    derivatives[0] = numbers
    return derivatives


def _of_function(where: str, function: Callable[[Any], Any], t: float, order: int) -> Array:
    """Return the derivatives (order + 1, ...) at t (s) of what a function makes of time and its own derivatives, 1, 0, ..."""
    now = np.zeros(order + 1)
    now[: 2 if order else 1] = [t, 1.0][: order + 1]
    expected = "a function of time written with NumPy operations"
    advice = "use np.sin, not math.sin; give what is tabulated as a scipy spline"
    try:
        value = np.asarray(function(Taylor(now)), dtype=object)
        return derivatives_of(value, order)
    except (TypeError, ValueError, AttributeError) as error:
        raise ModelError(Finding("not-a-series", where, str(error), expected, advice)) from error


def _of_spline(where: str, spline: Any, times: Array, order: int) -> Array:
    check_knots(where, spline, (float(times.min()), float(times.max())))
    degree, is_one_polynomial = _degree(spline)
    if degree < order and not is_one_polynomial:
        raise _low_degree(where, f"degree {degree:g}", order)
    slopes = [_slope(where, spline, times, k) for k in range(min(order, degree) + 1)]
    derivatives = np.zeros((order + 1, *slopes[0].shape))
    derivatives[: len(slopes)] = slopes
    return derivatives


def _slope(where: str, spline: Any, times: Array, order: int) -> Array:
    try:
        return np.asarray(spline(times, nu=order), dtype=float)
    except ValueError as error:
        raise _low_degree(where, f"no derivative {order}: {error}", order) from error
    except TypeError as error:
        expected, advice = "a spline f(t, nu) of scipy's, nu the order of a derivative", "use make_interp_spline, or a function"
        raise ModelError(Finding("wrong-type", where, spline, expected, advice)) from error


def _degree(spline: Any) -> tuple[Any, bool]:
    """Return the degree of a spline of scipy's, infinity where it does not tell, and whether it has a single piece."""
    if hasattr(spline, "c") and hasattr(spline, "x"):
        return len(spline.c) - 1, len(spline.x) == 2
    if hasattr(spline, "k") and hasattr(spline, "t"):
        return spline.k, len(np.unique(spline.t[spline.k : len(spline.t) - spline.k])) == 2
    return math.inf, False


def _low_degree(where: str, found: str, order: int) -> ModelError:
    smooth = order + 1 + order % 2
    expected = f"a spline of degree {order} at least, whose derivatives up to that order exist"
    advice = (
        "beyond its degree they are zero within pieces, and jump between these: "
        f"use make_interp_spline(times, values, k={smooth}), or ask for a lower order"
    )
    return ModelError(Finding("low-degree", where, found, expected, advice))
