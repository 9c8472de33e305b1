"""Where a system comes to rest that creeps from a guess with its accelerations, as if in honey: what stands draws it."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.description import efforts_of_motions
from titop.solvers.equilibrium.equations import Motion
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.root_search import least_solution
from titop.solvers.equilibrium.unknowns import Unknowns
from titop.solvers.signals.quantities import Kind

#: Longest change of a coordinate in a step, in what counts as one of it.
_LONGEST = 0.5
#: Residuals below which Newton's method is as fast.
_NEAR = 1e-4
#: By how much a step's time falls where it leads too far, and grows at most where the residual falls.
_SHORTER, _LONGER = 0.25, 10.0
#: A step's time at most, in that in which what grows does so by e: implicit steps of more than one lead back to what does not
#: stand, or across it.
_UNSTABLE = 0.5


def crept(unknowns: Unknowns, steps: int) -> OperatingPoint:
    """Return a point near the equilibrium to which the guess creeps, or what is reached in so many steps.

    Coordinates follow ``dq/ds = a(q)`` by implicit steps, in a time that grows as the accelerations fall, until the steps are
    Newton's: pseudo-transient continuation (Kelley and Keyes, SIAM Journal on Numerical Analysis 35, 1998). Each step begins at
    zero displacement, so that rotations may be of any size. Steps are short enough to leave an equilibrium that does not stand.

    Parameters
    ----------
    unknowns : Unknowns
        Coordinates, at rest; those that are none stay where they are.
    steps : int
    """
    here, still = unknowns, np.zeros(len(unknowns.entries))
    values, time = _residual(here, still), 0.0
    for _ in range(steps):
        size = float(np.linalg.norm(values))
        if size < _NEAR:
            break
        time = time or 0.1 / size
        growth = _growth(here)
        time = min(time, _UNSTABLE / growth) if growth else time
        matrix = -_own(here, Motion(here, moving=False).derivatives(still))
        matrix[np.diag_indices(len(still))] += 1.0 / time
        step = least_solution(matrix, values)
        found = _residual(here, step)
        if not np.isfinite(found).all() or np.abs(step).max() > _LONGEST:
            time *= _SHORTER
            continue
        here = Unknowns(here.at(step), unknowns.entries, unknowns.sizes, unknowns.axes)
        least = 1.0 if growth else _SHORTER  # residuals grow on the way down from what does not stand
        values, time = found, time * min(max(size / float(np.linalg.norm(found)), least), _LONGER)
    return here.guess


def _residual(unknowns: Unknowns, x: Array) -> Array:
    return _own(unknowns, Motion(unknowns, moving=False).residual(x))


def _own(unknowns: Unknowns, equations: Array) -> Array:
    """Return the equations of accelerations of what is unknown, along its axes, then of closures."""
    nv, own = unknowns.guess.model.nv, unknowns.select(Kind.POSITION)[1]
    along = equations[:nv] if unknowns.turned is None else unknowns.turned.T @ equations[:nv]
    return np.concatenate([along[own], equations[nv:]])


def _growth(unknowns: Unknowns) -> float:
    """Return how fast creeping from the guess grows, in what counts as one of rates, squared; zero if nothing does.

    Zero too where closures leave no matrix to tell it by: creeping goes on as where nothing grows.
    """
    point, own = unknowns.guess, unknowns.select(Kind.POSITION)[1]
    try:
        by_q = point.forward_derivatives[0]
        if point.model.is_constrained:
            by_q = np.linalg.solve(efforts_of_motions(point, np.eye(len(by_q))), efforts_of_motions(point, by_q))
        else:
            by_q = by_q[np.ix_(own, own)]
        return float(np.linalg.eigvals(by_q).real.max(initial=0.0)) / unknowns.sizes.rate**2
    except np.linalg.LinAlgError:
        return 0.0
