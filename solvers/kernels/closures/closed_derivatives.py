"""Derivatives of inverse dynamics with closures that act with known multipliers, and of the constraints.

The tables have two loads more for each rigid closure, the last ones, in which the closures' own wrenches are put.

Where some motion is imposed, let B be the changes of efforts ``[-dtau/dq, -dtau/dv, 1, -M a_i]`` and E those of ``J a + bias``
by the same. Accelerations change by ``M^-1 (B + J^T L)`` with ``J M^-1 J^T L = -(E + J M^-1 B)``, among the coordinates that
lead and are not imposed; a_i are imposed accelerations, and those of what follows them by gears. Efforts change by
``[dtau/dq, dtau/dv, -1, 0] + M da``, less what the constraints carry of that (`least_norm`).
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import everywhere
from titop.solvers.kernels.closures.closure_derivatives import (
    ANSWER_COLUMNS,
    MOVED_ROWS,
    closure_slopes,
    write_closure_wrenches,
)
from titop.solvers.kernels.closures.following import fold_vectors, number_rows, unfold_vectors
from titop.solvers.kernels.closures.least_norm import add_least, take_least
from titop.solvers.kernels.equations.linearise import linearise, linearise_blocks, sum_rows
from titop.solvers.kernels.equations.whole_passes import moving_rooms, outward_whole
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import Rooms, State
from titop.solvers.kernels.interface.stages import entry_at
from titop.solvers.kernels.tree.factor import solve_rows, solve_triangles
from titop.solvers.kernels.tree.kinematics import world_poses
from titop.solvers.native.kernel import helper, shared


@shared
def own_loads(floats, q):
    """Return a copy of the table `floats` for loads of a state q: of several states at once it lies in lanes."""
    own = np.empty(floats.shape, q.dtype)
    for i in range(floats.shape[0]):
        for k in range(floats.shape[1]):
            own[i, k] = floats[i, k]
    return own


@shared
def with_forces(floats, forces, q):
    """Return a copy of the table `floats` at a state q in which the last loads are its `forces` (k, 6)."""
    own = own_loads(floats, q)
    for k in range(forces.shape[0]):
        for j in range(6):
            own[own.shape[0] - forces.shape[0] + k, layout.FORCE + j] = forces[k, j]
    return own


@shared
def slopes_rooms(ints, paths, loops, law, q):
    """Return the rooms of `slopes_with_closures`, the passes' first; `law` is None for rigid systems."""
    n, slopes = ints[0, layout.NV], law
    if law is not None:
        slopes = np.empty((1, ints[0, layout.SLOPES_SIZE]), q.dtype)
    answers, wrenches = np.empty((loops[0, layout.ROWS], ANSWER_COLUMNS), q.dtype), np.empty((2, 36), q.dtype)
    moved, frames, moving = np.empty((MOVED_ROWS, n), q.dtype), np.empty((1, 36), q.dtype), np.empty((2, n), np.int64)
    sums = np.empty((sum_rows(ints), layout.SUM_COLUMNS if law is None else layout.FULL_COLUMNS), q.dtype)
    work, world = moving_rooms(ints, layout.FORWARD_COLUMNS, q)
    columns = np.empty((paths.shape[1], layout.COLUMN_COLUMNS), q.dtype)
    return Rooms(work, world, sums, columns), slopes, np.empty(n, q.dtype), (answers, wrenches, moved, frames, moving)


@shared
def slopes_with_closures(system, paths, motion, rooms, known, rows_only, changes, rows):
    """Write the derivatives of inverse dynamics, closures acting with known multipliers, and of the constraints' `rows`.

    Poses, twists and laws may be `known`; with `rows_only` nothing of use is written into `changes`. The `motion` is a
    `State`, accelerations and multipliers. Returns a status.
    """
    (tables, loops), (state, a, multipliers), (passes, slopes, efforts, of_closures) = system, motion, rooms
    status, world = layout.OK, passes.world
    if known == layout.UNKNOWN:
        status = outward_whole(tables, state, passes.work, world)
    if status != layout.OK:
        return status
    world_poses(tables.ints, tables.law, passes.work, world)
    write_closure_wrenches(tables.ints, tables.floats, tables.law, loops, world, multipliers)
    status = linearise_blocks(tables, slopes, state, a, passes, efforts, layout.KNOWN)
    if status != layout.OK:
        return status
    if not rows_only:
        linearise(tables, slopes, paths, state, passes, changes)
    closure_slopes(system, paths, multipliers, state.v, passes, of_closures, changes[0], rows)
    return layout.OK


