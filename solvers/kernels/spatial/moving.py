"""Moving between configurations: exponentials and logarithms of free and spherical joints, and their derivatives.

Twins of the methods of `titop.blocks.joints.quaternion_joints`.
"""

from __future__ import annotations

import math

import numpy as np

from titop.blocks.basics.angles import rotation_coefficients
from titop.blocks.laws.vectors import cross3, dot3
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import cross, transport, unit
from titop.solvers.kernels.spatial.rotations import coupling_times, log_rate, pose_log, quaternion_log, right_jacobian_times
from titop.solvers.native.kernel import helper

_START = np.int64(0)


@helper
def turns(kind):
    """Tell whether a joint's configuration holds a quaternion."""
    return kind == layout.SPHERICAL or kind == layout.FREE


@helper
def unit_quaternion(q, k):
    """Return the quaternion at ``q[k]`` divided by its norm."""
    x, y, z, w = q[k], q[k + 1], q[k + 2], q[k + 3]
    scale = 1.0 / math.sqrt(x * x + y * y + z * z + w * w)
    return scale * x, scale * y, scale * z, scale * w


@helper
def _product(a, b):
    x, y, z = cross(a[0], a[1], a[2], b[0], b[1], b[2])
    return (
        a[3] * b[0] + b[3] * a[0] + x,
        a[3] * b[1] + b[3] * a[1] + y,
        a[3] * b[2] + b[3] * a[2] + z,
        a[3] * b[3] - (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]),
    )


@helper
def _rotated(quaternion, r):
    """Return a vector turned by a unit quaternion."""
    axis = quaternion[0], quaternion[1], quaternion[2]
    t = cross3(axis, r)
    u, w = cross3(axis, t), quaternion[3]
    return r[0] + 2.0 * (w * t[0] + u[0]), r[1] + 2.0 * (w * t[1] + u[1]), r[2] + 2.0 * (w * t[2] + u[2])


@helper
def _exponential(phi):
    """Return the unit quaternion of a rotation vector."""
    s = 0.25 * dot3(phi, phi)
    a, b, _ = rotation_coefficients(s)
    return 0.5 * a * phi[0], 0.5 * a * phi[1], 0.5 * a * phi[2], 1.0 - s * b


@helper
def _shift(rho, phi):
    """Return the position of the exponential of a twist displacement."""
    _, b, c = rotation_coefficients(dot3(phi, phi))
    y = cross3(phi, rho)
    z = cross3(phi, y)
    return rho[0] + b * y[0] + c * z[0], rho[1] + b * y[1] + c * z[1], rho[2] + b * y[2] + c * z[2]


@helper
def integrate_group(ints, i, q, dq, result):
    """Write what element i's free or spherical joint reaches from q along dq."""
    k, j = ints[i, layout.Q], ints[i, layout.V]
    if ints[i, layout.KIND] == layout.FREE:
        phi = dq[j + 3], dq[j + 4], dq[j + 5]
        start = unit_quaternion(q, k + 3)
        x, y, z = _rotated(start, _shift((dq[j], dq[j + 1], dq[j + 2]), phi))
        result[k], result[k + 1], result[k + 2] = q[k] + x, q[k + 1] + y, q[k + 2] + z
        k += 3
    else:
        phi, start = (dq[j], dq[j + 1], dq[j + 2]), unit_quaternion(q, k)
    result[k], result[k + 1], result[k + 2], result[k + 3] = _product(start, _exponential(phi))


@helper
def difference_of_group(ints, i, q0, q1):
    """Return the displacement of element i's free or spherical joint from q0 to q1 (6)."""
    k = ints[i, layout.Q] + (3 if ints[i, layout.KIND] == layout.FREE else 0)
    x, y, z, w = unit_quaternion(q0, k)
    back = -x, -y, -z, w
    turn = _product(back, unit_quaternion(q1, k))
    phi = quaternion_log(turn[0], turn[1], turn[2], turn[3])
    if ints[i, layout.KIND] == layout.SPHERICAL:
        return 0.0, 0.0, 0.0, phi[0], phi[1], phi[2]
    return pose_log(_rotated(back, (q1[k - 3] - q0[k - 3], q1[k - 2] - q0[k - 2], q1[k - 1] - q0[k - 1])), phi)


@helper
def write_steps(ints, i, dq, pose, by_q, by_step):
    """Write how `integrate_group` moves its result with q, and with dq; `pose` (1, 12) is room."""
    j, n = ints[i, layout.V], 6 if ints[i, layout.KIND] == layout.FREE else 3
    o = j - (6 - n)
    rho = (dq[o], dq[o + 1], dq[o + 2]) if n == 6 else (0.0, 0.0, 0.0)
    phi = dq[o + 3], dq[o + 4], dq[o + 5]
    quaternion = _exponential(phi)
    for c in range(3):
        e = unit(c)
        column = _rotated(quaternion, (e[0], e[1], e[2]))
        for r in range(3):
            pose[0, 3 * r + c] = column[r]
    pose[0, 9], pose[0, 10], pose[0, 11] = _shift(rho, phi)
    for c in range(6 - n, 6):
        e = unit(c)
        carried = transport(pose, 0, _START, e)
        linear, angular = (e[0], e[1], e[2]), (e[3], e[4], e[5])
        turned, pushed = right_jacobian_times(phi, angular), right_jacobian_times(phi, linear)
        coupled = coupling_times(rho, phi, angular)
        for r in range(6 - n, 6):
            by_q[o + r, o + c] = carried[r]
            by_step[o + r, o + c] = turned[r - 3] if r > 2 else pushed[r] + coupled[r]


@helper
def write_difference_slopes(ints, i, delta, sign, slopes):
    """Write the inverse of the right Jacobian at `sign` times the displacement `delta`, times `sign`."""
    j, n = ints[i, layout.V], 6 if ints[i, layout.KIND] == layout.FREE else 3
    o = j - (6 - n)
    rho = sign * delta[0], sign * delta[1], sign * delta[2]
    phi = sign * delta[3], sign * delta[4], sign * delta[5]
    for c in range(6 - n, 6):
        e = unit(c)
        turned, pushed = log_rate(phi, (e[3], e[4], e[5])), log_rate(phi, (e[0], e[1], e[2]))
        coupled = log_rate(phi, coupling_times(rho, phi, turned))
        for r in range(6 - n, 6):
            slopes[o + r, o + c] = sign * (turned[r - 3] if r > 2 else pushed[r] - coupled[r])
