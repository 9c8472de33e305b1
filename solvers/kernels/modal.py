"""The law of flexible bodies: compiled twin of `titop.blocks.flexible_body`.

The numbers of a body with n modes stand in one row, ``modes[0]``: rigid inertia, then participation P (6 x n), mass, stiffness
and damping (n x n each); then of each port rotation (9) and position (3) without deformation and shape Phi (6 x n).

A body as a whole meets its coordinates through the six numbers ``P q`` only, and their rates and accelerations through ``P v``
and ``P a``; a port through ``Phi q``, ``Phi v`` and ``Phi a``. All else is linear: mass, stiffness and damping.

Written so that it compiles for complex states too: numpy's functions, comparisons of real parts.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.algebra import cross, matrix_of, minus, plus, put_six, rigid_momentum, six, twist_cross
from titop.solvers.kernels.layout import PORT_GAMMA, PORT_P, PORT_S
from titop.solvers.kernels.pack import times, transposed
from titop.solvers.kernels.records import bias_at, port_at
from titop.solvers.native.kernel import helper

#: Where the participation begins, behind the rigid inertia: mass, first moment (3), inertia about P (6).
PARTICIPATION = np.int64(10)
#: Numbers of a port before its shape.
SHAPE = np.int64(12)
_START = np.int64(0)
#: As in `titop.blocks.spatial`: below this squared angle series are used.
_SMALL = 0.1


@helper
def mass_at(n):
    """Return where the modal mass stands; stiffness and damping follow."""
    return PARTICIPATION + 6 * n


@helper
def numbers_at(n, p):
    """Return where the numbers of the p-th port stand."""
    return PARTICIPATION + 6 * n + 3 * n * n + p * (SHAPE + 6 * n)


@helper
def moved(modes, at, n, x):
    """Return the product (6) of the 6 x n matrix at `at`, P or Phi, and x."""
    d0 = d1 = d2 = d3 = d4 = d5 = 0.0 * x[0] if n else 0.0
    for j in range(n):
        y = x[j]
        d0 += modes[0, at + j] * y
        d1 += modes[0, at + n + j] * y
        d2 += modes[0, at + 2 * n + j] * y
        d3 += modes[0, at + 3 * n + j] * y
        d4 += modes[0, at + 4 * n + j] * y
        d5 += modes[0, at + 5 * n + j] * y
    return d0, d1, d2, d3, d4, d5


@helper
def add_pulled(modes, at, n, w, t, o):
    """Add the product of the transposed of the 6 x n matrix at `at` and w to ``t[0]`` from `o`."""
    w0, w1, w2, w3, w4, w5 = w
    for j in range(n):
        t[0, o + j] += (
            modes[0, at + j] * w0
            + modes[0, at + n + j] * w1
            + modes[0, at + 2 * n + j] * w2
            + modes[0, at + 3 * n + j] * w3
            + modes[0, at + 4 * n + j] * w4
            + modes[0, at + 5 * n + j] * w5
        )


@helper
def add_times(modes, at, n, x, t, o):
    """Add the product of the symmetric n x n matrix at `at` and x to ``t[0]`` from `o`: row by row, entries side by side."""
    for r in range(n):
        y = x[r]
        for j in range(n):
            t[0, o + j] += modes[0, at + r * n + j] * y


@helper
def write_law(n, ports, modes, q, v, twist, passive, law):
    """Write the law of a body with n modes; see `stages`."""
    x, h = six(twist, 0, _START), bias_at(n)
    shift = shift_of(modes, moved(modes, PARTICIPATION, n, q))
    write_inertia(modes, n, shift, law)
    bias, along = bias_of(modes, shift, moved(modes, PARTICIPATION, n, v), x)
    put_six(law, 0, h, bias)
    for j in range(n):
        law[0, h + 6 + j] = 0.0
    add_pulled(modes, PARTICIPATION, n, along, law, h + 6)
    if passive:
        add_times(modes, mass_at(n) + n * n, n, q, law, h + 6)
        add_times(modes, mass_at(n) + 2 * n * n, n, v, law, h + 6)
    for p in range(ports):
        o, target = numbers_at(n, p), port_at(n, p)
        at = pose_of(modes, o, moved(modes, o + SHAPE, n, q))
        _, _, gamma = motion_of(modes, o, at, moved(modes, o + SHAPE, n, v), x)
        write_pose(law, target, at)
        put_six(law, 0, target + PORT_GAMMA, gamma)
        write_subspace(modes, o, n, at, law, target + PORT_S)


# -- the body --------------------------------------------------------------------------------------------------------------


@helper
def shift_of(modes, moving):
    """Return how far ``P q`` moves the centre of mass (3), or ``P v`` its rate."""
    mass = modes[0, 0]
    per_mass = 1.0 / mass if mass > 0.0 else 0.0
    return per_mass * moving[0], per_mass * moving[1], per_mass * moving[2]


@helper
def bias_of(modes, d, rates, x):
    """Return the parent-port part of h, and what ``P^T`` turns into the other, for a shift d, ``rates = P v`` and a twist x."""
    e, mass = shift_of(modes, rates), modes[0, 0]
    per_mass = 1.0 / mass if mass > 0.0 else 0.0
    l0, l1, l2, m0, m1, m2 = rates
    v0, v1, v2, w0, w1, w2 = x
    a0, a1, a2 = cross(w0, w1, w2, d[0], d[1], d[2])
    f0, f1, f2, t0, t1, t2 = rigid_momentum(modes, 0, _START, (v0 + a0, v1 + a1, v2 + a2, w0, w1, w2))
    f = f0 + l0, f1 + l1, f2 + l2
    a0, a1, a2 = cross(d[0], d[1], d[2], f[0], f[1], f[2])
    t = t0 + m0 + a0, t1 + m1 + a1, t2 + m2 + a2
    # h_P = [m w x d'; s x (w x d') + d' x f] - ad(V)^T [f; t]
    g0, g1, g2 = cross(w0, w1, w2, e[0], e[1], e[2])
    a0, a1, a2 = cross(w0, w1, w2, f[0], f[1], f[2])
    b0, b1, b2 = cross(w0, w1, w2, t[0], t[1], t[2])
    c0, c1, c2 = cross(v0 + e[0], v1 + e[1], v2 + e[2], f[0], f[1], f[2])
    s0, s1, s2 = _first_moment(modes, d)
    k0, k1, k2 = cross(s0, s1, s2, g0, g1, g2)
    bias = mass * g0 + a0, mass * g1 + a1, mass * g2 + a2, b0 + c0 + k0, b1 + c1 + k1, b2 + c2 + k2
    nothing = 0.0 * w0
    return bias, (g0 + per_mass * a0, g1 + per_mass * a1, g2 + per_mass * a2, nothing, nothing, nothing)


@helper
def response_of(modes, d, own, x):
    """Return the wrench that an acceleration x and ``own = P a`` take, and what ``P^T`` turns into efforts beside ``M a``."""
    a0, a1, a2 = cross(x[3], x[4], x[5], d[0], d[1], d[2])
    y = x[0] + a0, x[1] + a1, x[2] + a2, x[3], x[4], x[5]
    f0, f1, f2, t0, t1, t2 = plus(rigid_momentum(modes, 0, _START, y), own)
    a0, a1, a2 = cross(d[0], d[1], d[2], f0, f1, f2)
    return (f0, f1, f2, t0 + a0, t1 + a1, t2 + a2), y


@helper
def body_of(modes, moving, rates, second, twist, acceleration):
    """Return the body's own W_P, and what ``P^T`` turns into efforts beside the linear ones.

    ``P q``, ``P v`` and ``P a`` are its `moving`, `rates` and `second`.
    """
    shift = shift_of(modes, moving)
    bias, along = bias_of(modes, shift, rates, twist)
    wrench, more = response_of(modes, shift, second, acceleration)
    return plus(wrench, bias), plus(more, along)


@helper
def _first_moment(modes, d):
    mass = modes[0, 0]
    return modes[0, 1] + mass * d[0], modes[0, 2] + mass * d[1], modes[0, 3] + mass * d[2]


@helper
def write_inertia(modes, n, d, law):
    """Write M: ``M_PP = [[m 1, -s~], [s~, J_P - s~ d~ - m d~ c~]]``, ``M_qP = P^T [[1, -d~], [0, 1]]``."""
    size = 6 + n
    _write_rigid(modes, d, law, size)
    for j in range(n):
        p, row = PARTICIPATION + j, (6 + j) * size
        y0, y1, y2 = modes[0, p], modes[0, p + n], modes[0, p + 2 * n]
        a0, a1, a2 = cross(d[0], d[1], d[2], y0, y1, y2)
        put_six(law, 0, row, (y0, y1, y2, modes[0, p + 3 * n] + a0, modes[0, p + 4 * n] + a1, modes[0, p + 5 * n] + a2))
        for r in range(6):
            law[0, r * size + 6 + j] = law[0, row + r]
        for r in range(n):
            law[0, row + 6 + r] = modes[0, mass_at(n) + j * n + r]


@helper
def _write_rigid(modes, d, law, size):
    mass, sx, sy, sz = modes[0, 0], modes[0, 1], modes[0, 2], modes[0, 3]
    ixx, iyy, izz, ixy, ixz, iyz = six(modes, 0, _START + 4)
    # added to J_P: m (|c + d|^2 - |c|^2) 1 - m ((c + d) (c + d)^T - c c^T)
    x, y, z = _first_moment(modes, d)
    xx, yy, zz = d[0] * (sx + x), d[1] * (sy + y), d[2] * (sz + z)
    ixy -= sx * d[1] + d[0] * y
    ixz -= sx * d[2] + d[0] * z
    iyz -= sy * d[2] + d[1] * z
    put_six(law, 0, _START, (mass, 0.0, 0.0, 0.0, z, -y))
    put_six(law, 0, size, (0.0, mass, 0.0, -z, 0.0, x))
    put_six(law, 0, 2 * size, (0.0, 0.0, mass, y, -x, 0.0))
    put_six(law, 0, 3 * size, (0.0, -z, y, ixx + yy + zz, ixy, ixz))
    put_six(law, 0, 4 * size, (z, 0.0, -x, ixy, iyy + xx + zz, iyz))
    put_six(law, 0, 5 * size, (-y, x, 0.0, ixz, iyz, izz + xx + yy))


# -- a port whose numbers stand at o ------------------------------------------------------------------------------------------


@helper
def pose_of(modes, o, moving):
    """Return ``R = exp(phi) R0``, ``p = r0 + d`` with ``moving = [d; phi]``, and phi and two coefficients of its Jacobian."""
    phi = moving[3], moving[4], moving[5]
    a, b, c = rotation_coefficients(phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2])
    x = _turned(phi, a, b, modes[0, o], modes[0, o + 3], modes[0, o + 6])
    y = _turned(phi, a, b, modes[0, o + 1], modes[0, o + 4], modes[0, o + 7])
    z = _turned(phi, a, b, modes[0, o + 2], modes[0, o + 5], modes[0, o + 8])
    rotation = x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]
    at = o + PORT_P
    return rotation, (modes[0, at] + moving[0], modes[0, at + 1] + moving[1], modes[0, at + 2] + moving[2]), phi, b, c


@helper
def _turned(phi, a, b, x, y, z):
    """Return ``u + a phi x u + b phi x (phi x u)``: the rotation by phi or, with other coefficients, its Jacobian."""
    w, ww = _crossed(phi, (x, y, z))
    return x + a * w[0] + b * ww[0], y + a * w[1] + b * ww[1], z + a * w[2] + b * ww[2]


@helper
def _crossed(phi, u):
    """Return ``phi x u`` and ``phi x (phi x u)``."""
    w = cross(phi[0], phi[1], phi[2], u[0], u[1], u[2])
    return w, cross(phi[0], phi[1], phi[2], w[0], w[1], w[2])


@helper
def write_pose(law, target, at):
    """Write a port's pose (see `pose_of`)."""
    rotation, position, _, _, _ = at
    for k in range(9):
        law[0, target + k] = rotation[k]
    for k in range(3):
        law[0, target + PORT_P + k] = position[k]


