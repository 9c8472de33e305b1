"""Taylor coefficients of derivatives, and of efforts that depend on coordinates alone: springs, dampers, armatures."""

from __future__ import annotations

from titop.blocks.laws.vectors import cross3, dot3
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import add_three, three
from titop.solvers.kernels.tree.elastic_efforts import displacement
from titop.solvers.native.kernel import helper


@helper
def to_coefficients(derivatives, first, count, coefficients):
    """Write ``x_k = x^(k) / k!`` for `count` orders from the row `first` of `derivatives` on."""
    scale = 1.0
    for k in range(count):
        scale /= max(k, 1)
        for j in range(derivatives.shape[1]):
            coefficients[k, j] = scale * derivatives[first + k, j]


@helper
def to_derivatives(coefficients, first, derivatives):
    """Write ``x^(k) = k! x_k``, x_k in the rows of `coefficients` from `first` on."""
    scale = 1.0
    for k in range(derivatives.shape[0]):
        scale *= max(k, 1)
        for j in range(derivatives.shape[1]):
            derivatives[k, j] = scale * coefficients[first + k, j]


@helper
def add_passive(ints, floats, q, k, rates, sign, efforts):
    """Add order k of what springs of plain coordinates, dampers and turning armatures do, times a sign, to ``efforts[k]``."""
    row = ints[0, layout.ELEMENTS]
    for _ in range(ints[0, layout.SPRINGS]):
        _add_spring(ints, floats, row, q, k, rates, sign, efforts)
        row += ints[row, layout.SIZE]
    if ints[0, layout.MULTIS] > 0:
        for i in range(1, ints[0, layout.ELEMENTS]):
            kind = ints[i, layout.KIND]
            if kind == layout.SPHERICAL:
                _add_turning(floats, i, layout.ARMATURE, ints[i, layout.V], k, rates, sign, efforts)
            elif kind == layout.FREE:
                _add_moving(floats, i, ints[i, layout.V], k, rates, sign, efforts)


@helper
def _add_spring(ints, floats, row, q, k, rates, sign, efforts):
    """``-K (q - rest) - D v``."""
    n, v, plain = ints[row, layout.SIZE], ints[row, layout.V], ints[row, layout.KIND] == layout.AXIAL
    x, y, z = 0.0, 0.0, 0.0
    if plain and k == 0:
        x, y, z, _, _, _ = displacement(ints, floats, row, q)
    elif plain:
        x = rates[k - 1, v] / k
        y = rates[k - 1, v + 1] / k if n > 1 else 0.0
        z = rates[k - 1, v + 2] / k if n > 2 else 0.0
    for a in range(n):
        effort = 0.0
        if plain:
            effort = dot3(three(floats, row + a, layout.STIFFNESS), (x, y, z))
        for b in range(n):
            effort += floats[row + a, layout.DAMPING + b] * rates[k, v + b]
        efforts[k, v + a] -= sign * effort


@helper
def _add_turning(floats, i, armature, v, k, rates, sign, efforts):
    """``-w x (J w)``, J the armature about the joint's axes."""
    for j in range(k + 1):
        turning = _momentum(floats, i, armature, three(rates, k - j, v))
        _subtract(efforts, k, v, sign, cross3(three(rates, j, v), turning))


@helper
def _momentum(floats, i, armature, rate):
    j = three(floats, i, armature)
    return j[0] * rate[0], j[1] * rate[1], j[2] * rate[2]


@helper
def _subtract(efforts, k, v, sign, x):
    add_three(efforts, k, v, (-sign * x[0], -sign * x[1], -sign * x[2]))


@helper
def _add_moving(floats, i, v, k, rates, sign, efforts):
    """The same of a free joint: ``-w x (m v)`` along, ``-w x (J w) - v x (m v)`` about its axes."""
    _add_turning(floats, i, layout.ARMATURE + 3, v + 3, k, rates, sign, efforts)
    for j in range(k + 1):
        moving = _momentum(floats, i, layout.ARMATURE, three(rates, k - j, v))
        _subtract(efforts, k, v, sign, cross3(three(rates, j, v + 3), moving))
        _subtract(efforts, k, v + 3, sign, cross3(three(rates, j, v), moving))
