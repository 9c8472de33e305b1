"""The entry points of systems with flexible bodies: whole, or in stages between which Python fills in other general blocks.

As in `entries`, each returns a status; `bodies` and `modes` describe the flexible bodies (see `layout`).
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.composite import composite_inertias, fill_mass_matrix
from titop.solvers.kernels.kernel import entry
from titop.solvers.kernels.kinematics import normalise, outward_twists, write_rates
from titop.solvers.kernels.layout import (
    BODY_ELEMENT,
    BODY_PORTS,
    ELEMENTS,
    FORWARD_COLUMNS,
    INVERSE_COLUMNS,
    LAW_SIZE,
    MULTI_COLUMNS,
    MULTIS,
    NOT_FINITE,
    NQ,
    NV,
    OK,
    OWN,
    WRONG_SIZE,
)
from titop.solvers.kernels.modal import (
    add_modal_efforts,
    modal_elastic_energy,
    write_modal_laws,
    write_modal_ports,
    write_modal_rates,
)
from titop.solvers.kernels.modal_slopes import write_modal_slopes
from titop.solvers.kernels.signatures import FLAG, FLOATS, INTS, NOTHING, REAL, VECTOR
from titop.solvers.kernels.whole import forward_whole, inverse_whole, sizes_fit, state_fits, status_of, world_rows


@entry(INTS, FLOATS, INTS, FLOATS, VECTOR, VECTOR, VECTOR, VECTOR)
def inverse_dynamics(ints, floats, bodies, modes, q, v, a, tau):
    """Inverse dynamics into `tau`."""
    if not sizes_fit(ints, q, v, a, tau):
        return WRONG_SIZE
    work, law, result = np.empty((ints[0, ELEMENTS], INVERSE_COLUMNS)), np.empty((1, ints[0, LAW_SIZE])), np.empty(tau.size)
    world = np.empty((world_rows(ints), 12))
    status = inverse_whole(ints, floats, bodies, modes, law, q, v, a, work, world, result)
    for k in range(tau.size):  # last: `tau` may share memory with an argument
        tau[k] = result[k]
    return status


@entry(INTS, FLOATS, INTS, FLOATS, VECTOR, VECTOR, VECTOR, VECTOR)
def forward_dynamics(ints, floats, bodies, modes, q, v, tau, a):
    """Forward dynamics into `a`."""
    if not sizes_fit(ints, q, v, tau, a):
        return WRONG_SIZE
    work, law, result = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((1, ints[0, LAW_SIZE])), np.empty(a.size)
    multi, world = np.empty((ints[0, MULTIS], MULTI_COLUMNS)), np.empty((world_rows(ints), 12))
    status = forward_whole(ints, floats, bodies, modes, law, q, v, tau, work, multi, world, result)
    for k in range(a.size):  # last: `a` may share memory with an argument
        a[k] = result[k]
    return status


@entry(VECTOR, REAL, VECTOR, INTS, FLOATS, INTS, FLOATS, VECTOR)
def state_derivative(dy, t, y, ints, floats, bodies, modes, tau):
    """Derivative of ``y = [q, v]``, as in `entries`."""
    nq = ints[0, NQ]
    if not state_fits(ints, y, dy, tau):
        dy[:] = np.nan
        return WRONG_SIZE
    q, v = y[:nq].copy(), y[nq:]
    normalise(ints, q)
    work, law = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((1, ints[0, LAW_SIZE]))
    multi, world = np.empty((ints[0, MULTIS], MULTI_COLUMNS)), np.empty((world_rows(ints), 12))
    write_rates(ints, q, v, dy)
    write_modal_rates(ints, bodies, v, dy)
    status = forward_whole(ints, floats, bodies, modes, law, q, v, tau, work, multi, world, dy[nq:])
    if status != OK:
        dy[:] = np.nan
    return status


@entry(INTS, INTS, VECTOR, VECTOR, VECTOR, result=NOTHING)
def configuration_rate(ints, bodies, q, v, rates):
    """dq/dt into `rates`."""
    write_rates(ints, q, v, rates)
    write_modal_rates(ints, bodies, v, rates)


@entry(INTS, FLOATS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS)
def inverse_batch(ints, floats, bodies, modes, q, v, a, tau):
    """Inverse dynamics for stacked states."""
    work, law = np.empty((ints[0, ELEMENTS], INVERSE_COLUMNS)), np.empty((1, ints[0, LAW_SIZE]))
    world = np.empty((world_rows(ints), 12))
    for row in range(q.shape[0]):
        status = inverse_whole(ints, floats, bodies, modes, law, q[row], v[row], a[row], work, world, tau[row])
        if status != OK:
            return status
    return OK


@entry(INTS, FLOATS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS)
def forward_batch(ints, floats, bodies, modes, q, v, tau, a):
    """Forward dynamics for stacked states."""
    work, law = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((1, ints[0, LAW_SIZE]))
    multi, world = np.empty((ints[0, MULTIS], MULTI_COLUMNS)), np.empty((world_rows(ints), 12))
    for row in range(q.shape[0]):
        status = forward_whole(ints, floats, bodies, modes, law, q[row], v[row], tau[row], work, multi, world, a[row])
        if status != OK:
            return status
    return OK


@entry(INTS, FLOATS, INTS, FLOATS, VECTOR, FLOATS)
def whole_mass_matrix(ints, floats, bodies, modes, q, matrix):
    """The mass matrix into `matrix`."""
    n = ints[0, NV]
    if q.size != ints[0, NQ] or matrix.shape[0] != n or matrix.shape[1] != n:
        return WRONG_SIZE
    if status_of(q) != OK:
        return NOT_FINITE
    work, law, rest = np.empty((ints[0, ELEMENTS], FORWARD_COLUMNS)), np.empty((1, ints[0, LAW_SIZE])), np.zeros(n)
    write_modal_ports(ints, bodies, modes, q, law)
    status = outward_twists(ints, floats, law, q, rest, work)
    if status != OK:
        return status
    write_modal_laws(ints, bodies, modes, q, rest, work, False, law)
    matrix[:] = 0.0
    composite_inertias(ints, floats, law, work)
    fill_mass_matrix(ints, floats, law, work, matrix)
    return OK


@entry(INTS, INTS, FLOATS, VECTOR, FLOATS, result=NOTHING)
def ports(ints, bodies, modes, q, law):
    """Poses and motion subspaces of the flexible bodies' ports into `law`."""
    write_modal_ports(ints, bodies, modes, q, law)