@helper
def image_of(modes, o, at, x):
    """Return ``S y`` for ``x = Phi y``: ``[R^T x_l; R0^T J(phi) x_r]``, J the right Jacobian."""
    rotation, _, phi, b, c = at
    l0, l1, l2 = times(transposed(rotation), (x[0], x[1], x[2]))
    t0, t1, t2 = times(transposed(matrix_of(modes, 0, o)), _turned(phi, -b, c, x[3], x[4], x[5]))
    return l0, l1, l2, t0, t1, t2


@helper
def pulled_back(modes, o, at, w):
    """Return what ``Phi^T`` turns into ``S^T w``: ``[R w_l; J(phi)^T R0 w_r]``."""
    rotation, _, phi, b, c = at
    f0, f1, f2 = times(rotation, (w[0], w[1], w[2]))
    x, y, z = times(matrix_of(modes, 0, o), (w[3], w[4], w[5]))
    t0, t1, t2 = _turned(phi, b, c, x, y, z)
    return f0, f1, f2, t0, t1, t2


@helper
def carried_to(at, x):
    """Return ``Ad(g)^-1 x``."""
    rotation, p, _, _, _ = at
    a0, a1, a2 = cross(x[3], x[4], x[5], p[0], p[1], p[2])
    f0, f1, f2 = times(transposed(rotation), (x[0] + a0, x[1] + a1, x[2] + a2))
    t0, t1, t2 = times(transposed(rotation), (x[3], x[4], x[5]))
    return f0, f1, f2, t0, t1, t2


