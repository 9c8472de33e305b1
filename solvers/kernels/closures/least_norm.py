"""Efforts and motions of least norm that constraints leave, by rows made orthogonal to each other.

Some of the rows' columns may not count: then parts of some rows vanish with those of others. Where it is not clear whether they
do, callers are left to look closer.

Efforts ``x`` that are needed are split into least ones, w, on the coordinates where they are unknown, and what the constraints
carry: ``x = w + J^T lambda``. Rows that are made orthogonal first where efforts are known carry all of these; the others, of
which nothing is left there, then leave the least on the rest. Least in the units that are given: these columns are taken as
they are, the others over what counts as one of their coordinates, so that no unit decides what is independent. Rows stand side
by side (n x k), and what is split in columns (n x m): inner loops then run along memory.

What independent rows carry can be moved to the others along combinations of rows that vanish, ``N^T J = 0``: of each other row,
itself less the independent ones that make it up. The least multipliers of all constraints have no part along N.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import everywhere, nowhere, select
from titop.blocks.basics.tolerances import BALANCED, CANCELLED, RANK
from titop.solvers.kernels.closures.constraint_rows import opening
from titop.solvers.kernels.closures.following import fold_rows, leaders_lengths, number_rows, ones_of
from titop.solvers.kernels.closures.independent_rows import choose_rows, longest_row
from titop.solvers.kernels.equations.whole_passes import status_of_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import entry_at, is_within, lane_count, larger, put_entry_at, sizes
from titop.solvers.kernels.tree.factor import solve_symmetric
from titop.solvers.native.kernel import helper, shared

#: Squares, over the largest of a row: less is left of dependent rows by rounding, more of independent ones. Rounding is that of
#: `titop.solvers.constraints.multipliers`.
_ROUNDED = CANCELLED * CANCELLED
_INDEPENDENT = RANK


@helper
def make_orthogonal(split, counts, what, room, first, largest):
    """Make rows orthogonal to each other in the columns of which `counts` is `what`; return how many there are, or -1.

    That is where it is not clear, or not the same in all lanes. Those before the `first` are left alone; the others, and their
    numbers `which` (k), change places. `squares` (k) gets what is left of them, `shares` (k x k) what has been subtracted of
    each from those after it. `largest` is the square of the row beside which all count; `room` is (2 x k).
    """
    rows, which, shares, squares = split
    (n, k), left, share = rows.shape, room[0], room[1]
    left[:] = 0.0
    for j in range(n):
        if counts[j] == what:
            for c in range(k):
                left[c] += rows[j, c] * rows[j, c]
    for p in range(first, k):
        most, best = 0.0, 1.0 * p
        for c in range(p, k):
            longer = left[c] > most
            most, best = select(longer, left[c], most), select(longer, c, best)
        remains = most > _ROUNDED * largest
        if not everywhere(remains):
            return p if nowhere(remains) else -1
        if not everywhere(most >= _INDEPENDENT * largest):
            return -1
        _exchange(which, 0, p, best)
        for j in range(n):
            _exchange(rows, j * k, p, best)
        for c in range(p):  # these shares stand in columns
            _exchange(shares, c * k, p, best)
        squares[p] = most
        share[:] = 0.0
        for j in range(n):
            entry = rows[j, p]
            if counts[j] == what and not everywhere(entry == 0.0):
                for c in range(p + 1, k):
                    share[c] += entry * rows[j, c]
        for c in range(p + 1, k):
            share[c] /= most
            shares[p, c] = share[c]
        left[:] = 0.0
        for j in range(n):
            entry = rows[j, p]
            if not everywhere(entry == 0.0):
                for c in range(p + 1, k):
                    rows[j, c] -= entry * share[c]
            if counts[j] == what:
                for c in range(p + 1, k):
                    left[c] += rows[j, c] * rows[j, c]
    return k


@helper
def _exchange(x, first, p, other):
    """Let two numbers of an array change places, the p-th and another behind the `first`."""
    kept = entry_at(x, first, p)
    put_entry_at(x, first, p, entry_at(x, first, other))
    put_entry_at(x, first, other, kept)


@shared
def _independent_rows(loops, floats, jacobian, which):
    """Write the numbers of independent rows of a Jacobian, those of gears with followers first; return how many.

    It is -1 if not all lanes have as many.
    """
    k, n = jacobian.shape
    followers = loops[0, layout.FOLLOWERS]
    m = k - followers
    folded, room = np.empty((m, n), jacobian.dtype), np.empty(n + m, jacobian.dtype)
    chosen = np.empty(min(m, n), jacobian.dtype)
    lengths, squares = room[:n], room[n:]
    fold_rows(loops, floats, jacobian, folded)
    leaders_lengths(loops, floats, lengths)
    r = choose_rows(folded, lengths, longest_row(loops, floats, jacobian, None), squares, chosen)
    if r < 0:
        return -1
    number_rows(loops, chosen, which[: followers + r])
    return followers + r


@shared
def split_rows(jacobian, which, ones, unknown, least):
    """Return what `split_constraints` does, of the rows `which`; of those in all fewer than there are, or -1, if unclear."""
    n, k = jacobian.shape[1], which.size
    rows, space = np.empty((n, k), jacobian.dtype), np.empty((k + 4, k), jacobian.dtype)
    shares, room, squares, numbers, largest, among = space[:k], space[k : k + 2], space[k + 2], space[k + 3], 0.0, 0.0
    for c in range(k):
        numbers[c] = which[c]
        total, there = 0.0, 0.0
        for j in range(n):
            entry = entry_at(jacobian, j, which[c] * n)
            rows[j, c] = entry if least and unknown[j] else entry * ones[j]
            sized = entry * ones[j]
            total += sized * sized
            if unknown[j]:
                there += rows[j, c] * rows[j, c]
        largest, among = max(largest, total), max(among, there)
    split = rows, numbers, shares, squares
    first = make_orthogonal(split, unknown, False, room, 0, largest)
    end = first
    if first >= 0:
        for j in range(n):
            if not unknown[j]:
                for p in range(first, k):
                    rows[j, p] = 0.0
        end = make_orthogonal(split, unknown, True, room, first, among)
    return split, first, end


@shared
def split_constraints(loops, floats, jacobian, ones, unknown, least):
    """Return independent rows of a Jacobian, split by which efforts are `unknown`; how many first, and in all (-1 if unclear).

    The rows are a tuple for the functions below: side by side and orthogonal, entries times what counts as one of their
    columns (`ones`), but not on unknown efforts where these are sought as the `least`; their numbers; and what
    `make_orthogonal` says of them. Where all rows are expected to be independent they are tried first: to tell which are takes
    as long as the rest.
    """
    k = loops[0, layout.ROWS]
    which, end = np.empty(k, jacobian.dtype), -1
    for c in range(k):
        which[c] = c
    if loops[0, layout.WHOLE_RANK] == k:
        split, first, end = split_rows(jacobian, which, ones, unknown, least)
    if end < k and loops[0, layout.WHOLE_RANK] == k and lane_count(jacobian) > 1:
        return split, -1, -1  # in some lanes all may be independent
    if end < k:
        count = _independent_rows(loops, floats, jacobian, which)
        split, first, end = split_rows(jacobian, which[: max(count, 0)], ones, unknown, least)
        if count < 0 or end < count:
            end = -1
    if status_of_rows(jacobian) != layout.OK:  # there are none of a disc that lies flat
        first = end = -1
    return split, first, end


@shared
def take_least(split, first, end, unknown, ones, x, carried):
    """Replace efforts that are needed (n x m) by the least ones where they are `unknown`.

    Adds to `carried` (k x m) how many times each orthogonal row is subtracted; tells whether the largest effort that is left
    where it is known is rounding beside the largest needed, both on what counts as one of each coordinate (`ones`).
    """
    greatest = left = 0.0
    n, m = x.shape
    for j in range(n):
        for c in range(m):
            greatest = larger(greatest, sizes(x[j, c] * ones[j]))
            if not unknown[j]:
                x[j, c] *= ones[j]
    take_out(split, unknown, False, 0, first, x, carried)
    for j in range(n):
        if not unknown[j]:
            for c in range(m):
                left = larger(left, sizes(x[j, c]))
                x[j, c] = 0.0
    take_out(split, unknown, True, first, end, x, carried)
    return is_within(left, BALANCED * greatest)


@shared
def share_least(loops, floats, unknown, driven, rates, rows, efforts, tau):
    """Write the least efforts on coordinates `unknown` that, at v and a, do what is needed beside `driven` ones: a status.

    Accelerations that contradict the constraints, open loops, and efforts that cannot be balanced or nearly so, are left to
    callers that look closer.
    """
    (jacobian, sides), (v, a), n, k = rows, rates, tau.size, loops[0, layout.ROWS]
    if opening(sides[0], jacobian, sides[1], v, a, k - loops[0, layout.GEARS]):
        return layout.INCONSISTENT
    needed, ones = np.empty((n, 1), tau.dtype), np.empty(n, tau.dtype)
    ones_of(loops, floats, ones)
    for j in range(n):
        needed[j, 0] = efforts[j] - driven[j]
    split, first, end = split_constraints(loops, floats, jacobian, ones, unknown, True)
    if end < 0:
        return layout.SINGULAR
    if not everywhere(take_least(split, first, end, unknown, ones, needed, np.zeros((k, 1), tau.dtype))):
        return layout.SINGULAR
    for j in range(n):
        tau[j] = needed[j, 0]
    return layout.OK


@shared
def take_out(split, counts, what, first, end, x, carried):
    """Subtract multiples of orthogonal rows from columns x so that nothing along them is left where it counts."""
    rows, _, _, squares = split
    n, m = x.shape
    share = np.empty(m, x.dtype)
    for _ in range(2):  # the second time for rounding
        for p in range(first, end):
            share[:] = 0.0
            for j in range(n):
                entry = rows[j, p] / squares[p]
                if counts[j] == what and not everywhere(entry == 0.0):
                    for c in range(m):
                        share[c] += entry * x[j, c]
            for j in range(n):
                entry = rows[j, p]
                if not everywhere(entry == 0.0):
                    for c in range(m):
                        x[j, c] -= entry * share[c]
            for c in range(m):
                carried[p, c] += share[c]


@helper
def to_given_rows(split, end, carried):
    """Replace how often orthogonal rows are subtracted (r x m) by how often the rows are of which they were made."""
    shares = split[2]
    for p in range(end - 1, -1, -1):
        now = carried[p]
        for c in range(p + 1, end):
            share, later = shares[p, c], carried[c]
            for i in range(now.size):
                now[i] -= share * later[i]


@helper
def write_multipliers(split, end, carried, multipliers):
    """Write the multipliers (k) of all constraints from how often the orthogonal rows are subtracted (r x 1), used up."""
    to_given_rows(split, end, carried)
    multipliers[:] = 0.0
    for p in range(end):
        put_entry_at(multipliers, 0, split[1][p], carried[p, 0])


@helper
def complete_motion(split, first, unknown, ones, efforts, w):
    """Write into w (n) the efforts (n x 1) that are `unknown`, and elsewhere the least motion with which ``J w = 0``."""
    rows, _, _, squares = split
    for j in range(w.size):
        w[j] = efforts[j, 0] if unknown[j] else 0.0
    for p in range(first):
        share = 0.0
        for j in range(w.size):
            if unknown[j]:
                share += rows[j, p] * w[j] / squares[p]
        for j in range(w.size):
            if not unknown[j]:
                w[j] -= share * rows[j, p] * ones[j]


@helper
def add_least(split, first, end, right, x):
    """Add to columns x (n x m) the least with which rows are equal to `right` (r x m, used up), those before `first` anyway.

    The rows are meant as they were before they were made orthogonal, in the order of `split`.
    """
    rows, _, shares, squares = split
    for p in range(end):
        now = right[p]
        for c in range(p + 1, end):
            share, then = shares[p, c], right[c]
            for i in range(now.size):
                then[i] -= share * now[i]
        if p >= first:
            for j in range(x.shape[0]):
                entry = rows[j, p] / squares[p]
                if not everywhere(entry == 0.0):
                    for i in range(now.size):
                        x[j, i] += entry * now[i]


@shared
def find_multipliers(loops, floats, jacobian, weights, known, needed, multipliers):
    """Write the least multipliers (k) with which the constraints carry efforts (nv) that are `needed`; tell whether they can.

    Unless all other efforts are `known`, what is left beside the constraints need not vanish: the least efforts act there.
    Sizes of multipliers are those times the constraints' `weights`.
    """
    k, n = jacobian.shape
    dtype = jacobian.dtype
    unknown, carried, left, ones = np.empty(n, np.bool_), np.zeros((k, 1), dtype), np.empty((n, 1), dtype), np.empty(n, dtype)
    unknown[:] = not known
    ones_of(loops, floats, ones)
    for j in range(n):
        left[j, 0] = needed[j]
    split, first, end = split_constraints(loops, floats, jacobian, ones, unknown, True)
    if end < 0 or not everywhere(take_least(split, first, end, unknown, ones, left, carried)):
        return False
    write_multipliers(split, end, carried, multipliers)
    return end == k or _share_with_others(split, end, jacobian, weights, ones, unknown, not known, multipliers)


@shared
def _share_with_others(split, end, jacobian, weights, ones, counts, what, multipliers):
    """Let constraints that depend on those in `split` carry their share; tell whether that is clear.

    The rows are orthogonal in the columns of which `counts` is `what`: in all, over what counts as one (`ones`) unless these
    efforts are sought (`what`).
    """
    (k, n), which, dtype, count = jacobian.shape, split[1], jacobian.dtype, 0.0
    m, others, room = k - end, np.empty(k - end + 1, jacobian.dtype), np.ones((2, k), jacobian.dtype)
    redundant, sizes = room[0], room[1]
    for c in range(end):
        put_entry_at(redundant, 0, which[c], 0.0)
    for i in range(k):
        put_entry_at(others, 0, count, 1.0 * i)
        count += redundant[i]
        sizes[i] = weights[i]
    rows, made = np.empty((n, m), dtype), np.zeros((end, m), dtype)
    vanishing, system = np.zeros((k, m), dtype), np.empty((m, m + 1), dtype)
    for j in range(n):
        for c in range(m):
            entry = entry_at(jacobian, j, others[c] * n)
            rows[j, c] = entry if what else entry * ones[j]
    take_out(split, counts, what, 0, end, rows, made)
    to_given_rows(split, end, made)
    for c in range(m):
        put_entry_at(vanishing, c, others[c] * m, entry_at(sizes, 0, others[c]))
        for p in range(end):
            put_entry_at(vanishing, c, which[p] * m, -entry_at(sizes, 0, which[p]) * made[p, c])
    for c in range(m):
        for d in range(c + 1):
            system[c, d] = 0.0
            for i in range(k):
                system[c, d] += vanishing[i, c] * vanishing[i, d]
        system[c, m] = 0.0
        for i in range(k):
            system[c, m] += vanishing[i, c] * weights[i] * multipliers[i]
    if not solve_symmetric(system, m):
        return False
    for i in range(k):
        for c in range(m):
            multipliers[i] -= vanishing[i, c] * system[c, m] / weights[i]
    return True
