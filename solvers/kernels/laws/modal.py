"""Flexible bodies: their law, inverse dynamics without mass matrix, and the linearised law.

Compiled twin of `titop.blocks.bodies.flexible_body`. The numbers of a body with n modes stand in one row, ``modes[0]``: rigid
inertia, then participation P (6 x n), mass, stiffness and damping (n x n each); then of each port twelve and the shape Phi
(6 x n), see `modal_ports`.

A body as a whole meets its coordinates through the six numbers ``P q`` only, and their rates and accelerations through ``P v``
and ``P a``: its `moving`, `rates` and `second`; a port through ``Phi q``, ``Phi v`` and ``Phi a``. All else is linear: mass,
stiffness and damping. Complex steps along these numbers, not along the coordinates, give the derivatives; so the law compiles
for complex states too: numpy's functions, comparisons of real parts.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import (
    bias_at,
    by_rate_at,
    by_twist_at,
    columns_at,
    is_used,
    port_at,
    result_at,
    slopes_size,
)
from titop.solvers.kernels.interface.stages import row_at
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw, imaginary
from titop.solvers.kernels.laws.matrices import (
    add_between,
    add_passive,
    add_passive_slopes,
    add_rows,
    add_through,
    add_times,
    add_transposed,
    clear,
    half_square,
    put_column,
    wide_times,
)
from titop.solvers.kernels.laws.modal_ports import (
    PORT_SLOPES,
    PULLED_BY_PLACE,
    SHAPE,
    after_step,
    motion_of,
    port_motion,
    pose_of,
    pull_back,
    write_port_slopes,
    write_pose,
    write_subspace,
)
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    carry_wrench,
    column_of,
    cross,
    matrix_of,
    plus,
    point_acceleration,
    put_six,
    rigid_momentum,
    six,
)
from titop.solvers.native.kernel import helper

#: Numbers of a 6x6 matrix.
_FULL = 36

#: Numbers that are kept of a port: phi and two coefficients.
KEPT = 5

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
def write_law(block, q, v, x, law):
    """Write the law of a body with n modes; see `stages`."""
    n, modes, h = block.n, block.numbers, bias_at(block.n)
    shift = shift_of(modes, wide_times(modes, PARTICIPATION, n, q))
    write_inertia(modes, n, shift, law)
    still = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    bias, along = body_of(modes, shift, wide_times(modes, PARTICIPATION, n, v), still, x, still)
    put_six(law, 0, h, bias)
    for j in range(n):
        law[0, h + 6 + j] = 0.0
    add_transposed(modes, PARTICIPATION, n, along, law, h + 6)
    if block.passive:
        add_passive(modes, mass_at(n) + n * n, n, q, v, law, h + 6)
    for p in range(block.ports):
        if is_used(block.used, p):
            o, target = numbers_at(n, p), port_at(n, p)
            at = pose_of(modes, o, wide_times(modes, o + SHAPE, n, q))
            _, _, gamma = motion_of(modes, o, at, wide_times(modes, o + SHAPE, n, v), x)
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
def body_of(modes, shift, rates, second, twist, acceleration):
    """Return the body's own W_P, and what ``P^T`` turns into efforts beside the linear ones.

    For a `shift` of its centre of mass; ``P v`` and ``P a`` are its `rates` and `second`.
    """
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
        row, y = (6 + j) * size, column_of(modes, PARTICIPATION, n, j)
        a0, a1, a2 = cross(d[0], d[1], d[2], y[0], y[1], y[2])
        put_six(law, 0, row, (y[0], y[1], y[2], y[3] + a0, y[4] + a1, y[5] + a2))
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


# -- the stages


@helper
def _room(n, ports, numbers):
    """Return how much `_outward` keeps for `_inward`: what the body takes alone; of each port phi and two coefficients."""
    return 6 + n + KEPT * ports


def _outward(block):
    n, modes = block.n, block.numbers
    alone, rates = row_at(block.room, _room(n, block.ports, modes)), wide_times(modes, PARTICIPATION, n, block.v)
    moving, second = wide_times(modes, PARTICIPATION, n, block.q), wide_times(modes, PARTICIPATION, n, block.a)
    wrench, along = body_of(modes, shift_of(modes, moving), rates, second, block.twist, block.acceleration)
    clear(alone, 6, n)
    put_six(alone, 0, 0, wrench)
    add_transposed(modes, PARTICIPATION, n, along, alone, 6)
    add_times(modes, mass_at(n), n, block.a, alone, 6)
    if block.passive:
        add_passive(modes, mass_at(n) + n * n, n, block.q, block.v, alone, 6)
    for p in range(block.ports):
        if is_used(block.used, p):
            o, target = numbers_at(n, p), port_at(n, p)
            at = pose_of(modes, o, wide_times(modes, o + SHAPE, n, block.q))
            rate, second = wide_times(modes, o + SHAPE, n, block.v), wide_times(modes, o + SHAPE, n, block.a)
            speed, gained = port_motion(modes, o, at, rate, second, block.twist, block.acceleration)
            keep_port(block.law, target, at, speed, gained, alone, 6 + n + KEPT * p)
    return layout.OK


def _inward(block):
    alone = row_at(block.room, _room(block.n, block.ports, block.numbers))
    press_inwards(block, alone, KEPT, block.numbers, numbers_at(block.n, 0) + SHAPE, SHAPE + 6 * block.n)
    return layout.OK


@helper
def keep_port(law, target, at, twist, acceleration, alone, kept):
    """Write a port's pose (see `pose_of`), twist and acceleration, and into ``alone[0]`` from `kept` what is needed inwards."""
    write_pose(law, target, at)
    phi = at[2]
    for k in range(3):
        alone[0, kept + k] = phi[k]
    alone[0, kept + 3], alone[0, kept + 4] = at[3], at[4]
    put_six(law, 0, target + layout.PORT_TWIST, twist)
    put_six(law, 0, target + layout.PORT_ACC, acceleration)


