"""Joints with plain coordinates: rotations and translations along axes fixed in the joint."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array, axis_rotation, cross
from titop.blocks.basics.tolerances import SAME
from titop.blocks.contract.block import ParameterFields
from titop.blocks.contract.fields import Field
from titop.blocks.contract.fields import axis as direction
from titop.blocks.joints.joint import ConstantSubspace, Joint, Link, unit_vector


class Weld(ConstantSubspace):
    """A rigid connection: no coordinate."""

    chain = (Link("weld"),)

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the identity."""
        return np.eye(3), np.zeros(3)

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return an empty 6 x 0 matrix."""
        return np.zeros((6, 0))


class AxialJoint(ConstantSubspace):
    """Common part of the joints with one coordinate along or about one axis.

    Parameters
    ----------
    name : str
    axis : array_like (3,)
        Direction in the joint frame, of any length: ``[1, 0, -1]`` means its unit vector, without a warning.
        URDF requires unit vectors: `from_urdf` warns once of others.
    **passive
        See `Joint`.
    """

    axis_fields = ("axis",)
    axis = Field(direction)

    def __init__(self, name: str, axis: Any = (0.0, 0.0, 1.0), **passive: Any) -> None:
        super().__init__(name, **passive)
        self.axis = axis


class Revolute(AxialJoint):
    """Rotation about an axis (key A, section 3.2). Coordinate: angle (rad)."""

    coordinates = ("angle",)
    units = ("rad",)
    chain = (Link("axial", "axis", angular=1.0),)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the rotation by the angle q (key A, eq. 34)."""
        return axis_rotation(unit_vector(self.axis), q[0]), np.zeros(3)

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return the axis as an angular motion (6 x 1)."""
        return np.concatenate([np.zeros(3), unit_vector(self.axis)])[:, None]


class Prismatic(AxialJoint):
    """Translation along an axis (key A, section 3.3). Coordinate: displacement (m)."""

    coordinates = ("displacement",)
    units = ("m",)
    chain = (Link("axial", "axis", linear=1.0),)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the translation by q along the axis."""
        return np.eye(3), q[0] * unit_vector(self.axis)

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return the axis as a linear motion (6 x 1)."""
        return np.concatenate([unit_vector(self.axis), np.zeros(3)])[:, None]


class Screw(AxialJoint):
    """Rotation about an axis with a proportional translation. Coordinate: angle (rad).

    Parameters
    ----------
    name : str
    axis : array_like (3,)
    pitch : float, m/rad
    **passive
        See `Joint`.
    """

    coordinates = ("angle",)
    units = ("rad",)
    chain = (Link("axial", "axis", linear="pitch", angular=1.0),)
    pitch = Field(lambda joint, field, value: joint.reader.numbers(field, value, 1))

    def __init__(self, name: str, axis: Any = (0.0, 0.0, 1.0), pitch: float = 0.0, **passive: Any) -> None:
        super().__init__(name, axis, **passive)
        self.pitch = pitch

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the rotation by q and the translation by pitch times q."""
        axis = unit_vector(self.axis)
        return axis_rotation(axis, q[0]), self.pitch[0] * q[0] * axis

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return the screw axis (6 x 1)."""
        axis = unit_vector(self.axis)
        return np.concatenate([self.pitch[0] * axis, axis])[:, None]

    def parameter_fields(self) -> ParameterFields:
        return {"pitch": ("pitch", (0,), "m/rad")} | super().parameter_fields()


class Cylindrical(AxialJoint):
    """Translation along and rotation about one axis. Coordinates: displacement (m), angle (rad)."""

    coordinates = ("displacement", "angle")
    units = ("m", "rad")
    chain = (Link("axial", "axis", linear=1.0), Link("axial", "axis", angular=1.0))

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the translation by q[0] and the rotation by q[1]."""
        axis = unit_vector(self.axis)
        return axis_rotation(axis, q[1]), q[0] * axis

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return the axis as a linear and as an angular motion (6 x 2)."""
        axis = unit_vector(self.axis)
        return np.array([np.concatenate([axis, np.zeros(3)]), np.concatenate([np.zeros(3), axis])]).T


class Universal(Joint):
    """Rotation about a first axis, then about a second, which the first rotates.

    Parameters
    ----------
    name : str
    axis1, axis2 : array_like (3,)
        Directions in the joint frame at zero angles; x and y by default.
    **passive
        See `Joint`.
    """

    coordinates = ("first", "second")
    units = ("rad", "rad")
    chain = (Link("axial", "axis1", angular=1.0), Link("axial", "axis2", angular=1.0))
    axis_fields = ("axis1", "axis2")
    axis1 = Field(direction)
    axis2 = Field(direction)

    def __init__(self, name: str, axis1: Any = (1.0, 0.0, 0.0), axis2: Any = (0.0, 1.0, 0.0), **passive: Any) -> None:
        super().__init__(name, **passive)
        self.axis1, self.axis2 = axis1, axis2

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if not errors and np.abs(cross(unit_vector(self.axis1), unit_vector(self.axis2))).max() < SAME:
            where, advice = f"{self.name}.axis2", "turn one of the axes"
            errors.append(Finding("parallel-axes", where, self.axis2.tolist(), "a direction not parallel to axis1", advice))
        return errors, warnings

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the rotation by q[0] about axis1, then by q[1] about axis2."""
        return axis_rotation(unit_vector(self.axis1), q[0]) @ self._second(q), np.zeros(3)

    def _second(self, q: Array) -> Array:
        return axis_rotation(unit_vector(self.axis2), q[1])

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return both axes as angular motions in the child's frame (6 x 2)."""
        angular = np.array([self._second(q).T @ unit_vector(self.axis1), unit_vector(self.axis2)]).T
        return np.vstack([np.zeros((3, 2)), angular])

    def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
        """Return the part due to the rotation of the first axis in the child's frame."""
        first = self.motion_subspace(port, q)[3:, 0]
        return np.concatenate([np.zeros(3), -v[1] * v[0] * cross(unit_vector(self.axis2), first)])


