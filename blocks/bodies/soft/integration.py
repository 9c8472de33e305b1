"""Integrals along the axis of a body from its base to an abscissa, as functions of the abscissa with all derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.bodies.soft.differentiation import continued
from titop.blocks.bodies.soft.functions import rotation_functions, where
from titop.blocks.bodies.soft.shapes import WEIGHTS, ShapeSum


def integral(function: ShapeSum, abscissa: Any) -> Any:
    """Return the integral of a function from 0 to an abscissa."""
    return function.integral(abscissa) if function.is_exact else continued(function.integral, function, abscissa)


def planar_curve(curvature: ShapeSum, abscissa: Any) -> tuple[Any, Any, Any]:
    """Return the angle by which a curvature has turned a curve at an abscissa, and the integrals of its sine and cosine.

    Their derivatives by the abscissa are the curvature, the sine and the cosine themselves. The angle is exact for polynomials
    up to degree 11, else as good as one of that degree follows the curvature: bells with a standard deviation of a quarter of
    the abscissa to some 1e-11 of it. The integrals are exact to rounding while it turns by less than a full turn.

    Parameters
    ----------
    curvature : ShapeSum
        Of the abscissa (rad/m).
    abscissa : float, m
    """

    def along(function: Any) -> Any:
        return continued(
            lambda z: z * (WEIGHTS @ function(curvature.integrals(z))), lambda z: function(integral(curvature, z)), abscissa
        )

    return integral(curvature, abscissa), along(np.sin), along(np.cos)


def space_curve(strain: Callable[[Any], Any], abscissa: Any, steps: int) -> tuple[Any, Any]:
    """Return rotation (3 x 3) and position (3) of a frame that a smooth strain carries from 0 to an abscissa.

    Magnus' expansion of sixth order (Blanes, Casas and Ros 2000) in steps of equal length: with p steps the error falls as
    ``p^-6``. It converges for sure where a step turns by less than half a turn: where one turns by more, the result is not a
    number.

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
