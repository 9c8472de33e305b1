"""Actuators: blocks with named scalar inputs that act on joints and ports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block, PortRef, block_name
from titop.blocks.contract.fields import Field, axis, bound, choice, fields_of, non_negative, optional, refuse_change, scalar
from titop.blocks.contract.own_coordinates import effort_unit, inertia_unit
from titop.blocks.devices.device import Device, FilterKind
from titop.blocks.devices.loads import FRAMES, read_target
from titop.blocks.devices.signal_path import SignalPath


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

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if self.path is not None and self.path.is_scaled:
            expected, advice = "no scale factor or misalignment: those are of sensors", "vary its gear, direction or port"
            errors.append(Finding("not-a-sensor", f"{self.name}.path", self.path, expected, advice))
        return errors, warnings


class CoordinateActuator(Actuator):
    """Common part of actuators on a coordinate of a joint or of another block, with the fields of `Motor`."""

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

    parameter_units: ClassVar = {"direction": "1"}
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
    minimum_pulse : float, s
        Shortest time for which it fires. A command that `simulate` samples stands for a pulse of `max_thrust` whose mean over
        the sample time is the command, and acts by this mean; shorter pulses do not fire. It needs a largest thrust and the
        sample time of the path, ``path=tt.SignalPath(sample_time=0.1)``; linear models do not know it.
    path : SignalPath, optional
        A valve that lags is ``tt.SignalPath.lag(0.02)``.
    """

    lower = 0.0
    upper = Field(bound, "max_thrust")
    max_thrust: float
    direction = Field(axis)
    minimum_pulse = Field(non_negative("negative-time"))

    def __init__(
        self,
        name: str,
        target: PortRef | Block,
        direction: Any = (0.0, 0.0, 1.0),
        max_thrust: float = math.inf,
        *,
        minimum_pulse: float = 0.0,
        path: SignalPath | None = None,
    ) -> None:
        super().__init__(name, target, path=path)
        self.direction, self.upper, self.minimum_pulse = direction, max_thrust, minimum_pulse

    @property
    def least_command(self) -> float:  # type: ignore[override]
        """Thrust (N) whose pulse is the shortest."""
        period = None if self.path is None else self.path.sample_time
        return self.upper * self.minimum_pulse / period if self.minimum_pulse and period else 0.0

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        period = None if self.path is None else self.path.sample_time
        if self.minimum_pulse and not (period and self.minimum_pulse <= period and self.upper < math.inf):
            found = (
                f"{self.minimum_pulse:g} s, of {self.upper:g} N sampled at {'no time' if period is None else f'{period:g} s'}"
            )
            expected, advice = "a finite max_thrust, and a longer sample time", "give path=tt.SignalPath(sample_time=...)"
            errors.append(Finding("no-pulse", f"{self.name}.minimum_pulse", found, expected, advice))
        return errors, warnings

    @property
    def wrenches(self) -> Array:
        assert self.direction is not None
        return np.concatenate([self.direction / np.sqrt(self.direction @ self.direction), np.zeros(3)])[None]


class Propeller(PortActuator):
    """A propeller at a port, without mass or momentum of its own. Input: the square of its speed (rad^2/s^2).

    Parameters
    ----------
    name : str
    target : PortRef or Block
        Where it is, on the body that carries it.
    thrust_coefficient : float, N s^2/rad^2
        Thrust over the square of the speed.
    drag_coefficient : float, N m s^2/rad^2
        Torque of the air over the square of the speed.
    direction : array_like (3,)
        Direction of the thrust, in the port's frame; normalised.
    turning : {1, -1}
        Whether the rotor turns right-handedly about the direction, or against it: the torque on the body has the other
        sense.
    max_speed : float, rad/s
        The input is between zero and the square of this.
    path : SignalPath, optional
        Speeds that lag are ``tt.SignalPath.lag(0.05)``, of their squares.

    Notes
    -----
    ``force = thrust_coefficient u direction``, ``torque = -turning drag_coefficient u direction`` (Mahony, Kumar, Corke,
    Multirotor aerial vehicles, IEEE Robotics and Automation Magazine 19 (2012) 20-32, equations 6 and 8). Loads are linear in
    this input, whose root is the speed, so that linear models and families are exact at all speeds. Where the momentum of the
    rotor matters, let it be a body on a `Revolute`.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("lift")
    >>> body = tt.RigidBody("body", mass=1.0, inertia=0.1)
    >>> s.connect("world", body, tt.Free("base"))
    >>> s.add_actuator(tt.Propeller("front", body, 1e-5, 2e-7, turning=-1))
    >>> m = s.resolve(engine="reference")
    >>> m.actuation_matrix(m.neutral())[:, 0].tolist()
    [0.0, 0.0, 1e-05, 0.0, 0.0, 2e-07]
    """

    rational_parameters = ("thrust_coefficient", "drag_coefficient")
    input_unit = "rad^2/s^2"
    lower = 0.0
    parameter_units: ClassVar = {"thrust_coefficient": "N s^2/rad^2", "drag_coefficient": "N m s^2/rad^2", "direction": "1"}
    thrust_coefficient = Field(scalar)
    drag_coefficient = Field(scalar)
    direction = Field(axis)
    turning = Field(scalar)
    max_speed = Field(bound)

    def __init__(
        self,
        name: str,
        target: PortRef | Block,
        thrust_coefficient: float,
        drag_coefficient: float,
        direction: Any = (0.0, 0.0, 1.0),
        turning: int = 1,
        max_speed: float = math.inf,
        *,
        path: SignalPath | None = None,
    ) -> None:
        super().__init__(name, target, path=path)
        self.thrust_coefficient, self.drag_coefficient = thrust_coefficient, drag_coefficient
        self.direction, self.turning, self.max_speed = direction, turning, max_speed

    @property
    def input_ranges(self) -> tuple[tuple[float, float], ...]:  # type: ignore[override]
        """From zero to the square of the largest speed."""
        return ((0.0, self.max_speed**2),)

    @property
    def wrenches(self) -> Array:
        along = self.direction / np.sqrt(self.direction @ self.direction)
        return np.concatenate([self.thrust_coefficient * along, -self.turning * self.drag_coefficient * along])[None]

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if self.turning not in (1, -1):
            expected, advice = "1 or -1", "1 turns right-handedly about the direction of the thrust"
            errors.append(Finding("bad-sense", f"{self.name}.turning", self.turning, expected, advice))
        return errors, warnings


class _AlongAxes(PortActuator):
    """Inputs along one direction, or along x, y and z."""

    #: First entry of the three in a wrench.
    start: ClassVar[int] = 0
    direction = Field(optional(axis))

    def __init__(
        self, name: str, target: PortRef | Block, direction: Any = None, frame: str = "port", *, path: SignalPath | None = None
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
    name, target, direction, frame, path
        As in `Force`.
    """

    input_unit = "N m"
    start = 3
