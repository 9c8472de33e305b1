"""How the motion of a port changes with the state."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, rotation_exp, skew
from titop.solvers.mechanism.euler_angles import euler_angles, warn_of_gimbal_lock
from titop.solvers.signals.snapshot import Snapshot, SnapshotDerivatives

#: Below this sine or cosine of the middle angle, Euler angles are said to have no derivative.
_LOCK = 1e-6


def acceleration_derivative(at: Snapshot, change: SnapshotDerivatives, port: str) -> Array:
    """Return the change (6, z) of a port's spatial acceleration, in its frame."""
    derivatives = at.model.motion_derivatives(port, at.q, at.v, at.a)
    return derivatives.dA_dq @ change.q + derivatives.dA_dv @ change.v + derivatives.jacobian @ change.a


def twist_derivative(at: Snapshot, change: SnapshotDerivatives, port: str) -> Array:
    """Return the change (6, z) of a port's twist, in its frame."""
    derivatives = at.model.motion_derivatives(port, at.q, at.v, at.a)
    return derivatives.dV_dq @ change.q + derivatives.jacobian @ change.v


def place_derivative(at: Snapshot, change: SnapshotDerivatives, port: str) -> Array:
    """Return the change (3, z) of a port's position from the inertial origin, in its frame."""
    displacement = at.model.jacobian(port, at.q) @ change.q
    rotation, position = at.model.pose(port, at.q)
    return displacement[:3] + skew(rotation.T @ position) @ displacement[3:]


def angles_derivative(at: Snapshot, change: SnapshotDerivatives, port: str, sequence: str) -> Array:
    """Return the change (3, z) of a port's Euler angles."""
    turned = at.model.jacobian(port, at.q)[3:] @ change.q
    return angles_by_rotation(port, at.model.pose(port, at.q)[0], sequence) @ turned


def position_derivative(at: Snapshot, change: SnapshotDerivatives, port: str) -> Array:
    """Return the change (3, z) of a port's position in inertial axes."""
    return at.model.pose(port, at.q)[0] @ at.model.jacobian(port, at.q)[:3] @ change.q


def pose_derivative(at: Snapshot, change: SnapshotDerivatives, port: str, sequence: str) -> Array:
    """Return the change (6, z) of a port's position in inertial axes, and of its Euler angles."""
    return np.vstack([position_derivative(at, change, port), angles_derivative(at, change, port, sequence)])


def specific_force_derivative(at: Snapshot, change: SnapshotDerivatives, port: str) -> Array:
    """Return the change (3, z) of ``dv - R^T g + w x v``."""
    motion, rotation = at.model.turning_motion(port, at.q, at.v, at.a)
    twist = motion[6:12]
    turned = at.model.jacobian(port, at.q)[3:] @ change.q
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
