"""The entry points of systems with rigid closures.

As in `entries`, each returns a status or nothing; `loops` says where the closures stand (see `layout`).
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.closures import constraints
from titop.solvers.kernels.composite import composite_inertias, fill_mass_matrix
from titop.solvers.kernels.constrained import choose_rows, constrained_accelerations, contradicted, rows_to_choose
from titop.solvers.kernels.kernel import entry, helper, pair
from titop.solvers.kernels.layout import (
    ELEMENTS,
    FORWARD_COLUMNS,
    HELD,
    INCONSISTENT,
    LAW_SIZE,
    OK,
    RANK,
    ROWS,
    SINGULAR,
    WRONG_SIZE,
)
from titop.solvers.kernels.observe import world_poses
from titop.solvers.kernels.signatures import FLOATS, INTS, NOTHING, VECTOR
from titop.solvers.kernels.whole import inverse_from_twists, outward_whole, sizes_fit, status_of


@helper
def _constrained(tree, loops, ints, floats, law, q, v, tau, work, world, matrix, room, sides, chosen, columns, gram, a):
    """Turn known twists (in `work`) and efforts into the accelerations of a system with rigid closures; return a status.

    `room` (2 k x nv) holds the Jacobian of the constraints, and below it what `choose_rows` leaves of it; `sides` (3 x k) their
    values, their biases, and the squares of what is left.
    """
    k, error, bias = loops[0, ROWS], sides[0], sides[1]
    for j in range(a.size):
        a[j] = 0.0
    inverse_from_twists(ints, floats, law, q, v, a, work, world, matrix[0])
    world_poses(ints, law, work, world)
    constraints(ints, floats, law, loops, q, v, work, world, error, room[:k], bias)
    r = choose_rows(room[:k], room[k:], sides[2], chosen)
    if r != loops[0, RANK] and not loops[0, HELD]:
        return SINGULAR
    for j in range(a.size):
        a[j] = tau[j] - matrix[0, j]
    matrix[:] = 0.0
    composite_inertias(ints, floats, law, work)
    fill_mass_matrix(ints, floats, law, work, matrix)
    status = constrained_accelerations(ints, tree, matrix, room[:k], bias, chosen[:r], columns, gram, a)
    if status != OK:
        return status
    if r < k and not loops[0, HELD] and contradicted(room[:k], error, bias, v, a, columns):
        return INCONSISTENT
    return status_of(a)


#: Whether the system has general blocks or interactions: see `kernel.Pair`.
LAWS = True


@pair(INTS, INTS, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, VECTOR)
def constrained_forward(tree, loops, ints, floats, numbers, stages, q, v, tau, a):
    """Forward dynamics of a system with rigid closures into `a`."""
    if not sizes_fit(ints, q, v, tau, a):
        return WRONG_SIZE
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((ints[0, ELEMENTS], 12))
    status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
    if status != OK:
        return status
    n, k, r = a.size, loops[0, ROWS], loops[0, RANK]
    space = np.empty((2 * k + n + 1, n))
    sides, chosen, columns, gram = (
        np.empty((3, k)),
        np.empty(rows_to_choose(loops, n), np.int64),
        np.empty((n, r + 1)),
        np.empty((r, r + 1)),
    )
    result = space[2 * k + n]
    status = _constrained(
        tree,
        loops,
        ints,
        floats,
        law,
        q,
        v,
        tau,
        work,
        world,
        space[2 * k : 2 * k + n],
        space[: 2 * k],
        sides,
        chosen,
        columns,
        gram,
        result,
    )
    for j in range(n):  # last: `a` may share memory with an argument
        a[j] = result[j]
    return status


@entry(INTS, INTS, FLOATS, FLOATS, VECTOR, VECTOR, FLOATS, VECTOR, FLOATS, VECTOR, result=NOTHING)
def closure_rows(loops, ints, floats, law, q, v, work, error, jacobian, bias):
    """Values, Jacobian and bias of all constraints, from known twists, laws and accelerations (no coordinate accelerated)."""
    world = np.empty((ints[0, ELEMENTS], 12))
    world_poses(ints, law, work, world)
    constraints(ints, floats, law, loops, q, v, work, world, error, jacobian, bias)
