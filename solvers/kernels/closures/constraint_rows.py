"""The constraints of rigid closures and gears.

Symbols as in `titop.blocks.constraints.closure`: 1 and 2 are the ports, ``(R, r)`` the pose of port 2 in port 1, phi its
rotation vector, w the relative angular velocity in the frame of port 2.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import everywhere, rounded, select
from titop.blocks.basics.tolerances import CANCELLED, CONSISTENT, OPEN, SAME
from titop.blocks.laws.vectors import cross3, dot3, times, transposed
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import value_of
from titop.solvers.kernels.ports.loads import push_port
from titop.solvers.kernels.ports.port_motion import relative_pose, twist_of_port
from titop.solvers.kernels.spatial.algebra import dot, six, three, transport
from titop.solvers.kernels.spatial.rotations import log_rate_bias, log_rate_transposed, rotation_log
from titop.solvers.native.kernel import helper, shared


@helper
def port_acceleration(ints, floats, law, work, row):
    """Return the acceleration of the port at `row` where the coordinates are not accelerated."""
    i = ints[row, layout.ELEMENT]
    if law is not None and ints[row, layout.PORT] >= 0:
        return six(law, 0, ints[row, layout.PORT] + layout.PORT_ACC)
    return transport(floats, row, 0, six(work, i, layout.ACC))


@shared
def constraints(system, state, rooms, error, jacobian, bias):
    """Write the values, the Jacobian (k x nv; none if 0 x nv) and the bias of all constraints: rigid closures', then gears'.

    `rooms` are `work`, with twists and the accelerations where no coordinate is accelerated, and the poses of all elements.
    """
    ((ints, floats, _, _, law), loops), (q, v), (work, world) = system, state, rooms
    row, k = loops[0, layout.FIRST_RIGID], 0
    for _ in range(loops[0, layout.RIGIDS]):
        turn, r = relative_pose(ints, floats, law, world, row)
        form = ints[row, layout.FORM]
        placed = turn, r, rotation_log(turn) if form == layout.LOG_FORM else (0.0, 0.0, 0.0)
        V1, V2 = twist_of_port(ints, floats, law, work, row, v), twist_of_port(ints, floats, law, work, row + 1, v)
        A1, A2 = port_acceleration(ints, floats, law, work, row), port_acceleration(ints, floats, law, work, row + 1)
        n = ints[row, layout.CONSTRAINTS]
        for c in range(n):
            E1, E2 = gradients(floats, row + c, placed, form)
            error[k] = 0.0 if ints[row + c, layout.SLIPS] else _value(floats, row + c, placed, form)
            second = dot(E1, A1) + dot(E2, A2) + bias_of(floats, row + c, placed, form, V1, V2, E2)
            at_rest = abs(second) < CANCELLED * (_terms(E1, A1) + _terms(E2, A2))  # where both ports have gravity's
            bias[k] = select(at_rest, second - value_of(second), second)
            if jacobian.shape[0] > 0:
                for j in range(jacobian.shape[1]):
                    jacobian[k, j] = 0.0
                push_port(ints, floats, law, work, row, E1, jacobian[k])
                push_port(ints, floats, law, work, row + 1, E2, jacobian[k])
            k += 1
        row += max(2, n)
    row = loops[0, layout.FIRST_GEAR]
    for _ in range(loops[0, layout.GEARS]):
        if jacobian.shape[0] > 0:
            for j in range(jacobian.shape[1]):
                jacobian[k, j] = 0.0
        total = 0.0
        for term in range(row, row + ints[row, layout.GEAR_TERMS]):
            if jacobian.shape[0] > 0:
                jacobian[k, ints[term, layout.TERM_V]] = floats[term, layout.FACTOR]
            total += floats[term, layout.FACTOR] * q[ints[term, layout.TERM_Q]]
        error[k], bias[k] = total - floats[row, layout.OFFSET], 0.0
        row += ints[row, layout.GEAR_TERMS]
        k += 1


@helper
def _terms(E, A):
    """Return the sum of the terms of ``E A``, their signs left out."""
    linear = abs(E[0] * A[0]) + abs(E[1] * A[1]) + abs(E[2] * A[2])
    return linear + abs(E[3] * A[3]) + abs(E[4] * A[4]) + abs(E[5] * A[5])


@helper
def _value(floats, row, placed, form):
    """Return ``along . r + about . phi + c . R n - offset``, or the height of what rolls, or what is left of a distance."""
    turn, r, phi = placed
    if form == layout.DISTANCE_FORM:
        return 0.5 * floats[row, layout.ALONG] * dot3(r, r) - floats[row, layout.OFFSET]
    if form == layout.ROLLING_FORM:
        along, (d, _, _) = three(floats, row, layout.ALONG), _contact(floats, row, turn)
        return dot3(along, r) + dot3(along, times(turn, d))
    value = dot3(three(floats, row, layout.ALONG), r) + dot3(three(floats, row, layout.ABOUT), phi)
    aligned = dot3(three(floats, row, layout.ALIGNED1), times(turn, three(floats, row, layout.ALIGNED2)))
    value, period = value + aligned - floats[row, layout.OFFSET], floats[row, layout.PERIOD]
    return value if everywhere(period == 0.0) else value - period * rounded(value / period)


@helper
def _contact(floats, row, turn):
    """Return the contact d of what rolls from the origin of port 2, the part c of the normal, and its length."""
    normal, axis = times(transposed(turn), three(floats, row, layout.ALIGNED1)), three(floats, row, layout.ALIGNED2)
    along = dot3(normal, axis)
    c = normal[0] - along * axis[0], normal[1] - along * axis[1], normal[2] - along * axis[2]
    length = np.sqrt(dot3(c, c))
    share = -floats[row, layout.OFFSET] / length
    return (share * c[0], share * c[1], share * c[2]), c, length


@helper
def _forwards(floats, row, turn):
    """Return the direction u of what rolls."""
    fixed, turned = three(floats, row, layout.ALONG), times(turn, three(floats, row, layout.ABOUT))
    return fixed[0] + turned[0], fixed[1] + turned[1], fixed[2] + turned[2]


@helper
def gradients(floats, row, placed, form):
    """Return E1 and E2: the constraint's rate is ``E1 V1 + E2 V2``, at R, r and phi, which is zero but for one form."""
    (turn, r, phi), back = placed, transposed(placed[0])
    if form == layout.ROLLING_FORM:
        along, (d, _, _) = _forwards(floats, row, turn), _contact(floats, row, turn)
        return _by_twists(along, cross3(d, times(back, along)), turn, r)
    if form == layout.DISTANCE_FORM:
        share = floats[row, layout.ALONG]
        return _by_twists((share * r[0], share * r[1], share * r[2]), (0.0, 0.0, 0.0), turn, r)
    about = log_rate_transposed(phi, three(floats, row, layout.ABOUT)) if form == layout.LOG_FORM else phi
    aligned = cross3(three(floats, row, layout.ALIGNED2), times(back, three(floats, row, layout.ALIGNED1)))
    angular = about[0] + aligned[0], about[1] + aligned[1], about[2] + aligned[2]
    return _by_twists(three(floats, row, layout.ALONG), angular, turn, r)


