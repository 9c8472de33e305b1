"""Gravity of a planet over a body, for both engines: minus the potential of a unit of mass, and its derivatives.

A *field* is a tuple of mu, ``k = mu J2 radius^2 / 2``, the planet's axis n (3), r0 (3), the place of the world's origin from
the planet's centre, the square of the planet's radius, and whether r0 is not zero. With ``rho = r . r`` and ``z = n . r`` the
potential is ``phi = F(rho) + G(rho) z^2``, where ``F = mu rho^-1/2 + k rho^-3/2`` and ``G = -3 k rho^-5/2``. With the
derivatives ``F_i = (2 d/drho)^i F``, likewise G_i, and ``A_i = F_i + G_i z^2``::

    grad phi  = g     = A_1 r + 2 G z n
    grad g    = Gamma = A_1 + A_2 r r^T + 2 G_1 z (n r^T + r n^T) + 2 G n n^T

Where r0 is not zero, the world's origin falls freely: g is ``g(r0 + d) - g(r0)`` at the position d, and phi what remains beside
``phi(r0) + g(r0) . d``. Both are computed without cancellation from ``s = |r0 + d| / |r0|``, as Battin does (An Introduction to
the Mathematics and Methods of Astrodynamics, section 8.4). Inside the planet g is that of a uniform ball, so that all is
finite. Vectors are tuples, in any axes that n, r0 and the position share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.choices import everywhere, select
from titop.blocks.laws.vectors import Vector, cross3, dot3

#: A symmetric matrix: xx, yy, zz, xy, xz, yz.
Symmetric = tuple[Any, Any, Any, Any, Any, Any]


def _ratio(d: Any, r0: Any) -> tuple[Any, Any, Any]:
    """Return ``s = |r0 + d| / |r0|``, ``1 - s`` and ``1 / r0^2``."""
    inverse = 1.0 / dot3(r0, r0)
    q = (2.0 * dot3(r0, d) + dot3(d, d)) * inverse
    s = np.sqrt(1.0 + q)
    return s, -q / (1.0 + s), inverse


def _rates(field: Any, square: Any) -> tuple[Any, Any, Any, Any]:
    """Return ``mu / r^3``, ``k / r^5``, ``1 / r^2``, r at least the planet's radius; and one outside of it, else zero."""
    mu, k, _, _, inside, _ = field
    out = select(square.real > inside.real, 1.0, 0.0)
    inverse = 1.0 / select(square.real > inside.real, square, 0.0 * square + inside)
    a = mu * inverse * np.sqrt(inverse)
    return a, out * k / mu * a * inverse, inverse, out


def field_acceleration(field: Any, d: Any) -> Vector:
    """Return g at the position d from the world's origin."""
    _, _, n, r0, _, falls = field
    r = r0[0] + d[0], r0[1] + d[1], r0[2] + d[2]
    a, b, i, _ = _rates(field, dot3(r, r))
    z = dot3(n, r)
    one, base, along, up = -a - 3.0 * b + 15.0 * b * i * z * z, 0.0 * a, z, -6.0 * b
    if falls:
        s, m, _ = _ratio(d, r0)
        s2, z0, along = s * s, dot3(n, r0), dot3(n, d)
        p3 = m * (1.0 + s + s2)  # by how much r^-3 has changed, in parts of what it is, and likewise
        p5 = p3 + m * (1.0 + s) * s2 * s
        p7 = p5 + m * (1.0 + s) * s2 * s2 * s
        base = -a * p3 - 3.0 * b * p5 + 15.0 * b * i * (p7 * z * z + s2 * s2 * s2 * s * (z + z0) * along)
        along, r = along + p5 * z0, (0.0 * r[0] + d[0], 0.0 * r[1] + d[1], 0.0 * r[2] + d[2])
    turn = up * along
    return (
        one * r[0] + base * r0[0] + turn * n[0],
        one * r[1] + base * r0[1] + turn * n[1],
        one * r[2] + base * r0[2] + turn * n[2],
    )


