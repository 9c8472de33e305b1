"""What subtrees answer with when they are moved: sums of D, B and wrenches (see `derivatives`).

Rows of ``sums`` belong to elements and to ports of general blocks. The rigid bodies of a subtree add up to ten numbers for D
and twelve for B; the general blocks beside them (`law` not None) to full 6x6 matrices.

Passes along directions have ``room`` with as many rows, in the same frames. Along a direction a row has the displacement, and
the changes of the twist and of the acceleration, which makes room for that of the wrench. Transposed it has the dual vector,
and what pulls the acceleration, the twist and the displacement.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import (
    composed_pose,
    cross,
    entry_of,
    full_times,
    matrix_of,
    plus,
    put_pose,
    rigid_momentum,
    rotate,
    rotate_back,
    scaled,
    six,
)
from titop.solvers.native.kernel import helper

# -- columns of room
FIRST, SECOND, THIRD, DISPLACED = np.int64(0), np.int64(6), np.int64(12), np.int64(18)
ROOM_COLUMNS = 24


@helper
def sum_momentum(sums, i, x):
    """Return D x of the subtree of element i."""
    return rigid_momentum(sums, i, layout.SUM_MASS, x)


@helper
def rigid_stirred(sums, i, x, y):
    """Return ``B x + D y`` of the subtree of element i."""
    px, py, pz, lx, ly, lz = six(sums, i, layout.MOMENTUM)
    xx, yy, zz, xy, xz, yz = six(sums, i, layout.STIRRED)
    wx, wy, wz = x[3], x[4], x[5]
    fx, fy, fz, tx, ty, tz = sum_momentum(sums, i, y)
    return (
        fx - 2.0 * (py * wz - pz * wy),
        fy - 2.0 * (pz * wx - px * wz),
        fz - 2.0 * (px * wy - py * wx),
        tx + xx * wx + xy * wy + xz * wz - (ly * wz - lz * wy),
        ty + xy * wx + yy * wy + yz * wz - (lz * wx - lx * wz),
        tz + xz * wx + yz * wy + zz * wz - (lx * wy - ly * wx),
    )


@helper
def rigid_stirring(sums, i, s):
    """Return the angular part of ``B^T s`` of the subtree of element i; the linear part is zero."""
    px, py, pz, lx, ly, lz = six(sums, i, layout.MOMENTUM)
    xx, yy, zz, xy, xz, yz = six(sums, i, layout.STIRRED)
    vx, vy, vz, wx, wy, wz = s
    return (
        2.0 * (py * vz - pz * vy) + xx * wx + xy * wy + xz * wz + ly * wz - lz * wy,
        2.0 * (pz * vx - px * vz) + xy * wx + yy * wy + yz * wz + lz * wx - lx * wz,
        2.0 * (px * vy - py * vx) + xz * wx + yz * wy + zz * wz + lx * wy - ly * wx,
    )


@helper
def moved_by(law, sums, i, x):
    """Return D x of the subtree of row i."""
    result = sum_momentum(sums, i, x)
    if law is not None:
        result = plus(result, full_times(sums, i, layout.FULL_D, x))
    return result


@helper
def stirred_by(law, sums, i, x, y):
    """Return ``B x + D y`` of the subtree of row i."""
    result = rigid_stirred(sums, i, x, y)
    if law is not None:
        result = plus(result, plus(full_times(sums, i, layout.FULL_B, x), full_times(sums, i, layout.FULL_D, y)))
    return result


@helper
def stirring_of(sums, i, s):
    """Return ``B^T s`` of the subtree of row i."""
    sx, sy, sz = rigid_stirring(sums, i, s)
    return plus((0.0, 0.0, 0.0, sx, sy, sz), transposed_times(sums, i, layout.FULL_B, s))


@helper
def add_sums(ints, law, i, p, sums):
    """Add the sums of row i to those of row p."""
    for c in range(layout.WRENCH, layout.TURNED if ints[0, layout.INERTIAL_LOADS] == 0 else layout.SUM_COLUMNS):
        sums[p, c] += sums[i, c]
    if law is not None:
        for c in range(layout.FULL_D, full_end(ints)):
            sums[p, c] += sums[i, c]


@helper
def full_end(ints):
    """Return where the columns end that systems with general blocks use: only loads that depend on poses need the last."""
    return layout.FULL_TURNED if ints[0, layout.INERTIAL_LOADS] == 0 else layout.FULL_COLUMNS


@helper
def holding(law, sums, i, s):
    """Return the change of the subtree's wrench with a displacement s.

    It is ``-[[0, [f]], [0, [t] + [r][f]]] s`` for the inertial loads; what surrounds general blocks gives a full matrix.
    """
    x, y, z = cross(sums[i, layout.TURNED], sums[i, layout.TURNED + 1], sums[i, layout.TURNED + 2], s[3], s[4], s[5])
    tx, ty, tz = rotate(sums, i, layout.TURNED + 3, s[3], s[4], s[5])
    result = (-x, -y, -z, -tx, -ty, -tz)
    if law is not None:
        result = plus(result, full_times(sums, i, layout.FULL_TURNED, s))
    return result


@helper
def held(sums, i, s):
    """Return the angular part of the inertial loads' transposed part of `holding`; the linear part is zero."""
    x, y, z = cross(sums[i, layout.TURNED], sums[i, layout.TURNED + 1], sums[i, layout.TURNED + 2], s[0], s[1], s[2])
    m = matrix_of(sums, i, layout.TURNED + 3)
    return (
        x - (m[0] * s[3] + m[3] * s[4] + m[6] * s[5]),
        y - (m[1] * s[3] + m[4] * s[4] + m[7] * s[5]),
        z - (m[2] * s[3] + m[5] * s[4] + m[8] * s[5]),
    )


@helper
def all_held(sums, i, s):
    """Return the transposed of `holding`."""
    hx, hy, hz = held(sums, i, s)
    return plus((0.0, 0.0, 0.0, hx, hy, hz), transposed_times(sums, i, layout.FULL_TURNED, s))


@helper
def transposed_times(sums, i, o, s):
    """Return the product of the transposed of the 6x6 matrix at ``sums[i, o]`` and s."""
    total = scaled(s[0], six(sums, i, o))
    for r in range(1, 6):
        total = plus(total, scaled(entry_of(s, r), six(sums, i, o + 6 * r)))
    return total


@helper
def compose(a, p, b, i, o, t, row):
    """Write the pose in ``a[p]`` (at `BASE`) followed by the one at ``b[i, o]`` into ``t[row]``."""
    rotation, position = composed_pose(a, p, layout.BASE, b, i, o)
    put_pose(t, row, layout.BASE, rotation, position)


@helper
def clear(t, i, begin, end):
    """Write zeros."""
    for c in range(begin, end):
        t[i, c] = 0.0


@helper
def carry_back(t, i, w):
    """Return ``Ad(g)^T W``: a wrench at the parent as a wrench at the child; g at ``t[i, BASE]``."""
    cx, cy, cz = cross(t[i, layout.BASE + 9], t[i, layout.BASE + 10], t[i, layout.BASE + 11], w[0], w[1], w[2])
    fx, fy, fz = rotate_back(t, i, layout.BASE, w[0], w[1], w[2])
    tx, ty, tz = rotate_back(t, i, layout.BASE, w[3] - cx, w[4] - cy, w[5] - cz)
    return fx, fy, fz, tx, ty, tz
