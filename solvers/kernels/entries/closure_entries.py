"""The entry points of systems with rigid closures.

As in `dynamics_entries`, each returns a status or nothing; `loops` says where the closures stand and what gears take out
(see `layout`).
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import everywhere
from titop.solvers.kernels.closures.closed_passes import constrained, constrained_rooms, constraints_at, efforts_and_constraints
from titop.solvers.kernels.closures.closing import closing_step, to_nearest
from titop.solvers.kernels.closures.closure_derivatives import write_closure_wrenches
from titop.solvers.kernels.closures.constraint_rows import constraints, opened
from titop.solvers.kernels.closures.following import ones_of
from titop.solvers.kernels.closures.least_norm import share_least, split_constraints, take_least
from titop.solvers.kernels.entries.directional_entries import DIRECTIONS
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.entries.state_entries import follow
from titop.solvers.kernels.equations.whole_passes import (
    efforts_from,
    mass_and_efforts,
    mass_and_efforts_of,
    moving_rooms,
    outward_moved,
    outward_whole,
    sizes_fit,
    status_of,
    status_of_rows,
)
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import ClosedTables, State, Tables
from titop.solvers.kernels.spatial.algebra import copy
from titop.solvers.kernels.tree.kinematics import world_poses
from titop.solvers.native.kernel import shared
from titop.solvers.native.signatures import FLAG, FLOATS, INTS, MASK, REAL, RESULT, RESULT_ROWS, STATE, VECTOR

#: Whether the system has general blocks or interactions: see `pair.Pair`.
LAWS = True


@pair(INTS, INTS, INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, RESULT)
def constrained_forward(tree, loops, ints, floats, numbers, stages, q, v, tau, a):
    """Forward dynamics of a system with rigid closures into `a`; `tree` is that of the coordinates that lead (`following`)."""
    if not sizes_fit(ints, q, v, tau, a):
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    work, world = moving_rooms(ints, layout.FORWARD_COLUMNS, q)
    rooms, result = (work, world, constrained_rooms(loops, a.size, q)), np.empty(a.size, q.dtype)
    status = constrained(ClosedTables(tables, loops), tree, None, State(q, v), tau, rooms, None, result)
    copy(result, a)  # last: `a` may share memory with an argument
    return status


@shared
def _least_efforts(system, unknown, driven, state, a, tau, matrix):
    """Write the least efforts, and unless it is None the mass matrix of the tree; return a status."""
    (tables, loops), (q, v) = system, state
    n, k, columns = tau.size, loops[0, layout.ROWS], layout.INVERSE_COLUMNS if matrix is None else layout.FORWARD_COLUMNS
    work, world = moving_rooms(tables.ints, columns, q)
    jacobian, sides, efforts = np.empty((k, n), q.dtype), np.empty((3, k), q.dtype), np.empty(n, q.dtype)
    if matrix is None:
        status = efforts_and_constraints(system, state, a, (work, world), efforts, sides, jacobian)
    else:
        status = mass_and_efforts(tables, state, a, work, world, efforts, matrix)
        if status == layout.OK:
            constraints_at(system, state, (work, world), sides, jacobian)
    if status == layout.OK:
        status = share_least(loops, tables.floats, unknown, driven, (v, a), (jacobian, sides), efforts, tau)
    return status if status != layout.OK else status_of(tau)


@pair(INTS, MASK, INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, STATE, RESULT)
def constrained_inverse(loops, unknown, ints, floats, numbers, stages, driven, q, v, a, tau):
    """Inverse dynamics of a system with rigid closures into `tau`: the least efforts on the coordinates `unknown`.

    Beside these `driven` efforts act. `share_least` says what is left to callers that look closer.
    """
    if not sizes_fit(ints, q, v, a, tau) or driven.size != tau.size:
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    return _least_efforts(ClosedTables(tables, loops), unknown, driven, State(q, v), a, tau, None)


@pair(INTS, MASK, INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, STATE, RESULT, RESULT_ROWS)
def constrained_mass_inverse(loops, unknown, ints, floats, numbers, stages, driven, q, v, a, tau, matrix):
    """Inverse dynamics of a system with rigid closures, as `constrained_inverse`, and the mass matrix of the tree."""
    n = tau.size
    if not sizes_fit(ints, q, v, a, tau) or driven.size != n or matrix.shape[0] != n or matrix.shape[1] != n:
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    status = _least_efforts(ClosedTables(tables, loops), unknown, driven, State(q, v), a, tau, matrix)
    return status if status != layout.OK else status_of_rows(matrix)


@pair(INTS, FLAG, VECTOR, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, MASK, VECTOR)
def nearest_motion(loops, second, sizes, ints, floats, numbers, stages, q, v, held, x):
    """Replace rates x by the nearest ones that keep loops closed and gears in mesh: velocities, or `second` ones at v.

    Those that are `held` stay; distances are over the coordinates' `sizes`. Open loops and contradictions, or what is nearly
    one, are left to callers that look closer.
    """
    if not sizes_fit(ints, q, v, x, x):
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    work, world = moving_rooms(ints, layout.INVERSE_COLUMNS, q)
    n, k, nearest, efforts = x.size, loops[0, layout.ROWS], np.zeros(x.size, q.dtype), np.empty(x.size, q.dtype)
    jacobian, sides = np.empty((k, n), q.dtype), np.empty((3, k), q.dtype)
    status = efforts_and_constraints(ClosedTables(tables, loops), State(q, v), nearest, (work, world), efforts, sides, jacobian)
    if status != layout.OK:
        return status
    if opened(sides[0]):
        return layout.SINGULAR
    split, taken, _ = split_constraints(loops, floats, jacobian, sizes, held, False)
    if taken < 0:
        return layout.SINGULAR
    copy(x, nearest)
    status = to_nearest(split, taken, (jacobian, sides[1]), second, sizes, held, v, nearest)
    if status != layout.OK:
        return status
    copy(nearest, x)
    return status_of(x)


@pair(INTS, MASK, INTS, FLOATS, FLOATS, INTS, STATE, STATE, DIRECTIONS, RESULT_ROWS)
def least_shares(loops, unknown, ints, floats, numbers, stages, q, v, needed, result):
    """The least efforts on the coordinates `unknown` that do with the constraints what each of several efforts does.

    Open loops, and efforts that cannot be balanced or nearly so, are left to callers that look closer.
    """
    n, k, m = v.size, loops[0, layout.ROWS], result.shape[0]
    if not sizes_fit(ints, q, v, v, v) or needed.shape[0] != m or needed.shape[1] != n or result.shape[1] != n:
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    rooms, jacobian, sides = moving_rooms(ints, layout.INVERSE_COLUMNS, q), np.empty((k, n), q.dtype), np.empty((3, k), q.dtype)
    still, ones, columns = np.zeros(n, q.dtype), np.empty(n, q.dtype), np.empty((n, m), q.dtype)
    status = efforts_and_constraints(ClosedTables(tables, loops), State(q, v), still, rooms, ones, sides, jacobian)
    if status != layout.OK:
        return status
    ones_of(loops, floats, ones)
    split, first, end = split_constraints(loops, floats, jacobian, ones, unknown, True)
    if end < 0 or opened(sides[0]):
        return layout.SINGULAR
    for row in range(m):
        for j in range(n):
            columns[j, row] = needed[row, j]
    if not everywhere(take_least(split, first, end, unknown, ones, columns, np.zeros((k, m), q.dtype))):
        return layout.SINGULAR
    for row in range(m):
        for j in range(n):
            result[row, j] = columns[j, row]
    return status_of_rows(result)


@pair(VECTOR, MASK, INTS, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR)
def close_state(sizes, imposed, loops, ints, floats, numbers, stages, q, v, step, closed, told):
    """Where Newton's step leads from a state to the closures; see `closing_step`."""
    if not sizes_fit(ints, q, v, step, closed):
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    count = ints[0, layout.ELEMENTS]
    work, world = np.zeros((count, layout.FORWARD_COLUMNS), q.dtype), np.empty((count, 12), q.dtype)
    there = ClosedTables(tables, loops), State(q, v), (work, world)
    return closing_step(sizes, imposed, there, step, closed, told)


