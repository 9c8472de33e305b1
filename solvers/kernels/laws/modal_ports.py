"""The ports of flexible bodies: how they stand and move (see `modal`); compiled for complex states too.

The numbers of a port stand from ``modes[0, o]``: rotation R0 (9) and position r0 (3) without deformation, shape Phi (6 x n).
"""

from __future__ import annotations

from titop.blocks.basics.spatial import coefficient_slopes, rotation_coefficients
from titop.blocks.laws.vectors import times, transposed
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.laws.compiled_laws import STEP, imaginary
from titop.solvers.kernels.laws.matrices import put_column
from titop.solvers.kernels.spatial.algebra import cross, matrix_of, minus, plus, twist_cross, unit
from titop.solvers.native.kernel import helper, shared

#: Numbers of a port before its shape.
SHAPE = 12


@helper
def pose_of(modes, o, moving):
    """Return ``R = exp(phi) R0``, ``p = r0 + d`` with ``moving = [d; phi]``, and phi and two coefficients of its Jacobian."""
    phi = moving[3], moving[4], moving[5]
    a, b, c = rotation_coefficients(phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2])
    x = _turned(phi, a, b, modes[0, o], modes[0, o + 3], modes[0, o + 6])
    y = _turned(phi, a, b, modes[0, o + 1], modes[0, o + 4], modes[0, o + 7])
    z = _turned(phi, a, b, modes[0, o + 2], modes[0, o + 5], modes[0, o + 8])
    rotation = x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]
    at = o + layout.PORT_P
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
        law[0, target + layout.PORT_P + k] = position[k]


@helper
def image_of(modes, o, at, x):
    """Return ``S y`` for ``x = Phi y``: ``[R^T x_l; R0^T J(phi) x_r]``, J the right Jacobian."""
    rotation, _, phi, b, c = at
    l0, l1, l2 = times(transposed(rotation), (x[0], x[1], x[2]))
    t0, t1, t2 = times(transposed(matrix_of(modes, 0, o)), _turned(phi, -b, c, x[3], x[4], x[5]))
    return l0, l1, l2, t0, t1, t2


@helper
def pull_back(modes, o, at, w):
    """Return what ``Phi^T`` turns into ``S^T w``: ``[R w_l; J(phi)^T R0 w_r]``."""
    rotation, _, phi, b, c = at
    f0, f1, f2 = times(rotation, (w[0], w[1], w[2]))
    x, y, z = times(matrix_of(modes, 0, o), (w[3], w[4], w[5]))
    t0, t1, t2 = _turned(phi, b, c, x, y, z)
    return f0, f1, f2, t0, t1, t2


@helper
def carry_to(at, x):
    """Return ``Ad(g)^-1 x``."""
    rotation, p, _, _, _ = at
    a0, a1, a2 = cross(x[3], x[4], x[5], p[0], p[1], p[2])
    f0, f1, f2 = times(transposed(rotation), (x[0] + a0, x[1] + a1, x[2] + a2))
    t0, t1, t2 = times(transposed(rotation), (x[3], x[4], x[5]))
    return f0, f1, f2, t0, t1, t2


@helper
def carry_back(at, w):
    """Return ``Ad(g)^-T w``."""
    rotation, p, _, _, _ = at
    f0, f1, f2 = times(rotation, (w[0], w[1], w[2]))
    t0, t1, t2 = times(rotation, (w[3], w[4], w[5]))
    a0, a1, a2 = cross(p[0], p[1], p[2], f0, f1, f2)
    return f0, f1, f2, t0 + a0, t1 + a1, t2 + a2


@shared
def port_motion(modes, o, at, rate, second, twist, acceleration):
    """Return a port's twist and acceleration."""
    _, speed, gamma = motion_of(modes, o, at, rate, twist)
    return speed, plus(plus(carry_to(at, acceleration), image_of(modes, o, at, second)), gamma)


