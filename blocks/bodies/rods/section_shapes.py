"""Area, moments and shear factors of cross-sections, in closed form.

`y` and `z` are the section's principal axes; shear factors are those of Cowper (Journal of Applied Mechanics 33(2), 1966).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array, below, entrywise, where

#: Terms of the series of a rectangle's torsion constant, exact to rounding: the n-th decreases as exp(-pi n).
_TERMS = 2.0 * np.arange(12) + 1.0
#: Sum of 1 / n^5 over all odd n, which ``tanh(n pi a / 2 b) / n^5`` has for slender rectangles.
_FIFTH_POWERS = 1.0045237627951398


def divisor(numbers: Array) -> Array:
    """Return numbers that are not negative, ones in place of zeros."""
    return where(below(-numbers, 0.0), numbers, np.ones(numbers.shape))


class SectionMoments(NamedTuple):
    """Numbers of a rod's cross-sections at k places."""

    area: Array  #: m^2
    #: Second moments (k, m^4) about y (integral of z^2) and z.
    iy: Array
    iz: Array
    torsion_constant: Array  #: m^4
    shear_factors: Array  #: Of the shear areas along y and z (2, k).


def circle(radius: Array, poisson: Any) -> SectionMoments:
    """Return the moments of a full circle."""
    return tube(radius, 0.0 * radius, poisson)


def tube(radius: Array, inner_radius: Array, poisson: Any) -> SectionMoments:
    """Return the moments of a circle with a hole."""
    second = np.pi / 4.0 * (radius**4 - inner_radius**4)
    ratio = (inner_radius / divisor(radius)) ** 2
    whole = (1.0 + ratio) ** 2
    factor = 6.0 * (1.0 + poisson) * whole / ((7.0 + 6.0 * poisson) * whole + (20.0 + 12.0 * poisson) * ratio)
    return SectionMoments(np.pi * (radius**2 - inner_radius**2), second, second, 2.0 * second, np.array([factor, factor]))


def ellipse(semi_axis_y: Array, semi_axis_z: Array, poisson: Any) -> SectionMoments:
    """Return the moments of an ellipse."""
    a, b = semi_axis_y, semi_axis_z
    area = np.pi * a * b
    squares = a**2 + b**2
    constant = area * (a * b) ** 2 / divisor(squares)
    factors = np.array([_ellipse_factor(a, b, poisson), _ellipse_factor(b, a, poisson)])
    return SectionMoments(area, area * b**2 / 4.0, area * a**2 / 4.0, constant, factors)


def _ellipse_factor(along: Array, across: Array, poisson: Any) -> Array:
    """Return the shear factor of an ellipse along the first of its semi-axes."""
    both = along**2 + across**2
    a, b = (side**2 / divisor(both) for side in (along, across))
    weights = (40.0 + 37.0 * poisson) * a**2 + (16.0 + 10.0 * poisson) * a * b + poisson * b**2
    return 12.0 * (1.0 + poisson) * a * (3.0 * a + b) / divisor(weights)


def rectangle(width: Array, height: Array, poisson: Any) -> SectionMoments:
    """Return the moments of a rectangle, `width` along y and `height` along z."""
    factor = 10.0 * (1.0 + poisson) / (12.0 + 11.0 * poisson) + 0.0 * width
    constant = rectangle_torsion(width, height)
    return SectionMoments(width * height, width * height**3 / 12.0, height * width**3 / 12.0, constant, np.array([factor] * 2))


def rectangle_torsion(width: Array, height: Array) -> Array:
    """Return the torsion constants (k, m^4) of rectangles (Timoshenko and Goodier, Theory of Elasticity, section 109)."""
    swap = below(width - height, 0.0)
    long, short = where(swap, height, width), where(swap, width, height)
    slender = long / divisor(short)
    falling = entrywise(np.exp, -np.pi * np.multiply.outer(_TERMS, slender))
    closed = (2.0 * falling / (1.0 + falling) / _TERMS[:, None] ** 5).sum(0)
    return long * short**3 / 3.0 * (1.0 - 192.0 / np.pi**5 * (_FIFTH_POWERS - closed) / slender)


def largest_around(shape: str, about_y: Array, about_z: Array) -> Array:
    """Return the largest sum of bending about y and z on outlines, rectangles or ellipses, from the largest of each."""
    return np.abs(about_y) + np.abs(about_z) if shape == "rectangle" else np.hypot(about_y, about_z)


def twisting_arm(shape: str, y: Array, z: Array) -> Array:
    """Return the largest shear stress (k, m) of torsion on outlines, per unit of shear modulus and twist.

    It is where outlines, rectangles or ellipses that reach y and z (k, m), are nearest to the axis (Timoshenko and Goodier,
    Theory of Elasticity, sections 106 and 109).
    """
    long, short = np.maximum(y, z), np.minimum(y, z)
    if shape != "rectangle":
        squares = long**2 + short**2
        return 2.0 * long**2 * short / divisor(squares)
    slender = long / divisor(short)
    falling = np.exp(-0.5 * np.pi * np.multiply.outer(_TERMS, slender))
    lost = (2.0 * falling / (1.0 + falling**2) / _TERMS[:, None] ** 2).sum(0)
    return 2.0 * short * (1.0 - 8.0 / np.pi**2 * lost)


#: The shapes by name: their dimensions, and their moments from these and Poisson's ratio.
SHAPES: dict[str, tuple[tuple[str, ...], Callable[..., SectionMoments]]] = {
    "circle": (("radius",), circle),
    "ellipse": (("semi_axis_y", "semi_axis_z"), ellipse),
    "rectangle": (("width", "height"), rectangle),
    "tube": (("radius", "inner_radius"), tube),
}
