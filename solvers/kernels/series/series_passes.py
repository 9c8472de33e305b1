"""Series of forward and hybrid dynamics, by one elimination and then for each order a pass inwards and one outwards; of inverse
dynamics, motions outwards and wrenches inwards, all orders of an element at once.

``W = M A + p`` is the wrench of a subtree, M that which `forward` leaves of the beginning: it serves all orders, whose p hold
what lower orders add. `imposed` is None in forward dynamics, as there.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import Along, Tables
from titop.solvers.kernels.series import rooms
from titop.solvers.kernels.series.coefficients import add_passive
from titop.solvers.kernels.series.loads import load_rooms, start_loads, subtract_loads
from titop.solvers.kernels.series.motions import (
    arrive,
    keep_force,
    plus3,
    put_acceleration,
    shifted,
    spin_wrench,
    spun,
    start_motion,
    start_world,
    turn_and_spin,
    turning,
    turning_wrench,
)
from titop.solvers.kernels.series.rooms import counted, group_row, joint_of, places, series_rooms
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    carry_wrench,
    inertia_times,
    plus,
    put_six,
    rigid_momentum,
    rotate_back,
    scaled,
    six,
    transport,
)
from titop.solvers.kernels.tree.armatures import armature_effort
from titop.solvers.kernels.tree.forward import inertia_of, inward_elimination, restore_axial, rigid_laws
from titop.solvers.kernels.tree.joints import along_joint, coordinates_of, move, place
from titop.solvers.kernels.tree.multi_joints import restore_multi
from titop.solvers.native.kernel import helper, shared

_NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@shared
def hybrid_series(tables, changes, imposed, q, rates, accelerations, efforts, passive):
    """Complete the coefficients of rates (orders, nv), accelerations and efforts (orders - 1, nv); return a status.

    `passive` (orders - 1, nv) takes what acts besides the efforts; `changes` is as in `loads`, `tables` are ints and floats.
    """
    (ints, floats), orders, last = tables, rates.shape[0], rates.shape[0] - 1
    work = np.empty((ints[0, layout.ELEMENTS], rooms.FORWARD_WORK), q.dtype)
    multi = np.empty((ints[0, layout.MULTIS], layout.MULTI_COLUMNS), q.dtype)
    status = _factor(ints, floats, imposed, q, passive[0], work, multi)
    if status != layout.OK:
        return status
    count = ints[0, layout.ELEMENTS]
    kept, (world, pulls, acting) = series_rooms(ints, orders, count, count, q), load_rooms(ints, changes, orders, q)
    start_loads(tables, changes, orders, work, world, pulls, acting)
    start_world(floats, orders, kept, False)
    for i in range(1, count):
        joint, rows = joint_of(ints, floats, i), _rows(ints, i, orders)
        start_motion(i, joint, rows, ints[i, layout.PARENT] * orders, rates, work, tables, kept)
        _prepare(tables, i, joint, rows, 0, rates, work, kept)
    for k in range(last):
        if k == 1:
            put_six(kept.states, 0, rooms.ACC, _NOTHING)  # gravity is constant
        _let_act(tables, imposed, q, k, rates, accelerations, efforts, passive)
        subtract_loads(tables, k, orders, kept.motions, pulls, work, rooms.FORWARD_WORK, layout.BIAS)
        given = accelerations[k], efforts[k], imposed
        for i in range(count - 1, 0, -1):
            _inward(tables, i, k, imposed, rates, given[:2], (work, multi), kept)
        for i in range(1, count):
            joint, rows = joint_of(ints, floats, i), _rows(ints, i, orders)
            moved = _outward(tables, i, k, orders, given, work, multi, kept)
            for j in range(coordinates_of(joint[0])):
                rates[k + 1, joint[1] + j] = accelerations[k, joint[1] + j] / (k + 1)
            if k + 1 < last:
                _keep_wrench(i, joint, rows, k, moved, work, kept)
                _prepare(tables, i, joint, rows, k + 1, rates, work, kept)
        if imposed is not None:
            for j in range(efforts.shape[1]):
                efforts[k, j] -= passive[k, j]
    return layout.OK


@helper
def _rows(ints, i, orders):
    """Return what `motions` has as rows."""
    return i * orders, i * orders, group_row(ints, i, orders), ints[i, layout.PARENT] > 0


@helper
def _factor(ints, floats, imposed, q, still, work, multi):
    """Eliminate at the configuration, with nothing moving; `still` becomes zeros (nv). Return a status."""
    for j in range(still.size):
        still[j] = 0.0
    for i in range(ints[0, layout.ELEMENTS]):
        put_six(work, i, layout.TWIST, _NOTHING)
        if i > 0:
            status = place(ints, floats, i, q, work)
            if status != layout.OK:
                return status
    rigid_laws(ints, floats, None, work)
    return inward_elimination(Tables(ints, floats, None, None, None), Along(still, still, still, imposed), work, multi, True)


@shared
def _prepare(tables, i, joint, rows, k, rates, work, kept):
    """Write what order k has of lower ones: the drift, of which y has the first part, and the wrench that the body takes."""
    turn_and_spin(joint, rows, k, 1.0 / (k + 1), i, rates, kept)
    x, y, z = spun(i, joint, rows, k, tables[0][i, layout.PARENT], work, kept)
    y_known = plus3(rotate_back(work, i, layout.R, x, y, z), plus3(shifted(joint, rows, k, rates, kept), _NOTHING))
    put_six(work, i, rooms.ACC_KNOWN, y_known)
    put_six(work, i, rooms.DRIFT, plus(y_known, turning(joint, rows, k, rates, kept)))
    put_six(work, i, layout.BIAS, spin_wrench(tables[1], i, i, kept.states))


@helper
def _let_act(tables, imposed, q, k, rates, accelerations, efforts, passive):
    """Add what acts besides order k of the efforts to these; let imposed coordinates move as they do."""
    for j in range(efforts.shape[1]):
        passive[k, j] = 0.0
        if imposed is not None and imposed[j]:
            rates[k + 1, j] = accelerations[k, j] / (k + 1)
    add_passive(*tables, q, k, rates, 1.0, passive)
    for j in range(efforts.shape[1]):
        efforts[k, j] += passive[k, j]


@helper
def _inward(tables, i, k, imposed, rates, given, eliminated, kept):
    """Write the wrench of element i's subtree without what is unknown; hand to the parent what the joint leaves of it."""
    ints, joint, (accelerations, efforts), (work, multi) = tables[0], joint_of(*tables, i), given, eliminated
    (kind, v, linear, angular), rows = joint, _rows(ints, i, rates.shape[0])
    a, b, c = inertia_of(work, i)
    bias = plus(six(work, i, layout.BIAS), inertia_times(a, b, c, six(work, i, rooms.DRIFT)))
    put_six(work, i, layout.BIAS, bias)
    if kind == layout.AXIAL:
        if imposed is not None and imposed[v]:
            share = accelerations[v]
        else:
            rest = efforts[v] - (linear * bias[2] + angular * bias[5])
            work[i, layout.REST_EFFORT] = rest
            share = work[i, layout.PIVOT] * rest
        bias = plus(bias, scaled(share, six(work, i, layout.U)))
    elif kind == layout.SPHERICAL or kind == layout.FREE:
        first, n = 0 if kind == layout.FREE else 3, coordinates_of(kind)
        bias = _press(first, n, v, bias, imposed, given, multi, ints[i, layout.MULTI])
    if rows[3]:
        bias = plus(bias, turning_wrench(joint, rows, k, rates, kept))
        add_six(work, ints[i, layout.PARENT], layout.BIAS, carry_wrench(work, i, layout.R, bias))


