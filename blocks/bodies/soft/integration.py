"""Integrals along the axis of a body from its base to an abscissa, as functions of the abscissa with all derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.soft.functions import rotation_functions

#: Gauss points between the base and an abscissa: exact for polynomials up to degree 23; constant curvature to 1e-14 of the
#: length while it turns by less than a full turn.
_COUNT = 12


def _collocation(count: int) -> tuple[Array, Array, Array]:
    """Return Gauss points between 0 and 1, weights of integrals from 0 to every one of them, and to 1."""
    roots, weights = np.polynomial.legendre.leggauss(count)
    points, powers = (1.0 + roots) / 2.0, np.arange(count)
    # polynomials of Legendre in place of powers: well conditioned
    values = np.polynomial.legendre.legvander(roots, count - 1)
    integrals = np.stack(
        [np.polynomial.legendre.legval(roots, np.polynomial.legendre.legint(row, lbnd=-1)) for row in np.eye(count)[powers]],
        axis=1,
    )
    return points, 0.5 * integrals @ np.linalg.inv(values), weights / 2.0


_POINTS, _ONTO_POINTS, _WEIGHTS = _collocation(_COUNT)


def integral(function: Callable[[Any], Any], abscissa: Any) -> Any:
    """Return the integral of a smooth function from 0 to an abscissa."""
    return abscissa * sum(weight * function(abscissa * point) for point, weight in zip(_POINTS, _WEIGHTS, strict=True))


def planar_curve(curvature: Callable[[Any], Any], abscissa: Any) -> tuple[Any, Any, Any]:
    """Return the angle by which a smooth curvature has turned a curve at an abscissa, and the integrals of its sine and cosine.

    Exact to rounding for curvatures that are polynomials up to degree 11, else as well as one of that degree follows them:
    bells with a standard deviation of a quarter of the abscissa to some 1e-11 of it.

    Parameters
    ----------
    curvature : callable
        Of the abscissa (rad/m).
    abscissa : float, m
    """
    bends = np.array([curvature(abscissa * point) for point in _POINTS])
    angles = abscissa * (_ONTO_POINTS @ bends)
    aside, ahead = (abscissa * (_WEIGHTS @ function(angles)) for function in (np.sin, np.cos))
    return abscissa * (_WEIGHTS @ bends), aside, ahead


def space_curve(strain: Callable[[Any], Any], abscissa: Any, steps: int) -> tuple[Any, Any]:
    """Return rotation (3 x 3) and position (3) of a frame that a smooth strain carries from 0 to an abscissa.

    Magnus' expansion of sixth order (Blanes, Casas and Ros 2000) in steps of equal length: with p steps the error falls as
    ``p^-6``.

    Parameters
    ----------
    strain : callable
        Of the abscissa: turning (3, rad/m) and displacement (3, no unit) a unit of it, in the frame's own axes.
    abscissa : float, m
    steps : int
    """
    step = abscissa / steps
    rotation, position = np.eye(3), np.zeros(3)
    for k in range(steps):
        turn, way = screw(*_magnus(strain, step * k, step), small=True)
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