@entry(INTS, INTS, FLOATS, VECTOR, VECTOR, FLOATS, FLAG, FLOATS, result=NOTHING)
def laws(ints, bodies, modes, q, v, work, passive, law):
    """Laws of the flexible bodies from known twists into `law`; `passive`: with elasticity and damping."""
    write_modal_laws(ints, bodies, modes, q, v, work, passive, law)


@entry(INTS, INTS, FLOATS, VECTOR, VECTOR, VECTOR, FLOATS, FLOATS, result=NOTHING)
def slopes(ints, bodies, modes, q, v, a, work, result):
    """Linearised laws of the flexible bodies from known motions into `result`."""
    most = 0
    for k in range(bodies.shape[0]):
        n = ints[bodies[k, BODY_ELEMENT], OWN]
        most = max(most, (6 + n) * (7 + n) + bodies[k, BODY_PORTS] * (18 + 6 * n))
    law = np.empty((1, most), np.complex128)
    write_modal_slopes(ints, bodies, modes, q, v, a, work, np.empty((2, q.size), np.complex128), law[0, :6].copy(), law, result)


@entry(INTS, INTS, FLOATS, VECTOR, VECTOR, VECTOR, result=NOTHING)
def passive_efforts(ints, bodies, modes, q, v, tau):
    """Add elasticity and damping to `tau`."""
    add_modal_efforts(ints, bodies, modes, q, v, tau)


@entry(INTS, INTS, FLOATS, VECTOR, result=REAL)
def elastic_energy(ints, bodies, modes, q):
    """Elastic energy of the flexible bodies (J)."""
    return modal_elastic_energy(ints, bodies, modes, q)
