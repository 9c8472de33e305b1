"""The entry points of time derivatives of rigid trees: dynamics and motions. As in `dynamics_entries`, all return a status."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.whole_passes import status_of_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.series import rooms
from titop.solvers.kernels.series.coefficients import to_coefficients, to_derivatives
from titop.solvers.kernels.series.poses import write_pose_series
from titop.solvers.kernels.series.series_passes import hybrid_series, inverse_series
from titop.solvers.native.kernel import shared
from titop.solvers.native.signatures import FLOATS, INTEGER, INTS, MASK, RESULT_ROWS, STATE, VECTOR

#: A matrix of a state.
STATE_ROWS = STATE._replace(ndim=2)


@shared
def _completed(ints, floats, changes, imposed, q, v, accelerations, efforts):
    """Complete coefficients of accelerations and efforts; return a status."""
    count, n = efforts.shape
    rates, passive = np.empty((count + 1, n), q.dtype), np.empty((count, n), q.dtype)
    for j in range(n):
        rates[0, j] = v[j]
    return hybrid_series((ints, floats), changes, imposed, q, rates, accelerations, efforts, passive)


@pair(FLOATS, INTS, FLOATS, STATE, STATE_ROWS, RESULT_ROWS)
def inverse_dynamics_series(changes, ints, floats, q, v_series, efforts):
    """Efforts and their derivatives (orders, nv), from v, dv/dt and so on (one more row, at least)."""
    n, count = ints[0, layout.NV], efforts.shape[0]
    if (
        q.size != ints[0, layout.NQ]
        or v_series.shape[1] != n
        or efforts.shape[1] != n
        or v_series.shape[0] < count + 1
        or count == 0
    ):
        return layout.WRONG_SIZE
    rates, accelerations = np.empty((count + 1, n), q.dtype), np.empty((count, n), q.dtype)
    coefficients = np.empty((count, n), q.dtype)
    to_coefficients(v_series, 0, count + 1, rates)
    to_coefficients(v_series, 1, count, accelerations)
    work = np.empty((ints[0, layout.ELEMENTS], rooms.INVERSE_WORK), q.dtype)
    status = inverse_series(ints, floats, changes, q, rates, accelerations, work, coefficients)
    if status != layout.OK:
        return status
    to_derivatives(coefficients, 0, efforts)
    return status_of_rows(efforts)


@pair(FLOATS, INTS, FLOATS, STATE, STATE, STATE_ROWS, RESULT_ROWS)
def forward_dynamics_series(changes, ints, floats, q, v, tau_series, a_series):
    """Accelerations and their derivatives (orders, nv), from efforts and theirs (as many rows, at least)."""
    n, count = ints[0, layout.NV], a_series.shape[0]
    if q.size != ints[0, layout.NQ] or v.size != n or tau_series.shape[1] != n or a_series.shape[1] != n:
        return layout.WRONG_SIZE
    if count == 0 or tau_series.shape[0] < count:
        return layout.WRONG_SIZE
    accelerations, efforts = np.empty((count, n), q.dtype), np.empty((count, n), q.dtype)
    to_coefficients(tau_series, 0, count, efforts)
    status = _completed(ints, floats, changes, None, q, v, accelerations, efforts)
    if status != layout.OK:
        return status
    to_derivatives(accelerations, 0, a_series)
    return status_of_rows(a_series)


@pair(FLOATS, MASK, INTS, FLOATS, STATE, STATE, STATE_ROWS, STATE_ROWS, RESULT_ROWS, RESULT_ROWS)
def hybrid_dynamics_series(changes, imposed, ints, floats, q, v, tau_series, a_series, accelerations, efforts):
    """Complete accelerations and efforts, and their derivatives (orders, nv each), from those that are imposed."""
    n, count = ints[0, layout.NV], accelerations.shape[0]
    if q.size != ints[0, layout.NQ] or v.size != n or imposed.size != n or count == 0 or efforts.shape[0] != count:
        return layout.WRONG_SIZE
    for given in (tau_series, a_series, accelerations, efforts):
        if given.shape[0] < count or given.shape[1] != n:
            return layout.WRONG_SIZE
    moved, driven = np.empty((count, n), q.dtype), np.empty((count, n), q.dtype)
    to_coefficients(a_series, 0, count, moved)
    to_coefficients(tau_series, 0, count, driven)
    if min(status_of_rows(moved), status_of_rows(driven)) != layout.OK:  # also where they are not read
        return layout.NOT_FINITE
    status = _completed(ints, floats, changes, imposed, q, v, moved, driven)
    if status != layout.OK:
        return status
    to_derivatives(moved, 0, accelerations)
    to_derivatives(driven, 0, efforts)
    for k in range(count):
        for j in range(n):
            if not imposed[j]:
                efforts[k, j] = tau_series[k, j]
    return min(status_of_rows(accelerations), status_of_rows(efforts))


@pair(INTS, FLOATS, INTEGER, VECTOR, STATE, STATE_ROWS, RESULT_ROWS)
def motion_series(ints, floats, element, frame, q, v_series, result):
    """A port's rotation (9), position (3) and twist (6) and their derivatives (orders + 1, 18), from v, dv/dt and so on.

    The port's pose in its element is `frame` (12). The last derivative of the twist is not known, and zero.
    """
    n, count = ints[0, layout.NV], result.shape[0]
    if q.size != ints[0, layout.NQ] or v_series.shape[1] != n or v_series.shape[0] + 1 < count or count < 2:
        return layout.WRONG_SIZE
    if result.shape[1] != 18:
        return layout.WRONG_SIZE
    rates, poses = np.empty((count - 1, n), q.dtype), np.zeros((count, 18), q.dtype)
    work = np.empty((ints[0, layout.ELEMENTS], rooms.INVERSE_WORK), q.dtype)
    for c in range(12):
        poses[0, c] = frame[c]
    to_coefficients(v_series, 0, count - 1, rates)
    status = write_pose_series(ints, floats, element, q, rates, work, poses)
    if status != layout.OK:
        return status
    to_derivatives(poses, 0, result)
    return status_of_rows(result)
