"""The entry points of the derivatives; as in `dynamics_entries`, each returns a status or nothing."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.derivatives.tree_derivatives import outward_columns, port_slopes
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.linearise import linearise, linearised_forward, motions_and_slopes, sum_rows
from titop.solvers.kernels.equations.whole_passes import (
    sizes_fit,
    start_inverse,
    status_of_slopes,
    world_rows,
)
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.tree.factor import factor, solve_rows
from titop.solvers.kernels.tree.joints import element_of
from titop.solvers.kernels.tree.kinematics import subtract_brackets
from titop.solvers.native.kernel import entry, helper, shared
from titop.solvers.native.signatures import CUBE, FLOATS, INTEGER, INTS, NOTHING, VECTOR

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


@pair(INTS, FLOATS, FLOATS, INTS, INTS, VECTOR, VECTOR, VECTOR, CUBE, whole=True)
def inverse_derivatives(ints, floats, numbers, stages, paths, q, v, a, result):
    """Derivatives (3, nv, nv) of inverse dynamics by q, v and a."""
    if not sizes_fit(ints, q, v, a, a) or not _result_fits(ints, result):
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    slopes = np.empty((1, ints[0, layout.SLOPES_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS)), np.empty((world_rows(ints), 12))
    sums, columns = (
        np.empty((sum_rows(ints), layout.FULL_COLUMNS if LAWS else layout.SUM_COLUMNS)),
        np.empty((paths.shape[1], layout.COLUMN_COLUMNS)),
    )
    status = start_inverse(ints, floats, numbers, stages, law, q, v, work)
    if status != layout.OK:
        return status
    efforts = np.empty(a.size)
    status = motions_and_slopes(ints, floats, numbers, stages, law, slopes, q, v, a, work, world, sums, efforts, layout.UNKNOWN)
    if status != layout.OK:
        return status
    outward_columns(ints, floats, law, slopes, v, a, work, sums, columns)
    linearise(ints, floats, law, slopes, paths, q, v, work, world, sums, columns, result)
    return status_of_slopes(result)


@helper
def _forward_slopes(ints, floats, numbers, stages, tree, paths, q, v, tau, law, rooms, a, result):
    """Accelerations into `a`, derivatives of forward dynamics into `result`; return a status.

    `rooms` are those of `linearised_forward` but for efforts, and room (3, nv, nv).
    """
    spare, slopes, work, multi, world, sums, columns, changes = rooms
    of_blocks = spare, slopes, work, multi, world, sums, columns, changes[0, 0]
    status = linearised_forward(ints, floats, numbers, stages, law, q, v, tau, of_blocks, a)
    if status != layout.OK:
        return status
    linearise(ints, floats, spare, slopes, paths, q, v, work, world, sums, columns, changes)
    return _to_forward(ints, tree, changes, result)


@shared
def _forward_rooms(ints, paths, law):
    """Return the rooms of `_forward_slopes`; `law` is None for rigid systems."""
    n, count = ints[0, layout.NV], ints[0, layout.ELEMENTS]
    spare = slopes = law
    if law is not None:
        spare, slopes = np.empty((1, ints[0, layout.LAW_SIZE])), np.empty((1, ints[0, layout.SLOPES_SIZE]))
    return (
        spare,
        slopes,
        np.empty((count, layout.FORWARD_COLUMNS)),
        np.empty((ints[0, layout.MULTIS], layout.MULTI_COLUMNS)),
        np.empty((world_rows(ints), 12)),
        np.empty((sum_rows(ints), layout.SUM_COLUMNS if law is None else layout.FULL_COLUMNS)),
        np.empty((paths.shape[1], layout.COLUMN_COLUMNS)),
        np.empty((3, n, n)),
    )


@pair(INTS, FLOATS, FLOATS, INTS, INTS, INTS, VECTOR, VECTOR, VECTOR, CUBE, whole=True)
def forward_derivatives(ints, floats, numbers, stages, tree, paths, q, v, tau, result):
    """Derivatives (3, nv, nv) of forward dynamics by q, v and tau."""
    if not sizes_fit(ints, q, v, tau, tau) or not _result_fits(ints, result):
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    rooms = _forward_rooms(ints, paths, law)
    status = _forward_slopes(
        ints, floats, numbers, stages, tree, paths, q, v, tau, law, rooms, np.empty(ints[0, layout.NV]), result
    )
    return status if status != layout.OK else status_of_slopes(result)


@pair(INTS, FLOATS, FLOATS, INTS, INTS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, FLOATS, FLOATS)
def linear_matrices(ints, floats, numbers, stages, tree, paths, q, v, tau, a, A, B):
    """Accelerations, and ``A`` (2nv x 2nv) and ``B`` (2nv x nv) of the linearisation by q, v and tau."""
    n = ints[0, layout.NV]
    if not sizes_fit(ints, q, v, tau, a) or A.size != 4 * n * n or B.size != 2 * n * n:
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    rooms, slopes = _forward_rooms(ints, paths, law), np.empty((3, n, n))
    status = _forward_slopes(ints, floats, numbers, stages, tree, paths, q, v, tau, law, rooms, a, slopes)
    if status != layout.OK:
        return status
    for i in range(n):
        for j in range(n):
            A[i, j], A[i, n + j], B[i, j] = 0.0, 0.0, 0.0
            A[n + i, j], A[n + i, n + j], B[n + i, j] = slopes[0, i, j], slopes[1, i, j], slopes[2, i, j]
        A[i, n + i] = 1.0
    subtract_brackets(ints, v, A)
    return status_of_slopes(slopes)


@entry(INTS, FLOATS, FLOATS, INTS, INTS, VECTOR, VECTOR, VECTOR, FLOATS, FLOATS, FLOATS)
def motion_columns(ints, floats, numbers, stages, paths, q, v, a, work, sums, columns):
    """How coordinates move the blocks, and the blocks' motions into `work`."""
    law, slopes = np.empty((1, ints[0, layout.LAW_SIZE])), np.empty((1, ints[0, layout.SLOPES_SIZE]))
    world, efforts = np.empty((world_rows(ints), 12)), np.empty(a.size)
    status = start_inverse(ints, floats, numbers, stages, law, q, v, work)
    if status == layout.OK:
        status = motions_and_slopes(
            ints, floats, numbers, stages, law, slopes, q, v, a, work, world, sums, efforts, layout.UNKNOWN
        )
    if status == layout.OK:
        outward_columns(ints, floats, law, slopes, v, a, work, sums, columns)
    return status


@entry(INTS, FLOATS, INTEGER, FLOATS, VECTOR, CUBE, result=NOTHING)
def port_derivatives(paths, columns, last, frame, twist, result):
    """Derivatives (4, 6, nv) of a port's motion, zero before; see `port_slopes`."""
    port_slopes(paths, columns, last, frame, (twist[0], twist[1], twist[2], twist[3], twist[4], twist[5]), result)
