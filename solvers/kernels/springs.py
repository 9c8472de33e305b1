"""Springs, dampers, friction and stops of joints: features, which systems without them do not wait for.

An entry that is NaN tells that a feature could not be compiled; the reason waits for `callbacks.raise_pending`.
"""

from __future__ import annotations

import math

import numpy as np

from titop.solvers.kernels.algebra import cross, dot, six
from titop.solvers.kernels.layout import (
    AXIAL,
    DAMPING,
    ELEMENTS,
    FLOAT_COLUMNS,
    FREE,
    FRICTION,
    INT_COLUMNS,
    KIND,
    OK,
    REST,
    SIZE,
    SPHERICAL,
    SPRINGS,
    STIFFNESS,
    Q,
    V,
)
from titop.solvers.kernels.rotation_series import coupling_coefficients, rotation_coefficients
from titop.solvers.kernels.rotations import cross3, log_rate_transposed, pose_log, quaternion_log
from titop.solvers.kernels.stages import address_of, floats_at, ints_at, vector_at
from titop.solvers.kernels.stops import stop_energy, stop_load, stop_slopes
from titop.solvers.native.kernel import feature, helper


@helper
def _given(ints, floats, q, v):
    """Return addresses and lengths of what features begin with."""
    return address_of(ints, 0), ints.shape[0], address_of(floats, 0), address_of(q, 0), q.size, address_of(v, 0), v.size


@helper
def add_springs(ints, floats, q, v, tau):
    """Add what springs, dampers, friction and stops do to `tau`."""
    if spring_efforts((*_given(ints, floats, q, v), address_of(tau, 0))) != OK:
        tau[0] = np.nan


@helper
def subtract_spring_slopes(ints, floats, q, v, dq, dv):
    """Subtract the derivatives of springs with plain coordinates, dampers, friction and stops."""
    if spring_slopes((*_given(ints, floats, q, v), address_of(dq, 0), address_of(dv, 0))) != OK:
        dq[0, 0] = np.nan


@helper
def subtract_spring_changes(ints, floats, q, v, dq, dv, change):
    """Subtract what springs, as in `subtract_spring_slopes`, make of changes dq and dv from `change`."""
    if spring_changes((*_given(ints, floats, q, v), address_of(dq, 0), address_of(dv, 0), address_of(change, 0))) != OK:
        change[0] = np.nan


@helper
def subtract_spring_pulls(ints, floats, q, v, dual, by_q, by_v):
    """Subtract the derivatives of springs, transposed, times `dual` from `by_q` and `by_v`."""
    if spring_pulls((*_given(ints, floats, q, v), address_of(dual, 0), address_of(by_q, 0), address_of(by_v, 0))) != OK:
        by_q[0] = np.nan


@helper
def add_elastic_energy(ints, floats, q, energy):
    """Add the energy of all springs and stops (J) to ``energy[0]``."""
    if ints[0, SPRINGS] > 0:
        if spring_energy((*_given(ints, floats, q, q), address_of(energy, 0))) != OK:
            energy[0] = np.nan


@feature(8)
def spring_efforts(ints, rows, floats, q, nq, v, nv, tau):
    tables = ints_at(ints, rows, INT_COLUMNS), floats_at(floats, rows, FLOAT_COLUMNS)
    _add_springs(tables[0], tables[1], vector_at(q, nq), vector_at(v, nv), vector_at(tau, nv))
    return OK


@feature(9)
def spring_slopes(ints, rows, floats, q, nq, v, nv, dq, dv):
    tables = ints_at(ints, rows, INT_COLUMNS), floats_at(floats, rows, FLOAT_COLUMNS)
    _subtract_slopes(tables[0], tables[1], vector_at(q, nq), vector_at(v, nv), floats_at(dq, nv, nv), floats_at(dv, nv, nv))
    return OK


@feature(10)
def spring_changes(ints, rows, floats, q, nq, v, nv, dq, dv, change):
    tables = ints_at(ints, rows, INT_COLUMNS), floats_at(floats, rows, FLOAT_COLUMNS)
    states, changes = (vector_at(q, nq), vector_at(v, nv)), (vector_at(dq, nv), vector_at(dv, nv))
    _subtract_changes(tables[0], tables[1], states[0], states[1], changes[0], changes[1], vector_at(change, nv))
    return OK


@feature(10)
def spring_pulls(ints, rows, floats, q, nq, v, nv, dual, by_q, by_v):
    tables = ints_at(ints, rows, INT_COLUMNS), floats_at(floats, rows, FLOAT_COLUMNS)
    states, pulls = (vector_at(q, nq), vector_at(v, nv)), (vector_at(by_q, nv), vector_at(by_v, nv))
    _subtract_pulls(tables[0], tables[1], states[0], states[1], vector_at(dual, nv), pulls[0], pulls[1])
    return OK


