"""Sums of functions of the abscissa, weighted by coordinates, and their integrals from the base."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT

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
    roots, weights = np.polynomial.legendre.leggauss(count)
    # polynomials of Legendre in place of powers: well conditioned
    values = np.polynomial.legendre.legvander(roots, count - 1)
    integrals = np.stack(
        [np.polynomial.legendre.legval(roots, np.polynomial.legendre.legint(row, lbnd=-1)) for row in np.eye(count)], axis=1
    )
    return (1.0 + roots) / 2.0, 0.5 * integrals @ np.linalg.inv(values), weights / 2.0


POINTS, _ONTO_POINTS, WEIGHTS = _collocation(_COUNT)


class ShapeSum:
    """A function ``sum_k shape_k(z) q_k`` of the abscissa.

    Polynomials up to degree 5 are integrated exactly, other shapes at twelve Gauss points.

    Parameters
    ----------
    shapes : sequence of functions
    values : sequence of numbers
        The coordinates q.
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
        found = np.array([s * _horner(raised, s) for s in POINTS])
        for shape, value in self._others:
            found = found + value * (abscissa * (_ONTO_POINTS @ np.array([shape(abscissa * s) for s in POINTS])))
        return found


def _horner(powers: Sequence[Any], at: Any) -> Any:
    total: Any = 0.0
    for power in reversed(powers):
        total = total * at + power
    return total


def polynomial_of(shape: Shape) -> tuple[float, ...] | None:
    """Return the coefficients of a function that is a polynomial of low degree, from the constant on; else None."""
    try:
        found = shape(Polynomial([0.0, 1.0]))
        coefficients = found.coef if isinstance(found, Polynomial) else np.array([float(found)])
        same = all(abs(Polynomial(coefficients)(z) - shape(z)) <= EXACT * (1.0 + abs(shape(z))) for z in _PLACES)
    except Exception:  # whatever the user's function raises of what is no number
        return None
    return tuple(coefficients.tolist()) if same and len(coefficients) <= _HIGHEST + 1 else None
