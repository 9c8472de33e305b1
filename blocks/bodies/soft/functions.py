"""Functions of numbers and of unknowns, for kinematics and materials: those that NumPy's ufuncs do not give.

NumPy's ``sin``, ``cos``, ``tan``, ``sqrt``, ``exp``, ``log``, ``tanh``, ... work on unknowns as on numbers, entry by entry.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from titop.blocks.bodies.soft.unknown import Unknown


def where(condition: Any, yes: Any, no: Any) -> Any:
    """Return `yes` where a condition holds, else `no`; both must be finite, with finite derivatives, in any case."""
    if not isinstance(condition, Unknown):
        return np.where(condition, yes, no)
    from titop.blocks.bodies.soft.differentiation import casadi, expression_of

    return Unknown(casadi().if_else(condition.expression, expression_of(yes), expression_of(no)))


#: Below this square of the angle (rad^2) series are used: closed forms lose digits in derivatives.
_SMALL = 0.25
#: Terms of the series: with them the third derivatives of all of them are exact to rounding there.
_TERMS = 9


def sinc(x: Any) -> Any:
    """Return ``sin(x)/x``, with all derivatives at any x."""
    return _entire(x, 1, lambda y: np.sin(y) / y)


def cosc(x: Any) -> Any:
    """Return ``(1 - cos x)/x^2``, with all derivatives at any x."""
    return _entire(x, 2, lambda y: (1.0 - np.cos(y)) / (y * y))


def _entire(x: Any, first: int, closed: Any) -> Any:
    """Return ``sum_k (-1)^k x^2k / (2 k + first)!``."""
    square = x * x
    is_small = square < _SMALL
    inside, outside = where(is_small, square, 0.0 * square), where(is_small, 0.0 * x + 1.0, x)
    factors = [(-1.0) ** k / math.factorial(2 * k + first) for k in range(_TERMS)]
    series = 0.0 * square
    for factor in factors[::-1]:
        series = series * inside + factor
    return where(is_small, series, closed(outside))
