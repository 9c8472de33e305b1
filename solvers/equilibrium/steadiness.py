"""Whether the linear model about a steady motion stays the same along it: not where an unsymmetric rotor turns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.balance import excess, motion_rate, reaches
from titop.solvers.equilibrium.operating_point import OperatingPoint

#: How far along the motion it is looked at again: what the fastest coordinates reach, until they look different, times this.
_PHASES = (1.0, 2.2)
#: Changes of the linear model below this part of it are rounding.
_SAME = 1e-6


def steadiness_findings(point: OperatingPoint, where: str = "point") -> Iterator[Finding]:
    """Yield a finding where accelerations stay zero along the point's motion, but their derivatives do not stay as they are."""
    if not point.v.any():
        return
    changes = [change for phase in _PHASES if (change := _change_at(point, phase)) is not None]
    if changes and max(changes) > _SAME:
        found = f"a linear model that changes by {max(changes):.2g} of itself along the motion"
        expected = "one that stays as it is: rotors that are symmetric about their axes"
        advice = "its poles say nothing of stability, and it holds for parts of a turn only: simulate"
        yield Finding("time-varying", where, found, expected, advice)


def _change_at(point: OperatingPoint, phase: float) -> float | None:
    """Return by which part the linear model changes until a phase of the motion; None where that is no steady motion."""
    model, along = point.model, reaches(point.model, point.q)
    rate = motion_rate(model, point.q, point.v)
    later = point.moved(model.integrate(point.q, phase / rate * point.v), point.v, point.tau, point.u)
    try:
        a, A, B = _linear_model(later)
    except ModelError:
        return None
    if excess(later, a, np.zeros(model.nv), (A[model.nv :], B[model.nv :])).max(initial=0.0) > 1.0:
        return None
    by_state, before = (matrix[model.nv :] for matrix in (A, _linear_model(point)[1]))
    sizes = np.concatenate([along, rate * along])
    noticed = np.maximum((np.abs(before) * sizes).max(axis=1), rate**2 * along)
    return float(np.max(np.abs(by_state - before) * sizes / noticed[:, None], initial=0.0, where=noticed[:, None] > 0.0))


def _linear_model(point: OperatingPoint) -> tuple[Array, Array, Array]:
    """Return the accelerations (nv), A and B."""
    return point.model.raw_linear_matrices(point.q, point.v, point.tau, point.wrenches, point.u)
