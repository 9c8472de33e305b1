"""The equations that implicit integrators solve: what is left of them at a state, and their matrices.

As in `dynamics_entries`, the entry returns a status.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.closures.closure_derivatives import write_closure_wrenches
from titop.solvers.kernels.closures.constraint_rows import constraints, gear_error
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.whole_passes import (
    efforts_from,
    mass_and_efforts_of,
    outward_moved,
    outward_whole,
    status_of,
    status_of_rows,
)
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports.following_states import follow_own_states
from titop.solvers.kernels.tree.kinematics import world_poses
from titop.solvers.native.signatures import FLAG, FLOATS, INTS, VECTOR

#: Whether the system has general blocks or interactions: see `pair.Pair`.
LAWS = True


@pair(
    FLAG,
    VECTOR,
    VECTOR,
    VECTOR,
    INTS,
    INTS,
    FLOATS,
    FLOATS,
    INTS,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    VECTOR,
    FLOATS,
    FLOATS,
)
def equations(
    whole, half, begun, x, loops, ints, floats, numbers, stages, q, v, a, multipliers, efforts, error, jacobian, mass
):
    """Inverse dynamics with the wrenches of closures and gears, ``ID - J^T lambda`` (nv), and the constraints' `error` (k).

    If `whole`, J (k x nv) and the tree's `mass` matrix are written too; otherwise no block is asked for its M and S. States x
    of the first order follow (`follow_own_states`). The tables have two loads more for each rigid closure, the last ones, in
    which the closures' own wrenches are put.
    """
    law, nx, k = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None, x.size, loops[0, layout.ROWS]
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS)), np.empty((ints[0, layout.ELEMENTS], 12))
    if whole:
        status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
    else:
        status = outward_moved(ints, floats, numbers, stages, law, q, v, a, work, world)
    if law is not None and status == layout.OK:
        status = follow_own_states(half, ints, numbers, stages, law, begun, x, np.zeros((nx, nx)))
    if status != layout.OK:
        return status
    if k > 0:
        world_poses(ints, law, work, world)
        write_closure_wrenches(ints, floats, law, loops, world, multipliers, error)
    if whole:
        mass_and_efforts_of(ints, floats, law, q, v, a, work, world, efforts, mass)
        constraints(ints, floats, law, loops, q, v, work, world, error, jacobian, np.empty(k))
        status = min(status_of_rows(mass), status_of_rows(jacobian))
    else:
        status = efforts_from(ints, floats, numbers, stages, law, q, v, a, work, world, efforts)
    first, row = k - loops[0, layout.GEARS], loops[0, layout.FIRST_GEAR]
    for g in range(loops[0, layout.GEARS]):
        error[first + g] = gear_error(ints, floats, row, q)
        for term in range(row, row + ints[row, layout.TERMS]):
            efforts[ints[term, layout.TERM_V]] -= floats[term, layout.FACTOR] * multipliers[first + g]
        row += ints[row, layout.TERMS]
    return min(status, min(status_of(efforts), status_of(error)))
