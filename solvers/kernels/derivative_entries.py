"""The entry points of the derivatives; as in `entries`, each returns a status or nothing."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.derivatives import inward_sums, outward_columns, port_slopes
from titop.solvers.kernels.factor import factor, solve_rows
from titop.solvers.kernels.held_loads import hold_loads
from titop.solvers.kernels.interaction_derivatives import (
    hold_interactions,
    subtract_interaction_slopes,
    write_interaction_slopes,
)
from titop.solvers.kernels.inverse import outward_wrenches
from titop.solvers.kernels.joints import element_of
from titop.solvers.kernels.kinematics import subtract_brackets
from titop.solvers.kernels.layout import (
    ALL_PORTS,
    COLUMN_COLUMNS,
    ELEMENTS,
    FORWARD_COLUMNS,
    FULL_COLUMNS,
    INVERSE_COLUMNS,
    LAW,
    LAW_SIZE,
    LOADS,
    MULTI_COLUMNS,
    MULTIS,
    NV,
    OK,
    SLOPES_SIZE,
    SUM_COLUMNS,
    WRONG_SIZE,
)
from titop.solvers.kernels.pair import pair
from titop.solvers.kernels.passive_derivatives import subtract_passive_derivatives
from titop.solvers.kernels.stages import write_slopes
from titop.solvers.kernels.whole import (
    apply_wrenches,
    forward_from_twists,
    outward_whole,
    sizes_fit,
    status_of_slopes,
    world_rows,
)
from titop.solvers.native.kernel import entry, helper
from titop.solvers.native.signatures import CUBE, FLOATS, INTEGER, INTS, NOTHING, VECTOR

#: Whether the system has general blocks or interactions: see `kernel.Pair`.
LAWS = True


@helper
def _sum_rows(ints):
    """Return the number of rows of `sums`."""
    return ints[0, ELEMENTS] + ints[0, ALL_PORTS]


@helper
def _block_slopes(ints, floats, numbers, stages, law, slopes, q, v, a, work, world, efforts):
    """Accelerations, the wrench that each block and its loads take alone, and the general blocks' slopes; return a status."""
    outward_wrenches(ints, floats, law, v, a, work, efforts)
    apply_wrenches(ints, floats, law, work, world, False)
    if law is not None:
        status = write_interaction_slopes(ints, numbers, stages, law, slopes)
        if status != OK:
            return status
        for i in range(1, ints[0, ELEMENTS]):
            if ints[i, LAW] >= 0:
                status = write_slopes(ints, numbers, stages, i, q, v, a, work, slopes)
                if status != OK:
                    return status
    return OK


@helper
def _linearise(ints, floats, law, slopes, paths, q, v, a, work, world, sums, columns, result):
    """Derivatives of inverse dynamics by q, v and a, into `result`, from what `_block_slopes` wrote."""
    outward_columns(ints, floats, law, slopes, v, a, work, sums, columns)
    if ints[0, LOADS] > 0:
        hold_loads(ints, floats, law, world, sums)
    if law is not None:
        hold_interactions(ints, law, sums)
    dq, dv, da = result[0], result[1], result[2]
    result[:] = 0.0
    inward_sums(ints, floats, law, slopes, paths, sums, columns, work, dq, dv, da)
    subtract_passive_derivatives(ints, floats, q, v, dq, dv)
    if law is not None:
        subtract_interaction_slopes(ints, floats, law, slopes, paths, sums, columns, dq, dv)


@helper
def _result_fits(ints, result):
    return result.shape[0] == 3 and result.shape[1] == ints[0, NV] and result.shape[2] == ints[0, NV]


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
    return OK


@pair(INTS, FLOATS, FLOATS, INTS, INTS, VECTOR, VECTOR, VECTOR, CUBE)
def inverse_derivatives(ints, floats, numbers, stages, paths, q, v, a, result):
    """Derivatives (3, nv, nv) of inverse dynamics by q, v and a."""
    if not sizes_fit(ints, q, v, a, a) or not _result_fits(ints, result):
        return WRONG_SIZE
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    slopes = np.empty((1, ints[0, SLOPES_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, ELEMENTS], INVERSE_COLUMNS)), np.empty((world_rows(ints), 12))
    status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
    if status != OK:
        return status
    status = _block_slopes(ints, floats, numbers, stages, law, slopes, q, v, a, work, world, np.empty(a.size))
    if status != OK:
        return status
    sums = np.empty((_sum_rows(ints), FULL_COLUMNS if LAWS else SUM_COLUMNS))
    _linearise(ints, floats, law, slopes, paths, q, v, a, work, world, sums, np.empty((paths.shape[1], COLUMN_COLUMNS)), result)
    return status_of_slopes(result)