@helper
def carried_back(at, w):
    """Return ``Ad(g)^-T w``."""
    rotation, p, _, _, _ = at
    f0, f1, f2 = times(rotation, (w[0], w[1], w[2]))
    t0, t1, t2 = times(rotation, (w[3], w[4], w[5]))
    a0, a1, a2 = cross(p[0], p[1], p[2], f0, f1, f2)
    return f0, f1, f2, t0 + a0, t1 + a1, t2 + a2


@helper
def motion_of(modes, o, at, rate, twist):
    """Return ``S v``, the port's twist and ``gamma = dS/dt v + ad(V_C) S v``, for ``rate = Phi v``."""
    own = image_of(modes, o, at, rate)
    speed = plus(carried_to(at, twist), own)
    b0, b1, b2 = cross(own[3], own[4], own[5], own[0], own[1], own[2])
    turning = _jacobian_rate(at[2], (rate[3], rate[4], rate[5]))
    t0, t1, t2 = times(transposed(matrix_of(modes, 0, o)), turning)
    nothing = 0.0 * t0
    gamma = minus(twist_cross(speed, own), (b0, b1, b2, nothing, nothing, nothing))
    return own, speed, (gamma[0], gamma[1], gamma[2], gamma[3] + t0, gamma[4] + t1, gamma[5] + t2)


