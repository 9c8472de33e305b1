"""Rigid bodies and the world."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import Pose, pose_findings, pose_suspicions, read_ports
from titop.blocks.basics.spatial import Array, gyroscopic_wrench, rigid_inertia
from titop.blocks.basics.tolerances import EPS, SAME, TYPED
from titop.blocks.bodies.water.fluid import Fluid
from titop.blocks.bodies.water.immersed import ImmersedBody
from titop.blocks.contract.block import ENTRIES, Block, ParameterFields, PortRef, overrides, with_number
from titop.blocks.contract.description import MassProperties
from titop.blocks.contract.fields import Field, scalar, symmetric, vector, without
from titop.blocks.contract.own_coordinates import redefines

#: The six independent entries of an inertia tensor, in the order in which parameters list them.
INERTIA_ENTRIES = ENTRIES[3, 3]
#: A body's own inertial parameters, and their names.
INERTIAL_FIELDS: ParameterFields = {
    "mass": ("mass", (), "kg"),
    **{f"com.{axis}": ("com", (k,), "m") for k, axis in enumerate("xyz")},
    **{f"inertia.{entry}": ("inertia", ij, "kg m^2") for entry, ij in INERTIA_ENTRIES.items()},
}
INERTIAL_NAMES = tuple(INERTIAL_FIELDS)


class PortedBlock(Block):
    """A block whose ports are poses fixed in its reference frame."""

    def __init__(self, name: str, ports: Mapping[str, Any] | None = None) -> None:
        super().__init__(name)
        self.port_poses: dict[str, Pose] = read_ports(self.reader, ports)

    @property
    def ports(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the ports; when set, they are read as by the constructor."""
        return tuple(self.port_poses)

    @ports.setter
    def ports(self, ports: Any) -> None:
        for field in ("ports", *map(str, self.port_poses)):
            self.reader = without(self.reader, field)
        self.port_poses = read_ports(self.reader, ports)

    def add_port(self, name: str, position: Any = (0.0, 0.0, 0.0), rotation: Any = None) -> PortRef:
        """Add a port and return it.

        Parameters
        ----------
        name : str
            Unique in the block, without dots.
        position : array_like (3,), m, or Pose
            In the reference frame.
        rotation : 3x3 matrix or scipy Rotation, optional
            Orientation in the reference frame, beside a position.

        Raises
        ------
        ModelError
            If position or rotation cannot be used.
        """
        if name in self.port_poses:
            self.reader.report("duplicate-port", name, name, "port names to be unique in a block", "choose another name")
        if isinstance(position, Pose) and rotation is not None:
            advice = "give a position and a rotation, or a tt.Pose"
            raise ModelError(Finding("wrong-type", f"{self.name}.{name}", "a Pose and a rotation", "one orientation", advice))
        self.port_poses[name] = position.copy() if isinstance(position, Pose) else Pose(position, rotation)
        return self.port(name)

    def pose(self, port: str | None, q: Array | None = None) -> tuple[Array, Array]:
        """Return rotation and position of a port (None: the reference frame itself)."""
        if port is None:
            return np.eye(3), np.zeros(3)
        pose = self.port_poses[port]
        return pose.rotation, pose.position

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        for port in self.ports:
            if not isinstance(port, str) or not port or "." in port or not port.isprintable():
                expected = "a port name without dots or control characters"
                errors.append(Finding("bad-name", f"{self.name}.{port}", port, expected, "rename it"))
            errors += pose_findings(f"{self.name}.{port}", self.port_poses[port])
            warnings += pose_suspicions(f"{self.name}.{port}", self.port_poses[port])
        return errors, warnings

    def parameter_fields(self) -> ParameterFields:
        return port_fields(tuple(self.port_poses)) if self.port_poses else {}


#: By name, of the numbers of a pose: the paths in it, and units.
_POSE = {f"position.{axis}": (("position", k), "m") for k, axis in enumerate("xyz")}
_POSE |= {f"rotation.{axis}": (("rotation_vector", k), "rad") for k, axis in enumerate("xyz")}


@cache
def port_fields(ports: tuple[str, ...], field: str = "port_poses", inside: tuple[Any, ...] = ()) -> ParameterFields:
    """Return the parameters of ports whose poses are `inside` the entries of a field, a mapping of their names."""
    return {f"{port}.{name}": (field, (port, *inside, *path), unit) for port in ports for name, (path, unit) in _POSE.items()}


