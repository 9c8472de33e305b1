"""Entry points of what is read of a state; as in `entries`, each returns a status."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.inverse import outward_motions
from titop.solvers.kernels.kinematics import outward_twists
from titop.solvers.kernels.layout import ELEMENTS, INVERSE_COLUMNS, KNOWN, LAW_SIZE, NQ, NV, OK, WRONG_SIZE
from titop.solvers.kernels.pair import pair
from titop.solvers.kernels.regressor import NUMBERS_OF_BODY, write_body_regressor
from titop.solvers.kernels.whole import status_of_slopes
from titop.solvers.native.signatures import CUBE, FLOATS, INTS

#: Whether the system has general blocks or interactions: see `pair.Pair`.
LAWS = True


@pair(INTS, FLOATS, FLOATS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, CUBE)
def regressor(ints, floats, numbers, stages, bodies, frames, q, v, a, result):
    """The regressors (batch, 10 a body, nv) of the bodies whose elements stand in `bodies` (1, count), at stacked states."""
    nv, count = ints[0, NV], bodies.shape[1]
    if q.shape[1] != ints[0, NQ] or v.shape[1] != nv or a.shape[1] != nv or result.shape[2] != nv:
        return WRONG_SIZE
    if not (q.shape[0] == v.shape[0] == a.shape[0] == result.shape[0]) or result.shape[1] != NUMBERS_OF_BODY * count:
        return WRONG_SIZE
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work = np.empty((ints[0, ELEMENTS], INVERSE_COLUMNS))
    pose, wrenches = np.empty((1, 12)), np.empty((NUMBERS_OF_BODY, 6))
    result[:] = 0.0
    for row in range(q.shape[0]):
        status = outward_twists(ints, floats, numbers, stages, law, q[row], v[row], work)
        if status != OK:
            return status
        status = outward_motions(ints, floats, numbers, stages, law, q[row], v[row], a[row], work, KNOWN)
        if status != OK:
            return status
        for k in range(count):
            part = result[row, NUMBERS_OF_BODY * k : NUMBERS_OF_BODY * (k + 1)]
            write_body_regressor(ints, floats, law, work, bodies[0, k], frames, pose, wrenches, part)
    return status_of_slopes(result)
