"""The entry points: what Python calls. Each returns a status (see `layout`).

Rigid systems run whole in one call (`inverse_dynamics`, `forward_dynamics`). With general blocks the caller fills in
their laws between `twists` and the stage that follows.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, float64, int64, void
from titop.solvers.kernels.algebra import helper
from titop.solvers.kernels.compilation import entry
from titop.solvers.kernels.composite import composite_inertias, fill_mass_matrix
from titop.solvers.kernels.derivatives import inward_sums, outward_columns, port_slopes
from titop.solvers.kernels.factor import factor, solve_rows
from titop.solvers.kernels.forward import inward_elimination, outward_accelerations, rigid_laws
from titop.solvers.kernels.held_loads import hold_loads
from titop.solvers.kernels.inverse import inward_wrenches, outward_wrenches
from titop.solvers.kernels.joints import place
from titop.solvers.kernels.kinematics import normalise, outward_twists, subtract_brackets, write_rates
from titop.solvers.kernels.layout import (
    COLUMN_COLUMNS,
    ELEMENTS,
    FORWARD_COLUMNS,
    INERTIAL_LOADS,
    INVERSE_COLUMNS,
    LOADS,
    MULTI_COLUMNS,
    MULTIS,
    NOT_FINITE,
    NQ,
    NV,
    OK,
    SUM_COLUMNS,
    WRONG_SIZE,
)
from titop.solvers.kernels.observe import add_energy, add_mass, add_momentum, element_jacobian, world_poses
from titop.solvers.kernels.pack import pack_tables
from titop.solvers.kernels.passive import add_passive_efforts, apply_loads, elastic_energy
from titop.solvers.kernels.passive_derivatives import subtract_passive_derivatives

_I, _F, _X, _T = int64[:, ::1], float64[:, ::1], float64[::1], float64[:, :, ::1]


@helper
def _sizes_fit(ints, q, v, x, out):
    return q.size == ints[0, NQ] and v.size == ints[0, NV] and x.size == ints[0, NV] and out.size == ints[0, NV]


@helper
def _world_rows(ints):
    """Return the number of rows that `apply_loads` needs in `world`."""
    return ints[0, ELEMENTS] if ints[0, INERTIAL_LOADS] else 0


@helper
def _status_of(out):
    total = 0.0
    for k in range(out.size):
        total += 0.0 * out[k]
    return OK if total == 0.0 else NOT_FINITE


@helper
def _inverse(ints, floats, law, q, v, a, work, world, tau):
    """Turn known twists (in `work`) and accelerations into efforts."""
    for k in range(tau.size):
        tau[k] = 0.0
    add_passive_efforts(ints, floats, q, v, tau)
    for k in range(tau.size):
        tau[k] = -tau[k]
    outward_wrenches(ints, floats, law, v, a, work, tau)
    if ints[0, LOADS] > 0:
        apply_loads(ints, floats, law, work, world, False)
    inward_wrenches(ints, floats, law, a, work, tau)


@helper
def _inverse_rigid(ints, floats, q, v, a, work, world, tau):
    status = outward_twists(ints, floats, None, q, v, work)
    if status != OK:
        return status
    _inverse(ints, floats, None, q, v, a, work, world, tau)
    return _status_of(tau)


@helper
def _forward_rigid(ints, floats, q, v, tau, work, multi, world, a):
    status = outward_twists(ints, floats, None, q, v, work)
    if status != OK:
        return status
    for k in range(a.size):
        a[k] = tau[k]
    add_passive_efforts(ints, floats, q, v, a)
    rigid_laws(ints, floats, work)
    if ints[0, LOADS] > 0:
        apply_loads(ints, floats, None, work, world, False)
    status = inward_elimination(ints, floats, None, v, a, a, None, work, multi)
    if status != OK:
        return status
    outward_accelerations(ints, floats, None, v, a, a, None, work, multi)
    return _status_of(a)


@entry(int64(_I, _F, _X, _X, _X, _X))
def inverse_dynamics(ints, floats, q, v, a, tau):
    """Inverse dynamics of a rigid system into `tau`."""
    if not _sizes_fit(ints, q, v, a, tau):
        return WRONG_SIZE
    work, result = np.empty((ints[0, ELEMENTS], INVERSE_COLUMNS)), np.empty(tau.size)
    status = _inverse_rigid(ints, floats, q, v, a, work, np.empty((_world_rows(ints), 12)), result)
    for k in range(tau.size):  # last: `tau` may share memory with an argument
        tau[k] = result[k]
    return status


@entry(int64(_I, _F, _X, _X, _X, _X))
def forward_dynamics(ints, floats, q, v, tau, a):
    """Forward dynamics of a rigid system into `a`."""
    if not _sizes_fit(ints, q, v, tau, a):
        return WRONG_SIZE
    work, result = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty(a.size)
    multi = np.empty((ints[0, MULTIS], MULTI_COLUMNS))
    status = _forward_rigid(ints, floats, q, v, tau, work, multi, np.empty((_world_rows(ints), 12)), result)
    for k in range(a.size):  # last: `a` may share memory with an argument
        a[k] = result[k]
    return status


@entry(int64(_X, float64, _X, _I, _F, _X))
def state_derivative(dy, t, y, ints, floats, tau):
    """Derivative of ``y = [q, v]`` of a rigid system; quaternions are taken as their unit multiples.

    NaN where the status is not `OK`, for integrators that do not look at it.
    """
    nq = ints[0, NQ]
    q, v = y[:nq].copy(), y[nq:]
    normalise(ints, q)
    work = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS))
    multi, world = np.empty((ints[0, MULTIS], MULTI_COLUMNS)), np.empty((_world_rows(ints), 12))
    write_rates(ints, q, v, dy)
    status = _forward_rigid(ints, floats, q, v, tau, work, multi, world, dy[nq:])
    if status != OK:
        dy[:] = np.nan
    return status


@entry(int64(_I, _F, _F, _F, _F, _F))
def inverse_batch(ints, floats, q, v, a, tau):
    """Inverse dynamics of a rigid system for stacked states."""
    work = np.empty((ints[0, ELEMENTS], INVERSE_COLUMNS))
    world = np.empty((_world_rows(ints), 12))
    for row in range(q.shape[0]):
        status = _inverse_rigid(ints, floats, q[row], v[row], a[row], work, world, tau[row])
        if status != OK:
            return status
    return OK


@entry(int64(_I, _F, _F, _F, _F, _F))
def forward_batch(ints, floats, q, v, tau, a):
    """Forward dynamics of a rigid system for stacked states."""
    work = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS))
    multi = np.empty((ints[0, MULTIS], MULTI_COLUMNS))
    world = np.empty((_world_rows(ints), 12))
    for row in range(q.shape[0]):
        status = _forward_rigid(ints, floats, q[row], v[row], tau[row], work, multi, world, a[row])
        if status != OK:
            return status
    return OK


@entry(int64(_I, _F, _F, _X, _X, _F))
def twists(ints, floats, law, q, v, work):
    """Poses and twists of all elements into `work`."""
    return outward_twists(ints, floats, law, q, v, work)


@entry(int64(_I, _F, _F, _X, _X, _X, _F, _X))
def inverse_stage(ints, floats, law, q, v, a, work, tau):
    """Inverse dynamics from known twists and laws; leaves the joints' wrenches and the accelerations in `work`."""
    _inverse(ints, floats, law, q, v, a, work, np.empty((_world_rows(ints), 12)), tau)
    return _status_of(tau)


