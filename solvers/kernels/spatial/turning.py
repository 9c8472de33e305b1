"""Sine and cosine together, by operations that are the same for a number and for lanes."""

from __future__ import annotations

import math

from titop.blocks.basics.choices import everywhere, rounded, select
from titop.solvers.kernels.interface.stages import fused
from titop.solvers.native.kernel import helper

#: pi/2 in three parts, each what those before leave of it.
_HALF_PI = 1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33
#: Beyond this angle the parts do not suffice.
_FAR = 1e6

#: Coefficients of ``sin(y)/y`` and ``cos(y)`` by y^2 for |y| < pi/4 (FreeBSD's msun, ``k_sin.c`` and ``k_cos.c``).
_SINE = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
_COSINE = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip


@helper
def sine_and_cosine(x):
    """Return sine and cosine of an angle, less than a unit in the last place off."""
    k = rounded(x * 0.6366197723675814)
    near, rest = fused(-k, _HALF_PI[0], x), k * _HALF_PI[1]  # the first without an error
    y = near - rest
    low = ((near - y) - rest) - fused(k, _HALF_PI[2], fused(k, _HALF_PI[1], -rest))
    z = y * y
    square = z * z
    sine = y + fused(z * y, _polynomial(_SINE, z, square), fused(-0.5 * z, low, low))
    half = 0.5 * z
    most = 1.0 - half
    cosine = most + (((1.0 - most) - half) + fused(square, _polynomial(_COSINE, z, square), -y * low))
    quadrant = k - 4.0 * rounded(0.25 * k)
    is_odd, is_opposite = abs(quadrant) == 1.0, abs(quadrant) == 2.0
    first, second = select(is_odd, cosine, sine), select(is_odd, sine, cosine)
    first = select(is_opposite | (quadrant == -1.0), -first, first)
    second = select(is_opposite | (quadrant == 1.0), -second, second)
    is_near = abs(x) < _FAR
    if everywhere(is_near):
        return first, second
    return select(is_near, first, math.sin(x)), select(is_near, second, math.cos(x))


@helper
def _polynomial(a, z, square):
    """Return the polynomial of six coefficients at z, whose `square` is known; by sums that do not wait for each other."""
    low, middle, high = fused(a[1], z, a[0]), fused(a[3], z, a[2]), fused(a[5], z, a[4])
    return fused(square, fused(square, high, middle), low)