@feature(8)
def spring_energy(ints, rows, floats, q, nq, _v, _nv, energy):
    vector_at(energy, 1)[0] += _elastic_energy(
        ints_at(ints, rows, INT_COLUMNS), floats_at(floats, rows, FLOAT_COLUMNS), vector_at(q, nq)
    )
    return OK


@helper
def _add_springs(ints, floats, q, v, tau):
    """Add ``-J^T K delta - D v``, dry friction and stops of every spring to `tau`."""
    row = ints[0, ELEMENTS]
    for _ in range(ints[0, SPRINGS]):
        n, k, kind = ints[row, SIZE], ints[row, V], ints[row, KIND]
        delta = displacement(ints, floats, row, q)
        pull = (
            _row_times(floats, row, 0, n, delta),
            _row_times(floats, row, 1, n, delta),
            _row_times(floats, row, 2, n, delta),
            _row_times(floats, row, 3, n, delta),
            _row_times(floats, row, 4, n, delta),
            _row_times(floats, row, 5, n, delta),
        )
        if kind == SPHERICAL:
            x, y, z = log_rate_transposed((delta[0], delta[1], delta[2]), (pull[0], pull[1], pull[2]))
            pull = x, y, z, 0.0, 0.0, 0.0
        elif kind == FREE:
            pull = _pull_back_pose(delta, pull)
        for i in range(n):
            tau[k + i] -= pull[i]
            for j in range(n):
                tau[k + i] -= floats[row + i, DAMPING + j] * v[k + j]
            tau[k + i] -= _friction(floats, row + i, v[k + i])
            tau[k + i] -= stop_load(floats, row + i, q[ints[row, Q] + i], v[k + i])
        row += n


@helper
def _friction(floats, row, rate):
    """Return the dry friction against a rate (see `titop.blocks.joints.friction`)."""
    coulomb, breakaway = floats[row, FRICTION], floats[row, FRICTION + 1]
    if coulomb == 0.0 and breakaway == 0.0:
        return 0.0
    stribeck, smoothing = floats[row, FRICTION + 2], floats[row, FRICTION + 3]
    return (coulomb + (breakaway - coulomb) * math.exp(-((rate / stribeck) ** 2))) * math.tanh(rate / smoothing)


@helper
def _friction_slope(floats, row, rate):
    """Return the derivative of the dry friction against a rate."""
    coulomb, breakaway = floats[row, FRICTION], floats[row, FRICTION + 1]
    if coulomb == 0.0 and breakaway == 0.0:
        return 0.0
    stribeck, smoothing = floats[row, FRICTION + 2], floats[row, FRICTION + 3]
    peak = (breakaway - coulomb) * math.exp(-((rate / stribeck) ** 2))
    side = math.tanh(rate / smoothing)
    return (coulomb + peak) * (1.0 - side * side) / smoothing - 2.0 * rate / (stribeck * stribeck) * peak * side


@helper
def _row_times(floats, row, i, n, delta):
    """Return row i of ``K delta``, zero beyond the spring's n rows."""
    return dot(six(floats, row + i, STIFFNESS), delta) if i < n else 0.0


@helper
def _elastic_energy(ints, floats, q):
    """Return the energy of all springs and stops (J)."""
    energy, row = 0.0, ints[0, ELEMENTS]
    for _ in range(ints[0, SPRINGS]):
        n = ints[row, SIZE]
        delta = displacement(ints, floats, row, q)
        for i in range(n):
            energy += 0.5 * delta[i] * _row_times(floats, row, i, n, delta)
            energy += stop_energy(floats, row + i, q[ints[row, Q] + i])
        row += n
    return energy


@helper
def displacement(ints, floats, row, q):
    """Return ``difference(rest, q)`` of the spring at `row`, with zeros up to six entries."""
    k, kind = ints[row, Q], ints[row, KIND]
    if kind == SPHERICAL:
        x, y, z = _turn(floats, row, REST, q, k)
        return x, y, z, 0.0, 0.0, 0.0
    if kind == FREE:
        phi = _turn(floats, row, REST + 3, q, k + 3)
        return pose_log(_seen_from_rest(floats, row, q, k), phi)
    n = ints[row, SIZE]
    return (
        q[k] - floats[row, REST],
        q[k + 1] - floats[row, REST + 1] if n > 1 else 0.0,
        q[k + 2] - floats[row, REST + 2] if n > 2 else 0.0,
        0.0,
        0.0,
        0.0,
    )


@helper
def _seen_from_rest(floats, row, q, k):
    """Return the position at ``q[k]`` in the frame of a free joint's rest configuration."""
    dx, dy, dz = q[k] - floats[row, REST], q[k + 1] - floats[row, REST + 1], q[k + 2] - floats[row, REST + 2]
    x, y, z, w = -floats[row, REST + 3], -floats[row, REST + 4], -floats[row, REST + 5], floats[row, REST + 6]
    tx, ty, tz = cross(x, y, z, dx, dy, dz)
    ux, uy, uz = cross(x, y, z, tx, ty, tz)
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return dx + s * (w * tx + ux), dy + s * (w * ty + uy), dz + s * (w * tz + uz)


