"""Whole passes of systems with rigid closures: from a state to efforts and constraints, and to accelerations.

``M a + h = tau + J^T lambda`` and ``J a = -bias``: with rows I of J that are independent,
``J_I M^-1 J_I^T lambda = -(bias_I + J_I M^-1 (tau - h))``. Gears have been eliminated before, as far as they take a coordinate
out (`following`).

Where closures hold coordinates without inertia, M is singular. With a fictitious inertia w of the constraints, in its place
``M + w J_I^T J_I``, accelerations are the same, since ``J_I a`` is known; the multipliers lack ``w bias_I``.

Some motion may be imposed. Then accelerations are sought beside those that begin with the imposed ones, and with what follows
these by gears: the coordinates keep their places, with zeros in forces and constraints and ones in the mass matrix.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import everywhere
from titop.solvers.kernels.closures.constraint_rows import constraints, contradicted, opened
from titop.solvers.kernels.closures.following import fold_mass_matrix, fold_rows, fold_vector, leaders_lengths, unfold_vector
from titop.solvers.kernels.closures.independent_rows import choose_rows, longest_row, rows_to_choose
from titop.solvers.kernels.equations.whole_passes import inverse_from, mass_and_efforts_of, outward_whole, status_of
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import entry_at, part_of
from titop.solvers.kernels.spatial.algebra import copy
from titop.solvers.kernels.tree.factor import factor, solve_rows, solve_symmetric
from titop.solvers.kernels.tree.joints import element_of
from titop.solvers.kernels.tree.kinematics import world_poses
from titop.solvers.native.kernel import helper, shared


@helper
def efforts_and_constraints(system, state, a, rooms, efforts, sides, jacobian):
    """From a motion to the tree's efforts, and the constraints' values, second derivatives and Jacobian; return a status.

    Accelerations enter the second derivatives, in `sides` (3 x k) behind the values, but those of gears, which are zero.
    """
    status = outward_whole(system.tables, state, *rooms)
    if status == layout.OK:
        status = inverse_from(system.tables, state, a, *rooms, efforts, layout.KNOWN)
    if status == layout.OK:
        constraints_at(system, state, rooms, sides, jacobian)
    return status


@helper
def constraints_at(system, state, rooms, sides, jacobian):
    """Write the constraints' values, second derivatives and Jacobian, from known twists, laws and accelerations."""
    if system.loops[0, layout.RIGIDS] > 0:
        world_poses(system.tables.ints, system.tables.law, *rooms)
    constraints(system, state, rooms, sides[0], jacobian, sides[1])


@shared
def constrained(system, tree, spare, state, tau, rooms, hybrid, a):
    """From a state and efforts to the accelerations of a system with rigid closures; return a status.

    Followers of gears are folded into their leaders, whose `tree` is given; the remaining m constraints have multipliers.
    `rooms` are `work`, `world` and what `constrained_rooms` returns. `spare`, unless None, keeps the laws, of which M becomes
    composite.

    Of `hybrid` dynamics it says where motion is imposed, which `a` then gives, and where the mass matrix and the efforts needed
    in all go to; it is None in forward dynamics.
    """
    (tables, loops), (ints, floats, _, _, law) = system, system.tables
    work, world, (matrix, room, sides, vectors, chosen, columns, gram) = rooms
    k, m, n, error, bias = loops[0, layout.ROWS], loops[0, layout.ROWS] - loops[0, layout.FOLLOWERS], a.size, sides[0], sides[1]
    jacobian, folded, lengths, start = room[:k], room[k:], vectors[0], vectors[1]
    for j in range(n):
        start[j] = 0.0
    if hybrid is not None:
        imposed, mass, efforts = hybrid
        for j in range(n):
            if imposed[j]:
                start[j] = a[j]
        unfold_vector(loops, floats, start)  # what follows imposed motions
    status = outward_whole(tables, state, work, world)
    if status != layout.OK:
        return status
    if spare is not None:
        for j in range(law.size):
            spare[0, j] = law[0, j]
    mass_and_efforts_of(tables, state, start, work, world, a, matrix)
    r, weight = 0, 0.0
    if m > 0 or hybrid is not None:
        constraints_at(system, state, (work, world), sides, jacobian)
        fold_rows(loops, floats, jacobian, folded)
        leaders_lengths(loops, floats, lengths)
        for j in range(n if loops[0, layout.STIFFENED] else 0):
            weight = max(weight, matrix[j, j] / (lengths[j] * lengths[j]))
        if hybrid is None:
            largest = longest_row(loops, floats, jacobian, None)
        else:
            largest = longest_row(loops, floats, jacobian, imposed)
            add_gears(loops, jacobian, start, bias)
            for c in range(m):
                clear_where(imposed, folded[c])
        r = choose_rows(folded, lengths, largest, sides[2], chosen)
    if r < 0 or (r + loops[0, layout.FOLLOWERS] != loops[0, layout.RANK] and not loops[0, layout.HELD]):
        return layout.SINGULAR
    if hybrid is not None:
        copy(a, efforts)
    for j in range(n):
        a[j] = tau[j] - a[j]
    if hybrid is not None:
        for i in range(n):
            for j in range(n):
                mass[i, j] = matrix[i, j]
    fold_mass_matrix(loops, floats, matrix)
    fold_vector(loops, floats, a)
    if hybrid is not None:
        clear_where(imposed, a)
        hold(imposed, matrix)
    status = constrained_accelerations(ints, tree, (matrix, columns, gram), folded, bias, chosen[:r], weight, a)
    if status != layout.OK:
        return status
    unfold_vector(loops, floats, a)
    if not loops[0, layout.HELD] and (r < m or hybrid is not None):
        if hybrid is not None and opened(error):
            return layout.INCONSISTENT
        alone = lengths
        for j in range(n):
            alone[j] = columns[j, r]
        unfold_vector(loops, floats, alone)
        if contradicted(jacobian, error, bias, state.v, a, alone):
            return layout.INCONSISTENT
    if hybrid is not None:
        for i in range(n):
            for j in range(n):
                efforts[i] += mass[i, j] * a[j]
        for j in range(n):
            a[j] += start[j]
    return status_of(a)


