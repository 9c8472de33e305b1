"""Spatial algebra: rotations, quaternions, rigid transforms, twists and wrenches.

Dual vectors are linear first: twist ``V = [v; w]``, wrench ``W = [F; T]``. A pose ``g = (R, r)`` of frame
``c`` in frame ``p`` maps components in ``c`` to components in ``p``; ``Ad(g)`` transports twists from ``c`` to ``p``.

Every function accepts complex arguments (no conjugate, absolute value or atan2 on the way), so that complex-step
derivatives of anything built on them are exact. Kernels call the functions of the angle as they are written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from titop.blocks.basics.choices import everywhere, select

#: Real, or complex in complex-step derivatives.
Array = NDArray[Any]

#: Of the arc tangent by its argument, in powers of the square of that.
_ARCTANGENT = (1.0, -1 / 3, 1 / 5, -1 / 7, 1 / 9, -1 / 11, 1 / 13, -1 / 15, 1 / 17, -1 / 19, 1 / 21, -1 / 23, 1 / 25)

_ZERO = np.zeros((3, 3))
#: For each axis the following one, and the one after it.
_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])

#: Entry by entry of arrays of number objects.
_BELOW, _SELECT = np.frompyfunc(lambda x, limit: x.real < limit, 2, 1), np.frompyfunc(select, 3, 1)


def replace_entry(array: Array, index: Any, value: Any) -> Array:
    """Return a copy of an array with one entry replaced; it is complex if the value is."""
    copied = array.astype(np.result_type(array.dtype, type(value)))
    copied[index] = value
    return copied


def _series(coefficients: tuple[float, ...], s: Any) -> Any:
    """Return the polynomial in s with the given coefficients, lowest first."""
    total = 0.0
    for coefficient in reversed(coefficients):
        total = total * s + coefficient
    return total


def skew(a: ArrayLike) -> Array:
    """Return the 3x3 matrix of the cross product, ``skew(a) @ b = a x b``."""
    x, y, z = np.asarray(a).tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def cross(a: Array, b: Array) -> Array:
    """Return the cross products of vectors (..., 3): those of ``np.cross``, in a fourth of its time for few."""
    return a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT]


def axis_rotation(axis: Array, angle: Any) -> Array:
    """Return the rotation matrix of a turn by an angle (rad) about a unit vector (3): without branches."""
    (x, y, z), c, s = axis.tolist(), np.cos(angle), np.sin(angle)
    rest = 1.0 - c
    return np.array(
        [
            [x * x + c * (1.0 - x * x), rest * (x * y) - s * z, rest * (x * z) + s * y],
            [rest * (x * y) + s * z, y * y + c * (1.0 - y * y), rest * (y * z) - s * x],
            [rest * (x * z) - s * y, rest * (y * z) + s * x, z * z + c * (1.0 - z * z)],
        ]
    )


def rotation_exp(phi: ArrayLike) -> Array:
    """Return the rotation matrix of the rotation vector `phi` (3, rad)."""
    x, y, z = np.asarray(phi).tolist()
    a, b, _ = rotation_coefficients(x * x + y * y + z * z)
    return _rodrigues(x, y, z, a, b)


def _rodrigues(x: Any, y: Any, z: Any, a: Any, b: Any) -> Array:
    """Return ``I + a k + b k^2`` with ``k = skew([x, y, z])``."""
    ax, ay, az, bx, by, bz = a * x, a * y, a * z, b * x, b * y, b * z
    return np.array(
        [
            [1.0 - by * y - bz * z, bx * y - az, bx * z + ay],
            [bx * y + az, 1.0 - bx * x - bz * z, by * z - ax],
            [bx * z - ay, by * z + ax, 1.0 - bx * x - by * y],
        ]
    )


def quaternion_exp(phi: ArrayLike) -> Array:
    """Return the unit quaternion (x, y, z, w) of the rotation vector `phi` (3, rad)."""
    x, y, z = np.asarray(phi).tolist()
    s = (x * x + y * y + z * z) / 4
    a, b, _ = rotation_coefficients(s)
    return np.array([0.5 * a * x, 0.5 * a * y, 0.5 * a * z, 1 - s * b])


def quaternion_log(q: ArrayLike) -> Array:
    """Return the rotation vector (3, rad) of the unit quaternion `q`, with an angle of at most pi."""
    entries: Array = np.asarray(q)
    entries = select(entries[3].real >= 0.0, entries, -entries)
    vector, w = entries[:3], entries[3]
    s = vector @ vector
    small = s.real < SMALL * (w * w).real
    root = select(small, w, 0.0 * w + 1.0)
    near = 2 / root * _series(_ARCTANGENT, s / (root * root))
    if everywhere(small):
        return near * vector
    sine = np.sqrt(select(small, 0.0 * s + 1.0, s))
    acute = sine.real < w.real
    turn = 2 * np.arctan(select(acute, sine, w) / select(acute, w, sine))
    result: Array = select(small, near, select(acute, turn, np.pi - turn) / sine) * vector
    return result


def quaternion_product(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the quaternion of the rotation ``R(a) R(b)``."""
    (x, y, z, w), (i, j, k, r) = np.asarray(a).tolist(), np.asarray(b).tolist()
    return np.array(
        [
            w * i + r * x + (y * k - z * j),
            w * j + r * y + (z * i - x * k),
            w * k + r * z + (x * j - y * i),
            w * r - (x * i + y * j + z * k),
        ]
    )


