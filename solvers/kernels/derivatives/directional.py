"""Derivatives of the inverse dynamics of trees of rigid bodies along one direction, and transposed, in O(N).

In the terms of `derivatives`: along changes dq and dv the blocks' displacements, twists and accelerations change by the sums
``s = S dq``, ``x = X dq + S dv`` and ``y = Y dq + Z dv`` over the coordinates that carry them, their wrenches by
``B x + D y``; what a joint transmits turns along with the displacement of the joint alone. The transposed pass carries a dual
vector, one number a coordinate, outwards as a twist w, and ``B^T w`` and ``D w`` inwards.

`sums` holds each block alone; its wrenches are summed here.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.derivatives.passive_derivatives import armature_column
from titop.solvers.kernels.interface.layout import (
    COLUMN_S,
    COLUMN_X,
    COLUMN_Y,
    COLUMN_Z,
    ELEMENTS,
    INERTIAL_LOADS,
    KIND,
    MULTIS,
    PARENT,
    SPRINGS,
    WRENCH,
    V,
)
from titop.solvers.kernels.spatial.algebra import add_six, dot, plus, put_six, scaled, six, wrench_cross
from titop.solvers.kernels.tree.joints import coordinates_of
from titop.solvers.kernels.tree.springs import subtract_spring_changes, subtract_spring_pulls
from titop.solvers.kernels.tree.subtree_sums import held, holding, rigid_stirred, rigid_stirring, sum_momentum
from titop.solvers.native.kernel import helper

#: Columns of the room of either pass: three dual vectors a block.
_FIRST, _SECOND, _THIRD = np.int64(0), np.int64(6), np.int64(12)
ROOM_COLUMNS = 18


@helper
def add_change(ints, floats, q, v, dq, dv, sums, columns, room, change):
    """Add the derivative of inverse dynamics by q and v along `dq` and `dv` to `change` (nv); `room` (elements x 18)."""
    clear_row(room, 0)
    for i in range(1, ints[0, ELEMENTS]):
        p = ints[i, PARENT]
        s, x, y = six(room, p, _FIRST), six(room, p, _SECOND), six(room, p, _THIRD)
        for k in range(ints[i, V], ints[i, V] + coordinates_of(ints[i, KIND])):
            axis = six(columns, k, COLUMN_S)
            s = plus(s, scaled(dq[k], axis))
            x = plus(x, plus(scaled(dq[k], six(columns, k, COLUMN_X)), scaled(dv[k], axis)))
            y = plus(y, plus(scaled(dq[k], six(columns, k, COLUMN_Y)), scaled(dv[k], six(columns, k, COLUMN_Z))))
        put_six(room, i, _FIRST, s)
        put_six(room, i, _SECOND, x)
        put_six(room, i, _THIRD, y)
    for i in range(1, ints[0, ELEMENTS]):  # the last room is the blocks' change of wrench from here on
        wrench = rigid_stirred(sums, i, six(room, i, _SECOND), six(room, i, _THIRD))
        if ints[0, INERTIAL_LOADS]:
            wrench = plus(wrench, holding(None, sums, i, six(room, i, _FIRST)))
        put_six(room, i, _THIRD, wrench)
    for i in range(ints[0, ELEMENTS] - 1, 0, -1):
        wrench, turn = six(room, i, _THIRD), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        for k in range(ints[i, V], ints[i, V] + coordinates_of(ints[i, KIND])):
            axis = six(columns, k, COLUMN_S)
            change[k] += dot(axis, wrench)
            turn = plus(turn, scaled(dq[k], axis))
        if ints[i, PARENT] > 0:
            whole = six(sums, i, WRENCH)
            add_six(room, ints[i, PARENT], _THIRD, plus(wrench, wrench_cross(turn, whole)))
            add_six(sums, ints[i, PARENT], WRENCH, whole)
    if ints[0, SPRINGS] > 0:
        subtract_spring_changes(ints, floats, q, v, dq, dv, change)
    if ints[0, MULTIS] > 0:
        for i in range(1, ints[0, ELEMENTS]):
            k, n = ints[i, V], coordinates_of(ints[i, KIND])
            if n > 1:
                for j in range(n):
                    column = armature_column(floats, i, v, k, n, j)
                    for r in range(n):
                        change[k + r] += column[6 - n + r] * dv[k + j]


@helper
def add_pulls(ints, floats, q, v, dual, sums, columns, room, by_q, by_v):
    """Add the derivatives of inverse dynamics by q and v, transposed, times `dual` to `by_q` and `by_v` (nv)."""
    clear_row(room, 0)
    for i in range(1, ints[0, ELEMENTS]):
        w = six(room, ints[i, PARENT], _FIRST)
        for k in range(ints[i, V], ints[i, V] + coordinates_of(ints[i, KIND])):
            w = plus(w, scaled(dual[k], six(columns, k, COLUMN_S)))
        put_six(room, i, _FIRST, w)
        put_six(room, i, _SECOND, sum_momentum(sums, i, w))
        x, y, z = rigid_stirring(sums, i, w)
        put_six(room, i, _THIRD, (0.0, 0.0, 0.0, x, y, z))
    for i in range(ints[0, ELEMENTS] - 1, 0, -1):
        p = ints[i, PARENT]
        moved, stirred, whole = six(room, i, _SECOND), six(room, i, _THIRD), six(sums, i, WRENCH)
        carrier = six(room, p, _FIRST)
        for k in range(ints[i, V], ints[i, V] + coordinates_of(ints[i, KIND])):
            axis = six(columns, k, COLUMN_S)
            by_q[k] += dot(six(columns, k, COLUMN_X), stirred) + dot(six(columns, k, COLUMN_Y), moved)
            by_q[k] += dot(wrench_cross(axis, whole), carrier)
            by_v[k] += dot(axis, stirred) + dot(six(columns, k, COLUMN_Z), moved)
        if p > 0:
            add_six(room, p, _SECOND, moved)
            add_six(room, p, _THIRD, stirred)
            add_six(sums, p, WRENCH, whole)
    if ints[0, INERTIAL_LOADS]:
        _add_held(ints, sums, columns, room, by_q)
    if ints[0, SPRINGS] > 0:
        subtract_spring_pulls(ints, floats, q, v, dual, by_q, by_v)
    if ints[0, MULTIS] > 0:
        for i in range(1, ints[0, ELEMENTS]):
            k, n = ints[i, V], coordinates_of(ints[i, KIND])
            if n > 1:
                for j in range(n):
                    column = armature_column(floats, i, v, k, n, j)
                    for r in range(n):
                        by_v[k + j] += column[6 - n + r] * dual[k + r]


@helper
def _add_held(ints, sums, columns, room, by_q):
    """Add what inertial loads, which do not turn along, bring to `add_pulls`; uses up the twists in `room`."""
    for i in range(1, ints[0, ELEMENTS]):
        x, y, z = held(sums, i, six(room, i, _FIRST))
        put_six(room, i, _SECOND, (0.0, 0.0, 0.0, x, y, z))
    for i in range(ints[0, ELEMENTS] - 1, 0, -1):
        pull = six(room, i, _SECOND)
        for k in range(ints[i, V], ints[i, V] + coordinates_of(ints[i, KIND])):
            by_q[k] += dot(six(columns, k, COLUMN_S), pull)
        if ints[i, PARENT] > 0:
            add_six(room, ints[i, PARENT], _SECOND, pull)


@helper
def clear_row(room, i):
    for c in range(ROOM_COLUMNS):
        room[i, c] = 0.0
