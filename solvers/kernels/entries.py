"""The entry points: what Python calls. Each returns a status (see `layout`).

Rigid systems run whole in one call (`inverse_dynamics`, `forward_dynamics`). With general blocks the caller fills in
their laws between `twists` and the stage that follows.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, float64, int64, void
from titop.solvers.kernels.algebra import helper
from titop.solvers.kernels.closures import apply_compliance, compliant_energy, constraints
from titop.solvers.kernels.compilation import entry
from titop.solvers.kernels.composite import composite_inertias, fill_mass_matrix
from titop.solvers.kernels.constrained import choose_rows, constrained_accelerations
from titop.solvers.kernels.forward import inward_elimination, outward_accelerations, rigid_laws
from titop.solvers.kernels.inverse import inward_wrenches, outward_wrenches
from titop.solvers.kernels.joints import place
from titop.solvers.kernels.kinematics import normalise, outward_twists, write_rates
from titop.solvers.kernels.layout import (
    CLOSURES,
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
    RANK,
    ROWS,
    SINGULAR,
    WRONG_SIZE,
)
from titop.solvers.kernels.observe import add_energy, add_mass, add_momentum, element_jacobian, world_poses
from titop.solvers.kernels.pack import pack_tables
from titop.solvers.kernels.passive import add_passive_efforts, apply_loads, elastic_energy

_I, _F, _X = int64[:, ::1], float64[:, ::1], float64[::1]


@helper
def _sizes_fit(ints, q, v, x, out):
    return q.size == ints[0, NQ] and v.size == ints[0, NV] and x.size == ints[0, NV] and out.size == ints[0, NV]


@helper
def _world_rows(ints):
    """Return the number of rows that `_apply_wrenches` needs in `world`."""
    return ints[0, ELEMENTS] if ints[0, INERTIAL_LOADS] or ints[0, CLOSURES] else 0


@helper
def _apply_wrenches(ints, floats, law, v, work, world, general):
    """Subtract loads and compliant closures from the laws of general blocks, or else from the biases of rigid bodies."""
    if ints[0, LOADS] > 0:
        apply_loads(ints, floats, law, work, world, general)
    if ints[0, CLOSURES] > 0:
        world_poses(ints, law, work, world)
        apply_compliance(ints, floats, law, v, work, world, general)


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
    _apply_wrenches(ints, floats, law, v, work, world, False)
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
    _apply_wrenches(ints, floats, None, v, work, world, False)
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


@entry(void(_I, _X, _X, _X))
def configuration_rates(ints, q, v, rates):
    """Write dq/dt of a rigid system into `rates`."""
    write_rates(ints, q, v, rates)


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


@entry(void(_I, _F, _F, _X, _F))
def law_wrenches(ints, floats, law, v, work):
    """Subtract loads and compliant closures on general blocks from their laws."""
    _apply_wrenches(ints, floats, law, v, work, np.empty((_world_rows(ints), 12)), True)


@entry(int64(_I, _F, _F, _X, _X, _X, _X, boolean[::1], _F))
def hybrid_stage(ints, floats, law, q, v, a, tau, imposed, work):
    """Hybrid dynamics from known twists and laws: complete `a` and `tau`."""
    passive = np.zeros(tau.size)
    add_passive_efforts(ints, floats, q, v, passive)
    effort = tau + passive
    rigid_laws(ints, floats, work)
    _apply_wrenches(ints, floats, law, v, work, np.empty((_world_rows(ints), 12)), False)
    multi = np.empty((ints[0, MULTIS], MULTI_COLUMNS))
    status = inward_elimination(ints, floats, law, v, a, effort, imposed, work, multi)
    if status != OK:
        return status
    outward_accelerations(ints, floats, law, v, a, effort, imposed, work, multi)
    for k in range(tau.size):
        if imposed[k]:
            tau[k] = effort[k] - passive[k]
    return min(_status_of(tau), _status_of(a))


@helper
def _constrained(tree, loops, ints, floats, law, q, v, tau, work, world, matrix, room, error, bias, chosen, columns, gram, a):
    """Turn known twists (in `work`) and efforts into the accelerations of a system with rigid closures; return a status.

    `room` (2 k x nv) holds the Jacobian of the constraints, and below it what `choose_rows` leaves of it.
    """
    k = loops[0, ROWS]
    if a.size == 0:
        return OK
    for j in range(a.size):
        a[j] = 0.0
    _inverse(ints, floats, law, q, v, a, work, world, matrix[0])
    world_poses(ints, law, work, world)
    constraints(ints, floats, law, loops, v, work, world, error, room[:k], bias)
    if choose_rows(room[:k], room[k:], chosen) < chosen.size:
        return SINGULAR
    for j in range(a.size):
        a[j] = tau[j] - matrix[0, j]
    matrix[:] = 0.0
    composite_inertias(ints, floats, law, work)
    fill_mass_matrix(ints, floats, law, work, matrix)
    status = constrained_accelerations(ints, tree, matrix, room[:k], bias, chosen, columns, gram, a)
    return status if status != OK else _status_of(a)


@entry(int64(_I, _I, _I, _F, _X, _X, _X, _X))
def constrained_forward(tree, loops, ints, floats, q, v, tau, a):
    """Forward dynamics of a rigid system with rigid closures into `a`."""
    if not _sizes_fit(ints, q, v, tau, a):
        return WRONG_SIZE
    work = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS))
    status = outward_twists(ints, floats, None, q, v, work)
    if status != OK:
        return status
    n, k, r = a.size, loops[0, ROWS], loops[0, RANK]
    space = np.empty((2 * k + n, n))
    error, chosen, columns, gram = np.empty(2 * k + n), np.empty(r, np.int64), np.empty((n, r + 1)), np.empty((r, r + 1))
    result, world = error[2 * k :], np.empty((ints[0, ELEMENTS], 12))
    status = _constrained(
        tree,
        loops,
        ints,
        floats,
        None,
        q,
        v,
        tau,
        work,
        world,
        space[2 * k :],
        space[: 2 * k],
        error[:k],
        error[k : 2 * k],
        chosen,
        columns,
        gram,
        result,
    )
    for j in range(n):  # last: `a` may share memory with an argument
        a[j] = result[j]
    return status


@entry(int64(_I, _I, _I, _F, _F, _X, _X, _X, _F, _X))
def constrained_stage(tree, loops, ints, floats, law, q, v, tau, work, a):
    """Forward dynamics with rigid closures from known twists and laws."""
    n, k, r = a.size, loops[0, ROWS], loops[0, RANK]
    return _constrained(
        tree,
        loops,
        ints,
        floats,
        law,
        q,
        v,
        tau,
        work,
        np.empty((ints[0, ELEMENTS], 12)),
        np.empty((n, n)),
        np.empty((2 * k, n)),
        np.empty(k),
        np.empty(k),
        np.empty(r, np.int64),
        np.empty((n, r + 1)),
        np.empty((r, r + 1)),
        a,
    )


@entry(void(_I, _I, _F, _F, _X, _F, _X, _F, _X))
def closure_rows(loops, ints, floats, law, v, work, error, jacobian, bias):
    """Values, Jacobian and bias of all constraints, from known twists, laws and accelerations (no coordinate accelerated)."""
    world = np.empty((ints[0, ELEMENTS], 12))
    world_poses(ints, law, work, world)
    constraints(ints, floats, law, loops, v, work, world, error, jacobian, bias)


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
    result[2] += elastic_energy(ints, floats, q) + compliant_energy(ints, floats, law, world)
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
