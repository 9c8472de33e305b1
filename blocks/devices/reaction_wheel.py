"""Reaction wheels: rotor, bearing, motor and momentum sensor in one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.contract.block import Block, ParameterFields, PortRef
from titop.blocks.contract.fields import Field, Fixed, axis, bound, non_negative, scalar, zero_axes
from titop.blocks.devices.actuators import Motor
from titop.blocks.devices.composite_device import CompositeDevice
from titop.blocks.devices.loads import read_target
from titop.blocks.devices.sensors import WheelMomentum
from titop.blocks.devices.signal_path import SignalPath, read_path
from titop.blocks.joints.friction_and_limits import Limits, read_friction
from titop.blocks.joints.joint import unit_vector
from titop.blocks.joints.plain_joints import Revolute


class ReactionWheel(CompositeDevice):
    """A balanced wheel with its motor; `System.add_device` installs its parts.

    The bearing is the joint ``name`` (one coordinate, the wheel's angle), the rotor the body ``name/rotor``; the input
    ``name/motor`` is the motor's torque on the rotor, the output ``name/momentum`` the wheel's stored momentum.

    Parameters
    ----------
    name : str
    target : PortRef or Block
        Port that carries the wheel; the wheel's centre is at its origin.
    axis : array_like (3,)
        Spin axis in the port's frame.
    inertia : float, kg m^2
        About the spin axis; half of it about the others (a thin disc).
    mass : float, kg
    torque_limit : float, N m
        Limit of the motor. Efforts applied to the bearing itself, as `name`, are not limited, and count as violations.
    friction : Friction, optional
        Of the bearing.
    path : SignalPath, optional
        Of the motor's commands.
    """

    parameter_units = {"inertia": "kg m^2", "mass": "kg"}  # noqa: RUF012
    target = Fixed(read_target)
    axis = Field(axis)
    inertia = Field(scalar)
    mass = Field(non_negative("negative-mass"))
    torque_limit = Field(bound)
    friction = Field(lambda wheel, field, value: read_friction(wheel.reader, value, 1))
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
        path: SignalPath | None = None,
    ) -> None:
        super().__init__(name)
        self.target, self.axis, self.inertia, self.mass = target, axis, inertia, mass
        self.torque_limit, self.friction, self.path = torque_limit, friction, path

    def parameter_fields(self) -> ParameterFields:
        return super().parameter_fields() | {f"axis.{each}": ("axis", (k,), "1") for k, each in enumerate("xyz")}

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        return errors + zero_axes(self, ("axis",)), warnings

    def parts(self) -> Iterator[tuple[Any, ...]]:
        spin = unit_vector(self.axis)
        bearing = Revolute(self.name, axis=self.axis, friction=self.friction, limits=Limits(effort=self.torque_limit))
        inertia = self.inertia / 2 * (np.eye(3) + np.outer(spin, spin))
        yield "connect", self.target, RigidBody(f"{self.name}/rotor", self.mass, inertia=inertia), bearing
        yield "add_actuator", Motor(f"{self.name}/motor", self.name, effort_limit=self.torque_limit, path=self.path)
        yield "add_sensor", WheelMomentum(f"{self.name}/momentum", self.name)
