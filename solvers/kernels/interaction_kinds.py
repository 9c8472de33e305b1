"""The compiled kinds of interactions: the laws of `titop.blocks` of the same names, for kernels.

Each takes its `numbers` (1, count) and the relative motion of its ports, ``[R, r, V1, V2]`` (1, 24), and writes the wrenches on
both (1, 12), or the stored energy as the first of these. Symbols as in `titop.blocks.closure`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.solvers.kernels.algebra import matrix_of, put_six, six
from titop.solvers.kernels.layout import ACTING, OK, PORT_TWISTS
from titop.solvers.kernels.pack import times, transposed
from titop.solvers.kernels.rotations import cross3, dot3, log_rate, log_rate_transposed, rotation_log
from titop.solvers.kernels.stages import row_at
from titop.solvers.kernels.stops import impact_energy, impact_push
from titop.solvers.native.kernel import Stage, helper


class CompiledInteraction:
    """The stages of a kind of interaction.

    Parameters
    ----------
    name : str
        Of the kind.
    write, write_energy : helper
        ``write(numbers, motion, result)``.
    """

    def __init__(self, name: str, write: Any, write_energy: Any) -> None:
        def act(count, numbers, motion, wrenches):
            write(row_at(numbers, count), row_at(motion, ACTING), row_at(wrenches, 12))
            return OK

        def stored(count, numbers, motion, energy):
            write_energy(row_at(numbers, count), row_at(motion, ACTING), row_at(energy, 1))
            return OK

        self.act = Stage(f"{name}_act", act, 4)
        self.stored = Stage(f"{name}_stored", stored, 4)


@helper
def _position(motion):
    return motion[0, 9], motion[0, 10], motion[0, 11]


@helper
def _rates(motion):
    """Return the rate of r and the relative angular velocity w2 - R^T w1, in the frames of port 1 and port 2."""
    turn, r = matrix_of(motion, 0, 0), _position(motion)
    V1, V2 = six(motion, 0, np.int64(PORT_TWISTS)), six(motion, 0, np.int64(PORT_TWISTS + 6))
    w1 = V1[3], V1[4], V1[5]
    ahead, orbit, spin = times(turn, (V2[0], V2[1], V2[2])), cross3(r, w1), times(transposed(turn), w1)
    linear = ahead[0] - V1[0] + orbit[0], ahead[1] - V1[1] + orbit[1], ahead[2] - V1[2] + orbit[2]
    return linear, (V2[3] - spin[0], V2[4] - spin[1], V2[5] - spin[2])


@helper
def _put_wrenches(motion, at, force, torque, wrenches):
    """Write the wrenches of a `force` on port 2 at the point `at`, and of its opposite on port 1, beside a `torque` on 2.

    Point, force and torque are given in the frame of port 1.
    """
    turn, r = matrix_of(motion, 0, 0), _position(motion)
    arm, lever = cross3(at, force), cross3((at[0] - r[0], at[1] - r[1], at[2] - r[2]), force)
    back = transposed(turn)
    f, t = times(back, force), times(back, (lever[0] + torque[0], lever[1] + torque[1], lever[2] + torque[2]))
    put_six(
        wrenches,
        0,
        np.int64(0),
        (-force[0], -force[1], -force[2], -arm[0] - torque[0], -arm[1] - torque[1], -arm[2] - torque[2]),
    )
    put_six(wrenches, 0, np.int64(6), (f[0], f[1], f[2], t[0], t[1], t[2]))


# -- stiffness and damping in all directions ---------------------------------------------------------------------------


@helper
def _displacement(motion):
    """Return ``(r, log R)`` and its rotation vector."""
    phi = rotation_log(matrix_of(motion, 0, 0))
    return (motion[0, 9], motion[0, 10], motion[0, 11], phi[0], phi[1], phi[2]), phi


@helper
def _row_times(numbers, first, x):
    total = 0.0
    for j in range(6):
        total += numbers[0, first + j] * x[j]
    return total


@helper
def compliant_wrenches(numbers, motion, wrenches):
    """``-J^T (K delta + D d delta/dt)``; `numbers` are K and D."""
    delta, phi = _displacement(motion)
    linear, w = _rates(motion)
    about = log_rate(phi, w)
    rate = linear[0], linear[1], linear[2], about[0], about[1], about[2]
    turn = matrix_of(motion, 0, 0)
    for k in range(6):
        wrenches[0, k] = -_row_times(numbers, 6 * k, delta) - _row_times(numbers, 36 + 6 * k, rate)
    torque = times(turn, log_rate_transposed(phi, (wrenches[0, 3], wrenches[0, 4], wrenches[0, 5])))
    _put_wrenches(motion, _position(motion), (wrenches[0, 0], wrenches[0, 1], wrenches[0, 2]), torque, wrenches)


@helper
def compliant_energy(numbers, motion, energy):
    """``delta^T K delta / 2``."""
    delta, _ = _displacement(motion)
    energy[0, 0] = 0.0
    for k in range(6):
        energy[0, 0] += 0.5 * delta[k] * _row_times(numbers, 6 * k, delta)


# -- spring and damper along a line ------------------------------------------------------------------------------------


@helper
def spring_wrenches(numbers, motion, wrenches):
    """Tension along the line between the ports' origins; `numbers` are stiffness, damping and natural length."""
    r, (rate, _) = _position(motion), _rates(motion)
    length = np.sqrt(dot3(r, r))
    if length == 0.0:
        for k in range(12):
            wrenches[0, k] = 0.0
        return
    tension = numbers[0, 0] * (length - numbers[0, 2]) + numbers[0, 1] * dot3(r, rate) / length
    pull = -tension / length
    _put_wrenches(motion, r, (pull * r[0], pull * r[1], pull * r[2]), (0.0, 0.0, 0.0), wrenches)