def pose_parameters(pose: Pose) -> dict[str, tuple[float, str]]:
    """Return a pose's six numbers by name, with units."""
    numbers = pose.position.tolist() + pose.rotation_vector.tolist()
    return {name: (number, unit) for number, (name, (_, unit)) in zip(numbers, _POSE.items(), strict=True)}


def moved_pose(pose: Pose, entry: str, value: float) -> Pose:
    """Return a pose with one of its six numbers changed."""
    moved: Pose = with_number(pose, _POSE[entry][0], value)
    return moved


class World(PortedBlock):
    """The inertial frame, as the block at the root of every system."""

    def __init__(self) -> None:
        super().__init__("world")

    @property
    def is_rigid(self) -> bool:  # type: ignore[override]
        """Whether no part of the law is redefined."""
        return not overrides(self)


class RigidBody(ImmersedBody, PortedBlock):
    """A rigid body with any number of ports.

    Parameters
    ----------
    name : str
        Unique name in the system.
    mass : float, kg
    com : array_like (3,), m
        Centre of mass in the reference frame.
    inertia : array_like (3, 3), kg m^2
        About the centre of mass, in body axes; a number or three numbers mean a diagonal matrix. Zero (the default)
        gives a point mass.
    ports : mapping of name to position (3, m) or Pose
        Ports in the reference frame. The body may be connected to its parent by any port, or by the reference frame.
    fluid : Fluid, optional
        The fluid around the body; the following arguments define its effects.
    volume : float, m^3
        Displaced volume; required in a fluid.
    buoyancy_center : array_like (3,), m, optional
        Centre of that volume in the reference frame; the centre of mass by default.
    added_mass : float, mapping or array_like (6, 6), optional
        Added mass. A number, or numbers for ``"x"``, ``"y"`` and ``"z"``, is a fraction of the displaced mass, at the centre
        of buoyancy: 0.5 for a sphere. A matrix is an inertia at the reference frame (kg, kg m, kg m^2).
    drag : float, mapping or array_like (6, 6), optional
        A number, or numbers for ``"x"``, ``"y"`` and ``"z"``, is a drag coefficient times its area (m^2): the force at the
        centre of buoyancy is ``-rho/2 C |v| v``. ``"turn"``, or ``"turn_x"`` and so on, gives a moment quadratic in the
        angular velocity (N m s^2); ``"linear"`` (N s/m) and ``"linear_turn"`` (N m s) are linear in velocity and angular
        velocity. A matrix Q at the reference frame gives the wrench ``-|v| Q V`` (kg/m and so on); it may include lift, but
        must not create energy.
    lift : float or array_like (3,), m^2, optional
        An axis l: the force at the centre of buoyancy is ``rho/2 |v| l x v``. A number means an axis along x.

    Notes
    -----
    No own coordinates. Law (key A, eqs. 11, 25 and 29): ``W = D (A - G) + h``, ``h = -ad(V)^T D V``. In a fluid D includes the
    added mass, which has no weight; V is then relative to the current, which includes Munk's moment (Kirchhoff's equations).

    Errors in the values are reported together with all others when the system is resolved.

    Examples
    --------
    >>> import titop as tt
    >>> hub = tt.RigidBody("hub", mass=10.0, inertia=[5, 10, 10], ports={"C": [0, -2, 0]})
    >>> hub.mass_matrix()[0, 0].item()
    10.0
    """

    file_tables = ("bodies",)
    symmetric_fields = ("inertia",)
    mass = Field(scalar)
    com = Field(vector)
    inertia = Field(symmetric(3))

    def __init__(
        self,
        name: str,
        mass: float,
        com: Any = (0.0, 0.0, 0.0),
        inertia: Any = 0.0,
        ports: Mapping[str, Any] | None = None,
        fluid: Fluid | None = None,
        volume: float | None = None,
        buoyancy_center: Any = None,
        added_mass: Any = None,
        drag: Any = None,
        lift: Any = None,
    ) -> None:
        super().__init__(name, ports)
        self.mass, self.com, self.inertia = mass, com, inertia
        self.fluid, self.volume, self.buoyancy_center = fluid, volume, buoyancy_center
        self.added_mass, self.drag, self.lift = added_mass, drag, lift

    def mass_matrix(self, q: Array | None = None) -> Array:
        """Return the 6x6 inertia D (kg, kg m and kg m^2) at the reference frame (key A, eq. 11), with the added mass."""
        inertia = rigid_inertia(self.mass, self.com, self.inertia)
        return inertia if self.fluid is None else inertia + self.added_inertia(q)

    def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
        """Return ``h = -ad(V)^T D V`` (key A, eq. 25)."""
        return gyroscopic_wrench(self.mass_matrix(q), twist)

    @property
    def is_rigid(self) -> bool:  # type: ignore[override]
        """Whether the body is in no fluid, and no part of the law is redefined."""
        return self.fluid is None and not overrides(self)

    def mass_properties(self) -> MassProperties:
        """Return mass, centre of mass and inertia of the body itself."""
        if redefines(self, "mass_matrix", RigidBody):
            return super().mass_properties()
        return MassProperties(self.mass, self.com, self.inertia)

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        errors += self.fluid_findings()
        check_mass_and_inertia(self, errors, warnings)
        if self.mass == 0 and np.isfinite(self.inertia).all() and self.inertia.any():
            expected = "a mass, since there is an inertia"
            warnings.append(Finding("massless-inertia", f"{self.name}.mass", 0.0, expected, "give the mass"))
        return errors, warnings

    def parameter_fields(self) -> ParameterFields:
        fields = INERTIAL_FIELDS | super().parameter_fields()
        return fields if self.fluid is None else fields | self.fluid_fields()


