"""Forward and hybrid dynamics series: one elimination, then for each order a pass inwards and one outwards.

``W = M A + p`` is the wrench of a subtree, M that which `forward` leaves of the beginning: it serves all orders, whose p hold
what lower orders add. `imposed` is None in forward dynamics, as there.
"""

from __future__ import annotations

from titop.solvers.kernels.interface.layout import (
    AXIAL,
    BIAS,
    ELEMENTS,
    FREE,
    FULL_P,
    MULTI,
    OK,
    PARENT,
    PIVOT,
    PIVOT_MULTI,
    REST_EFFORT,
    REST_MULTI,
    SPHERICAL,
    TWIST,
    U_MULTI,
    R,
    U,
)
from titop.solvers.kernels.series.coefficients import add_passive
from titop.solvers.kernels.series.drifts import keep_force, turning_wrench
from titop.solvers.kernels.series.loads import load_rooms, start_loads, subtract_loads
from titop.solvers.kernels.series.motions import (
    carried_acceleration,
    prepare,
    put_acceleration,
    spin_wrench,
    start_motion,
    start_world,
)
from titop.solvers.kernels.series.rooms import DRIFT, FORWARD_WORK, WRENCH, counted, joint_of, rooms, rows_of
from titop.solvers.kernels.spatial.algebra import add_six, carry_wrench, inertia_times, plus, put_six, scaled, six
from titop.solvers.kernels.tree.forward import inertia_of, inward_elimination, restore_axial, rigid_laws
from titop.solvers.kernels.tree.joints import coordinates_of, place
from titop.solvers.kernels.tree.multi_joints import restore_multi
from titop.solvers.native.kernel import AllocatingHelper, helper

_NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@AllocatingHelper
def hybrid_series(ints, floats, changes, imposed, q, rates, accelerations, efforts, passive, work, multi):
    """Complete the coefficients of rates (orders, nv), accelerations and efforts (orders - 1, nv); return a status.

    `passive` (orders - 1, nv) takes what acts besides the efforts; `changes` is as in `loads`.
    """
    orders, last = rates.shape[0], rates.shape[0] - 1
    status = _factor(ints, floats, imposed, q, passive[0], work, multi)
    if status != OK:
        return status
    motions, joints, groups, bases = rooms(ints, orders, ints[0, ELEMENTS])
    world, pulls = load_rooms(ints, orders)
    start_loads(ints, floats, changes, orders, work, world, pulls)
    start_world(floats, orders, motions)
    for i in range(1, ints[0, ELEMENTS]):
        joint, rows = joint_of(ints, floats, i), rows_of(ints, i, orders, i * orders)
        start_motion(ints, floats, i, joint, rows, rates, work, motions, bases, joints, groups)
        _prepare(floats, i, joint, rows, 0, rates, work, motions, bases, joints, groups)
    for k in range(last):
        _let_act(ints, floats, imposed, q, k, rates, accelerations, efforts, passive)
        subtract_loads(ints, floats, k, orders, motions, pulls, work, FORWARD_WORK, BIAS)
        for i in range(ints[0, ELEMENTS] - 1, 0, -1):
            joint, rows = joint_of(ints, floats, i), rows_of(ints, i, orders, i * orders)
            _inward(ints, i, joint, rows, k, imposed, rates, accelerations[k], efforts[k], work, multi, bases, joints, groups)
        for i in range(1, ints[0, ELEMENTS]):
            joint, rows = joint_of(ints, floats, i), rows_of(ints, i, orders, i * orders)
            carried = carried_acceleration(i, joint, rows, k, work, motions, bases, groups)
            moved = _restored(ints, floats, i, joint, carried, accelerations[k], efforts[k], imposed, work, multi)
            put_acceleration(rows[0], k, plus(moved, six(work, i, DRIFT)), motions)
            for j in range(coordinates_of(joint[0])):
                rates[k + 1, joint[1] + j] = accelerations[k, joint[1] + j] / (k + 1)
            if k + 1 < last:
                if rows[2] > 0:
                    a, b, c = inertia_of(work, i)
                    wrench = plus(inertia_times(a, b, c, moved), six(work, i, BIAS))
                    put_six(joints, counted(rows[0] + k), WRENCH, wrench)
                    keep_force(joint, rows, k, bases, joints, groups)
                _prepare(floats, i, joint, rows, k + 1, rates, work, motions, bases, joints, groups)
        if imposed is not None:
            for j in range(efforts.shape[1]):
                efforts[k, j] -= passive[k, j]
    return OK


