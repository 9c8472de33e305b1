"""Numbers that are not known yet: what users' functions are called with, to learn what they compute."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

from titop.blocks.bodies.soft.optional import casadi


class Unknown:
    """A number that records what is done to it.

    Python's arithmetic and comparisons and NumPy's functions work on it, and on arrays of such numbers.

    Parameters
    ----------
    expression : casadi.SX
        The number, as an expression of CasADi's.
    """

    __slots__ = ("expression",)

    def __init__(self, expression: Any) -> None:
        self.expression = expression

    def __bool__(self) -> bool:
        raise TypeError("a branch on a number that is not known yet: write tt.Kinematics.where(condition, yes, no)")

    def __float__(self) -> float:
        raise TypeError(
            "a number is not known yet to become a float: use NumPy's functions, not those of math; and put it into an array "
            "by np.array([x, ...]), or into np.zeros(3, dtype=object), not into np.zeros(3)"
        )

    def __neg__(self) -> Unknown:
        return Unknown(-self.expression)

    def __pos__(self) -> Unknown:
        return self

    def __abs__(self) -> Unknown:
        return Unknown(self.expression.__abs__())

    def arctan2(self, x: Any) -> Unknown:
        """Return the angle of (x, self) (rad)."""
        return Unknown(casadi().atan2(self.expression, _expression(x)))

    def exp2(self) -> Unknown:
        """Return ``2^x``."""
        return (self * math.log(2.0)).exp()

    def log2(self) -> Unknown:
        """Return the logarithm to base 2."""
        return self.log() / math.log(2.0)

    def log10(self) -> Unknown:
        """Return the logarithm to base 10."""
        return self.log() / math.log(10.0)

    def deg2rad(self) -> Unknown:
        """Return radians of degrees."""
        return self * (math.pi / 180.0)

    def rad2deg(self) -> Unknown:
        """Return degrees of radians."""
        return self * (180.0 / math.pi)

    radians, degrees = deg2rad, rad2deg

    def hypot(self, x: Any) -> Unknown:
        """Return the length of (x, self)."""
        return (self * self + x * x).sqrt()

    def __repr__(self) -> str:
        return f"Unknown({self.expression})"

    # filled in below, for the operators of Python and the functions of NumPy
    __add__: Any
    __radd__: Any
    __sub__: Any
    __rsub__: Any
    __mul__: Any
    __rmul__: Any
    __truediv__: Any
    __rtruediv__: Any
    __pow__: Any
    __rpow__: Any
    sqrt: Any
    exp: Any
    log: Any


def _expression(x: Any) -> Any:
    """Return what an operator of CasADi's takes, or None for what is no number."""
    if isinstance(x, Unknown):
        return x.expression
    return float(x) if isinstance(x, numbers.Real) else None


def _operator(name: str) -> Callable[[Unknown, Any], Any]:
    def operator(self: Unknown, other: Any) -> Any:
        given = _expression(other)
        return NotImplemented if given is None else Unknown(getattr(self.expression, name)(given))

    return operator


def _function(name: str) -> Callable[[Unknown], Unknown]:
    return lambda self: Unknown(getattr(casadi(), name)(self.expression))


for _name in ("add", "sub", "mul", "truediv", "pow"):
    setattr(Unknown, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(Unknown, f"__r{_name}__", _operator(f"__r{_name}__"))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Unknown, f"__{_name}__", _operator(f"__{_name}__"))
for _name in ("sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh"):
    setattr(Unknown, _name, _function(_name))
for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
    setattr(Unknown, f"arc{_name}", _function(f"a{_name}"))
