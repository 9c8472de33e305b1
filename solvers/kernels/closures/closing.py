"""States on the closures next to those that integrators reach, and rates next to others that keep loops closed."""

from __future__ import annotations

import math

import numpy as np

from titop.blocks.basics.tolerances import BALANCED, CANCELLED
from titop.solvers.kernels.closures.closed_passes import clear_where
from titop.solvers.kernels.closures.constraint_rows import constraints
from titop.solvers.kernels.closures.following import fold_rows, leaders_lengths, number_rows
from titop.solvers.kernels.closures.independent_rows import choose_rows, longest_row
from titop.solvers.kernels.closures.least_norm import add_least, split_rows
from titop.solvers.kernels.equations.whole_passes import outward_whole, status_of
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import entry_at
from titop.solvers.kernels.spatial.moving import integrate_group, turns
from titop.solvers.kernels.tree.kinematics import world_poses
from titop.solvers.native.kernel import helper, shared

#: Newton's steps from the end of an integrator's step; where these are not enough others look closer.
_STEPS = 10


@shared
def last_of(folded, lengths, largest, squares, before):
    """Return what is left of the row that follows those `before` it, over the largest (`independence`); `before` is room."""
    first = 0.0
    for i in range(folded.shape[0]):
        square = 0.0
        for j in range(folded.shape[1]):
            square += (folded[i, j] / lengths[j]) ** 2
        first = max(first, square)
    choose_rows(folded, lengths, largest, squares, before)
    left = 0.0
    for i in range(folded.shape[0]):
        left = max(left, squares[i])
    return math.sqrt(left / max(largest, first))


@shared
def closing_step(sizes, imposed, there, step, closed, told):
    """Write the step (nv) that closes the loops at q to first order, and the velocity `closed` next to v that keeps them so.

    Coordinates that are `imposed` are held; distances are over the coordinates' `sizes`. `told` receives the largest error,
    what is left of the last constraint that acts beside the others, over the largest, and how many are independent. `there`
    are the system, the state, and `work` and `world`. Return a status.
    """
    system, state, (work, world) = there
    (tables, loops), v = system, state.v
    ints, floats = tables.ints, tables.floats
    status = outward_whole(tables, state, work, world)
    if status != layout.OK:
        return status
    n, k, followers = v.size, loops[0, layout.ROWS], loops[0, layout.FOLLOWERS]
    m, more = k - followers, max(0, min(loops[0, layout.RANK], k, n) - followers)
    jacobian, folded, sides = np.empty((k, n)), np.empty((m, n)), np.empty((3, k))
    lengths, chosen, which = np.empty(n), np.empty(min(m, n)), np.empty(k)
    error = sides[0]
    world_poses(ints, tables.law, work, world)
    constraints(system, state, (work, world), error, jacobian, sides[1])
    told[0] = 0.0
    for c in range(k):
        told[0] = max(told[0], abs(error[c]))
    fold_rows(loops, floats, jacobian, folded)
    leaders_lengths(loops, floats, lengths)
    for c in range(m):
        clear_where(imposed, folded[c])
    largest = longest_row(loops, floats, jacobian, imposed)
    independent = followers + choose_rows(folded, lengths, largest, sides[2], chosen)
    count = min(independent, followers + more)
    number_rows(loops, chosen, which[:count])
    told[1], told[2] = 1.0, float(independent)
    if count < followers + more:
        told[1] = 0.0
    elif more > 0:
        told[1] = last_of(folded, lengths, largest, sides[2], chosen[: more - 1])
    split, taken, _ = split_rows(jacobian, which[:count], sizes, imposed, False)
    if taken < 0:
        return layout.SINGULAR
    least = np.zeros((n, 1))
    if loops[0, layout.PLACES] == k:
        _add_closing(split, taken, error, least)
    else:  # constraints of velocities alone do not guide the step
        of_places, independent_places = _of_places(ints, loops, jacobian, which[:count], sizes, imposed)
        _add_closing(of_places, independent_places, error, least)
    for j in range(n):
        step[j] = 0.0 if imposed[j] else sizes[j] * least[j, 0]
        closed[j] = v[j]
    status = to_nearest(split, taken, (jacobian, error), False, sizes, imposed, v, closed)
    return status if status != layout.OK else min(status_of(step), status_of(closed))


