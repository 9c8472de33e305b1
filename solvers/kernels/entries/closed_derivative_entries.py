"""Entry points of the derivatives of systems with rigid closures and gears; as in `dynamics_entries`, each returns a status.

The tables have two loads more for each rigid closure, the last ones, in which the closures' own wrenches are put.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.closures.closed_derivatives import slopes_rooms, slopes_with_closures, turning_rows
from titop.solvers.kernels.closures.closed_passes import constrained, constrained_rooms, efforts_and_constraints
from titop.solvers.kernels.closures.consistency import opening
from titop.solvers.kernels.closures.following import ones_of, remaining
from titop.solvers.kernels.closures.hybrid_derivatives import accelerations_slopes, share_slopes
from titop.solvers.kernels.closures.least_norm import (
    BALANCED,
    complete_motion,
    split_constraints,
    take_least,
    write_multipliers,
)
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.whole_passes import sizes_fit, status_of_slopes
from titop.solvers.kernels.interface import layout
from titop.solvers.native.signatures import CUBE, FLOATS, INTS, MASK, VECTOR

#: Whether the system has general blocks or interactions: see `pair.Pair`.
LAWS = True


@pair(INTS, INTS, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, CUBE, CUBE)
def inverse_slopes_with_closures(paths, loops, ints, floats, numbers, stages, q, v, a, multipliers, changes, rows):
    """Derivatives (3, nv, nv) of inverse dynamics of the tree, closures acting with constant `multipliers` (k).

    `rows` (4, k, nv) receives the constraints' Jacobian J and the derivatives of ``J a + bias`` by q and v and of ``J v`` by q.
    """
    if not sizes_fit(ints, q, v, a, a):
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS)), np.empty((ints[0, layout.ELEMENTS], 12))
    loaded, rooms = floats.copy(), (work, world, slopes_rooms(ints, paths, loops, law))
    status = slopes_with_closures(
        ints, loaded, numbers, stages, law, loops, paths, q, v, a, multipliers, rooms, layout.UNKNOWN, False, changes, rows
    )
    return status if status != layout.OK else min(status_of_slopes(changes), status_of_slopes(rows))


@pair(INTS, INTS, INTS, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, CUBE)
def constrained_derivatives(tree, paths, loops, ints, floats, numbers, stages, q, v, tau, result):
    """Derivatives (3, nv, nv) of `constrained_forward` by q, v and tau."""
    n = ints[0, layout.NV]
    if not sizes_fit(ints, q, v, tau, tau) or result.shape[0] != 3 or result.shape[1] != n or result.shape[2] != n:
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS)), np.empty((ints[0, layout.ELEMENTS], 12))
    loaded, forward = floats.copy(), constrained_rooms(loops, n)
    rooms, passes = (work, world, slopes_rooms(ints, paths, loops, law)), (work, world, forward)
    k, a, changes = loops[0, layout.ROWS], np.empty(n), np.empty((3, n, n))
    rows, multipliers = np.empty((4, k, n)), np.zeros(k)
    spare = np.empty(law.shape) if LAWS else None
    status = constrained(tree, loops, None, ints, loaded, numbers, stages, law, spare, q, v, tau, passes, None, None, a)
    if status != layout.OK:
        return status
    chosen, gram = forward[4], forward[6]
    r = gram.shape[0]
    for c in range(r):
        multipliers[remaining(loops, chosen[c])] = gram[c, r]
    status = slopes_with_closures(
        ints, loaded, numbers, stages, spare, loops, paths, q, v, a, multipliers, rooms, layout.KNOWN, False, changes, rows
    )
    if status != layout.OK:
        return status
    accelerations_slopes(loops, loaded, None, tree, forward, changes, rows, result)
    return status_of_slopes(result)


@pair(INTS, INTS, MASK, VECTOR, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, CUBE)
def shared_derivatives(paths, loops, unknown, driven, ints, floats, numbers, stages, q, v, a, result):
    """Derivatives (3, nv, nv) of `constrained_inverse` by q, v and a, `driven` efforts being constant.

    With w the efforts, completed to a motion, ``w + J^T lambda = ID - driven`` where they are `unknown`, and ``J w = 0``.
    """
    n = ints[0, layout.NV]
    if not sizes_fit(ints, q, v, a, driven) or result.shape[0] != 3 or result.shape[1] != n or result.shape[2] != n:
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS)), np.empty((ints[0, layout.ELEMENTS], 12))
    loaded, rooms, k = floats.copy(), (work, world, slopes_rooms(ints, paths, loops, law)), loops[0, layout.ROWS]
    jacobian, sides, w, multipliers = np.empty((k, n)), np.empty((3, k)), np.empty(n), np.empty(k)
    status = efforts_and_constraints(ints, loaded, numbers, stages, law, loops, q, v, a, work, world, w, sides, jacobian)
    if status != layout.OK:
        return status
    if opening(sides[0], jacobian, sides[1], v, a, k - loops[0, layout.GEARS]):
        return layout.INCONSISTENT
    needed, carried, ones = np.empty((n, 1)), np.zeros((k, 1)), np.empty(n)
    ones_of(loops, loaded, ones)
    for j in range(n):
        needed[j, 0] = w[j] - driven[j]
    split, first, end = split_constraints(loops, loaded, jacobian, ones, unknown, True)
    if end != loops[0, layout.WHOLE_RANK] or not take_least(split, first, end, unknown, ones, needed, carried) <= BALANCED:
        return layout.SINGULAR
    rows, turning = np.empty((4, k, n)), np.empty((0, n))
    write_multipliers(split, end, carried, multipliers)
    if end > first:
        complete_motion(split, first, unknown, ones, needed, w)
        turning, status = turning_rows(ints, loaded, numbers, stages, law, loops, paths, q, w, rooms, result, rows)
    if status == layout.OK:
        status = slopes_with_closures(
            ints, loaded, numbers, stages, law, loops, paths, q, v, a, multipliers, rooms, layout.UNKNOWN, False, result, rows
        )
    if status != layout.OK:
        return status
    for d in range(3):
        share_slopes(split, first, end, unknown, ones, turning if d == 0 else turning[:0], result[d])
    return status_of_slopes(result)