@helper
def _forward_slopes(
    ints,
    floats,
    numbers,
    stages,
    law,
    spare,
    slopes,
    tree,
    paths,
    q,
    v,
    tau,
    work,
    multi,
    world,
    sums,
    columns,
    changes,
    a,
    result,
):
    """Accelerations into `a`, derivatives of forward dynamics into `result`; `spare` is room for a second `law`."""
    status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
    if status != OK:
        return status
    if law is not None:
        for k in range(law.size):
            spare[0, k] = law[0, k]
    status = forward_from_twists(ints, floats, law, q, v, tau, work, multi, world, a)
    if status != OK:
        return status
    status = _block_slopes(ints, floats, numbers, stages, spare, slopes, q, v, a, work, world, changes[0, 0])
    if status != OK:
        return status
    _linearise(ints, floats, spare, slopes, paths, q, v, a, work, world, sums, columns, changes)
    return _to_forward(ints, tree, changes, result)


@pair(INTS, FLOATS, FLOATS, INTS, INTS, INTS, VECTOR, VECTOR, VECTOR, CUBE)
def forward_derivatives(ints, floats, numbers, stages, tree, paths, q, v, tau, result):
    """Derivatives (3, nv, nv) of forward dynamics by q, v and tau."""
    if not sizes_fit(ints, q, v, tau, tau) or not _result_fits(ints, result):
        return WRONG_SIZE
    n, count = ints[0, NV], ints[0, ELEMENTS]
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    spare = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    slopes = np.empty((1, ints[0, SLOPES_SIZE])) if LAWS else None
    sums = np.empty((_sum_rows(ints), FULL_COLUMNS if LAWS else SUM_COLUMNS))
    status = _forward_slopes(
        ints,
        floats,
        numbers,
        stages,
        law,
        spare,
        slopes,
        tree,
        paths,
        q,
        v,
        tau,
        np.empty((count, FORWARD_COLUMNS)),
        np.empty((ints[0, MULTIS], MULTI_COLUMNS)),
        np.empty((world_rows(ints), 12)),
        sums,
        np.empty((paths.shape[1], COLUMN_COLUMNS)),
        np.empty((3, n, n)),
        np.empty(n),
        result,
    )
    return status if status != OK else status_of_slopes(result)


@pair(INTS, FLOATS, FLOATS, INTS, INTS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, FLOATS, FLOATS)
def linear_matrices(ints, floats, numbers, stages, tree, paths, q, v, tau, a, A, B):
    """Accelerations, and ``A`` (2nv x 2nv) and ``B`` (2nv x nv) of the linearisation by q, v and tau."""
    n, count = ints[0, NV], ints[0, ELEMENTS]
    if not sizes_fit(ints, q, v, tau, a) or A.size != 4 * n * n or B.size != 2 * n * n:
        return WRONG_SIZE
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    spare = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    block_slopes = np.empty((1, ints[0, SLOPES_SIZE])) if LAWS else None
    sums = np.empty((_sum_rows(ints), FULL_COLUMNS if LAWS else SUM_COLUMNS))
    slopes = np.empty((3, n, n))
    status = _forward_slopes(
        ints,
        floats,
        numbers,
        stages,
        law,
        spare,
        block_slopes,
        tree,
        paths,
        q,
        v,
        tau,
        np.empty((count, FORWARD_COLUMNS)),
        np.empty((ints[0, MULTIS], MULTI_COLUMNS)),
        np.empty((world_rows(ints), 12)),
        sums,
        np.empty((paths.shape[1], COLUMN_COLUMNS)),
        np.empty((3, n, n)),
        a,
        slopes,
    )
    if status != OK:
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
    law, slopes = np.empty((1, ints[0, LAW_SIZE])), np.empty((1, ints[0, SLOPES_SIZE]))
    world = np.empty((world_rows(ints), 12))
    status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
    if status != OK:
        return status
    status = _block_slopes(ints, floats, numbers, stages, law, slopes, q, v, a, work, world, np.empty(a.size))
    if status != OK:
        return status
    outward_columns(ints, floats, law, slopes, v, a, work, sums, columns)
    return OK


@entry(INTS, FLOATS, INTEGER, FLOATS, VECTOR, CUBE, result=NOTHING)
def port_derivatives(paths, columns, last, frame, twist, result):
    """Derivatives (4, 6, nv) of a port's motion, zero before; see `port_slopes`."""
    port_slopes(paths, columns, last, frame, (twist[0], twist[1], twist[2], twist[3], twist[4], twist[5]), result)
