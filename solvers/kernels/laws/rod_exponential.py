"""The exponential of SE(3), its tangent operator, and what these change by: for the steps of rods.

With dual numbers ``x + e y``, ``e^2 = 0``, a twist ``[v; w]`` is the vector ``w + e v``, ``ad`` the cross product, and a
formula of rotations one of displacements. So ``T(Omega) y = y - b Omega x y + c Omega x (Omega x y)`` is the body's twist
``exp(Omega)^-1 d exp(Omega)`` for ``d Omega = y``, b and c dual numbers ``(x, y)``: functions of the dual square of Omega.
A wrench ``[f; t]`` is the vector ``f + e t``.
"""

from __future__ import annotations

import math

import numpy as np

from titop.blocks.basics.choices import everywhere, select
from titop.solvers.kernels.spatial.algebra import cross, minus, plus, scaled, twist_cross, wrench_cross
from titop.solvers.native.kernel import helper

#: One by the factorials.
_F = tuple(1.0 / math.factorial(k) for k in range(32))
_EVEN, _ODD = _F[8::2], _F[9::2]

#: Above this squared angle (half a turn) closed forms lose no digits, below it twelve terms of a series are exact.
SERIES = 10.0


@helper
def coefficients(s):
    """Return b, c and their first, second and third derivatives by ``s = t^2``: ``(1 - cos t)/t^2``, ``(t - sin t)/t^3``.

    They are c_2 and c_3 of Stumpff's functions ``c_k = sum_j (-s)^j/(k + 2 j)!``, for which ``c_k = 1/k! - s c_(k+2)`` and
    ``c_k' = (k c_(k+2) - c_(k+1))/2``.
    """
    c8, c9 = _stumpff(s, _EVEN), _stumpff(s, _ODD)
    c7, c6 = _F[7] - s * c9, _F[6] - s * c8
    c5, c4 = _F[5] - s * c7, _F[4] - s * c6
    c3, c2 = _F[3] - s * c5, _F[2] - s * c4
    near = s < SERIES
    if not everywhere(near):
        t = np.sqrt(s)
        c2, c3 = select(near, c2, (1.0 - np.cos(t)) / s), select(near, c3, (t - np.sin(t)) / (s * t))
        c4, c5 = select(near, c4, (_F[2] - c2) / s), select(near, c5, (_F[3] - c3) / s)
        c6, c7 = select(near, c6, (_F[4] - c4) / s), select(near, c7, (_F[5] - c5) / s)
        c8, c9 = select(near, c8, (_F[6] - c6) / s), select(near, c9, (_F[7] - c7) / s)
    d2, d3, d4 = c4 - 0.5 * c3, 1.5 * c5 - 0.5 * c4, 2.0 * c6 - 0.5 * c5
    d5, d6, d7 = 2.5 * c7 - 0.5 * c6, 3.0 * c8 - 0.5 * c7, 3.5 * c9 - 0.5 * c8
    e2, e3, e4, e5 = d4 - 0.5 * d3, 1.5 * d5 - 0.5 * d4, 2.0 * d6 - 0.5 * d5, 2.5 * d7 - 0.5 * d6
    return c2, c3, d2, d3, e2, e3, e4 - 0.5 * e3, 1.5 * e5 - 0.5 * e4


@helper
def _stumpff(s, x):
    """Return ``x[0] - s x[1] + s^2 x[2] - ...`` for twelve numbers, even and odd terms side by side."""
    t = s * s
    even = x[0] + t * (x[2] + t * (x[4] + t * (x[6] + t * (x[8] + t * x[10]))))
    return even - s * (x[1] + t * (x[3] + t * (x[5] + t * (x[7] + t * (x[9] + t * x[11])))))


@helper
def dual_dot(x, y):
    """Return the product of two twists as dual vectors."""
    return (
        x[3] * y[3] + x[4] * y[4] + x[5] * y[5],
        x[0] * y[3] + x[1] * y[4] + x[2] * y[5] + x[3] * y[0] + x[4] * y[1] + x[5] * y[2],
    )


@helper
def dual_times(z, x):
    """Return the product of a dual number and a twist."""
    r, e = z
    return r * x[0] + e * x[3], r * x[1] + e * x[4], r * x[2] + e * x[5], r * x[3], r * x[4], r * x[5]


@helper
def wrench_times(z, w):
    """Return the product of a dual number and a wrench."""
    r, e = z
    return r * w[0], r * w[1], r * w[2], r * w[3] + e * w[0], r * w[4] + e * w[1], r * w[5] + e * w[2]


@helper
def _product(z, y):
    return z[0] * y[0], z[0] * y[1] + z[1] * y[0]


@helper
def _sum(z, y):
    return z[0] + y[0], z[1] + y[1]


@helper
def expansion(omega):
    """Return b and c of a displacement, and their first and second derivatives, as dual numbers."""
    s, e = dual_dot(omega, omega)
    b, c, db, dc, ddb, ddc, dddb, dddc = coefficients(s)
    return (b, e * db), (c, e * dc), (db, e * ddb), (dc, e * ddc), (ddb, e * dddb), (ddc, e * dddc)