@helper
def _factor(ints, floats, imposed, q, still, work, multi):
    """Eliminate at the configuration, with nothing moving; `still` becomes zeros (nv). Return a status."""
    for j in range(still.size):
        still[j] = 0.0
    for i in range(ints[0, ELEMENTS]):
        put_six(work, i, TWIST, _NOTHING)
        if i > 0:
            status = place(ints, floats, i, q, work)
            if status != OK:
                return status
    rigid_laws(ints, floats, None, work)
    return inward_elimination(ints, floats, None, still, still, still, imposed, work, multi)


@helper
def _prepare(floats, i, joint, rows, k, rates, work, motions, bases, joints, groups):
    """Write what order k has of lower ones: the drift, and the wrench that the body takes."""
    put_six(work, i, DRIFT, prepare(i, joint, rows, k, rates, work, motions, bases, joints, groups))
    put_six(work, i, BIAS, spin_wrench(floats, i, counted(rows[0] + k), motions))


@helper
def _let_act(ints, floats, imposed, q, k, rates, accelerations, efforts, passive):
    """Add what acts besides order k of the efforts to these; let imposed coordinates move as they do."""
    for j in range(efforts.shape[1]):
        passive[k, j] = 0.0
        if imposed is not None and imposed[j]:
            rates[k + 1, j] = accelerations[k, j] / (k + 1)
    add_passive(ints, floats, q, k, rates, 1.0, passive)
    for j in range(efforts.shape[1]):
        efforts[k, j] += passive[k, j]


@helper
def _inward(ints, i, joint, rows, k, imposed, rates, accelerations, efforts, work, multi, bases, joints, groups):
    """Write the wrench of element i's subtree without what is unknown; hand to the parent what the joint leaves of it."""
    kind, v, linear, angular = joint
    a, b, c = inertia_of(work, i)
    bias = plus(six(work, i, BIAS), inertia_times(a, b, c, six(work, i, DRIFT)))
    put_six(work, i, BIAS, bias)
    if kind == AXIAL:
        if imposed is not None and imposed[v]:
            share = accelerations[v]
        else:
            rest = efforts[v] - (linear * bias[2] + angular * bias[5])
            work[i, REST_EFFORT] = rest
            share = work[i, PIVOT] * rest
        bias = plus(bias, scaled(share, six(work, i, U)))
    elif kind == SPHERICAL or kind == FREE:
        bias = _press(
            0 if kind == FREE else 3, coordinates_of(kind), v, ints[i, MULTI], bias, imposed, accelerations, efforts, multi
        )
    if rows[2] > 0:
        bias = plus(bias, turning_wrench(joint, rows, k, rates, bases, joints, groups))
        add_six(work, ints[i, PARENT], BIAS, carry_wrench(work, i, R, bias))


@helper
def _press(first, n, v, m, bias, imposed, accelerations, efforts, multi):
    """Write what the eliminated coordinates of a spherical or free joint begin with; return what they leave of the bias."""
    put_six(multi, m, FULL_P, bias)
    for j in range(n):
        pressing = multi[m, FULL_P + first + j]
        if imposed is not None and imposed[v + j]:
            multi[m, REST_MULTI + j] = pressing
            share = accelerations[v + j]
        else:
            rest = efforts[v + j] - pressing
            multi[m, REST_MULTI + j] = rest
            share = multi[m, PIVOT_MULTI + j] * rest
        for r in range(6):
            multi[m, FULL_P + r] += share * multi[m, U_MULTI + 6 * j + r]
    return six(multi, m, FULL_P)


@helper
def _restored(ints, floats, i, joint, carried, accelerations, efforts, imposed, work, multi):
    """Write unknown accelerations or efforts of element i's joint; return its acceleration but for the drift."""
    if joint[0] == AXIAL:
        return restore_axial(ints, floats, i, carried, accelerations, efforts, imposed, work)
    if joint[0] == SPHERICAL or joint[0] == FREE:
        return restore_multi(ints, floats, i, carried, accelerations, efforts, imposed, multi)
    return carried