@entry(void(_I, _F, _F, _F))
def law_loads(ints, floats, law, work):
    """Subtract loads on general blocks from their laws."""
    apply_loads(ints, floats, law, work, np.empty((_world_rows(ints), 12)), True)


@entry(int64(_I, _F, _F, _X, _X, _X, _X, boolean[::1], _F))
def hybrid_stage(ints, floats, law, q, v, a, tau, imposed, work):
    """Hybrid dynamics from known twists and laws: complete `a` and `tau`."""
    passive = np.zeros(tau.size)
    add_passive_efforts(ints, floats, q, v, passive)
    effort = tau + passive
    rigid_laws(ints, floats, work)
    if ints[0, LOADS] > 0:
        apply_loads(ints, floats, law, work, np.empty((_world_rows(ints), 12)), False)
    multi = np.empty((ints[0, MULTIS], MULTI_COLUMNS))
    status = inward_elimination(ints, floats, law, v, a, effort, imposed, work, multi)
    if status != OK:
        return status
    outward_accelerations(ints, floats, law, v, a, effort, imposed, work, multi)
    for k in range(tau.size):
        if imposed[k]:
            tau[k] = effort[k] - passive[k]
    return min(_status_of(tau), _status_of(a))


@entry(int64(_I, _F, _X, _F))
def rigid_mass_matrix(ints, floats, q, matrix):
    """The mass matrix of a rigid system into `matrix`."""
    n = ints[0, NV]
    if q.size != ints[0, NQ] or matrix.shape[0] != n or matrix.shape[1] != n:
        return WRONG_SIZE
    if _status_of(q) != OK:
        return NOT_FINITE
    work = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS))
    for i in range(1, ints[0, ELEMENTS]):
        status = place(ints, floats, i, q, work)
        if status != OK:
            return status
    matrix[:] = 0.0
    composite_inertias(ints, floats, None, work)
    fill_mass_matrix(ints, floats, None, work, matrix)
    return OK


