"""What acts besides the applied efforts: springs, dampers, armatures' gyroscopic efforts, loads."""

from __future__ import annotations

import math

import numpy as np
from titop.solvers.kernels.algebra import carry_wrench, cross, helper, rotate_back, six
from titop.solvers.kernels.general import port_effort
from titop.solvers.kernels.joints import armature_gyroscopic
from titop.solvers.kernels.layout import (
    BIAS,
    DAMPING,
    ELEMENT,
    ELEMENTS,
    FIRST_LOAD,
    FORCE,
    FREE,
    INERTIAL,
    INERTIAL_LOADS,
    KIND,
    LAW,
    LOADS,
    MULTIS,
    OWN,
    OWN_V,
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

_SMALL = 1e-4


@helper
def add_passive_efforts(ints, floats, q, v, tau):
    """Add springs, dampers and armatures' gyroscopic efforts to `tau`."""
    if ints[0, SPRINGS] > 0:
        add_springs(ints, floats, q, v, tau)
    if ints[0, MULTIS] > 0:
        for i in range(1, ints[0, ELEMENTS]):
            armature_gyroscopic(ints, floats, i, v, tau, ints[i, V])


@helper
def add_springs(ints, floats, q, v, tau):
    """Add ``-J^T K delta - D v`` of every spring to `tau`."""
    delta, effort = np.empty(6), np.empty(6)
    row = ints[0, ELEMENTS]
    for _ in range(ints[0, SPRINGS]):
        n, k = ints[row, SIZE], ints[row, V]
        displacement(ints, floats, row, q, delta)
        for i in range(n):
            effort[i] = 0.0
            for j in range(n):
                effort[i] -= floats[row + i, STIFFNESS + j] * delta[j]
        if ints[row, KIND] == SPHERICAL:
            _pull_back_rotation(delta, 0, effort, 0)
        elif ints[row, KIND] == FREE:
            _pull_back_pose(delta, effort)
        for i in range(n):
            for j in range(n):
                effort[i] -= floats[row + i, DAMPING + j] * v[k + j]
            tau[k + i] += effort[i]
        row += n


@helper
def elastic_energy(ints, floats, q):
    """Return the energy of all springs (J)."""
    delta = np.empty(6)
    energy, row = 0.0, ints[0, ELEMENTS]
    for _ in range(ints[0, SPRINGS]):
        n = ints[row, SIZE]
        displacement(ints, floats, row, q, delta)
        for i in range(n):
            for j in range(n):
                energy += 0.5 * delta[i] * floats[row + i, STIFFNESS + j] * delta[j]
        row += n
    return energy


@helper
def displacement(ints, floats, row, q, delta):
    """Write ``difference(rest, q)`` of the spring at `row` into `delta`."""
    k, kind = ints[row, Q], ints[row, KIND]
    if kind == SPHERICAL:
        delta[0], delta[1], delta[2] = _turn(floats, row, REST, q, k)
    elif kind == FREE:
        phi = _turn(floats, row, REST + 3, q, k + 3)
        d = q[k] - floats[row, REST], q[k + 1] - floats[row, REST + 1], q[k + 2] - floats[row, REST + 2]
        x, y, z, w = -floats[row, REST + 3], -floats[row, REST + 4], -floats[row, REST + 5], floats[row, REST + 6]
        t = cross(x, y, z, d[0], d[1], d[2])
        u = cross(x, y, z, t[0], t[1], t[2])
        s = 2.0 / (x * x + y * y + z * z + w * w)
        r = d[0] + s * (w * t[0] + u[0]), d[1] + s * (w * t[1] + u[1]), d[2] + s * (w * t[2] + u[2])
        c1 = cross(phi[0], phi[1], phi[2], r[0], r[1], r[2])
        c2 = cross(phi[0], phi[1], phi[2], c1[0], c1[1], c1[2])
        h = _half_cotangent(phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2])
        for i in range(3):
            delta[i] = r[i] - 0.5 * c1[i] + h * c2[i]
            delta[3 + i] = phi[i]
    else:
        for i in range(ints[row, SIZE]):
            delta[i] = q[k + i] - floats[row, REST + i]


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
def _half_cotangent(s):
    """Return ``1/t^2 - cot(t/2)/(2 t)`` from ``s = t^2``."""
    if s < _SMALL:
        return 1.0 / 12.0 + s / 720.0 * (1.0 + s / 42.0 * (1.0 + s / 40.0))
    t = math.sqrt(s)
    return 1.0 / s - math.cos(0.5 * t) / (2.0 * t * math.sin(0.5 * t))


@helper
def _pull_back_rotation(delta, o, effort, e):
    """Multiply ``effort[e:e+3]`` by the transposed inverse of SO(3)'s right Jacobian at ``delta[o:o+3]``."""
    x, y, z = delta[o], delta[o + 1], delta[o + 2]
    c1 = cross(x, y, z, effort[e], effort[e + 1], effort[e + 2])
    c2 = cross(x, y, z, c1[0], c1[1], c1[2])
    h = _half_cotangent(x * x + y * y + z * z)
    for i in range(3):
        effort[e + i] += -0.5 * c1[i] + h * c2[i]


