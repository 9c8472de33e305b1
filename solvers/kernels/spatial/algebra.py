"""Spatial algebra on scalars: small pure functions that numba inlines."""

from __future__ import annotations

from titop.blocks.basics.tolerances import COMPLEX_STEP
from titop.blocks.laws.vectors import product
from titop.solvers.native.kernel import helper


@helper
def cross(ax, ay, az, bx, by, bz):
    """Return a x b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@helper
def matrix_of(t, i, o):
    """Return the nine entries of ``t[i]`` from `o`."""
    return (
        t[i, o], t[i, o + 1], t[i, o + 2],
        t[i, o + 3], t[i, o + 4], t[i, o + 5],
        t[i, o + 6], t[i, o + 7], t[i, o + 8],
    )  # fmt: skip


#: The matrix of no rotation.
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@helper
def put_pose(t, i, o, rotation, position):
    """Write a pose into ``t[i]`` from `o`."""
    put_three(t, i, o, (rotation[0], rotation[1], rotation[2]))
    put_three(t, i, o + 3, (rotation[3], rotation[4], rotation[5]))
    put_three(t, i, o + 6, (rotation[6], rotation[7], rotation[8]))
    put_three(t, i, o + 9, position)


@helper
def composed_pose(a, i, o, b, j, p):
    """Return rotation and position of the pose at ``a[i, o]`` followed by the one at ``b[j, p]``."""
    x, y, z = rotate(a, i, o, b[j, p + 9], b[j, p + 10], b[j, p + 11])
    return product(matrix_of(a, i, o), matrix_of(b, j, p)), (a[i, o + 9] + x, a[i, o + 10] + y, a[i, o + 11] + z)


@helper
def three(t, i, o):
    """Return three entries of ``t[i]`` from `o`."""
    return t[i, o], t[i, o + 1], t[i, o + 2]


@helper
def put_three(t, i, o, x):
    """Write three entries of ``t[i]`` from `o`."""
    t[i, o], t[i, o + 1], t[i, o + 2] = x


@helper
def add_three(t, i, o, x):
    """Add to three entries of ``t[i]`` from `o`."""
    t[i, o] += x[0]
    t[i, o + 1] += x[1]
    t[i, o + 2] += x[2]


@helper
def rotate(t, i, o, x, y, z):
    """Return R u, R the nine entries of ``t[i]`` from `o`."""
    return (
        t[i, o] * x + t[i, o + 1] * y + t[i, o + 2] * z,
        t[i, o + 3] * x + t[i, o + 4] * y + t[i, o + 5] * z,
        t[i, o + 6] * x + t[i, o + 7] * y + t[i, o + 8] * z,
    )


@helper
def rotate_back(t, i, o, x, y, z):
    """Return R^T u."""
    return (
        t[i, o] * x + t[i, o + 3] * y + t[i, o + 6] * z,
        t[i, o + 1] * x + t[i, o + 4] * y + t[i, o + 7] * z,
        t[i, o + 2] * x + t[i, o + 5] * y + t[i, o + 8] * z,
    )


@helper
def rotate_six_back(t, i, o, x):
    """Return both parts of a dual vector turned by R^T."""
    a, b, c = rotate_back(t, i, o, x[0], x[1], x[2])
    d, e, f = rotate_back(t, i, o, x[3], x[4], x[5])
    return a, b, c, d, e, f


@helper
def rotate_six(t, i, o, x):
    """Return both parts of a dual vector turned by R."""
    return (*rotate(t, i, o, x[0], x[1], x[2]), *rotate(t, i, o, x[3], x[4], x[5]))


@helper
def six(t, i, o):
    """Return six entries of ``t[i]`` from `o`."""
    return t[i, o], t[i, o + 1], t[i, o + 2], t[i, o + 3], t[i, o + 4], t[i, o + 5]


@helper
def six_of(vector, k):
    """Return six entries of a vector from k."""
    return vector[k], vector[k + 1], vector[k + 2], vector[k + 3], vector[k + 4], vector[k + 5]


@helper
def put_six(t, i, o, x):
    """Write six entries of ``t[i]`` from `o`."""
    t[i, o], t[i, o + 1], t[i, o + 2], t[i, o + 3], t[i, o + 4], t[i, o + 5] = x


@helper
def add_six(t, i, o, x):
    """Add to six entries of ``t[i]`` from `o`."""
    t[i, o] += x[0]
    t[i, o + 1] += x[1]
    t[i, o + 2] += x[2]
    t[i, o + 3] += x[3]
    t[i, o + 4] += x[4]
    t[i, o + 5] += x[5]


@helper
def plus(x, y):
    """Return the sum of two dual vectors."""
    return x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3], x[4] + y[4], x[5] + y[5]


@helper
def dot(x, y):
    """Return the product of two dual vectors."""
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3] + x[4] * y[4] + x[5] * y[5]


@helper
def transport(t, i, o, x):
    """Return ``Ad(g)^-1 x``: a twist at the parent as a twist at the child; g at ``t[i, o:o+12]``."""
    cx, cy, cz = cross(x[3], x[4], x[5], t[i, o + 9], t[i, o + 10], t[i, o + 11])
    lx, ly, lz = rotate_back(t, i, o, x[0] + cx, x[1] + cy, x[2] + cz)
    ax, ay, az = rotate_back(t, i, o, x[3], x[4], x[5])
    return lx, ly, lz, ax, ay, az


@helper
def twist_cross(x, y):
    """Return ``ad(x) y``."""
    ax, ay, az = cross(x[3], x[4], x[5], y[0], y[1], y[2])
    bx, by, bz = cross(x[0], x[1], x[2], y[3], y[4], y[5])
    cx, cy, cz = cross(x[3], x[4], x[5], y[3], y[4], y[5])
    return ax + bx, ay + by, az + bz, cx, cy, cz


@helper
def carry_wrench(t, i, o, w):
    """Return ``Ad(g)^-T W``: a wrench at the child as a wrench at the parent."""
    fx, fy, fz = rotate(t, i, o, w[0], w[1], w[2])
    tx, ty, tz = rotate(t, i, o, w[3], w[4], w[5])
    cx, cy, cz = cross(t[i, o + 9], t[i, o + 10], t[i, o + 11], fx, fy, fz)
    return fx, fy, fz, tx + cx, ty + cy, tz + cz


@helper
def rigid_momentum(t, i, m, x):
    """Return D x of a rigid body whose mass, moment and inertia start at ``t[i, m]``."""
    mass, cx, cy, cz = t[i, m], t[i, m + 1], t[i, m + 2], t[i, m + 3]
    ixx, iyy, izz, ixy, ixz, iyz = t[i, m + 4], t[i, m + 5], t[i, m + 6], t[i, m + 7], t[i, m + 8], t[i, m + 9]
    vx, vy, vz, wx, wy, wz = x
    return (
        mass * vx + wy * cz - wz * cy,
        mass * vy + wz * cx - wx * cz,
        mass * vz + wx * cy - wy * cx,
        ixx * wx + ixy * wy + ixz * wz + cy * vz - cz * vy,
        ixy * wx + iyy * wy + iyz * wz + cz * vx - cx * vz,
        ixz * wx + iyz * wy + izz * wz + cx * vy - cy * vx,
    )


@helper
def spin_momentum(t, i, m, wx, wy, wz):
    """Return D [0; w], likewise."""
    cx, cy, cz = t[i, m + 1], t[i, m + 2], t[i, m + 3]
    ixx, iyy, izz, ixy, ixz, iyz = t[i, m + 4], t[i, m + 5], t[i, m + 6], t[i, m + 7], t[i, m + 8], t[i, m + 9]
    fx, fy, fz = cross(wx, wy, wz, cx, cy, cz)
    return fx, fy, fz, ixx * wx + ixy * wy + ixz * wz, ixy * wx + iyy * wy + iyz * wz, ixz * wx + iyz * wy + izz * wz


@helper
def point_acceleration(x, y):
    """Return ``[a + w x v; alpha]`` for a twist ``x = [v; w]`` and an acceleration ``y = [a; alpha]``.

    The acceleration for an observer who moves along with the origin, to whom the twist is ``[0; w]``. What a body without
    added mass takes is the same to both: no product of two velocities is left to cancel.
    """
    cx, cy, cz = cross(x[3], x[4], x[5], x[0], x[1], x[2])
    return y[0] + cx, y[1] + cy, y[2] + cz, y[3], y[4], y[5]


@helper
def centrifugal_wrench(t, i, m, x):
    """Return ``[w x (w x m c); w x J w]``: what a rigid body takes because it spins, its origin at rest."""
    cx, cy, cz = t[i, m + 1], t[i, m + 2], t[i, m + 3]
    ixx, iyy, izz, ixy, ixz, iyz = t[i, m + 4], t[i, m + 5], t[i, m + 6], t[i, m + 7], t[i, m + 8], t[i, m + 9]
    wx, wy, wz = x[3], x[4], x[5]
    ux, uy, uz = cross(wx, wy, wz, cx, cy, cz)
    fx, fy, fz = cross(wx, wy, wz, ux, uy, uz)
    lx, ly, lz = ixx * wx + ixy * wy + ixz * wz, ixy * wx + iyy * wy + iyz * wz, ixz * wx + iyz * wy + izz * wz
    tx, ty, tz = cross(wx, wy, wz, lx, ly, lz)
    return fx, fy, fz, tx, ty, tz


@helper
def rigid_wrench(t, i, m, x, y):
    """Return ``D A - ad(V)^T D V`` of a rigid body (key A, eq. 25), for its twist x and its acceleration y."""
    return plus(rigid_momentum(t, i, m, point_acceleration(x, y)), centrifugal_wrench(t, i, m, x))


@helper
def gyroscopic(t, i, m, x):
    """Return ``h = -ad(V)^T D V`` of a rigid body: ``m u + w x (w x m c)`` and ``w x J w + m c x u`` with ``u = w x v``."""
    mass, cx, cy, cz = t[i, m], t[i, m + 1], t[i, m + 2], t[i, m + 3]
    ux, uy, uz = cross(x[3], x[4], x[5], x[0], x[1], x[2])
    sx, sy, sz = cross(cx, cy, cz, ux, uy, uz)
    fx, fy, fz, tx, ty, tz = centrifugal_wrench(t, i, m, x)
    return mass * ux + fx, mass * uy + fy, mass * uz + fz, tx + sx, ty + sy, tz + sz


@helper
def inertia_times(a, b, c, x):
    """Return ``[[a, b], [b^T, c]] x``."""
    axx, ayy, azz, axy, axz, ayz = a
    b00, b01, b02, b10, b11, b12, b20, b21, b22 = b
    cxx, cyy, czz, cxy, cxz, cyz = c
    x0, x1, x2, x3, x4, x5 = x
    return (
        axx * x0 + axy * x1 + axz * x2 + b00 * x3 + b01 * x4 + b02 * x5,
        axy * x0 + ayy * x1 + ayz * x2 + b10 * x3 + b11 * x4 + b12 * x5,
        axz * x0 + ayz * x1 + azz * x2 + b20 * x3 + b21 * x4 + b22 * x5,
        b00 * x0 + b10 * x1 + b20 * x2 + cxx * x3 + cxy * x4 + cxz * x5,
        b01 * x0 + b11 * x1 + b21 * x2 + cxy * x3 + cyy * x4 + cyz * x5,
        b02 * x0 + b12 * x1 + b22 * x2 + cxz * x3 + cyz * x4 + czz * x5,
    )


@helper
def put_inertia(t, i, o, inertia):
    """Write the blocks a, b, c of an inertia into ``t[i]`` from `o`."""
    a, b, c = inertia
    put_six(t, i, o, a)
    put_six(t, i, o + 6, (b[0], b[1], b[2], b[3], b[4], b[5]))
    t[i, o + 12], t[i, o + 13], t[i, o + 14] = b[6], b[7], b[8]
    put_six(t, i, o + 15, c)


@helper
def both_inertias(x, y):
    """Return the blocks of the sum of two inertias."""
    (a, b, c), (d, e, f) = x, y
    first = plus((b[0], b[1], b[2], b[3], b[4], b[5]), (e[0], e[1], e[2], e[3], e[4], e[5]))
    return plus(a, d), (*first, b[6] + e[6], b[7] + e[7], b[8] + e[8]), plus(c, f)


@helper
def rotate_general(t, i, o, m):
    """Return ``R m R^T`` for a general 3x3 m (9)."""
    r0, r1, r2, r3, r4, r5, r6, r7, r8 = matrix_of(t, i, o)
    m00, m01, m02, m10, m11, m12, m20, m21, m22 = m
    t00, t01, t02 = r0 * m00 + r1 * m10 + r2 * m20, r0 * m01 + r1 * m11 + r2 * m21, r0 * m02 + r1 * m12 + r2 * m22
    t10, t11, t12 = r3 * m00 + r4 * m10 + r5 * m20, r3 * m01 + r4 * m11 + r5 * m21, r3 * m02 + r4 * m12 + r5 * m22
    t20, t21, t22 = r6 * m00 + r7 * m10 + r8 * m20, r6 * m01 + r7 * m11 + r8 * m21, r6 * m02 + r7 * m12 + r8 * m22
    return (
        t00 * r0 + t01 * r1 + t02 * r2, t00 * r3 + t01 * r4 + t02 * r5, t00 * r6 + t01 * r7 + t02 * r8,
        t10 * r0 + t11 * r1 + t12 * r2, t10 * r3 + t11 * r4 + t12 * r5, t10 * r6 + t11 * r7 + t12 * r8,
        t20 * r0 + t21 * r1 + t22 * r2, t20 * r3 + t21 * r4 + t22 * r5, t20 * r6 + t21 * r7 + t22 * r8,
    )  # fmt: skip


@helper
def rotate_symmetric(t, i, o, m):
    """Return ``R m R^T`` for a symmetric 3x3 m (6)."""
    r0, r1, r2, r3, r4, r5, r6, r7, r8 = matrix_of(t, i, o)
    xx, yy, zz, xy, xz, yz = m
    t00, t01, t02 = r0 * xx + r1 * xy + r2 * xz, r0 * xy + r1 * yy + r2 * yz, r0 * xz + r1 * yz + r2 * zz
    t10, t11, t12 = r3 * xx + r4 * xy + r5 * xz, r3 * xy + r4 * yy + r5 * yz, r3 * xz + r4 * yz + r5 * zz
    t20, t21, t22 = r6 * xx + r7 * xy + r8 * xz, r6 * xy + r7 * yy + r8 * yz, r6 * xz + r7 * yz + r8 * zz
    return (
        t00 * r0 + t01 * r1 + t02 * r2, t10 * r3 + t11 * r4 + t12 * r5, t20 * r6 + t21 * r7 + t22 * r8,
        t00 * r3 + t01 * r4 + t02 * r5, t00 * r6 + t01 * r7 + t02 * r8, t10 * r6 + t11 * r7 + t12 * r8,
    )  # fmt: skip


@helper
def carry_inertia(t, i, o, a, b, c):
    """Return ``Ad(g)^-T M Ad(g)^-1``: a child's inertia at its parent, as blocks a, b, c."""
    a = rotate_symmetric(t, i, o, a)
    b = rotate_general(t, i, o, b)
    c = rotate_symmetric(t, i, o, c)
    x, y, z = t[i, o + 9], t[i, o + 10], t[i, o + 11]
    axx, ayy, azz, axy, axz, ayz = a
    b00, b01, b02, b10, b11, b12, b20, b21, b22 = b
    cxx, cyy, czz, cxy, cxz, cyz = c
    # d = b - a [r x] moves the wrench's reaction to the parent's angular motion
    d00, d01, d02 = b00 - (axy * z - axz * y), b01 - (axz * x - axx * z), b02 - (axx * y - axy * x)
    d10, d11, d12 = b10 - (ayy * z - ayz * y), b11 - (ayz * x - axy * z), b12 - (axy * y - ayy * x)
    d20, d21, d22 = b20 - (ayz * z - azz * y), b21 - (azz * x - axz * z), b22 - (axz * y - ayz * x)
    # c + [r x] d - b^T [r x], which is symmetric
    cxx += y * d20 - z * d10 - (b10 * z - b20 * y)
    cyy += z * d01 - x * d21 - (b21 * x - b01 * z)
    czz += x * d12 - y * d02 - (b02 * y - b12 * x)
    cxy += y * d21 - z * d11 - (b20 * x - b00 * z)
    cxz += y * d22 - z * d12 - (b00 * y - b10 * x)
    cyz += z * d02 - x * d22 - (b01 * y - b11 * x)
    return a, (d00, d01, d02, d10, d11, d12, d20, d21, d22), (cxx, cyy, czz, cxy, cxz, cyz)