@entry(void(_I, _F, _F, _F, _F))
def mass_matrix(ints, floats, law, work, matrix):
    """The mass matrix from known poses and laws into `matrix`, which is zero before."""
    composite_inertias(ints, floats, law, work)
    fill_mass_matrix(ints, floats, law, work, matrix)


@entry(void(_I, _F, _X, _X, _X))
def passive_efforts(ints, floats, q, v, tau):
    """Add springs, dampers and armatures' gyroscopic efforts to `tau`."""
    add_passive_efforts(ints, floats, q, v, tau)


@entry(void(_I, _F, _F, _X, _X, _F, _F, _X))
def energy_momentum(ints, floats, law, q, v, work, world, result):
    """World poses into `world`; energies (3), momentum (6), first moment and mass (4) into `result`, zero before."""
    world_poses(ints, law, work, world)
    add_energy(ints, floats, law, v, work, world, result)
    result[2] += elastic_energy(ints, floats, q)
    add_momentum(ints, floats, law, v, work, world, result[3:9])
    add_mass(ints, floats, law, world, result[9:13])


@entry(void(_I, _F, _F, _F, int64, _F))
def jacobian(ints, floats, law, work, element, result):
    """The Jacobian (6 x nv) of an element's twist, in its frame, into `result`, which is zero before."""
    pose = np.zeros((1, 12))
    pose[0, 0] = pose[0, 4] = pose[0, 8] = 1.0
    element_jacobian(ints, floats, law, work, element, pose, result)


@entry(int64(_I, _I, _F, _I, _X, _F, _F, _F))
def pack(ints, sources, constants, port_table, params, floats, frames, ports):
    """From parameters to tables; returns 1 when a parameter is unusable."""
    return pack_tables(ints, sources, constants, port_table, params, floats, frames, ports)


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


@entry(int64(_I, _F, _I, _X, _X, _X, _T))
def inverse_derivatives(ints, floats, paths, q, v, a, result):
    """Derivatives (3, nv, nv) of a rigid system's inverse dynamics by q, v and a."""
    if not _sizes_fit(ints, q, v, a, a) or not _result_fits(ints, result):
        return WRONG_SIZE
    count = ints[0, ELEMENTS]
    work, world = np.empty((count, INVERSE_COLUMNS)), np.empty((_world_rows(ints), 12))
    status = outward_twists(ints, floats, None, q, v, work)
    if status != OK:
        return status
    sums, columns = np.empty((count, SUM_COLUMNS)), np.empty((paths.shape[1], COLUMN_COLUMNS))
    _linearise_rigid(ints, floats, paths, v, a, work, world, sums, columns, result)
    return _status_of(result.ravel())


@helper
def _forward_slopes(ints, floats, tree, paths, q, v, tau, work, multi, world, sums, columns, changes, a, result):
    """Accelerations of a rigid system into `a`, derivatives of its forward dynamics into `result`."""
    status = _forward_rigid(ints, floats, q, v, tau, work, multi, world, a)
    if status != OK:
        return status
    _linearise_rigid(ints, floats, paths, v, a, work, world, sums, columns, changes)
    _to_forward(tree, changes, result)
    return OK