@pair(FLAG, REAL, *[VECTOR] * 2, *[INTS] * 2, *[FLOATS] * 2, INTS, *[VECTOR] * 6, *[FLOATS] * 2)
def implicit_equations(
    whole, half, begun, x, loops, ints, floats, numbers, stages, q, v, a, multipliers, efforts, error, jacobian, mass
):
    """Inverse dynamics with the wrenches of closures and gears, ``ID - J^T lambda`` (nv), and the constraints' `error` (k).

    If `whole`, J (k x nv) and the tree's `mass` matrix are written too; otherwise no block is asked for its M and S. States x
    of the first order follow (`follow`). The tables have two loads more for each rigid closure, the last ones, in
    which the closures' own wrenches are put.
    """
    law, nx = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None, x.size
    tables, state = Tables(ints, floats, numbers, stages, law), State(q, v)
    work, world = moving_rooms(ints, layout.FORWARD_COLUMNS, q)
    if whole:
        status = outward_whole(tables, state, work, world)
    else:
        status = outward_moved(tables, state, a, work, world, layout.UNKNOWN)
    if law is not None and nx > 0 and status == layout.OK:
        status = follow(half, tables, begun, x, np.zeros((nx, nx), q.dtype))
    if status != layout.OK:
        return status
    if loops[0, layout.RIGIDS] > 0:
        world_poses(ints, law, work, world)
        write_closure_wrenches(ints, floats, law, loops, world, multipliers)
    if whole:
        mass_and_efforts_of(tables, state, a, work, world, efforts, mass)
    else:
        status = efforts_from(tables, state, a, work, world, efforts)
    constraints(ClosedTables(tables, loops), state, (work, world), error, jacobian, np.empty(error.size, q.dtype))
    first, row = loops[0, layout.ROWS] - loops[0, layout.GEARS], loops[0, layout.FIRST_GEAR]
    for g in range(loops[0, layout.GEARS]):
        for term in range(row, row + ints[row, layout.GEAR_TERMS]):
            efforts[ints[term, layout.TERM_V]] -= floats[term, layout.FACTOR] * multipliers[first + g]
        row += ints[row, layout.GEAR_TERMS]
    status = min(status, min(status_of(efforts), status_of(error)))
    return min(status, min(status_of_rows(mass), status_of_rows(jacobian)))


@pair(INTS, INTS, FLOATS, FLOATS, INTS, STATE, STATE, RESULT_ROWS, RESULT_ROWS, lanes=False)
def constraint_rows(loops, ints, floats, numbers, stages, q, v, sides, jacobian):
    """The values and the bias of all constraints into the first `sides` (3 x k), and their Jacobian (k x nv)."""
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    work, world = moving_rooms(ints, layout.INVERSE_COLUMNS, q)
    still, efforts = np.zeros(v.size, q.dtype), np.empty(v.size, q.dtype)
    return efforts_and_constraints(ClosedTables(tables, loops), State(q, v), still, (work, world), efforts, sides, jacobian)