def quaternion_conjugate(q: ArrayLike) -> Array:
    """Return the quaternion of the inverse rotation."""
    return np.asarray(q) * np.array([-1.0, -1.0, -1.0, 1.0])


def quaternion_matrix(q: ArrayLike) -> Array:
    """Return the rotation matrix of the unit quaternion `q`."""
    x, y, z, w = np.asarray(q).tolist()
    return _rodrigues(x, y, z, 2 * w, 2)


def matrix_quaternion(matrix: ArrayLike) -> Array:
    """Return the unit quaternion of a rotation matrix (Shepperd's method)."""
    m = np.asarray(matrix)
    trace = np.trace(m)
    sizes = np.array([m[0, 0], m[1, 1], m[2, 2], trace])
    if m.dtype != object:
        q = _quaternion_about(m, trace, int(np.argmax(sizes.real)))
        return q / np.sqrt(q @ q)
    q, largest = _quaternion_about(m, trace, 0), sizes[0]
    for pivot in range(1, 4):
        larger = sizes[pivot].real > largest.real
        q, largest = select(larger, _quaternion_about(m, trace, pivot), q), select(larger, sizes[pivot], largest)
    return q / np.sqrt(q @ q)


def _quaternion_about(m: Array, trace: Any, pivot: int) -> Array:
    """Return four times the largest entry of a matrix's quaternion, the one of the `pivot`, times the quaternion."""
    q = np.empty(4, dtype=m.dtype)
    if pivot == 3:
        q[:] = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], 1 + trace
    else:
        i, j, k = pivot, (pivot + 1) % 3, (pivot + 2) % 3
        q[i] = 1 - trace + 2 * m[i, i]
        q[j] = m[j, i] + m[i, j]
        q[k] = m[k, i] + m[i, k]
        q[3] = m[k, j] - m[j, k]
    return q


def rotation_log(matrix: ArrayLike) -> Array:
    """Return the rotation vector (3, rad) of a rotation matrix."""
    return quaternion_log(matrix_quaternion(matrix))


def pose_exp(xi: ArrayLike) -> tuple[Array, Array]:
    """Return the pose ``exp(xi)`` of a twist displacement ``xi = [rho; phi]``."""
    xi = np.asarray(xi)
    rho, phi = xi[:3], xi[3:]
    _, b, c = rotation_coefficients(phi @ phi)
    k = skew(phi)
    return rotation_exp(phi), rho + b * k @ rho + c * k @ (k @ rho)


def log_jacobian(phi: ArrayLike) -> Array:
    """Return ``d log(R)/d(w)`` for ``dR = R skew(w)``: the inverse of SO(3)'s right Jacobian."""
    phi = np.asarray(phi)
    k = skew(phi)
    return np.eye(3) + 0.5 * k + half_cotangent(phi @ phi) * k @ k