@helper
def wrench_cross(x, w):
    """Return ``-ad(x)^T w``: the change of a wrench that turns along with the twist x."""
    return turned_wrench(x, w, (w[0], w[1], w[2]))


@helper
def turned_wrench(x, w, f):
    """Return ``-ad(x)^T w``, but for the moment of the force: f in place of it."""
    ax, ay, az = cross(x[3], x[4], x[5], w[0], w[1], w[2])
    bx, by, bz = cross(x[0], x[1], x[2], f[0], f[1], f[2])
    cx, cy, cz = cross(x[3], x[4], x[5], w[3], w[4], w[5])
    return ax, ay, az, bx + cx, by + cy, bz + cz


@helper
def carry_twist(t, i, o, x):
    """Return ``Ad(g) x``: a twist at the child as a twist at the parent; g at ``t[i, o:o+12]``."""
    wx, wy, wz = rotate(t, i, o, x[3], x[4], x[5])
    vx, vy, vz = rotate(t, i, o, x[0], x[1], x[2])
    cx, cy, cz = cross(t[i, o + 9], t[i, o + 10], t[i, o + 11], wx, wy, wz)
    return vx + cx, vy + cy, vz + cz, wx, wy, wz


@helper
def minus(x, y):
    """Return the difference of two dual vectors."""
    return x[0] - y[0], x[1] - y[1], x[2] - y[2], x[3] - y[3], x[4] - y[4], x[5] - y[5]


