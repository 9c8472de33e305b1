"""Derivatives of the inverse dynamics of trees along one direction, and transposed, in O(N).

In the terms of `tree_derivatives`: along changes dq and dv the blocks' displacements, twists and accelerations change by the
sums ``s = S dq``, ``x = X dq + S dv`` and ``y = Y dq + Z dv`` over the coordinates that carry them, their wrenches by
``B x + D y``; what a joint transmits turns along with the displacement of the joint alone. The transposed pass carries a dual
vector, one number a coordinate, outwards as a twist w, and ``B^T w`` and ``D w`` inwards.

`sums` holds each block alone, but for the wrenches, which `sum_wrenches` has summed. `law` is None in trees of rigid bodies.
"""

from __future__ import annotations

from titop.solvers.kernels.derivatives.direction_rooms import DISPLACED, FIRST, SECOND, THIRD, clear_row
from titop.solvers.kernels.derivatives.general_directions import (
    answer_change,
    answer_pull,
    move_ports,
    press_ports,
    pull_ports,
    spread_to_ports,
    sum_ports,
)
from titop.solvers.kernels.derivatives.interaction_directions import subtract_interaction_change, subtract_interaction_pull
from titop.solvers.kernels.derivatives.passive_derivatives import armature_column
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import add_six, dot, plus, put_six, scaled, six, wrench_cross
from titop.solvers.kernels.tree.joints import coordinates_of
from titop.solvers.kernels.tree.springs import subtract_spring_changes, subtract_spring_pulls
from titop.solvers.kernels.tree.subtree_sums import held, holding, rigid_stirred, rigid_stirring, sum_momentum
from titop.solvers.native.kernel import helper


@helper
def sum_wrenches(ints, law, sums):
    """Sum the wrenches of the blocks of every subtree."""
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        if law is not None:
            if ints[i, layout.LAW] >= 0:
                sum_ports(ints, i, sums)
        if ints[i, layout.PARENT] > 0:
            add_six(sums, _carrier(ints, law, i), layout.WRENCH, six(sums, i, layout.WRENCH))


@helper
def _carrier(ints, law, i):
    """Return the row of `sums` of what carries element i: its parent, or the port of a general block."""
    p = ints[i, layout.PARENT]
    if law is not None:
        if ints[i, layout.ROW] >= 0:
            p = ints[i, layout.ROW]
    return p


# -- along a direction


@helper
def add_change(ints, floats, law, slopes, q, v, dq, dv, work, sums, columns, room, change):
    """Add the derivative of inverse dynamics by q and v along `dq` and `dv` to `change` (nv); see `direction_rooms`."""
    _move_outwards(ints, law, columns, dq, dv, room)
    for i in range(1, ints[0, layout.ELEMENTS]):
        if law is not None:
            if ints[i, layout.LAW] >= 0:
                answer = answer_change(ints, law, slopes, i, six(work, i, layout.TWIST), dq, dv, sums, room, change)
                put_six(room, i, THIRD, answer)
                continue
        put_six(room, i, THIRD, rigid_stirred(sums, i, six(room, i, SECOND), six(room, i, THIRD)))
    _hold(ints, law, sums, room)
    if law is not None:
        subtract_interaction_change(ints, floats, law, slopes, dq, dv, sums, room, change)
    _press_inwards(ints, law, dq, sums, columns, room, change)
    if ints[0, layout.SPRINGS] > 0:
        subtract_spring_changes(ints, floats, q, v, dq, dv, change)
    if ints[0, layout.MULTIS] > 0:
        for i in range(1, ints[0, layout.ELEMENTS]):
            k, n = ints[i, layout.V], coordinates_of(ints[i, layout.KIND])
            if n > 1:
                for j in range(n):
                    column = armature_column(floats, i, v, k, n, j)
                    for r in range(n):
                        change[k + r] += column[6 - n + r] * dv[k + j]


@helper
def _move_outwards(ints, law, columns, dq, dv, room):
    clear_row(room, 0)
    for i in range(1, ints[0, layout.ELEMENTS]):
        p = _carrier(ints, law, i)
        s, x, y = six(room, p, FIRST), six(room, p, SECOND), six(room, p, THIRD)
        for k in range(ints[i, layout.V], ints[i, layout.V] + coordinates_of(ints[i, layout.KIND])):
            axis = six(columns, k, layout.COLUMN_S)
            s = plus(s, scaled(dq[k], axis))
            x = plus(x, plus(scaled(dq[k], six(columns, k, layout.COLUMN_X)), scaled(dv[k], axis)))
            y = plus(y, plus(scaled(dq[k], six(columns, k, layout.COLUMN_Y)), scaled(dv[k], six(columns, k, layout.COLUMN_Z))))
        put_six(room, i, FIRST, s)
        put_six(room, i, SECOND, x)
        put_six(room, i, THIRD, y)
        if law is not None:
            if ints[i, layout.LAW] >= 0:
                move_ports(ints, columns, i, dq, dv, room)


