"""Joints: blocks without mass that let their child port move.

Every joint says how its child port stands and moves in its parent port (`pose`, `motion_subspace`,
`subspace_rate`), and into which elementary joints it splits for the compiled resolver (`chain`).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from titop.blocks.block import Block
from titop.blocks.checks import ORTHOGONALITY
from titop.blocks.errors import Finding
from titop.blocks.friction import FRICTION_ENTRIES, friction_efforts, read_friction
from titop.blocks.limits import read_limits
from titop.blocks.pose import Pose
from titop.blocks.spatial import (
    Array,
    log_jacobian,
    matrix_quaternion,
    pose_exp,
    pose_log,
    pose_log_jacobian,
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_matrix,
    quaternion_product,
    rotation_exp,
    skew,
    twist_cross,
)

#: Name of a joint's only child port.
CHILD_PORT = "C"


#: Two directions whose unit vectors have a smaller cross product are parallel.
PARALLEL = 1e-9


@dataclass(frozen=True)
class Link:
    """One elementary joint of a chain.

    Attributes
    ----------
    kind : str
        ``"axial"`` (one coordinate along and about an axis), ``"spherical"`` or ``"free"``.
    axis : str or tuple of float
        Name of the joint's axis field, or a fixed direction, for axial links.
    linear, angular : float or str
        Motion along and about the axis a unit of the coordinate; ``"pitch"`` names a field.
    """

    kind: str
    axis: str | tuple[float, float, float] = (0.0, 0.0, 1.0)
    linear: float | str = 0.0
    angular: float = 0.0


class Joint(Block):
    """Common part of all joints.

    Parameters
    ----------
    name : str
        Unique name in the system.
    stiffness : float, (n,) or (n, n)
        N/m or N m/rad; stores ``U = delta^T K delta / 2``, ``delta = difference(rest, q)``, and acts with minus its gradient.
    rest : float or (nq,)
        Configuration without elastic effort; zero coordinates by default.
    damping : float, (n,) or (n, n)
        N s/m or N m s/rad; acts with ``-D v``.
    armature : float or (n,)
        Inertia of a rotor or drive seen at each coordinate (kg or kg m^2).
    friction : Friction, or one for each coordinate
        Dry friction; the viscous part is the damping.
    limits : Limits, or one for each coordinate
        Data for `Trajectory.violations`; they stop nothing.

    Attributes
    ----------
    units : tuple of str
        Unit of each tangent coordinate.
    chain : tuple of Link
        Elementary joints, in order from the parent.

    Notes
    -----
    `read_configuration` reads a `value` as users give it; what is wrong with it is recorded under the name `field`.
    """

    ports = (CHILD_PORT,)
    units: tuple[str, ...] = ()
    chain: tuple[Link, ...] = ()
    axis_fields: ClassVar[tuple[str, ...]] = ()
    #: What motors add to the armature (n), written when a system is assembled.
    reflected_inertia: Array | None = None
    #: Where a quaternion stands in the configuration.
    quaternion: ClassVar[slice] = slice(0, 0)

    def __init__(
        self,
        name: str,
        *,
        stiffness: Any = 0.0,
        rest: Any = None,
        damping: Any = 0.0,
        armature: Any = 0.0,
        friction: Any = None,
        limits: Any = None,
    ) -> None:
        super().__init__(name)
        reader = self.reader
        self.friction = read_friction(reader, friction, self.nv)
        self.limits = read_limits(reader, limits, self.nv)
        self.stiffness = reader.symmetric("stiffness", stiffness, self.nv)
        self.damping = reader.symmetric("damping", damping, self.nv)
        self.armature = reader.array("armature", np.diag(reader.symmetric("armature", armature, self.nv)), (self.nv,))
        self.rest = self.neutral() if rest is None else self.read_configuration(rest, "rest")
        for field, matrix in (("stiffness", self.stiffness), ("damping", self.damping)):
            if self.nv and np.isfinite(matrix).all() and np.linalg.eigvalsh(matrix)[0] < -1e-9 * np.abs(matrix).max():
                reader.suspect(
                    f"negative-{field}",
                    field,
                    matrix.tolist(),
                    "a positive semidefinite matrix",
                    "check the sign: the joint feeds energy or is unstable",
                )

    @property
    def is_sprung(self) -> bool:
        """Whether the joint has a spring, a damper or friction."""
        return bool(self.stiffness.any() or self.damping.any() or self.friction[:, :2].any())

    def read_configuration(self, value: Any, field: str = "configuration") -> Array:
        """Read a configuration as users give it (a number for one coordinate, nq numbers)."""
        return self.reader.array(
            field,
            np.atleast_1d(np.asarray(value, dtype=object)).tolist(),
            (self.nq,),
            f"give {self.nq} numbers: {', '.join(self.configuration_names)}" if self.nq > 1 else "give a number",
        )

    def mass_matrix(self, q: Array) -> Array:
        """Return the armature, (6 + n) x (6 + n), motors' rotors included."""
        return np.diag(np.concatenate([np.zeros(6), self.total_armature]))

    def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
        """Return the armature's gyroscopic terms, non-zero only for coordinates on a group."""
        return np.concatenate([np.zeros(6), -self.bracket(v).T @ (self.total_armature * v)])

    @property
    def total_armature(self) -> Array:
        """Armature with motors' rotors (n)."""
        return self.armature if self.reflected_inertia is None else self.armature + self.reflected_inertia

    def elastic_energy(self, q: Array) -> Any:
        """Return the spring's energy (J)."""
        delta = self.difference(self.rest, q)
        return 0.5 * delta @ self.stiffness @ delta

    def passive_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts (n) of spring, damper and friction."""
        delta = self.difference(self.rest, q)
        elastic = -self.difference_jacobian(delta).T @ (self.stiffness @ delta)
        return elastic - self.damping @ v + friction_efforts(self.friction, v)

    def difference_jacobian(self, delta: Array) -> Array:
        """Return ``d difference(rest, q) / d v`` (n x n)."""
        return np.eye(self.nv)

    def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
        """Return ``dS/dt v`` (6): zero for a subspace that is constant in the child's frame."""
        return np.zeros(6)

    # -- parameters ----------------------------------------------------------------------------------------------------

    def parameter_fields(self) -> dict[str, tuple[str, tuple[int, ...], str]]:
        """Return, by dotted name, the attribute that holds a parameter, the index in it, and the unit."""
        fields: dict[str, tuple[str, tuple[int, ...], str]]
        fields = {f"{field}.{x}": (field, (i,), "1") for field in self.axis_fields for i, x in enumerate("xyz")}
        single = self.nv == 1
        names = self.coordinates
        for field, per in (("stiffness", "/"), ("damping", " s/")):
            for i in range(self.nv):
                for j in range(i, self.nv):
                    name = field if single else f"{field}.{names[i]}.{names[j]}"
                    fields[name] = (field, (i, j), f"{_effort_unit(self.units[i])}{per}{self.units[j]}")
        for i, name in enumerate(self.configuration_names):
            fields["rest" if single else f"rest.{name}"] = ("rest", (i,), self.configuration_units[i])
        for i, name in enumerate(names):
            for k, entry in enumerate(FRICTION_ENTRIES):
                unit = _effort_unit(self.units[i]) if k < 2 else f"{self.units[i]}/s"
                fields[f"friction.{entry}" if single else f"friction.{name}.{entry}"] = ("friction", (i, k), unit)
        for i, name in enumerate(names):
            fields["armature" if single else f"armature.{name}"] = (
                "armature",
                (i,),
                "kg" if self.units[i] == "m" else "kg m^2",
            )
        return fields

    @property
    def configuration_units(self) -> tuple[str, ...]:
        """Units of the numbers that describe the configuration."""
        return self.units

    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return axes, stiffness, damping, rest position and armature."""
        return {
            name: (float(getattr(self, field)[index]), unit) for name, (field, index, unit) in self.parameter_fields().items()
        }

    def with_parameters(self, values: dict[str, float]) -> Block:
        """Return a copy with some parameters changed."""
        changed = copy.copy(self)
        fields = self.parameter_fields()
        for name, value in values.items():
            field, index, _ = fields[name]
            array = getattr(changed, field).copy()
            array[index] = value
            if field in ("stiffness", "damping"):
                array[index[::-1]] = value
            setattr(changed, field, array)
        return changed

    def check(self) -> tuple[list[Finding], list[Finding]]:
        """Return what is wrong with the joint and what is suspicious."""
        errors, warnings = super().check()
        if (self.armature < 0).any():
            errors.append(
                Finding("negative-armature", f"{self.name}.armature", self.armature.tolist(), "values >= 0", "check the sign")
            )
        friction = self.friction
        if (friction[:, :2] < 0).any() or (friction[:, 2:] <= 0).any():
            expected = "coulomb and breakaway >= 0, stribeck_velocity and smoothing > 0"
            errors.append(Finding("bad-friction", f"{self.name}.friction", friction.tolist(), expected, "check the signs"))
        for field in self.axis_fields:
            axis = getattr(self, field)
            if not axis.any():
                advice = "give a direction such as [0, 0, 1]"
                errors.append(Finding("zero-axis", f"{self.name}.{field}", [0, 0, 0], "a non-zero direction", advice))
        rest = self.rest[self.quaternion]
        if rest.size and np.isfinite(rest).all() and abs(np.linalg.norm(rest) - 1) > ORTHOGONALITY:
            where, advice = f"{self.name}.rest", "change all four together, or build the joint anew with rest="
            errors.append(Finding("not-unit", where, rest.tolist(), "a unit quaternion (x, y, z, w)", advice))
        return errors, warnings


def _effort_unit(unit: str) -> str:
    return "N" if unit == "m" else "N m"


def unit_vector(axis: Array) -> Array:
    """Return the direction of `axis` with length 1, whatever its length."""
    axis = axis / np.abs(np.real(axis)).max()
    return axis / np.sqrt(axis @ axis)


class Weld(Joint):
    """A rigid connection: no coordinate."""

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the identity."""
        return np.eye(3), np.zeros(3)

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return an empty 6 x 0 matrix."""
        return np.zeros((6, 0))


class AxialJoint(Joint):
    """Common part of the joints with one coordinate along or about one axis.

    Parameters
    ----------
    name : str
    axis : array_like (3,)
        Direction in the joint frame; normalised.
    **passive
        See `Joint`.
    """

    axis_fields = ("axis",)

    def __init__(self, name: str, axis: Any = (0.0, 0.0, 1.0), **passive: Any) -> None:
        super().__init__(name, **passive)
        self.axis = self.reader.axis("axis", axis)


class Revolute(AxialJoint):
    """Rotation about an axis (key A, section 3.2). Coordinate: angle (rad)."""

    coordinates = ("angle",)
    units = ("rad",)
    chain = (Link("axial", "axis", angular=1.0),)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the rotation by the angle q (key A, eq. 34)."""
        return rotation_exp(q[0] * unit_vector(self.axis)), np.zeros(3)

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

    def __init__(self, name: str, axis: Any = (0.0, 0.0, 1.0), pitch: float = 0.0, **passive: Any) -> None:
        super().__init__(name, axis, **passive)
        self.pitch = self.reader.array("pitch", np.atleast_1d(np.asarray(pitch, dtype=object)).tolist(), (1,))

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the rotation by q and the translation by pitch times q."""
        axis = unit_vector(self.axis)
        return rotation_exp(q[0] * axis), self.pitch[0] * q[0] * axis

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return the screw axis (6 x 1)."""
        axis = unit_vector(self.axis)
        return np.concatenate([self.pitch[0] * axis, axis])[:, None]

    def parameter_fields(self) -> dict[str, tuple[str, tuple[int, ...], str]]:
        """Return the fields of every joint and the pitch."""
        return {"pitch": ("pitch", (0,), "m/rad")} | super().parameter_fields()