@helper
def _by_twists(along, angular, turn, r):
    back = transposed(turn)
    arm, at_1, at_2 = cross3(along, r), times(turn, angular), times(back, along)
    return (
        (-along[0], -along[1], -along[2], arm[0] - at_1[0], arm[1] - at_1[1], arm[2] - at_1[2]),
        (at_2[0], at_2[1], at_2[2], angular[0], angular[1], angular[2]),
    )


@helper
def bias_of(floats, row, placed, form, V1, V2, E2):
    """Return the part of the constraint's second derivative that is not ``E1 A1 + E2 A2``."""
    (turn, r, phi), w1, back = placed, (V1[3], V1[4], V1[5]), transposed(placed[0])
    spin = times(back, w1)  # in the frame of port 2
    w = V2[3] - spin[0], V2[4] - spin[1], V2[5] - spin[2]
    ahead, orbit = times(turn, (V2[0], V2[1], V2[2])), cross3(r, w1)
    r_rate = ahead[0] - V1[0] + orbit[0], ahead[1] - V1[1] + orbit[1], ahead[2] - V1[2] + orbit[2]
    swung, carried = times(turn, cross3(w, (V2[0], V2[1], V2[2]))), cross3(r_rate, w1)
    if form == layout.ROLLING_FORM:
        along = _forwards(floats, row, turn)
        bias = dot3(along, swung) + dot3(along, carried) + dot3((E2[3], E2[4], E2[5]), cross3(w, spin))
        return bias + _rolling_bias(floats, row, turn, r_rate, w)
    if form == layout.DISTANCE_FORM:
        return floats[row, layout.ALONG] * (dot3(r, swung) + dot3(r, carried) + dot3(r_rate, r_rate))
    along = three(floats, row, layout.ALONG)
    c, n = times(back, three(floats, row, layout.ALIGNED1)), three(floats, row, layout.ALIGNED2)
    bias = dot3(along, swung) + dot3(along, carried) + dot3(c, cross3(w, cross3(w, n)))
    bias += dot3((E2[3], E2[4], E2[5]), cross3(w, spin))
    return bias + dot3(three(floats, row, layout.ABOUT), log_rate_bias(phi, w)) if form == layout.LOG_FORM else bias


