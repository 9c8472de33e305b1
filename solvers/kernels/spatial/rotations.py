"""Rotation vectors: logarithms of rotations and their rates, real and complex, as in `titop.blocks.basics.spatial`."""

from __future__ import annotations

import math

import numpy as np

from titop.blocks.basics.choices import everywhere, select
from titop.blocks.basics.spatial import coupling_coefficients, half_cotangent, half_cotangent_slope, rotation_coefficients
from titop.blocks.basics.tolerances import CENTRAL_STEP
from titop.blocks.laws.vectors import cross3, dot3
from titop.solvers.kernels.spatial.algebra import cross
from titop.solvers.native.kernel import helper


@helper
def rotation_log(m):
    """Return the rotation vector of a rotation matrix (Shepperd's method)."""
    trace = m[0] + m[4] + m[8]
    x, y, z, w = m[7] - m[5], m[2] - m[6], m[3] - m[1], 1.0 + trace
    first = (trace.real >= m[0].real) & (trace.real >= m[4].real) & (trace.real >= m[8].real)
    if not everywhere(first):
        second, third = (m[0].real >= m[4].real) & (m[0].real >= m[8].real), m[4].real >= m[8].real
        a, b, c = m[1] + m[3], m[2] + m[6], m[5] + m[7]
        i, j, k = 1.0 - trace + 2.0 * m[0], 1.0 - trace + 2.0 * m[4], 1.0 - trace + 2.0 * m[8]
        w = select(first, w, select(second, x, select(third, y, z)))
        x = select(first, x, select(second, i, select(third, a, b)))
        y = select(first, y, select(second, a, select(third, j, c)))
        z = select(first, z, select(second, b, select(third, c, k)))
    back = w.real < 0.0
    x, y, z, w = select(back, -x, x), select(back, -y, y), select(back, -z, z), select(back, -w, w)
    square = x * x + y * y + z * z
    sine = np.sqrt(square)
    small = sine.real < CENTRAL_STEP * w.real
    scale = 2.0 / w * (1.0 - square / (w * w) / 3.0)
    if not everywhere(small):
        scale = select(small, scale, 2.0 * _angle(sine, w) / sine)
    return scale * x, scale * y, scale * z


@helper
def _angle(y, x):
    """Return ``atan2(y, x)``, to first order in imaginary parts."""
    a, b = y.real, x.real
    return math.atan2(a, b) + (b * (y - a) - a * (x - b)) / (a * a + b * b)


@helper
def log_rate(phi, w):
    """Return the rate of the rotation vector phi at the angular velocity w, in the turned frame: ``J^-1 w``."""
    a = cross3(phi, w)
    b = cross3(phi, a)
    h = half_cotangent(dot3(phi, phi))
    return w[0] + 0.5 * a[0] + h * b[0], w[1] + 0.5 * a[1] + h * b[1], w[2] + 0.5 * a[2] + h * b[2]


@helper
def log_rate_transposed(phi, f):
    """Return ``J^-T f``, J the right Jacobian of SO(3) at phi."""
    a = cross3(phi, f)
    b = cross3(phi, a)
    h = half_cotangent(dot3(phi, phi))
    return f[0] - 0.5 * a[0] + h * b[0], f[1] - 0.5 * a[1] + h * b[1], f[2] - 0.5 * a[2] + h * b[2]


@helper
def log_rate_bias(phi, w):
    """Return the part of the second derivative of phi that comes with the rate of ``J^-1``, times w."""
    rate, s = log_rate(phi, w), dot3(phi, phi)
    h = half_cotangent(s)
    along = 2.0 * dot3(phi, rate) * half_cotangent_slope(s)
    a, x = cross3(phi, w), cross3(rate, w)
    ra, px, pa = cross3(rate, a), cross3(phi, x), cross3(phi, a)
    return (
        0.5 * x[0] + h * (ra[0] + px[0]) + along * pa[0],
        0.5 * x[1] + h * (ra[1] + px[1]) + along * pa[1],
        0.5 * x[2] + h * (ra[2] + px[2]) + along * pa[2],
    )


@helper
def quaternion_log(x, y, z, w):
    """Return the rotation vector of a unit quaternion, with an angle of at most pi."""
    square, side = x * x + y * y + z * z, select(w < 0.0, -1.0, 1.0)
    sine, w = math.sqrt(square), side * w
    small = sine < CENTRAL_STEP * w
    scale = 2.0 / w * (1.0 - square / (w * w) / 3.0)
    if not everywhere(small):
        scale = select(small, scale, 2.0 * math.atan2(sine, w) / sine)
    return side * scale * x, side * scale * y, side * scale * z


@helper
def pose_log(r, phi):
    """Return ``[rho; phi]``, the logarithm of a pose with position r and rotation vector phi."""
    ax, ay, az = cross(phi[0], phi[1], phi[2], r[0], r[1], r[2])
    bx, by, bz = cross(phi[0], phi[1], phi[2], ax, ay, az)
    h = half_cotangent(phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2])
    return r[0] - 0.5 * ax + h * bx, r[1] - 0.5 * ay + h * by, r[2] - 0.5 * az + h * bz, phi[0], phi[1], phi[2]


@helper
def right_jacobian_times(phi, x):
    """Return J x, J the right Jacobian of SO(3) at phi."""
    _, b, c = rotation_coefficients(dot3(phi, phi))
    y = cross3(phi, x)
    z = cross3(phi, y)
    return x[0] - b * y[0] + c * z[0], x[1] - b * y[1] + c * z[1], x[2] - b * y[2] + c * z[2]


@helper
def coupling_times(rho, phi, e):
    """Return the off-diagonal block of SE(3)'s right Jacobian, as in `titop.blocks.basics.spatial`, times e."""
    s = dot3(phi, phi)
    _, _, c1 = rotation_coefficients(s)
    c2, c3 = coupling_coefficients(s)
    x, p = cross3(e, rho), cross3(e, phi)
    xp, px, pp = cross3(p, rho), cross3(x, phi), cross3(p, phi)  # words in the products with -phi and -rho, last one first
    pxp, xpp, ppx = cross3(xp, phi), cross3(pp, rho), cross3(px, phi)
    pxpp, ppxp = cross3(xpp, phi), cross3(pxp, phi)
    return (
        0.5 * x[0] + c1 * (px[0] + xp[0] + pxp[0]) + c2 * (ppx[0] + xpp[0] - 3.0 * pxp[0]) + c3 * (pxpp[0] + ppxp[0]),
        0.5 * x[1] + c1 * (px[1] + xp[1] + pxp[1]) + c2 * (ppx[1] + xpp[1] - 3.0 * pxp[1]) + c3 * (pxpp[1] + ppxp[1]),
        0.5 * x[2] + c1 * (px[2] + xp[2] + pxp[2]) + c2 * (ppx[2] + xpp[2] - 3.0 * pxp[2]) + c3 * (pxpp[2] + ppxp[2]),
    )
