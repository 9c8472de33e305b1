"""The compiled kinds of interactions: the laws of `titop.blocks` of the same names, for kernels.

Each is told the numbers of its ports, coordinates and inputs, its `numbers` (1, count), and the `motion` of its targets with
its inputs in one row (see `layout`), and writes wrenches and efforts, or the stored energy, into a row. Motion and loads may be
complex: derivatives are complex steps. Symbols as in `titop.blocks.constraints.closure`.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import select
from titop.blocks.laws.vectors import cross3, dot3, times, transposed
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.laws.compiled_interactions import interaction_stages
from titop.solvers.kernels.spatial.algebra import matrix_of, put_six, six
from titop.solvers.kernels.spatial.rotations import log_rate, log_rate_transposed, rotation_log
from titop.solvers.native.kernel import helper

#: Where pose and twist of the second port stand, and the twist of the first.
SECOND = np.int64(layout.MOTION_SIZE)
SECOND_TWIST, FIRST_TWIST = np.int64(layout.MOTION_SIZE + layout.MOVING), np.int64(layout.MOVING)


@helper
def position_of(motion):
    return motion[0, SECOND + 9], motion[0, SECOND + 10], motion[0, SECOND + 11]


@helper
def rates_of(motion):
    """Return the rate of r and the relative angular velocity w2 - R^T w1, in the frames of port 1 and port 2."""
    turn, r = matrix_of(motion, 0, SECOND), position_of(motion)
    V1, V2 = six(motion, 0, FIRST_TWIST), six(motion, 0, SECOND_TWIST)
    w1 = V1[3], V1[4], V1[5]
    ahead, orbit, spin = times(turn, (V2[0], V2[1], V2[2])), cross3(r, w1), times(transposed(turn), w1)
    linear = ahead[0] - V1[0] + orbit[0], ahead[1] - V1[1] + orbit[1], ahead[2] - V1[2] + orbit[2]
    return linear, (V2[3] - spin[0], V2[4] - spin[1], V2[5] - spin[2])


@helper
def put_wrenches(motion, at, force, torque, loads):
    """Write the wrenches of a `force` on port 2 at the point `at`, and of its opposite on port 1, beside a `torque` on 2.

    Point, force and torque are given in the frame of port 1.
    """
    turn, r = matrix_of(motion, 0, SECOND), position_of(motion)
    arm, lever = cross3(at, force), cross3((at[0] - r[0], at[1] - r[1], at[2] - r[2]), force)
    back = transposed(turn)
    f, t = times(back, force), times(back, (lever[0] + torque[0], lever[1] + torque[1], lever[2] + torque[2]))
    put_six(loads, 0, 0, (-force[0], -force[1], -force[2], -arm[0] - torque[0], -arm[1] - torque[1], -arm[2] - torque[2]))
    put_six(loads, 0, 6, (f[0], f[1], f[2], t[0], t[1], t[2]))


# -- stiffness and damping in all directions ---------------------------------------------------------------------------


@helper
def _displacement(motion):
    """Return ``(r, log R)`` and its rotation vector."""
    phi, r = rotation_log(matrix_of(motion, 0, SECOND)), position_of(motion)
    return (r[0], r[1], r[2], phi[0], phi[1], phi[2]), phi


@helper
def _row_times(numbers, first, x):
    total = numbers[0, first] * x[0]
    for j in range(1, 6):
        total += numbers[0, first + j] * x[j]
    return total


@helper
def compliant_loads(ports, coordinates, inputs, numbers, motion, loads):
    """``-J^T (K delta + D d delta/dt)``; `numbers` are K and D."""
    delta, phi = _displacement(motion)
    linear, w = rates_of(motion)
    about = log_rate(phi, w)
    rate = linear[0], linear[1], linear[2], about[0], about[1], about[2]
    turn = matrix_of(motion, 0, SECOND)
    for k in range(6):
        loads[0, k] = -_row_times(numbers, 6 * k, delta) - _row_times(numbers, 36 + 6 * k, rate)
    torque = times(turn, log_rate_transposed(phi, (loads[0, 3], loads[0, 4], loads[0, 5])))
    put_wrenches(motion, position_of(motion), (loads[0, 0], loads[0, 1], loads[0, 2]), torque, loads)


@helper
def compliant_energy(ports, coordinates, inputs, numbers, motion, energy):
    """``delta^T K delta / 2``."""
    delta, _ = _displacement(motion)
    energy[0, 0] = 0.0
    for k in range(6):
        energy[0, 0] += 0.5 * delta[k] * _row_times(numbers, 6 * k, delta)


# -- spring and damper along a line ------------------------------------------------------------------------------------


@helper
def _line(r):
    """Return the distance between two places and the direction of r from one to the other, zero where they coincide."""
    distance = np.sqrt(dot3(r, r))
    near = distance.real == 0.0
    share = select(near, 0.0, 1.0)
    inverse = share / select(near, 0.0 * distance + 1.0, distance)
    return share * distance, (inverse * r[0], inverse * r[1], inverse * r[2])


@helper
def spring_loads(ports, coordinates, inputs, numbers, motion, loads):
    """Tension along the line between the ports' origins; `numbers` are stiffness, damping and natural length.

    What the natural length leaves of ``-k r``, and the damping, act along the line, where there is one.
    """
    r, (rate, _) = position_of(motion), rates_of(motion)
    _, e = _line(r)
    along, k = numbers[0, 0] * numbers[0, 2] - numbers[0, 1] * dot3(e, rate), numbers[0, 0]
    force = along * e[0] - k * r[0], along * e[1] - k * r[1], along * e[2] - k * r[2]
    put_wrenches(motion, r, force, (0.0, 0.0, 0.0), loads)


@helper
def spring_energy(ports, coordinates, inputs, numbers, motion, energy):
    """``k (length - natural length)^2 / 2``."""
    r = position_of(motion)
    stretch = np.sqrt(dot3(r, r)) - numbers[0, 2]
    energy[0, 0] = 0.5 * numbers[0, 0] * (stretch * stretch)


# -- a cable over ports and pulleys --------------------------------------------------------------------------------------


@helper
def _segment(motion, k):
    """Return the direction from port k to the next, their distance, and its rate, in the frame of port 1."""
    one, two = np.int64(layout.MOTION_SIZE * k), np.int64(layout.MOTION_SIZE * (k + 1))
    r = (
        motion[0, two + 9] - motion[0, one + 9],
        motion[0, two + 10] - motion[0, one + 10],
        motion[0, two + 11] - motion[0, one + 11],
    )
    distance, e = _line(r)
    at_one, at_two = times(transposed(matrix_of(motion, 0, one)), e), times(transposed(matrix_of(motion, 0, two)), e)
    V1, V2 = six(motion, 0, one + layout.MOVING), six(motion, 0, two + layout.MOVING)
    return e, distance, dot3(at_two, V2) - dot3(at_one, V1)


@helper
def _stretch(ports, coordinates, numbers, motion):
    """Return by how much the cable is longer than slack, and the rate of that."""
    o = layout.MOTION_SIZE * ports
    stretch, rate = 0.0 * motion[0, 0] - numbers[0, 1], 0.0 * motion[0, 0]
    for k in range(coordinates):
        stretch += numbers[0, 3 + k] * motion[0, o + k]
        rate += numbers[0, 3 + k] * motion[0, o + coordinates + k]
    for k in range(ports - 1):
        _, distance, speed = _segment(motion, k)
        stretch += distance
        rate += speed
    return stretch, rate


@helper
def cable_loads(ports, coordinates, inputs, numbers, motion, loads):
    """One tension along the way; `numbers` are stiffness, length, dissipation and arms."""
    stretch, rate = _stretch(ports, coordinates, numbers, motion)
    share = 1.0 + numbers[0, 2] * rate
    tension = 0.0 * stretch + motion[0, motion.shape[1] - 1]
    tension = select((stretch.real > 0.0) & (share.real > 0.0), tension + numbers[0, 0] * stretch * share, tension)
    for k in range(6 * ports):
        loads[0, k] = 0.0
    for k in range(ports - 1):
        e, _, _ = _segment(motion, k)
        for end in range(2):
            sign = 1.0 - 2.0 * end
            back = transposed(matrix_of(motion, 0, np.int64(layout.MOTION_SIZE * (k + end))))
            pull = times(back, (sign * tension * e[0], sign * tension * e[1], sign * tension * e[2]))
            for j in range(3):
                loads[0, 6 * (k + end) + j] += pull[j]
    for k in range(coordinates):
        loads[0, 6 * ports + k] = -numbers[0, 3 + k] * tension


@helper
def cable_energy(ports, coordinates, inputs, numbers, motion, energy):
    """``k s^2 / 2`` where the cable is stretched by s."""
    stretch = -numbers[0, 1]
    for k in range(coordinates):
        stretch += numbers[0, 3 + k] * motion[0, layout.MOTION_SIZE * ports + k]
    for k in range(ports - 1):
        stretch += _segment(motion, k)[1]
    stretch = max(stretch, 0.0)
    energy[0, 0] = 0.5 * numbers[0, 0] * (stretch * stretch)


@helper
def cable_gap(ports, coordinates, inputs, numbers, motion, gap):
    """By how much it is stretched."""
    gap[0, 0], gap[0, 1] = _stretch(ports, coordinates, numbers, motion)


COMPLIANT = interaction_stages("compliant", compliant_loads, compliant_energy)
SPRING = interaction_stages("spring", spring_loads, spring_energy)
CABLE = interaction_stages("cable", cable_loads, cable_energy, write_gap=cable_gap)
for _kind in (COMPLIANT, SPRING):
    _kind.act.for_lanes(of_members=True)
