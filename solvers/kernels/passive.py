"""What acts besides the applied efforts: springs, dampers, stops, armatures' gyroscopic efforts, loads."""

from __future__ import annotations

import math

from titop.solvers.kernels.algebra import carry_wrench, cross, dot, rotate_back, six
from titop.solvers.kernels.general import subspace_column
from titop.solvers.kernels.joints import armature_gyroscopic
from titop.solvers.kernels.layout import (
    BIAS,
    DAMPING,
    ELEMENT,
    ELEMENTS,
    FIRST_LOAD,
    FORCE,
    FREE,
    FRICTION,
    INERTIAL,
    INERTIAL_LOADS,
    KIND,
    LAW,
    LOADS,
    MULTIS,
    OWN,
    PORT,
    REST,
    SIZE,
    SPHERICAL,
    SPRINGS,
    STIFFNESS,
    Q,
    R,
    V,
)
from titop.solvers.kernels.observe import world_poses
from titop.solvers.kernels.rotations import cross3, half_cotangent, log_rate_transposed
from titop.solvers.kernels.stops import stop_energy, stop_load
from titop.solvers.native.kernel import helper

#: As in `titop.blocks.spatial`: below this squared angle series are used.
_SMALL = 0.1


@helper
def add_passive_efforts(ints, floats, q, v, tau):
    """Add springs, dampers, stops and armatures' gyroscopic efforts to `tau`."""
    if ints[0, SPRINGS] > 0:
        add_springs(ints, floats, q, v, tau)
    if ints[0, MULTIS] > 0:
        for i in range(1, ints[0, ELEMENTS]):
            armature_gyroscopic(ints, floats, i, v, tau, ints[i, V])


@helper
def add_springs(ints, floats, q, v, tau):
    """Add ``-J^T K delta - D v``, dry friction and stops of every spring to `tau`."""
    row = ints[0, ELEMENTS]
    for _ in range(ints[0, SPRINGS]):
        n, k, kind = ints[row, SIZE], ints[row, V], ints[row, KIND]
        delta = displacement(ints, floats, row, q)
        pull = (
            _row_times(floats, row, 0, n, delta),
            _row_times(floats, row, 1, n, delta),
            _row_times(floats, row, 2, n, delta),
            _row_times(floats, row, 3, n, delta),
            _row_times(floats, row, 4, n, delta),
            _row_times(floats, row, 5, n, delta),
        )
        if kind == SPHERICAL:
            x, y, z = log_rate_transposed((delta[0], delta[1], delta[2]), (pull[0], pull[1], pull[2]))
            pull = x, y, z, 0.0, 0.0, 0.0
        elif kind == FREE:
            pull = _pull_back_pose(delta, pull)
        for i in range(n):
            tau[k + i] -= pull[i]
            for j in range(n):
                tau[k + i] -= floats[row + i, DAMPING + j] * v[k + j]
            tau[k + i] -= _friction(floats, row + i, v[k + i])
            tau[k + i] -= stop_load(floats, row + i, q[ints[row, Q] + i], v[k + i])
        row += n


@helper
def _friction(floats, row, rate):
    """Return the dry friction against a rate (see `titop.blocks.friction`)."""
    coulomb, breakaway = floats[row, FRICTION], floats[row, FRICTION + 1]
    if coulomb == 0.0 and breakaway == 0.0:
        return 0.0
    stribeck, smoothing = floats[row, FRICTION + 2], floats[row, FRICTION + 3]
    return (coulomb + (breakaway - coulomb) * math.exp(-((rate / stribeck) ** 2))) * math.tanh(rate / smoothing)


@helper
def friction_slope(floats, row, rate):
    """Return the derivative of the dry friction against a rate."""
    coulomb, breakaway = floats[row, FRICTION], floats[row, FRICTION + 1]
    if coulomb == 0.0 and breakaway == 0.0:
        return 0.0
    stribeck, smoothing = floats[row, FRICTION + 2], floats[row, FRICTION + 3]
    peak = (breakaway - coulomb) * math.exp(-((rate / stribeck) ** 2))
    side = math.tanh(rate / smoothing)
    return (coulomb + peak) * (1.0 - side * side) / smoothing - 2.0 * rate / (stribeck * stribeck) * peak * side


