"""Reaction wheels: rotor, bearing, motor and momentum sensor in one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.contract.block import Block, PortRef
from titop.blocks.contract.fields import Consumed
from titop.blocks.devices.actuators import Motor
from titop.blocks.devices.sensors import WheelMomentum
from titop.blocks.devices.signal_path import SignalPath
from titop.blocks.joints.friction_and_limits import Limits
from titop.blocks.joints.joint import unit_vector
from titop.blocks.joints.plain_joints import Revolute


class ReactionWheel:
    """A balanced wheel with its motor; `System.add_actuator` installs its parts.

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

    Notes
    -----
    To change a wheel later, set fields of its parts `bearing`, `rotor` and `motor`; those of the wheel itself are refused.
    """

    axis, inertia, mass = Consumed(), Consumed(), Consumed()
    torque_limit, friction, path = Consumed(), Consumed(), Consumed()

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
        self.name, self.target = name, target
        self.motor = Motor(f"{name}/motor", name, effort_limit=torque_limit, path=path)
        self.bearing = Revolute(name, axis=axis, friction=friction, limits=Limits(effort=self.motor.upper))
        usable = not self.bearing.reader.findings and self.bearing.axis.any()
        spin = unit_vector(self.bearing.axis) if usable else np.array([0.0, 0.0, 1.0])
        inertia = self.bearing.reader.scalar("inertia", inertia)
        self.rotor = RigidBody(f"{name}/rotor", mass, inertia=inertia / 2 * (np.eye(3) + np.outer(spin, spin)))
        self.momentum = WheelMomentum(f"{name}/momentum", self.bearing)
