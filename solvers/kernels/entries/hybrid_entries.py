"""The entry points of hybrid dynamics: motion is imposed on some coordinates, efforts on the others.

As in `dynamics_entries`, each returns a status.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.closures.closed_derivatives import (
    accelerations_slopes,
    efforts_slopes,
    own_loads,
    slopes_rooms,
    slopes_with_closures,
    turning_rows,
)
from titop.solvers.kernels.closures.closed_passes import constrained, constrained_rooms, hold
from titop.solvers.kernels.closures.following import number_rows, ones_of
from titop.solvers.kernels.closures.least_norm import (
    complete_motion,
    split_constraints,
    split_rows,
    take_least,
    write_multipliers,
)
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.whole_passes import (
    hybrid_from_twists,
    moving_rooms,
    outward_whole,
    sizes_fit,
    status_of,
    status_of_slopes,
)
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import ClosedTables, State, Tables
from titop.solvers.kernels.spatial.algebra import copy
from titop.solvers.kernels.tree.factor import factor
from titop.solvers.kernels.tree.joints import element_of
from titop.solvers.native.kernel import shared
from titop.solvers.native.signatures import FLOATS, INTS, MASK, RESULT, RESULT_CUBE, STATE

#: Whether the system has general blocks or interactions: see `pair.Pair`.
LAWS = True


@shared
def _eliminated(imposed, tables, state, work, world, a, tau):
    """From a state to the accelerations and efforts of a tree: complete `a` and `tau`; return a status."""
    multi = np.empty((tables.ints[0, layout.MULTIS], layout.MULTI_COLUMNS), state.q.dtype)
    status = outward_whole(tables, state, work, world)
    return status if status != layout.OK else hybrid_from_twists(tables, state, a, tau, imposed, work, multi, world)


@pair(MASK, INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, STATE, RESULT, RESULT)
def hybrid_dynamics(imposed, ints, floats, numbers, stages, q, v, tau, a, accelerations, efforts):
    """Hybrid dynamics of a tree into `accelerations` and `efforts`."""
    if not sizes_fit(ints, q, v, tau, a):
        return layout.WRONG_SIZE
    if min(status_of(tau), status_of(a)) != layout.OK:  # also where they are not read
        return layout.NOT_FINITE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    work, world = moving_rooms(ints, layout.FORWARD_COLUMNS, q)
    copy(a, accelerations)
    copy(tau, efforts)
    return _eliminated(imposed, tables, State(q, v), work, world, accelerations, efforts)


@shared
def _split(loops, floats, jacobian, chosen, ones, imposed):
    """Return what `split_constraints` does, of the rows `chosen` for accelerations if these are as many as act at all."""
    followers, r = loops[0, layout.FOLLOWERS], chosen.size
    if followers + r != loops[0, layout.WHOLE_RANK]:
        return split_constraints(loops, floats, jacobian, ones, imposed, True)
    which = np.empty(followers + r, jacobian.dtype)
    number_rows(loops, chosen, which)
    split, first, end = split_rows(jacobian, which, ones, imposed, True)
    return split, first, end if end == which.size else -1


@shared
def _shared(split, first, end, imposed, ones, tau, efforts, carried):
    """Return the least efforts (nv x 1) on imposed coordinates beside tau, where `efforts` are needed in all."""
    n = tau.size
    needed = np.empty((n, 1), tau.dtype)
    for j in range(n):
        needed[j, 0] = efforts[j] if imposed[j] else efforts[j] - tau[j]
    take_least(split, first, end, imposed, ones, needed, carried)
    return needed


@pair(INTS, INTS, MASK, INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, STATE, RESULT, RESULT)
def constrained_hybrid(tree, loops, imposed, ints, floats, numbers, stages, q, v, tau, a, accelerations, efforts):
    """Hybrid dynamics of a system with rigid closures into `accelerations` and `efforts`, the least where there is a choice.

    `tree` is that of the coordinates that lead (`following`). What `constrained_inverse` leaves to callers is left here too.
    """
    n, k = ints[0, layout.NV], loops[0, layout.ROWS]
    if not sizes_fit(ints, q, v, tau, a):
        return layout.WRONG_SIZE
    if min(status_of(tau), status_of(a)) != layout.OK:  # also where they are not read
        return layout.NOT_FINITE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    work, world = moving_rooms(ints, layout.FORWARD_COLUMNS, q)
    mass, forward = np.empty((n, n), q.dtype), constrained_rooms(loops, n, q)
    passes = work, world, forward
    copy(a, accelerations)
    status = constrained(
        ClosedTables(tables, loops), tree, None, State(q, v), tau, passes, (imposed, mass, efforts), accelerations
    )
    if status != layout.OK:
        return status
    ones = np.empty(n, q.dtype)
    ones_of(loops, floats, ones)
    _, jacobians, _, _, chosen, _, gram = forward
    split, first, end = _split(loops, floats, jacobians[:k], chosen[: gram.shape[0]], ones, imposed)
    if end < 0 or (end != loops[0, layout.WHOLE_RANK] and not loops[0, layout.HELD]):
        return layout.SINGULAR
    least = _shared(split, first, end, imposed, ones, tau, efforts, np.zeros((k, 1), q.dtype))
    for j in range(n):
        efforts[j] = least[j, 0] if imposed[j] else tau[j]
    return status_of(efforts)


@pair(INTS, INTS, INTS, MASK, INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, STATE, RESULT_CUBE)
def hybrid_derivatives(tree, paths, loops, imposed, ints, floats, numbers, stages, q, v, tau, a, result):
    """Derivatives (8, nv, nv) of hybrid dynamics: of accelerations by q, v, tau and imposed accelerations, then of efforts.

    With closures the tables are those of `constrained_derivatives`.
    """
    n, k = ints[0, layout.NV], loops[0, layout.ROWS]
    if not sizes_fit(ints, q, v, tau, a) or result.shape[0] != 8 or result.shape[1] != n or result.shape[2] != n:
        return layout.WRONG_SIZE
    if min(status_of(tau), status_of(a)) != layout.OK:
        return layout.NOT_FINITE
    law = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None
    forward, rooms, loaded = constrained_rooms(loops, n, q), slopes_rooms(ints, paths, loops, law, q), own_loads(floats, q)
    work, world = rooms[0].work, rooms[0].world
    _, jacobians, _, _, chosen, _, gram = forward
    chosen = chosen[: gram.shape[0]]
    acc, efforts, mass = np.empty(n, q.dtype), np.empty(n, q.dtype), np.empty((n, n), q.dtype)
    copy(a, acc)
    copy(tau, efforts)
    tables, state = Tables(ints, loaded, numbers, stages, law), State(q, v)
    system = ClosedTables(tables, loops)
    if k:
        status = constrained(system, tree, None, state, tau, (work, world, forward), (imposed, mass, efforts), acc)
    else:
        status = _eliminated(imposed, tables, state, work, world, acc, efforts)
    if status != layout.OK:
        return status
    ones = np.empty(n, q.dtype)
    ones_of(loops, loaded, ones)
    split, first, end = _split(loops, loaded, jacobians[:k], chosen, ones, imposed)
    if end != loops[0, layout.WHOLE_RANK]:
        return layout.SINGULAR
    changes, rows, turning = np.empty((3, n, n), q.dtype), np.empty((4, k, n), q.dtype), np.empty((0, n), q.dtype)
    carried, multipliers = np.zeros((k, 1), q.dtype), np.empty(k, q.dtype)
    if k:
        least = _shared(split, first, end, imposed, ones, tau, efforts, carried)
        write_multipliers(split, end, carried, multipliers)
        if end > first:
            complete_motion(split, first, imposed, ones, least, efforts)
            turning, status = turning_rows(system, paths, q, efforts, rooms, changes, rows)
    if status != layout.OK:
        return status
    status = slopes_with_closures(system, paths, (state, acc, multipliers), rooms, layout.UNKNOWN, False, changes, rows)
    if status != layout.OK:
        return status
    if k == 0:
        matrix = forward[0]
        for i in range(n):
            for j in range(n):
                matrix[i, j] = changes[2, i, j]
        hold(imposed, matrix)
        failed = factor(tree, matrix)
        if failed >= 0:
            return element_of(ints, failed)
    accelerations_slopes(loops, loaded, imposed, tree, forward, changes, rows, result)
    efforts_slopes(split, first, end, imposed, ones, changes, turning, result)
    return status_of_slopes(result)
