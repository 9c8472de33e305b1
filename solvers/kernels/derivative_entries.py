"""The entry points of the derivatives: whole for rigid systems, in stages between which Python fills in general blocks.

As in `entries`, each returns a status or nothing.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.derivatives import inward_sums, outward_columns, port_slopes
from titop.solvers.kernels.factor import factor, solve_rows
from titop.solvers.kernels.held_loads import hold_loads
from titop.solvers.kernels.inverse import outward_wrenches
from titop.solvers.kernels.joints import element_of
from titop.solvers.kernels.kernel import entry, helper
from titop.solvers.kernels.kinematics import outward_twists, subtract_brackets
from titop.solvers.kernels.layout import (
    COLUMN_COLUMNS,
    ELEMENTS,
    FORWARD_COLUMNS,
    INERTIAL_LOADS,
    INVERSE_COLUMNS,
    LOADS,
    MULTI_COLUMNS,
    MULTIS,
    NV,
    OK,
    SUM_COLUMNS,
    WRONG_SIZE,
)
from titop.solvers.kernels.observe import world_poses
from titop.solvers.kernels.passive import apply_loads
from titop.solvers.kernels.passive_derivatives import subtract_passive_derivatives
from titop.solvers.kernels.signatures import CUBE, FLOATS, INTEGER, INTS, NOTHING, VECTOR
from titop.solvers.kernels.whole import forward_whole, sizes_fit, status_of_slopes, world_rows


@helper
def _linearise(ints, floats, law, slopes, paths, v, a, work, world, sums, columns, result):
    """Derivatives of inverse dynamics by q, v and a, into `result`; the blocks' motions and wrenches are in `work`."""
    outward_columns(ints, floats, law, slopes, v, a, work, sums, columns)
    if ints[0, LOADS] > 0:
        hold_loads(ints, floats, law, world, sums)
    dq, dv, da = result[0], result[1], result[2]
    result[:] = 0.0
    inward_sums(ints, floats, law, slopes, paths, sums, columns, work, dq, dv, da)
    subtract_passive_derivatives(ints, floats, v, dq, dv)


@helper
def _linearise_rigid(ints, floats, paths, v, a, work, world, sums, columns, result):
    outward_wrenches(ints, floats, None, v, a, work, a)
    if ints[0, LOADS] > 0:
        apply_loads(ints, floats, None, work, world, False)
    _linearise(ints, floats, None, None, paths, v, a, work, world, sums, columns, result)


@helper
def _result_fits(ints, result):
    return result.shape[0] == 3 and result.shape[1] == ints[0, NV] and result.shape[2] == ints[0, NV]


@entry(INTS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, CUBE)
def inverse_derivatives(ints, floats, paths, q, v, a, result):
    """Derivatives (3, nv, nv) of a rigid system's inverse dynamics by q, v and a."""
    if not sizes_fit(ints, q, v, a, a) or not _result_fits(ints, result):
        return WRONG_SIZE
    count = ints[0, ELEMENTS]
    work, world = np.empty((count, INVERSE_COLUMNS)), np.empty((world_rows(ints), 12))
    status = outward_twists(ints, floats, None, q, v, work)
    if status != OK:
        return status
    sums, columns = np.empty((count, SUM_COLUMNS)), np.empty((paths.shape[1], COLUMN_COLUMNS))
    _linearise_rigid(ints, floats, paths, v, a, work, world, sums, columns, result)
    return status_of_slopes(result)


@helper
def _forward_slopes(ints, floats, tree, paths, q, v, tau, work, multi, world, sums, columns, changes, a, result):
    """Accelerations of a rigid system into `a`, derivatives of its forward dynamics into `result`."""
    status = forward_whole(ints, floats, None, None, None, q, v, tau, work, multi, world, a)
    if status != OK:
        return status
    _linearise_rigid(ints, floats, paths, v, a, work, world, sums, columns, changes)
    return _to_forward(ints, tree, changes, result)


