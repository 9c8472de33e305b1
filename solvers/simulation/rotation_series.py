"""Time derivatives of rotations and poses as those of twists: from matrices, quaternions and Euler angles as functions of time.

Arrays of Taylor coefficients, derivatives over factorials, have the orders along their first axis, times along the second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, matrix_quaternion, rotation_exp, skew
from titop.blocks.basics.tolerances import TINY, TYPED

_FORMS = "a rotation matrix (3x3), a unit quaternion (x, y, z, w) or Euler angles (3, rad)"


def rotation_coefficients(where: str, c: Array, sequence: str) -> Array:
    """Return the coefficients (orders, n, 3, 3) of rotation matrices.

    Parameters
    ----------
    where : str
        What messages call the rotation.
    c : (orders, n, ...) array
        Coefficients of rotation matrices (3x3), quaternions (x, y, z, w) or Euler angles (3, rad).
    sequence : str
        Axes of the Euler angles.

    Raises
    ------
    ModelError
        If they are none of these, or turn into what is no rotation later on.
    """
    match c.shape[2:]:
        case (3, 3):
            rotation = c
        case (4,):
            return _of_quaternion(where, c)
        case (3,):
            rotation = _of_euler_angles(c, sequence)
        case shape:
            raise ModelError(Finding("wrong-shape", where, f"shape {shape}", _FORMS, "return one of these at each time"))
    _check_rotation(where, rotation)
    return rotation


def quaternions(c: Array, rotation: Array) -> Array:
    """Return the quaternions (n, 4) at the times themselves: as they were given, else of the rotation matrices."""
    if c.shape[2:] == (4,):
        return np.asarray(c[0] / np.linalg.norm(c[0], axis=-1, keepdims=True))
    return np.array([matrix_quaternion(matrix) for matrix in rotation[0]])


def angular_velocity(rotation: Array) -> Array:
    """Return the angular velocity (orders - 1, n, 3) in the turning frame, of ``R^T dR/dt = skew(w)``."""
    spin = _product(np.matmul, np.swapaxes(rotation, -1, -2)[:-1], _rate(rotation))
    w = np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], axis=-1)
    return (w - np.stack([spin[..., 1, 2], spin[..., 2, 0], spin[..., 0, 1]], axis=-1)) / 2


def body_velocity(rotation: Array, position: Array) -> Array:
    """Return the velocity ``R^T dp/dt`` (orders - 1, n, 3) of the frame's origin in its own axes."""
    return _product(_times, np.swapaxes(rotation, -1, -2)[:-1], _rate(position))


def _of_euler_angles(c: Array, sequence: str) -> Array:
    first, second, third = (_elementary("XYZ".index(axis), c[..., k]) for k, axis in enumerate(sequence))
    return _product(np.matmul, _product(np.matmul, first, second), third)


def _elementary(axis: int, angle: Array) -> Array:
    """Return the rotation about a coordinate axis, by ``dR/dt = d(angle)/dt R skew(axis)``."""
    e = np.eye(3)[axis]
    rotation = np.zeros((*angle.shape, 3, 3))
    rotation[0] = [rotation_exp(x * e) for x in angle[0]]
    for k in range(1, len(angle)):
        turned = sum(j * angle[j, :, None, None] * rotation[k - j] for j in range(1, k + 1))
        rotation[k] = turned @ skew(e) / k
    return rotation


def _of_quaternion(where: str, c: Array) -> Array:
    squared = _product(lambda a, b: (a * b).sum(axis=-1), c, c)
    norms = np.sqrt(squared[0])
    worst = int(np.argmax(np.abs(norms - 1)))
    if not abs(norms[worst] - 1) <= TYPED:
        found, advice = f"norm {norms[worst]:.9g}", "divide it by its norm, or give Euler angles"
        raise ModelError(Finding("not-unit", where, found, "a unit quaternion (x, y, z, w)", advice))
    x, y, z, w = np.moveaxis(c, -1, 0)

    def twice(a: Array, b: Array) -> Array:
        return 2 * _product(np.multiply, a, b)

    xx, yy, zz = twice(x, x), twice(y, y), twice(z, z)
    turning = [
        [squared - yy - zz, twice(x, y) - twice(z, w), twice(x, z) + twice(y, w)],
        [twice(x, y) + twice(z, w), squared - xx - zz, twice(y, z) - twice(x, w)],
        [twice(x, z) - twice(y, w), twice(y, z) + twice(x, w), squared - xx - yy],
    ]
    return _quotient(np.moveaxis(np.array(turning), (0, 1), (-2, -1)), squared[..., None, None])


def _check_rotation(where: str, rotation: Array) -> None:
    """Refuse matrices that are not, or do not stay, orthogonal: at each order of ``R^T R = 1``."""
    product = _product(np.matmul, np.swapaxes(rotation, -1, -2), rotation)
    product[0] -= np.eye(3)
    size = np.abs(rotation).max(axis=(-2, -1))
    error = np.abs(product).max(axis=(-2, -1)) / np.maximum(_product(np.multiply, size, size), TINY)
    worst = error.max(axis=1)
    if (worst > TYPED).any():
        order = int(np.argmax(worst > TYPED))
        which = "R^T R - 1" if order == 0 else f"derivative {order} of R^T R"
        advice = "return an orthogonal matrix at all times; entries interpolated one by one are none between the samples"
        found = f"{which} of relative size {worst[order]:.1e}"
        raise ModelError(Finding("not-orthogonal", where, found, "a rotation matrix", advice))
    if (np.linalg.det(rotation[0]) < 0).any():
        raise ModelError(Finding("left-handed", where, "determinant -1", "determinant +1", "swap or negate one axis"))


def _rate(c: Array) -> Array:
    """Return the coefficients of the time derivative, one fewer."""
    orders = np.arange(1, len(c))
    return c[1:] * orders.reshape(-1, *[1] * (c.ndim - 1))


def _product(times: Callable[[Any, Any], Array], a: Array, b: Array) -> Array:
    """Return the coefficients of a product."""
    return np.array([sum(times(a[j], b[k - j]) for j in range(k + 1)) for k in range(len(a))])


def _quotient(a: Array, b: Array) -> Array:
    """Return the coefficients of a quotient."""
    result = np.empty_like(a)
    for k in range(len(a)):
        result[k] = (a[k] - sum(b[j] * result[k - j] for j in range(1, k + 1))) / b[0]
    return result


def _times(matrix: Array, vector: Array) -> Array:
    return np.einsum("nij,nj->ni", matrix, vector)
