"""Sine and cosine together, by operations that are the same for a number and for lanes."""

from __future__ import annotations

import math

from titop.blocks.basics.choices import everywhere, rounded, select
from titop.blocks.programs.turning_numbers import COSINE, FAR, HALF_PI, SINE
from titop.solvers.kernels.interface.stages import circular, fused, value_of
from titop.solvers.native.kernel import helper


@helper
def sine_and_cosine(x):
    """Return sine and cosine of an angle, less than a unit in the last place off."""
    sine, cosine = _of_number(value_of(x))
    return circular(x, sine, cosine), circular(x, cosine, -sine)


@helper
def _of_number(x):
    k = rounded(x * 0.6366197723675814)
    near, rest = fused(-k, HALF_PI[0], x), k * HALF_PI[1]  # the first without an error
    y = near - rest
    low = ((near - y) - rest) - fused(k, HALF_PI[2], fused(k, HALF_PI[1], -rest))
    z = y * y
    square = z * z
    sine = y + fused(z * y, _polynomial(SINE, z, square), fused(-0.5 * z, low, low))
    half = 0.5 * z
    most = 1.0 - half
    cosine = most + (((1.0 - most) - half) + fused(square, _polynomial(COSINE, z, square), -y * low))
    quadrant = k - 4.0 * rounded(0.25 * k)
    is_odd, is_opposite = abs(quadrant) == 1.0, abs(quadrant) == 2.0
    first, second = select(is_odd, cosine, sine), select(is_odd, sine, cosine)
    first = select(is_opposite | (quadrant == -1.0), -first, first)
    second = select(is_opposite | (quadrant == 1.0), -second, second)
    is_near = abs(x) < FAR
    if everywhere(is_near):
        return first, second
    return select(is_near, first, math.sin(x)), select(is_near, second, math.cos(x))


@helper
def _polynomial(a, z, square):
    """Return the polynomial of six coefficients at z, whose `square` is known; by sums that do not wait for each other."""
    low, middle, high = fused(a[1], z, a[0]), fused(a[3], z, a[2]), fused(a[5], z, a[4])
    return fused(square, fused(square, high, middle), low)