@entry(INTS, FLOATS, INTS, INTS, VECTOR, VECTOR, VECTOR, CUBE)
def forward_derivatives(ints, floats, tree, paths, q, v, tau, result):
    """Derivatives (3, nv, nv) of a rigid system's forward dynamics by q, v and tau."""
    if not sizes_fit(ints, q, v, tau, tau) or not _result_fits(ints, result):
        return WRONG_SIZE
    n, count = ints[0, NV], ints[0, ELEMENTS]
    work, world, multi = (
        np.empty((count, FORWARD_COLUMNS)),
        np.empty((world_rows(ints), 12)),
        np.empty((ints[0, MULTIS], MULTI_COLUMNS)),
    )
    sums, columns = np.empty((count, SUM_COLUMNS)), np.empty((paths.shape[1], COLUMN_COLUMNS))
    a, changes = np.empty(n), np.empty((3, n, n))
    status = _forward_slopes(ints, floats, tree, paths, q, v, tau, work, multi, world, sums, columns, changes, a, result)
    return status if status != OK else status_of_slopes(result)


@entry(INTS, FLOATS, INTS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, FLOATS, FLOATS)
def linear_matrices(ints, floats, tree, paths, q, v, tau, a, A, B):
    """Accelerations, and ``A`` (2nv x 2nv) and ``B`` (2nv x nv) of a rigid system's linearisation by q, v and tau."""
    n, count = ints[0, NV], ints[0, ELEMENTS]
    if not sizes_fit(ints, q, v, tau, a) or A.size != 4 * n * n or B.size != 2 * n * n:
        return WRONG_SIZE
    work, world, multi = (
        np.empty((count, FORWARD_COLUMNS)),
        np.empty((world_rows(ints), 12)),
        np.empty((ints[0, MULTIS], MULTI_COLUMNS)),
    )
    sums, columns = np.empty((count, SUM_COLUMNS)), np.empty((paths.shape[1], COLUMN_COLUMNS))
    changes, slopes = np.empty((3, n, n)), np.empty((3, n, n))
    status = _forward_slopes(ints, floats, tree, paths, q, v, tau, work, multi, world, sums, columns, changes, a, slopes)
    if status != OK:
        return status
    for i in range(n):
        for j in range(n):
            A[i, j], A[i, n + j], B[i, j] = 0.0, 0.0, 0.0
            A[n + i, j], A[n + i, n + j], B[n + i, j] = slopes[0, i, j], slopes[1, i, j], slopes[2, i, j]
        A[i, n + i] = 1.0
    subtract_brackets(ints, v, A)
    return status_of_slopes(slopes)


@entry(INTS, FLOATS, FLOATS, VECTOR, VECTOR, FLOATS, result=NOTHING)
def motions_stage(ints, floats, law, v, a, work):
    """Accelerations, and the wrench that each block and its loads take alone, from known twists and laws."""
    outward_wrenches(ints, floats, law, v, a, work, np.empty(v.size))
    if ints[0, LOADS] > 0:
        apply_loads(ints, floats, law, work, np.empty((world_rows(ints), 12)), False)


@entry(INTS, FLOATS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, FLOATS, FLOATS, FLOATS, CUBE)
def derivatives_stage(ints, floats, law, slopes, paths, v, a, work, sums, columns, result):
    """Derivatives of inverse dynamics from known laws, slopes, motions and wrenches of the blocks."""
    world = np.empty((world_rows(ints), 12))
    if ints[0, INERTIAL_LOADS]:
        world_poses(ints, law, work, world)
    _linearise(ints, floats, law, slopes, paths, v, a, work, world, sums, columns, result)
    return status_of_slopes(result)


@entry(INTS, FLOATS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, FLOATS, FLOATS, FLOATS, result=NOTHING)
def columns_stage(ints, floats, law, slopes, paths, v, a, work, sums, columns):
    """How coordinates move the blocks, from known laws, slopes and motions."""
    outward_columns(ints, floats, law, slopes, v, a, work, sums, columns)


@entry(INTS, FLOATS, INTEGER, FLOATS, VECTOR, CUBE, result=NOTHING)
def port_derivatives(paths, columns, last, frame, twist, result):
    """Derivatives (4, 6, nv) of a port's motion, zero before; see `port_slopes`."""
    port_slopes(paths, columns, last, frame, (twist[0], twist[1], twist[2], twist[3], twist[4], twist[5]), result)


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
