"""The common part of all joints: massless blocks whose child port moves.

Every joint defines the pose of its child port in its parent port (`pose`, and for speed `motion_subspace` and
`subspace_rate`). Titop's own joints also define their decomposition into elementary joints for the compiled engine (`chain`). A
subclass of your own sets ``coordinates``, ``units`` and ``pose``, and is resolved like any block.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME, TYPED
from titop.blocks.basics.user_input import is_finite
from titop.blocks.contract.block import Block, ParameterFields, overrides
from titop.blocks.contract.fields import Field, per_coordinate, without
from titop.blocks.contract.own_coordinates import effort_unit, in_brackets, inertia_unit, known_units, rate_unit
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.joints.friction_and_limits import (
    FRICTION_ENTRIES,
    Limits,
    bounded_sides,
    friction_efforts,
    limit_findings,
    read_friction,
    read_limits,
    stop_efforts,
    stop_energy,
    stop_entries,
    stop_gaps,
    stop_name,
    stop_unit,
)


@cache
def joint_fields(
    axis_fields: tuple[str, ...],
    names: tuple[str, ...],
    units: tuple[str, ...],
    configuration: tuple[tuple[str, str], ...],
    bounded: tuple[tuple[bool, bool], ...],
) -> ParameterFields:
    """Return the parameters of joints with these coordinates, names and units of the configuration, and stops.

    `bounded` has, for each coordinate that may have stops, whether it has a lower and an upper limit.
    """
    fields: ParameterFields = {f"{field}.{x}": (field, (i,), "1") for field in axis_fields for i, x in enumerate("xyz")}
    single = len(names) == 1
    for field, per in (("stiffness", "/"), ("damping", " s/")):
        for i in range(len(names)):
            for j in range(i, len(names)):
                name = field if single else f"{field}.{names[i]}.{names[j]}"
                fields[name] = (field, (i, j), f"{effort_unit(units[i])}{per}{in_brackets(units[j])}")
    for i, (name, unit) in enumerate(configuration):
        fields["rest" if single else f"rest.{name}"] = ("rest", (i,), unit)
    for i, name in enumerate(names):
        for k, entry in enumerate(FRICTION_ENTRIES):
            unit = effort_unit(units[i]) if k < 2 else rate_unit(units[i])
            fields[f"friction.{entry}" if single else f"friction.{name}.{entry}"] = ("friction", (i, k), unit)
    for i, name in enumerate(names):
        fields["armature" if single else f"armature.{name}"] = ("armature", (i,), inertia_unit(units[i]))
    for i, sides in enumerate(bounded):
        for entry, k in stop_entries(*sides):
            fields[stop_name(names, names[i], entry)] = ("limit_numbers", (i, k), stop_unit(entry, units[i]))
    return fields


#: Name of a joint's only child port.
CHILD_PORT = "C"


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
        Motion along and about the axis per unit of the coordinate; ``"pitch"`` names a field.
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
    stiffness : float, (n,) or (n, n)
        N/m or N m/rad; the energy is ``U = delta^T K delta / 2``, ``delta = difference(rest, q)``, the effort its negative
        gradient.
    rest : float or (nq,)
        Configuration without elastic effort; zero coordinates by default.
    damping : float, (n,) or (n, n)
        N s/m or N m s/rad; the effort is ``-D v``.
    armature : float or (n,)
        Inertia of a rotor or drive seen at each coordinate (kg or kg m^2).
    friction : Friction, or one for each coordinate
        Dry friction; the viscous part is the damping.
    limits : Limits, or one for each coordinate
        Data for `Trajectory.violations`; with a stiffness, stops.

    Attributes
    ----------
    units : tuple of str
        Unit of each tangent coordinate.
    chain : tuple of Link
        Elementary joints, in order from the parent.

    Notes
    -----
    `read_configuration` reads a user's `value`; errors are recorded under the name `field`.
    """

    ports: tuple[str, ...] = (CHILD_PORT,)
    file_tables = ("joints",)
    chain: tuple[Link, ...] = ()
    axis_fields: ClassVar[tuple[str, ...]] = ()
    symmetric_fields = ("stiffness", "damping")
    #: Inertia of motors' rotors, added to the armature (n); set when a system is assembled.
    reflected_inertia: Array | None = None

    friction = Field(lambda joint, field, value: read_friction(joint.reader, value, joint.nv))
    stiffness = Field(per_coordinate)
    damping = Field(per_coordinate)
    armature = Field(lambda joint, field, value: per_coordinate(joint, field, value).diagonal().copy())
    rest = Field(lambda joint, field, value: joint.neutral() if value is None else joint.read_configuration(value, field))

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
        self.friction = friction
        self.limit_numbers = read_limits(self.reader, limits, self.nv)
        self.stiffness, self.damping, self.armature, self.rest = stiffness, damping, armature, rest

    @property
    def coordinate_scales(self) -> Array | None:  # type: ignore[override]
        """A metre or a radian each (n) for titop's joints, which are nonlinear in angles alone; for others it is found."""
        return np.ones(self.nv) if is_elementary(self) else None

    @property
    def geometric_fields(self) -> frozenset[str]:
        """The fields that define the motion of the child port, not the efforts."""
        return frozenset(field for link in self.chain for field in (link.axis, link.linear) if isinstance(field, str))

    @property
    def is_sprung(self) -> bool:
        """Whether the joint has a spring, a damper, friction or stops."""
        return bool(self.stiffness.any() or self.damping.any() or self.friction[:, :2].any() or self._has_stops)

    @property
    def limits(self) -> tuple[Limits, ...]:
        """Limits of each coordinate; when set, they are read as by the constructor."""
        return tuple(Limits(*row) for row in self.limit_numbers.tolist())

    @limits.setter
    def limits(self, limits: Any) -> None:
        self.reader = without(self.reader, "limits")
        self.limit_numbers = read_limits(self.reader, limits, self.nv)

    @property
    def _has_stops(self) -> bool:
        stiffness = self.limit_numbers[:, 4]
        return stiffness.dtype == object or bool(stiffness.any())  # numbers that are not known yet

    @property
    def _is_plain(self) -> bool:
        """Whether the coordinates are numbers whose rates are the velocities."""
        return self.configuration_names == self.coordinates

    def read_configuration(self, value: Any, field: str = "configuration") -> Array:
        """Read a user's configuration (nq): a number for one coordinate, or nq numbers."""
        several = f"give {self.nq} numbers: {', '.join(self.configuration_names)}"
        return self.reader.numbers(field, value, self.nq, several if self.nq > 1 else "give a number")

    def mass_matrix(self, q: Array) -> Array:
        """Return the armature, (6 + n) x (6 + n), motors' rotors included."""
        return np.diag(np.concatenate([np.zeros(6), self.total_armature]))

    def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
        """Return the armature's gyroscopic terms, non-zero only for coordinates on a group."""
        return np.concatenate([np.zeros(6), -self.bracket(v).T @ (self.total_armature * v)])

    @property
    def total_armature(self) -> Array:
        """Armature with motors' rotors (n, kg or kg m^2)."""
        return self.armature if self.reflected_inertia is None else self.armature + self.reflected_inertia

    def elastic_energy(self, q: Array) -> Any:
        """Return the energy (J) of spring and stops."""
        delta = self.difference(self.rest, q)
        energy = 0.5 * delta @ self.stiffness @ delta
        return energy + stop_energy(self.limit_numbers, q) if self._has_stops else energy

    def passive_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts (n) of spring, damper, friction and stops."""
        delta = self.difference(self.rest, q)
        efforts = self.damping_efforts(q, v) - self.difference_jacobian(delta).T @ (self.stiffness @ delta)
        return efforts + stop_efforts(self.limit_numbers, q, 0.0 * v) if self._has_stops else efforts

    def damping_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts (n) of damper and friction, and the rate-dependent part of those of stops."""
        efforts = friction_efforts(self.friction, v) - self.damping @ v
        if not self._has_stops:
            return efforts
        return efforts + (stop_efforts(self.limit_numbers, q, v) - stop_efforts(self.limit_numbers, q, 0.0 * v))

    def law_slopes(self, q: Array, v: Array, twist: Array, x: Array) -> tuple[Array, Array, Array]:
        """See `BlockLaw.law_slopes`; for plain coordinates without friction and stops these are stiffness and damping."""
        if not self._is_plain or self._has_stops or self.friction[:, :2].any():
            return super().law_slopes(q, v, twist, x)
        nothing = np.zeros((6, self.nv))
        by_q, by_v = (np.vstack([nothing, matrix]) for matrix in (self.stiffness, self.damping))
        return by_q, by_v, np.zeros((6 + self.nv, 6))

    def gaps(self, motion: TargetMotion) -> Array:
        """Return the distances (k, m or rad) from the stops."""
        return stop_gaps(self.limit_numbers, motion.q) if self._has_stops else np.zeros(0)

    def difference_jacobian(self, delta: Array) -> Array:
        """Return ``d difference(rest, q) / d v`` (n x n)."""
        return np.eye(self.nv)

    # -- parameters ----------------------------------------------------------------------------------------------------

    def parameter_fields(self) -> ParameterFields:
        """Return those of axes, stiffness, damping, rest position, friction, armature, and bounds and coefficients of stops."""
        configuration = tuple(zip(self.configuration_names, self.configuration_units, strict=True))
        bounded = bounded_sides(self.limit_numbers) if self._is_plain else ()
        units = known_units(self.units, self.nv)
        return dict(joint_fields(tuple(self.axis_fields), tuple(self.coordinates), units, configuration, bounded))

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        for field, matrix in (("stiffness", self.stiffness), ("damping", self.damping)):
            if _is_indefinite(matrix):
                expected, advice = "a positive semidefinite matrix", "check the sign: the joint feeds energy or is unstable"
                warnings.append(Finding(f"negative-{field}", f"{self.name}.{field}", matrix.tolist(), expected, advice))
        if any(entry < 0 for entry in self.armature.tolist()):
            where, value = f"{self.name}.armature", self.armature.tolist()
            errors.append(Finding("negative-armature", where, value, "values >= 0", "check the sign"))
        friction = self.friction
        if any(min(coulomb, breakaway) < 0 or min(rest) <= 0 for coulomb, breakaway, *rest in friction.tolist()):
            expected = "coulomb and breakaway >= 0, stribeck_velocity and smoothing > 0"
            errors.append(Finding("bad-friction", f"{self.name}.friction", friction.tolist(), expected, "check the signs"))
        wrong, suspicious = limit_findings(self.name, self.limit_numbers, self.coordinates, self._is_plain)
        errors += wrong
        warnings += suspicious
        rest = self.rest[self.quaternion]
        if len(rest) and np.isfinite(rest).all() and abs(np.linalg.norm(rest) - 1) > TYPED:
            where, advice = f"{self.name}.rest", "change all four together, or build the joint anew with rest="
            errors.append(Finding("not-unit", where, rest.tolist(), "a unit quaternion (x, y, z, w)", advice))
        return errors, warnings


class ConstantSubspace(Joint):
    """Common part of joints whose motion subspace is constant in the child's frame."""

    def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
        """Return ``dS/dt v`` (6): zero."""
        return np.zeros(6)


def _is_indefinite(matrix: Array) -> bool:
    """Tell whether a symmetric matrix of finite numbers has a negative eigenvalue beyond rounding."""
    if len(matrix) <= 1:
        return any(-math.inf < entry < 0 for entry in matrix.ravel().tolist())
    return bool(matrix.any() and is_finite(matrix) and np.linalg.eigvalsh(matrix)[0] < -SAME * np.abs(matrix).max())


def is_elementary(joint: Block) -> bool:
    """Tell whether a block is one of titop's joints without redefinitions: then its `chain` describes it."""
    return isinstance(joint, Joint) and bool(joint.chain) and not overrides(joint)


def unit_vector(axis: Array) -> Array:
    """Return the unit vector along `axis`, of any length."""
    if axis.dtype != object:
        axis = axis / np.abs(np.real(axis)).max()
    return axis / np.sqrt(axis @ axis)