@entry(int64(_I, _F, _I, _I, _X, _X, _X, _T))
def forward_derivatives(ints, floats, tree, paths, q, v, tau, result):
    """Derivatives (3, nv, nv) of a rigid system's forward dynamics by q, v and tau."""
    if not _sizes_fit(ints, q, v, tau, tau) or not _result_fits(ints, result):
        return WRONG_SIZE
    n, count = ints[0, NV], ints[0, ELEMENTS]
    work, world, multi = (
        np.empty((count, FORWARD_COLUMNS)),
        np.empty((_world_rows(ints), 12)),
        np.empty((ints[0, MULTIS], MULTI_COLUMNS)),
    )
    sums, columns = np.empty((count, SUM_COLUMNS)), np.empty((paths.shape[1], COLUMN_COLUMNS))
    a, changes = np.empty(n), np.empty((3, n, n))
    status = _forward_slopes(ints, floats, tree, paths, q, v, tau, work, multi, world, sums, columns, changes, a, result)
    return status if status != OK else _status_of(result.ravel())


@entry(int64(_I, _F, _I, _I, _X, _X, _X, _X, _F, _F))
def linear_matrices(ints, floats, tree, paths, q, v, tau, a, A, B):
    """Accelerations, and ``A`` (2nv x 2nv) and ``B`` (2nv x nv) of a rigid system's linearisation by q, v and tau."""
    n, count = ints[0, NV], ints[0, ELEMENTS]
    if not _sizes_fit(ints, q, v, tau, a) or A.size != 4 * n * n or B.size != 2 * n * n:
        return WRONG_SIZE
    work, world, multi = (
        np.empty((count, FORWARD_COLUMNS)),
        np.empty((_world_rows(ints), 12)),
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
    return _status_of(slopes.ravel())


@entry(void(_I, _F, _F, _X, _X, _F))
def motions_stage(ints, floats, law, v, a, work):
    """Accelerations, and the wrench that each block and its loads take alone, from known twists and laws."""
    outward_wrenches(ints, floats, law, v, a, work, np.empty(v.size))
    if ints[0, LOADS] > 0:
        apply_loads(ints, floats, law, work, np.empty((_world_rows(ints), 12)), False)


@entry(int64(_I, _F, _F, _F, _I, _X, _X, _F, _F, _F, _T))
def derivatives_stage(ints, floats, law, slopes, paths, v, a, work, sums, columns, result):
    """Derivatives of inverse dynamics from known laws, slopes, motions and wrenches of the blocks."""
    world = np.empty((_world_rows(ints), 12))
    if ints[0, INERTIAL_LOADS]:
        world_poses(ints, law, work, world)
    _linearise(ints, floats, law, slopes, paths, v, a, work, world, sums, columns, result)
    return _status_of(result.ravel())


@entry(void(_I, _F, _F, _F, _I, _X, _X, _F, _F, _F))
def columns_stage(ints, floats, law, slopes, paths, v, a, work, sums, columns):
    """How coordinates move the blocks, from known laws, slopes and motions."""
    outward_columns(ints, floats, law, slopes, v, a, work, sums, columns)


@entry(void(_I, _F, int64, _F, _X, _T))
def port_derivatives(paths, columns, last, frame, twist, result):
    """Derivatives (4, 6, nv) of a port's motion, zero before; see `port_slopes`."""
    port_slopes(paths, columns, last, frame, (twist[0], twist[1], twist[2], twist[3], twist[4], twist[5]), result)


@helper
def _to_forward(tree, changes, result):
    """Turn derivatives of inverse dynamics into those of forward dynamics: ``M^-1 [-dtau/dq, -dtau/dv, 1]``."""
    n = tree.shape[1]
    for i in range(n):
        for j in range(n):
            result[0, i, j], result[1, i, j] = -changes[0, i, j], -changes[1, i, j]
            result[2, i, j] = 1.0 if i == j else 0.0
    factor(tree, changes[2])
    for k in range(3):
        solve_rows(tree, changes[2], result[k])
