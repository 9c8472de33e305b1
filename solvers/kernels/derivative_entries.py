"""The entry points of the derivatives; as in `entries`, each returns a status or nothing."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.algebra import add_six, minus, put_six, six
from titop.solvers.kernels.derivatives import inward_sums, outward_columns, port_slopes
from titop.solvers.kernels.factor import factor, solve_rows
from titop.solvers.kernels.held_loads import hold_loads
from titop.solvers.kernels.interaction_derivatives import (
    hold_interactions,
    subtract_interaction_slopes,
    write_interaction_slopes,
)
from titop.solvers.kernels.inverse import inward_wrenches, outward_motions
from titop.solvers.kernels.joints import element_of
from titop.solvers.kernels.kinematics import subtract_brackets
from titop.solvers.kernels.layout import (
    ALL_PORTS,
    BIAS,
    COLUMN_COLUMNS,
    ELEMENTS,
    FORWARD_COLUMNS,
    FULL_COLUMNS,
    INVERSE_COLUMNS,
    KNOWN,
    LAW,
    LAW_SIZE,
    LINEARISED,
    MULTI_COLUMNS,
    MULTIS,
    NV,
    OK,
    OWN,
    SLOPES_SIZE,
    SUM_COLUMNS,
    UNKNOWN,
    WRENCH,
    WRONG_SIZE,
)
from titop.solvers.kernels.pair import pair
from titop.solvers.kernels.passive_derivatives import subtract_passive_derivatives
from titop.solvers.kernels.port_wrenches import apply_to_ports, at_parent_port
from titop.solvers.kernels.records import result_at
from titop.solvers.kernels.stages import call_block
from titop.solvers.kernels.surroundings import is_held, subtract_from_wrenches, surrounding_slopes
from titop.solvers.kernels.whole import (
    apply_wrenches,
    find_acting,
    forward_from_twists,
    outward_whole,
    sizes_fit,
    start_inverse,
    status_of_slopes,
    world_rows,
)
from titop.solvers.native.kernel import AllocatingHelper, entry, helper
from titop.solvers.native.signatures import CUBE, FLOATS, INTEGER, INTS, NOTHING, VECTOR

#: Whether the system has general blocks or interactions: see `kernel.Pair`.
LAWS = True


@helper
def sum_rows(ints):
    """Return the number of rows of `sums`."""
    return ints[0, ELEMENTS] + ints[0, ALL_PORTS]


@helper
def motions_and_slopes(ints, floats, numbers, stages, law, slopes, q, v, a, work, world, sums, efforts, known):
    """Accelerations, the wrench that each block and its loads take alone, and the general blocks' slopes; return a status.

    These ask for the wrenches at all ports first: `sums` and `efforts` are room for an inward pass.
    """
    status = outward_motions(ints, floats, numbers, stages, law, q, v, a, work, known)
    if status != OK:
        return status
    if law is not None:
        if known == UNKNOWN:
            status = find_acting(ints, floats, numbers, stages, law, q, v, work, world)
            if status != OK:
                return status
    apply_wrenches(ints, floats, law, work, world, False)
    if law is not None:
        status = write_interaction_slopes(ints, numbers, stages, law, slopes)
        if status != OK:
            return status
        apply_to_ports(ints, floats, law, work, world)
        subtract_from_wrenches(ints, law, work, efforts)
        for i in range(1, ints[0, ELEMENTS]):
            put_six(sums, i, WRENCH, six(work, i, BIAS))
            if ints[i, LAW] >= 0:
                add_six(sums, i, WRENCH, at_parent_port(ints, law, i))
        status = inward_wrenches(ints, floats, numbers, stages, law, q, v, a, work, efforts)
        if status != OK:
            return status
        for i in range(1, ints[0, ELEMENTS]):
            if ints[i, LAW] >= 0:
                whole = six(law, 0, ints[i, LAW] + result_at(ints[i, OWN]))
                add_six(sums, i, WRENCH, minus(whole, at_parent_port(ints, law, i)))
                status = call_block(ints, numbers, stages, law, slopes, i, q, v, a, work, KNOWN, LINEARISED)
                if status == OK and is_held(ints, i):
                    status = surrounding_slopes(ints, floats, numbers, stages, i, q, v, work, world, slopes)
                if status != OK:
                    return status
            put_six(work, i, BIAS, six(sums, i, WRENCH))
    return OK


@helper
def linearise(ints, floats, law, slopes, paths, q, v, work, world, sums, columns, result):
    """Derivatives of inverse dynamics by q, v and a, into `result`, from the blocks' slopes and from `outward_columns`."""
    hold_loads(ints, floats, world, sums)
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
    sums, columns = (
        np.empty((sum_rows(ints), FULL_COLUMNS if LAWS else SUM_COLUMNS)),
        np.empty((paths.shape[1], COLUMN_COLUMNS)),
    )
    status = start_inverse(ints, floats, numbers, stages, law, q, v, work)
    if status != OK:
        return status
    efforts = np.empty(a.size)
    status = motions_and_slopes(ints, floats, numbers, stages, law, slopes, q, v, a, work, world, sums, efforts, UNKNOWN)
    if status != OK:
        return status
    outward_columns(ints, floats, law, slopes, v, a, work, sums, columns)
    linearise(ints, floats, law, slopes, paths, q, v, work, world, sums, columns, result)
    return status_of_slopes(result)


