"""Matrices in rows of tables, small ones and wide ones with a column for each coordinate.

Loops over coordinates run along rows, so that they are vectorised. Arrays at addresses serve as rows, since their indices need
no look at the sign.
"""

from __future__ import annotations

from titop.solvers.kernels.interface.records import by_rate_at
from titop.solvers.kernels.interface.stages import address_of, part_of, vector_at
from titop.solvers.kernels.spatial.algebra import column_of, entry_of, six, transport, unit
from titop.solvers.native.kernel import helper, shared


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
    x0, x1 = vector_at(address_of(x, s), count), vector_at(address_of(x, s + stride), count)
    x2, x3 = vector_at(address_of(x, s + 2 * stride), count), vector_at(address_of(x, s + 3 * stride), count)
    x4, x5 = vector_at(address_of(x, s + 4 * stride), count), vector_at(address_of(x, s + 5 * stride), count)
    target = vector_at(address_of(t, o), count)
    for j in range(count):
        target[j] += w0 * x0[j] + w1 * x1[j] + w2 * x2[j] + w3 * x3[j] + w4 * x4[j] + w5 * x5[j]


@helper
def add_three_rows(t, o, w, x, s, stride, count):
    """Do so with three rows and three numbers."""
    w0, w1, w2 = w
    target, x0 = vector_at(address_of(t, o), count), vector_at(address_of(x, s), count)
    x1, x2 = vector_at(address_of(x, s + stride), count), vector_at(address_of(x, s + 2 * stride), count)
    for j in range(count):
        target[j] += w0 * x0[j] + w1 * x1[j] + w2 * x2[j]


@helper
def add_product(t, o, m, a, x, s, n):
    """Add to the matrix (6 x n) at ``t[0, o]`` the product of the one at ``m[0, a]`` (6 x 6) and the one at ``x[0, s]``."""
    for r in range(6):
        add_rows(t, o + r * n, six(m, 0, a + 6 * r), x, s, n, n)


@helper
def put_wide_product(t, o, m, a, sizes, x, s, n):
    """Write such a product for another number of rows, the first of `sizes`; the others are of the matrix at ``m[0, a]``.

    Its rows have as many numbers, and as many groups of six columns of it take part.
    """
    rows, width, groups = sizes
    for r in range(rows):
        clear(t, o + r * n, n)
        for g in range(groups):
            add_rows(t, o + r * n, six(m, 0, a + width * r + 6 * g), x, s + 6 * g * n, n, n)


@helper
def three_at(t, o):
    """Return three numbers at ``t[0, o]``."""
    return t[0, o], t[0, o + 1], t[0, o + 2]


@helper
def column_of_three(t, o, n, j):
    """Return column j of the 3 x n matrix at ``t[0, o]``."""
    return t[0, o + j], t[0, o + n + j], t[0, o + 2 * n + j]


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


@helper
def add_column(t, o, width, c, x):
    """Add to column c of the six rows, `width` apart, at ``t[0, o]``."""
    for r in range(6):
        t[0, o + r * width + c] += entry_of(x, r)


@helper
def wide_times(modes, at, n, x):
    """Return the product (6) of the 6 x n matrix at `at`, such as P or Phi, and x."""
    r0, r1, r2 = part_of(modes, at, (n,)), part_of(modes, at + n, (n,)), part_of(modes, at + 2 * n, (n,))
    r3, r4, r5 = part_of(modes, at + 3 * n, (n,)), part_of(modes, at + 4 * n, (n,)), part_of(modes, at + 5 * n, (n,))
    d0 = d1 = d2 = d3 = d4 = d5 = 0.0 * x[0] if n else 0.0
    for j in range(n):
        y = x[j]
        d0 += r0[j] * y
        d1 += r1[j] * y
        d2 += r2[j] * y
        d3 += r3[j] * y
        d4 += r4[j] * y
        d5 += r5[j] * y
    return d0, d1, d2, d3, d4, d5


@helper
def add_transposed(modes, at, n, w, t, o):
    """Add the product of the transposed of the 6 x n matrix at `at` and w to ``t[0]`` from `o`."""
    w0, w1, w2, w3, w4, w5 = w
    for j in range(n):
        t[0, o + j] += (
            modes[0, at + j] * w0
            + modes[0, at + n + j] * w1
            + modes[0, at + 2 * n + j] * w2
            + modes[0, at + 3 * n + j] * w3
            + modes[0, at + 4 * n + j] * w4
            + modes[0, at + 5 * n + j] * w5
        )


@helper
def add_times(modes, at, n, x, t, o):
    """Add the product of the symmetric n x n matrix at `at` and x to ``t[0]`` from `o`."""
    add_rows_times(modes, at, n, n, n, x, t, o)


@helper
def add_rows_times(modes, at, stride, width, n, x, t, o):
    """Add to ``t[0]`` from `o` the sum of n rows of `width` numbers, `stride` apart from `at`, times the numbers of x.

    Entries are side by side, four rows at a time: what they are added to is read and written once.
    """
    result, fours = part_of(t, o, (width,)), n // 4
    for g in range(fours):
        r, row = 4 * g, at + 4 * g * stride
        y0, y1, y2, y3 = x[r], x[r + 1], x[r + 2], x[r + 3]
        r0, r1 = part_of(modes, row, (width,)), part_of(modes, row + stride, (width,))
        r2, r3 = part_of(modes, row + 2 * stride, (width,)), part_of(modes, row + 3 * stride, (width,))
        for k in range(width):
            result[k] += r0[k] * y0 + r1[k] * y1 + r2[k] * y2 + r3[k] * y3
    for r in range(4 * fours, n):
        y, last = x[r], part_of(modes, at + r * stride, (width,))
        for k in range(width):
            result[k] += last[k] * y


@helper
def add_passive(numbers, at, n, q, v, t, o):
    """Add to ``t[0]`` from `o` the efforts of the stiffness (n x n) at `at` and of the damping behind it."""
    add_times(numbers, at, n, q, t, o)
    add_times(numbers, at + n * n, n, v, t, o)


@helper
def add_passive_slopes(numbers, at, n, slopes):
    """Add stiffness and damping, which stand as in `add_passive`, to the derivatives of efforts."""
    add_scaled(slopes, 6 * n, 1.0, numbers, at, n * n)
    add_scaled(slopes, by_rate_at(n) + 6 * n, 1.0, numbers, at + n * n, n * n)


@helper
def half_square(numbers, at, n, q):
    """Return ``q^T K q / 2`` for the n x n matrix at `at`."""
    half = 0.0
    for r in range(n):
        for j in range(n):
            half += 0.5 * q[r] * numbers[0, at + r * n + j] * q[j]
    return half


@shared
def add_through(small, m, modes, at, n, t, o):
    """Add to the 6 x n matrix at ``t[0, o]`` the product of the 6 x 6 at ``small[0, m]`` and the 6 x n at ``modes[0, at]``."""
    add_product(t, o, small, m, modes, at, n)


@shared
def add_between(small, m, room, modes, at, n, t, o):
    """Add to the n x n matrix at ``t[0, o]`` that product with the transposed of the 6 x n matrix before it.

    From ``small[0, room]`` on there is room for a 6 x n matrix.
    """
    clear(small, room, 6 * n)
    add_through(small, m, modes, at, n, small, room)
    for i in range(n):
        add_rows(t, o + i * n, column_of(modes, at, n, i), small, room, n, n)
