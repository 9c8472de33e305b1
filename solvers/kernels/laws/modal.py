"""The law of flexible bodies: compiled twin of `titop.blocks.bodies.flexible_body`.

The numbers of a body with n modes stand in one row, ``modes[0]``: rigid inertia, then participation P (6 x n), mass, stiffness
and damping (n x n each); then of each port twelve and the shape Phi (6 x n), see `modal_ports`.

A body as a whole meets its coordinates through the six numbers ``P q`` only, and their rates and accelerations through ``P v``
and ``P a``; a port through ``Phi q``, ``Phi v`` and ``Phi a``. All else is linear: mass, stiffness and damping.

Written so that it compiles for complex states too: numpy's functions, comparisons of real parts.
"""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import bias_at, is_used, port_at
from titop.solvers.kernels.interface.stages import part_of
from titop.solvers.kernels.laws.modal_ports import SHAPE, motion_of, pose_of, write_pose, write_subspace
from titop.solvers.kernels.spatial.algebra import cross, plus, point_acceleration, put_six, rigid_momentum, six
from titop.solvers.native.kernel import helper

#: Where the participation begins, behind the rigid inertia: mass, first moment (3), inertia about P (6).
PARTICIPATION = 10


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
    """Return the product (6) of the 6 x n matrix at `at`, such as P or Phi, and x."""
    r0, r1, r2 = part_of(modes, at, (n,)), part_of(modes, at + n, (n,)), part_of(modes, at + 2 * n, (n,))
    r3, r4, r5 = part_of(modes, at + 3 * n, (n,)), part_of(modes, at + 4 * n, (n,)), part_of(modes, at + 5 * n, (n,))
    d0 = d1 = d2 = d3 = d4 = d5 = 0.0 * x[0] if n else 0.0
    for j in range(n):
        y = x[j]
        d0 += r0[j] * y
        d1 += r1[j] * y
        d2 += r2[j] * y
        d3 += r3[j] * y
        d4 += r4[j] * y
        d5 += r5[j] * y
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
    """Add the product of the symmetric n x n matrix at `at` and x to ``t[0]`` from `o`."""
    add_rows_times(modes, at, n, n, n, x, t, o)


@helper
def add_rows_times(modes, at, stride, width, n, x, t, o):
    """Add to ``t[0]`` from `o` the sum of n rows of `width` numbers, `stride` apart from `at`, times the numbers of x.

    Entries are side by side, four rows at a time: what they are added to is read and written once.
    """
    result, fours = part_of(t, o, (width,)), n // 4
    for g in range(fours):
        r, row = 4 * g, at + 4 * g * stride
        y0, y1, y2, y3 = x[r], x[r + 1], x[r + 2], x[r + 3]
        r0, r1 = part_of(modes, row, (width,)), part_of(modes, row + stride, (width,))
        r2, r3 = part_of(modes, row + 2 * stride, (width,)), part_of(modes, row + 3 * stride, (width,))
        for k in range(width):
            result[k] += r0[k] * y0 + r1[k] * y1 + r2[k] * y2 + r3[k] * y3
    for r in range(4 * fours, n):
        y, last = x[r], part_of(modes, at + r * stride, (width,))
        for k in range(width):
            result[k] += last[k] * y


@helper
def write_law(n, ports, used, modes, q, v, twist, passive, law):
    """Write the law of a body with n modes; see `stages`."""
    x, h = six(twist, 0, 0), bias_at(n)
    shift = shift_of(modes, moved(modes, PARTICIPATION, n, q))
    write_inertia(modes, n, shift, law)
    still = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    bias, along = taken_by(modes, shift, moved(modes, PARTICIPATION, n, v), still, x, still)
    put_six(law, 0, h, bias)
    for j in range(n):
        law[0, h + 6 + j] = 0.0
    add_pulled(modes, PARTICIPATION, n, along, law, h + 6)
    if passive:
        add_times(modes, mass_at(n) + n * n, n, q, law, h + 6)
        add_times(modes, mass_at(n) + 2 * n * n, n, v, law, h + 6)
    for p in range(ports):
        if not is_used(used, p):
            continue
        o, target = numbers_at(n, p), port_at(n, p)
        at = pose_of(modes, o, moved(modes, o + SHAPE, n, q))
        _, _, gamma = motion_of(modes, o, at, moved(modes, o + SHAPE, n, v), x)
        write_pose(law, target, at)
        put_six(law, 0, target + layout.PORT_GAMMA, gamma)
        write_subspace(modes, o, n, at, modes, o + SHAPE, law, target + layout.PORT_S)


