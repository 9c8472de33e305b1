"""Loop closures: forces of the compliant ones, constraints of the rigid ones.

Symbols as in `titop.blocks.closure`: 1 and 2 are the ports, ``(R, r)`` the pose of port 2 in port 1, phi its rotation vector,
w the relative angular velocity in the frame of port 2.
"""

from __future__ import annotations

import math

from titop.solvers.kernels.algebra import carry_wrench, cross, dot, helper, matrix_of, plus, rotate, six, transport
from titop.solvers.kernels.general import port_effort, port_gamma, port_twist, subspace_column
from titop.solvers.kernels.joints import along_joint
from titop.solvers.kernels.layout import (
    ABOUT,
    ACC,
    ALIGNED1,
    ALIGNED2,
    ALONG,
    BIAS,
    CLOSURES,
    COMPLIANT_ROWS,
    CONSTRAINTS,
    DRAG,
    ELEMENT,
    FIRST_LOAD,
    FIRST_RIGID,
    LAW,
    OFFSET,
    OWN,
    PARENT,
    PORT,
    PULL,
    RIGIDS,
    TURNS,
    TWIST,
    R,
    V,
)
from titop.solvers.kernels.observe import product
from titop.solvers.kernels.pack import times, transposed

#: As in `titop.blocks.spatial`: below this squared angle series are used.
_SMALL = 0.1


# -- poses and motions of ports ----------------------------------------------------------------------------------------


@helper
def port_pose(ints, floats, law, world, row):
    """Return rotation (9) and position (3) of the port at `row` in the inertial frame."""
    i = ints[row, ELEMENT]
    base = matrix_of(world, i, 0)
    x, y, z = rotate(world, i, 0, floats[row, 9], floats[row, 10], floats[row, 11])
    rotation = product(base, matrix_of(floats, row, 0))
    if law is not None:
        if ints[row, PORT] >= 0:
            o = ints[row, PORT]
            x, y, z = rotate(world, i, 0, law[0, o + 9], law[0, o + 10], law[0, o + 11])
            rotation = product(base, matrix_of(law, 0, o))
    return rotation, (world[i, 9] + x, world[i, 10] + y, world[i, 11] + z)


@helper
def relative_pose(ints, floats, law, world, row):
    """Return R and r of the closure at `row`."""
    rotation1, p1 = port_pose(ints, floats, law, world, row)
    rotation2, p2 = port_pose(ints, floats, law, world, row + 1)
    back = transposed(rotation1)
    return product(back, rotation2), times(back, (p2[0] - p1[0], p2[1] - p1[1], p2[2] - p1[2]))


@helper
def _port_twist(ints, floats, law, work, row, v):
    """Return the twist of the port at `row`, in its frame."""
    i = ints[row, ELEMENT]
    if law is not None:
        if ints[row, PORT] >= 0:
            return port_twist(ints, law, row, i, six(work, i, TWIST), v)
    return transport(floats, row, 0, six(work, i, TWIST))


@helper
def _port_acceleration(ints, floats, law, work, row):
    """Return the acceleration of the port at `row` where the coordinates are not accelerated."""
    i = ints[row, ELEMENT]
    if law is not None:
        if ints[row, PORT] >= 0:
            return plus(transport(law, 0, ints[row, PORT], six(work, i, ACC)), port_gamma(ints, law, row))
    return transport(floats, row, 0, six(work, i, ACC))


# -- rotations -----------------------------------------------------------------------------------------------------------