@helper
def _turn(floats, row, o, q, k):
    """Return the rotation vector from the rest quaternion at ``floats[row, o]`` to the one at ``q[k]``."""
    ax, ay, az, aw = -floats[row, o], -floats[row, o + 1], -floats[row, o + 2], floats[row, o + 3]
    bx, by, bz, bw = q[k], q[k + 1], q[k + 2], q[k + 3]
    cx, cy, cz = cross(ax, ay, az, bx, by, bz)
    x, y, z = aw * bx + bw * ax + cx, aw * by + bw * ay + cy, aw * bz + bw * az + cz
    w = aw * bw - ax * bx - ay * by - az * bz
    return quaternion_log(x, y, z, w)


@helper
def _pull_back_pose(delta, f):
    """Return ``J^-T f``, J the right Jacobian of SE(3) at delta.

    With j SO(3)'s right Jacobian and c the coupling, ``J^-1 = [[j^-1, -j^-1 c j^-1], [0, j^-1]]``.
    """
    phi = delta[3], delta[4], delta[5]
    force = log_rate_transposed(phi, (f[0], f[1], f[2]))
    coupled = _coupling_transposed((delta[0], delta[1], delta[2]), phi, force)
    torque = log_rate_transposed(phi, (f[3] - coupled[0], f[4] - coupled[1], f[5] - coupled[2]))
    return force[0], force[1], force[2], torque[0], torque[1], torque[2]


@helper
def _coupling_transposed(rho, phi, f):
    """Return ``c^T f`` for the coupling c of `titop.blocks.basics.spatial`: words in the cross products with phi and rho."""
    s = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    _, _, c1 = rotation_coefficients(s)
    c2, c3 = coupling_coefficients(s)
    x, p = cross3(rho, f), cross3(phi, f)
    xp, px, pp = cross3(rho, p), cross3(phi, x), cross3(phi, p)
    pxp, xpp, ppx = cross3(phi, xp), cross3(rho, pp), cross3(phi, px)
    pxpp, ppxp = cross3(phi, xpp), cross3(phi, pxp)
    return (
        0.5 * x[0] + c1 * (xp[0] + px[0] + pxp[0]) + c2 * (xpp[0] + ppx[0] - 3.0 * pxp[0]) + c3 * (ppxp[0] + pxpp[0]),
        0.5 * x[1] + c1 * (xp[1] + px[1] + pxp[1]) + c2 * (xpp[1] + ppx[1] - 3.0 * pxp[1]) + c3 * (ppxp[1] + pxpp[1]),
        0.5 * x[2] + c1 * (xp[2] + px[2] + pxp[2]) + c2 * (xpp[2] + ppx[2] - 3.0 * pxp[2]) + c3 * (ppxp[2] + pxpp[2]),
    )


@helper
def _subtract_slopes(ints, floats, q, v, dq, dv):
    """Subtract the derivatives of springs with plain coordinates, dampers, friction and stops."""
    row = ints[0, ELEMENTS]
    for _ in range(ints[0, SPRINGS]):
        n, k = ints[row, SIZE], ints[row, V]
        for i in range(n):
            for j in range(n):
                by_position, by_rate = _slope(ints, floats, row, i, j, q, v)
                dq[k + i, k + j] += by_position
                dv[k + i, k + j] += by_rate
        row += n


@helper
def _slope(ints, floats, row, i, j, q, v):
    """Return minus the derivatives of effort i of the spring at `row` by coordinate j and its rate."""
    by_position = floats[row + i, STIFFNESS + j] if ints[row, KIND] == AXIAL else 0.0
    by_rate = floats[row + i, DAMPING + j]
    if i == j:
        stop_by_position, stop_by_rate = stop_slopes(floats, row + i, q[ints[row, Q] + i], v[ints[row, V] + i])
        by_position += stop_by_position
        by_rate += _friction_slope(floats, row + i, v[ints[row, V] + i]) + stop_by_rate
    return by_position, by_rate


@helper
def _subtract_changes(ints, floats, q, v, dq, dv, change):
    row = ints[0, ELEMENTS]
    for _ in range(ints[0, SPRINGS]):
        n, k = ints[row, SIZE], ints[row, V]
        for i in range(n):
            for j in range(n):
                by_position, by_rate = _slope(ints, floats, row, i, j, q, v)
                change[k + i] += by_position * dq[k + j] + by_rate * dv[k + j]
        row += n


@helper
def _subtract_pulls(ints, floats, q, v, dual, by_q, by_v):
    row = ints[0, ELEMENTS]
    for _ in range(ints[0, SPRINGS]):
        n, k = ints[row, SIZE], ints[row, V]
        for i in range(n):
            for j in range(n):
                by_position, by_rate = _slope(ints, floats, row, i, j, q, v)
                by_q[k + j] += by_position * dual[k + i]
                by_v[k + j] += by_rate * dual[k + i]
        row += n