@helper
def _forward_slopes(ints, floats, numbers, stages, tree, paths, q, v, tau, law, rooms, a, result):
    """Accelerations into `a`, derivatives of forward dynamics into `result`; return a status.

    `rooms` are room for a second `law`, `slopes`, `work`, `multi`, `world`, `sums`, `columns` and room (3, nv, nv).
    """
    spare, slopes, work, multi, world, sums, columns, changes = rooms
    status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
    if status != OK:
        return status
    if law is not None:
        for k in range(law.size):
            spare[0, k] = law[0, k]
    status = forward_from_twists(ints, floats, law, q, v, tau, work, multi, world, a)
    if status != OK:
        return status
    efforts = changes[0, 0]
    status = motions_and_slopes(ints, floats, numbers, stages, spare, slopes, q, v, a, work, world, sums, efforts, KNOWN)
    if status != OK:
        return status
    outward_columns(ints, floats, spare, slopes, v, a, work, sums, columns)
    linearise(ints, floats, spare, slopes, paths, q, v, work, world, sums, columns, changes)
    return _to_forward(ints, tree, changes, result)


@AllocatingHelper
def _forward_rooms(ints, paths, law):
    """Return the rooms of `_forward_slopes`; `law` is None for rigid systems."""
    n, count = ints[0, NV], ints[0, ELEMENTS]
    spare = slopes = law
    if law is not None:
        spare, slopes = np.empty((1, ints[0, LAW_SIZE])), np.empty((1, ints[0, SLOPES_SIZE]))
    return (
        spare,
        slopes,
        np.empty((count, FORWARD_COLUMNS)),
        np.empty((ints[0, MULTIS], MULTI_COLUMNS)),
        np.empty((world_rows(ints), 12)),
        np.empty((sum_rows(ints), SUM_COLUMNS if law is None else FULL_COLUMNS)),
        np.empty((paths.shape[1], COLUMN_COLUMNS)),
        np.empty((3, n, n)),
    )


@pair(INTS, FLOATS, FLOATS, INTS, INTS, INTS, VECTOR, VECTOR, VECTOR, CUBE)
def forward_derivatives(ints, floats, numbers, stages, tree, paths, q, v, tau, result):
    """Derivatives (3, nv, nv) of forward dynamics by q, v and tau."""
    if not sizes_fit(ints, q, v, tau, tau) or not _result_fits(ints, result):
        return WRONG_SIZE
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    rooms = _forward_rooms(ints, paths, law)
    status = _forward_slopes(ints, floats, numbers, stages, tree, paths, q, v, tau, law, rooms, np.empty(ints[0, NV]), result)
    return status if status != OK else status_of_slopes(result)


@pair(INTS, FLOATS, FLOATS, INTS, INTS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, FLOATS, FLOATS)
def linear_matrices(ints, floats, numbers, stages, tree, paths, q, v, tau, a, A, B):
    """Accelerations, and ``A`` (2nv x 2nv) and ``B`` (2nv x nv) of the linearisation by q, v and tau."""
    n = ints[0, NV]
    if not sizes_fit(ints, q, v, tau, a) or A.size != 4 * n * n or B.size != 2 * n * n:
        return WRONG_SIZE
    law = np.empty((1, ints[0, LAW_SIZE])) if LAWS else None
    rooms, slopes = _forward_rooms(ints, paths, law), np.empty((3, n, n))
    status = _forward_slopes(ints, floats, numbers, stages, tree, paths, q, v, tau, law, rooms, a, slopes)
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
    world, efforts = np.empty((world_rows(ints), 12)), np.empty(a.size)
    status = start_inverse(ints, floats, numbers, stages, law, q, v, work)
    if status == OK:
        status = motions_and_slopes(ints, floats, numbers, stages, law, slopes, q, v, a, work, world, sums, efforts, UNKNOWN)
    if status == OK:
        outward_columns(ints, floats, law, slopes, v, a, work, sums, columns)
    return status


@entry(INTS, FLOATS, INTEGER, FLOATS, VECTOR, CUBE, result=NOTHING)
def port_derivatives(paths, columns, last, frame, twist, result):
    """Derivatives (4, 6, nv) of a port's motion, zero before; see `port_slopes`."""
    port_slopes(paths, columns, last, frame, (twist[0], twist[1], twist[2], twist[3], twist[4], twist[5]), result)
