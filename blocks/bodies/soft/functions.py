"""Functions of numbers and of unknowns, for kinematics and materials: those that NumPy's ufuncs do not give.

NumPy's ``sin``, ``cos``, ``tan``, ``sqrt``, ``exp``, ``log``, ``tanh``, ... work on unknowns as on numbers, entry by entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.bodies.soft.differentiation import as_array, expression_of
from titop.blocks.bodies.soft.optional import casadi
from titop.blocks.bodies.soft.unknown import Unknown


def where(condition: Any, yes: Any, no: Any) -> Any:
    """Return `yes` where a condition holds, else `no`; both must be finite, with finite derivatives, in any case."""
    if not isinstance(condition, Unknown):
        return np.where(condition, yes, no)[()]
    return Unknown(casadi().if_else(condition.expression, expression_of(yes), expression_of(no)))


def array(entries: Any) -> Any:
    """Return an array of numbers and unknowns, of which NumPy's functions can be taken: those of plain ones want either.

    Parameters
    ----------
    entries : array_like
        Nested as those of ``np.array``.
    """
    given = np.array(entries, dtype=object)
    if not any(isinstance(entry, Unknown) for entry in given.flat):
        return np.array(entries)
    return as_array([*given.flat]).reshape(given.shape)


#: Below this square of the angle (rad^2) series are used: closed forms lose digits in derivatives.
_SMALL = 1.0
#: Terms of the series: with them the third derivatives of all of them are exact to rounding there.
_TERMS = 10


def sinc(x: Any) -> Any:
    """Return ``sin(x)/x``, with all derivatives at any x."""
    return _entire(x * x, 1, lambda y, _: np.sin(y) / y, x)


def cosc(x: Any) -> Any:
    """Return ``(1 - cos x)/x^2``, with all derivatives at any x."""
    return _entire(x * x, 2, lambda y, square: (1.0 - np.cos(y)) / square, x)


def rotation_functions(square: Any, small: bool = False) -> tuple[Any, Any, Any]:
    """Return ``sin(x)/x``, ``(1 - cos x)/x^2`` and ``(x - sin x)/x^3`` of a square x^2, with all derivatives at any of them.

    Parameters
    ----------
    square : float, rad^2
    small : bool
        Whether it is known to be small: the functions are then right to 1e-13 below 4 rad^2, and to 1e-11 below half a turn,
        and need half the operations.
    """
    if small:
        versine, cubic = _series(square, 2), _series(square, 3)
    else:
        versine = _entire(square, 2, lambda y, s: (1.0 - np.cos(y)) / s)
        cubic = _entire(square, 3, lambda y, s: (1.0 - np.sin(y) / y) / s)
    return 1.0 - square * cubic, versine, cubic


def _entire(square: Any, first: int, closed: Callable[[Any, Any], Any], root: Any = None) -> Any:
    """Return ``sum_k (-1)^k x^2k / (2 k + first)!``, elsewhere ``closed(x, x^2)``."""
    is_small = square < _SMALL
    inside, outside = where(is_small, square, 0.0), where(is_small, _SMALL, square)
    root = np.sqrt(outside) if root is None else where(is_small, math.sqrt(_SMALL), root)
    return where(is_small, _series(inside, first), closed(root, outside))


def _series(square: Any, first: int) -> Any:
    factors = [(-1.0) ** k / math.factorial(2 * k + first) for k in range(_TERMS)]
    series = factors[-1]
    for factor in factors[-2::-1]:
        series = series * square + factor
    return series