def right_jacobian(phi: ArrayLike) -> Array:
    """Return SO(3)'s right Jacobian J at a rotation vector: ``exp(phi)^T d exp(phi) = skew(J dphi)``."""
    phi = np.asarray(phi)
    _, b, c = rotation_coefficients(phi @ phi)
    k = skew(phi)
    return np.eye(3) - b * k + c * k @ k


def right_jacobian_rate(phi: ArrayLike, rate: ArrayLike) -> Array:
    """Return ``(dJ/dt) dphi/dt`` (3) of the right Jacobian, with `rate` the constant rate of the rotation vector `phi`."""
    phi, rate = np.asarray(phi), np.asarray(rate)
    s = phi @ phi
    _, b, c = rotation_coefficients(s)
    db, dc = coefficient_slopes(s, b, c)
    change = 2 * (phi @ rate)
    k, turned = skew(phi), skew(phi) @ rate
    return -db * change * turned + dc * change * k @ turned + c * skew(rate) @ turned


def log_jacobian_rate(phi: ArrayLike, phi_rate: ArrayLike) -> Array:
    """Return the rate of `log_jacobian` when the rotation vector `phi` changes at `phi_rate`."""
    phi, phi_rate = np.asarray(phi), np.asarray(phi_rate)
    k, k_rate, s = skew(phi), skew(phi_rate), phi @ phi
    along = 2 * (phi @ phi_rate) * half_cotangent_slope(s)
    return 0.5 * k_rate + half_cotangent(s) * (k_rate @ k + k @ k_rate) + along * k @ k


def pose_log(rotation_vector: ArrayLike, position: ArrayLike) -> Array:
    """Return ``xi = [rho; phi]`` with ``exp(xi)`` the pose of the given rotation vector and position."""
    phi, r = np.asarray(rotation_vector), np.asarray(position)
    k = skew(phi)
    rho = r - 0.5 * k @ r + half_cotangent(phi @ phi) * k @ (k @ r)
    return np.concatenate([rho, phi])


def pose_log_jacobian(xi: ArrayLike) -> Array:
    """Return ``d log(g)/d(V)`` for ``dg = g V``: the inverse of SE(3)'s right Jacobian (6x6)."""
    xi = np.asarray(xi)
    inverse = log_jacobian(xi[3:])
    coupling = _right_jacobian_coupling(xi[:3], xi[3:])
    return _assembled(inverse, -inverse @ coupling @ inverse, _ZERO, inverse)


def pose_right_jacobian(xi: ArrayLike) -> Array:
    """Return SE(3)'s right Jacobian J (6x6) at a displacement: ``exp(xi)^-1 d exp(xi)`` is the twist ``J dxi``."""
    xi = np.asarray(xi)
    turning = right_jacobian(xi[3:])
    return _assembled(turning, _right_jacobian_coupling(xi[:3], xi[3:]), _ZERO, turning)


def _right_jacobian_coupling(rho: Array, phi: Array) -> Array:
    """Return the off-diagonal block of SE(3)'s right Jacobian (Barfoot, State Estimation, eq. 8.91, at -xi).

    Its products of skew matrices P and X of vectors p and x, ``P X P = -(p.x) P`` and ``P P X + X P P = -(p.p) X - (p.x) P``
    among them, are written as one skew matrix and a symmetric one.
    """
    s, d = phi @ phi, phi @ rho
    (_, _, c1), (c2, c3) = rotation_coefficients(s), coupling_coefficients(s)
    both = rho[:, None] * (c1 * phi)
    symmetric = both + both.T - phi[:, None] * (2 * c3 * d * phi) + 2 * d * (c3 * s - c1) * np.eye(3)
    return symmetric - skew((0.5 - c2 * s) * rho + (2 * c2 - c1) * d * phi)


def below(numbers: Array, limit: float) -> Array:
    """Return which numbers are below a limit, by their real parts."""
    return numbers.real < limit if numbers.dtype != object else _BELOW(numbers, limit)


def where(chosen: Array, x: Array, y: Array) -> Array:
    """Return ``np.where(chosen, x, y)``, also of truths that are not known yet (dtype object)."""
    return np.where(chosen, x, y) if chosen.dtype != object else _SELECT(chosen, x, y)


