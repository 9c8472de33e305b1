"""What springs of joints do: displacements, efforts and their slopes, of plain coordinates and of rotations and poses.

A spring's displacement delta is ``difference(rest, q)``; its efforts are ``-J^T K delta``, with delta's rate ``J v``: J is the
identity, or the inverse of the right Jacobian of SO(3) or SE(3) at delta.
"""

from __future__ import annotations

from titop.blocks.basics.spatial import coupling_coefficients, rotation_coefficients
from titop.blocks.laws.vectors import cross3
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import ahead, cross, dot, six, slope_of, three, unit
from titop.solvers.kernels.spatial.rotations import coupling_times, log_rate, log_rate_transposed, pose_log, quaternion_log
from titop.solvers.native.kernel import helper


@helper
def displacement(ints, floats, row, q):
    """Return delta of the spring at `row`, with zeros up to six entries."""
    k, kind = ints[row, layout.Q], ints[row, layout.KIND]
    if kind == layout.SPHERICAL:
        x, y, z = _turn(floats, row, layout.REST, q, k)
        return x, y, z, 0.0, 0.0, 0.0
    if kind == layout.FREE:
        phi = _turn(floats, row, layout.REST + 3, q, k + 3)
        return pose_log(_seen_from_rest(floats, row, q, k), phi)
    n = ints[row, layout.SIZE]
    y = q[k + 1] - floats[row, layout.REST + 1] if n > 1 else 0.0
    z = q[k + 2] - floats[row, layout.REST + 2] if n > 2 else 0.0
    return q[k] - floats[row, layout.REST], y, z, 0.0, 0.0, 0.0


@helper
def pull_of(ints, floats, row, delta):
    """Return ``J^T K delta`` (6) of the spring at `row`."""
    n, kind = ints[row, layout.SIZE], ints[row, layout.KIND]
    pull = (
        stiffness_times(floats, row, 0, n, delta),
        stiffness_times(floats, row, 1, n, delta),
        stiffness_times(floats, row, 2, n, delta),
        stiffness_times(floats, row, 3, n, delta),
        stiffness_times(floats, row, 4, n, delta),
        stiffness_times(floats, row, 5, n, delta),
    )
    if kind == layout.SPHERICAL:
        x, y, z = log_rate_transposed((delta[0], delta[1], delta[2]), (pull[0], pull[1], pull[2]))
        nothing = 0.0 * x
        return x, y, z, nothing, nothing, nothing
    if kind == layout.FREE:
        return _pulled_back(delta, pull)
    return pull


@helper
def pull_slopes(ints, floats, row, delta, j):
    """Return the derivatives of `pull_of` (6) along the spring's coordinate j: for rotations and poses by a complex step."""
    kind = ints[row, layout.KIND]
    if kind == layout.AXIAL:
        n = ints[row, layout.SIZE]
        y = floats[row + 1, layout.STIFFNESS + j] if n > 1 else 0.0
        z = floats[row + 2, layout.STIFFNESS + j] if n > 2 else 0.0
        return floats[row, layout.STIFFNESS + j], y, z, 0.0, 0.0, 0.0
    return slope_of(pull_of(ints, floats, row, ahead(delta, _rate(kind, delta, unit(j)))))


@helper
def stiffness_times(floats, row, i, n, delta):
    """Return row i of ``K delta``, zero beyond the spring's n rows."""
    return dot(six(floats, row + i, layout.STIFFNESS), delta) if i < n else 0.0 * delta[0]


@helper
def _rate(kind, delta, v):
    """Return ``J v`` of a rotation or a pose."""
    if kind == layout.SPHERICAL:
        x, y, z = log_rate((delta[0], delta[1], delta[2]), (v[0], v[1], v[2]))
        return x, y, z, 0.0, 0.0, 0.0
    phi = delta[3], delta[4], delta[5]
    turning = log_rate(phi, (v[3], v[4], v[5]))
    coupled = coupling_times((delta[0], delta[1], delta[2]), phi, turning)
    x, y, z = log_rate(phi, (v[0] - coupled[0], v[1] - coupled[1], v[2] - coupled[2]))
    return x, y, z, turning[0], turning[1], turning[2]


@helper
def _pulled_back(delta, f):
    """Return ``J^-T f``, J the right Jacobian of SE(3) at delta.

    With j SO(3)'s right Jacobian and c the coupling, ``J^-1 = [[j^-1, -j^-1 c j^-1], [0, j^-1]]``.
    """
    phi = delta[3], delta[4], delta[5]
    force = log_rate_transposed(phi, (f[0], f[1], f[2]))
    coupled = _coupling_transposed((delta[0], delta[1], delta[2]), phi, force)
    torque = log_rate_transposed(phi, (f[3] - coupled[0], f[4] - coupled[1], f[5] - coupled[2]))
    return force[0], force[1], force[2], torque[0], torque[1], torque[2]


@helper
def _coupling_transposed(rho, phi, f):
    """Return ``c^T f`` for the coupling c of `titop.blocks.basics.spatial`: words in the cross products with phi and rho."""
    s = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    _, _, c1 = rotation_coefficients(s)
    c2, c3 = coupling_coefficients(s)
    x, p = cross3(rho, f), cross3(phi, f)
    xp, px, pp = cross3(rho, p), cross3(phi, x), cross3(phi, p)
    pxp, xpp, ppx = cross3(phi, xp), cross3(rho, pp), cross3(phi, px)
    pxpp, ppxp = cross3(phi, xpp), cross3(phi, pxp)
    return (
        0.5 * x[0] + c1 * (xp[0] + px[0] + pxp[0]) + c2 * (xpp[0] + ppx[0] - 3.0 * pxp[0]) + c3 * (ppxp[0] + pxpp[0]),
        0.5 * x[1] + c1 * (xp[1] + px[1] + pxp[1]) + c2 * (xpp[1] + ppx[1] - 3.0 * pxp[1]) + c3 * (ppxp[1] + pxpp[1]),
        0.5 * x[2] + c1 * (xp[2] + px[2] + pxp[2]) + c2 * (xpp[2] + ppx[2] - 3.0 * pxp[2]) + c3 * (ppxp[2] + pxpp[2]),
    )


@helper
def _seen_from_rest(floats, row, q, k):
    """Return the position at ``q[k]`` in the frame of a free joint's rest configuration."""
    rx, ry, rz = three(floats, row, layout.REST)
    dx, dy, dz = q[k] - rx, q[k + 1] - ry, q[k + 2] - rz
    ax, ay, az = three(floats, row, layout.REST + 3)
    x, y, z, w = -ax, -ay, -az, floats[row, layout.REST + 6]
    tx, ty, tz = cross(x, y, z, dx, dy, dz)
    ux, uy, uz = cross(x, y, z, tx, ty, tz)
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return dx + s * (w * tx + ux), dy + s * (w * ty + uy), dz + s * (w * tz + uz)


@helper
def _turn(floats, row, o, q, k):
    """Return the rotation vector from the rest quaternion at ``floats[row, o]`` to the one at ``q[k]``."""
    ax, ay, az, aw = -floats[row, o], -floats[row, o + 1], -floats[row, o + 2], floats[row, o + 3]
    bx, by, bz, bw = q[k], q[k + 1], q[k + 2], q[k + 3]
    cx, cy, cz = cross(ax, ay, az, bx, by, bz)
    x, y, z = aw * bx + bw * ax + cx, aw * by + bw * ay + cy, aw * bz + bw * az + cz
    w = aw * bw - ax * bx - ay * by - az * bz
    return quaternion_log(x, y, z, w)
