"""Time derivatives of any order: of functions of time, and of rotations and poses, as those of twists.

Functions are splines of scipy's, functions written with NumPy, and constants. Rotations are matrices, quaternions and Euler
angles; arrays of their Taylor coefficients, derivatives over factorials, have orders along their first axis, times along the
second.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, matrix_quaternion, rotation_exp, skew
from titop.blocks.basics.taylor import Taylor, derivatives_of
from titop.blocks.basics.tolerances import TINY, TYPED
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import read_array
from titop.solvers.motions.motion import check_knots

_FORMS = "a rotation matrix (3x3), a unit quaternion (x, y, z, w) or Euler angles (3, rad)"


def function_derivatives(where: str, function: Any, times: Array, order: int) -> Array:
    """Return the derivatives of a function of time, the value first (order + 1, n, ...), at times (n, s).

    `where`: what messages call it; `function`: a spline is differentiated; a function is called with a `Taylor` for the time;
    numbers stay what they are; `times` (n; s).
    """
    if hasattr(function, "derivative"):
        derivatives = _spline_derivatives(where, function, times, order)
    elif callable(function):
        check_function(where, function, "t")
        derivatives = np.stack([_taylor_derivatives(where, function, t, order) for t in times.tolist()], axis=1)
    else:
        derivatives = _constant_derivatives(where, function, len(times), order)
    if not np.isfinite(derivatives).all():
        at = times[np.argwhere(~np.isfinite(derivatives))[0][1]]
        advice = "derive it where it is smooth: roots and quotients are not at zero"
        raise ModelError(Finding("not-finite", where, f"NaN or infinity at t = {at:g}", "finite derivatives", advice))
    return derivatives


def _constant_derivatives(where: str, value: Any, count: int, order: int) -> Array:
    expected, advice = "a function of time, a scipy spline, or numbers that stay", "write lambda t: ... with NumPy's functions"
    numbers = read_array(Finding("wrong-type", where, value, expected, advice))
    derivatives = np.zeros((order + 1, count, *numbers.shape))
    derivatives[0] = numbers
    return derivatives


def _taylor_derivatives(where: str, function: Callable[[Any], Any], t: float, order: int) -> Array:
    """Return the derivatives (order + 1, ...) at t (s) of what a function makes of time and its own derivatives, 1, 0, ..."""
    now = np.zeros(order + 1)
    now[: 2 if order else 1] = [t, 1.0][: order + 1]
    expected = "a function of time written with NumPy operations"
    advice = "use np.sin, not math.sin; give what is tabulated as a scipy spline"
    try:
        value = np.asarray(function(Taylor(now)), dtype=object)
        return derivatives_of(value, order)
    except (TypeError, ValueError, AttributeError) as error:
        if isinstance(error, AttributeError) and not isinstance(error.obj, Taylor):  # a mistake of another kind
            raise
        raise ModelError(Finding("not-a-series", where, str(error), expected, advice)) from error


def _spline_derivatives(where: str, spline: Any, times: Array, order: int) -> Array:
    check_knots(where, spline, (float(times.min()), float(times.max())))
    degree, is_one_polynomial = _spline_degree(spline)
    if degree < order and not is_one_polynomial:
        raise _low_degree(where, f"degree {degree:g}", order)
    slopes = [_spline_derivative(where, spline, times, k) for k in range(min(order, degree) + 1)]
    derivatives = np.zeros((order + 1, *slopes[0].shape))
    derivatives[: len(slopes)] = slopes
    return derivatives


def _spline_derivative(where: str, spline: Any, times: Array, order: int) -> Array:
    try:
        return np.asarray(spline(times, nu=order), dtype=float)
    except ValueError as error:
        raise _low_degree(where, f"no derivative {order}: {error}", order) from error
    except TypeError as error:
        expected, advice = "a spline f(t, nu) of scipy's, nu the order of a derivative", "use make_interp_spline, or a function"
        raise ModelError(Finding("wrong-type", where, spline, expected, advice)) from error


def _spline_degree(spline: Any) -> tuple[Any, bool]:
    """Return the degree of a spline of scipy's, infinity where it does not tell, and whether it has a single piece."""
    if hasattr(spline, "c") and hasattr(spline, "x"):
        return len(spline.c) - 1, len(spline.x) == 2
    if hasattr(spline, "k") and hasattr(spline, "t"):
        return spline.k, len(np.unique(spline.t[spline.k : len(spline.t) - spline.k])) == 2
    return math.inf, False


def _low_degree(where: str, value: str, order: int) -> ModelError:
    smooth = order + 1 + order % 2
    expected = f"a spline of degree {order} at least, whose derivatives up to that order exist"
    advice = (
        "beyond its degree they are zero within pieces, and jump between these: "
        f"use make_interp_spline(times, values, k={smooth}), or ask for a lower order"
    )
    return ModelError(Finding("low-degree", where, value, expected, advice))


def rotation_coefficients(where: str, c: Array, sequence: str) -> Array:
    """Return the coefficients (orders, n, 3, 3) of rotation matrices.

    `where`: what messages call the rotation; `c` (orders, n, ...): coefficients of rotation matrices (3x3), quaternions (x, y,
    z, w) or Euler angles (3, rad); `sequence`: axes of the Euler angles.
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
        spun = sum(j * angle[j, :, None, None] * rotation[k - j] for j in range(1, k + 1))
        rotation[k] = spun @ skew(e) / k
    return rotation


def _of_quaternion(where: str, c: Array) -> Array:
    squared = _product(lambda a, b: (a * b).sum(axis=-1), c, c)
    norms = np.sqrt(squared[0])
    worst = int(np.argmax(np.abs(norms - 1)))
    if not abs(norms[worst] - 1) <= TYPED:
        value, advice = f"norm {norms[worst]:.9g}", "divide it by its norm, or give Euler angles"
        raise ModelError(Finding("not-unit", where, value, "a unit quaternion (x, y, z, w)", advice))
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
        value = f"{which} of relative size {worst[order]:.1e}"
        raise ModelError(Finding("not-orthogonal", where, value, "a rotation matrix", advice))
    if (np.linalg.det(rotation[0]) < 0).any():
        raise ModelError(Finding("left-handed", where, "determinant -1", "determinant +1", "swap or negate one axis"))


def _rate(c: Array) -> Array:
    """Return the coefficients of the time derivative, one fewer."""
    orders = np.arange(1, len(c))
    return c[1:] * orders.reshape(-1, *[1] * (c.ndim - 1))


def _product(times: Callable[[Any, Any], Array], a: Array, b: Array) -> Array:
    return np.array([sum(times(a[j], b[k - j]) for j in range(k + 1)) for k in range(len(a))])


def _quotient(a: Array, b: Array) -> Array:
    result = np.empty_like(a)
    for k in range(len(a)):
        result[k] = (a[k] - sum(b[j] * result[k - j] for j in range(1, k + 1))) / b[0]
    return result


def _times(matrix: Array, vector: Array) -> Array:
    return np.einsum("nij,nj->ni", matrix, vector)
