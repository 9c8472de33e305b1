"""The ten numbers of a rigid body in which dynamics are linear: mass, first moments, inertia about the reference frame.

In this order: ``m, m c_x, m c_y, m c_z, J_xx, J_yy, J_zz, J_xy, J_xz, J_yz``, with c the centre of mass and
``J = I + m (c^T c 1 - c c^T)`` the inertia in body axes about the reference frame's origin (Atkeson, An and Hollerbach,
"Estimation of inertial parameters of manipulator loads and links", 1986).
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, cross, skew
from titop.blocks.bodies.rigid_body import INERTIA_ENTRIES, RigidBody

#: Of the numbers, beside the body's own name.
NAMES = ("mass", *(f"moment.{axis}" for axis in "xyz"), *(f"inertia_at_frame.{entry}" for entry in INERTIA_ENTRIES))
#: Of a body's own parameters, in the same order.
OWN_NAMES = ("mass", *(f"com.{axis}" for axis in "xyz"), *(f"inertia.{entry}" for entry in INERTIA_ENTRIES))

_ROWS, _COLUMNS = (list(index) for index in zip(*INERTIA_ENTRIES.values(), strict=True))


def inertial_numbers(body: RigidBody) -> Array:
    """Return the ten numbers of a body."""
    inertia = body.inertia + body.mass * _spread(body.com)
    return np.concatenate([[body.mass], body.mass * body.com, inertia[_ROWS, _COLUMNS]])


def own_numbers(where: str, numbers: Array) -> Array:
    """Return mass, centre of mass and inertia about it (10) of a body with these ten numbers.

    Raises
    ------
    ModelError
        For first moments without mass; naming `where`.
    """
    mass, moment = numbers[0], numbers[1:4]
    if mass == 0.0 and moment.any():
        advice = "a body without mass has no first moments"
        raise ModelError(Finding("massless-moment", where, moment, "first moments of a body with mass", advice))
    com = moment / mass if mass else np.zeros(3)
    return np.concatenate([[mass], com, numbers[4:] - mass * _spread(com)[_ROWS, _COLUMNS]])


def inertial_derivatives(body: RigidBody) -> Array:
    """Return the derivatives (10 x 10) of the ten numbers by the body's own parameters, in the order of `OWN_NAMES`."""
    mass, (x, y, z) = body.mass, body.com
    derivatives = np.eye(10)
    derivatives[1:4, 0], derivatives[4:, 0] = body.com, _spread(body.com)[_ROWS, _COLUMNS]
    derivatives[1:4, 1:4] *= mass
    derivatives[4:, 1:4] = mass * np.array(
        [[0, 2 * y, 2 * z], [2 * x, 0, 2 * z], [2 * x, 2 * y, 0], [-y, -x, 0], [-z, 0, -x], [0, -z, -y]]
    )
    return derivatives


def wrenches_of_numbers(twist: Array, acceleration: Array) -> Array:
    """Return the wrench (6 x 10) a unit of each of the ten numbers, at the frame's twist and ``A - G`` (6 each)."""
    v, w, turning = twist[:3], twist[3:], acceleration[3:]
    alpha = acceleration[:3] + cross(w, v)
    columns = np.zeros((6, 10), dtype=np.result_type(twist, acceleration))
    columns[:3, 0] = alpha
    columns[:3, 1:4] = skew(turning) + skew(w) @ skew(w)
    columns[3:, 1:4] = -skew(alpha)
    for k, (i, j) in enumerate(INERTIA_ENTRIES.values()):
        unit = np.zeros((3, 3))
        unit[i, j] = unit[j, i] = 1.0
        columns[3:, 4 + k] = unit @ turning + cross(w, unit @ w)
    return columns


def _spread(c: Array) -> Array:
    return (c @ c) * np.eye(3) - np.outer(c, c)
