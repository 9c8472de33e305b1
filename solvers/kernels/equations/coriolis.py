"""The Coriolis matrix of trees of rigid bodies, in one pass (after Echeandia and Wensing, "Numerical methods to compute the
Coriolis matrix and Christoffel symbols for rigid-body systems", 2021).

In the terms of `derivatives`, ``C = (dh/dv + M blkdiag(ad v, w x, 0)) / 2`` has the entries ``S_j . (B S_k / 2 + D (V x S_k))``
with D and B of the subtree of the coordinate further out: what ``ad v`` brings makes Z of every joint ``2 V x S``.
"""

from __future__ import annotations

from titop.solvers.kernels.derivatives.passive_derivatives import add_armature_slopes
from titop.solvers.kernels.derivatives.tree_derivatives import write_base, write_body
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import carry_twist, dot, put_six, scaled, six, twist_cross
from titop.solvers.kernels.tree.joints import axis, coordinates_of
from titop.solvers.kernels.tree.subtree_sums import rigid_stirred, rigid_stirring, sum_momentum
from titop.solvers.native.kernel import helper


@helper
def write_coriolis(ints, floats, v, paths, work, sums, columns, result):
    """Write the Coriolis matrix (nv x nv) from known twists; `sums` and `columns` are room."""
    result[:] = 0.0
    for i in range(1, ints[0, layout.ELEMENTS]):
        write_base(ints, None, work, i, sums)
        twist = carry_twist(sums, i, layout.BASE, six(work, i, layout.TWIST))
        for j in range(coordinates_of(ints[i, layout.KIND])):
            s = carry_twist(sums, i, layout.BASE, axis(ints, floats, i, j))
            put_six(columns, ints[i, layout.V] + j, layout.COLUMN_S, s)
            put_six(columns, ints[i, layout.V] + j, layout.COLUMN_Z, scaled(2.0, twist_cross(twist, s)))
        write_body(floats, i, twist, sums)
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        k, n = ints[i, layout.V], coordinates_of(ints[i, layout.KIND])
        for j in range(n):
            _pairs(paths, sums, columns, i, k, n, k + j, result)
        p = ints[i, layout.PARENT]
        if p > 0:
            for c in range(layout.SUM_MASS, layout.STIRRED + 6):
                sums[p, c] += sums[i, c]
    if ints[0, layout.MULTIS] > 0:
        add_armature_slopes(ints, floats, v, result)
        for i in range(1, ints[0, layout.ELEMENTS]):
            _add_turned_armature(ints, floats, i, v, result)
    for j in range(result.shape[0]):
        for k in range(result.shape[1]):
            result[j, k] *= 0.5


@helper
def _pairs(paths, sums, columns, i, first, n, k, result):
    """Write twice the entries of coordinate k of element i with its fellows and all coordinates before it."""
    s = six(columns, k, layout.COLUMN_S)
    moved, stirred = sum_momentum(sums, i, s), rigid_stirred(sums, i, s, six(columns, k, layout.COLUMN_Z))
    sx, sy, sz = rigid_stirring(sums, i, s)
    for j in range(first, first + n):
        result[j, k] = dot(six(columns, j, layout.COLUMN_S), stirred)
    j = paths[1, first]
    while j >= 0:
        other = six(columns, j, layout.COLUMN_S)
        result[j, k] = dot(other, stirred)
        result[k, j] = dot(moved, six(columns, j, layout.COLUMN_Z)) + sx * other[3] + sy * other[4] + sz * other[5]
        j = paths[1, j]


@helper
def _add_turned_armature(ints, floats, i, v, result):
    """Add the armature of a free or spherical joint times the bracket of its rates."""
    k, kind = ints[i, layout.V], ints[i, layout.KIND]
    if kind == layout.FREE:
        rates = v[k], v[k + 1], v[k + 2], v[k + 3], v[k + 4], v[k + 5]
    elif kind == layout.SPHERICAL:
        rates = 0.0, 0.0, 0.0, v[k], v[k + 1], v[k + 2]
    else:
        return
    n = coordinates_of(kind)
    for j in range(n):
        column = twist_cross(rates, axis(ints, floats, i, j))
        for r in range(n):
            result[k + r, k + j] += floats[i, layout.ARMATURE + r] * column[6 - n + r]
