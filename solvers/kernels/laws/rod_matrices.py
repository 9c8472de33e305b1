"""Small and wide matrices of rods, in rows of tables: loops over coordinates run along rows, so that they are vectorised.

Arrays at addresses serve as rows, since their indices need no look at the sign.
"""

from __future__ import annotations

from titop.solvers.kernels.interface.stages import address_of, vector_at
from titop.solvers.kernels.spatial.algebra import entry_of, six, transport, unit
from titop.solvers.native.kernel import helper


@helper
def clear(t, o, count):
    """Write zeros."""
    target = vector_at(address_of(t, o), count)
    for k in range(count):
        target[k] = 0.0


@helper
def add_scaled(t, o, factor, x, s, count):
    """Add to ``t[0]`` from `o` the numbers of ``x[0]`` from `s` times a factor."""
    target, source = vector_at(address_of(t, o), count), vector_at(address_of(x, s), count)
    for k in range(count):
        target[k] += factor * source[k]


@helper
def add_rows(t, o, w, x, s, stride, count):
    """Add to ``t[0]`` from `o` the six rows of ``x[0]`` from `s`, `stride` apart, times the six numbers w."""
    w0, w1, w2, w3, w4, w5 = w
    x0, x1, x2 = (
        vector_at(address_of(x, s), count),
        vector_at(address_of(x, s + stride), count),
        vector_at(address_of(x, s + 2 * stride), count),
    )
    x3, x4, x5 = (
        vector_at(address_of(x, s + 3 * stride), count),
        vector_at(address_of(x, s + 4 * stride), count),
        vector_at(address_of(x, s + 5 * stride), count),
    )
    target = vector_at(address_of(t, o), count)
    for j in range(count):
        target[j] += w0 * x0[j] + w1 * x1[j] + w2 * x2[j] + w3 * x3[j] + w4 * x4[j] + w5 * x5[j]


@helper
def add_product(t, o, rows, m, a, width, groups, x, s, n):
    """Add to the matrix (rows x n) at ``t[0, o]`` the product of two: the one at ``m[0, a]``, and the one at ``x[0, s]``.

    Of the first, whose rows have `width` numbers, as many groups of six columns take part as said.
    """
    for r in range(rows):
        for g in range(groups):
            add_rows(t, o + r * n, six(m, 0, a + width * r + 6 * g), x, s + 6 * g * n, n, n)


@helper
def column_of(t, o, n, j):
    """Return column j of the 6 x n matrix at ``t[0, o]``."""
    return t[0, o + j], t[0, o + n + j], t[0, o + 2 * n + j], t[0, o + 3 * n + j], t[0, o + 4 * n + j], t[0, o + 5 * n + j]


@helper
def put_column(t, o, width, c, x):
    """Write column c of the six rows, `width` apart, at ``t[0, o]``."""
    for r in range(6):
        t[0, o + r * width + c] = entry_of(x, r)


@helper
def write_back_transport(pose, o, t, at):
    """Write ``Ad(g)^-1`` (6 x 6) of the pose at ``pose[0, o]``."""
    for c in range(6):
        put_column(t, at, 6, c, transport(pose, 0, o, unit(c)))