@shared
def turning_rows(system, paths, q, w, rooms, changes, rows):
    """Return the derivatives (k x nv) of ``J w`` by q, beside room for others, and a status."""
    k, n = system.loops[0, layout.ROWS], w.size
    turning = np.empty((k, n), w.dtype)
    motion = State(q, w), np.zeros(n, w.dtype), np.zeros(k, w.dtype)
    status = slopes_with_closures(system, paths, motion, rooms, layout.UNKNOWN, True, changes, rows)
    for i in range(k):
        for j in range(n):
            turning[i, j] = rows[3, i, j]
    return turning, status


#: The cases: changes with q, v, efforts and imposed accelerations.
BY_Q, BY_V, BY_TAU, BY_A = 0, 1, 2, 3


@helper
def _write_changes(imposed, changes, moved, x):
    """Write B, the cases side by side."""
    n = x.shape[0]
    for i in range(n):
        for j in range(n):
            x[i, j], x[i, BY_V * n + j], x[i, BY_TAU * n + j] = -changes[BY_Q, i, j], -changes[BY_V, i, j], 0.0
        x[i, BY_TAU * n + i] = 1.0
        if imposed is not None and imposed[i]:
            x[i, BY_TAU * n + i] = 0.0
    if imposed is not None:
        by_a = x[:, BY_A * n :]
        by_a[:] = 0.0
        subtract_product(changes[2], moved, by_a)


@helper
def subtract_product(left, right, x):
    """Subtract the product of two matrices from x."""
    for i in range(left.shape[0]):
        for k in range(left.shape[1]):
            entry = left[i, k]
            if not everywhere(entry == 0.0):
                for j in range(right.shape[1]):
                    x[i, j] -= entry * right[k, j]


@helper
def _subtract_transposed_product(left, x, target):
    """Subtract the product of a transposed matrix, as many columns of it as `target` has rows, and x: four rows at a time."""
    rows, many = x.shape[0], x.shape[0] - x.shape[0] % 4
    for i in range(0, many, 4):
        for c in range(target.shape[0]):
            a, b, d, e = left[i, c], left[i + 1, c], left[i + 2, c], left[i + 3, c]
            for j in range(x.shape[1]):
                target[c, j] -= a * x[i, j] + b * x[i + 1, j] + d * x[i + 2, j] + e * x[i + 3, j]
    for i in range(many, rows):
        for c in range(target.shape[0]):
            for j in range(x.shape[1]):
                target[c, j] -= left[i, c] * x[i, j]


@helper
def _add_carried(folded, chosen, carried, x):
    """Add ``J^T L`` to x, J the chosen rows: four of them at a time, where they have entries."""
    r, many, n = chosen.size, chosen.size - chosen.size % 4, folded.shape[1]
    for i in range(x.shape[0]):
        for c in range(0, many, 4):
            a, b = entry_at(folded, i, chosen[c] * n), entry_at(folded, i, chosen[c + 1] * n)
            d, e = entry_at(folded, i, chosen[c + 2] * n), entry_at(folded, i, chosen[c + 3] * n)
            if not everywhere((a == 0.0) & (b == 0.0) & (d == 0.0) & (e == 0.0)):
                for j in range(x.shape[1]):
                    x[i, j] += a * carried[c, j] + b * carried[c + 1, j] + d * carried[c + 2, j] + e * carried[c + 3, j]
        for c in range(many, r):
            entry = entry_at(folded, i, chosen[c] * n)
            if not everywhere(entry == 0.0):
                for j in range(x.shape[1]):
                    x[i, j] += entry * carried[c, j]