def is_plainly_sound(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float) -> bool:
    """Tell whether an inertia with these entries is physical, without computing its principal moments.

    Half the trace minus the inertia is the integral of ``r r^T`` over the mass. The inertia is physical if this matrix has no
    negative principal value, since principal moments are sums of two of them. The test uses pivots, after adding a fraction of
    the trace for rounding; that changes the principal moments by less than the rounding that `check_inertia` allows.
    """
    half = (0.5 + 0.1 * SAME) * (xx + yy + zz)
    return is_positive(half - xx, half - yy, half - zz, -xy, -xz, -yz) or not (xx or yy or zz or xy or xz or yz)


def is_positive(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float) -> bool:
    """Tell whether a symmetric 3x3 matrix of these entries is positive definite: whether all its pivots are positive."""
    if not xx > 0.0:
        return False
    across = xy / xx
    second = yy - xy * across
    if not second > 0.0:
        return False
    both = yz - xz * across
    return zz - xz * xz / xx - both * both / second > 0.0


def check_mass_and_inertia(body: Any, errors: list[Finding], warnings: list[Finding]) -> None:
    """Add what is wrong with mass and inertia of a body to the errors and warnings."""
    if body.mass < 0:
        errors.append(Finding("negative-mass", f"{body.name}.mass", body.mass, "a mass >= 0", "check the sign and the unit"))
    if np.isfinite(body.inertia).all() and np.isfinite(body.com).all() and np.isfinite(body.mass):
        check_inertia(f"{body.name}.inertia", body.inertia, float(body.mass * body.com @ body.com), errors, warnings)


def check_inertia(where: str, inertia: Array, moved: float, errors: list[Finding], warnings: list[Finding]) -> None:
    """Add what is wrong with an inertia (3x3, about the centre of mass) to the errors and warnings.

    `moved` (kg m^2) is the additional inertia at the body's reference frame: if that was given, its rounding remains.
    """
    if is_plainly_sound(*(float(inertia[ij]) for ij in INERTIA_ENTRIES.values())):
        return
    moments = np.linalg.eigvalsh(inertia)
    largest = np.abs(moments).max()
    tolerance = SAME * largest + 4 * EPS * abs(moved)
    if moments[0] < -tolerance:
        advice = "check signs and that it is about the centre of mass"
        errors.append(Finding("negative-inertia", where, moments, "principal moments >= 0", advice))
    elif (excess := moments[2] - moments[0] - moments[1]) > max(TYPED * largest, tolerance):
        expected = f"no principal moment above the sum of the others (by {excess:.1e})"
        warnings.append(Finding("triangle-inequality", where, moments, expected, "check units and products of inertia"))
