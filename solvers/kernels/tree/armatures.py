"""Armatures: inertias along and about the axes of joints, beside those of bodies.

The axes of a spherical or free joint turn along, so that their armatures take ``-ad(v)^T (armature v)`` as well. What there is
of ``v x v`` is left out: see `titop.blocks.basics.spatial.gyroscopic_wrench`.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, floats_at, ints_at, vector_at
from titop.solvers.kernels.spatial.algebra import plus, scaled, turned_wrench, twist_cross, unit
from titop.solvers.kernels.tree.joints import axis, coordinates_of
from titop.solvers.native.kernel import feature, helper
from titop.solvers.native.signatures import INTEGER, STATE_AT, TABLE_AT


@helper
def armature_effort(ints, floats, i, a, tau, k):
    """Add the armature times `a` to the joint's entries of `tau`."""
    kind = ints[i, layout.KIND]
    if kind == layout.AXIAL:
        tau[k] += floats[i, layout.ARMATURE] * a[k]
    else:
        for j in range(coordinates_of(kind)):
            tau[k + j] += floats[i, layout.ARMATURE + j] * a[k + j]


@helper
def _six_axes(vector, k, n):
    """Return the n entries of a vector from k as the last ones of six, zeros before."""
    whole = n == 6
    return (
        vector[k] if whole else 0.0, vector[k + 1] if whole else 0.0, vector[k + 2] if whole else 0.0,
        vector[k + n - 3], vector[k + n - 2], vector[k + n - 1],
    )  # fmt: skip


@helper
def _momentum(armature, rates):
    """Return the armatures' momenta along and about all axes."""
    return (
        armature[0] * rates[0], armature[1] * rates[1], armature[2] * rates[2],
        armature[3] * rates[3], armature[4] * rates[4], armature[5] * rates[5],
    )  # fmt: skip


@helper
def add_armature_gyroscopic(ints, floats, v, tau):
    """Subtract ``-ad(v)^T (armature v)`` of all spherical and free joints from `tau`."""
    tables = address_of(ints, 0), ints.shape[0], address_of(floats, 0)
    if armature_gyroscopic((*tables, address_of(v, 0), address_of(tau, 0))) != layout.OK:
        tau[0] = np.nan  # the reason waits for `callbacks.raise_pending`


@feature(INTEGER, INTEGER, TABLE_AT, STATE_AT, STATE_AT)
def armature_gyroscopic(ints, rows, floats, v, tau):
    """See `add_armature_gyroscopic`."""
    table, numbers = ints_at(ints, rows, layout.INT_COLUMNS), floats_at(floats, rows, layout.FLOAT_COLUMNS)
    velocities, efforts = vector_at(v, table[0, layout.NV]), vector_at(tau, table[0, layout.NV])
    for i in range(1, table[0, layout.ELEMENTS]):
        k, n = table[i, layout.V], coordinates_of(table[i, layout.KIND])
        if n > 1:
            wrench = armature_wrench(numbers, i, velocities, k, n)
            for r in range(n):
                efforts[k + r] -= wrench[6 - n + r]
    return layout.OK


@helper
def armature_wrench(floats, i, v, k, n):
    """Return ``-ad(v)^T (armature v)`` of a joint with n coordinates from k, as the last n entries of a dual vector."""
    armature, rates = _six_axes(floats[i], layout.ARMATURE, n), _six_axes(v, k, n)
    uneven = 0.0, (armature[1] - armature[0]) * rates[1], (armature[2] - armature[0]) * rates[2]
    return turned_wrench(rates, _momentum(armature, rates), uneven)


@helper
def armature_column(floats, i, v, k, n, j):
    """Return column j of the derivative of `armature_wrench` by v."""
    armature, rates, e = _six_axes(floats[i], layout.ARMATURE, n), _six_axes(v, k, n), unit(6 - n + j)
    momentum, a, alike = _momentum(armature, rates), floats[i, layout.ARMATURE + j], armature[0]
    uneven = momentum[0] - alike * rates[0], momentum[1] - alike * rates[1], momentum[2] - alike * rates[2]
    more = (a - alike) * e[0], (a - alike) * e[1], (a - alike) * e[2]
    return plus(turned_wrench(e, momentum, uneven), turned_wrench(rates, scaled(a, e), more))


@helper
def add_armature_slopes(ints, floats, v, dv):
    """Add the derivatives of ``-ad(v)^T (armature v)`` by v, of spherical and free joints."""
    if ints[0, layout.MULTIS] > 0:
        for i in range(1, ints[0, layout.ELEMENTS]):
            k, n = ints[i, layout.V], coordinates_of(ints[i, layout.KIND])
            if n > 1:
                for j in range(n):
                    column = armature_column(floats, i, v, k, n, j)
                    for r in range(n):
                        dv[k + r, k + j] += column[6 - n + r]


@helper
def add_armature_products(ints, floats, v, x, transposed, y):
    """Add these derivatives, or the `transposed` ones, times x to y."""
    if ints[0, layout.MULTIS] > 0:
        for i in range(1, ints[0, layout.ELEMENTS]):
            k, n = ints[i, layout.V], coordinates_of(ints[i, layout.KIND])
            if n > 1:
                for j in range(n):
                    column = armature_column(floats, i, v, k, n, j)
                    for r in range(n):
                        row, c = (k + j, k + r) if transposed else (k + r, k + j)
                        y[row] += column[6 - n + r] * x[c]


@helper
def add_turned_armatures(ints, floats, v, matrix):
    """Add the armatures of spherical and free joints times the brackets of their rates."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        k, n = ints[i, layout.V], coordinates_of(ints[i, layout.KIND])
        if n > 1:
            rates = _six_axes(v, k, n)
            for j in range(n):
                column = twist_cross(rates, axis(ints, floats, i, j))
                for r in range(n):
                    matrix[k + r, k + j] += floats[i, layout.ARMATURE + r] * column[6 - n + r]
