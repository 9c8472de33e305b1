"""The entry points of systems with rigid closures.

As in `entries`, each returns a status or nothing; `loops` says where the closures stand and what gears take out (see `layout`).
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.closures import constraints
from titop.solvers.kernels.composite import composite_inertias, fill_mass_matrix
from titop.solvers.kernels.constrained import (
    choose_rows,
    constrained_accelerations,
    contradicted,
    longest_row,
    opened,
    opening,
    rows_to_choose,
)
from titop.solvers.kernels.following import (
    fold_mass_matrix,
    fold_rows,
    fold_vector,
    leaders_lengths,
    remaining,
    unfold_vector,
)
from titop.solvers.kernels.layout import (
    CONSTRAINT,
    ELEMENTS,
    FOLLOWERS,
    FORWARD_COLUMNS,
    GEARS,
    HELD,
    INCONSISTENT,
    INVERSE_COLUMNS,
    KNOWN,
    LAW_SIZE,
    OK,
    RANK,
    ROWS,
    SINGULAR,
    WRONG_SIZE,
)
from titop.solvers.kernels.observe import world_poses
from titop.solvers.kernels.pair import pair
from titop.solvers.kernels.sharing import share_efforts, to_nearest
from titop.solvers.kernels.whole import inverse_from, outward_whole, sizes_fit, status_of
from titop.solvers.native.kernel import entry, helper
from titop.solvers.native.signatures import FLAG, FLOATS, INTS, MASK, NOTHING, VECTOR


@helper
def constrained(
    tree,
    loops,
    ints,
    floats,
    numbers,
    stages,
    law,
    q,
    v,
    tau,
    work,
    world,
    matrix,
    room,
    lengths,
    sides,
    chosen,
    columns,
    gram,
    a,
):
    """Turn known twists (in `work`) and efforts into the accelerations of a system with rigid closures; return a status.

    At first `a` holds the accelerations of coordinates that follow the ground, zero elsewhere; afterwards these have none.
    Followers of gears are folded into their leaders, whose `tree` is given; the remaining m constraints have multipliers.
    `room` (k + 2 m x nv) holds the Jacobian of the constraints, below it that of the remaining ones by the leaders, and what
    `choose_rows` leaves of it; `sides` (3 x k) the constraints' values, their biases (of gears, which come last, by what is
    imposed alone), and the squares of what is left.
    """
    k, m, error, bias = loops[0, ROWS], loops[0, ROWS] - loops[0, FOLLOWERS], sides[0], sides[1]
    jacobian, folded = room[:k], room[k : k + m]
    status = inverse_from(ints, floats, numbers, stages, law, q, v, a, work, world, matrix[0], KNOWN)
    if status != OK:
        return status
    world_poses(ints, law, work, world)
    constraints(ints, floats, law, loops, q, v, work, world, error, jacobian, bias)
    for i in range(k - loops[0, GEARS], k):
        for j in range(a.size):
            bias[i] += jacobian[i, j] * a[j]
    fold_rows(loops, floats, jacobian, folded)
    leaders_lengths(loops, floats, lengths)
    r = choose_rows(folded, lengths, longest_row(jacobian), room[k + m :], sides[2], chosen)
    if r + loops[0, FOLLOWERS] != loops[0, RANK] and not loops[0, HELD]:
        return SINGULAR
    for j in range(a.size):
        a[j] = tau[j] - matrix[0, j]
    matrix[:] = 0.0
    composite_inertias(ints, floats, law, work)
    fill_mass_matrix(ints, floats, law, work, matrix)
    fold_mass_matrix(loops, floats, matrix)
    fold_vector(loops, floats, a)
    status = constrained_accelerations(ints, tree, matrix, folded, bias, chosen[:r], columns, gram, a)
    if status != OK:
        return status
    unfold_vector(loops, floats, a)
    if r < m and not loops[0, HELD]:
        alone = matrix[0]
        for j in range(a.size):
            alone[j] = columns[j, r]
        unfold_vector(loops, floats, alone)
        if contradicted(jacobian, error, bias, v, a, alone):
            return INCONSISTENT
    return status_of(a)


#: Whether the system has general blocks or interactions: see `kernel.Pair`.
LAWS = True


@pair(INTS, INTS, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, VECTOR)
def constrained_forward(tree, loops, ints, floats, numbers, stages, q, v, tau, a):
    """Forward dynamics of a system with rigid closures into `a`; `tree` is that of the coordinates that lead (`following`)."""
    if not sizes_fit(ints, q, v, tau, a):
        return WRONG_SIZE
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((ints[0, ELEMENTS], 12))
    status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
    if status != OK:
        return status
    n, k, m, r = a.size, loops[0, ROWS], loops[0, ROWS] - loops[0, FOLLOWERS], loops[0, RANK] - loops[0, FOLLOWERS]
    space, sides = np.empty((k + 2 * m + n + 2, n)), np.empty((3, k))
    chosen = np.empty(rows_to_choose(loops, n), np.int64)
    columns, gram = np.empty((n, max(r, 0) + 1)), np.empty((max(r, 0), max(r, 0) + 1))
    result = space[k + 2 * m + n]
    result[:] = 0.0
    status = constrained(
        tree,
        loops,
        ints,
        floats,
        numbers,
        stages,
        law,
        q,
        v,
        tau,
        work,
        world,
        space[k + 2 * m : k + 2 * m + n],
        space[: k + 2 * m],
        space[k + 2 * m + n + 1],
        sides,
        chosen,
        columns,
        gram,
        result,
    )
    for j in range(n):  # last: `a` may share memory with an argument
        a[j] = result[j]
    return status


@helper
def independent_rows(loops, floats, jacobian, room, lengths, squares, chosen, which, independent):
    """Write the independent rows of a Jacobian, those of gears with followers first, and their numbers; return how many."""
    k, followers = loops[0, ROWS], loops[0, FOLLOWERS]
    m = k - followers
    folded = room[:m]
    fold_rows(loops, floats, jacobian, folded)
    leaders_lengths(loops, floats, lengths)
    r = choose_rows(folded, lengths, longest_row(jacobian), room[m:], squares, chosen)
    for c in range(followers + r):
        row = loops[1 + c, CONSTRAINT] if c < followers else remaining(loops, chosen[c - followers])
        which[c] = row
        for j in range(jacobian.shape[1]):
            independent[c, j] = jacobian[row, j]
    return followers + r


@pair(INTS, MASK, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, VECTOR)
def constrained_inverse(loops, unknown, ints, floats, numbers, stages, q, v, a, tau):
    """Inverse dynamics of a system with rigid closures into `tau`: the least efforts on the coordinates `unknown`.

    Accelerations that contradict the constraints, open loops, and efforts that cannot be balanced or nearly so, are left to
    callers that look closer.
    """
    if not sizes_fit(ints, q, v, a, tau):
        return WRONG_SIZE
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, ELEMENTS], INVERSE_COLUMNS)), np.empty((ints[0, ELEMENTS], 12))
    n, k, m = a.size, loops[0, ROWS], loops[0, ROWS] - loops[0, FOLLOWERS]
    jacobian, room, rows, sides = np.empty((k, n)), np.empty((2 * m, n)), np.empty((k, n)), np.empty((3, k))
    lengths, efforts, chosen, which = np.empty(n), np.empty(n), np.empty(min(m, n), np.int64), np.empty(k, np.int64)
    status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
    if status == OK:
        status = inverse_from(ints, floats, numbers, stages, law, q, v, a, work, world, efforts, KNOWN)
    if status != OK:
        return status
    world_poses(ints, law, work, world)
    constraints(ints, floats, law, loops, q, v, work, world, sides[0], jacobian, sides[1])  # what moves ports includes `a`
    if opening(sides[0], jacobian, sides[1], v, a, k - loops[0, GEARS]):
        return INCONSISTENT
    count = independent_rows(loops, floats, jacobian, room, lengths, sides[2], chosen, which, rows)
    shares, order, squares = np.empty((count, count)), np.empty(count, np.int64), np.empty(count)
    status = share_efforts(rows[:count], unknown, shares, order, squares, longest_row(jacobian), efforts)
    for j in range(n):  # last: `tau` may share memory with an argument
        tau[j] = efforts[j]
    return status if status != OK else status_of(tau)


@pair(INTS, FLAG, VECTOR, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, MASK, VECTOR)
def nearest_motion(loops, second, sizes, ints, floats, numbers, stages, q, v, free, x):
    """Replace rates x by the nearest ones that keep loops closed and gears in mesh: velocities, or `second` ones at v.

    Those that are not `free` are held; distances are over the coordinates' `sizes`. Open loops and contradictions, or what is
    nearly one, are left to callers that look closer.
    """
    if not sizes_fit(ints, q, v, x, x):
        return WRONG_SIZE
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, ELEMENTS], INVERSE_COLUMNS)), np.empty((ints[0, ELEMENTS], 12))
    n, k, m = x.size, loops[0, ROWS], loops[0, ROWS] - loops[0, FOLLOWERS]
    jacobian, room, rows, sides = np.empty((k, n)), np.empty((2 * m, n)), np.empty((k, n)), np.empty((3, k))
    lengths, nearest, chosen, which = np.empty(n), np.zeros(n), np.empty(min(m, n), np.int64), np.empty(k, np.int64)
    status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
    if status == OK:
        status = inverse_from(ints, floats, numbers, stages, law, q, v, nearest, work, world, lengths, KNOWN)
    if status != OK:
        return status
    world_poses(ints, law, work, world)
    constraints(ints, floats, law, loops, q, v, work, world, sides[0], jacobian, sides[1])
    if opened(sides[0]):
        return SINGULAR
    count = independent_rows(loops, floats, jacobian, room, lengths, sides[2], chosen, which, rows)
    for j in range(n):
        nearest[j] = x[j]
    status = to_nearest(jacobian, rows[:count], which, sides[1], second, sizes, free, v, nearest)
    if status == OK:
        for j in range(n):
            x[j] = nearest[j]
    return status if status != OK else status_of(x)


@entry(INTS, INTS, FLOATS, FLOATS, VECTOR, VECTOR, FLOATS, VECTOR, FLOATS, VECTOR, result=NOTHING)
def closure_rows(loops, ints, floats, law, q, v, work, error, jacobian, bias):
    """Values, Jacobian and bias of all constraints, from known twists, laws and accelerations (no coordinate accelerated)."""
    world = np.empty((ints[0, ELEMENTS], 12))
    world_poses(ints, law, work, world)
    constraints(ints, floats, law, loops, q, v, work, world, error, jacobian, bias)