@helper
def rotation_log(m):
    """Return the rotation vector of a rotation matrix (Shepperd's method)."""
    trace = m[0] + m[4] + m[8]
    if trace >= m[0] and trace >= m[4] and trace >= m[8]:
        x, y, z, w = m[7] - m[5], m[2] - m[6], m[3] - m[1], 1.0 + trace
    elif m[0] >= m[4] and m[0] >= m[8]:
        x, y, z, w = 1.0 - trace + 2.0 * m[0], m[3] + m[1], m[6] + m[2], m[7] - m[5]
    elif m[4] >= m[8]:
        x, y, z, w = m[1] + m[3], 1.0 - trace + 2.0 * m[4], m[7] + m[5], m[2] - m[6]
    else:
        x, y, z, w = m[2] + m[6], m[5] + m[7], 1.0 - trace + 2.0 * m[8], m[3] - m[1]
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    sine = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 / w * (1.0 - (sine / w) ** 2 / 3.0) if sine < 1e-5 * w else 2.0 * math.atan2(sine, w) / sine
    return scale * x, scale * y, scale * z


@helper
def _cross(a, b):
    return cross(a[0], a[1], a[2], b[0], b[1], b[2])


@helper
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@helper
def _half_cotangent(s):
    """Return ``1/t^2 - cot(t/2)/(2 t)`` and its derivative by s, from ``s = t^2``."""
    if s < _SMALL:
        value = 1 / 12 + s * (1 / 720 + s * (1 / 30240 + s * (1 / 1209600 + s * (1 / 47900160 + s * 691 / 1307674368000))))
        slope = 1 / 720 + s * (2 / 30240 + s * (3 / 1209600 + s * (4 / 47900160 + s * 5 * 691 / 1307674368000)))
        return value, slope
    t = math.sqrt(s)
    sine, cosine = math.sin(0.5 * t), math.cos(0.5 * t)
    return 1.0 / s - cosine / (2.0 * t * sine), -1.0 / (s * s) + cosine / (4.0 * s * t * sine) + 1.0 / (8.0 * s * sine * sine)


@helper
def _turned(phi, w, sign):
    """Return ``d log(R)/d(w) w`` for sign 1, its transpose times w for sign -1."""
    a = _cross(phi, w)
    b = _cross(phi, a)
    h, _ = _half_cotangent(_dot(phi, phi))
    half = 0.5 * sign
    return w[0] + half * a[0] + h * b[0], w[1] + half * a[1] + h * b[1], w[2] + half * a[2] + h * b[2]


@helper
def _turn_bias(phi, w):
    """Return the part of the second derivative of log R that comes with the rate of ``d log(R)/d(w)``, times w."""
    rate = _turned(phi, w, 1.0)
    h, slope = _half_cotangent(_dot(phi, phi))
    along = 2.0 * _dot(phi, rate) * slope
    a, x = _cross(phi, w), _cross(rate, w)
    ra, px, pa = _cross(rate, a), _cross(phi, x), _cross(phi, a)
    return (
        0.5 * x[0] + h * (ra[0] + px[0]) + along * pa[0],
        0.5 * x[1] + h * (ra[1] + px[1]) + along * pa[1],
        0.5 * x[2] + h * (ra[2] + px[2]) + along * pa[2],
    )


# -- compliant closures --------------------------------------------------------------------------------------------------


@helper
def apply_compliance(ints, floats, law, v, work, world, general):
    """Subtract the compliant closures' wrenches from the laws of general blocks, or else from the biases of rigid bodies.

    `world` holds the poses of all elements.
    """
    row = ints[0, FIRST_LOAD] - COMPLIANT_ROWS * ints[0, CLOSURES]
    for _ in range(ints[0, CLOSURES]):
        at_1, at_2 = compliant_wrenches(ints, floats, law, v, work, world, row)
        _subtract(ints, floats, law, work, row, at_1, general)
        _subtract(ints, floats, law, work, row + 1, at_2, general)
        row += COMPLIANT_ROWS