@helper
def press_inwards(block, alone, stride, shapes, first, size):
    """Write W_P and tau: what the body takes, at the head of ``alone[0]``, and what the wrenches at its ports press with.

    What `keep_port` keeps of a port stands there behind, `stride` numbers from one to the next, and the ports' shapes in
    ``shapes[0]`` from `first`, `size` from one to the next.
    """
    n, law, result = block.n, block.law, result_at(block.n)
    for k in range(6 + n):
        law[0, result + k] = alone[0, k]
    for p in range(block.ports):
        if is_used(block.used, p):
            target, k = port_at(n, p), 6 + n + stride * p
            wrench = six(law, 0, target + layout.PORT_WRENCH)
            add_six(law, 0, result, carry_wrench(law, 0, target, wrench))
            phi = alone[0, k], alone[0, k + 1], alone[0, k + 2]
            at = matrix_of(law, 0, target), phi, phi, alone[0, k + 3], alone[0, k + 4]
            add_transposed(shapes, first + size * p, n, pull_back(block.numbers, numbers_at(n, p), at, wrench), law, result + 6)


def _slopes(block):
    n, modes, small = block.n, block.numbers, np.empty((1, PORT_SLOPES + 6 * block.n), block.q.dtype)
    clear(block.slopes, 0, slopes_size(n, block.ports))
    _add_body(block, small)
    if block.passive:
        add_passive_slopes(modes, mass_at(n) + n * n, n, block.slopes)
    write_inertia(modes, n, shift_of(modes, wide_times(modes, PARTICIPATION, n, block.q)), block.law)
    for p in range(block.ports):
        if is_used(block.used, p):
            _add_port(block, p, small)
    return layout.OK


@helper
def _add_body(block, small):
    """Add the derivatives of what the body takes alone, but for the linear efforts."""
    modes, n, slopes = block.numbers, block.n, block.slopes
    moving, rates = wide_times(modes, PARTICIPATION, n, block.q), wide_times(modes, PARTICIPATION, n, block.v)
    second, by_twist = wide_times(modes, PARTICIPATION, n, block.a), by_twist_at(n)
    for k in range(18):
        stepped = after_step(moving, k), after_step(rates, k - 6), after_step(block.twist, k - 12)
        wrench, along = body_of(modes, shift_of(modes, stepped[0]), stepped[1], second, stepped[2], block.acceleration)
        begin = 2 * _FULL * (k // 6)
        if k < 12:
            put_column(small, begin, 6, k % 6, imaginary(wrench))
            put_column(small, begin + _FULL, 6, k % 6, imaginary(along))
        else:
            put_column(slopes, by_twist, 6, k % 6, imaginary(wrench))
            put_column(small, begin, 6, k % 6, imaginary(along))
    for k in range(2):
        begin = k * by_rate_at(n)
        add_through(small, 2 * k * _FULL, modes, PARTICIPATION, n, slopes, begin)
        add_between(small, 2 * k * _FULL + _FULL, PORT_SLOPES, modes, PARTICIPATION, n, slopes, begin + 6 * n)
    for i in range(n):
        add_rows(slopes, by_twist + 36 + 6 * i, column_of(modes, PARTICIPATION, n, i), small, 4 * _FULL, 6, 6)


@helper
def _add_port(block, p, small):
    """Write X, Y and Z of a port and its S, and add how its wrench changes W_P and tau along q."""
    modes, n, o, target = block.numbers, block.n, numbers_at(block.n, p), port_at(block.n, p)
    moving, rates = wide_times(modes, o + SHAPE, n, block.q), wide_times(modes, o + SHAPE, n, block.v)
    second = wide_times(modes, o + SHAPE, n, block.a)
    write_subspace(modes, o, n, pose_of(modes, o, moving), modes, o + SHAPE, block.law, target + layout.PORT_S)
    twist, wrench = six(block.law, 0, target + layout.PORT_TWIST), six(block.law, 0, target + layout.PORT_WRENCH)
    write_port_slopes(modes, o, (moving, rates, second), block.twist, block.acceleration, twist, wrench, small)
    for k in range(4):  # X, Y, Z and W_P by q
        add_through(small, k * _FULL, modes, o + SHAPE, n, block.slopes, columns_at(n, p) + 6 * n * k if k < 3 else 0)
    add_between(small, PULLED_BY_PLACE, PORT_SLOPES, modes, o + SHAPE, n, block.slopes, 6 * n)


@helper
def energy(n, modes, q):
    return half_square(modes, mass_at(n) + n * n, n, q)


LAW = CompiledLaw("modal", write_law, outward=_outward, inward=_inward, slopes=_slopes, energy=energy, room=_room)
