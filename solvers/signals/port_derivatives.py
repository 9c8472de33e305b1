"""How the motion of a port changes with the state."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, rotation_exp, skew
from titop.blocks.basics.tolerances import EXACT
from titop.solvers.mechanism.euler_angles import euler_angles, warn_of_gimbal_lock
from titop.solvers.mechanism.port_motion import turning_motion
from titop.solvers.signals.snapshot import Snapshot, SnapshotChanges

#: Below this sine or cosine of the middle angle, Euler angles are said to have no derivative.
_LOCK = EXACT**0.5


def acceleration_derivative(at: Snapshot, change: SnapshotChanges, port: str) -> Array:
    """Return the change (6, z) of a port's spatial acceleration, in its frame."""
    motion = _motion(at, change, port)
    return change.along(motion.dA_dq, motion.dA_dv, motion.jacobian)


def twist_derivative(at: Snapshot, change: SnapshotChanges, port: str) -> Array:
    """Return the change (6, z) of a port's twist, in its frame."""
    motion = _motion(at, change, port)
    return change.along(motion.dV_dq, motion.jacobian)


def place_derivative(at: Snapshot, change: SnapshotChanges, port: str) -> Array:
    """Return the change (3, z) of a port's position from the inertial origin, in its frame."""
    displacement = change.along(at.model.jacobian(port, at.q))
    rotation, position = at.model.pose(port, at.q)
    return displacement[:3] + skew(rotation.T @ position) @ displacement[3:]


def angles_derivative(at: Snapshot, change: SnapshotChanges, port: str, sequence: str) -> Array:
    """Return the change (3, z) of a port's Euler angles."""
    turned = change.along(at.model.jacobian(port, at.q)[3:])
    return angles_by_rotation(port, at.model.pose(port, at.q)[0], sequence) @ turned


def position_derivative(at: Snapshot, change: SnapshotChanges, port: str) -> Array:
    """Return the change (3, z) of a port's position in inertial axes."""
    return change.along(at.model.pose(port, at.q)[0] @ at.model.jacobian(port, at.q)[:3])


def pose_derivative(at: Snapshot, change: SnapshotChanges, port: str, sequence: str) -> Array:
    """Return the change (6, z) of a port's position in inertial axes, and of its Euler angles."""
    return np.vstack([position_derivative(at, change, port), angles_derivative(at, change, port, sequence)])


def specific_force_derivative(at: Snapshot, change: SnapshotChanges, port: str) -> Array:
    """Return the change (3, z) of ``dv - R^T g + w x v``."""
    motion, rotation = turning_motion(at.model.mechanism, port, at.q, at.v, at.a)
    twist = motion[6:12]
    turned = change.along(at.model.jacobian(port, at.q)[3:])
    rates = twist_derivative(at, change, port)
    gravity = skew(rotation.T @ at.model.gravity) @ turned
    return acceleration_derivative(at, change, port)[:3] - gravity + skew(twist[3:]) @ rates[:3] - skew(twist[:3]) @ rates[3:]


def angles_by_rotation(port: str, rotation: Array, sequence: str) -> Array:
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


def _motion(at: Snapshot, change: SnapshotChanges, port: str) -> Any:
    """Return how a port's twist and acceleration change with q, v and a."""
    return change.once(("motion", port), lambda: at.model.motion_derivatives(port, at.q, at.v, at.a))