def entrywise(function: Callable[[Any], Any], numbers: Array) -> Array:
    """Return a function of NumPy's of numbers, among which (dtype object) may be plain ones."""
    result: Array = function(numbers) if numbers.dtype != object else np.frompyfunc(function, 1, 1)(numbers)
    return result


def is_finite(numbers: Array) -> bool:
    """Tell whether all numbers are finite; those that are not known yet count as such."""
    return numbers.dtype == object or bool(np.isfinite(numbers).all())


def mirrored(matrix: Array) -> Array:
    """Return a symmetric matrix: of numbers that are not known yet the lower half is made the upper one, and not computed."""
    if matrix.dtype != object:
        return matrix
    upper = np.triu_indices(len(matrix), 1)
    matrix = matrix.copy()
    matrix.T[upper] = matrix[upper]
    return matrix


def solve(matrix: Array, right: Array) -> Array:
    """Return ``matrix^-1 right`` of a symmetric, positive definite matrix, also of number objects."""
    if matrix.dtype != object and right.dtype != object:
        return np.linalg.solve(matrix, right)
    lower, pivots = factored(matrix)
    x = np.array(right, dtype=object)
    for k in range(len(x)):
        x[k] = x[k] - lower[k, :k] @ x[:k]
    for k in reversed(range(len(x))):
        x[k] = x[k] * (1.0 / pivots[k]) - lower[k + 1 :, k] @ x[k + 1 :]
    return x


def factored(matrix: Array) -> tuple[Array, Array]:
    """Return L, with ones on its diagonal, and the pivots D (n) of a symmetric matrix ``L D L^T`` (dtype object)."""
    left, count = np.array(matrix, dtype=object), len(matrix)
    lower = np.eye(count).astype(object)
    for k in range(count):
        inverse = 1.0 / left[k, k]
        for i in range(k + 1, count):
            lower[i, k] = left[k, i] * inverse
            left[i, i:] = left[i, i:] - lower[i, k] * left[k, i:]
    return lower, np.diag(left)