@helper
def compliant_wrenches(ints, floats, law, v, work, world, row):
    """Return the wrenches on both ports of the compliant closure at `row`, each in its port's frame."""
    turn, r = relative_pose(ints, floats, law, world, row)
    phi = rotation_log(turn)
    V1, V2 = _port_twist(ints, floats, law, work, row, v), _port_twist(ints, floats, law, work, row + 1, v)
    delta = r[0], r[1], r[2], phi[0], phi[1], phi[2]
    ahead, orbit = times(turn, (V2[0], V2[1], V2[2])), _cross(r, (V1[3], V1[4], V1[5]))
    spin = times(transposed(turn), (V1[3], V1[4], V1[5]))
    about = _turned(phi, (V2[3] - spin[0], V2[4] - spin[1], V2[5] - spin[2]), 1.0)
    rate = (
        ahead[0] - V1[0] + orbit[0],
        ahead[1] - V1[1] + orbit[1],
        ahead[2] - V1[2] + orbit[2],
        about[0],
        about[1],
        about[2],
    )
    force = (
        _pull(floats, row, delta, rate),
        _pull(floats, row + 1, delta, rate),
        _pull(floats, row + 2, delta, rate),
    )
    torque = _turned(
        phi,
        (
            _pull(floats, row + 3, delta, rate),
            _pull(floats, row + 4, delta, rate),
            _pull(floats, row + 5, delta, rate),
        ),
        -1.0,
    )
    back, turned, arm = times(transposed(turn), force), times(turn, torque), _cross(r, force)
    at_1 = force[0], force[1], force[2], arm[0] + turned[0], arm[1] + turned[1], arm[2] + turned[2]
    return at_1, (-back[0], -back[1], -back[2], -torque[0], -torque[1], -torque[2])


@helper
def _pull(floats, row, delta, rate):
    return dot(six(floats, row, PULL), delta) + dot(six(floats, row, DRAG), rate)


@helper
def _subtract(ints, floats, law, work, row, wrench, general):
    """Subtract a wrench on the port at `row` from its block's law or bias, if the block is general as asked."""
    i = ints[row, ELEMENT]
    if i == 0 or (ints[i, LAW] >= 0) != general:
        return
    if law is not None:
        if general:
            size = 6 + ints[i, OWN]
            h = ints[i, LAW] + size * size
            if ints[row, PORT] >= 0:
                for j in range(ints[i, OWN]):
                    law[0, h + 6 + j] -= dot(subspace_column(ints, law, row, i, j), wrench)
                wrench = carry_wrench(law, 0, ints[row, PORT], wrench)
            for k in range(6):
                law[0, h + k] -= wrench[k]
            return
    wrench = carry_wrench(floats, row, R, wrench)
    for k in range(6):
        work[i, BIAS + k] -= wrench[k]


@helper
def compliant_energy(ints, floats, law, world):
    """Return the energy stored in all compliant closures (J)."""
    energy = 0.0
    row = ints[0, FIRST_LOAD] - COMPLIANT_ROWS * ints[0, CLOSURES]
    for _ in range(ints[0, CLOSURES]):
        turn, r = relative_pose(ints, floats, law, world, row)
        phi = rotation_log(turn)
        delta = r[0], r[1], r[2], phi[0], phi[1], phi[2]
        for i in range(6):
            energy += 0.5 * delta[i] * dot(six(floats, row + i, PULL), delta)
        row += COMPLIANT_ROWS
    return energy


# -- rigid closures ------------------------------------------------------------------------------------------------------


@helper
def constraints(ints, floats, law, loops, v, work, world, error, jacobian, bias):
    """Write the values, the Jacobian (k x nv) and the bias of all constraints.

    `work` holds twists and the accelerations where no coordinate is accelerated, `world` the poses of all elements.
    """
    row, k = loops[0, FIRST_RIGID], 0
    for _ in range(loops[0, RIGIDS]):
        turn, r = relative_pose(ints, floats, law, world, row)
        phi = rotation_log(turn) if ints[row, TURNS] else (0.0, 0.0, 0.0)
        V1, V2 = _port_twist(ints, floats, law, work, row, v), _port_twist(ints, floats, law, work, row + 1, v)
        A1, A2 = _port_acceleration(ints, floats, law, work, row), _port_acceleration(ints, floats, law, work, row + 1)
        n = ints[row, CONSTRAINTS]
        for c in range(n):
            E1, E2 = _gradients(floats, row + c, turn, r, phi)
            error[k] = _value(floats, row + c, turn, r, phi)
            bias[k] = _bias(floats, row + c, turn, r, phi, V1, V2, E2) + dot(E1, A1) + dot(E2, A2)
            for j in range(jacobian.shape[1]):
                jacobian[k, j] = 0.0
            _write_efforts(ints, floats, law, work, row, E1, jacobian[k])
            _write_efforts(ints, floats, law, work, row + 1, E2, jacobian[k])
            k += 1
        row += max(2, n)