@helper
def displacement(omega, b, c):
    """Return the pose exp(omega): rotation (9), position (3)."""
    v0, v1, v2, x, y, z = omega
    a, s = 1.0 - c[0] * (x * x + y * y + z * z), b[0]
    rotation = (
        *(1.0 - s * (y * y + z * z), s * x * y - a * z, s * x * z + a * y),
        *(s * x * y + a * z, 1.0 - s * (x * x + z * z), s * y * z - a * x),
        *(s * x * z - a * y, s * y * z + a * x, 1.0 - s * (x * x + y * y)),
    )
    u0, u1, u2 = cross(x, y, z, v0, v1, v2)
    w0, w1, w2 = cross(x, y, z, u0, u1, u2)
    return rotation, (v0 + b[0] * u0 + c[0] * w0, v1 + b[0] * u1 + c[0] * w1, v2 + b[0] * u2 + c[0] * w2)


@helper
def tangent(omega, b, c, y):
    """Return ``T(omega) y``."""
    once = twist_cross(omega, y)
    return plus(minus(y, dual_times(b, once)), dual_times(c, twist_cross(omega, once)))


@helper
def tangent_matrix(omega, b, c):
    """Return what ``T(omega)`` makes of turns about the three axes, ``1 - b Omega x + c (Omega Omega^T - Omega^2)``."""
    u, v, w, x, y, z = omega
    bx, by, bz = _product(b, (x, u)), _product(b, (y, v)), _product(b, (z, w))
    xx, yy, zz = _product(c, (x * x, 2.0 * x * u)), _product(c, (y * y, 2.0 * y * v)), _product(c, (z * z, 2.0 * z * w))
    xy, yz = _product(c, (x * y, x * v + y * u)), _product(c, (y * z, y * w + z * v))
    xz = _product(c, (x * z, x * w + z * u))
    return (
        (-(yy[1] + zz[1]), xy[1] - bz[1], xz[1] + by[1], 1.0 - (yy[0] + zz[0]), xy[0] - bz[0], xz[0] + by[0]),
        (xy[1] + bz[1], -(xx[1] + zz[1]), yz[1] - bx[1], xy[0] + bz[0], 1.0 - (xx[0] + zz[0]), yz[0] - bx[0]),
        (xz[1] - by[1], yz[1] + bx[1], -(xx[1] + yy[1]), xz[0] - by[0], yz[0] + bx[0], 1.0 - (xx[0] + yy[0])),
    )


@helper
def tangent_back(omega, b, c, w):
    """Return ``T(omega)^T w``."""
    once = wrench_cross(omega, w)
    return plus(plus(w, wrench_times(b, once)), wrench_times(c, wrench_cross(omega, once)))


@helper
def _double(x, y):
    """Return twice the dual product of two twists."""
    r, e = dual_dot(x, y)
    return 2.0 * r, 2.0 * e


@helper
def tangent_rate(omega, terms, x):
    """Return ``(dT/dt) x`` where the rate of Omega is x."""
    c, db, dc = terms[1], terms[2], terms[3]
    once = twist_cross(omega, x)
    along = minus(dual_times(dc, twist_cross(omega, once)), dual_times(db, once))
    return plus(dual_times(_double(omega, x), along), dual_times(c, twist_cross(x, once)))


@helper
def rates_of(omega, first, second, terms):
    """Return the first and second rates of b and c, from the rates of Omega."""
    _, _, db, dc, ddb, ddc = terms
    by_first, by_second = _double(omega, first), _sum(_double(omega, second), _double(first, first))
    both = _product(by_first, by_first)
    bent_b, bent_c = _sum(_product(ddb, both), _product(db, by_second)), _sum(_product(ddc, both), _product(dc, by_second))
    return _product(db, by_first), _product(dc, by_first), bent_b, bent_c


@helper
def tangent_rates(omega, first, second, terms, rates, y):
    """Return ``T y``, ``(dT/dt) y`` and ``(d2T/dt2) y``."""
    b, c = terms[0], terms[1]
    db, dc, ddb, ddc = rates
    once, along, bent = twist_cross(omega, y), twist_cross(first, y), twist_cross(second, y)
    twice = twist_cross(omega, once)
    both = plus(twist_cross(first, once), twist_cross(omega, along))
    more = plus(plus(twist_cross(second, once), twist_cross(omega, bent)), scaled(2.0, twist_cross(first, along)))
    by_rate = minus(plus(dual_times(dc, twice), dual_times(c, both)), plus(dual_times(db, once), dual_times(b, along)))
    plain = plus(plus(dual_times(ddc, twice), scaled(2.0, dual_times(dc, both))), dual_times(c, more))
    crossed = plus(plus(dual_times(ddb, once), scaled(2.0, dual_times(db, along))), dual_times(b, bent))
    return plus(minus(y, dual_times(b, once)), dual_times(c, twice)), by_rate, minus(plain, crossed)


@helper
def tangent_back_slope(omega, terms, x, w):
    """Return ``dT[x]^T w``."""
    b, c, db, dc = terms[0], terms[1], terms[2], terms[3]
    once, moved = wrench_cross(omega, w), wrench_cross(x, w)
    twice = wrench_cross(omega, once)
    along = wrench_times(_double(omega, x), plus(wrench_times(dc, twice), wrench_times(db, once)))
    bent = plus(wrench_cross(omega, moved), wrench_cross(x, once))
    return plus(along, plus(wrench_times(c, bent), wrench_times(b, moved)))
