"""Rotation vectors: logarithms of rotations, and their rates (see `titop.blocks.spatial`), of real and complex numbers."""

from __future__ import annotations

import math

import numpy as np

from titop.solvers.kernels.algebra import cross
from titop.solvers.native.kernel import helper

#: As in `titop.blocks.spatial`: below this squared angle series are used.
_SMALL = 0.1


@helper
def cross3(a, b):
    """Return a x b."""
    return cross(a[0], a[1], a[2], b[0], b[1], b[2])


@helper
def dot3(a, b):
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@helper
def rotation_log(m):
    """Return the rotation vector of a rotation matrix (Shepperd's method)."""
    trace = m[0] + m[4] + m[8]
    if trace.real >= m[0].real and trace.real >= m[4].real and trace.real >= m[8].real:
        x, y, z, w = m[7] - m[5], m[2] - m[6], m[3] - m[1], 1.0 + trace
    elif m[0].real >= m[4].real and m[0].real >= m[8].real:
        x, y, z, w = 1.0 - trace + 2.0 * m[0], m[3] + m[1], m[6] + m[2], m[7] - m[5]
    elif m[4].real >= m[8].real:
        x, y, z, w = m[1] + m[3], 1.0 - trace + 2.0 * m[4], m[7] + m[5], m[2] - m[6]
    else:
        x, y, z, w = m[2] + m[6], m[5] + m[7], 1.0 - trace + 2.0 * m[8], m[3] - m[1]
    if w.real < 0.0:
        x, y, z, w = -x, -y, -z, -w
    sine = np.sqrt(x * x + y * y + z * z)
    scale = 2.0 / w * (1.0 - (sine / w) ** 2 / 3.0) if sine.real < 1e-5 * w.real else 2.0 * _angle(sine, w) / sine
    return scale * x, scale * y, scale * z


@helper
def _angle(y, x):
    """Return ``atan2(y, x)``, to first order in imaginary parts."""
    a, b = y.real, x.real
    return math.atan2(a, b) + (b * (y - a) - a * (x - b)) / (a * a + b * b)


@helper
def half_cotangent(s):
    """Return ``1/t^2 - cot(t/2)/(2 t)`` from ``s = t^2``."""
    if s.real < _SMALL:
        return 1 / 12 + s * (1 / 720 + s * (1 / 30240 + s * (1 / 1209600 + s * (1 / 47900160 + s * 691 / 1307674368000))))
    t = np.sqrt(s)
    return 1.0 / s - np.cos(0.5 * t) / (2.0 * t * np.sin(0.5 * t))


@helper
def _half_cotangent_slope(s):
    """Return the derivative of `half_cotangent` by s."""
    if s.real < _SMALL:
        return 1 / 720 + s * (2 / 30240 + s * (3 / 1209600 + s * (4 / 47900160 + s * 5 * 691 / 1307674368000)))
    t = np.sqrt(s)
    sine = np.sin(0.5 * t)
    return -1.0 / (s * s) + np.cos(0.5 * t) / (4.0 * s * t * sine) + 1.0 / (8.0 * s * sine * sine)


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
    along = 2.0 * dot3(phi, rate) * _half_cotangent_slope(s)
    a, x = cross3(phi, w), cross3(rate, w)
    ra, px, pa = cross3(rate, a), cross3(phi, x), cross3(phi, a)
    return (
        0.5 * x[0] + h * (ra[0] + px[0]) + along * pa[0],
        0.5 * x[1] + h * (ra[1] + px[1]) + along * pa[1],
        0.5 * x[2] + h * (ra[2] + px[2]) + along * pa[2],
    )
