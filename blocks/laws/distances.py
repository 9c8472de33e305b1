"""Distances of places from shapes.

The `numbers` of a shape are the first five in a row: its kind, and what `Shape` says of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.choices import positive, select
from titop.blocks.basics.tolerances import COMPLEX_STEP, EXACT
from titop.blocks.laws.vectors import Vector

#: Kinds of shapes: planes, boxes whose edges are rounded by a radius (spheres and capsules among them), round walls without
#: ends, and round bodies with flat ends.
PLANE, ROUNDED, WALL, BARREL = range(4)
#: After so many halvings two places of a line are one.
HALVINGS = 60
#: Axes that are as parallel as this (rad) to a surface are nearest to it in their middle.
LEVEL = EXACT


def distance(numbers: Any, r: Any) -> tuple[Any, Vector]:
    """Return the distance of a place (3) from a shape, negative in the material, and the unit vector (3) out of that."""
    x, y, z = r[0], r[1], r[2]
    kind, a, b, c, d = numbers[0, 0], numbers[0, 1], numbers[0, 2], numbers[0, 3], numbers[0, 4]
    nothing = 0.0 * x
    if kind == PLANE:
        return a * x + b * y + c * z, (nothing + a, nothing + b, nothing + c)
    if kind == ROUNDED:
        apart, (e, f, g) = _from_box(x, y, z, a, b, c)
        return apart - d, (e, f, g)
    across, (e, f, g) = _from_box(x, y, nothing, 0.0, 0.0, 0.0)
    if kind == WALL:
        return b * (across - a), (b * e, b * f, nothing)
    apart, (aside, along, g) = _from_box(across, z, nothing, a, b, a + b)  # never out of the third side
    return apart, (aside * e, aside * f, along)


def _from_box(x: Any, y: Any, z: Any, a: Any, b: Any, c: Any) -> tuple[Any, Vector]:
    """Return the distance of a place from a box that reaches as far to both sides of the origin as said, and the way out."""
    p, q, s = select(x.real < 0.0, -1.0, 1.0), select(y.real < 0.0, -1.0, 1.0), select(z.real < 0.0, -1.0, 1.0)
    u, v, w = p * x - a, q * y - b, s * z - c
    o, h, k = positive(u), positive(v), positive(w)
    square = o * o + h * h + k * k
    outside = square.real > 0.0
    apart = np.sqrt(select(outside, square, square + 1.0))
    first, second = (u.real >= v.real) & (u.real >= w.real), v.real >= w.real
    e = select(outside, o / apart, select(first, 1.0, 0.0))
    f = select(outside, h / apart, select(first, 0.0, select(second, 1.0, 0.0)))
    g = select(outside, k / apart, select(first, 0.0, select(second, 0.0, 1.0)))
    return select(outside, apart, select(first, u, select(second, v, w))), (p * e, q * f, s * g)


def slope(numbers: Any, c: Any, u: Any, s: Any) -> Any:
    """Return what the distance grows by along a line, at c + s u."""
    _, n = distance(numbers, (c[0] + s * u[0], c[1] + s * u[1], c[2] + s * u[2]))
    return n[0] * u[0] + n[1] * u[1] + n[2] * u[2]


def nearest(numbers: Any, c: Any, u: Any, half: Any, order: int) -> Any:
    """Return s, from -half to half (m), at which ``c + s u`` is nearest to a convex shape.

    Along a line the slope of the distance only rises. Bisection finds its zero, and the implicit function its derivatives, up
    to an `order`: one for complex steps, one more than that of Taylor series.

    Parameters
    ----------
    numbers : (1, k) array
        Of the shape.
    c, u : three numbers each
        The middle of the line (m), and the unit vector along it.
    half : float, m
    order : int
    """
    s, share = lowest(numbers, (c[0].real, c[1].real, c[2].real), (u[0].real, u[1].real, u[2].real), half)
    place = s + 0.0 * c[0]
    for _ in range(order):
        left = slope(numbers, c, u, place) + LEVEL * place / half
        place = place - share * (left - left.real)
    return place


def lowest(numbers: Any, p: Any, e: Any, half: Any) -> tuple[Any, Any]:
    """Return the same s for real numbers, and what it falls by where the slope of the distance there grows by one (m)."""
    low, high = -half, half
    for _ in range(HALVINGS):
        s = 0.5 * (low + high)
        rises = slope(numbers, p, e, s) + LEVEL * s / half > 0.0
        low, high = select(rises, low, s), select(rises, s, high)
    s = 0.5 * (low + high)
    bend = slope(numbers, p, e, s + 1j * COMPLEX_STEP).imag / COMPLEX_STEP + LEVEL / half
    within = select((slope(numbers, p, e, -half) < LEVEL) & (slope(numbers, p, e, half) > -LEVEL), 1.0, 0.0)
    return s, within / bend