class Cylindrical(AxialJoint):
    """Translation along and rotation about one axis. Coordinates: displacement (m), angle (rad)."""

    coordinates = ("displacement", "angle")
    units = ("m", "rad")
    chain = (Link("axial", "axis", linear=1.0), Link("axial", "axis", angular=1.0))

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the translation by q[0] and the rotation by q[1]."""
        axis = unit_vector(self.axis)
        return rotation_exp(q[1] * axis), q[0] * axis

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return the axis as a linear and as an angular motion (6 x 2)."""
        axis = unit_vector(self.axis)
        return np.array([np.concatenate([axis, np.zeros(3)]), np.concatenate([np.zeros(3), axis])]).T


class Universal(Joint):
    """Rotation about a first axis, then about a second that the first carries along.

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

    def __init__(self, name: str, axis1: Any = (1.0, 0.0, 0.0), axis2: Any = (0.0, 1.0, 0.0), **passive: Any) -> None:
        super().__init__(name, **passive)
        self.axis1 = self.reader.axis("axis1", axis1)
        self.axis2 = self.reader.axis("axis2", axis2)

    def check(self) -> tuple[list[Finding], list[Finding]]:
        """Return what is wrong with the joint and what is suspicious."""
        errors, warnings = super().check()
        if not errors and np.abs(np.cross(unit_vector(self.axis1), unit_vector(self.axis2))).max() < PARALLEL:
            where, advice = f"{self.name}.axis2", "turn one of the axes"
            errors.append(Finding("parallel-axes", where, self.axis2.tolist(), "a direction not parallel to axis1", advice))
        return errors, warnings

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the rotation by q[0] about axis1, then by q[1] about axis2."""
        return rotation_exp(q[0] * unit_vector(self.axis1)) @ self._second(q), np.zeros(3)

    def _second(self, q: Array) -> Array:
        return rotation_exp(q[1] * unit_vector(self.axis2))

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return both axes as angular motions in the child's frame (6 x 2)."""
        angular = np.array([self._second(q).T @ unit_vector(self.axis1), unit_vector(self.axis2)]).T
        return np.vstack([np.zeros((3, 2)), angular])

    def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
        """Return the turning of the first axis in the child's frame."""
        first = self.motion_subspace(port, q)[3:, 0]
        return np.concatenate([np.zeros(3), -v[1] * v[0] * np.cross(unit_vector(self.axis2), first)])


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
        return rotation_exp(q[2] * np.array([0.0, 0.0, 1.0])), np.array([q[0], q[1], 0 * q[0]])

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return the joint frame's x and y in the child's frame, and the rotation (6 x 3)."""
        rotation, _ = self.pose(port, q)
        linear = np.column_stack([rotation.T[:, :2], np.zeros(3)])
        return np.vstack([linear, [[0, 0, 0], [0, 0, 0], [0, 0, 1]]])

    def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
        """Return the turning of x and y in the child's frame."""
        linear = self.motion_subspace(port, q)[:3, :2] @ v[:2]
        return np.concatenate([-v[2] * np.cross(np.array([0.0, 0.0, 1.0]), linear), np.zeros(3)])