def field_gradient(field: Any, d: Any, S: Any) -> tuple[Symmetric, Vector]:
    """Return Gamma at the position d from the world's origin, and the gradient (3) of ``Gamma : S / 2``, S symmetric."""
    _, _, n, r0, _, _ = field
    r = r0[0] + d[0], r0[1] + d[1], r0[2] + d[2]
    a, b, i, out = _rates(field, dot3(r, r))
    (x, y, z), (nx, ny, nz), c = r, n, out * a
    h = dot3(n, r)
    g, g1, g2 = -3.0 * b, 15.0 * b * i, -105.0 * b * i * i
    h2 = h * h
    a1 = -a - 3.0 * b + g1 * h2
    a2 = (3.0 * c + 15.0 * b) * i + g2 * h2
    a3 = (-15.0 * c - 105.0 * b) * i * i + 945.0 * b * i * i * i * h2
    across, along = 2.0 * g1 * h, 2.0 * g
    gradient = (
        a1 + a2 * x * x + (2.0 * across * x + along * nx) * nx,
        a1 + a2 * y * y + (2.0 * across * y + along * ny) * ny,
        a1 + a2 * z * z + (2.0 * across * z + along * nz) * nz,
        a2 * x * y + across * (nx * y + x * ny) + along * nx * ny,
        a2 * x * z + across * (nx * z + x * nz) + along * nx * nz,
        a2 * y * z + across * (ny * z + y * nz) + along * ny * nz,
    )
    sr, sn = symmetric_times(S, r), symmetric_times(S, n)
    trace, rr, nr, nn = S[0] + S[1] + S[2], dot3(r, sr), dot3(n, sr), dot3(n, sn)
    of_r = 0.5 * (trace * a2 + rr * a3) + 2.0 * nr * g2 * h + nn * g1
    of_n = trace * g1 * h + rr * g2 * h + 2.0 * nr * g1
    twice = 2.0 * g1 * h
    return gradient, (
        of_r * x + of_n * nx + a2 * sr[0] + twice * sn[0],
        of_r * y + of_n * ny + a2 * sr[1] + twice * sn[1],
        of_r * z + of_n * nz + a2 * sr[2] + twice * sn[2],
    )


def field_potential(field: Any, d: Any) -> Any:
    """Return phi at the position d from the world's origin."""
    _, _, n, r0, inside, falls = field
    if not falls:
        square, z = dot3(d, d), dot3(n, d)
        a, b, _, _ = _rates(field, square)
        return a * select(square.real > inside.real, square, 1.5 * inside - 0.5 * square) + b * square - 3.0 * b * z * z
    a, b, i, _ = _rates(field, dot3(r0, r0))
    s, m, _ = _ratio(d, r0)
    s2, half, m2 = s * s, 0.5 * dot3(d, d) * i, 0.5 * m * m
    b1 = m2 * (s + 2.0) / s - half  # what remains of (r / r0)^-1 beside its first-order expansion, and likewise
    b3 = m2 * (3.0 * s2 * s + 6.0 * s2 + 4.0 * s + 2.0) / (s2 * s) - 3.0 * half
    s5 = s2 * s2 * s
    b5 = m2 * (5.0 * s5 + 10.0 * s2 * s2 + 8.0 * s2 * s + 6.0 * s2 + 4.0 * s + 2.0) / s5 - 5.0 * half
    p5 = m * (1.0 + s + s2 + s2 * s + s2 * s2) / s5
    z0, e = dot3(n, r0), dot3(n, d)
    return (a * b1 + b * b3) / i - 3.0 * b * (z0 * z0 * b5 + p5 * (2.0 * z0 + e) * e + e * e)


def symmetric_times(S: Any, x: Any) -> Vector:
    """Return the product of a symmetric matrix (6) and a vector."""
    return (
        S[0] * x[0] + S[3] * x[1] + S[4] * x[2],
        S[3] * x[0] + S[1] * x[1] + S[5] * x[2],
        S[4] * x[0] + S[5] * x[1] + S[2] * x[2],
    )


def contracted(gradient: Any, S: Any) -> Any:
    """Return ``Gamma : S`` of two symmetric matrices (6)."""
    beside = gradient[3] * S[3] + gradient[4] * S[4] + gradient[5] * S[5]
    return gradient[0] * S[0] + gradient[1] * S[1] + gradient[2] * S[2] + 2.0 * beside