@helper
def motion_of(modes, o, at, rate, twist):
    """Return ``S v``, the port's twist and ``gamma = dS/dt v + ad(V_C) S v``, for ``rate = Phi v``."""
    own = image_of(modes, o, at, rate)
    speed = plus(carry_to(at, twist), own)
    b0, b1, b2 = cross(own[3], own[4], own[5], own[0], own[1], own[2])
    turning = turning_of(at, (rate[3], rate[4], rate[5]), (rate[3], rate[4], rate[5]))
    t0, t1, t2 = times(transposed(matrix_of(modes, 0, o)), turning)
    nothing = 0.0 * t0
    gamma = minus(twist_cross(speed, own), (b0, b1, b2, nothing, nothing, nothing))
    return own, speed, (gamma[0], gamma[1], gamma[2], gamma[3] + t0, gamma[4] + t1, gamma[5] + t2)


@helper
def write_subspace(modes, o, n, at, shapes, shape, law, s):
    """Write ``S = [R^T Phi_l; R0^T J(phi) Phi_r]`` for the shape at ``shapes[0, shape]``."""
    rotation, _, phi, b, c = at
    base = transposed(matrix_of(modes, 0, o))
    x = times(base, _turned(phi, -b, c, 1.0, 0.0, 0.0))
    y = times(base, _turned(phi, -b, c, 0.0, 1.0, 0.0))
    z = times(base, _turned(phi, -b, c, 0.0, 0.0, 1.0))
    for j in range(n):
        u, v, w = shapes[0, shape + j], shapes[0, shape + n + j], shapes[0, shape + 2 * n + j]
        law[0, s + j] = rotation[0] * u + rotation[3] * v + rotation[6] * w
        law[0, s + n + j] = rotation[1] * u + rotation[4] * v + rotation[7] * w
        law[0, s + 2 * n + j] = rotation[2] * u + rotation[5] * v + rotation[8] * w
        u, v, w = shapes[0, shape + 3 * n + j], shapes[0, shape + 4 * n + j], shapes[0, shape + 5 * n + j]
        law[0, s + 3 * n + j] = x[0] * u + y[0] * v + z[0] * w
        law[0, s + 4 * n + j] = x[1] * u + y[1] * v + z[1] * w
        law[0, s + 5 * n + j] = x[2] * u + y[2] * v + z[2] * w


# -- rotation vectors ---------------------------------------------------------------------------------------------------------


@helper
def turning_of(at, rate, x):
    """Return a bilinear form of two rates of phi that is ``(dJ/dt) rate``, J SO(3)'s right Jacobian, where both are one.

    See `titop.blocks.basics.spatial.right_jacobian_rate`.
    """
    _, _, phi, b, c = at
    db, dc = coefficient_slopes(phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2], b, c)
    change = 2.0 * (phi[0] * rate[0] + phi[1] * rate[1] + phi[2] * rate[2])
    w, ww = _crossed(phi, x)
    z = cross(rate[0], rate[1], rate[2], w[0], w[1], w[2])
    db, dc = db * change, dc * change
    return (-db * w[0] + dc * ww[0] + c * z[0], -db * w[1] + dc * ww[1] + c * z[1], -db * w[2] + dc * ww[2] + c * z[2])


# -- how a port answers to the six numbers that move it, and to their rates
#
# Six matrices (6 x 6) stand one after the other: how the port's twist changes with the numbers and, in axes that move along,
# its acceleration; the acceleration with their rates; with the numbers again, what the port's wrench is at the parent port,
# and what ``Phi^T`` turns into efforts; the twist with the rates. Complex steps turn the port; the others are products.

#: Where the matrices begin, and where they end.
TWIST_BY_PLACE, RATE_BY_PLACE, RATE_BY_SPEED, CARRIED_BY_PLACE, PULLED_BY_PLACE, TWIST_BY_SPEED = range(0, 216, 36)
PORT_SLOPES = 216


