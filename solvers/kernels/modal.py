"""The law of flexible bodies: compiled twin of `titop.blocks.flexible_body`.

The numbers of a body with n modes stand in one row, ``modes[0]``: rigid inertia, then participation (n x 6), mass, stiffness
and damping (n x n each); then of each port rotation (9) and position (3) without deformation and shape (6 x n).

Written so that it compiles for complex states too: numpy's functions, comparisons of real parts.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.algebra import cross, put_six, rigid_momentum, six, transport, twist_cross
from titop.solvers.kernels.compiled_laws import CompiledLaw
from titop.solvers.kernels.layout import PORT_GAMMA, PORT_P, PORT_S
from titop.solvers.native.kernel import helper

#: Numbers of the rigid inertia: mass, first moment (3), inertia about P (6).
_RIGID = 10
#: Numbers of a port before its shape.
_SHAPE = 12
_START = np.int64(0)
#: As in `titop.blocks.spatial`: below this squared angle series are used.
_SMALL = 0.1


@helper
def write_law(n, ports, modes, q, v, twist, passive, law):
    """Write the law of a body with n modes; see `stages`."""
    _write_body(modes, n, q, v, six(twist, 0, _START), passive, law)
    o, target = _RIGID + 6 * n + 3 * n * n, (6 + n) * (7 + n)
    for _ in range(ports):
        _write_port(modes, o, n, q, law, target)
        _write_gamma(modes, o, n, q, v, six(twist, 0, _START), law, target)
        o += _SHAPE + 6 * n
        target += PORT_S + 6 * n


@helper
def _write_port(modes, o, n, q, law, target):
    """Write ``R = exp(phi) R0``, ``p = r0 + d`` and ``S = [R^T Phi_lin; R0^T J(phi) Phi_rot]``."""
    d = _moved(modes, o, n, q)
    phi = d[3], d[4], d[5]
    a, b, c = rotation_coefficients(phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2])
    for j in range(3):  # columns of R0, turned
        u = modes[0, o + j], modes[0, o + 3 + j], modes[0, o + 6 + j]
        w, ww = _crossed(phi, u)
        for r in range(3):
            law[0, target + 3 * r + j] = u[r] + a * w[r] + b * ww[r]
        law[0, target + PORT_P + j] = modes[0, o + PORT_P + j] + d[j]
    shape, s = o + _SHAPE, target + PORT_S
    for j in range(n):
        x = modes[0, shape + j], modes[0, shape + n + j], modes[0, shape + 2 * n + j]
        u = modes[0, shape + 3 * n + j], modes[0, shape + 4 * n + j], modes[0, shape + 5 * n + j]
        w, ww = _crossed(phi, u)
        t = u[0] - b * w[0] + c * ww[0], u[1] - b * w[1] + c * ww[1], u[2] - b * w[2] + c * ww[2]
        for r in range(3):
            law[0, s + r * n + j] = law[0, target + r] * x[0] + law[0, target + 3 + r] * x[1] + law[0, target + 6 + r] * x[2]
            law[0, s + (3 + r) * n + j] = modes[0, o + r] * t[0] + modes[0, o + 3 + r] * t[1] + modes[0, o + 6 + r] * t[2]


@helper
def _moved(modes, o, n, x):
    """Return ``Phi x`` (6) of the port whose numbers stand at `o`."""
    shape = o + _SHAPE
    d0 = d1 = d2 = d3 = d4 = d5 = 0.0 * x[0] if n else 0.0
    for j in range(n):
        y = x[j]
        d0 += modes[0, shape + j] * y
        d1 += modes[0, shape + n + j] * y
        d2 += modes[0, shape + 2 * n + j] * y
        d3 += modes[0, shape + 3 * n + j] * y
        d4 += modes[0, shape + 4 * n + j] * y
        d5 += modes[0, shape + 5 * n + j] * y
    return d0, d1, d2, d3, d4, d5


@helper
def _crossed(phi, u):
    """Return ``phi x u`` and ``phi x (phi x u)``."""
    w = cross(phi[0], phi[1], phi[2], u[0], u[1], u[2])
    return w, cross(phi[0], phi[1], phi[2], w[0], w[1], w[2])


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
def _write_body(modes, n, q, v, x, passive, law):
    """Write M and h of a body with twist x."""
    size, shares = 6 + n, _RIGID
    mass_q, mass = shares + 6 * n, modes[0, 0]
    per_mass = 1.0 / mass if mass.real > 0.0 else 0.0
    # shift d of the centre of mass, its rate e, and the modes' momentum
    d0 = d1 = d2 = l0 = l1 = l2 = m0 = m1 = m2 = 0.0 * x[0]
    for j in range(n):
        p, y, z = shares + 6 * j, q[j], v[j]
        d0 += modes[0, p] * y
        d1 += modes[0, p + 1] * y
        d2 += modes[0, p + 2] * y
        l0 += modes[0, p] * z
        l1 += modes[0, p + 1] * z
        l2 += modes[0, p + 2] * z
        m0 += modes[0, p + 3] * z
        m1 += modes[0, p + 4] * z
        m2 += modes[0, p + 5] * z
    d = d0 * per_mass, d1 * per_mass, d2 * per_mass
    e = l0 * per_mass, l1 * per_mass, l2 * per_mass
    s = _write_rigid(modes, d, law, size)
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
    k0, k1, k2 = cross(s[0], s[1], s[2], g0, g1, g2)
    h = size * size
    put_six(law, 0, h, (mass * g0 + a0, mass * g1 + a1, mass * g2 + a2, b0 + c0 + k0, b1 + c1 + k1, b2 + c2 + k2))
    g0, g1, g2 = g0 + per_mass * a0, g1 + per_mass * a1, g2 + per_mass * a2
    for j in range(n):
        p, row = shares + 6 * j, (6 + j) * size
        y0, y1, y2 = modes[0, p], modes[0, p + 1], modes[0, p + 2]
        a0, a1, a2 = cross(d[0], d[1], d[2], y0, y1, y2)
        put_six(law, 0, row, (y0, y1, y2, modes[0, p + 3] + a0, modes[0, p + 4] + a1, modes[0, p + 5] + a2))
        for r in range(6):
            law[0, r * size + 6 + j] = law[0, row + r]
        law[0, h + 6 + j] = y0 * g0 + y1 * g1 + y2 * g2
        for r in range(n):
            law[0, row + 6 + r] = modes[0, mass_q + j * n + r]
    if passive:  # stiffness and damping are symmetric: row by row, so that the entries of h are added side by side
        for r in range(n):
            k, y, z = mass_q + n * n + r * n, q[r], v[r]
            for j in range(n):
                law[0, h + 6 + j] += modes[0, k + j] * y + modes[0, k + n * n + j] * z


@helper
def _write_rigid(modes, d, law, size):
    """Write ``M_PP = [[m 1, -s~], [s~, J_P - s~ d~ - m d~ c~]]``; return the first moment s."""
    mass, sx, sy, sz = modes[0, 0], modes[0, 1], modes[0, 2], modes[0, 3]
    ixx, iyy, izz, ixy, ixz, iyz = six(modes, 0, _START + 4)
    # added to J_P: m (|c + d|^2 - |c|^2) 1 - m ((c + d) (c + d)^T - c c^T)
    x, y, z = sx + mass * d[0], sy + mass * d[1], sz + mass * d[2]
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
    return x, y, z


@helper
def _write_gamma(modes, o, n, q, v, x, law, target):
    """Write ``gamma = dS/dt v + ad(V_C) S v`` of a port, ``V_C = Ad(g)^-1 V_P + S v``."""
    d, e = _moved(modes, o, n, q), _moved(modes, o, n, v)
    rate = e[3], e[4], e[5]
    turning = _jacobian_rate((d[3], d[4], d[5]), rate)
    y0 = y1 = y2 = y3 = y4 = y5 = 0.0 * x[0]
    s = target + PORT_S
    for j in range(n):
        z = v[j]
        y0 += law[0, s + j] * z
        y1 += law[0, s + n + j] * z
        y2 += law[0, s + 2 * n + j] * z
        y3 += law[0, s + 3 * n + j] * z
        y4 += law[0, s + 4 * n + j] * z
        y5 += law[0, s + 5 * n + j] * z
    c0, c1, c2, c3, c4, c5 = transport(law, 0, target, x)
    g = twist_cross((c0 + y0, c1 + y1, c2 + y2, c3 + y3, c4 + y4, c5 + y5), (y0, y1, y2, y3, y4, y5))
    b0, b1, b2 = cross(y3, y4, y5, y0, y1, y2)
    t0 = modes[0, o] * turning[0] + modes[0, o + 3] * turning[1] + modes[0, o + 6] * turning[2]
    t1 = modes[0, o + 1] * turning[0] + modes[0, o + 4] * turning[1] + modes[0, o + 7] * turning[2]
    t2 = modes[0, o + 2] * turning[0] + modes[0, o + 5] * turning[1] + modes[0, o + 8] * turning[2]
    put_six(law, 0, target + PORT_GAMMA, (g[0] - b0, g[1] - b1, g[2] - b2, g[3] + t0, g[4] + t1, g[5] + t2))


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


LAW = CompiledLaw("modal", write_law)