def gradient_torque(gradient: Any, S: Any) -> Vector:
    """Return the torque (3) about the mass centre of a body of second moments S (6), ``int rho x (Gamma rho) dm``."""
    xx, yy, zz, xy, xz, yz = gradient
    a, b, c, d, e, f = S
    return (
        d * xz + b * yz + f * zz - (e * xy + f * yy + c * yz),
        e * xx + f * xy + c * xz - (a * xz + d * yz + e * zz),
        a * xy + d * yy + e * yz - (d * xx + b * xy + f * xz),
    )


#: Where the numbers of a body's gravity stand: the field's nine, its mass, its centre c0 (3), second moments S0 (6), and
#: whether these are about the centre, or (1) about the frame and, as c, of second order in the coordinates. Then `FIRST` (3 a
#: coordinate), by which c changes; and, of second order, (6 a coordinate) by which S does, and for each pair of coordinates the
#: second derivatives of c (3) and S (6).
MASS, CENTRE, SECOND, ORDER, FIRST = 9, 10, 13, 19, 20


def pull(numbers: Any, n: Any, motion: Any, at: Any, own: Any, loads: Any, first: Any) -> None:
    """Write what gravity does to a body: its wrench (6), then the efforts on its coordinates (n).

    Parameters
    ----------
    numbers : (1, k) array
        See `MASS`.
    n : int
        Number of coordinates.
    motion : (1, m) array
        With the body's pose in the world (rotation 9, position 3) from `at` on, and its coordinates from `own` on.
    loads : (1, 6 + n) array
        Filled in from `first` on.
    """
    c, S = moments(numbers, n, motion, own)
    field, d = seen(numbers, 0, motion, at, c)
    g = field_acceleration(field, d)
    gradient, change = field_gradient(field, d, S)
    m = numbers[0, MASS]
    force = m * g[0] + change[0], m * g[1] + change[1], m * g[2] + change[2]
    turn, arm = gradient_torque(gradient, S), cross3(c, force)
    for i in range(3):
        loads[0, first + i] = force[i]
        loads[0, first + 3 + i] = turn[i] + arm[i]
    for j in range(n):
        x, y, z, by = _rates_of_moments(numbers, n, motion, own, j, c)
        loads[0, first + 6 + j] = force[0] * x + force[1] * y + force[2] * z + 0.5 * contracted(gradient, by)


def energy_of(numbers: Any, n: Any, motion: Any, at: Any, own: Any) -> Any:
    """Return the potential energy ``-(m phi + Gamma : S / 2)`` of a body; arguments as of `pull`."""
    c, S = moments(numbers, n, motion, own)
    field, d = seen(numbers, 0, motion, at, c)
    return -numbers[0, MASS] * field_potential(field, d) - 0.5 * contracted(field_gradient(field, d, S)[0], S)


def moments(numbers: Any, n: Any, motion: Any, own: Any) -> tuple[Vector, Symmetric]:
    """Return the mass centre of a body and its second moments about that, in its frame; arguments as of `pull`."""
    zero = 0.0 * motion[0, 0]
    x, y, z = zero + numbers[0, CENTRE], zero + numbers[0, CENTRE + 1], zero + numbers[0, CENTRE + 2]
    a, b, c = zero + numbers[0, SECOND], zero + numbers[0, SECOND + 1], zero + numbers[0, SECOND + 2]
    d, e, f = zero + numbers[0, SECOND + 3], zero + numbers[0, SECOND + 4], zero + numbers[0, SECOND + 5]
    for j in range(n):
        q, o = motion[0, own + j], FIRST + 3 * j
        x, y, z = x + numbers[0, o] * q, y + numbers[0, o + 1] * q, z + numbers[0, o + 2] * q
    if everywhere(numbers[0, ORDER] == 0.0):
        return (x, y, z), (a, b, c, d, e, f)
    for j in range(n):
        q, o = motion[0, own + j], FIRST + 3 * n + 6 * j
        a, b, c = a + numbers[0, o] * q, b + numbers[0, o + 1] * q, c + numbers[0, o + 2] * q
        d, e, f = d + numbers[0, o + 3] * q, e + numbers[0, o + 4] * q, f + numbers[0, o + 5] * q
        for k in range(n):
            half, o = 0.5 * q * motion[0, own + k], FIRST + 9 * (n + n * j + k)
            x, y, z = x + numbers[0, o] * half, y + numbers[0, o + 1] * half, z + numbers[0, o + 2] * half
            a, b, c = a + numbers[0, o + 3] * half, b + numbers[0, o + 4] * half, c + numbers[0, o + 5] * half
            d, e, f = d + numbers[0, o + 6] * half, e + numbers[0, o + 7] * half, f + numbers[0, o + 8] * half
    m = numbers[0, MASS]
    return (x, y, z), (a - m * x * x, b - m * y * y, c - m * z * z, d - m * x * y, e - m * x * z, f - m * y * z)