class Cartesian(ConstantSubspace):
    """Translation along the joint frame's axes, without rotation. Coordinates: x, y, z (m).

    It carries point masses, and nodes without mass that closures hold, such as the ends of several `Distance` rods.
    """

    coordinates = ("x", "y", "z")
    units = ("m", "m", "m")
    chain = (
        Link("axial", (1.0, 0.0, 0.0), linear=1.0),
        Link("axial", (0.0, 1.0, 0.0), linear=1.0),
        Link("axial", (0.0, 0.0, 1.0), linear=1.0),
    )

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the translation by q."""
        return np.eye(3), np.array(q)


class Planar(Joint):
    """Motion in the x-y plane of the joint frame. Coordinates: x, y (m), then the rotation theta about z (rad)."""

    coordinates = ("x", "y", "theta")
    units = ("m", "m", "rad")
    chain = (
        Link("axial", (1.0, 0.0, 0.0), linear=1.0),
        Link("axial", (0.0, 1.0, 0.0), linear=1.0),
        Link("axial", (0.0, 0.0, 1.0), angular=1.0),
    )

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the translation by (x, y) and the rotation by theta."""
        return axis_rotation(np.array([0.0, 0.0, 1.0]), q[2]), np.array([q[0], q[1], 0 * q[0]])

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return the joint frame's x and y in the child's frame, and the rotation (6 x 3)."""
        rotation, _ = self.pose(port, q)
        linear = np.column_stack([rotation.T[:, :2], np.zeros(3)])
        return np.vstack([linear, [[0, 0, 0], [0, 0, 0], [0, 0, 1]]])

    def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
        """Return the part due to the rotation of x and y in the child's frame."""
        linear = self.motion_subspace(port, q)[:3, :2] @ v[:2]
        return np.concatenate([-v[2] * cross(np.array([0.0, 0.0, 1.0]), linear), np.zeros(3)])