@helper
def _hold(ints, law, sums, room):
    """Begin the changes of wrenches at ports, and add what inertial loads, which do not turn along, bring to all."""
    if law is not None:
        for row in range(ints[0, layout.ELEMENTS], sums.shape[0]):
            put_six(room, row, THIRD, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    if ints[0, layout.INERTIAL_LOADS]:
        for row in range(1, sums.shape[0]):  # ports out of use have what nobody reads
            add_six(room, row, THIRD, holding(None, sums, row, six(room, row, FIRST)))


@helper
def _press_inwards(ints, law, dq, sums, columns, room, change):
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        if law is not None:
            if ints[i, layout.LAW] >= 0:
                press_ports(ints, columns, i, room, change)
        wrench, turn = six(room, i, THIRD), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        for k in range(ints[i, layout.V], ints[i, layout.V] + coordinates_of(ints[i, layout.KIND])):
            axis = six(columns, k, layout.COLUMN_S)
            change[k] += dot(axis, wrench)
            turn = plus(turn, scaled(dq[k], axis))
        if ints[i, layout.PARENT] > 0:
            add_six(room, _carrier(ints, law, i), THIRD, plus(wrench, wrench_cross(turn, six(sums, i, layout.WRENCH))))


# -- transposed


@helper
def add_pulls(ints, floats, law, slopes, q, v, dual, work, sums, columns, room, by_q, by_v):
    """Add the derivatives of inverse dynamics by q and v, transposed, times `dual` to `by_q` and `by_v` (nv)."""
    clear_row(room, 0)
    for i in range(1, ints[0, layout.ELEMENTS]):
        w = six(room, _carrier(ints, law, i), FIRST)
        for k in range(ints[i, layout.V], ints[i, layout.V] + coordinates_of(ints[i, layout.KIND])):
            w = plus(w, scaled(dual[k], six(columns, k, layout.COLUMN_S)))
        put_six(room, i, FIRST, w)
        put_six(room, i, DISPLACED, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        if law is not None:
            if ints[i, layout.LAW] >= 0:
                answer_pull(ints, law, slopes, i, six(work, i, layout.TWIST), dual, sums, room, by_q, by_v)
                spread_to_ports(ints, columns, i, dual, room)
                continue
        put_six(room, i, SECOND, sum_momentum(sums, i, w))
        x, y, z = rigid_stirring(sums, i, w)
        put_six(room, i, THIRD, (0.0, 0.0, 0.0, x, y, z))
    if ints[0, layout.INERTIAL_LOADS]:
        for row in range(1, sums.shape[0]):
            x, y, z = held(sums, row, six(room, row, FIRST))
            add_six(room, row, DISPLACED, (0.0, 0.0, 0.0, x, y, z))
    if law is not None:
        subtract_interaction_pull(ints, floats, law, slopes, dual, sums, room, by_q, by_v)
    _pull_inwards(ints, law, sums, columns, room, by_q, by_v)
    if ints[0, layout.SPRINGS] > 0:
        subtract_spring_pulls(ints, floats, q, v, dual, by_q, by_v)
    if ints[0, layout.MULTIS] > 0:
        for i in range(1, ints[0, layout.ELEMENTS]):
            k, n = ints[i, layout.V], coordinates_of(ints[i, layout.KIND])
            if n > 1:
                for j in range(n):
                    column = armature_column(floats, i, v, k, n, j)
                    for r in range(n):
                        by_v[k + j] += column[6 - n + r] * dual[k + r]


@helper
def _pull_inwards(ints, law, sums, columns, room, by_q, by_v):
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        if law is not None:
            if ints[i, layout.LAW] >= 0:
                pull_ports(ints, columns, i, room, by_q, by_v)
        p = _carrier(ints, law, i)
        moved, stirred, displaced = six(room, i, SECOND), six(room, i, THIRD), six(room, i, DISPLACED)
        whole, carrier = six(sums, i, layout.WRENCH), six(room, p, FIRST)
        for k in range(ints[i, layout.V], ints[i, layout.V] + coordinates_of(ints[i, layout.KIND])):
            axis = six(columns, k, layout.COLUMN_S)
            by_q[k] += dot(six(columns, k, layout.COLUMN_X), stirred) + dot(six(columns, k, layout.COLUMN_Y), moved)
            by_q[k] += dot(wrench_cross(axis, whole), carrier) + dot(axis, displaced)
            by_v[k] += dot(axis, stirred) + dot(six(columns, k, layout.COLUMN_Z), moved)
        if p > 0:
            add_six(room, p, SECOND, moved)
            add_six(room, p, THIRD, stirred)
            add_six(room, p, DISPLACED, displaced)
