"""Entry points of what sensors read; as in `entries`, each returns a status."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.inverse import outward_motions
from titop.solvers.kernels.layout import ELEMENTS, INVERSE_COLUMNS, LAW_SIZE, NOT_FINITE, NQ, NV, OK, UNKNOWN, WRONG_SIZE
from titop.solvers.kernels.pair import pair
from titop.solvers.kernels.readings import asks_for_wrenches, read_all
from titop.solvers.kernels.whole import inverse_whole, start_inverse, status_of_rows, world_rows
from titop.solvers.native.signatures import FLOATS, INTS

#: Whether the system has general blocks or interactions: see `pair.Pair`.
LAWS = True


@pair(INTS, FLOATS, INTS, FLOATS, FLOATS, INTS, FLOATS, FLOATS, FLOATS, FLOATS)
def readings(what, frames, ints, floats, numbers, stages, q, v, a, result):
    """What the table `what` asks for, of stacked states, into the rows of `result`; see `readings`."""
    nv = ints[0, NV]
    if q.shape[1] != ints[0, NQ] or v.shape[1] != nv or a.shape[1] != nv:
        return WRONG_SIZE
    if not (q.shape[0] == v.shape[0] == a.shape[0] == result.shape[0]):
        return WRONG_SIZE
    if min(status_of_rows(q), min(status_of_rows(v), status_of_rows(a))) != OK:
        return NOT_FINITE
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, ELEMENTS], INVERSE_COLUMNS)), np.empty((world_rows(ints), 12))
    efforts, pose, motion = np.empty(nv), np.empty((1, 12)), np.empty((1, 24))
    wrenches = asks_for_wrenches(what)
    for row in range(q.shape[0]):
        if wrenches:
            status = inverse_whole(ints, floats, numbers, stages, law, q[row], v[row], a[row], work, world, efforts)
        else:
            status = start_inverse(ints, floats, numbers, stages, law, q[row], v[row], work)
            if status == OK:
                status = outward_motions(ints, floats, numbers, stages, law, q[row], v[row], a[row], work, UNKNOWN)
        if status != OK:
            return status
        read_all(ints, floats, law, what, frames, q[row], v[row], work, pose, motion, result[row])
    return status_of_rows(result)
