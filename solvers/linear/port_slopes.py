"""Parts of a port's motion vector, and how they change with the state."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, rotation_exp, skew
from titop.solvers.linear.variation import Snapshot, Variation
from titop.solvers.model.model import euler_angles, warn_of_gimbal_lock

#: Parts of a motion vector with their units: spatial acceleration, twist, position (all in the port's frame), Euler angles XYZ.
PORT_PARTS = {"dv": "m/s^2", "dw": "rad/s^2", "v": "m/s", "w": "rad/s", "r": "m", "theta": "rad"}

_ROWS = {"dv": slice(0, 3), "dw": slice(3, 6), "v": slice(6, 9), "w": slice(9, 12), "r": slice(12, 15), "theta": slice(15, 18)}

#: Below this sine or cosine of the middle angle, Euler angles are said to have no derivative.
_LOCK = 1e-6


def port_value(at: Snapshot, port: str, part: str) -> Array:
    """Return a part (3) of a port's motion vector."""
    if part == "theta":
        return at.model.motion(port, at.q, at.v, at.a)[_ROWS[part]]
    return at.model._turning_motion(port, at.q, at.v, at.a)[0][_ROWS[part]]


def port_slopes(at: Snapshot, change: Variation, port: str, part: str) -> Array:
    """Return the change (3, z) of a part of a port's motion vector."""
    if part in ("dv", "dw"):
        return acceleration_slopes(at, change, port)[:3] if part == "dv" else acceleration_slopes(at, change, port)[3:]
    if part in ("v", "w"):
        return twist_slopes(at, change, port)[:3] if part == "v" else twist_slopes(at, change, port)[3:]
    displacement = at.model.jacobian(port, at.q) @ change.q
    rotation, position = at.model.pose(port, at.q)
    if part == "r":
        return displacement[:3] + skew(rotation.T @ position) @ displacement[3:]
    return euler_slopes(port, rotation, "XYZ") @ displacement[3:]


def acceleration_slopes(at: Snapshot, change: Variation, port: str) -> Array:
    """Return the change (6, z) of a port's spatial acceleration, in its frame."""
    slopes = at.model.motion_derivatives(port, at.q, at.v, at.a)
    return slopes.dA_dq @ change.q + slopes.dA_dv @ change.v + slopes.jacobian @ change.a


def twist_slopes(at: Snapshot, change: Variation, port: str) -> Array:
    """Return the change (6, z) of a port's twist, in its frame."""
    slopes = at.model.motion_derivatives(port, at.q, at.v, at.a)
    return slopes.dV_dq @ change.q + slopes.jacobian @ change.v


def euler_slopes(port: str, rotation: Array, sequence: str) -> Array:
    """Return the matrix (3x3) from a small rotation in the port's frame to the change of its Euler angles.

    Raises
    ------
    ModelError
        At a gimbal lock.
    """
    angles = euler_angles(rotation, sequence)
    first, second, third = (np.eye(3)["XYZ".index(axis)] for axis in sequence)
    turn_2, turn_3 = rotation_exp(second * angles[1]), rotation_exp(third * angles[2])
    axes = np.column_stack([turn_3.T @ turn_2.T @ first, turn_3.T @ second, third])
    if abs(np.linalg.det(axes)) < _LOCK:
        found = f"angles {angles.tolist()} in sequence {sequence}"
        raise ModelError(
            Finding(
                "gimbal-lock", f"{port}.theta", found, "angles with a derivative", "read another sequence with a PoseSensor"
            )
        )
    warn_of_gimbal_lock(port, angles, sequence)
    return np.linalg.inv(axes)
