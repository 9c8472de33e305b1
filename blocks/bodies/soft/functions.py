"""Functions for kinematics and materials, of numbers and of unknowns, and integrals along the axis of a body.

NumPy's ``sin``, ``cos``, ``tan``, ``sqrt``, ``exp``, ``log``, ``tanh``, ... work on unknowns as on numbers, entry by entry.
Here are those that NumPy does not give; sums of functions of the abscissa, weighted by coordinates; and integrals from the base
to an abscissa as functions of the abscissa with all derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial, legendre

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT
from titop.blocks.programs.differentiation import jacobian
from titop.blocks.programs.graph import Unknown, array_of
from titop.blocks.programs.program import INPUT
from titop.blocks.programs.repetition import graph_of


def where(condition: Any, yes: Any, no: Any) -> Any:
    """Return `yes` where a condition holds, else `no`; both must be finite, with finite derivatives, in any case."""
    return condition.choose(yes, no) if isinstance(condition, Unknown) else np.where(condition, yes, no)[()]


def array(entries: Any) -> Any:
    """Return an array of numbers and unknowns, of which NumPy's functions can be taken: those of plain ones want either.

    Parameters
    ----------
    entries : array_like
        Nested as those of ``np.array``.
    """
    objects = np.array(entries, dtype=object)
    if (graph := graph_of(objects)) is None:
        return np.array(entries)
    return array_of([Unknown(graph, graph.place(entry)) for entry in objects.flat]).reshape(objects.shape)


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

    If it is known to be `small` they need half the operations: right to 1e-13 below 4 rad^2, to 1e-11 below half a turn.
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
    return _horner([(-1.0) ** k / math.factorial(2 * k + first) for k in range(_TERMS)], square)


def _horner(coefficients: Sequence[Any], at: Any) -> Any:
    """Return a polynomial, with the constant's coefficient first."""
    total: Any = 0.0
    for coefficient in reversed(coefficients):
        total = total * at + coefficient
    return total


# -- functions of the abscissa -------------------------------------------------------------------------------------------------

#: A function of the abscissa (m), as users give them.
Shape = Callable[[Any], Any]

#: Polynomials up to this degree are integrated term by term: powers of higher ones lose digits.
_HIGHEST = 5
#: Where a shape must agree with its polynomial (m).
_PLACES = 0.0317, 0.1618, 0.5772

#: Gauss points between the base and an abscissa: exact for polynomials up to degree 23; constant curvature to 1e-14 of the
#: length while it turns by less than a full turn.
_COUNT = 12


def _collocation(count: int) -> tuple[Array, Array, Array]:
    """Return Gauss points between 0 and 1, weights of integrals from 0 to every one of them, and to 1."""
    roots, weights = legendre.leggauss(count)
    # polynomials of Legendre in place of powers: well conditioned
    values = legendre.legvander(roots, count - 1)
    integrals = np.stack([legendre.legval(roots, legendre.legint(row, lbnd=-1)) for row in np.eye(count)], axis=1)
    return (1.0 + roots) / 2.0, 0.5 * integrals @ np.linalg.inv(values), weights / 2.0


POINTS, _ONTO_POINTS, WEIGHTS = _collocation(_COUNT)


class ShapeSum:
    """A function ``sum_k shape_k(z) q_k`` of the abscissa.

    Polynomials up to degree 5 are integrated exactly, other shapes at twelve Gauss points.
    """

    def __init__(self, shapes: Sequence[Shape], values: Any) -> None:
        self._shapes, self._values = list(shapes), list(values)
        powers: list[Any] = []
        self._others: list[tuple[Shape, Any]] = []
        for shape, value in zip(shapes, values, strict=True):
            coefficients = polynomial_of(shape)
            if coefficients is None:
                self._others.append((shape, value))
                continue
            powers += [0.0] * (len(coefficients) - len(powers))
            for k, coefficient in enumerate(coefficients):
                if coefficient:
                    powers[k] = powers[k] + coefficient * value
        self._powers = powers

    def __call__(self, abscissa: Any) -> Any:
        """Return the sum at an abscissa."""
        return _horner(self._powers, abscissa) + sum(shape(abscissa) * value for shape, value in self._others)

    def integral(self, abscissa: Any) -> Any:
        """Return the integral from 0 to an abscissa."""
        total = abscissa * _horner([power / (k + 1.0) for k, power in enumerate(self._powers)], abscissa)
        for shape, value in self._others:
            total = total + value * abscissa * sum(w * shape(abscissa * s) for w, s in zip(WEIGHTS, POINTS, strict=True))
        return total

    @property
    def is_exact(self) -> bool:
        """Whether integrals are."""
        return not self._others

    def integrals(self, abscissa: Any) -> Any:
        """Return the integrals from 0 to every Gauss point between there and an abscissa (12)."""
        raised, power = [], abscissa
        for k, value in enumerate(self._powers):
            raised.append(value * power / (k + 1.0))
            power = power * abscissa
        total = np.array([s * _horner(raised, s) for s in POINTS])
        for shape, value in self._others:
            total = total + value * (abscissa * (_ONTO_POINTS @ np.array([shape(abscissa * s) for s in POINTS])))
        return total