@helper
def scaled(s, x):
    """Return s x."""
    return s * x[0], s * x[1], s * x[2], s * x[3], s * x[4], s * x[5]


@helper
def column_of(t, o, n, j):
    """Return column j of the 6 x n matrix at ``t[0, o]``."""
    return t[0, o + j], t[0, o + n + j], t[0, o + 2 * n + j], t[0, o + 3 * n + j], t[0, o + 4 * n + j], t[0, o + 5 * n + j]


@helper
def unit(j):
    """Return the j-th column of the 6x6 identity."""
    return (
        1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0,
        1.0 if j == 3 else 0.0, 1.0 if j == 4 else 0.0, 1.0 if j == 5 else 0.0,
    )  # fmt: skip


@helper
def entry_of(x, r):
    return x[0] if r == 0 else (x[1] if r == 1 else (x[2] if r == 2 else (x[3] if r == 3 else (x[4] if r == 4 else x[5]))))


@helper
def full_times(t, i, o, x):
    """Return the product of the 6x6 matrix at ``t[i, o]`` and x."""
    return rows_times(t, i, o, 6, x)


@helper
def rows_times(t, i, o, size, x):
    """Return the product of x and six rows of six entries at ``t[i, o]``, `size` apart."""
    return (
        dot(six(t, i, o), x), dot(six(t, i, o + size), x), dot(six(t, i, o + 2 * size), x),
        dot(six(t, i, o + 3 * size), x), dot(six(t, i, o + 4 * size), x), dot(six(t, i, o + 5 * size), x),
    )  # fmt: skip


@helper
def ahead(x, rate):
    """Return a dual vector with a complex step along its `rate`."""
    return plus(x, scaled(1j * COMPLEX_STEP, rate))


@helper
def slope_of(x):
    """Return the derivative that a complex step has left in a dual vector."""
    return (
        x[0].imag / COMPLEX_STEP, x[1].imag / COMPLEX_STEP, x[2].imag / COMPLEX_STEP,
        x[3].imag / COMPLEX_STEP, x[4].imag / COMPLEX_STEP, x[5].imag / COMPLEX_STEP,
    )  # fmt: skip


@helper
def copy(vector, to):
    """Copy all numbers of a vector to another."""
    for k in range(vector.size):
        to[k] = vector[k]
