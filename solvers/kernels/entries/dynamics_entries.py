"""The entry points: what Python calls. Each returns a status (see `layout`).

Whole functions are pairs of kernels: for trees of rigid bodies and joints alone, and for all systems. The others begin with
known twists and laws, which `outward` writes.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.whole_passes import (
    forward_whole,
    inverse_whole,
    mass_and_efforts,
    moving_rooms,
    outward_whole,
    sizes_fit,
    state_fits,
    status_of,
    status_of_rows,
    world_rows,
)
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import State, Tables
from titop.solvers.kernels.spatial.algebra import copy
from titop.solvers.kernels.tree.composite import write_mass_matrix
from titop.solvers.kernels.tree.kinematics import normalise, outward_poses, write_rates
from titop.solvers.kernels.tree.packing import pack_tables
from titop.solvers.native.kernel import entry
from titop.solvers.native.signatures import FLOATS, INTEGER, INTS, REAL, RESULT, RESULT_ROWS, STATE, VECTOR

#: How long (s) parameters are packed without machine code, for which a process would wait two seconds.
PATIENCE = 0.3

#: Whether the system has general blocks or interactions: see `pair.Pair`.
LAWS = True


@pair(INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, RESULT, whole=True)
def inverse_dynamics(ints, floats, numbers, stages, q, v, a, tau):
    """Inverse dynamics into `tau`."""
    if not sizes_fit(ints, q, v, a, tau):
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    work, result = np.empty((ints[0, layout.ELEMENTS], layout.INVERSE_COLUMNS), q.dtype), np.empty(tau.size, q.dtype)
    status = inverse_whole(tables, State(q, v), a, work, np.empty((world_rows(ints), 12), q.dtype), result)
    copy(result, tau)  # last: `tau` may share memory with an argument
    return status


@pair(INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, RESULT, whole=True)
def forward_dynamics(ints, floats, numbers, stages, q, v, tau, a):
    """Forward dynamics into `a`."""
    if not sizes_fit(ints, q, v, tau, a):
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    work, result = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS), q.dtype), np.empty(a.size, q.dtype)
    multi, world = np.empty((ints[0, layout.MULTIS], layout.MULTI_COLUMNS), q.dtype), np.empty((world_rows(ints), 12), q.dtype)
    status = forward_whole(tables, State(q, v), tau, work, multi, world, result)
    copy(result, a)  # last: `a` may share memory with an argument
    return status


@pair(RESULT, REAL, STATE, INTS, FLOATS, FLOATS, INTS, STATE)
def state_derivative(dy, t, y, ints, floats, numbers, stages, tau):
    """Derivative of ``y = [q, v]``; quaternions are taken as their unit multiples. Own coordinates are plain.

    NaN where the status is not `OK`, for integrators that do not look at it.
    """
    nq = ints[0, layout.NQ]
    if not state_fits(ints, y, dy, tau):
        dy[:] = np.nan
        return layout.WRONG_SIZE
    q, v = y[:nq].copy(), y[nq:]
    normalise(ints, q)
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), y.dtype) if LAWS else None)
    work = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS), y.dtype)
    multi, world = np.empty((ints[0, layout.MULTIS], layout.MULTI_COLUMNS), y.dtype), np.empty((world_rows(ints), 12), y.dtype)
    write_rates(ints, q, v, dy)
    status = forward_whole(tables, State(q, v), tau, work, multi, world, dy[nq:])
    if status != layout.OK:
        dy[:] = np.nan
    return status


@pair(INTS, FLOATS, FLOATS, INTS, STATE, STATE, STATE, RESULT, RESULT_ROWS)
def mass_inverse_dynamics(ints, floats, numbers, stages, q, v, a, tau, matrix):
    """Inverse dynamics into `tau`, the mass matrix into `matrix`."""
    if not sizes_fit(ints, q, v, a, tau) or matrix.shape[0] != ints[0, layout.NV] or matrix.shape[1] != ints[0, layout.NV]:
        return layout.WRONG_SIZE
    tables = Tables(ints, floats, numbers, stages, np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None)
    work, world = moving_rooms(ints, layout.FORWARD_COLUMNS, q)
    result = np.empty(tau.size, q.dtype)
    status = mass_and_efforts(tables, State(q, v), a, work, world, result, matrix)
    copy(result, tau)  # last: `tau` may share memory with an argument
    return status if status != layout.OK else min(status_of(tau), status_of_rows(matrix))


@pair(INTS, FLOATS, FLOATS, INTS, STATE, RESULT_ROWS)
def whole_mass_matrix(ints, floats, numbers, stages, q, matrix):
    """The mass matrix into `matrix`."""
    n = ints[0, layout.NV]
    if q.size != ints[0, layout.NQ] or matrix.shape[0] != n or matrix.shape[1] != n:
        return layout.WRONG_SIZE
    if status_of(q) != layout.OK:
        return layout.NOT_FINITE
    law, still = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype) if LAWS else None, np.zeros(n, q.dtype) if LAWS else None
    work = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS), q.dtype)
    status = outward_poses(Tables(ints, floats, numbers, stages, law), State(q, still), work)
    if status != layout.OK:
        return status
    write_mass_matrix(ints, floats, law, work, matrix)
    return layout.OK


@entry(INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, FLOATS, FLOATS)
def outward(ints, floats, numbers, stages, q, v, law, work):
    """Poses and twists of all elements into `work`, the general blocks' laws and what interactions do into `law`."""
    world = np.empty((world_rows(ints), 12), q.dtype)
    return outward_whole(Tables(ints, floats, numbers, stages, law), State(q, v), work, world)


@entry(FLOATS, INTEGER, VECTOR)
def put_wrench(floats, row, wrench):
    """Put a wrench into the load at a row."""
    if wrench.size != 6:
        return layout.WRONG_SIZE
    for k in range(6):
        floats[row, layout.FORCE + k] = wrench[k]
    return status_of(wrench)


@entry(INTEGER, INTS, FLOATS, INTEGER, INTS, FLOATS, FLOATS, FLOATS, VECTOR)
def put_inputs(count, places, resting, first, columns, units, floats, numbers, u):
    """Put inputs (count) into loads and among the numbers of interactions.

    The loads from row `first` on take those in `columns`, times the `units` (x 6) of their wrenches; the numbers at
    ``places[0]`` are those `resting` there and the inputs ``places[1]``.
    """
    if u.size != count:
        return layout.WRONG_SIZE
    for k in range(columns.shape[1]):
        for c in range(6):
            floats[first + k, layout.FORCE + c] = u[columns[0, k]] * units[k, c]
    for k in range(places.shape[1]):
        numbers[0, places[0, k]] = resting[0, k] + u[places[1, k]]
    return status_of(u)


@entry(INTS, INTS, INTS, FLOATS, INTS, VECTOR, FLOATS, FLOATS, FLOATS, patience=PATIENCE)
def pack(ints, sources, welded, constants, port_table, params, floats, frames, ports):
    """From parameters to tables; returns 1 when a parameter is unusable."""
    return pack_tables(ints, sources, welded, constants, port_table, params, (floats, frames, ports))