def _rates_of_moments(numbers: Any, n: Any, motion: Any, own: Any, j: Any, at: Any) -> tuple[Any, Any, Any, Symmetric]:
    """Return how the mass centre, `at` one place, and the second moments about it change with coordinate j."""
    zero, o = 0.0 * motion[0, 0], FIRST + 3 * j
    x, y, z = zero + numbers[0, o], zero + numbers[0, o + 1], zero + numbers[0, o + 2]
    if everywhere(numbers[0, ORDER] == 0.0):
        return x, y, z, (zero, zero, zero, zero, zero, zero)
    o = FIRST + 3 * n + 6 * j
    a, b, c = zero + numbers[0, o], zero + numbers[0, o + 1], zero + numbers[0, o + 2]
    d, e, f = zero + numbers[0, o + 3], zero + numbers[0, o + 4], zero + numbers[0, o + 5]
    for k in range(n):
        q, o = motion[0, own + k], FIRST + 9 * (n + n * j + k)
        x, y, z = x + numbers[0, o] * q, y + numbers[0, o + 1] * q, z + numbers[0, o + 2] * q
        a, b, c = a + numbers[0, o + 3] * q, b + numbers[0, o + 4] * q, c + numbers[0, o + 5] * q
        d, e, f = d + numbers[0, o + 6] * q, e + numbers[0, o + 7] * q, f + numbers[0, o + 8] * q
    m, (u, v, w) = numbers[0, MASS], at
    xy, xz, yz = d - m * (x * v + y * u), e - m * (x * w + z * u), f - m * (y * w + z * v)
    return x, y, z, (a - 2.0 * m * x * u, b - 2.0 * m * y * v, c - 2.0 * m * z * w, xy, xz, yz)


def seen(numbers: Any, first: Any, motion: Any, at: Any, c: Any) -> tuple[Any, Vector]:
    """Return the field, and the place of a point c of a body from the world's origin, in the body's axes.

    The field's numbers stand from `first` on, the body's pose in the world from `at` on.
    """
    mu, k, square = numbers[0, first], numbers[0, first + 1], numbers[0, first + 8]
    axis = numbers[0, first + 2], numbers[0, first + 3], numbers[0, first + 4]
    origin = numbers[0, first + 5], numbers[0, first + 6], numbers[0, first + 7]
    x, y, z = back_times(motion, at, (motion[0, at + 9], motion[0, at + 10], motion[0, at + 11]))
    n, r0 = back_times(motion, at, axis), back_times(motion, at, origin)
    falls = not everywhere((origin[0] == 0.0) & (origin[1] == 0.0) & (origin[2] == 0.0))
    return (mu, k, n, r0, square, falls), (x + c[0], y + c[1], z + c[2])


def back_times(motion: Any, at: Any, x: Any) -> Vector:
    """Return ``R^T x``, the rotation R in a row from `at` on."""
    return (
        motion[0, at] * x[0] + motion[0, at + 3] * x[1] + motion[0, at + 6] * x[2],
        motion[0, at + 1] * x[0] + motion[0, at + 4] * x[1] + motion[0, at + 7] * x[2],
        motion[0, at + 2] * x[0] + motion[0, at + 5] * x[1] + motion[0, at + 8] * x[2],
    )
