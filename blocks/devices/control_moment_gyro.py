"""Control moment gyros: a wheel on one or two gimbals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

from titop.blocks.basics.errors import Finding
from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.contract.block import Block, ParameterFields, PortRef
from titop.blocks.contract.fields import Field, Kept, axis, bound, non_negative, optional, scalar, symmetric, vector
from titop.blocks.devices.actuators import Motor
from titop.blocks.devices.reaction_wheel import ReactionWheel
from titop.blocks.joints.friction_and_limits import Limits
from titop.blocks.joints.plain_joints import Revolute


class ControlMomentGyro(ReactionWheel):
    """A wheel whose axis gimbals turn; `System.add_device` installs its parts.

    Joints are ``name/gimbal``, before it ``name/outer`` if there are two gimbals, and the wheel's bearing ``name/wheel``, each
    with one angle; bodies ``name/frame``, which the gimbal turns, ``name/yoke``, which the outer one does, and ``name/rotor``.
    Inputs are the torques ``name/gimbal_motor``, ``name/outer_motor`` and ``name/motor``, of the wheel; the output is the
    wheel's momentum, ``name/momentum``.

    Parameters
    ----------
    name : str
    target : PortRef or Block
        Port that carries it; the gimbals' axes go through its origin. All directions are in the port's frame, where angles are
        zero.
    gimbal_axis, axis : array_like (3,)
        Of the gimbal that carries the wheel, and of the wheel's spin.
    inertia, mass : float, kg m^2 and kg
        Of the rotor, as in `ReactionWheel`.
    gimbal_mass, gimbal_com, gimbal_inertia : float, array_like (3,) and (3, 3); kg, m, kg m^2
        Of the frame, without the rotor; the inertia about its mass centre.
    gimbal_damping : float, N m s/rad
        Of each gimbal.
    gimbal_torque_limit : float, N m
        Of the motor of each gimbal.
    offset : array_like (3,), m
        Of the wheel's centre from the port.
    outer_axis : array_like (3,), optional
        Of an outer gimbal, which carries the other.
    outer_mass, outer_inertia : float, array_like (3, 3); kg, kg m^2
        Of its yoke, whose mass centre is at the port.
    speed : float, rad/s, optional
        Of the wheel, held by a loop of its motor; by default it is free.
    bandwidth : float, rad/s
        Of that loop: it acts with ``inertia bandwidth (speed - v)``, beside the motor's torque and its limit.
    **wheel
        Other arguments of `ReactionWheel`: imbalance, friction, limits.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("agile", gravity=[0, 0, 0])
    >>> hub = tt.RigidBody("hub", 100.0, inertia=10.0)
    >>> s.connect("world", hub, tt.Free("base"))
    >>> s.add_device(tt.ControlMomentGyro("cmg", hub, [1, 0, 0], [0, 0, 1], inertia=0.1, mass=5.0))
    >>> m = s.resolve()
    >>> v = m.velocity({"cmg/wheel": 300.0, "cmg/gimbal": 0.2})
    >>> tau = m.inverse_dynamics(m.neutral(), v, [0.0] * m.nv)
    >>> round(float(tau[4]), 9)  # 30 N m s turned at 0.2 rad/s
    -6.0
    """

    symmetric_fields = ("gimbal_inertia", "outer_inertia")
    parameter_units: ClassVar = ReactionWheel.parameter_units | {
        **{"gimbal_damping": "N m s/rad", "gimbal_mass": "kg", "gimbal_com": "m", "gimbal_inertia": "kg m^2"},
        **{"gimbal_axis": "1", "offset": "m", "outer_mass": "kg", "outer_inertia": "kg m^2", "outer_axis": "1"},
        **{"speed": "rad/s", "bandwidth": "rad/s"},
    }
    gimbal_axis, outer_axis = Field(axis), Kept(optional(axis))
    gimbal_mass, outer_mass = Field(non_negative("negative-mass")), Field(non_negative("negative-mass"))
    gimbal_com, offset = Field(vector), Field(vector)
    gimbal_inertia, outer_inertia = Field(symmetric(3)), Field(symmetric(3))
    gimbal_damping, gimbal_torque_limit = Field(non_negative("negative-damping")), Field(bound)
    speed, bandwidth = Kept(optional(scalar)), Field(non_negative("negative-bandwidth"))

    def __init__(
        self,
        name: str,
        target: PortRef | Block,
        gimbal_axis: Any,
        axis: Any,
        inertia: float,
        mass: float,
        *,
        gimbal_mass: float = 0.0,
        gimbal_com: Any = (0.0, 0.0, 0.0),
        gimbal_inertia: Any = 0.0,
        gimbal_damping: float = 0.0,
        gimbal_torque_limit: float = math.inf,
        offset: Any = (0.0, 0.0, 0.0),
        outer_axis: Any = None,
        outer_mass: float = 0.0,
        outer_inertia: Any = 0.0,
        speed: float | None = None,
        bandwidth: float = 100.0,
        **wheel: Any,
    ) -> None:
        super().__init__(name, target, axis, inertia, mass, **wheel)
        self.gimbal_axis, self.gimbal_mass, self.gimbal_com = gimbal_axis, gimbal_mass, gimbal_com
        self.gimbal_inertia, self.gimbal_damping, self.gimbal_torque_limit = gimbal_inertia, gimbal_damping, gimbal_torque_limit
        self.offset, self.outer_axis, self.outer_mass, self.outer_inertia = offset, outer_axis, outer_mass, outer_inertia
        self.speed, self.bandwidth = speed, bandwidth

    def parameter_fields(self) -> ParameterFields:
        unused = {"bandwidth"} if self.speed is None else set[str]()
        unused |= {"outer_mass", "outer_inertia"} if self.outer_axis is None else set()
        return {name: entry for name, entry in super().parameter_fields().items() if entry[0] not in unused}

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        limit = math.inf if self.speed_limit is None else self.speed_limit
        if not errors and self.speed is not None and abs(self.speed) > limit:
            self._refuse(errors, "speed", f"at most the speed_limit, {limit:.6g} rad/s", "hold a slower speed")
        return errors, warnings

    def parts(self) -> Iterator[tuple[Any, ...]]:
        limits, target = Limits(effort=self.gimbal_torque_limit), self.target
        frame = RigidBody(
            f"{self.name}/frame", self.gimbal_mass, self.gimbal_com, self.gimbal_inertia, ports={"wheel": self.offset}
        )
        bodies = [("gimbal", self.gimbal_axis, frame)]
        if self.outer_axis is not None:
            yoke = RigidBody(f"{self.name}/yoke", self.outer_mass, inertia=self.outer_inertia)
            bodies.insert(0, ("outer", self.outer_axis, yoke))
        for name, turning, body in bodies:  # from the port outwards
            joint = Revolute(f"{self.name}/{name}", axis=turning, damping=self.gimbal_damping, limits=limits)
            yield "connect", target, body, joint
            yield "add_actuator", Motor(f"{self.name}/{name}_motor", joint.name, effort_limit=self.gimbal_torque_limit)
            target = body.port(None)
        held = (0.0, 0.0) if self.speed is None else (self.inertia * self.bandwidth, self.speed)
        yield from self._wheel(f"{self.name}/wheel", frame.port("wheel"), *held)