class Spherical(Joint):
    """Any rotation about the joint's origin.

    ``q`` is the unit quaternion (x, y, z, w) of the child's frame in the joint frame, ``v`` the relative angular
    velocity in the child's frame (rad/s).
    """

    coordinates = ("rx", "ry", "rz")
    units = ("rad", "rad", "rad")
    chain = (Link("spherical"),)
    quaternion = slice(0, 4)
    configuration_names = ("qx", "qy", "qz", "qw")  # type: ignore[assignment]
    configuration_units = ("1", "1", "1", "1")  # type: ignore[assignment]

    def read_configuration(self, value: Any, field: str = "configuration") -> Array:
        """Read a quaternion, a rotation matrix or a scipy Rotation."""
        if np.shape(value) == (3, 3):
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
        """Return the inverse of SO(3)'s right Jacobian."""
        return log_jacobian(delta)

    def bracket(self, v: Array) -> Array:
        """Return the cross product with the angular velocity."""
        return skew(v)


class Free(Joint):
    """Any motion: the base of a flying system (key A, section 2).

    ``q`` is the position (3, m) and the unit quaternion (x, y, z, w) of the child port in the joint frame, ``v`` its
    body-frame twist (linear first). A spring between translation and rotation is not smooth across a turn of pi, where
    the logarithm that measures its displacement jumps.
    """

    coordinates = ("x", "y", "z", "rx", "ry", "rz")
    units = ("m", "m", "m", "rad", "rad", "rad")
    chain = (Link("free"),)
    quaternion = slice(3, 7)
    configuration_names = ("x", "y", "z", "qx", "qy", "qz", "qw")  # type: ignore[assignment]
    configuration_units = ("m", "m", "m", "1", "1", "1", "1")  # type: ignore[assignment]

    def read_configuration(self, value: Any, field: str = "configuration") -> Array:
        """Read position and quaternion (7), or a Pose."""
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
        """Return rotation and position."""
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
        """Return the inverse of SE(3)'s right Jacobian."""
        return pose_log_jacobian(delta)

    def bracket(self, v: Array) -> Array:
        """Return the twist cross product."""
        return twist_cross(v)
