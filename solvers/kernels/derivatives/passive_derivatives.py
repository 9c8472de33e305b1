"""Derivatives of springs, dampers, friction, stops and armatures' gyroscopic efforts."""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import plus, scaled, turned_wrench, unit
from titop.solvers.kernels.tree.joints import coordinates_of
from titop.solvers.kernels.tree.springs import subtract_spring_slopes
from titop.solvers.native.kernel import helper


@helper
def subtract_passive_derivatives(ints, floats, q, v, dq, dv):
    """Subtract the derivatives of springs, dampers, friction, stops and armatures' gyroscopics."""
    if ints[0, layout.SPRINGS] > 0:
        subtract_spring_slopes(ints, floats, q, v, dq, dv)
    add_armature_slopes(ints, floats, v, dv)


@helper
def add_armature_slopes(ints, floats, v, dv):
    """Add the derivatives of ``-ad(v)^T (armature v)`` by v, of spherical and free joints."""
    if ints[0, layout.MULTIS] > 0:
        for i in range(1, ints[0, layout.ELEMENTS]):
            k, n = ints[i, layout.V], coordinates_of(ints[i, layout.KIND])
            if n > 1:
                for j in range(n):
                    column = armature_column(floats, i, v, k, n, j)
                    for r in range(n):
                        dv[k + r, k + j] += column[6 - n + r]


@helper
def armature_column(floats, i, v, k, n, j):
    """Return column j of the derivative of ``-ad(v)^T (armature v)`` by v, for a joint with n coordinates from k.

    Its entries are the last n of a dual vector's.
    """
    o = 6 - n
    rates = _placed(v, k, o, n)
    momentum = (
        floats[i, layout.ARMATURE] * rates[0] if n == 6 else 0.0,
        floats[i, layout.ARMATURE + 1] * rates[1] if n == 6 else 0.0,
        floats[i, layout.ARMATURE + 2] * rates[2] if n == 6 else 0.0,
        floats[i, layout.ARMATURE + n - 3] * rates[3],
        floats[i, layout.ARMATURE + n - 2] * rates[4],
        floats[i, layout.ARMATURE + n - 1] * rates[5],
    )
    e, a = unit(o + j), floats[i, layout.ARMATURE + j]
    alike = (
        floats[i, layout.ARMATURE] if n == 6 else 0.0
    )  # v x v is left out: see `titop.blocks.basics.spatial.gyroscopic_wrench`
    own = momentum[0] - alike * rates[0], momentum[1] - alike * rates[1], momentum[2] - alike * rates[2]
    more = (a - alike) * e[0], (a - alike) * e[1], (a - alike) * e[2]
    return plus(turned_wrench(e, momentum, own), turned_wrench(rates, scaled(a, e), more))


@helper
def _placed(v, k, o, n):
    """Return n entries of v from k as the last entries of a dual vector."""
    return (
        v[k] if o < 1 else 0.0,
        v[k + 1] if o < 1 else 0.0,
        v[k + 2] if o < 1 else 0.0,
        v[k + n - 3],
        v[k + n - 2],
        v[k + n - 1],
    )