@helper
def spring_energy(numbers, motion, energy):
    """``k (length - natural length)^2 / 2``."""
    r = _position(motion)
    energy[0, 0] = 0.5 * numbers[0, 0] * (np.sqrt(dot3(r, r)) - numbers[0, 2]) ** 2


# -- a sphere on a plane -----------------------------------------------------------------------------------------------


@helper
def contact_wrenches(numbers, motion, wrenches):
    """Hertz, Hunt-Crossley and smooth Coulomb friction.

    `numbers` are normal (3), radius, stiffness, dissipation, friction coefficient and slip velocity.
    """
    n = numbers[0, 0], numbers[0, 1], numbers[0, 2]
    r, radius = _position(motion), numbers[0, 3]
    depth = radius - dot3(n, r)
    if depth <= 0.0:
        for k in range(12):
            wrenches[0, k] = 0.0
        return
    rate, w = _rates(motion)
    spin = times(matrix_of(motion, 0, 0), w)
    normal = impact_push(depth, -dot3(n, rate), numbers[0, 4], numbers[0, 5])
    height = dot3(n, r)
    at = r[0] - height * n[0], r[1] - height * n[1], r[2] - height * n[2]
    rolling = cross3(spin, (at[0] - r[0], at[1] - r[1], at[2] - r[2]))
    x, y, z = rate[0] + rolling[0], rate[1] + rolling[1], rate[2] + rolling[2]
    away = n[0] * x + n[1] * y + n[2] * z
    x, y, z = x - away * n[0], y - away * n[1], z - away * n[2]
    drag = -numbers[0, 6] * normal / np.sqrt(x * x + y * y + z * z + numbers[0, 7] * numbers[0, 7])
    force = normal * n[0] + drag * x, normal * n[1] + drag * y, normal * n[2] + drag * z
    _put_wrenches(motion, at, force, (0.0, 0.0, 0.0), wrenches)


@helper
def contact_energy(numbers, motion, energy):
    """``k depth^2.5 / 2.5``."""
    depth = numbers[0, 3] - dot3((numbers[0, 0], numbers[0, 1], numbers[0, 2]), _position(motion))
    energy[0, 0] = impact_energy(max(depth, 0.0), numbers[0, 4])


COMPLIANT = CompiledInteraction("compliant", compliant_wrenches, compliant_energy)
SPRING = CompiledInteraction("spring", spring_wrenches, spring_energy)
CONTACT = CompiledInteraction("contact", contact_wrenches, contact_energy)
