"""Inverse dynamics with the mass matrix; as in `dynamics_entries`, each returns a status."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.closures.closed_passes import constraints_at
from titop.solvers.kernels.closures.least_norm import share_least
from titop.solvers.kernels.entries.pair import pair
from titop.solvers.kernels.equations.mass_inverse import mass_and_efforts
from titop.solvers.kernels.equations.whole_passes import sizes_fit, status_of, status_of_rows, world_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.vectors import copy
from titop.solvers.native.signatures import FLOATS, INTS, MASK, VECTOR

#: Whether the system has general blocks or interactions: see `kernel.Pair`.
LAWS = True


@pair(INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, FLOATS)
def mass_inverse_dynamics(ints, floats, numbers, stages, q, v, a, tau, matrix):
    """Inverse dynamics into `tau`, the mass matrix into `matrix`."""
    if not sizes_fit(ints, q, v, a, tau) or matrix.shape[0] != ints[0, layout.NV] or matrix.shape[1] != ints[0, layout.NV]:
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS)), np.empty((world_rows(ints), 12))
    result = np.empty(tau.size)
    status = mass_and_efforts(ints, floats, numbers, stages, law, q, v, a, work, world, result, matrix)
    copy(result, tau)  # last: `tau` may share memory with an argument
    return status if status != layout.OK else min(status_of(tau), status_of_rows(matrix))


@pair(INTS, MASK, VECTOR, INTS, FLOATS, FLOATS, INTS, VECTOR, VECTOR, VECTOR, VECTOR, FLOATS)
def constrained_mass_inverse(loops, unknown, driven, ints, floats, numbers, stages, q, v, a, tau, matrix):
    """Inverse dynamics of a system with rigid closures, as `constrained_inverse`, and the mass matrix of the tree."""
    n, k = tau.size, loops[0, layout.ROWS]
    if not sizes_fit(ints, q, v, a, tau) or driven.size != n or matrix.shape[0] != n or matrix.shape[1] != n:
        return layout.WRONG_SIZE
    law = np.empty((1, ints[0, layout.LAW_SIZE])) if LAWS else None
    work, world = np.empty((ints[0, layout.ELEMENTS], layout.FORWARD_COLUMNS)), np.empty((ints[0, layout.ELEMENTS], 12))
    jacobian, sides, efforts = np.empty((k, n)), np.empty((3, k)), np.empty(n)
    status = mass_and_efforts(ints, floats, numbers, stages, law, q, v, a, work, world, efforts, matrix)
    if status != layout.OK:
        return status
    constraints_at(ints, floats, law, loops, q, v, work, world, sides, jacobian)
    status = share_least(loops, floats, unknown, driven, v, a, sides, jacobian, efforts, tau)
    return status if status != layout.OK else min(status_of(tau), status_of_rows(matrix))