@helper
def constrained_accelerations(ints, tree, factors, jacobian, bias, chosen, weight, a):
    """Replace the efforts less nonlinear effects in `a` by the accelerations; return a status.

    `chosen` are the independent rows of the Jacobian, `weight` is their fictitious inertia, if any. In `factors` M is
    factored; ``M^-1 J^T`` goes into the first columns of the second (nv x r + 1), the triangle of ``J M^-1 J^T`` and, behind
    it, the multipliers into the third (r x r + 1).
    """
    matrix, columns, gram = factors
    n, r = ints[0, layout.NV], chosen.size
    for k in range(n):
        for c in range(r):
            columns[k, c] = entry_at(jacobian, k, chosen[c] * n)
        columns[k, r] = a[k]
    if not everywhere(weight == 0.0):
        for c in range(r):
            for i in range(n):
                for j in range(n):
                    share = weight * entry_at(jacobian, i, chosen[c] * n)
                    matrix[i, j] += share * entry_at(jacobian, j, chosen[c] * n)
    failed = factor(tree, matrix)
    if failed >= 0:
        return element_of(ints, failed)
    solve_rows(tree, matrix, columns)
    for c in range(r):
        row = chosen[c]
        start, end = span_of(jacobian, row)
        gram[c] = 0.0
        for k in range(start, end):
            entry = entry_at(jacobian, k, row * n)
            for d in range(r + 1):
                gram[c, d] += entry * columns[k, d]
        gram[c, r] = -(gram[c, r] + entry_at(bias, 0, row))
    if not solve_symmetric(gram, r):
        return layout.SINGULAR
    for k in range(n):
        total = columns[k, r]
        for c in range(r):
            total += columns[k, c] * gram[c, r]
        a[k] = total
    for c in range(r):
        gram[c, r] += weight * entry_at(bias, 0, chosen[c])
    return layout.OK


@helper
def span_of(matrix, row):
    """Return where the entries of a row that are not zero begin and end."""
    n = matrix.shape[1]
    start, end = 0, n
    while start < end and everywhere(entry_at(matrix, start, row * n) == 0.0):
        start += 1
    while end > start and everywhere(entry_at(matrix, end - 1, row * n) == 0.0):
        end -= 1
    return start, end


@helper
def add_gears(loops, jacobian, a, second):
    """Add accelerations to the gears' second derivatives, the last ones."""
    k = second.size
    for i in range(k - loops[0, layout.GEARS], k):
        for j in range(a.size):
            second[i] += jacobian[i, j] * a[j]


@helper
def clear_where(imposed, x):
    """Put zeros where the motion is imposed."""
    for j in range(x.size):
        if imposed[j]:
            x[j] = 0.0


@helper
def hold(imposed, matrix):
    """Let imposed coordinates stand still in a mass matrix: zeros, and ones on the diagonal."""
    for i in range(imposed.size):
        if imposed[i]:
            for j in range(imposed.size):
                matrix[i, j] = 0.0
                matrix[j, i] = 0.0
            matrix[i, i] = 1.0


@shared
def constrained_rooms(loops, n, q):
    """Return the rooms of `constrained`, beside `work` and `world`.

    They are room for M (nv x nv); the Jacobian of the constraints, and below it that of the remaining ones by the leaders
    (k + m x nv); the constraints' values, their second derivatives but for what is sought, and the squares of what
    `choose_rows` leaves (3 x k); two vectors; the numbers of chosen rows; and what `constrained_accelerations` needs, which
    leaves the factors there.
    """
    k, followers, choices = loops[0, layout.ROWS], loops[0, layout.FOLLOWERS], rows_to_choose(loops, n)
    rows, r = 2 * k - followers, max(loops[0, layout.RANK] - followers, 0)
    second = n * n
    third = second + rows * n
    fourth = third + 3 * k
    fifth = fourth + 2 * n
    sixth = fifth + choices
    last = sixth + n * (r + 1)
    whole = np.empty(last + r * (r + 1), q.dtype)
    matrix, jacobians, sides = part_of(whole, 0, (n, n)), part_of(whole, second, (rows, n)), part_of(whole, third, (3, k))
    vectors, chosen = part_of(whole, fourth, (2, n)), part_of(whole, fifth, (choices,))
    return matrix, jacobians, sides, vectors, chosen, part_of(whole, sixth, (n, r + 1)), part_of(whole, last, (r, r + 1))
