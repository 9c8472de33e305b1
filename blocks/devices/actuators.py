"""Actuators: blocks with named scalar inputs that act on joints and ports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block, ParameterFields, PortRef, block_name
from titop.blocks.contract.fields import (
    Field,
    axis,
    bound,
    choice,
    fields_of,
    non_negative,
    optional,
    refuse_change,
    scalar,
    zero_axes,
)
from titop.blocks.contract.own_coordinates import effort_unit, inertia_unit
from titop.blocks.devices.loads import FRAMES, read_target
from titop.blocks.devices.signal_path import Device, FilterKind, SignalPath


class Actuator(Device):
    """Common part of all actuators.

    Attributes
    ----------
    inputs : tuple of str
        Names of the inputs within the block; a single input has the block's name.
    input_unit : str
        Of each of them.
    lower, upper : float
        Range of each input, data for `Trajectory.violations`.

    Notes
    -----
    All actuators take `path`, a `SignalPath`: what a command passes before it acts.
    """

    rational_parameters: ClassVar[tuple[str, ...] | None] = ()
    file_tables = ("actuators",)
    inputs: tuple[str, ...] = ("",)
    input_unit: str = "N"
    lower: float = -math.inf
    upper: float = math.inf

    @property
    def channels(self) -> tuple[str, ...]:
        return self.inputs

    def channel_units(self, along: Sequence[str] = ()) -> tuple[str, ...]:
        return tuple(map(effort_unit, along)) or self.input_units

    @property
    def input_units(self) -> tuple[str, ...]:  # type: ignore[override]
        """Unit of each input."""
        return (self.input_unit,) * len(self.inputs)

    @property
    def input_ranges(self) -> tuple[tuple[float, float], ...]:  # type: ignore[override]
        """Range of each input."""
        return ((self.lower, self.upper),) * len(self.inputs)


class CoordinateActuator(Actuator):
    """Common part of actuators on a coordinate of a joint or of another block.

    Attributes
    ----------
    joint : str
        The joint or block; ``"joint.coordinate"`` or ``"boom.mode1"`` for one of several coordinates.
    gear : float
        Rotor motion per unit of joint motion.
    rotor_inertia : float, kg m^2 (or kg)
        ``gear^2`` times this is added to the joint's armature; coordinates of other blocks have none.
    upper : float
        Largest absolute input.
    """

    rational_parameters: ClassVar[tuple[str, ...] | None] = ("gear", "rotor_inertia")
    input_unit = "N m"
    joint_fields: ClassVar[tuple[str, ...]] = ("joint",)
    parameter_units: ClassVar = {"gear": "1", "rotor_inertia": "kg m^2"}
    joint = Field(block_name)
    gear = Field(scalar)
    rotor_inertia = Field(non_negative("negative-inertia"))

    def __init__(self, name: str, joint: str | Block, gear: float, rotor_inertia: float, path: SignalPath | None) -> None:
        super().__init__(name, path)
        self.joint, self.gear, self.rotor_inertia = joint, gear, rotor_inertia

    @property
    def filter_coordinates(self) -> tuple[str, ...]:
        return (self.joint,)

    @property
    def filter_law(self) -> tuple[FilterKind, Any]:
        """The effort on the coordinate for one of the rotor."""
        return FilterKind.EFFORT, self.gear

    @property
    def lower(self) -> float:  # type: ignore[override]
        """The smallest input: minus the largest."""
        return -self.upper

    @lower.setter
    def lower(self, lower: Any) -> None:
        argument = fields_of(type(self))["upper"].argument
        refuse_change(self, "lower", lower, f"set {argument}: the least input is minus the largest")

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if not self.gear:
            expected, advice = "a ratio other than zero", "the motor moves nothing: 1 drives directly"
            warnings.append(Finding("idle-motor", f"{self.name}.gear", self.gear, expected, advice))
        return errors, warnings

    def parameters_along(self, units: Sequence[str]) -> dict[str, tuple[float, str]]:
        rotor = {"rotor_inertia": (float(self.rotor_inertia), inertia_unit(units[0]))}
        return self.parameters() | rotor | self._path_parameters(units)


class Motor(CoordinateActuator):
    """A motor on a coordinate of a joint or of another block. Input: the torque (or force) of its rotor.

    Parameters
    ----------
    name : str
    joint : str or Block
        The joint or block, or its name; ``"joint.coordinate"`` or ``"boom.mode1"`` for one of several coordinates.
    gear : float
        Rotor motion per unit of joint motion; the effort on the joint is ``gear`` times the input.
    rotor_inertia : float, kg m^2 (or kg)
        ``gear^2`` times this is added to the joint's armature; coordinates of other blocks have none.
    effort_limit : float, N m or N
        Largest absolute input.
    path : SignalPath, optional
    """

    upper = Field(bound, "effort_limit")
    effort_limit: float

    def __init__(
        self,
        name: str,
        joint: str | Block,
        gear: float = 1.0,
        rotor_inertia: float = 0.0,
        effort_limit: float = math.inf,
        *,
        path: SignalPath | None = None,
    ) -> None:
        super().__init__(name, joint, gear, rotor_inertia, path)
        self.upper = effort_limit


class PortActuator(Actuator):
    """Common part of actuators at a port.

    Attributes
    ----------
    target : PortRef
    frame : {"world", "port"}
    direction : (3,) array or None
        Direction of a single input; its length does not matter. A parameter.
    wrenches : (k, 6) array
        Wrench per unit of each input, in the frame.
    """

    target = Field(read_target)
    frame = Field(choice(FRAMES, "bad-frame"))
    direction: Any = None

    def __init__(self, name: str, target: PortRef | Block, frame: str = "port", path: SignalPath | None = None) -> None:
        super().__init__(name, path)
        self.target, self.frame = target, frame

    @property
    def wrenches(self) -> Array:
        """Wrench per unit of each input (k, 6), in the frame."""
        raise NotImplementedError

    @property
    def filter_ports(self) -> tuple[Any, ...]:
        """The target, behind the world for loads in its axes."""
        return (self.target,) if self.frame == "port" else ("world", self.target)

    @property
    def filter_law(self) -> tuple[FilterKind, Any]:
        """The wrenches."""
        return FilterKind.WRENCH if self.frame == "port" else FilterKind.WRENCH_IN_WORLD, self.wrenches

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        return errors + ([] if self.direction is None else zero_axes(self, ("direction",))), warnings

    def parameter_fields(self) -> ParameterFields:
        axes = "xyz" if self.direction is not None else ""
        return super().parameter_fields() | {f"direction.{axis}": ("direction", (k,), "1") for k, axis in enumerate(axes)}


class Thruster(PortActuator):
    """A thruster at a port. Input: its thrust.

    Parameters
    ----------
    name : str
    target : PortRef or Block
        Where the thrust acts.
    direction : array_like (3,)
        Direction of the force on the body, in the port's frame; normalised.
    max_thrust : float, N
        The thrust is between zero and this.
    path : SignalPath, optional
    """

    lower = 0.0
    upper = Field(bound, "max_thrust")
    max_thrust: float
    direction = Field(axis)

    def __init__(
        self,
        name: str,
        target: PortRef | Block,
        direction: Any = (0.0, 0.0, 1.0),
        max_thrust: float = math.inf,
        *,
        path: SignalPath | None = None,
    ) -> None:
        super().__init__(name, target, path=path)
        self.direction, self.upper = direction, max_thrust

    @property
    def wrenches(self) -> Array:
        assert self.direction is not None
        return np.concatenate([self.direction / np.sqrt(self.direction @ self.direction), np.zeros(3)])[None]


class _AlongAxes(PortActuator):
    """Inputs along one direction, or along x, y and z."""

    #: First entry of the three in a wrench.
    start: ClassVar[int] = 0
    direction = Field(optional(axis))

    def __init__(
        self,
        name: str,
        target: PortRef | Block,
        direction: Any = None,
        frame: str = "port",
        *,
        path: SignalPath | None = None,
    ) -> None:
        super().__init__(name, target, frame, path)
        self.direction = direction

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        """One input along the direction, or three along the axes."""
        return ("x", "y", "z") if self.direction is None else ("",)

    @property
    def wrenches(self) -> Array:
        rows = np.eye(3) if self.direction is None else self.direction[None] / np.sqrt(self.direction @ self.direction)
        wrenches = np.zeros((len(self.inputs), 6), rows.dtype)
        wrenches[:, self.start : self.start + 3] = rows
        return wrenches


class Force(_AlongAxes):
    """A force at a port. Inputs: its magnitude along a direction, or its three components.

    Parameters
    ----------
    name : str
    target : PortRef or Block
    direction : array_like (3,), optional
        Normalised; without it there are three inputs ``name.x``, ``name.y``, ``name.z``.
    frame : {"port", "world"}
        Frame of the direction or components.
    path : SignalPath, optional
    """


class Torque(_AlongAxes):
    """A torque at a port. Inputs: its magnitude along a direction, or its three components.

    Parameters
    ----------
    name : str
    target : PortRef or Block
    direction : array_like (3,), optional
        Normalised; without it there are three inputs ``name.x``, ``name.y``, ``name.z``.
    frame : {"port", "world"}
        Frame of the direction or components.
    path : SignalPath, optional
    """

    input_unit = "N m"
    start = 3
