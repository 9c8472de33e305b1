"""The entry points of the derivatives; as in `dynamics_entries`, each returns a status or nothing.

Of systems with rigid closures and gears the tables have two loads more for each rigid closure, the last ones, in which the
closures' own wrenches are put.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import everywhere
from titop.solvers.kernels.closures.closed_derivatives import (
    accelerations_slopes,
    own_loads,
    share_slopes,
    slopes_rooms,
    slopes_with_closures,
    turning_rows,
)
from titop.solvers.kernels.closures.closed_passes import constrained, constrained_rooms, efforts_and_constraints
from titop.solvers.kernels.closures.constraint_rows import opening
from titop.solvers.kernels.closures.following import number_rows, ones_of
from titop.solvers.kernels.closures.least_norm import complete_motion, split_constraints, take_least, write_multipliers
from titop.solvers.kernels.derivatives.tree_derivatives import port_slopes
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.linearise import (
    linearise,
    linearise_blocks,
    linearised_forward,
    linearised_rooms,
    sum_rows,
)
from titop.solvers.kernels.equations.whole_passes import sizes_fit, status_of_rows, status_of_slopes, world_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import ClosedTables, Rooms, State, Tables
from titop.solvers.kernels.interface.stages import put_entry_at
from titop.solvers.kernels.spatial.algebra import carry_twist, plus, scaled, six
from titop.solvers.kernels.tree.factor import factor, solve_rows
from titop.solvers.kernels.tree.joints import element_of
from titop.solvers.kernels.tree.kinematics import subtract_brackets
from titop.solvers.kernels.tree.subtree_sums import compose
from titop.solvers.native.kernel import helper, shared
from titop.solvers.native.signatures import CUBE, FLOATS, INTS, MASK, RESULT, RESULT_CUBE, RESULT_ROWS, STATE, VECTOR

#: Whether the system has general blocks or interactions: see `pair.Pair`.
LAWS = True


@helper
def _result_fits(ints, result):
    return result.shape[0] == 3 and result.shape[1] == ints[0, layout.NV] and result.shape[2] == ints[0, layout.NV]


@helper
def _to_forward(ints, tree, changes, result):
    """Turn derivatives of inverse into those of forward dynamics, ``M^-1 [-dtau/dq, -dtau/dv, 1]``; return a status."""
    n = tree.shape[1]
    for i in range(n):
        for j in range(n):
            result[0, i, j], result[1, i, j] = -changes[0, i, j], -changes[1, i, j]
            result[2, i, j] = 1.0 if i == j else 0.0
    failed = factor(tree, changes[2])
    if failed >= 0:
        return element_of(ints, failed)
    for k in range(3):
        solve_rows(tree, changes[2], result[k])
    return layout.OK


@pair(INTS, FLOATS, FLOATS, INTS, INTS, STATE, STATE, STATE, RESULT_CUBE, whole=True)
def inverse_derivatives(ints, floats, numbers, stages, paths, q, v, a, result):
    """Derivatives (3, nv, nv) of inverse dynamics by q, v and a."""
    if not sizes_fit(ints, q, v, a, a) or not _result_fits(ints, result):
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    slopes = np.empty((1, ints[0, layout.SLOPES_SIZE]), q.dtype) if LAWS else None
    work = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS), q.dtype)
    world = np.empty((world_rows(ints), 12), q.dtype)
    sums = np.empty((sum_rows(ints), layout.FULL_COLUMNS if LAWS else layout.SUM_COLUMNS), q.dtype)
    rooms, state = Rooms(work, world, sums, np.empty((paths.shape[1], layout.COLUMN_COLUMNS), q.dtype)), State(q, v)
    status = linearise_blocks(tables, slopes, state, a, rooms, np.empty(a.size, q.dtype), layout.UNKNOWN)
    if status != layout.OK:
        return status
    linearise(tables, slopes, paths, state, rooms, result)
    return status_of_slopes(result)


@helper
def _forward_slopes(tables, paths, state, tau, rooms, a):
    """Accelerations into `a`, derivatives of inverse dynamics there into the last of `rooms`; return a status.

    `rooms` are those of `linearised_forward` but for efforts, and room (3, nv, nv).
    """
    spare, slopes, multi, passes, changes = rooms
    status = linearised_forward(tables, state, tau, (spare, slopes, multi, passes, changes[0, 0]), a)
    if status == layout.OK:
        kept = Tables(tables.ints, tables.floats, tables.numbers, tables.stages, spare)
        linearise(kept, slopes, paths, state, passes, changes)
    return status


@shared
def _forward_rooms(ints, paths, law, q):
    """Return the rooms of `_forward_slopes` for a state q; `law` is None for rigid systems."""
    n, wide = ints[0, layout.NV], layout.SUM_COLUMNS if law is None else layout.FULL_COLUMNS
    return (*linearised_rooms(ints, paths.shape[1], wide, law, q), np.empty((3, n, n), q.dtype))


@pair(INTS, FLOATS, FLOATS, INTS, INTS, INTS, STATE, STATE, STATE, RESULT_CUBE, whole=True)
def forward_derivatives(ints, floats, numbers, stages, tree, paths, q, v, tau, result):
    """Derivatives (3, nv, nv) of forward dynamics by q, v and tau."""
    if not sizes_fit(ints, q, v, tau, tau) or not _result_fits(ints, result):
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    rooms = _forward_rooms(ints, paths, tables.law, q)
    a = np.empty(ints[0, layout.NV], q.dtype)
    status = _forward_slopes(tables, paths, State(q, v), tau, rooms, a)
    if status == layout.OK:
        status = _to_forward(ints, tree, rooms[-1], result)
    return status if status != layout.OK else status_of_slopes(result)


@helper
def _write_matrices(ints, v, slopes, sign, A, B):
    """Write ``A`` and ``B`` for accelerations with slopes, times a sign, by q and v, and as efforts are."""
    n = ints[0, layout.NV]
    for i in range(n):
        for j in range(n):
            A[i, j], A[i, n + j], B[i, j], B[n + i, j] = 0.0, 0.0, 0.0, 0.0
            A[n + i, j], A[n + i, n + j] = sign * slopes[0, i, j], sign * slopes[1, i, j]
        A[i, n + i] = B[n + i, i] = 1.0
    subtract_brackets(ints, v, A)


@pair(INTS, FLOATS, FLOATS, INTS, INTS, INTS, STATE, STATE, STATE, RESULT, RESULT_ROWS, RESULT_ROWS)
def linear_matrices(ints, floats, numbers, stages, tree, paths, q, v, tau, a, A, B):
    """Accelerations, and ``A`` (2nv x 2nv) and ``B`` (2nv x nv) of the linearisation by q, v and tau."""
    n = ints[0, layout.NV]
    if not sizes_fit(ints, q, v, tau, a) or A.size != 4 * n * n or B.size != 2 * n * n:
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    rooms = _forward_rooms(ints, paths, tables.law, q)
    status = _forward_slopes(tables, paths, State(q, v), tau, rooms, a)
    if status != layout.OK:
        return status
    _write_matrices(ints, v, rooms[-1], -1.0, A, B)
    failed = factor(tree, rooms[-1][2])
    if failed >= 0:
        return element_of(ints, failed)
    solve_rows(tree, rooms[-1][2], A[n:])
    solve_rows(tree, rooms[-1][2], B[n:])
    return min(status_of_rows(A[n:]), status_of_rows(B[n:]))


@pair(INTS, FLOATS, FLOATS, INTS, INTS, INTS, FLOATS, STATE, STATE, STATE, RESULT_CUBE)
def motion_derivatives(ints, floats, numbers, stages, paths, places, frames, q, v, a, result):
    """Derivatives (6, nv) of ports' motions, four for each port: see `port_slopes`.

    `places` (ports, 3): each port's element, the row of the coordinate nearest to it (-1 without), and its own row among
    `sums`; or -1, and its pose in its element in `frames` (ports, 12).
    """
    count, n = places.shape[0], ints[0, layout.NV]
    if not sizes_fit(ints, q, v, a, a) or result.shape[0] != 4 * count or result.shape[1] != 6 or result.shape[2] != n:
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    slopes = np.empty((1, ints[0, layout.SLOPES_SIZE]), q.dtype) if LAWS else None
    work = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS), q.dtype)
    world = np.empty((world_rows(ints), 12), q.dtype)
    sums = np.empty((sum_rows(ints), layout.SUM_COLUMNS), q.dtype)
    columns, frame = np.empty((paths.shape[1], layout.COLUMN_COLUMNS), q.dtype), np.empty((1, 12), q.dtype)
    rooms, efforts = Rooms(work, world, sums, columns), np.empty(n, q.dtype)
    status = linearise_blocks(tables, slopes, State(q, v), a, rooms, efforts, layout.UNKNOWN)
    if status != layout.OK:
        return status
    result[:] = 0.0
    for p in range(count):
        i, last, row = places[p, 0], places[p, 1], places[p, 2]
        twist, own = carry_twist(sums, i, layout.BASE, six(work, i, layout.TWIST)), ints[i, layout.OWN]
        if row < 0:
            compose(sums, i, frames, p, 0, frame, 0)
        else:
            for c in range(12):
                frame[0, c] = sums[row, layout.BASE + c]
            for j in range(own):
                rate = v[ints[i, layout.OWN_V] + j]
                twist = plus(twist, scaled(rate, six(columns, last + 1 - own + j, layout.COLUMN_S)))
        port_slopes(paths, columns, last, frame, twist, result[4 * p : 4 * p + 4])
    return status_of_slopes(result)


@pair(INTS, INTS, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, CUBE, CUBE)
def inverse_slopes_with_closures(paths, loops, ints, floats, numbers, stages, q, v, a, multipliers, changes, rows):
    """Derivatives (3, nv, nv) of inverse dynamics of the tree, closures acting with constant `multipliers` (k).

    `rows` (4, k, nv) receives the constraints' Jacobian J and the derivatives of ``J a + bias`` by q and v and of ``J v`` by q.
    """
    if not sizes_fit(ints, q, v, a, a):
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None
    rooms, loaded = slopes_rooms(ints, paths, loops, law, q), own_loads(floats, q)
    system, motion = ClosedTables(Tables(ints, loaded, numbers, stages, law), loops), (State(q, v), a, multipliers)
    status = slopes_with_closures(system, paths, motion, rooms, layout.UNKNOWN, False, changes, rows)
    return status if status != layout.OK else min(status_of_slopes(changes), status_of_slopes(rows))


@shared
def _constrained_slopes(tree, paths, system, state, tau, a, result):
    """Accelerations into `a`, derivatives (3, nv, nv) of constrained forward dynamics into `result`; return a status."""
    ((ints, floats, numbers, stages, law), loops), q = system, state.q
    n, spare = ints[0, layout.NV], law
    forward, rooms, loaded = constrained_rooms(loops, n, q), slopes_rooms(ints, paths, loops, law, q), own_loads(floats, q)
    passes = rooms[0].work, rooms[0].world, forward
    k, changes = loops[0, layout.ROWS], np.empty((3, n, n), q.dtype)
    rows, multipliers = np.empty((4, k, n), q.dtype), np.zeros(k, q.dtype)
    if law is not None:
        spare = np.empty(law.shape, q.dtype)
    own = ClosedTables(Tables(ints, loaded, numbers, stages, law), loops)
    status = constrained(own, tree, spare, state, tau, passes, None, a)
    if status != layout.OK:
        return status
    chosen, gram = forward[4], forward[6]
    r, followers = gram.shape[0], loops[0, layout.FOLLOWERS]
    which = np.empty(followers + r, q.dtype)
    number_rows(loops, chosen, which)
    for c in range(r):
        put_entry_at(multipliers, 0, which[followers + c], gram[c, r])
    before, motion = ClosedTables(Tables(ints, loaded, numbers, stages, spare), loops), (state, a, multipliers)
    status = slopes_with_closures(before, paths, motion, rooms, layout.KNOWN, False, changes, rows)
    if status != layout.OK:
        return status
    accelerations_slopes(loops, loaded, None, tree, forward, changes, rows, result)
    return layout.OK


@pair(INTS, INTS, INTS, INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, RESULT_CUBE)
def constrained_derivatives(tree, paths, loops, ints, floats, numbers, stages, q, v, tau, result):
    """Derivatives (3, nv, nv) of `constrained_forward` by q, v and tau."""
    if not sizes_fit(ints, q, v, tau, tau) or not _result_fits(ints, result):
        return layout.WRONG_SIZE
    law, a = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None, np.empty(ints[0, layout.NV], q.dtype)
    system = ClosedTables(Tables(ints, floats, numbers, stages, law), loops)
    status = _constrained_slopes(tree, paths, system, State(q, v), tau, a, result)
    return status if status != layout.OK else status_of_slopes(result)


@pair(INTS, INTS, INTS, INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, RESULT, RESULT_ROWS, RESULT_ROWS)
def constrained_linear_matrices(tree, paths, loops, ints, floats, numbers, stages, q, v, tau, a, A, B):
    """The same with closures and gears as `linear_matrices`."""
    n = ints[0, layout.NV]
    if not sizes_fit(ints, q, v, tau, a) or A.size != 4 * n * n or B.size != 2 * n * n:
        return layout.WRONG_SIZE
    law, slopes = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None, np.empty((3, n, n), q.dtype)
    system = ClosedTables(Tables(ints, floats, numbers, stages, law), loops)
    status = _constrained_slopes(tree, paths, system, State(q, v), tau, a, slopes)
    if status != layout.OK:
        return status
    _write_matrices(ints, v, slopes, 1.0, A, B)
    for i in range(n):
        for j in range(n):
            B[n + i, j] = slopes[2, i, j]
    return status_of_slopes(slopes)


@pair(INTS, INTS, MASK, INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, STATE, RESULT_CUBE)
def shared_derivatives(paths, loops, unknown, ints, floats, numbers, stages, driven, q, v, a, result):
    """Derivatives (3, nv, nv) of `constrained_inverse` by q, v and a, `driven` efforts being constant.

    With w the efforts, completed to a motion, ``w + J^T lambda = ID - driven`` where they are `unknown`, and ``J w = 0``.
    """
    n = ints[0, layout.NV]
    if not sizes_fit(ints, q, v, a, driven) or not _result_fits(ints, result):
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None
    rooms, loaded, k = slopes_rooms(ints, paths, loops, law, q), own_loads(floats, q), loops[0, layout.ROWS]
    jacobian, sides = np.empty((k, n), q.dtype), np.empty((3, k), q.dtype)
    w, multipliers = np.empty(n, q.dtype), np.empty(k, q.dtype)
    system, state = ClosedTables(Tables(ints, loaded, numbers, stages, law), loops), State(q, v)
    status = efforts_and_constraints(system, state, a, (rooms[0].work, rooms[0].world), w, sides, jacobian)
    if status != layout.OK:
        return status
    if opening(sides[0], jacobian, sides[1], v, a, k - loops[0, layout.GEARS]):
        return layout.INCONSISTENT
    needed, carried, ones = np.empty((n, 1), q.dtype), np.zeros((k, 1), q.dtype), np.empty(n, q.dtype)
    ones_of(loops, loaded, ones)
    for j in range(n):
        needed[j, 0] = w[j] - driven[j]
    split, first, end = split_constraints(loops, loaded, jacobian, ones, unknown, True)
    if end != loops[0, layout.WHOLE_RANK]:
        return layout.SINGULAR
    if not everywhere(take_least(split, first, end, unknown, ones, needed, carried)):
        return layout.SINGULAR
    rows, turning = np.empty((4, k, n), q.dtype), np.empty((0, n), q.dtype)
    write_multipliers(split, end, carried, multipliers)
    if end > first:
        complete_motion(split, first, unknown, ones, needed, w)
        turning, status = turning_rows(system, paths, q, w, rooms, result, rows)
    if status == layout.OK:
        status = slopes_with_closures(system, paths, (state, a, multipliers), rooms, layout.UNKNOWN, False, result, rows)
    if status != layout.OK:
        return status
    for d in range(3):
        share_slopes(split, first, end, unknown, ones, turning if d == 0 else turning[:0], result[d])
    return status_of_slopes(result)