def polynomial_of(shape: Shape) -> tuple[float, ...] | None:
    """Return the coefficients of a function that is a polynomial of low degree, from the constant on; else None."""
    try:
        value = shape(Polynomial([0.0, 1.0]))
        coefficients = value.coef if isinstance(value, Polynomial) else np.array([float(value)])
        same = all(abs(Polynomial(coefficients)(z) - shape(z)) <= EXACT * (1.0 + abs(shape(z))) for z in _PLACES)
    except Exception:  # whatever the user's function raises of what is no number
        return None
    return tuple(coefficients.tolist()) if same and len(coefficients) <= _HIGHEST + 1 else None


#: A symbol in recorded numbers, and the one that replaces it once they have been differentiated.
Meaning = tuple[Unknown, Unknown]
_HELD: ContextVar[list[Meaning] | None] = ContextVar("held", default=None)


@contextmanager
def held_symbols() -> Iterator[list[Meaning]]:
    """Let `with_slope` put symbols in, whose meaning is listed."""
    held: list[Meaning] = []
    token = _HELD.set(held)
    try:
        yield held
    finally:
        _HELD.reset(token)


def with_slope(value: Callable[[Any], Any], slope: Callable[[Any], Any], at: Any) -> Any:
    """Return ``value(at)``, whose derivative by `at` is ``slope(at)``, so that differentiation finds that.

    While symbols are held, and `at` is one, it is ``value(z) + d slope(z) + d^2/2 slope'(z) + ...`` with a z that stands for
    `at`, and ``d = at - z``, which is zero: no derivative up to the fourth order goes through `value`. Derivatives of the slope
    must be exact.
    """
    held = _HELD.get()
    if held is None or not isinstance(at, Unknown) or at.value.operation != INPUT:
        return value(at)
    (z,) = at.graph.fresh(1)
    held.append((z, at))
    distance, term = at - z, slope(z)
    total, factor = value(z), distance
    for order in range(2, 6):
        total, factor = total + factor * term, factor * distance / order
        term = jacobian(term, [z])[0]
    return total


# -- integrals along the axis -----------------------------------------------------------------------------------------------


def integral(function: ShapeSum, abscissa: Any) -> Any:
    """Return the integral of a function from 0 to an abscissa."""
    return function.integral(abscissa) if function.is_exact else with_slope(function.integral, function, abscissa)


def planar_curve(curvature: ShapeSum, abscissa: Any) -> tuple[Any, Any, Any]:
    """Return the angle by which a curvature (rad/m) turns a curve up to an abscissa, and the integrals of its sine and cosine.

    Their derivatives by the abscissa are the curvature, the sine and the cosine themselves. The angle is exact for polynomials
    up to degree 11, else as good as one of that degree follows the curvature: bells with a standard deviation of a quarter of
    the abscissa to some 1e-11 of it. The integrals are exact to rounding while it turns by less than a full turn.
    """

    def along(function: Any) -> Any:
        return with_slope(
            lambda z: z * (WEIGHTS @ function(curvature.integrals(z))), lambda z: function(integral(curvature, z)), abscissa
        )

    return integral(curvature, abscissa), along(np.sin), along(np.cos)


def space_curve(strain: Callable[[Any], Any], abscissa: Any, steps: int) -> tuple[Any, Any]:
    """Return rotation (3 x 3) and position (3) of a frame that a smooth strain carries from 0 to an abscissa.

    The strain at an abscissa is turning (3, rad/m) and displacement (3, no unit) a unit of length, in the frame's own axes.
    Magnus' expansion of sixth order (Blanes, Casas and Ros 2000) in steps of equal length: with p steps the error falls as
    ``p^-6``. It converges for sure where a step turns by less than half a turn: where one turns by more, the result is not a
    number.
    """
    step = abscissa / steps
    rotation, position = np.eye(3), np.zeros(3)
    for k in range(steps):
        turning, way = _magnus(strain, step * k, step)
        turn, way = screw(turning * where(turning @ turning < np.pi**2, 1.0, np.nan), way, small=True)
        rotation, position = rotation @ turn, position + rotation @ way
    return rotation, position


def _magnus(strain: Callable[[Any], Any], start: Any, step: Any) -> tuple[Any, Any]:
    """Return the displacement of a step: turning and way (3 each).

    In the frame's own axes brackets have the other sign than in the paper.
    """
    offset = np.sqrt(15.0) / 10.0
    first, middle, last = (np.concatenate(strain(start + step * place)) for place in (0.5 - offset, 0.5, 0.5 + offset))
    a, b = step * middle, np.sqrt(15.0) / 3.0 * step * (last - first)
    c = 10.0 / 3.0 * step * (last - 2.0 * middle + first)
    ab = _bracket(b, a)
    inner = _bracket(2.0 * c + ab, a) * (-1.0 / 60.0)
    total = a + c / 12.0 + _bracket(b + inner, -20.0 * a - c + ab) / 240.0
    return total[:3], total[3:]


def screw(turning: Any, way: Any, small: bool = False) -> tuple[Any, Any]:
    """Return rotation (3 x 3) and position (3) after a motion with constant turning (rad) and displacement (3 each)."""
    sine, versine, cubic = rotation_functions(turning @ turning, small)
    across = np.outer(turning, turning) - (turning @ turning) * np.eye(3)
    spin = _skew(turning)
    return np.eye(3) + sine * spin + versine * across, way + versine * (spin @ way) + cubic * (across @ way)


def _skew(x: Any) -> Any:
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def _bracket(x: Any, y: Any) -> Any:
    """Return the bracket of two motions, each turning and displacement (3 + 3)."""
    turning, other = _skew(x[:3]), _skew(x[3:])
    return np.concatenate([turning @ y[:3], turning @ y[3:] + other @ y[:3]])
