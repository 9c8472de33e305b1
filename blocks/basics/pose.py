"""Poses: position and orientation of a frame in another."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.choices import Undecided
from titop.blocks.basics.errors import Finding, refuse
from titop.blocks.basics.spatial import Array, rotation_exp, rotation_log
from titop.blocks.basics.tolerances import CANCELLED
from titop.blocks.basics.user_input import FieldReader, is_finite, sequence_findings

#: A whole turn (rad), with the rounding of typed numbers.
_TURN = 6.3
#: Distance from gimbal lock within which Euler angles count as locked (rad).
_LOCKED = CANCELLED**0.5


class _Entry:
    """Three numbers of a pose, read in the same way whenever they are set; but complex ones, and those not known yet."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __set__(self, pose: Pose, value: Any) -> None:
        kind = getattr(getattr(value, "dtype", None), "kind", "")
        if kind != "c" and not any(isinstance(x, Undecided) for x in (value if kind == "O" else ())):
            reader = FieldReader("pose")
            value = reader.array(self.name, value, (3,))
            reader.raise_findings()
        vars(pose)[self.name] = value

    if TYPE_CHECKING:

        def __get__(self, pose: Any, owner: Any = None) -> Array: ...


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

    position = _Entry()
    #: The orientation as a rotation vector (3, rad): the three numbers that parameters and files hold.
    rotation_vector = _Entry()

    def __init__(self, position: Any = (0.0, 0.0, 0.0), rotation: Any = None) -> None:
        reader, attributes = FieldReader("pose"), vars(self)
        attributes["position"], attributes["rotation_vector"] = reader.array("position", position, (3,)), np.zeros(3)
        if rotation is not None:
            matrix = reader.rotation("rotation", rotation)
            if not reader.findings:
                attributes["rotation_vector"] = rotation_log(matrix)
        reader.raise_findings()

    @classmethod
    def from_rotation_vector(cls, position: Any, rotation_vector: Any) -> Pose:
        """Return the pose with the given `position` (3, m) and `rotation_vector` (3, rad).

        Raises
        ------
        ModelError
            If one of them is not three finite numbers.
        """
        pose = cls(position)
        pose.rotation_vector = rotation_vector
        return pose

    def copy(self) -> Pose:
        """Return a copy, independent of later changes of this pose."""
        copied = object.__new__(type(self))
        attributes = copied.__dict__
        attributes["position"], attributes["rotation_vector"] = self.position.copy(), self.rotation_vector.copy()
        return copied

    @property
    def rotation(self) -> Array:
        """The rotation matrix (3x3, no unit); when set, it is read as by the constructor."""
        return rotation_exp(self.rotation_vector)

    @rotation.setter
    def rotation(self, rotation: Any) -> None:
        self.rotation_vector = Pose(rotation=rotation).rotation_vector

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Pose)
            and np.array_equal(self.position, other.position)
            and np.array_equal(self.rotation_vector, other.rotation_vector)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Pose(position={self.position.tolist()}, rotation_vector={self.rotation_vector.tolist()})"


def pose_findings(where: str, pose: Pose) -> list[Finding]:
    """Return what is wrong with a pose after its arrays were written to."""
    if math.isfinite(np.vdot(pose.position, pose.position) + np.vdot(pose.rotation_vector, pose.rotation_vector)):
        return []
    numbers = {"position": pose.position, "rotation_vector": pose.rotation_vector}
    return [
        Finding("not-finite", f"{where}.{field}", value, "finite numbers", "give finite numbers")
        for field, value in numbers.items()
        if not is_finite(value)
    ]


def pose_suspicions(where: str, pose: Pose) -> list[Finding]:
    """Return what is suspicious about a pose: a rotation vector that may be in degrees."""
    if not max(map(abs, pose.rotation_vector.tolist())) > _TURN:
        return []
    expected, advice = "a rotation vector in radians, of one turn at most", "multiply by pi / 180 if these are degrees"
    return [Finding("degrees", f"{where}.rotation_vector", pose.rotation_vector.tolist(), expected, advice)]


def read_ports(reader: FieldReader, ports: Any) -> dict[Any, Pose]:
    """Read ports given as a mapping of names to poses or positions (3, m)."""
    poses = reader.mapping("ports", ports, "names to positions", '{"C": [x, y, z]}')
    return {port: read_pose(reader, str(port), value) for port, value in poses.items()}


def read_pose(reader: FieldReader, field: str, value: Any) -> Pose:
    """Read a pose given as a `Pose` or as a position (3, m)."""
    if isinstance(value, Pose):
        return value.copy()
    position = reader.array(field, value, (3,), "give a position [x, y, z] or a tt.Pose")
    return Pose(position) if np.isfinite(position).all() else Pose()


def euler_angles(
    rotation: Array,
    sequence: str,
    angle: Callable[[Any, Any], Any] = math.atan2,
    length: Callable[[Any, Any], Any] = math.hypot,
) -> Array:
    """Return the intrinsic Euler angles (3, rad) of a rotation matrix.

    For numbers of other types there are other functions in place of ``atan2`` and ``hypot``.

    Raises `ModelError` if the sequence is not three capital letters of axes, neighbours different.
    """
    refuse(sequence_findings("sequence", sequence))
    R, (i, j, k) = rotation.tolist(), ("XYZ".index(axis) for axis in sequence)
    last = 3 - i - j  # the axis that is neither of the first two
    sign = 1.0 if (j - i) % 3 == 1 else -1.0  # of the permutation (i, j, last)
    if i == k:
        away, along = length(R[i][j], R[i][last]), R[i][i]
        first, third = (R[j][i], -sign * R[last][i]), (R[i][j], sign * R[i][last])
    else:
        away, along = length(R[i][i], R[i][j]), sign * R[i][last]
        first, third = (-sign * R[j][last], R[last][last]), (-sign * R[i][j], R[i][i])
    middle = angle(away, along) if i == k else angle(along, away)
    if np.real(away) < _LOCKED:
        return np.array([angle(sign * R[last][j], R[j][j]), middle, 0.0])
    return np.array([angle(*first), middle, angle(*third)])