@helper
def _three(floats, row, o):
    return floats[row, o], floats[row, o + 1], floats[row, o + 2]


@helper
def _value(floats, row, turn, r, phi):
    """Return ``along . r + about . phi + c . R n - offset``."""
    value = _dot(_three(floats, row, ALONG), r) + _dot(_three(floats, row, ABOUT), phi)
    return value + _dot(_three(floats, row, ALIGNED1), times(turn, _three(floats, row, ALIGNED2))) - floats[row, OFFSET]


@helper
def _gradients(floats, row, turn, r, phi):
    """Return E1 and E2: the constraint's rate is ``E1 V1 + E2 V2``."""
    along, back = _three(floats, row, ALONG), transposed(turn)
    about = _turned(phi, _three(floats, row, ABOUT), -1.0)
    aligned = _cross(_three(floats, row, ALIGNED2), times(back, _three(floats, row, ALIGNED1)))
    angular = about[0] + aligned[0], about[1] + aligned[1], about[2] + aligned[2]
    arm, at_1, at_2 = _cross(along, r), times(turn, angular), times(back, along)
    return (
        (-along[0], -along[1], -along[2], arm[0] - at_1[0], arm[1] - at_1[1], arm[2] - at_1[2]),
        (at_2[0], at_2[1], at_2[2], angular[0], angular[1], angular[2]),
    )


@helper
def _bias(floats, row, turn, r, phi, V1, V2, E2):
    """Return the part of the constraint's second derivative that is not ``E1 A1 + E2 A2``."""
    w1, back = (V1[3], V1[4], V1[5]), transposed(turn)
    spin = times(back, w1)  # in the frame of port 2
    w = V2[3] - spin[0], V2[4] - spin[1], V2[5] - spin[2]
    ahead, orbit = times(turn, (V2[0], V2[1], V2[2])), _cross(r, w1)
    r_rate = ahead[0] - V1[0] + orbit[0], ahead[1] - V1[1] + orbit[1], ahead[2] - V1[2] + orbit[2]
    swung, carried = times(turn, _cross(w, (V2[0], V2[1], V2[2]))), _cross(r_rate, w1)
    along = _three(floats, row, ALONG)
    c, n = times(back, _three(floats, row, ALIGNED1)), _three(floats, row, ALIGNED2)
    bias = _dot(along, swung) + _dot(along, carried) + _dot(c, _cross(w, _cross(w, n)))
    return bias + _dot(_three(floats, row, ABOUT), _turn_bias(phi, w)) + _dot((E2[3], E2[4], E2[5]), _cross(w, spin))


@helper
def _write_efforts(ints, floats, law, work, row, wrench, efforts):
    """Add what a wrench on the port at `row` does along the coordinates on the path to the world."""
    i = ints[row, ELEMENT]
    if law is None or ints[row, PORT] < 0:
        wrench = carry_wrench(floats, row, R, wrench)
    if law is not None:
        if ints[row, PORT] >= 0:
            port_effort(ints, law, row, i, wrench, efforts)
            wrench = carry_wrench(law, 0, ints[row, PORT], wrench)
    while i > 0:
        along_joint(ints, floats, i, wrench, efforts, ints[i, V])
        p = ints[i, PARENT]
        if p > 0:
            wrench = carry_wrench(work, i, R, wrench)
            if law is not None:
                if ints[i, PORT] >= 0:
                    port_effort(ints, law, i, p, wrench, efforts)
                    wrench = carry_wrench(law, 0, ints[i, PORT], wrench)
        i = p