@helper
def _press(first, n, v, bias, imposed, given, multi, m):
    """Write what the eliminated coordinates of a spherical or free joint begin with; return what they leave of the bias."""
    accelerations, efforts = given
    put_six(multi, m, layout.FULL_P, bias)
    for j in range(n):
        pressing = multi[m, layout.FULL_P + first + j]
        if imposed is not None and imposed[v + j]:
            multi[m, layout.REST_MULTI + j] = pressing
            share = accelerations[v + j]
        else:
            rest = efforts[v + j] - pressing
            multi[m, layout.REST_MULTI + j] = rest
            share = multi[m, layout.PIVOT_MULTI + j] * rest
        for r in range(6):
            multi[m, layout.FULL_P + r] += share * multi[m, layout.U_MULTI + 6 * j + r]
    return six(multi, m, layout.FULL_P)


@helper
def _outward(tables, i, k, orders, given, work, multi, kept):
    """Write what is unknown of the accelerations and efforts `given`, and element i's motion; return that but for the drift."""
    joint, rows, share = joint_of(*tables, i), _rows(tables[0], i, orders), 1.0 / (k + 1)
    carried = transport(work, i, layout.R, six(kept.states, tables[0][i, layout.PARENT], rooms.ACC))
    arrive(joint, rows, k, share, plus(carried, six(work, i, rooms.ACC_KNOWN)), kept)
    moved = carried
    if joint[0] == layout.AXIAL:
        moved = restore_axial(*tables, i, carried, *given, work)
    elif joint[0] == layout.SPHERICAL or joint[0] == layout.FREE:
        moved = restore_multi(*tables, i, carried, *given, multi)
    put_acceleration(rows, k, share, i, plus(moved, six(work, i, rooms.DRIFT)), kept)
    return moved


