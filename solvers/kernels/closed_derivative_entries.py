"""The entry points of the derivatives of systems with rigid closures and gears; as in `entries`, each returns a status.

The tables have two loads more for each rigid closure, the last ones, in which the closures' own wrenches are put.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.closure_derivatives import (
    ANSWER_COLUMNS,
    MOVED_COLUMNS,
    closure_slopes,
    write_closure_wrenches,
)
from titop.solvers.kernels.closure_entries import constrained, independent_rows
from titop.solvers.kernels.closures import constraints
from titop.solvers.kernels.constrained import longest_row, opening, rows_to_choose
from titop.solvers.kernels.derivative_entries import linearise, motions_and_slopes, sum_rows
from titop.solvers.kernels.factor import factor, solve_rows
from titop.solvers.kernels.following import fold_mass_matrix, fold_vectors, remaining, unfold_vectors
from titop.solvers.kernels.joints import element_of
from titop.solvers.kernels.layout import (
    COLUMN_COLUMNS,
    ELEMENTS,
    FOLLOWERS,
    FORWARD_COLUMNS,
    FULL_COLUMNS,
    GEARS,
    INCONSISTENT,
    KNOWN,
    LAW_SIZE,
    NV,
    OK,
    RANK,
    ROWS,
    SINGULAR,
    SLOPES_SIZE,
    SUM_COLUMNS,
    WRONG_SIZE,
)
from titop.solvers.kernels.observe import world_poses
from titop.solvers.kernels.pair import pair
from titop.solvers.kernels.sharing import add_least, make_orthogonal, multipliers_of, take_out
from titop.solvers.kernels.whole import inverse_from, outward_whole, sizes_fit, status_of_slopes
from titop.solvers.native.kernel import AllocatingHelper, helper
from titop.solvers.native.signatures import CUBE, FLOATS, INTS, VECTOR

#: Whether the system has general blocks or interactions: see `kernel.Pair`.
LAWS = True


@AllocatingHelper
def _rooms(ints, paths, loops, law):
    """Return the rooms of `_slopes_with_closures`; `law` is None for rigid systems."""
    n, slopes = ints[0, NV], law
    if law is not None:
        slopes = np.empty((1, ints[0, SLOPES_SIZE]))
    of_closures = (
        np.empty((loops[0, ROWS], ANSWER_COLUMNS)),
        np.empty((2, 36)),
        np.empty((n, MOVED_COLUMNS)),
        np.empty((1, 36)),
        np.empty((2, n), np.int64),
    )
    sums = np.empty((sum_rows(ints), SUM_COLUMNS if law is None else FULL_COLUMNS))
    return slopes, sums, np.empty((paths.shape[1], COLUMN_COLUMNS)), np.empty(n), of_closures


@helper
def _slopes_with_closures(
    ints, floats, numbers, stages, law, loops, paths, q, v, a, multipliers, work, world, rooms, changes, rows
):
    """Write the derivatives of inverse dynamics, closures acting with known multipliers, and of the constraints' `rows`.

    Poses, twists and laws are known. Returns a status.
    """
    slopes, sums, columns, efforts, of_closures = rooms
    world_poses(ints, law, work, world)
    write_closure_wrenches(ints, floats, law, loops, world, multipliers)
    status = motions_and_slopes(ints, floats, numbers, stages, law, slopes, q, v, a, work, world, sums, efforts, KNOWN)
    if status != OK:
        return status
    linearise(ints, floats, law, slopes, paths, q, v, a, work, world, sums, columns, changes)
    closure_slopes(ints, floats, law, loops, paths, multipliers, v, work, world, sums, columns, of_closures, changes[0], rows)
    return OK


@AllocatingHelper
def _accelerations_slopes(ints, tree, loops, floats, folded, chosen, changes, rows, result):
    """Turn derivatives of inverse dynamics and of the constraints into those of forward dynamics; return a status.

    With B the changes of efforts ``[-dtau/dq, -dtau/dv, 1]``, E those of ``J a + bias`` by the same: ``M^-1 (B + J^T L)``,
    ``J M^-1 J^T L = -(E + J M^-1 B)``. All this among the coordinates that lead; `folded` is J of these, of which `chosen`
    rows are independent.
    """
    n, r = result.shape[1], chosen.size
    for i in range(n):
        for j in range(n):
            result[0, i, j], result[1, i, j] = -changes[0, i, j], -changes[1, i, j]
            result[2, i, j] = 1.0 if i == j else 0.0
    for d in range(3):
        fold_vectors(loops, floats, result[d])
    matrix, columns = changes[2], np.empty((n, r))
    fold_mass_matrix(loops, floats, matrix)
    failed = factor(tree, matrix)
    if failed >= 0:
        return element_of(ints, failed)
    for c in range(r):
        for j in range(n):
            columns[j, c] = folded[chosen[c], j]
    solve_rows(tree, matrix, columns)
    gram, chain, carried = np.empty((r, r)), np.empty((2, r), np.int64), np.empty((r, n))
    for c in range(r):
        chain[0, c], chain[1, c] = c, c - 1
        for e in range(r):
            gram[c, e] = 0.0
            for j in range(n):
                gram[c, e] += folded[chosen[c], j] * columns[j, e]
    if factor(chain, gram) >= 0:
        return SINGULAR
    for d in range(3):
        solve_rows(tree, matrix, result[d])
        for c in range(r):
            for j in range(n):
                carried[c, j] = -rows[1 + d, remaining(loops, chosen[c]), j] if d < 2 else 0.0
            for i in range(n):
                if folded[chosen[c], i] != 0.0:
                    for j in range(n):
                        carried[c, j] -= folded[chosen[c], i] * result[d, i, j]
        solve_rows(chain, gram, carried)
        for i in range(n):
            for c in range(r):
                for j in range(n):
                    result[d, i, j] += columns[i, c] * carried[c, j]
        unfold_vectors(loops, floats, result[d])
    return OK


@pair(INTS, INTS, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, CUBE, CUBE)
def inverse_slopes_with_closures(paths, loops, ints, floats, numbers, stages, q, v, a, multipliers, changes, rows):
    """Derivatives (3, nv, nv) of inverse dynamics of the tree, closures acting with constant `multipliers` (k).

    `rows` (4, k, nv) receives the constraints' Jacobian J and the derivatives of ``J a + bias`` by q and v and of ``J v`` by q.
    """
    if not sizes_fit(ints, q, v, a, a):
        return WRONG_SIZE
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((ints[0, ELEMENTS], 12))
    loaded, rooms = floats.copy(), _rooms(ints, paths, loops, law)
    status = outward_whole(ints, loaded, numbers, stages, law, q, v, work, world)
    if status != OK:
        return status
    status = _slopes_with_closures(
        ints, loaded, numbers, stages, law, loops, paths, q, v, a, multipliers, work, world, rooms, changes, rows
    )
    return status if status != OK else min(status_of_slopes(changes), status_of_slopes(rows))


@pair(INTS, INTS, INTS, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, CUBE)
def constrained_derivatives(tree, paths, loops, ints, floats, numbers, stages, q, v, tau, result):
    """Derivatives (3, nv, nv) of `constrained_forward` by q, v and tau."""
    n = ints[0, NV]
    if not sizes_fit(ints, q, v, tau, tau) or result.shape[0] != 3 or result.shape[1] != n or result.shape[2] != n:
        return WRONG_SIZE
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((ints[0, ELEMENTS], 12))
    loaded, rooms = floats.copy(), _rooms(ints, paths, loops, law)
    status = outward_whole(ints, loaded, numbers, stages, law, q, v, work, world)
    if status != OK:
        return status
    k, m, r = loops[0, ROWS], loops[0, ROWS] - loops[0, FOLLOWERS], max(loops[0, RANK] - loops[0, FOLLOWERS], 0)
    room, sides, lengths, a = np.empty((k + 2 * m, n)), np.empty((3, k)), np.empty(n), np.zeros(n)
    chosen = np.empty(rows_to_choose(loops, n), np.int64)
    changes, rows, columns, gram = np.empty((3, n, n)), np.empty((4, k, n)), np.empty((n, r + 1)), np.empty((r, r + 1))
    status = constrained(
        tree,
        loops,
        ints,
        loaded,
        numbers,
        stages,
        law,
        q,
        v,
        tau,
        work,
        world,
        changes[0],
        room,
        lengths,
        sides,
        chosen,
        columns,
        gram,
        a,
    )
    if status != OK:
        return status
    multipliers = np.zeros(k)
    for c in range(r):
        multipliers[remaining(loops, chosen[c])] = gram[c, r]
    if law is not None:  # forward dynamics have used up the laws
        status = outward_whole(ints, loaded, numbers, stages, law, q, v, work, world)
        if status != OK:
            return status
    status = _slopes_with_closures(
        ints, loaded, numbers, stages, law, loops, paths, q, v, a, multipliers, work, world, rooms, changes, rows
    )
    if status != OK:
        return status
    status = _accelerations_slopes(ints, tree, loops, loaded, room[k : k + m], chosen[:r], changes, rows, result)
    return status if status != OK else status_of_slopes(result)


@pair(INTS, INTS, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, CUBE)
def least_inverse_derivatives(paths, loops, ints, floats, numbers, stages, q, v, a, driven, result):
    """Derivatives (3, nv, nv) of the least efforts beside constant ones, `driven`, by q, v and a.

    With P the projection on what the constraints leave, ``w = P (ID - driven)``: ``P (dID - d(J^T lambda)) - J^+ dJ w``.
    """
    n = ints[0, NV]
    if not sizes_fit(ints, q, v, a, driven) or result.shape[0] != 3 or result.shape[1] != n or result.shape[2] != n:
        return WRONG_SIZE
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((ints[0, ELEMENTS], 12))
    loaded, rooms = floats.copy(), _rooms(ints, paths, loops, law)
    k, m = loops[0, ROWS], loops[0, ROWS] - loops[0, FOLLOWERS]
    jacobian, room, rows, sides = np.empty((k, n)), np.empty((2 * m, n)), np.empty((k, n)), np.empty((3, k))
    least, chosen, which = np.empty(n), np.empty(min(m, n), np.int64), np.empty(k, np.int64)
    status = outward_whole(ints, loaded, numbers, stages, law, q, v, work, world)
    if status == OK:
        status = inverse_from(ints, loaded, numbers, stages, law, q, v, a, work, world, least, KNOWN)
    if status != OK:
        return status
    world_poses(ints, law, work, world)
    constraints(ints, loaded, law, loops, q, v, work, world, sides[0], jacobian, sides[1])  # what moves ports includes `a`
    if opening(sides[0], jacobian, sides[1], v, a, k - loops[0, GEARS]):
        return INCONSISTENT
    count = independent_rows(loops, loaded, jacobian, room, np.empty(n), sides[2], chosen, which, rows)
    if count != loops[0, RANK]:
        return SINGULAR
    rows, every = rows[:count], np.ones(n, np.bool_)
    shares, order, squares = np.empty((count, count)), np.arange(count), np.empty(count)
    if make_orthogonal(rows, every, True, shares, order, squares, 0, longest_row(jacobian)) < count:
        return SINGULAR
    for j in range(n):
        least[j] -= driven[j]
    own, multipliers, nothing = np.empty(count), np.zeros(k), np.zeros(n)
    multipliers_of(shares, order, squares, rows, every, least, own)
    take_out(rows, every, True, order, squares, 0, count, least)
    turning, slopes, changes = np.empty((4, k, n)), np.empty((4, k, n)), np.empty((3, n, n))
    status = outward_whole(ints, loaded, numbers, stages, law, q, least, work, world)
    if status == OK:
        status = _slopes_with_closures(
            ints,
            loaded,
            numbers,
            stages,
            law,
            loops,
            paths,
            q,
            least,
            nothing,
            multipliers,
            work,
            world,
            rooms,
            changes,
            turning,
        )
    if status == OK:
        status = outward_whole(ints, loaded, numbers, stages, law, q, v, work, world)
    if status != OK:
        return status
    for c in range(count):
        multipliers[which[c]] = own[c]
    status = _slopes_with_closures(
        ints, loaded, numbers, stages, law, loops, paths, q, v, a, multipliers, work, world, rooms, changes, slopes
    )
    if status != OK:
        return status
    for j in range(n):
        for d in range(3):
            for i in range(n):
                least[i] = changes[d, i, j]
            take_out(rows, every, True, order, squares, 0, count, least)
            if d == 0:
                for c in range(count):
                    own[c] = -turning[3, which[c], j]
                add_least(rows, shares, order, squares, count, own, least)
            for i in range(n):
                result[d, i, j] = least[i]
    return status_of_slopes(result)