@helper
def _row_times(floats, row, i, n, delta):
    """Return row i of ``K delta``, zero beyond the spring's n rows."""
    return dot(six(floats, row + i, STIFFNESS), delta) if i < n else 0.0


@helper
def elastic_energy(ints, floats, q):
    """Return the energy of all springs and stops (J)."""
    energy, row = 0.0, ints[0, ELEMENTS]
    for _ in range(ints[0, SPRINGS]):
        n = ints[row, SIZE]
        delta = displacement(ints, floats, row, q)
        for i in range(n):
            energy += 0.5 * delta[i] * _row_times(floats, row, i, n, delta)
            energy += stop_energy(floats, row + i, q[ints[row, Q] + i])
        row += n
    return energy


@helper
def displacement(ints, floats, row, q):
    """Return ``difference(rest, q)`` of the spring at `row`, with zeros up to six entries."""
    k, kind = ints[row, Q], ints[row, KIND]
    if kind == SPHERICAL:
        x, y, z = _turn(floats, row, REST, q, k)
        return x, y, z, 0.0, 0.0, 0.0
    if kind == FREE:
        phi = _turn(floats, row, REST + 3, q, k + 3)
        return _pose_log(_seen_from_rest(floats, row, q, k), phi)
    n = ints[row, SIZE]
    return (
        q[k] - floats[row, REST],
        q[k + 1] - floats[row, REST + 1] if n > 1 else 0.0,
        q[k + 2] - floats[row, REST + 2] if n > 2 else 0.0,
        0.0,
        0.0,
        0.0,
    )


@helper
def _seen_from_rest(floats, row, q, k):
    """Return the position at ``q[k]`` in the frame of a free joint's rest configuration."""
    dx, dy, dz = q[k] - floats[row, REST], q[k + 1] - floats[row, REST + 1], q[k + 2] - floats[row, REST + 2]
    x, y, z, w = -floats[row, REST + 3], -floats[row, REST + 4], -floats[row, REST + 5], floats[row, REST + 6]
    tx, ty, tz = cross(x, y, z, dx, dy, dz)
    ux, uy, uz = cross(x, y, z, tx, ty, tz)
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return dx + s * (w * tx + ux), dy + s * (w * ty + uy), dz + s * (w * tz + uz)


@helper
def _pose_log(r, phi):
    """Return ``[rho; phi]``, the logarithm of a pose with position r and rotation vector phi."""
    ax, ay, az = cross(phi[0], phi[1], phi[2], r[0], r[1], r[2])
    bx, by, bz = cross(phi[0], phi[1], phi[2], ax, ay, az)
    h = half_cotangent(phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2])
    return r[0] - 0.5 * ax + h * bx, r[1] - 0.5 * ay + h * by, r[2] - 0.5 * az + h * bz, phi[0], phi[1], phi[2]


@helper
def _turn(floats, row, o, q, k):
    """Return the rotation vector from the rest quaternion at ``floats[row, o]`` to the one at ``q[k]``."""
    ax, ay, az, aw = -floats[row, o], -floats[row, o + 1], -floats[row, o + 2], floats[row, o + 3]
    bx, by, bz, bw = q[k], q[k + 1], q[k + 2], q[k + 3]
    cx, cy, cz = cross(ax, ay, az, bx, by, bz)
    x, y, z = aw * bx + bw * ax + cx, aw * by + bw * ay + cy, aw * bz + bw * az + cz
    w = aw * bw - ax * bx - ay * by - az * bz
    sine = math.sqrt(x * x + y * y + z * z)
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    scale = 2.0 / w * (1.0 - (sine / w) ** 2 / 3.0) if sine < 1e-5 * w else 2.0 * math.atan2(sine, w) / sine
    return scale * x, scale * y, scale * z


@helper
def _pull_back_pose(delta, f):
    """Return ``J^-T f``, J the right Jacobian of SE(3) at delta.

    With j SO(3)'s right Jacobian and c the coupling, ``J^-1 = [[j^-1, -j^-1 c j^-1], [0, j^-1]]``.
    """
    phi = delta[3], delta[4], delta[5]
    force = log_rate_transposed(phi, (f[0], f[1], f[2]))
    coupled = _coupling_transposed((delta[0], delta[1], delta[2]), phi, force)
    torque = log_rate_transposed(phi, (f[3] - coupled[0], f[4] - coupled[1], f[5] - coupled[2]))
    return force[0], force[1], force[2], torque[0], torque[1], torque[2]


