"""What happens on a path of equilibria between two stations: its load factor turns round, or stability changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from titop.solvers.equilibrium.description import efforts_of_motions
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.path_curve import Curve, Station

#: How exactly events are found, in parts of a step.
_EXACT = 1e-9

#: Eigenvalues oscillate whose imaginary part is more than this part of the largest one.
_PAIR = 1e-6

#: Parts of its largest entry by which a stiffness may miss its symmetry.
_SYMMETRIC = 1e-9


def event_between(curve: Curve, before: Station, after: Station) -> tuple[Station, str] | None:
    """Return the station between two at which something happens, and what; None if nothing does.

    Raises
    ------
    ConvergenceError
        Where a part of the step fails.
    """
    if before.tangent[0] * after.tangent[0] < 0:
        return _limit(curve, before, after), "limit"
    for count, kind in ((_falling, "bifurcation"), (_oscillating, "flutter")):
        if count(before.point) != count(after.point):
            return _crossing(curve, before, after, count), kind
    return None


def _limit(curve: Curve, before: Station, after: Station) -> Station:
    """Return the station at which the tangent has no part along the load factor."""
    from scipy.optimize import brentq

    def turning(part: float) -> float:
        return float(curve.along(before, part).tangent[0])

    length = curve.product(after.y - before.y, before.tangent)
    return curve.along(before, brentq(turning, 0.0, length, xtol=_EXACT * length))


def _crossing(curve: Curve, before: Station, after: Station, count: Callable[[OperatingPoint], int]) -> Station:
    """Return the station at which a count changes, by bisection."""
    length, station = curve.product(after.y - before.y, before.tangent), after
    near, far = 0.0, length
    while far - near > _EXACT * length:
        middle = curve.along(before, 0.5 * (near + far))
        if count(middle.point) == count(before.point):
            near = 0.5 * (near + far)
        else:
            far, station = 0.5 * (near + far), middle
    return station


def _falling(point: OperatingPoint) -> int:
    """Return in how many directions a point at rest has a negative stiffness; of one that moves, how many modes grow alone."""
    if point.v.any():
        return len(point.growing) - _oscillating(point)
    stiffness = -efforts_of_motions(point, point.forward_derivatives[0])
    sizes = np.sqrt(np.abs(np.diag(stiffness)))
    stiffness = stiffness / np.outer(sizes, sizes) if sizes.all() else stiffness
    if np.abs(stiffness - stiffness.T).max(initial=0.0) <= _SYMMETRIC * np.abs(stiffness).max(initial=0.0):
        return int((np.linalg.eigvalsh(stiffness) < 0).sum())
    values = np.linalg.eigvals(stiffness)  # those of loads that follow a body: pairs have no zero
    return int(((values.real < 0) & (values.imag == 0)).sum())


def _oscillating(point: OperatingPoint) -> int:
    """Return how many eigenvalues of oscillations grow."""
    return int((np.abs(point.growing.imag) > _PAIR * np.abs(point.eigenvalues).max(initial=0.0)).sum())
