"""Joints whose configuration contains a unit quaternion: any attitude, without singularities."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import (
    Array,
    gyroscopic_wrench,
    log_jacobian,
    matrix_quaternion,
    pose_exp,
    pose_log,
    pose_log_jacobian,
    pose_right_jacobian,
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_matrix,
    quaternion_product,
    right_jacobian,
    rotation_exp,
    skew,
    twist_cross,
    twist_transport,
)
from titop.blocks.basics.user_input import real_array
from titop.blocks.joints.joint import ConstantSubspace, Link

#: Names of the numbers of a quaternion in a configuration.
QUATERNION_NAMES = ("qx", "qy", "qz", "qw")


class Spherical(ConstantSubspace):
    """Any rotation about the joint's origin.

    ``q`` is the unit quaternion (x, y, z, w) of the child's frame in the joint frame, ``v`` the relative angular
    velocity in the child's frame (rad/s).
    """

    coordinates = ("rx", "ry", "rz")
    units = ("rad", "rad", "rad")
    chain = (Link("spherical"),)
    quaternion = slice(0, 4)
    configuration_names = QUATERNION_NAMES  # type: ignore[assignment]
    configuration_units = ("1", "1", "1", "1")  # type: ignore[assignment]

    def read_configuration(self, value: Any, field: str = "configuration") -> Array:
        """Read a quaternion, a rotation matrix or a scipy Rotation."""
        array = real_array(value)
        if array is not None and array.shape == (3, 3):
            return matrix_quaternion(self.reader.rotation(field, value))
        return self.reader.unit_quaternion(field, value)

    def neutral(self) -> Array:
        """Return the identity quaternion."""
        return np.array([0.0, 0.0, 0.0, 1.0])

    def random_configuration(self, rng: np.random.Generator) -> Array:
        """Return a uniformly distributed rotation."""
        q = rng.normal(size=4)
        return q / np.linalg.norm(q)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the rotation of the quaternion."""
        return quaternion_matrix(q), np.zeros(3)

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return the angular motions (6 x 3)."""
        return np.vstack([np.zeros((3, 3)), np.eye(3)])

    def integrate(self, q: Array, dq: Array) -> Array:
        """Return ``q exp(dq)``, by the exponential of SO(3)."""
        return quaternion_product(q, quaternion_exp(dq))

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return ``log(q0^-1 q1)``."""
        return quaternion_log(quaternion_product(quaternion_conjugate(q0), q1))

    def difference_jacobian(self, delta: Array) -> Array:
        """Return the inverse of SO(3)'s right Jacobian (Barfoot, State Estimation for Robotics)."""
        return log_jacobian(delta)

    def integrate_derivatives(self, q: Array, dq: Array) -> tuple[Array, Array]:
        """Return ``Ad(exp(dq))^-1`` and the right Jacobian."""
        if self._moves_otherwise(Spherical):
            return super().integrate_derivatives(q, dq)
        return rotation_exp(dq).T, right_jacobian(dq)

    def difference_derivatives(self, q0: Array, q1: Array) -> tuple[Array, Array]:
        """Return minus the inverse of the left Jacobian, and the inverse of the right one."""
        if self._moves_otherwise(Spherical):
            return super().difference_derivatives(q0, q1)
        delta = self.difference(q0, q1)
        return -log_jacobian(-delta), log_jacobian(delta)

    def bracket(self, v: Array) -> Array:
        """Return the cross product with the angular velocity."""
        return skew(v)


class Free(ConstantSubspace):
    """Any motion: the base of a flying system (key A, section 2).

    ``q`` is the position (3, m) and the unit quaternion (x, y, z, w) of the child port in the joint frame, ``v`` its
    body-frame twist (linear first). A spring that couples translation and rotation is not smooth at a rotation by pi, where
    the logarithm of its displacement jumps.
    """

    coordinates = ("x", "y", "z", "rx", "ry", "rz")
    units = ("m", "m", "m", "rad", "rad", "rad")
    chain = (Link("free"),)
    quaternion = slice(3, 7)
    configuration_names = ("x", "y", "z", *QUATERNION_NAMES)  # type: ignore[assignment]
    configuration_units = ("m", "m", "m", "1", "1", "1", "1")  # type: ignore[assignment]

    def read_configuration(self, value: Any, field: str = "configuration") -> Array:
        """Read position (3, m) and quaternion (4), or a Pose."""
        if isinstance(value, Pose):
            return np.concatenate([value.position, matrix_quaternion(value.rotation)])
        numbers = self.reader.array(field, value, (7,), "give x, y, z, qx, qy, qz, qw, or a tt.Pose")
        if np.isfinite(numbers).all():
            numbers[3:] = self.reader.unit_quaternion(field, numbers[3:])
        return numbers

    def neutral(self) -> Array:
        """Return the origin with the identity quaternion."""
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])

    def random_configuration(self, rng: np.random.Generator) -> Array:
        """Return a random position within a metre and a uniformly distributed rotation."""
        q = rng.normal(size=4)
        return np.concatenate([rng.uniform(-1.0, 1.0, 3), q / np.linalg.norm(q)])

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        return quaternion_matrix(q[3:]), q[:3]

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return the 6x6 identity."""
        return np.eye(6)

    def integrate(self, q: Array, dq: Array) -> Array:
        """Return ``q exp(dq)``, by the exponential of SE(3)."""
        _, step = pose_exp(dq)
        position = q[:3] + quaternion_matrix(q[3:]) @ step
        return np.concatenate([position, quaternion_product(q[3:], quaternion_exp(dq[3:]))])

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return ``log(q0^-1 q1)``."""
        turn = quaternion_log(quaternion_product(quaternion_conjugate(q0[3:]), q1[3:]))
        return pose_log(turn, quaternion_matrix(q0[3:]).T @ (q1[:3] - q0[:3]))

    def difference_jacobian(self, delta: Array) -> Array:
        """Return the inverse of SE(3)'s right Jacobian (Barfoot, State Estimation for Robotics)."""
        return pose_log_jacobian(delta)

    def integrate_derivatives(self, q: Array, dq: Array) -> tuple[Array, Array]:
        """Return ``Ad(exp(dq))^-1`` and the right Jacobian."""
        if self._moves_otherwise(Free):
            return super().integrate_derivatives(q, dq)
        return twist_transport(*pose_exp(dq)), pose_right_jacobian(dq)

    def difference_derivatives(self, q0: Array, q1: Array) -> tuple[Array, Array]:
        """Return minus the inverse of the left Jacobian, and the inverse of the right one."""
        if self._moves_otherwise(Free):
            return super().difference_derivatives(q0, q1)
        delta = self.difference(q0, q1)
        return -pose_log_jacobian(-delta), pose_log_jacobian(delta)

    def bracket(self, v: Array) -> Array:
        """Return the twist cross product."""
        return twist_cross(v)

    def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
        """Return the armature's gyroscopic terms, without ``v x v`` if it is the same along all axes."""
        return np.concatenate([np.zeros(6), gyroscopic_wrench(np.diag(self.total_armature), v)])