@helper
def _coupling_transposed(rho, phi, f):
    """Return ``c^T f`` for the coupling c of `titop.blocks.spatial`: words in the cross products with phi and rho."""
    s = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    if s < _SMALL:
        c1 = 1 / 6 - s * (1 / 120 - s * (1 / 5040 - s * (1 / 362880 - s / 39916800)))
        c2 = 1 / 24 - s * (1 / 720 - s * (1 / 40320 - s * (1 / 3628800 - s / 479001600)))
        c3 = 1 / 120 - s * (1 / 2520 - s * (1 / 120960 - s * (1 / 9979200 - s / 1245404160)))
    else:
        t = math.sqrt(s)
        c1 = (t - math.sin(t)) / (s * t)
        c2 = (s + 2 * math.cos(t) - 2) / (2 * s * s)
        c3 = (2 * t - 3 * math.sin(t) + t * math.cos(t)) / (2 * s * s * t)
    x, p = cross3(rho, f), cross3(phi, f)
    xp, px, pp = cross3(rho, p), cross3(phi, x), cross3(phi, p)
    pxp, xpp, ppx = cross3(phi, xp), cross3(rho, pp), cross3(phi, px)
    pxpp, ppxp = cross3(phi, xpp), cross3(phi, pxp)
    return (
        0.5 * x[0] + c1 * (xp[0] + px[0] + pxp[0]) + c2 * (xpp[0] + ppx[0] - 3.0 * pxp[0]) + c3 * (ppxp[0] + pxpp[0]),
        0.5 * x[1] + c1 * (xp[1] + px[1] + pxp[1]) + c2 * (xpp[1] + ppx[1] - 3.0 * pxp[1]) + c3 * (ppxp[1] + pxpp[1]),
        0.5 * x[2] + c1 * (xp[2] + px[2] + pxp[2]) + c2 * (xpp[2] + ppx[2] - 3.0 * pxp[2]) + c3 * (ppxp[2] + pxpp[2]),
    )


@helper
def apply_loads(ints, floats, law, work, world, general):
    """Subtract the loads from the laws of general blocks, or else from the biases of rigid bodies.

    `world` receives the poses of all elements if a load is given in the inertial frame.
    """
    if ints[0, INERTIAL_LOADS]:
        world_poses(ints, law, work, world)
    for row in range(ints[0, FIRST_LOAD], ints[0, FIRST_LOAD] + ints[0, LOADS]):
        i = ints[row, ELEMENT]
        if (ints[i, LAW] >= 0) != general or i == 0:
            continue
        wrench = six(floats, row, FORCE)
        if ints[row, INERTIAL]:
            wrench = _turn_back(world, i, 0, wrench)
        if law is not None:
            if general:
                _subtract_from_law(ints, law, row, i, wrench)
                continue
        if ints[row, INERTIAL]:
            wrench = _turn_back(floats, row, R, wrench)
        wrench = carry_wrench(floats, row, R, wrench)
        for k in range(6):
            work[i, BIAS + k] -= wrench[k]


@helper
def _subtract_from_law(ints, law, row, i, wrench):
    """Subtract a wrench at the port of the load at `row` from h of general block i.

    A wrench in the inertial frame comes in components of the block's parent port.
    """
    size = 6 + ints[i, OWN]
    h = ints[i, LAW] + size * size
    if ints[row, PORT] >= 0:
        if ints[row, INERTIAL]:
            wrench = _turn_back(law, 0, ints[row, PORT], wrench)
        for j in range(ints[i, OWN]):
            law[0, h + 6 + j] -= dot(subspace_column(ints, law, row, i, j), wrench)
        wrench = carry_wrench(law, 0, ints[row, PORT], wrench)
    for k in range(6):
        law[0, h + k] -= wrench[k]


@helper
def _turn_back(t, i, o, w):
    fx, fy, fz = rotate_back(t, i, o, w[0], w[1], w[2])
    tx, ty, tz = rotate_back(t, i, o, w[3], w[4], w[5])
    return fx, fy, fz, tx, ty, tz