@helper
def write_subspace(modes, o, n, at, law, s):
    """Write ``S = [R^T Phi_l; R0^T J(phi) Phi_r]``."""
    rotation, _, phi, b, c = at
    base, shape = transposed(matrix_of(modes, 0, o)), o + SHAPE
    x = times(base, _turned(phi, -b, c, 1.0, 0.0, 0.0))
    y = times(base, _turned(phi, -b, c, 0.0, 1.0, 0.0))
    z = times(base, _turned(phi, -b, c, 0.0, 0.0, 1.0))
    for j in range(n):
        u, v, w = modes[0, shape + j], modes[0, shape + n + j], modes[0, shape + 2 * n + j]
        law[0, s + j] = rotation[0] * u + rotation[3] * v + rotation[6] * w
        law[0, s + n + j] = rotation[1] * u + rotation[4] * v + rotation[7] * w
        law[0, s + 2 * n + j] = rotation[2] * u + rotation[5] * v + rotation[8] * w
        u, v, w = modes[0, shape + 3 * n + j], modes[0, shape + 4 * n + j], modes[0, shape + 5 * n + j]
        law[0, s + 3 * n + j] = x[0] * u + y[0] * v + z[0] * w
        law[0, s + 4 * n + j] = x[1] * u + y[1] * v + z[1] * w
        law[0, s + 5 * n + j] = x[2] * u + y[2] * v + z[2] * w


# -- rotation vectors ---------------------------------------------------------------------------------------------------------


@helper
def rotation_coefficients(s):
    """Return ``sin(t)/t``, ``(1 - cos t)/t^2`` and ``(t - sin t)/t^3`` from ``s = t^2``."""
    if s.real < _SMALL:
        a = 1.0 - s * (1 / 6 - s * (1 / 120 - s * (1 / 5040 - s * (1 / 362880 - s / 39916800))))
        b = 1 / 2 - s * (1 / 24 - s * (1 / 720 - s * (1 / 40320 - s * (1 / 3628800 - s / 479001600))))
        c = 1 / 6 - s * (1 / 120 - s * (1 / 5040 - s * (1 / 362880 - s * (1 / 39916800 - s / 6227020800))))
        return a, b, c
    t = np.sqrt(s)
    return np.sin(t) / t, (1.0 - np.cos(t)) / s, (t - np.sin(t)) / (s * t)


@helper
def _jacobian_rate(phi, rate):
    """Return ``(dJ/dt) rate`` of SO(3)'s right Jacobian; see `titop.blocks.spatial.right_jacobian_rate`."""
    s = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    _, b, c = rotation_coefficients(s)
    if s.real < _SMALL:
        db = -1 / 24 + s * (1 / 360 - s * (1 / 13440 - s * (1 / 907200 - s * (1 / 95800320 - s / 14529715200))))
        dc = -1 / 120 + s * (1 / 2520 - s * (1 / 120960 - s * (1 / 9979200 - s * (1 / 1245404160 - s / 217945728000))))
    else:
        db, dc = (0.5 * (1.0 - c * s) - b) / s, (b - 3.0 * c) / (2.0 * s)
    change = 2.0 * (phi[0] * rate[0] + phi[1] * rate[1] + phi[2] * rate[2])
    w, ww = _crossed(phi, rate)
    z = cross(rate[0], rate[1], rate[2], w[0], w[1], w[2])
    db, dc = db * change, dc * change
    return (
        -db * w[0] + dc * ww[0] + c * z[0],
        -db * w[1] + dc * ww[1] + c * z[1],
        -db * w[2] + dc * ww[2] + c * z[2],
    )
