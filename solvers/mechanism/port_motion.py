"""The motion of a port, and Euler angles of rotations, with warnings near gimbal lock."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, warn
from titop.blocks.basics.pose import euler_angles
from titop.blocks.basics.spatial import Array, quaternion_conjugate, quaternion_log, quaternion_matrix, quaternion_product
from titop.blocks.basics.tolerances import SAME

#: Distance from gimbal lock within which a warning is given, as a sine.
_NEAR_LOCK = math.sin(math.radians(0.1))


def warn_of_gimbal_lock(port: str, angles: Array, sequence: str) -> None:
    """Warn of Euler angles (..., 3, rad) within 0.1 degree of gimbal lock."""
    middle, turned = angles[..., 1], sequence[0] == sequence[2]
    if angles.ndim == 1:
        away = abs(math.sin(middle) if turned else math.cos(middle))
    else:
        away = np.fmin.reduce(np.abs(np.sin(middle) if turned else np.cos(middle)), axis=None, initial=1.0)
    if away < _NEAR_LOCK:
        got = f"the middle angle within 0.1 degree of a gimbal lock of the sequence {sequence}"
        advice = "first and third angle are all but undetermined; take another sequence, or the rotation from m.pose"
        warn([Finding("gimbal-lock", f"{port}.theta", got, "angles away from it", advice)])


def continuous_angles(angles: Array, sequence: str) -> Array:
    """Return Euler angles (n, 3, rad) of a sequence of rotations without jumps: of equivalent triples the nearest to the last.

    ``(a, b, c)`` and ``(a + pi, pi - b, c + pi)`` are the same rotation; where the first axis is the last too, it is
    ``(a + pi, -b, c + pi)``.
    """
    middle = 0.0 if sequence[0] == sequence[2] else np.pi
    other = np.array([0.0, middle, 0.0]) + [np.pi, 0.0, np.pi] + angles * [1.0, -1.0, 1.0]
    far, near = (
        np.abs(np.remainder(triple[1:] - angles[:-1] + np.pi, 2 * np.pi) - np.pi).sum(axis=1) for triple in (angles, other)
    )
    is_other = np.concatenate([[0], np.cumsum(near < far)]) % 2 == 1
    return np.unwrap(np.where(is_other[: len(angles), None], other, angles), axis=0)


def attitude_angles(quaternions: Array, attitude: str) -> Array:
    """Return three angles (n, 3, rad) of unit quaternions (n, 4) without jumps.

    They are the Euler angles of a sequence such as ``"XYZ"``, or with ``"vector"`` the rotation vector from the first
    attitude. Raises `ModelError` if it is neither.
    """
    if attitude != "vector":
        angles = [euler_angles(quaternion_matrix(quaternion), attitude) for quaternion in quaternions]
        return continuous_angles(np.reshape(angles, (-1, 3)), attitude)
    vectors = [quaternion_log(quaternion_product(quaternion_conjugate(quaternions[0]), each)) for each in quaternions]
    for k, vector in enumerate(vectors[1:], start=1):  # whole turns more about the same axis are the same attitude
        axis = vector if np.linalg.norm(vector) > SAME else vectors[k - 1]
        axis = axis / (np.linalg.norm(axis) or 1.0)  # after whole turns that of before, since the attitude has none
        vectors[k] = vector + axis * 2 * np.pi * np.round((vectors[k - 1] @ axis - axis @ vector) / (2 * np.pi))
    return np.reshape(vectors, (-1, 3))


class PortMotion(NamedTuple):
    """Motion of a port: `rotation` (3x3) and `position` (3, m) in the inertial frame, `twist` and `acceleration` in the port's.

    `twist` (6, m/s and rad/s) has its linear part first; `acceleration` (6, m/s^2 and rad/s^2) is the spatial acceleration less
    gravity's, ``A - G``.
    """

    rotation: Array
    position: Array
    twist: Array
    acceleration: Array


def motion_of_port(mechanism: Any, port: str, q: Any, v: Any, a: Any) -> PortMotion:
    """Return the motion of a port of a mechanism at a state, after checking the state."""
    read = mechanism._read_q(q), mechanism._read_v("v", v), mechanism._read_v("a", a)
    return mechanism.engine.observations.port_motion(mechanism.read_port(port), *read)


def turning_motion(mechanism: Any, port: str, q: Any, v: Any, a: Any) -> tuple[Array, Array]:
    """Return the motion vector (15; m, rad, s) of a `port` without Euler angles, and its rotation (3x3)."""
    motion = motion_of_port(mechanism, port, q, v, a)
    acceleration = motion.acceleration.copy()
    acceleration[:3] += motion.rotation.T @ mechanism.gravity
    return np.concatenate([acceleration, motion.twist, motion.rotation.T @ motion.position]), motion.rotation


def position_and_angles(mechanism: Any, port: str, q: Any, sequence: str) -> Array:
    """Return the position (3, m) of a `port` in the inertial frame, and its Euler angles (3, rad) of a `sequence`."""
    still = np.zeros(mechanism.nv)
    motion = motion_of_port(mechanism, port, q, still, still)
    angles = euler_angles(motion.rotation, sequence)
    warn_of_gimbal_lock(port, angles, sequence)
    return np.concatenate([motion.position, angles])
