"""Where a system comes to rest that creeps from a guess with its accelerations, as if in honey: what stands draws it."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.equations import Motion
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.root_search import least_solution
from titop.solvers.equilibrium.unknowns import Unknowns

#: Longest change of a coordinate in a step, in what counts as one of it.
_LONGEST = 0.5
#: Residuals below which Newton's method is as fast.
_NEAR = 1e-4
#: By how much a step's time falls where it leads too far, and grows at most where the residual falls.
_SHORTER, _LONGER = 0.25, 10.0


def crept(unknowns: Unknowns, steps: int) -> OperatingPoint:
    """Return a point near the equilibrium to which the guess creeps, or what is reached in so many steps.

    Coordinates follow ``dq/ds = a(q)`` by implicit steps, in a time that grows as the accelerations fall, until the steps are
    Newton's: pseudo-transient continuation (Kelley and Keyes, SIAM Journal on Numerical Analysis 35, 1998). Each step begins at
    zero displacement, so that rotations may be of any size.
    """
    here, still = unknowns, np.zeros(len(unknowns.entries))
    values, time = _residual(here, still), 0.0
    for _ in range(steps):
        size = float(np.linalg.norm(values))
        if size < _NEAR:
            break
        time = time or 0.1 / size
        matrix = -Motion(here, moving=False).derivatives(still)
        matrix[np.diag_indices(len(still))] += 1.0 / time
        step = least_solution(matrix, values)
        found = _residual(here, step)
        if not np.isfinite(found).all() or np.abs(step).max() > _LONGEST:
            time *= _SHORTER
            continue
        here = Unknowns(here.at(step), sizes=unknowns.sizes)
        values, time = found, time * min(max(size / float(np.linalg.norm(found)), _SHORTER), _LONGER)
    return here.guess


def _residual(unknowns: Unknowns, x: Array) -> Array:
    return Motion(unknowns, moving=False).residual(x)
