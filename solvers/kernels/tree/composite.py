"""The mass matrix by composite inertias (CRBA)."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import add_inertia, carry_inertia, carry_wrench, inertia_times, put_six, six
from titop.solvers.kernels.tree.forward import inertia_of, take_law, write_rigid_inertia
from titop.solvers.kernels.tree.general import add_at_port, port_effort
from titop.solvers.kernels.tree.joints import along_joint, axis, coordinates_of
from titop.solvers.native.kernel import helper, shared

_START = np.int64(0)


@shared
def composite_inertias(ints, floats, law, work):
    """From the leaves inwards: the inertia of every subtree with all its joints held, into the work rows."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        put_six(work, i, layout.BIAS, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        if law is None or ints[i, layout.LAW] < 0:
            write_rigid_inertia(floats, i, work)
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        if law is not None and ints[i, layout.LAW] >= 0:
            take_law(ints, law, i, work)
        p = ints[i, layout.PARENT]
        if p == 0:
            continue
        inertia = inertia_of(work, i)
        a, b, c = carry_inertia(work, i, layout.R, inertia[0], inertia[1], inertia[2])
        if law is not None and ints[i, layout.PORT] >= 0:
            add_at_port(ints, law, i, p, a, b, c, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
            continue
        add_inertia(work, p, layout.MA, (a, b, c))


@shared
def fill_mass_matrix(ints, floats, law, work, matrix):
    """Write the columns: the efforts along every path to the world of a unit acceleration."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        a, b, c = inertia_of(work, i)
        k = ints[i, layout.V]
        for j in range(coordinates_of(ints[i, layout.KIND])):
            force = inertia_times(a, b, c, axis(ints, floats, i, j))
            along_joint(ints, floats, i, force, matrix[k + j], k)
            matrix[k + j, k + j] += floats[i, layout.ARMATURE + j]
            _along_path(ints, floats, law, work, i, force, matrix, k + j)
        if law is not None and ints[i, layout.LAW] >= 0:
            _own_columns(ints, floats, law, work, i, matrix)


@helper
def write_momentum_matrix(ints, floats, law, work, world, matrix):
    """Write the matrix (6 x nv) from v to momentum: linear, and angular about the inertial origin.

    From composite inertias and the poses of all elements in the inertial frame (`world`).
    """
    for i in range(1, ints[0, layout.ELEMENTS]):
        a, b, c = inertia_of(work, i)
        for j in range(coordinates_of(ints[i, layout.KIND])):
            put_column(
                matrix, ints[i, layout.V] + j, carry_wrench(world, i, _START, inertia_times(a, b, c, axis(ints, floats, i, j)))
            )
        if law is not None and ints[i, layout.LAW] >= 0:
            for j in range(ints[i, layout.OWN]):
                force = six(law, 0, ints[i, layout.LAW] + (6 + j) * (6 + ints[i, layout.OWN]))
                put_column(matrix, ints[i, layout.OWN_V] + j, carry_wrench(world, i, _START, force))


@helper
def put_column(matrix, k, x):
    """Write column k of a matrix with six rows."""
    for r in range(6):
        matrix[r, k] = x[r]


@helper
def _own_columns(ints, floats, law, work, i, matrix):
    o, n, k = ints[i, layout.LAW], ints[i, layout.OWN], ints[i, layout.OWN_V]
    size = 6 + n
    for j in range(n):
        row = o + (6 + j) * size
        for r in range(n):
            matrix[k + j, k + r] += law[0, row + 6 + r]
        force = six(law, 0, row)
        along_joint(ints, floats, i, force, matrix[k + j], ints[i, layout.V])
        _mirror(matrix, k + j, ints[i, layout.V], coordinates_of(ints[i, layout.KIND]))
        _along_path(ints, floats, law, work, i, force, matrix, k + j)


@helper
def _along_path(ints, floats, law, work, i, force, matrix, k):
    """Write row and column k for the joints and general blocks between element i's joint and the world."""
    while ints[i, layout.PARENT] > 0:
        p = ints[i, layout.PARENT]
        force = carry_wrench(work, i, layout.R, force)
        if law is not None and ints[i, layout.PORT] >= 0:
            port_effort(ints, law, i, p, force, matrix[k])
            _mirror(matrix, k, ints[p, layout.OWN_V], ints[p, layout.OWN])
            force = carry_wrench(law, 0, ints[i, layout.PORT], force)
        along_joint(ints, floats, p, force, matrix[k], ints[p, layout.V])
        _mirror(matrix, k, ints[p, layout.V], coordinates_of(ints[p, layout.KIND]))
        i = p


@helper
def _mirror(matrix, k, start, n):
    for j in range(start, start + n):
        matrix[j, k] = matrix[k, j]