@helper
def shift_of(modes, moving):
    """Return how far ``P q`` moves the centre of mass (3), or ``P v`` its rate."""
    mass = modes[0, 0]
    per_mass = 1.0 / mass if mass > 0.0 else 0.0
    return per_mass * moving[0], per_mass * moving[1], per_mass * moving[2]


@helper
def bias_of(modes, d, rates, w):
    """Return the parent-port part of h with the port at rest, and what ``P^T`` turns into the other.

    For a shift d, ``rates = P v`` and an angular velocity w.
    """
    e, mass = shift_of(modes, rates), modes[0, 0]
    per_mass = 1.0 / mass if mass > 0.0 else 0.0
    l0, l1, l2, m0, m1, m2 = rates
    w0, w1, w2 = w
    a0, a1, a2 = cross(w0, w1, w2, d[0], d[1], d[2])
    f0, f1, f2, t0, t1, t2 = rigid_momentum(modes, 0, 0, (a0, a1, a2, w0, w1, w2))
    f = f0 + l0, f1 + l1, f2 + l2
    a0, a1, a2 = cross(d[0], d[1], d[2], f[0], f[1], f[2])
    t = t0 + m0 + a0, t1 + m1 + a1, t2 + m2 + a2
    # h_P = [m w x d'; s x (w x d') + d' x f] - ad(V)^T [f; t + d x f]
    g0, g1, g2 = cross(w0, w1, w2, e[0], e[1], e[2])
    a0, a1, a2 = cross(w0, w1, w2, f[0], f[1], f[2])
    b0, b1, b2 = cross(w0, w1, w2, t[0], t[1], t[2])
    c0, c1, c2 = cross(e[0], e[1], e[2], f[0], f[1], f[2])
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
    f0, f1, f2, t0, t1, t2 = plus(rigid_momentum(modes, 0, 0, y), own)
    a0, a1, a2 = cross(d[0], d[1], d[2], f0, f1, f2)
    return (f0, f1, f2, t0 + a0, t1 + a1, t2 + a2), y


@helper
def body_of(modes, moving, rates, second, twist, acceleration):
    """Return the body's own W_P, and what ``P^T`` turns into efforts beside the linear ones.

    ``P q``, ``P v`` and ``P a`` are its `moving`, `rates` and `second`.
    """
    return taken_by(modes, shift_of(modes, moving), rates, second, twist, acceleration)


@helper
def taken_by(modes, shift, rates, second, twist, acceleration):
    """Return what `body_of` does, for a shift of the centre of mass."""
    bias, along = bias_of(modes, shift, rates, (twist[3], twist[4], twist[5]))
    wrench, more = response_of(modes, shift, second, point_acceleration(twist, acceleration))
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
    ixx, iyy, izz, ixy, ixz, iyz = six(modes, 0, 0 + 4)
    # added to J_P: m (|c + d|^2 - |c|^2) 1 - m ((c + d) (c + d)^T - c c^T)
    x, y, z = _first_moment(modes, d)
    xx, yy, zz = d[0] * (sx + x), d[1] * (sy + y), d[2] * (sz + z)
    ixy -= sx * d[1] + d[0] * y
    ixz -= sx * d[2] + d[0] * z
    iyz -= sy * d[2] + d[1] * z
    put_six(law, 0, 0, (mass, 0.0, 0.0, 0.0, z, -y))
    put_six(law, 0, size, (0.0, mass, 0.0, -z, 0.0, x))
    put_six(law, 0, 2 * size, (0.0, 0.0, mass, y, -x, 0.0))
    put_six(law, 0, 3 * size, (0.0, -z, y, ixx + yy + zz, ixy, ixz))
    put_six(law, 0, 4 * size, (z, 0.0, -x, ixy, iyy + xx + zz, iyz))
    put_six(law, 0, 5 * size, (-y, x, 0.0, ixz, iyz, izz + xx + yy))
