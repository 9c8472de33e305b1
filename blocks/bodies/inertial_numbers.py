"""The ten numbers of a rigid body in which dynamics are linear: mass, first moments, inertia about the reference frame.

In this order: ``m, m c_x, m c_y, m c_z, J_xx, J_yy, J_zz, J_xy, J_xz, J_yz``, with c the centre of mass and
``J = I + m (c^T c 1 - c c^T)`` the inertia in body axes about the reference frame's origin (Atkeson, An and Hollerbach,
"Estimation of inertial parameters of manipulator loads and links", 1986).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, cross, skew
from titop.blocks.bodies.rigid_body import INERTIA_ENTRIES, RigidBody

#: Names of the numbers, after the body's name.
NAMES = ("mass", *(f"moment.{axis}" for axis in "xyz"), *(f"inertia_at_frame.{entry}" for entry in INERTIA_ENTRIES))

_ROWS, _COLUMNS = (list(index) for index in zip(*INERTIA_ENTRIES.values(), strict=True))
_DIAGONAL = np.equal(_ROWS, _COLUMNS)


def inertial_numbers(bodies: Sequence[RigidBody]) -> Array:
    """Return the ten numbers of each of some bodies (n, 10)."""
    masses = np.array([body.mass for body in bodies])[:, None]
    coms = np.array([body.com for body in bodies]).reshape(-1, 3)
    inertias = np.array([body.inertia for body in bodies]).reshape(-1, 3, 3)[:, _ROWS, _COLUMNS]
    return np.concatenate([masses, masses * coms, inertias + masses * _spread(coms)], axis=1)


def own_numbers(names: Sequence[str], numbers: Array) -> Array:
    """Return mass, centre of mass and inertia about it (n, 10) of bodies of these `names` with these `numbers` (n, 10).

    Raises `ModelError` for first moments without mass; naming the body.
    """
    masses, moments = numbers[:, :1], numbers[:, 1:4]
    for k in np.flatnonzero((masses[:, 0] == 0.0) & moments.any(axis=1)).tolist():
        advice = "a body without mass has no first moments"
        raise ModelError(Finding("massless-moment", names[k], moments[k], "first moments of a body with mass", advice))
    coms = np.divide(moments, masses, out=np.zeros_like(moments), where=masses != 0.0)
    return np.concatenate([masses, coms, numbers[:, 4:] - masses * _spread(coms)], axis=1)


def inertial_derivatives(body: RigidBody) -> Array:
    """Return the derivatives (10 x 10) of the ten numbers by the body's own parameters, in the order of `INERTIAL_NAMES`."""
    mass, (x, y, z) = body.mass, body.com
    derivatives = np.eye(10)
    derivatives[1:4, 0], derivatives[4:, 0] = body.com, _spread(body.com)
    derivatives[1:4, 1:4] *= mass
    derivatives[4:, 1:4] = mass * np.array(
        [[0, 2 * y, 2 * z], [2 * x, 0, 2 * z], [2 * x, 2 * y, 0], [-y, -x, 0], [-z, 0, -x], [0, -z, -y]]
    )
    return derivatives


def wrenches_of_numbers(twist: Array, acceleration: Array) -> Array:
    """Return the wrench (6 x 10) per unit of each of the ten numbers, at the frame's twist and ``A - G`` (6 each)."""
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
    """Return the entries (..., 6) of ``c^T c 1 - c c^T``."""
    return _DIAGONAL * (c * c).sum(axis=-1, keepdims=True) - c[..., _ROWS] * c[..., _COLUMNS]