@helper
def _rolling_bias(floats, row, turn, r_rate, w):
    """Return ``du/dt . dr/dt + d(d x R^T u)/dt . w`` of what rolls."""
    d, c, length = _contact(floats, row, turn)
    back, axis = transposed(turn), three(floats, row, layout.ALIGNED2)
    fixed, turned = times(back, three(floats, row, layout.ALONG)), three(floats, row, layout.ABOUT)
    tilt = cross3(times(back, three(floats, row, layout.ALIGNED1)), w)
    along = dot3(tilt, axis)
    tilt = tilt[0] - along * axis[0], tilt[1] - along * axis[1], tilt[2] - along * axis[2]
    share, stretch = floats[row, layout.OFFSET] / length, dot3(c, tilt) / (length * length)
    d_rate = share * (stretch * c[0] - tilt[0]), share * (stretch * c[1] - tilt[1]), share * (stretch * c[2] - tilt[2])
    moved = cross3(d_rate, (fixed[0] + turned[0], fixed[1] + turned[1], fixed[2] + turned[2]))
    return dot3(times(turn, cross3(w, turned)), r_rate) + dot3(moved, w) + dot3(cross3(d, cross3(fixed, w)), w)


#: As in `titop.solvers.constraints.branch`: what counts as open.
_OPEN = 0.1 * OPEN


@helper
def opened(error):
    """Return whether loops are open by more than rounding and an integrator leave."""
    worst = 0.0
    for i in range(error.size):
        worst = max(worst, abs(error[i]))
    return not everywhere(worst <= _OPEN)


@helper
def contradicted(jacobian, error, bias, v, a, alone):
    """Return whether accelerations leave more than rounding of the constraints' second derivatives, the loops being closed.

    `alone` are the accelerations without closures.
    """
    rest, terms, turned, rate, worst = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(error.size):
        left, scale, before, speed = bias[i], abs(bias[i]), 0.0, 0.0
        for j in range(a.size):
            left += jacobian[i, j] * a[j]
            scale += abs(jacobian[i, j] * a[j])
            before += abs(jacobian[i, j] * alone[j])
            speed += abs(jacobian[i, j] * v[j])
        rest, terms, turned, rate = max(rest, abs(left)), max(terms, scale), max(turned, before), max(rate, speed)
        worst = max(worst, abs(error[i]))
    return not everywhere((rest <= SAME * turned + CONSISTENT * (terms + rate * rate)) | (worst > _OPEN))


@helper
def opening(error, jacobian, second, v, a, first_gear):
    """Return whether accelerations, or the configuration, open the loops by more than a simulation does.

    `second` are the second derivatives ``J a + bias`` of the rigid closures, the constraints before `first_gear`.
    """
    if opened(error):
        return True
    rest, terms, rate = 0.0, 0.0, 0.0
    for i in range(error.size):
        along, scale, speed = 0.0, 0.0, 0.0
        for j in range(a.size):
            along += jacobian[i, j] * a[j]
            scale += abs(jacobian[i, j] * a[j])
            speed += abs(jacobian[i, j] * v[j])
        left = second[i] if i < first_gear else along
        rest, terms, rate = max(rest, abs(left)), max(terms, scale + abs(left - along)), max(rate, speed)
    return not everywhere(rest <= CONSISTENT * (terms + rate * rate))
