"""A pose: where a frame stands in another."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, rotation_exp, rotation_log
from titop.blocks.basics.user_input import FieldReader

#: A whole turn (rad), as it is typed.
_TURN = 6.3


class Pose:
    """Position and orientation of a frame in another.

    Parameters
    ----------
    position : array_like (3,), m
        Origin of the frame, in components of the other frame.
    rotation : 3x3 matrix or scipy Rotation, optional
        Maps components in the frame to components in the other; identity by default.

    Raises
    ------
    ModelError
        If the position is not three finite numbers, or the matrix not a rotation.

    Examples
    --------
    >>> from titop import Pose
    >>> Pose([0, 0, 1]).position.tolist()
    [0.0, 0.0, 1.0]
    """

    def __init__(self, position: Any = (0.0, 0.0, 0.0), rotation: Any = None) -> None:
        reader = FieldReader("pose")
        self.position: Array = reader.array("position", position, (3,))
        #: The orientation as a rotation vector (3, rad): the three numbers that parameters and files hold.
        self.rotation_vector: Array = np.zeros(3)
        if rotation is not None:
            matrix = reader.rotation("rotation", rotation)
            if not reader.findings:
                self.rotation_vector = rotation_log(matrix)
        if reader.findings:
            raise ModelError(reader.findings)

    @classmethod
    def from_rotation_vector(cls, position: Any, rotation_vector: Any) -> Pose:
        """Return the pose with the given `position` (3, m) and `rotation_vector` (3, rad).

        Raises
        ------
        ModelError
            If one of them is not three finite numbers.
        """
        pose = cls(position)
        reader = FieldReader("pose")
        pose.rotation_vector = reader.array("rotation_vector", rotation_vector, (3,))
        if reader.findings:
            raise ModelError(reader.findings)
        return pose

    @property
    def rotation(self) -> Array:
        """The rotation matrix (3x3, no unit)."""
        return rotation_exp(self.rotation_vector)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Pose)
            and np.array_equal(self.position, other.position)
            and np.array_equal(self.rotation_vector, other.rotation_vector)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Pose(position={self.position.tolist()}, rotation_vector={self.rotation_vector.tolist()})"


def pose_suspicions(where: str, pose: Pose) -> list[Finding]:
    """Return what is suspicious about a pose: a rotation vector that may be in degrees."""
    if not max(map(abs, pose.rotation_vector.tolist())) > _TURN:
        return []
    expected, advice = "a rotation vector in radians, of one turn at most", "multiply by pi / 180 if these are degrees"
    return [Finding("degrees", f"{where}.rotation_vector", pose.rotation_vector.tolist(), expected, advice)]


def read_pose(reader: FieldReader, field: str, value: Any) -> Pose:
    """Read a pose given as a `Pose` or as a position (3, m)."""
    if isinstance(value, Pose):
        return value
    position = reader.array(field, value, (3,), "give a position [x, y, z] or a tt.Pose")
    return Pose(position) if np.isfinite(position).all() else Pose()
