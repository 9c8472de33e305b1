"""Truncated power series in 50-digit arithmetic, for oracles: nothing here comes from titop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import mpmath
import numpy as np

#: Arithmetic of its own: what others do to `mpmath.mp` does not matter.
MP: Any = mpmath.MPContext()
MP.dps = 50


class Series:
    """A number that depends on time, by its Taylor coefficients ``x^(k)/k!`` at an instant.

    Products of series of different lengths are as long as the shorter one.
    """

    def __init__(self, coefficients: Iterable[Any]) -> None:
        self.c = [MP.mpf(c) for c in coefficients]

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        other = as_series(other, len(self.c))
        return Series(a + b for a, b in zip(self.c, other.c, strict=False))

    def __neg__(self) -> Series:
        return Series(-a for a in self.c)

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Series:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # each entry of an array by itself
        if not isinstance(other, Series):
            return Series(a * other for a in self.c)
        a, b = self.c, other.c
        return Series(MP.fdot(zip(a[: k + 1], b[k::-1], strict=True)) for k in range(min(len(a), len(b))))

    __radd__, __rmul__ = __add__, __mul__

    def rate(self) -> Series:
        """Return the time derivative, one coefficient shorter."""
        return Series(k * a for k, a in enumerate(self.c) if k)

    def derivatives(self) -> list[Any]:
        """Return ``x, dx/dt, d2x/dt2, ...``."""
        return [a * MP.factorial(k) for k, a in enumerate(self.c)]


def as_series(x: Any, length: int) -> Series:
    """Return a series as it is, a number as one that is constant."""
    return x if isinstance(x, Series) else Series([x, *[0] * (length - 1)])


def from_derivatives(values: Sequence[Any]) -> Series:
    """Return the series of a number with the derivatives ``x, dx/dt, ...``."""
    return Series(MP.mpf(value) / MP.factorial(k) for k, value in enumerate(values))


def time(t: float, length: int) -> Series:
    """Return time itself."""
    return Series([t, 1, *[0] * (length - 2)])


def integral(start: Any, rate: Series) -> Series:
    """Return the series, one coefficient longer, that begins with `start` and grows at a rate."""
    return Series([start, *(a / (k + 1) for k, a in enumerate(rate.c))])


def sin_cos(x: Series) -> tuple[Series, Series]:
    """Return sine and cosine, by ``s' = c x'`` and ``c' = -s x'``."""
    slope = x.rate().c
    s, c = [MP.sin(x.c[0])], [MP.cos(x.c[0])]
    for k in range(len(slope)):
        s.append(MP.fdot(zip(c, slope[k::-1], strict=True)) / (k + 1))
        c.append(-MP.fdot(zip(s[:-1], slope[k::-1], strict=True)) / (k + 1))
    return Series(s), Series(c)


def array(values: Any) -> Any:
    """Return numbers of any kind as an array of precise ones; series stay what they are."""
    found = np.asarray(values, object)
    return np.array([x if isinstance(x, Series) else MP.mpf(x) for x in found.flat], object).reshape(found.shape)


def each(operation: Callable[[Any], Any], values: Any) -> Any:
    """Return what an operation makes of each entry of an array."""
    return np.array([operation(x) for x in values.flat], object).reshape(values.shape)


def rates(values: Any) -> Any:
    """Return the time derivatives of an array of series."""
    return each(Series.rate, values)


def skew(x: Any) -> Any:
    """Return the matrix of the cross product with x."""
    return np.array([[0 * x[0], -x[2], x[1]], [x[2], 0 * x[0], -x[0]], [-x[1], x[0], 0 * x[0]]], object)


def turning(axis: Any, angle: Series) -> Any:
    """Return the rotation about a unit axis (Rodrigues)."""
    s, c = sin_cos(angle)
    e = array(axis)
    return array(np.eye(3)) * c + skew(e) * s + np.outer(e, e) * (1 - c)


def attitude(start: Any, rate: Any) -> Any:
    """Return the rotation that begins with the matrix `start` and turns at the body-frame angular velocity `rate`.

    By its coefficients: of ``dR/dt = R skew(w)``, ``(k + 1) R_(k+1) = sum_j R_j skew(w_(k-j))``.
    """
    found = [array(start)]
    for k in range(len(rate[0].c)):
        terms = (found[j] @ skew([w.c[k - j] for w in rate]) for j in range(k + 1))
        found.append(sum(terms, 0 * found[0]) / (k + 1))
    return np.array([Series(found[k][i] for k in range(len(found))) for i in np.ndindex(3, 3)], object).reshape(3, 3)