@shared
def write_port_slopes(modes, o, numbers, twist, acceleration, speed, wrench, slopes):
    """Write the six matrices at the head of ``slopes[0]``, for the port's twist `speed` and the `wrench` on it.

    The `numbers` are the port's displacement, its rates and their rates, six each.
    """
    at, (moving, rates, second) = pose_of(modes, o, numbers[0]), numbers
    own = image_of(modes, o, at, rates)
    for k in range(3):
        _displace(at, own, twist, acceleration, speed, wrench, k, slopes)
    for k in range(3, 6):
        turned = pose_of(modes, o, after_step(moving, k))
        moved_speed, moved_rate = port_motion(modes, o, turned, after_step(rates, 6), second, twist, acceleration)
        change = imaginary(moved_speed)
        put_column(slopes, TWIST_BY_PLACE, 6, k, change)
        put_column(slopes, RATE_BY_PLACE, 6, k, minus(imaginary(moved_rate), twist_cross(change, speed)))
        put_column(slopes, CARRIED_BY_PLACE, 6, k, imaginary(carry_back(turned, wrench)))
        put_column(slopes, PULLED_BY_PLACE, 6, k, imaginary(pull_back(modes, o, turned, wrench)))
    for k in range(6):
        _speed_up(modes, o, at, own, rates, speed, k, slopes)


@helper
def _displace(at, own, twist, acceleration, speed, wrench, k, slopes):
    """Write what moving the port along axis k of the parent port changes: it turns nothing."""
    rotation, nothing, along = at[0], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), unit(k)
    change = _across(rotation, twist, along)
    rest = minus(plus(_across(rotation, acceleration, along), twist_cross(change, own)), twist_cross(change, speed))
    f0, f1, f2 = times(rotation, (wrench[0], wrench[1], wrench[2]))
    t0, t1, t2 = cross(along[0], along[1], along[2], f0, f1, f2)
    put_column(slopes, TWIST_BY_PLACE, 6, k, change)
    put_column(slopes, RATE_BY_PLACE, 6, k, rest)
    put_column(slopes, CARRIED_BY_PLACE, 6, k, (0.0, 0.0, 0.0, t0, t1, t2))
    put_column(slopes, PULLED_BY_PLACE, 6, k, nothing)


@helper
def _across(rotation, x, along):
    """Return ``[R^T (w x along); 0]`` for a twist with angular part w."""
    a0, a1, a2 = cross(x[3], x[4], x[5], along[0], along[1], along[2])
    f0, f1, f2 = times(transposed(rotation), (a0, a1, a2))
    return f0, f1, f2, 0.0, 0.0, 0.0


@helper
def _speed_up(modes, o, at, own, rates, speed, k, slopes):
    """Write what a change of the k-th rate changes."""
    along, turning = unit(k), (rates[3], rates[4], rates[5])
    change = image_of(modes, o, at, along)
    faster = along[3], along[4], along[5]
    (x0, x1, x2), (y0, y1, y2) = turning_of(at, turning, faster), turning_of(at, faster, turning)
    t0, t1, t2 = times(transposed(matrix_of(modes, 0, o)), (x0 + y0, x1 + y1, x2 + y2))
    a0, a1, a2 = cross(own[3], own[4], own[5], change[0], change[1], change[2])
    b0, b1, b2 = cross(change[3], change[4], change[5], own[0], own[1], own[2])
    rest = minus(plus(twist_cross(change, own), twist_cross(speed, change)), twist_cross(change, speed))
    put_column(slopes, RATE_BY_SPEED, 6, k, plus(rest, (-a0 - b0, -a1 - b1, -a2 - b2, t0, t1, t2)))
    put_column(slopes, TWIST_BY_SPEED, 6, k, change)


@helper
def after_step(x, k):
    """Return six numbers, the k-th of which has taken a step."""
    return (
        x[0] + (1j * STEP if k == 0 else 0j),
        x[1] + (1j * STEP if k == 1 else 0j),
        x[2] + (1j * STEP if k == 2 else 0j),
        x[3] + (1j * STEP if k == 3 else 0j),
        x[4] + (1j * STEP if k == 4 else 0j),
        x[5] + (1j * STEP if k == 5 else 0j),
    )