@shared
def _add_closing(split, taken, error, least):
    """Add to a step (n x 1) the least one that removes the errors of the rows in `split`."""
    which = split[1]
    right = np.empty((which.size, 1))
    for c in range(which.size):
        right[c, 0] = -entry_at(error, 0, which[c])
    add_least(split, 0, taken, right, least)


@shared
def _of_places(ints, loops, jacobian, which, sizes, imposed):
    """Return the rows among `which` that are of positions, made orthogonal, and how many of them are independent."""
    kept, count, k, row = which.copy(), 0, 0, loops[0, layout.FIRST_RIGID]
    slips = np.zeros(jacobian.shape[0], np.int64)
    for _ in range(loops[0, layout.RIGIDS]):
        for c in range(ints[row, layout.CONSTRAINTS]):
            slips[k + c] = ints[row + c, layout.SLIPS]
        k += ints[row, layout.CONSTRAINTS]
        row += max(2, ints[row, layout.CONSTRAINTS])
    for c in range(which.size):
        if not slips[int(which[c])]:
            kept[count] = which[c]
            count += 1
    split, taken, _ = split_rows(jacobian, kept[:count], sizes, imposed, False)
    return split, taken


@helper
def move(ints, plain, q, step):
    """Move a configuration along a step; `plain` (2 x n) lists where coordinates are numbers, in q and in v."""
    for p in range(plain.shape[1]):
        q[plain[0, p]] += step[plain[1, p]]
    for i in range(1, ints[0, layout.ELEMENTS]):
        if turns(ints[i, layout.KIND]):
            integrate_group(ints, i, q, step, q)


@shared
def close(precision, sizes, plain, imposed, there, step, closed, told):
    """Put q on the closures by Newton's steps, and write the velocity next to v; tell whether that succeeds at once.

    Errors below the first `precision` are left, and those below the second that grow no less. `plain` is as for `move`, other
    arguments are as for `closing_step`.
    """
    least = math.inf
    for _ in range(_STEPS):
        status = closing_step(sizes, imposed, there, step, closed, told)
        if status != layout.OK:
            return False
        if told[0] < precision[0] or (told[0] < precision[1] and told[0] > 0.5 * least):
            return True
        if told[0] > 0.9 * least:
            return False
        least = told[0]
        move(there[0].tables.ints, plain, there[1].q, step)
    return False


@shared
def to_nearest(split, taken, given, second, sizes, held, v, x):
    """Replace rates x, but those `held`, by the nearest with ``J x = 0``, or ``-bias`` for `second` ones; return a status.

    J and bias are `given`; `taken` is the number of rows that are orthogonal where rates are not held.
    """
    (jacobian, bias), n, which = given, x.size, split[1]
    right, step, before = np.empty((which.size, 1)), np.empty((n, 1)), x.copy()
    for _ in range(2):  # the second time for rounding
        for c in range(which.size):
            right[c, 0] = -entry_at(bias, 0, which[c]) if second else 0.0
            for j in range(n):
                right[c, 0] -= entry_at(jacobian, j, which[c] * n) * x[j]
        step[:] = 0.0
        add_least(split, 0, taken, right, step)
        for j in range(n):
            if not held[j]:
                x[j] += sizes[j] * step[j, 0]
    return contradiction(jacobian, bias, second, sizes, v, before, x)


@helper
def contradiction(jacobian, bias, second, sizes, v, given, x):
    """Return as a status whether rates leave more of the constraints than rounding, as `assembling` judges it."""
    rest, scale, rate, entry, fastest = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(x.size):
        fastest = max(fastest, abs(x[j] / sizes[j]))
    for i in range(jacobian.shape[0]):
        wanted = -bias[i] if second else 0.0
        left, terms, speed = wanted, abs(wanted), 0.0
        for j in range(x.size):
            left -= jacobian[i, j] * x[j]
            terms += abs(jacobian[i, j]) * (abs(given[j]) + abs(x[j]))
            speed += abs(jacobian[i, j] * v[j])
            entry = max(entry, abs(jacobian[i, j] * sizes[j]))
        rest, scale, rate = max(rest, abs(left)), max(scale, terms), max(rate, speed)
    if second:
        scale += rate * rate
    return layout.OK if rest <= BALANCED * scale + CANCELLED * entry * fastest else layout.INCONSISTENT