@helper
def _keep_wrench(i, joint, rows, k, moved, work, kept):
    """Write what element i's joint carries, if anything but the world carries it."""
    if rows[3]:
        a, b, c = inertia_of(work, i)
        wrench = plus(inertia_times(a, b, c, moved), six(work, i, layout.BIAS))
        put_six(kept.joints, counted(rows[0] + k), rooms.WRENCH, wrench)
        keep_force(joint, rows, k, kept)


@shared
def inverse_series(ints, floats, changes, q, rates, accelerations, work, efforts):
    """Write the coefficients of efforts (orders - 1, nv) from those of rates (orders, nv) and accelerations; return a status.

    `changes` is as in `loads`.
    """
    orders, last = rates.shape[0], rates.shape[0] - 1
    (place_of, moving), (world, pulls, acting), tables = places(ints), load_rooms(ints, changes, orders, q), (ints, floats)
    kept = series_rooms(ints, orders, moving, moving * orders, q)
    start_world(floats, orders, kept, True)
    shares = np.empty(last)
    for k in range(last):
        shares[k] = 1.0 / (k + 1)
    for i in range(1, ints[0, layout.ELEMENTS]):
        status = place(ints, floats, i, q, work)
        if status != layout.OK:
            return status
        own, parent = place_of[i] * orders, place_of[ints[i, layout.PARENT]] * orders
        _all_outward(tables, i, shares, (own, parent), rates, accelerations, work, kept)
    start_loads(tables, changes, orders, work, world, pulls, acting)
    for k in range(last):
        column = k * rooms.JOINT_COLUMNS + rooms.WRENCH
        subtract_loads(tables, k, orders, kept.motions, pulls, kept.joints, orders * rooms.JOINT_COLUMNS, column)
        for j in range(efforts.shape[1]):
            efforts[k, j] = 0.0
        add_passive(ints, floats, q, k, rates, -1.0, efforts)
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        _all_inward(tables, i, last, rates, accelerations, work, kept, efforts)
    return layout.OK


@helper
def _all_outward(tables, i, shares, first, rates, accelerations, work, kept):
    """Write the motion of element i, and what moves its body alone; `first` are its rows of motions, and its parent's.

    `shares` are 1 / (k + 1) for all orders k.
    """
    (ints, floats), (own, parent), joint, last = tables, first, joint_of(*tables, i), shares.size
    rows = i * (last + 1), own, group_row(ints, i, last + 1), parent > 0
    start_motion(i, joint, rows, parent, rates, work, tables, kept)
    for k in range(last):
        share, state, above, at = shares[counted(k)], counted(own + k), counted(parent + k), counted(rows[0] + k)
        turn_and_spin(joint, rows, k, share, state, rates, kept)
        b = plus3(spun(i, joint, rows, k, above, work, kept), six(kept.states, above, rooms.ACC))
        carried = plus3(shifted(joint, rows, k, rates, kept), transport(work, i, layout.R, b))
        arrive(joint, rows, k, share, carried, kept)
        turned = plus(carried, turning(joint, rows, k, rates, kept))
        acceleration = move(ints, floats, i, turned, accelerations[k], joint[1])
        put_acceleration(rows, k, share, state, acceleration, kept)
        spinning = spin_wrench(floats, i, state, kept.states)
        put_six(kept.joints, at, rooms.WRENCH, plus(rigid_momentum(floats, i, layout.MASS, acceleration), spinning))


@helper
def _all_inward(tables, i, last, rates, accelerations, work, kept, efforts):
    """Write the efforts of element i's joint, and hand its wrench to the parent."""
    (ints, floats), joint, parent = tables, joint_of(*tables, i), tables[0][i, layout.PARENT] * (last + 1)
    rows = i * (last + 1), 0, group_row(ints, i, last + 1), parent > 0
    for k in range(last):
        wrench = six(kept.joints, counted(rows[0] + k), rooms.WRENCH)
        along_joint(ints, floats, i, wrench, efforts[k], joint[1])
        armature_effort(ints, floats, i, accelerations[k], efforts[k], joint[1])
        if parent > 0:
            turned = turning_wrench(joint, rows, k, rates, kept)
            keep_force(joint, rows, k, kept)
            add_six(kept.joints, counted(parent + k), rooms.WRENCH, carry_wrench(work, i, layout.R, plus(wrench, turned)))
