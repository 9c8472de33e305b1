"""Derivatives of inverse dynamics with closures that act with known multipliers, and of the constraints.

The tables have two loads more for each rigid closure, the last ones, in which the closures' own wrenches are put.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.closures.closure_derivatives import (
    ANSWER_COLUMNS,
    MOVED_ROWS,
    closure_slopes,
    write_closure_wrenches,
)
from titop.solvers.kernels.derivatives.tree_derivatives import outward_columns
from titop.solvers.kernels.equations.linearise import linearise, motions_and_slopes, sum_rows
from titop.solvers.kernels.equations.whole_passes import outward_whole
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.tree.world_poses import world_poses
from titop.solvers.native.kernel import shared


@shared
def slopes_rooms(ints, paths, loops, law):
    """Return the rooms of `slopes_with_closures`, beside `work` and `world`; `law` is None for rigid systems."""
    n, slopes = ints[0, layout.NV], law
    if law is not None:
        slopes = np.empty((1, ints[0, layout.SLOPES_SIZE]))
    of_closures = (
        np.empty((loops[0, layout.ROWS], ANSWER_COLUMNS)),
        np.empty((2, 36)),
        np.empty((MOVED_ROWS, n)),
        np.empty((1, 36)),
        np.empty((2, n), np.int64),
    )
    sums = np.empty((sum_rows(ints), layout.SUM_COLUMNS if law is None else layout.FULL_COLUMNS))
    return slopes, sums, np.empty((paths.shape[1], layout.COLUMN_COLUMNS)), np.empty(n), of_closures


@shared
def slopes_with_closures(
    ints, floats, numbers, stages, law, loops, paths, q, v, a, multipliers, rooms, known, rows_only, changes, rows
):
    """Write the derivatives of inverse dynamics, closures acting with known multipliers, and of the constraints' `rows`.

    Poses, twists and laws may be `known`; with `rows_only` nothing of use is written into `changes`. Returns a status.
    """
    work, world, (slopes, sums, columns, efforts, of_closures) = rooms
    status = layout.OK
    if known == layout.UNKNOWN:
        status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
    if status != layout.OK:
        return status
    world_poses(ints, law, work, world)
    write_closure_wrenches(ints, floats, law, loops, world, multipliers)
    status = motions_and_slopes(ints, floats, numbers, stages, law, slopes, q, v, a, work, world, sums, efforts, layout.KNOWN)
    if status != layout.OK:
        return status
    outward_columns(ints, floats, law, slopes, v, a, work, sums, columns)
    if not rows_only:
        linearise(ints, floats, law, slopes, paths, q, v, work, world, sums, columns, changes)
    closure_slopes(ints, floats, law, loops, paths, multipliers, v, work, world, sums, columns, of_closures, changes[0], rows)
    return layout.OK


@shared
def turning_rows(ints, floats, numbers, stages, law, loops, paths, q, w, rooms, changes, rows):
    """Return the derivatives (k x nv) of ``J w`` by q, beside room for others, and a status."""
    k, n = loops[0, layout.ROWS], w.size
    turning = np.empty((k, n))
    status = slopes_with_closures(
        ints,
        floats,
        numbers,
        stages,
        law,
        loops,
        paths,
        q,
        w,
        np.zeros(n),
        np.zeros(k),
        rooms,
        layout.UNKNOWN,
        True,
        changes,
        rows,
    )
    for i in range(k):
        for j in range(n):
            turning[i, j] = rows[3, i, j]
    return turning, status
