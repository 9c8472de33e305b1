"""Reaction wheels: rotor, bearing, motor and momentum sensor in one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array, cross
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.bodies.rigid_body import RigidBody, check_inertia
from titop.blocks.contract.block import Block, ParameterFields, PortRef
from titop.blocks.contract.fields import Field, Fixed, Kept, axis, bound, choice, non_negative, optional, scalar
from titop.blocks.devices.actuators import Motor
from titop.blocks.devices.composite_device import CompositeDevice
from titop.blocks.devices.device import read_path
from titop.blocks.devices.loads import read_target
from titop.blocks.devices.sensors import WheelMomentum
from titop.blocks.devices.signal_path import SignalPath
from titop.blocks.devices.wheel_loads import WheelLoads
from titop.blocks.interactions.harmonics import row_fields
from titop.blocks.joints.friction_and_limits import Limits, read_friction
from titop.blocks.joints.joint import unit_vector
from titop.blocks.joints.plain_joints import Revolute

_JITTER = choice(("coupled", "force", "none"), "bad-jitter")


def _read_harmonics(wheel: Any, field: str, value: Any) -> Array:
    """Read rows of order, force and torque (k, 3)."""
    rows = real_array(value)
    count = 0 if rows is None or rows.ndim < 2 else len(rows)
    read: Array = wheel.reader.array(field, value if np.size(value) else np.zeros((0, 3)), (count, 3))
    if not read[:, 0].all():
        wheel.reader.report("bad-order", field, value, "orders other than zero", "a load that does not turn is no jitter")
    return read


class HarmonicLoads(NamedTuple):
    """Wrenches that oscillate: ``Re(force exp(i frequency t))`` and the same of torques.

    Attributes
    ----------
    frequency : (k,) array, rad/s
    force, torque : (k, 3) complex arrays, N and N m
        Their absolute values are the amplitudes along each axis.
    """

    frequency: Array
    force: Array
    torque: Array


class Rotor(RigidBody):
    """A body that pictures show as a disc about its axis."""

    drawn_as = "cylinder"


class ReactionWheel(CompositeDevice):
    """A wheel with its motor, which may be out of balance; `System.add_device` installs its parts.

    The bearing is the joint ``name`` (one coordinate, the wheel's angle), the rotor the body ``name/rotor``; the input
    ``name/motor`` is the motor's torque on the rotor, of which the target feels the opposite; the output ``name/momentum`` is
    the wheel's stored momentum.

    Parameters
    ----------
    name : str
    target : PortRef or Block
        Port that carries the wheel; the wheel's centre is at its origin.
    axis : array_like (3,)
        Spin axis in the port's frame.
    inertia : float, kg m^2
        Of the rotor about its mass centre, along the spin axis.
    mass : float, kg
        Of the rotor.
    torque_limit : float, N m
        Limit of the motor. Efforts applied to the bearing itself, as `name`, are not limited, and count as violations.
    friction : Friction, optional
        Of the bearing.
    damping : float, N m s/rad
        Of the bearing.
    transverse_inertia : float, kg m^2, optional
        About the other axes; half of `inertia` by default (a thin disc).
    static_imbalance : float, kg m
        Mass times distance of the mass centre from the axis.
    dynamic_imbalance : float, kg m^2
        Product of inertia of the axis and the direction a quarter of a turn ahead of the mass centre.
    phase : float, rad
        Angle of the mass centre about the axis where the wheel's is zero, from the port's axis that follows, in the order x, y,
        z, the one nearest to the spin axis (from x if that is z).
    speed_limit : float, rad/s, optional
        From here on the motor drives no faster: within a thousandth of it a torque against the spin grows to `torque_limit`,
        whatever the command. The motor may still brake; a wheel that coasts above the limit is braked.
    jitter : {"coupled", "force"} or None
        How imbalance acts: by the rotor's mass distribution, exactly; or by the loads of steady spin on the port, ``U_s v^2``
        (force) and ``U_d v^2`` (torque), which turn with the wheel; or not at all.
    harmonics : sequence of (order, force, torque)
        Loads that turn with `order` times the wheel's angle: ``force v^2`` (N s^2) and ``torque v^2`` (N m s^2).
    jitter_gain : float
        Factor on harmonics and on the loads of ``jitter="force"``.
    path : SignalPath, optional
        Of the motor's commands.

    Notes
    -----
    Harmonics and the loads of ``jitter="force"`` disturb (`Block.disturbances`): simulations have them, equilibria and linear
    models do not, and so stay the same while the wheel turns. They enter linear models by the wrench at the wheel's port, as
    the input ``"hub.w"``, with what `harmonic_loads` gives. A rotor that is ``"coupled"`` is out of balance by itself: it spins
    without an equilibrium, and its linear model changes with the angle.

    With s the axis, e2 the direction of the mass centre and e3 = s x e2 the rotor has the inertia
    ``J_s s s^T + J_t (1 - s s^T) + U_d (s e3^T + e3 s^T)`` about its mass centre, at ``U_s / mass e2``. Alcorn, Allard,
    Schaub, *Fully coupled reaction wheel static and dynamic imbalance for spacecraft jitter modeling*, Journal of Guidance,
    Control, and Dynamics 41(6), 2018.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("satellite", gravity=[0, 0, 0])
    >>> hub = tt.RigidBody("hub", 100.0, inertia=10.0)
    >>> s.connect("world", hub, tt.Free("base"))
    >>> s.add_device(tt.ReactionWheel("wheel", hub, [0, 0, 1], inertia=0.1, mass=5.0, static_imbalance=1e-5, jitter="force"))
    >>> m = s.resolve()
    >>> m.forward_dynamics(m.neutral(), m.velocity({"wheel": 100.0})).round(6)[:1]  # 0.1 N on 105 kg
    array([0.000952])
    """

    parameter_units: ClassVar = {  # beside those of the bearing, which have the same names
        **{"inertia": "kg m^2", "transverse_inertia": "kg m^2", "mass": "kg", "static_imbalance": "kg m"},
        **{"dynamic_imbalance": "kg m^2", "phase": "rad", "jitter_gain": "1", "speed_limit": "rad/s", "axis": "1"},
    }
    target = Fixed(read_target)
    axis = Field(axis)
    inertia, mass = Field(scalar), Field(non_negative("negative-mass"))
    torque_limit = Field(bound)
    friction = Field(lambda wheel, field, value: read_friction(wheel.reader, value, 1))
    damping = Field(non_negative("negative-damping"))
    transverse_inertia = Kept(optional(scalar))
    static_imbalance, dynamic_imbalance, phase, jitter_gain = Field(scalar), Field(scalar), Field(scalar), Field(scalar)
    speed_limit = Kept(optional(non_negative("negative-limit")))
    jitter = Fixed(lambda wheel, field, value: _JITTER(wheel, field, "none" if value is None else value))
    harmonics = Fixed(_read_harmonics)
    path = Field(read_path)

    def __init__(
        self,
        name: str,
        target: PortRef | Block,
        axis: Any,
        inertia: float,
        mass: float,
        torque_limit: float = math.inf,
        friction: Any = None,
        *,
        damping: float = 0.0,
        transverse_inertia: float | None = None,
        static_imbalance: float = 0.0,
        dynamic_imbalance: float = 0.0,
        phase: float = 0.0,
        speed_limit: float | None = None,
        jitter: str | None = "coupled",
        harmonics: Any = (),
        jitter_gain: float = 1.0,
        path: SignalPath | None = None,
    ) -> None:
        super().__init__(name)
        self.target, self.axis, self.inertia, self.mass = target, axis, inertia, mass
        self.torque_limit, self.friction, self.damping, self.path = torque_limit, friction, damping, path
        self.transverse_inertia, self.speed_limit, self.jitter = transverse_inertia, speed_limit, jitter
        self.static_imbalance, self.dynamic_imbalance, self.phase = static_imbalance, dynamic_imbalance, phase
        self.jitter_gain, self.harmonics = jitter_gain, harmonics

    def harmonic_loads(self, speed: float) -> HarmonicLoads:
        """Return the loads on the wheel's port, in its axes, of steady spin: imbalance, if there is any jitter, then harmonics.

        Parameters
        ----------
        speed : float, rad/s
            Of the wheel, whose angle is zero at the time zero.

        Raises
        ------
        ModelError
            For a speed that is not a finite number, and for a wheel that is not valid.

        Examples
        --------
        >>> import titop as tt
        >>> hub = tt.RigidBody("hub", 100.0, inertia=10.0)
        >>> wheel = tt.ReactionWheel("wheel", hub, [0, 0, 1], 0.1, 5.0, static_imbalance=1e-5, jitter="force")
        >>> loads = wheel.harmonic_loads(100.0)
        >>> loads.frequency.tolist(), abs(loads.force).round(9).tolist()  # 0.1 N, once a turn, in the wheel's plane
        ([100.0], [[0.1, 0.1, 0.0]])
        """
        reader = FieldReader(self.name)
        reader.findings = self.check()[0]
        speed = reader.scalar("speed", speed)
        reader.raise_findings()
        order, force, torque, phase = self._lines(imbalance=self.jitter != "none").T
        _, radial, tangential = self._directions()
        turning = np.exp(1j * phase)[:, None] * (radial - 1j * tangential)
        turning = self.jitter_gain * speed**2 * (turning if speed >= 0 else turning.conj())
        return HarmonicLoads(order * abs(speed), force[:, None] * turning, torque[:, None] * turning)

    def _lines(self, imbalance: bool) -> Array:
        """Return order, force (N s^2), torque (N m s^2) and phase (rad) of what turns (k, 4): of imbalance, of harmonics."""
        rows = [(1.0, self.static_imbalance, self.dynamic_imbalance, self.phase)] if imbalance else []
        return np.array([*rows, *((*row, row[0] * self.phase) for row in self.harmonics)]).reshape(-1, 4)

    def parameter_fields(self) -> ParameterFields:
        lines = row_fields("harmonics", self.harmonics, {"order": "", "force": "N s^2", "torque": "N m s^2"})
        return super().parameter_fields() | lines

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if errors:
            return errors, warnings
        if self.static_imbalance and not self.mass:
            self._refuse(errors, "static_imbalance", "a rotor with mass", "give its mass")
        wrong: list[Finding] = []
        check_inertia("", self._rotor_inertia(self.dynamic_imbalance), 0.0, wrong, wrong)
        if self.dynamic_imbalance and wrong:
            advice = "give transverse_inertia, by default that of a thin disc"
            self._refuse(errors, "dynamic_imbalance", "a product of inertia that some distribution of mass has", advice)
        if self.speed_limit is not None and not (self.speed_limit > 0 and self.torque_limit < math.inf):
            self._refuse(errors, "speed_limit", "a limit > 0 of a motor that has a torque_limit", "give both")
        return errors, warnings

    def _refuse(self, errors: list[Finding], field: str, expected: str, advice: str) -> None:
        errors.append(Finding(f"bad-{field.replace('_', '-')}", f"{self.name}.{field}", getattr(self, field), expected, advice))

    def _directions(self) -> tuple[Array, Array, Array]:
        """Return the axis, and the directions from which and towards which angles count."""
        spin = unit_vector(self.axis)
        following = np.eye(3)[(int(np.argmax(np.abs(spin))) + 1) % 3]
        radial = unit_vector(following - (following @ spin) * spin)
        return spin, radial, cross(spin, radial)

    def _rotor_inertia(self, product: float) -> Array:
        """Return the rotor's inertia (3, 3; kg m^2) with a product of inertia."""
        spin, radial, tangential = self._directions()
        across = self.inertia / 2 if self.transverse_inertia is None else self.transverse_inertia
        ahead = np.outer(spin, np.cos(self.phase) * tangential - np.sin(self.phase) * radial)
        along = np.outer(spin, spin)
        return self.inertia * along + across * (np.eye(3) - along) + product * (ahead + ahead.T)

    def parts(self) -> Iterator[tuple[Any, ...]]:
        return self._wheel(self.name, self.target)

    def _wheel(self, bearing: str, target: PortRef, servo: float = 0.0, speed: float = 0.0) -> Iterator[tuple[Any, ...]]:
        """Yield the parts of a wheel on a port; its `speed` (rad/s) is held by a gain (N m s/rad)."""
        _, radial, tangential = self._directions()
        com, product, lines = np.zeros(3), 0.0, self._lines(imbalance=self.jitter == "force")
        if self.jitter == "coupled" and self.mass:
            com = self.static_imbalance / self.mass * (np.cos(self.phase) * radial + np.sin(self.phase) * tangential)
        if self.jitter == "coupled":
            product = self.dynamic_imbalance
        limits = Limits(effort=self.torque_limit)
        joint = Revolute(bearing, axis=self.axis, damping=self.damping, friction=self.friction, limits=limits)
        yield "connect", target, Rotor(f"{self.name}/rotor", self.mass, com, self._rotor_inertia(product)), joint
        yield "add_actuator", Motor(f"{self.name}/motor", bearing, effort_limit=self.torque_limit, path=self.path)
        yield "add_sensor", WheelMomentum(f"{self.name}/momentum", bearing)
        if len(lines) or servo or self.speed_limit is not None:
            limit, torque = (1.0, 0.0) if self.speed_limit is None else (self.speed_limit, self.torque_limit)
            numbers = limit, torque, self.jitter_gain, servo, speed
            yield "add_interaction", WheelLoads(f"{self.name}/loads", *numbers, radial, tangential, lines), target, bearing