@helper
def _pull_back_pose(delta, effort):
    """Multiply `effort` by the transposed inverse of SE(3)'s right Jacobian at `delta`.

    With J the right Jacobian of SO(3) and Q the coupling, the inverse is ``[[J^-1, -J^-1 Q J^-1], [0, J^-1]]``.
    """
    _pull_back_rotation(delta, 3, effort, 0)
    coupled = np.empty(3)
    _coupling_transposed(delta, effort, coupled)
    for i in range(3):
        effort[3 + i] -= coupled[i]
    _pull_back_rotation(delta, 3, effort, 3)


@helper
def _coupling_transposed(delta, f, out):
    """Write ``Q^T f`` for the coupling Q of `titop.blocks.spatial` (all its terms are words in p = -phi x, x = -rho x)."""
    s = delta[3] * delta[3] + delta[4] * delta[4] + delta[5] * delta[5]
    if s < _SMALL:
        c1, c2, c3 = 1 / 6 - s / 120 + s * s / 5040, 1 / 24 - s / 720 + s * s / 40320, 1 / 120 - s / 2520
    else:
        t = math.sqrt(s)
        c1 = (t - math.sin(t)) / (s * t)
        c2 = (s + 2 * math.cos(t) - 2) / (2 * s * s)
        c3 = (2 * t - 3 * math.sin(t) + t * math.cos(t)) / (2 * s * s * t)
    # transposed words: p^T = phi x, x^T = rho x, and the order turns round
    f0 = f[0], f[1], f[2]
    p = cross(delta[3], delta[4], delta[5], f0[0], f0[1], f0[2])
    x = cross(delta[0], delta[1], delta[2], f0[0], f0[1], f0[2])
    px = cross(delta[3], delta[4], delta[5], x[0], x[1], x[2])
    xp = cross(delta[0], delta[1], delta[2], p[0], p[1], p[2])
    pp = cross(delta[3], delta[4], delta[5], p[0], p[1], p[2])
    pxp = cross(delta[3], delta[4], delta[5], xp[0], xp[1], xp[2])
    xpp = cross(delta[0], delta[1], delta[2], pp[0], pp[1], pp[2])
    ppx = cross(delta[3], delta[4], delta[5], px[0], px[1], px[2])
    pxpp = cross(delta[3], delta[4], delta[5], xpp[0], xpp[1], xpp[2])
    ppxp = cross(delta[3], delta[4], delta[5], pxp[0], pxp[1], pxp[2])
    for i in range(3):
        words = c1 * (xp[i] + px[i] + pxp[i]) + c2 * (xpp[i] + ppx[i] - 3.0 * pxp[i]) + c3 * (ppxp[i] + pxpp[i])
        out[i] = 0.5 * x[i] + words


@helper
def apply_loads(ints, floats, law, work, general):
    """Subtract the loads from the laws of general blocks, or else from the biases of rigid bodies."""
    first, count = ints[0, FIRST_LOAD], ints[0, LOADS]
    world = np.empty((ints[0, ELEMENTS] if ints[0, INERTIAL_LOADS] else 0, 12))
    if ints[0, INERTIAL_LOADS]:
        world_poses(ints, law, work, world)
    for row in range(first, first + count):
        i = ints[row, ELEMENT]
        if (ints[i, LAW] >= 0) != general or i == 0:
            continue
        wrench = six(floats, row, FORCE)
        if ints[row, INERTIAL]:
            wrench = _turn_back(world, i, 0, wrench)
            wrench = _turn_back(law, 0, ints[row, PORT], wrench) if ints[row, PORT] >= 0 else _turn_back(floats, row, R, wrench)
        if general:
            _subtract_from_law(ints, floats, law, row, i, wrench)
        else:
            wrench = carry_wrench(floats, row, R, wrench)
            for k in range(6):
                work[i, BIAS + k] -= wrench[k]


@helper
def _subtract_from_law(ints, floats, law, row, i, wrench):
    """Subtract a wrench at the port of the load at `row` from h of general block i."""
    size = 6 + ints[i, OWN]
    h = ints[i, LAW] + size * size
    if ints[row, PORT] >= 0:
        own = np.zeros(ints[i, OWN_V] + ints[i, OWN])
        port_effort(ints, law, row, i, wrench, own, 1.0)
        for j in range(ints[i, OWN]):
            law[0, h + 6 + j] -= own[ints[i, OWN_V] + j]
        wrench = carry_wrench(law, 0, ints[row, PORT], wrench)
    for k in range(6):
        law[0, h + k] -= wrench[k]


@helper
def _turn_back(t, i, o, w):
    fx, fy, fz = rotate_back(t, i, o, w[0], w[1], w[2])
    tx, ty, tz = rotate_back(t, i, o, w[3], w[4], w[5])
    return fx, fy, fz, tx, ty, tz