@shared
def accelerations_slopes(loops, floats, imposed, tree, forward, changes, rows, result):
    """Write derivatives of accelerations by q, v and tau, then by imposed ones, into `result`.

    `changes` are those of inverse dynamics, `rows` of the constraints (J, then of ``J a + bias`` by q and v); `forward` are the
    rooms of `constrained` as it leaves them, with the factors of M and of ``J M^-1 J^T``. `imposed` is None in forward
    dynamics.
    """
    matrix, room, _, _, choice, columns, gram = forward
    n, r, cases = result.shape[1], gram.shape[0], 3 if imposed is None else 4
    folded, chosen, kind = room[rows.shape[1] :], choice[:r], result.dtype
    x, carried = np.empty((n, cases * n), kind), np.zeros((r, cases * n), kind)
    moved, which = np.zeros((0 if imposed is None else n, n), kind), np.empty(loops[0, layout.FOLLOWERS] + r, kind)
    number_rows(loops, chosen, which)
    if imposed is not None:
        for j in range(n):
            if imposed[j]:
                moved[j, j] = 1.0
        unfold_vectors(loops, floats, moved)
    _write_changes(imposed, changes, moved, x)
    fold_vectors(loops, floats, x)
    for c in range(r):
        first = which[which.size - r + c] * n
        for j in range(n):
            carried[c, j], carried[c, BY_V * n + j] = -entry_at(rows[1], j, first), -entry_at(rows[2], j, first)
            if imposed is not None:
                entry = entry_at(rows[0], j, first)
                if not everywhere(entry == 0.0):
                    for d in range(n):
                        carried[c, BY_A * n + d] -= entry * moved[j, d]
    if imposed is not None:
        for i in range(n):
            if imposed[i]:
                x[i] = 0.0
    _subtract_transposed_product(columns, x, carried)
    solve_triangles(gram, r, carried)
    _add_carried(folded, chosen, carried, x)
    solve_rows(tree, matrix, x)
    unfold_vectors(loops, floats, x)
    for d in range(cases):
        for i in range(n):
            for j in range(n):
                result[d, i, j] = x[i, d * n + j]
    if imposed is not None:
        for i in range(n):
            for j in range(n):
                result[BY_A, i, j] += moved[i, j]


@shared
def efforts_slopes(split, first, end, imposed, ones, changes, turning, result):
    """Write derivatives of the efforts behind those of the accelerations, the first four of `result`.

    `split` are the constraints (`least_norm.split_constraints`), `turning` (k x nv) the derivatives of ``J w`` by q, with w the
    efforts, completed to a motion; they are not asked for (0 x nv) where no constraint acts on imposed coordinates alone.
    """
    n = result.shape[1]
    for d in range(4):
        x = result[4 + d]
        for i in range(n):
            for j in range(n):
                x[i, j] = changes[d, i, j] if d < 2 else 0.0
            if d == BY_TAU and not imposed[i]:
                x[i, i] = -1.0
        for i in range(n):
            for k in range(n):
                entry = changes[2, i, k]
                if not everywhere(entry == 0.0):
                    for j in range(n):
                        x[i, j] += entry * result[d, k, j]
        share_slopes(split, first, end, imposed, ones, turning if d == BY_Q else turning[:0], x)
    for j in range(n):
        if not imposed[j]:
            result[4 + BY_TAU, j, j] = 1.0


@shared
def share_slopes(split, first, end, unknown, ones, turning, x):
    """Replace changes of the efforts needed (columns of x) by those of the least ones, where they are `unknown`.

    `turning` says how the constraints turn: see `efforts_slopes`; `ones` what counts as one of each coordinate.
    """
    which, n = split[1], x.shape[1]
    take_least(split, first, end, unknown, ones, x, np.zeros((which.size, n), x.dtype))
    if turning.shape[0] > 0:
        right = np.empty((which.size, n), x.dtype)
        for c in range(which.size):
            for j in range(n):
                right[c, j] = -entry_at(turning, j, which[c] * n)
        add_least(split, first, end, right, x)
