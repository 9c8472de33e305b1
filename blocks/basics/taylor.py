"""Truncated Taylor series: numbers that carry their time derivatives through any formula.

For ``x = x_0 + x_1 t + ... + x_r t^r`` with the time t, arithmetic and NumPy's functions return the series of their results,
exact up to order r (Griewank and Walther, Evaluating Derivatives, chapter 13). Arrays of such numbers have dtype object.
Comparisons use x_0: the branch of a formula is decided at t = 0.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array


class Taylor:
    """A number with its time derivatives, as coefficients of a power series.

    `coefficients` (r + 1) are those of the powers of t: the k-th is the k-th derivative over k!; complex in complex steps.
    """

    __slots__ = ("coefficients",)

    def __init__(self, coefficients: Array) -> None:
        self.coefficients = coefficients

    @property
    def order(self) -> int:
        """The last power r."""
        return len(self.coefficients) - 1

    @property
    def real(self) -> float:
        """The real part of the value at t = 0, which decides branches."""
        return float(self.coefficients[0].real)

    @property
    def rate(self) -> Taylor:
        """The derivative; its last coefficient is unknown and set to zero."""
        return Taylor(np.append(self.coefficients[1:] * np.arange(1, len(self.coefficients)), 0.0))

    # -- arithmetic --------------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Taylor:
        return self._with(other, np.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Taylor:
        return self._with(other, np.subtract)

    def __rsub__(self, other: Any) -> Taylor:
        return (-self).__add__(other)

    def __neg__(self) -> Taylor:
        return Taylor(-self.coefficients)

    def __pos__(self) -> Taylor:
        return self

    def __abs__(self) -> Taylor:
        return -self if self.real < 0 else self

    absolute = __abs__

    def __mul__(self, other: Any) -> Taylor:
        if isinstance(other, Taylor):
            return Taylor(np.convolve(self.coefficients, other.coefficients)[: len(self.coefficients)])
        return Taylor(self.coefficients * other) if _is_number(other) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Taylor:
        if isinstance(other, Taylor):
            return self._quotient(self.coefficients, other.coefficients)
        return Taylor(self.coefficients / other) if _is_number(other) else NotImplemented

    def __rtruediv__(self, other: Any) -> Taylor:
        if not _is_number(other):
            return NotImplemented
        constant = np.zeros(len(self.coefficients), np.result_type(self.coefficients, other))
        constant[0] = other
        return self._quotient(constant, self.coefficients)

    def __pow__(self, exponent: Any) -> Taylor:
        if isinstance(exponent, Taylor):
            return (exponent * self.log()).exp()
        if not _is_number(exponent):
            return NotImplemented
        if float(exponent).is_integer() and 0 <= exponent <= 64:
            power = self._constant(1.0)
            for _ in range(int(exponent)):
                power = power * self
            return power
        x, y = self.coefficients, np.zeros_like(self.coefficients, dtype=np.result_type(self.coefficients, float))
        y[0] = x[0] ** exponent
        for k in range(1, len(x)):  # x y' = exponent x' y
            j = np.arange(1, k + 1)
            y[k] = ((exponent * j - (k - j)) * x[1 : k + 1]) @ y[k - 1 :: -1][:k] / (k * x[0])
        return Taylor(y)

    def __rpow__(self, base: Any) -> Taylor:
        return (self * math.log(base)).exp()

    def _with(self, other: Any, operation: Any) -> Taylor:
        """Return the sum or difference with another number."""
        if isinstance(other, Taylor):
            return Taylor(operation(self.coefficients, other.coefficients))
        if not _is_number(other):
            return NotImplemented
        coefficients = self.coefficients.astype(np.result_type(self.coefficients, other))
        coefficients[0] = operation(coefficients[0], other)
        return Taylor(coefficients)

    def _constant(self, value: float) -> Taylor:
        coefficients = np.zeros_like(self.coefficients, dtype=np.result_type(self.coefficients, value))
        coefficients[0] = value
        return Taylor(coefficients)

    @staticmethod
    def _quotient(above: Array, below: Array) -> Taylor:
        quotient = np.zeros(len(above), np.result_type(above, below, float))
        for k in range(len(above)):
            quotient[k] = (above[k] - below[1 : k + 1] @ quotient[k - 1 :: -1][:k] if k else above[0]) / below[0]
        return Taylor(quotient)

    # -- comparisons, at t = 0 -----------------------------------------------------------------------------------------------

    def __lt__(self, other: Any) -> bool:
        return self.real < np.real(other)

    def __le__(self, other: Any) -> bool:
        return self.real <= np.real(other)

    def __gt__(self, other: Any) -> bool:
        return self.real > np.real(other)

    def __ge__(self, other: Any) -> bool:
        return self.real >= np.real(other)

    def __eq__(self, other: object) -> bool:
        return bool(self.real == np.real(other))  # type: ignore[call-overload]

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self.coefficients.any())

    def __float__(self) -> float:
        raise TypeError("a number with its time derivatives is no float: use NumPy's functions, not those of math")

    def __repr__(self) -> str:
        return f"Taylor({self.coefficients.tolist()})"

    # -- NumPy's functions, which call the method of their name on objects; `_INVERSES` has others --------------------------

    log: Any

    def conjugate(self) -> Taylor:
        """Return the number itself."""
        return self

    def sqrt(self) -> Taylor:
        """Return the root."""
        return self**0.5

    def exp(self) -> Taylor:
        """Return the exponential, which is its own derivative."""
        x, y = self.coefficients, self._result()
        y[0] = np.exp(x[0])
        for k in range(1, len(x)):
            y[k] = _rates(x, k) @ y[k - 1 :: -1][:k] / k
        return Taylor(y)

    def expm1(self) -> Taylor:
        """Return the exponential less one."""
        y = self.exp()
        y.coefficients[0] = np.expm1(self.coefficients[0])
        return y

    def sin(self) -> Taylor:
        """Return the sine."""
        return self._pair(np.sin, np.cos, -1.0)[0]

    def cos(self) -> Taylor:
        """Return the cosine."""
        return self._pair(np.sin, np.cos, -1.0)[1]

    def tan(self) -> Taylor:
        """Return the tangent."""
        sine, cosine = self._pair(np.sin, np.cos, -1.0)
        return sine / cosine

    def sinh(self) -> Taylor:
        """Return the hyperbolic sine."""
        return self._pair(np.sinh, np.cosh, 1.0)[0]

    def cosh(self) -> Taylor:
        """Return the hyperbolic cosine."""
        return self._pair(np.sinh, np.cosh, 1.0)[1]

    def tanh(self) -> Taylor:
        """Return the hyperbolic tangent, from ``y' = (1 - y^2) x'``: large arguments do not overflow."""
        x, y = self.coefficients, self._result()
        y[0] = np.tanh(x[0])
        for k in range(1, len(x)):
            slope = -np.convolve(y[:k], y[:k])[:k]
            slope[0] += 1.0
            y[k] = _rates(x, k) @ slope[::-1] / k
        return Taylor(y)

    def arctan2(self, x: Any) -> Taylor:
        """Return the angle (rad) of the point (x, self)."""
        across = x if isinstance(x, Taylor) else self._constant(x)
        turning = (across * self.rate - self * across.rate) / (across * across + self * self)
        y = _integral(turning)
        y.coefficients[0] = angle_of(self.coefficients[0], across.coefficients[0])
        return y

    def hypot(self, x: Any) -> Taylor:
        """Return the length of (x, self)."""
        return (self * self + x * x).sqrt()

    def _result(self) -> Array:
        return np.zeros(len(self.coefficients), np.result_type(self.coefficients, float))

    def _pair(self, odd: Callable[[Any], Any], even: Callable[[Any], Any], sign: float) -> tuple[Taylor, Taylor]:
        """Return two functions: the first's derivative is the second, the second's derivative is `sign` times the first."""
        x, s, c = self.coefficients, self._result(), self._result()
        s[0], c[0] = odd(x[0]), even(x[0])
        for k in range(1, len(x)):
            rates = _rates(x, k)
            s[k], c[k] = rates @ c[k - 1 :: -1][:k] / k, sign * rates @ s[k - 1 :: -1][:k] / k
        return Taylor(s), Taylor(c)


def _cosine(sine: Taylor) -> Taylor:
    """Return the cosine of an angle between -pi/2 and pi/2, by factors without cancellation near one."""
    return ((1.0 - sine) * (1.0 + sine)).sqrt()


#: Functions y of x, and what dx/dy is of x.
_INVERSES: dict[str, Callable[[Taylor], Taylor]] = {
    "log": lambda x: x,
    "log1p": lambda x: 1.0 + x,
    "arcsin": _cosine,
    "arccos": lambda x: -_cosine(x),
    "arctan": lambda x: 1.0 + x * x,
    "arcsinh": lambda x: (1.0 + x * x).sqrt(),
    "arccosh": lambda x: ((x - 1.0) * (x + 1.0)).sqrt(),
    "arctanh": lambda x: (1.0 - x) * (1.0 + x),
}


def _inverse(function: Callable[[Any], Any], slope: Callable[[Taylor], Taylor]) -> Callable[[Taylor], Taylor]:
    def method(self: Taylor) -> Taylor:
        y = _integral(self.rate / slope(self))
        y.coefficients[0] = function(self.coefficients[0])
        return y

    return method


for _name, _slope in _INVERSES.items():
    setattr(Taylor, _name, _inverse(getattr(np, _name), _slope))


def angle_of(y: Any, x: Any) -> Any:
    """Return the angle (rad) of the point (x, y); for complex steps to first order in the step."""
    angle = np.arctan2(y.real, x.real)
    if not (np.iscomplexobj(y) or np.iscomplexobj(x)):
        return angle
    return angle + 1j * (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Number)


def _rates(x: Array, k: int) -> Array:
    """Return ``j x_j`` for j from 1 to k."""
    return np.arange(1, k + 1) * x[1 : k + 1]


def _integral(x: Taylor) -> Taylor:
    """Return the integral from 0; the constant is set by the caller."""
    coefficients = x.coefficients
    return Taylor(np.concatenate([[0.0], coefficients[:-1] / np.arange(1, len(coefficients))]))


def is_complex(array: Array) -> bool:
    """Tell whether numbers, or their derivatives, are complex."""
    if array.dtype != object:
        return np.iscomplexobj(array)
    return any(np.iscomplexobj(entry.coefficients) for entry in array.flat if isinstance(entry, Taylor))


def real_part(array: Array) -> Array:
    """Return the real parts of numbers and of their derivatives."""
    return _parts(array, np.real)


def imaginary_part(array: Array) -> Array:
    """Return the imaginary parts of numbers and of their derivatives."""
    return _parts(array, np.imag)


def _parts(array: Array, part: Callable[[Any], Any]) -> Array:
    if np.asarray(array).dtype != object:
        return part(array)
    result = np.empty(array.shape, dtype=object)
    for at in np.ndindex(array.shape):
        entry = array[at]
        result[at] = Taylor(part(entry.coefficients)) if isinstance(entry, Taylor) else part(entry)
    return result


def factorials(count: int) -> Array:
    """Return k! for k from 0 to count - 1."""
    return np.cumprod([1.0, *range(1, count)])


def numbers_with(coefficients: Array) -> Array:
    """Return numbers (dtype object) with the coefficients of their series, stacked along the first axis (r + 1, ...)."""
    array = np.empty(coefficients.shape[1:], dtype=object)
    for at in np.ndindex(array.shape):
        array[at] = Taylor(coefficients[(slice(None), *at)].copy())
    return array


def coefficients_of(array: Array, order: int) -> Array:
    """Return the real coefficients (order + 1, ...) of an array of numbers, some of which may be series."""
    coefficients = np.zeros((order + 1, *array.shape))
    for at in np.ndindex(array.shape):
        entry = array[at]
        if isinstance(entry, Taylor):
            coefficients[(slice(None), *at)] = entry.coefficients[: order + 1].real
        else:
            coefficients[(0, *at)] = np.real(entry)
    return coefficients


def factors_of(stack: Array) -> Array:
    """Return the factors k! from stacked coefficients to derivatives, with the axes of the stack."""
    return factorials(len(stack)).reshape(-1, *[1] * (stack.ndim - 1))


def taylor_array(derivatives: Array) -> Array:
    """Return numbers with their time derivatives, stacked along the first axis (r + 1, ...)."""
    return numbers_with(derivatives / factors_of(derivatives))


def derivatives_of(array: Array, order: int) -> Array:
    """Return the time derivatives (r + 1, ...) of an array of numbers, some of which may be series."""
    coefficients = coefficients_of(array, order)
    return coefficients * factors_of(coefficients)