def _assembled(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Return the 6x6 matrix ``[[a, b], [c, d]]``."""
    matrix = np.empty((6, 6), dtype=np.result_type(a, b, c, d))
    matrix[:3, :3], matrix[:3, 3:], matrix[3:, :3], matrix[3:, 3:] = a, b, c, d
    return matrix


def twist_transport(rotation: Array, position: Array) -> Array:
    """Return ``Ad(g)^-1``: a twist at frame ``p`` in components of ``p`` becomes one at ``c`` in components of ``c``."""
    rt = rotation.T
    return _assembled(rt, -rt @ skew(position), _ZERO, rt)


def twist_cross(twist: Array) -> Array:
    """Return ``ad(V)``: the 6x6 matrix of the twist cross product."""
    w = skew(twist[3:])
    return _assembled(w, skew(twist[:3]), _ZERO, w)


def gyroscopic_wrench(inertia: Array, motion: Array) -> Array:
    """Return ``-ad(V)^T p`` (6; N, N m), p the momentum of `inertia` (6, 6 + n) in a `motion` (6 + n) that begins with V.

    The moment has ``v x (A v)``, A the inertia's first 3x3 block. Written as ``v x (A - A_xx 1) v`` it is exactly zero where
    masses have no direction, at whatever speed; what a mass that has one adds (Munk's moment of added masses) stays.
    """
    v, w = motion[:3], motion[3:6]
    momentum = inertia @ motion
    linear = (inertia[:3, :3] - inertia[0, 0] * np.eye(3)) @ v + inertia[:3, 3:] @ motion[3:]
    return np.concatenate([cross(w, momentum[:3]), cross(w, momentum[3:]) + cross(v, linear)])


def rigid_inertia(mass: float, com: Array, inertia: Array) -> Array:
    """Return the 6x6 inertia at the origin of the frame (key A, eq. 11).

    `com` (3, m) is the centre of mass and `inertia` (3x3, kg m^2) the inertia about it, both in the frame.
    """
    c = skew(com)
    return _assembled(mass * np.eye(3), -mass * c, mass * c, inertia - mass * c @ c)


# -- functions of the angle that rotation vectors ask for, from its square: series where closed forms lose digits --------------


#: Below this squared angle closed forms cancel, and the series are exact to rounding.
SMALL = 0.1


def rotation_coefficients(s: Any) -> tuple[Any, Any, Any]:
    """Return ``sin(t)/t``, ``(1 - cos t)/t^2`` and ``(t - sin t)/t^3`` from ``s = t^2``."""
    small = s.real < SMALL
    a = 1.0 - s * (1 / 6 - s * (1 / 120 - s * (1 / 5040 - s * (1 / 362880 - s / 39916800))))
    b = 1 / 2 - s * (1 / 24 - s * (1 / 720 - s * (1 / 40320 - s * (1 / 3628800 - s / 479001600))))
    c = 1 / 6 - s * (1 / 120 - s * (1 / 5040 - s * (1 / 362880 - s * (1 / 39916800 - s / 6227020800))))
    if everywhere(small):
        return a, b, c
    s = select(small, 0.0 * s + 1.0, s)  # where the series hold, the closed forms have derivatives too
    t = np.sqrt(s)
    far = np.sin(t) / t, (1.0 - np.cos(t)) / s, (t - np.sin(t)) / (s * t)
    return select(small, a, far[0]), select(small, b, far[1]), select(small, c, far[2])


def coefficient_slopes(s: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Return the derivatives of the last two `rotation_coefficients` b and c by s."""
    small = s.real < SMALL
    db = -1 / 24 + s * (1 / 360 - s * (1 / 13440 - s * (1 / 907200 - s * (1 / 95800320 - s / 14529715200))))
    dc = -1 / 120 + s * (1 / 2520 - s * (1 / 120960 - s * (1 / 9979200 - s * (1 / 1245404160 - s / 217945728000))))
    if everywhere(small):
        return db, dc
    s = select(small, 0.0 * s + 1.0, s)
    far = (0.5 * (1.0 - c * s) - b) / s, (b - 3.0 * c) / (2.0 * s)
    return select(small, db, far[0]), select(small, dc, far[1])


def coupling_coefficients(s: Any) -> tuple[Any, Any]:
    """Return ``(t^2 + 2 cos t - 2)/(2 t^4)`` and ``(2 t - 3 sin t + t cos t)/(2 t^5)``: of SE(3)'s Jacobian."""
    small = s.real < SMALL
    c2 = 1 / 24 - s * (1 / 720 - s * (1 / 40320 - s * (1 / 3628800 - s / 479001600)))
    c3 = 1 / 120 - s * (1 / 2520 - s * (1 / 120960 - s * (1 / 9979200 - s / 1245404160)))
    if everywhere(small):
        return c2, c3
    s = select(small, 0.0 * s + 1.0, s)
    t = np.sqrt(s)
    far = (s + 2 * np.cos(t) - 2) / (2 * s * s), (2 * t - 3 * np.sin(t) + t * np.cos(t)) / (2 * s * s * t)
    return select(small, c2, far[0]), select(small, c3, far[1])


def half_cotangent(s: Any) -> Any:
    """Return ``1/t^2 - cot(t/2)/(2 t)`` from ``s = t^2``."""
    small = s.real < SMALL
    near = 1 / 12 + s * (1 / 720 + s * (1 / 30240 + s * (1 / 1209600 + s * (1 / 47900160 + s * 691 / 1307674368000))))
    if everywhere(small):
        return near
    s = select(small, 0.0 * s + 1.0, s)
    t = np.sqrt(s)
    return select(small, near, 1.0 / s - np.cos(0.5 * t) / (2.0 * t * np.sin(0.5 * t)))


def half_cotangent_slope(s: Any) -> Any:
    """Return the derivative of `half_cotangent` by s."""
    small = s.real < SMALL
    near = 1 / 720 + s * (2 / 30240 + s * (3 / 1209600 + s * (4 / 47900160 + s * 5 * 691 / 1307674368000)))
    if everywhere(small):
        return near
    s = select(small, 0.0 * s + 1.0, s)
    t = np.sqrt(s)
    sine = np.sin(0.5 * t)
    return select(small, near, -1.0 / (s * s) + np.cos(0.5 * t) / (4.0 * s * t * sine) + 1.0 / (8.0 * s * sine * sine))
