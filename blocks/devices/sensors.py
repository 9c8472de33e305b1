"""Sensors: blocks with named scalar outputs that measure joints and ports."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import euler_angles
from titop.blocks.basics.spatial import Array, cross, rotation_log, skew
from titop.blocks.basics.taylor import angle_of
from titop.blocks.basics.tolerances import COMPLEX_STEP
from titop.blocks.basics.user_input import sequence_findings
from titop.blocks.bodies.rods.strains import COMPONENTS
from titop.blocks.contract.block import Block, ParameterFields, PortRef, block_name
from titop.blocks.contract.fields import Field, axis, non_negative, optional, switch
from titop.blocks.contract.own_coordinates import rate_unit
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.devices.device import Device, FilterKind
from titop.blocks.devices.loads import read_target
from titop.blocks.devices.signal_path import SignalPath
from titop.blocks.surroundings.inertial_places import CENTRED, Place, place_of_world
from titop.blocks.surroundings.magnetic_field import MagneticField, field_parameters, read_field


class Sensor(Device):
    """Common part of all sensors.

    Attributes
    ----------
    outputs : tuple of str
        Names of the outputs within the block; a single output has the block's name.

    Notes
    -----
    All sensors take `path`, a `SignalPath`: what a measurement passes before a controller reads it; there are its errors.
    """

    rational_parameters = ()
    file_tables = ("sensors",)
    #: Why its path may have no filter; empty if it may.
    refuses_filter: ClassVar[str] = ""
    #: Units of the outputs, "1" where they depend on the system; one stands for all.
    output_units: ClassVar[tuple[str, ...]] = ("1",)
    #: Whether its reading depends on parameters of bodies.
    reads_parameters: ClassVar[bool] = False
    outputs: tuple[str, ...] = ("",)

    @property
    def needs_planet(self) -> bool:
        """Whether its reading is about a planet's orbit."""
        return False

    @property
    def channels(self) -> tuple[str, ...]:
        return self.outputs

    def channel_units(self, along: Sequence[str] = ()) -> tuple[str, ...]:
        return self.output_units * (len(self.outputs) // len(self.output_units))

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if self.is_filtered and self.refuses_filter:
            expected, advice = f"no filter or scale: {self.refuses_filter}", "put it in front of the controller: K * filter"
            errors.append(Finding("no-filter", f"{self.name}.path.filter", type(self).__name__, expected, advice))
        return errors, warnings

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs in a system."""
        return tuple(f"{self.name}.{entry}" if entry else self.name for entry in self.outputs)


class _PortSensor(Sensor):
    target = Field(read_target)

    def __init__(self, name: str, target: PortRef | Block, *, path: SignalPath | None = None) -> None:
        super().__init__(name, path)
        self.target = target

    @property
    def filter_ports(self) -> tuple[Any, ...]:
        return (self.target,)


class Accelerometer(_PortSensor):
    """Specific force (m/s^2) at a port, in its frame.

    Parameters
    ----------
    name : str
    target : PortRef or Block
    path : SignalPath, optional
        The states of a filter are then ``x - B V``, V the velocity of the port in its axes and B the filter's matrix: so that
        they do not depend on accelerations.

    Notes
    -----
    Its `noise_density` is the velocity random walk, m/s/sqrt(s) = m/s^2/sqrt(Hz): from 5e-6 (quartz, for navigation) to 1e-3
    (of silicon); `bias_instability` from 1e-5 to 1e-3 m/s^2, `scale_factor` 1e-4 to 1e-3, `misalignment` 1e-4 to 1e-3 rad.
    """

    outputs = ("x", "y", "z")
    output_units = ("m/s^2",)
    filter_law = FilterKind.SPECIFIC_FORCE, ()

    @property
    def filter_ports(self) -> tuple[Any, ...]:
        return ("world", self.target)


class Gyro(_PortSensor):
    """Angular velocity (rad/s) at a port, in its frame.

    Parameters
    ----------
    name : str
    target : PortRef or Block
    path : SignalPath, optional

    Notes
    -----
    By the names of IEEE Std 952, `noise_density` is the angle random walk N, rad/sqrt(s) = rad/s/sqrt(Hz) (1 degree per root
    hour is 2.9e-4): from 3e-8 (hemispherical resonators) over 3e-6 (fibre optics) to 5e-5 (of silicon); `bias_instability` B,
    rad/s (1 degree per hour is 4.8e-6): from 2e-9 over 5e-8 to 2e-5; `random_walk` is the rate random walk K, rad/s/sqrt(s):
    1e-11 to 1e-6; `scale_factor` 1e-6 to 1e-3, `misalignment` 1e-5 to 1e-3 rad.
    """

    outputs = ("x", "y", "z")
    output_units = ("rad/s",)

    filter_law = FilterKind.ANGULAR_VELOCITY, ()


class _ObservingSensor(_PortSensor):
    """Common part of sensors whose reading is a function of the pose and twist of their port, for complex numbers too."""

    filter_law = FilterKind.OBSERVED, ()
    #: Of the world.
    place: Place = CENTRED

    def under(self, field: Any) -> Self:
        placed = self if field is None else copy.copy(self)
        placed.place = place_of_world(field)
        return placed

    def observed(self, rotation: Array, position: Array, twist: Array) -> Array:
        """Return the reading (n) at a port's rotation (3x3) and position (3, m) in the world, and twist (6) in its own axes."""
        raise NotImplementedError

    def observed_slopes(self, rotation: Array, position: Array, twist: Array) -> Array:
        """Return the derivatives (n, 12) of the reading by displacements (m, rad) of the port and by its twist, in its axes."""

        def changed(step: Array) -> Array:
            turned = rotation @ (np.eye(3) + skew(step[3:6]))
            return self.observed(turned, position + rotation @ step[:3], twist + step[6:]).imag / COMPLEX_STEP

        return np.column_stack([changed(step) for step in 1j * COMPLEX_STEP * np.eye(12)])

    @property
    def filter_ports(self) -> tuple[Any, ...]:
        return ("world", self.target)

    def observation(self, blocks: Mapping[str, Block]) -> tuple[tuple[str, ...], Callable[[TargetMotion], Array]]:
        """Return no coordinates, and the reading."""
        return (), self._observe

    def _observe(self, motion: TargetMotion) -> Array:
        return self.observed(motion.R[1], motion.r[1], motion.V[1])


def _read_rotation(sensor: Block, field: str, value: Any) -> Array:
    return np.eye(3) if value is None else sensor.reader.rotation(field, value)


class StarTracker(_ObservingSensor):
    """Small angles (rad) ``x``, ``y``, ``z`` from a nominal attitude to that of a port, about the port's axes.

    They are the rotation vector, ``log(nominal^T R)``, exact for every attitude up to half a turn away; near the nominal one
    small rotations about the port's axes. The boresight is that axis of the port about which its noise is largest.

    Parameters
    ----------
    name : str
    target : PortRef or Block
        Turn the port to give the tracker other axes.
    nominal : 3x3 matrix or scipy Rotation, optional
        Nominal attitude, in the axes of the world; these by default.
    orbiting : bool
        Give the nominal attitude in the axes of Hill's frame in their place: x outwards, z along the normal of the orbit. About
        a `tt.Orbit` they are the world's. In the world of a `tt.CentralGravity` they are those of the port's own place and
        inertial velocity, whatever its orbit; with `nominal` left out, a satellite that points to the earth reads zero.
    path : SignalPath, optional
        With z as the boresight, ``noise_density=[2e-5, 2e-5, 1.6e-4]`` is a tracker of 10 arc seconds across and 75 about the
        boresight (one sigma) at 5 Hz, in rad/sqrt(Hz). `bias_instability` with a single `correlation_time`, the time in which
        stars cross the field, is its low-frequency error; `bias` a misalignment. `sample_time` and `delay`: 0.1 to 0.5 s.

    Raises
    ------
    ModelError
        If it is `orbiting` in a system without a planet; where its port does not move about the planet.
    """

    outputs = ("x", "y", "z")
    output_units = ("rad",)
    nominal, orbiting = Field(_read_rotation), Field(switch)

    def __init__(
        self, name: str, target: PortRef | Block, nominal: Any = None, *, orbiting: bool = False, path: SignalPath | None = None
    ) -> None:
        super().__init__(name, target, path=path)
        self.nominal, self.orbiting = nominal, orbiting

    @property
    def needs_planet(self) -> bool:
        return bool(self.orbiting)

    def observed(self, rotation: Array, position: Array, twist: Array) -> Array:
        is_turning = self.orbiting and not self.place[12:].any()  # else the world's axes are those of Hill's frame
        axes = self._orbit_axes(position, rotation @ twist[:3]) if is_turning else np.eye(3)
        return rotation_log((axes @ self.nominal).T @ rotation)

    def _orbit_axes(self, r: Array, v: Array) -> Array:
        """Return the axes of Hill's frame (3, 3; columns) of a place (m) and a velocity (m/s)."""
        h = cross(r, v)
        if not (h @ h).real > 0:
            advice = "start on an orbit, as by orbit.state()"
            raise ModelError(Finding("no-orbit", self.name, "a port that moves through the centre", "one on an orbit", advice))
        x, z = r / np.sqrt(r @ r), h / np.sqrt(h @ h)
        return np.column_stack([x, cross(z, x), z])


class SunSensor(_ObservingSensor):
    """Two angles (rad) of the sun: ``x`` from the boresight z of a port towards its x axis, ``y`` towards its y axis.

    With s the direction of the sun in the port's axes, ``x = atan2(s_x, s_z)`` and ``y = atan2(s_y, s_z)``. About the
    boresight a small rotation of the port about y lowers x, one about x raises y.

    Parameters
    ----------
    name : str
    target : PortRef or Block
        Turn the port to give the sensor another boresight.
    direction : array_like (3,)
        To the sun, in the axes of the world; normalised. A parameter.
    path : SignalPath, optional
        ``limits=(-1.05, 1.05)`` are a field of view of 60 degrees to each side: beyond it the angles stay at its edge.
        `noise_density` from 1e-5 (fine) to 1e-2 rad/sqrt(Hz) (coarse), `bias` 1e-4 to 5e-2 rad.

    Raises
    ------
    ModelError
        If the direction is zero; in linear models, where the sun is on an axis aside, so that one of the angles is none.
    """

    outputs = ("x", "y")
    output_units = ("rad",)
    parameter_units: ClassVar = {"direction": "1"}
    reads_parameters = True
    direction = Field(axis)

    def __init__(self, name: str, target: PortRef | Block, direction: Any, *, path: SignalPath | None = None) -> None:
        super().__init__(name, target, path=path)
        self.direction = direction

    def observed(self, rotation: Array, position: Array, twist: Array) -> Array:
        x, y, z = rotation.T @ self.direction
        return np.array([angle_of(x, z), angle_of(y, z)])

    def observed_slopes(self, rotation: Array, position: Array, twist: Array) -> Array:
        x, y, z = sun = rotation.T @ self.direction
        if not min(x * x, y * y) + z * z > 0:
            expected, advice = "the sun in front, not on an axis aside", "linearise where the sensor sees it"
            raise ModelError(Finding("no-angle", self.name, sun.tolist(), expected, advice))
        return super().observed_slopes(rotation, position, twist)


class Magnetometer(_ObservingSensor):
    """Magnetic field (T) at a port, in its axes.

    Parameters
    ----------
    name : str
    target : PortRef or Block
    field : MagneticField
        Its components are parameters, ``"magnetometer.field.x"``. About a `tt.Orbit` it is the field at the orbit's anomaly.
    path : SignalPath, optional
        `noise_density` from 1e-11 (fluxgates) to 1e-8 T/sqrt(Hz), `bias` (what the spacecraft magnetises) 1e-8 to 1e-6 T,
        `scale_factor` 1e-3 to 1e-2, `misalignment` 1e-3 to 1e-2 rad, `limits` of 6e-5 to 1e-4 T.

    Raises
    ------
    ModelError
        When the model is built, without a field.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("satellite", gravity=[0, 0, 0])
    >>> hub = tt.RigidBody("hub", mass=10.0, inertia=2.0)
    >>> s.connect("world", hub, tt.Revolute("spin", axis=[0, 0, 1]))
    >>> s.add_sensor(tt.Magnetometer("magnetometer", hub, tt.MagneticField.uniform([3e-5, 0, 0])))
    >>> s.resolve(engine="reference").outputs([np.pi / 2], [0.0], [0.0]).round(12).tolist()
    [0.0, -3e-05, 0.0]
    """

    outputs = ("x", "y", "z")
    output_units = ("T",)
    reads_parameters = True
    field = Field(read_field)

    def __init__(self, name: str, target: PortRef | Block, field: MagneticField, *, path: SignalPath | None = None) -> None:
        super().__init__(name, target, path=path)
        self.field = field

    def parameter_fields(self) -> ParameterFields:
        return super().parameter_fields() | field_parameters(self.field)

    def observed(self, rotation: Array, position: Array, twist: Array) -> Array:
        axes, origin = self.place[:9].reshape(3, 3), self.place[9:12]
        return rotation.T @ axes.T @ self.field.at(axes @ position + origin)


class GNSS(_ObservingSensor):
    """Position (m) and velocity (m/s) of a port in the axes of the world: ``x``, ``y``, ``z``, ``vx``, ``vy``, ``vz``.

    In a system about a `tt.Orbit` the velocity is the inertial one, less that of the world's origin.

    Parameters
    ----------
    name : str
    target : PortRef or Block
        Where the antenna is.
    path : SignalPath, optional
        Numbers of six channels. At 1 Hz ``noise_density`` is the deviation of a sample: 0.5 m and 0.02 m/s are typical, 0.01 m
        of carrier phases. Slow errors (orbits, clocks, ionosphere) are a `bias_instability` of 1 to 5 m with a single
        `correlation_time` of 100 to 1000 s; `delay` 0.1 to 0.5 s.
    """

    outputs = ("x", "y", "z", "vx", "vy", "vz")
    output_units = ("m",) * 3 + ("m/s",) * 3

    def observed(self, rotation: Array, position: Array, twist: Array) -> Array:
        return np.concatenate([position, rotation @ twist[:3]])


def _read_sequence(sensor: Block, field: str, value: Any) -> Any:
    sensor.reader.findings += sequence_findings(f"{sensor.name}.{field}", value)
    return value


class PoseSensor(_ObservingSensor):
    """Position (m, inertial) and Euler angles (rad) of a port: ``x``, ``y``, ``z`` and ``theta[0]`` to ``theta[2]``.

    Parameters
    ----------
    name : str
    target : PortRef or Block
    sequence : str
        Axes of the intrinsic Euler angles.
    path : SignalPath, optional
        A filter of angles receives their jumps at half a turn too.
    """

    outputs = ("x", "y", "z", "theta[0]", "theta[1]", "theta[2]")
    output_units = ("m",) * 3 + ("rad",) * 3
    sequence = Field(_read_sequence)

    def __init__(self, name: str, target: PortRef | Block, sequence: str = "XYZ", *, path: SignalPath | None = None) -> None:
        super().__init__(name, target, path=path)
        self.sequence = sequence

    def observed(self, rotation: Array, position: Array, twist: Array) -> Array:
        angles = euler_angles(rotation, self.sequence, angle_of, lambda a, b: np.sqrt(a * a + b * b))
        return np.concatenate([position, angles])


def _read_rod_port(gauge: Block, field: str, value: Any) -> PortRef:
    target = read_target(gauge, field, value)
    if not target.block.has_sections and target.block is not gauge:
        advice = "write rod.port('tip'), or give the rod a port there: tt.Rod(..., ports={'gauge': 0.2})"
        gauge.reader.report("not-on-a-rod", field, str(target), "a port of a tt.Rod", advice)
    return target


class StrainGauge(_PortSensor):
    """Strain of a rod's section at a port, relative to the reference strain: zero without stress.

    Twist and the two bending strains (rad/m), elongation and the two shears (no unit). A gauge on a fibre at (y, z) of the
    section measures ``elongation + z bending_y - y bending_z``.

    Parameters
    ----------
    name : str
    target : PortRef or Rod
        A port of a rod; the rod itself means its base.
    path : SignalPath, optional
    """

    outputs = COMPONENTS
    output_units = ("rad/m",) * 3 + ("1",) * 3
    filter_law = FilterKind.OBSERVED, ()
    target = Field(_read_rod_port)

    @property
    def filter_ports(self) -> tuple[Any, ...]:
        """None: a strain depends on the rod's coordinates alone."""
        return ()

    def observation(self, blocks: Mapping[str, Block]) -> tuple[tuple[str, ...], Callable[[TargetMotion], Array]]:
        """Return the coordinates of the rod's strain, and the strain of the section."""
        rod: Any = blocks[self.target.block.name]
        port = rod.rod_ports[self.target.name].abscissa / rod.given_length if self.target.name else 0.0
        shapes = rod.strain_shapes([port * rod.length])[0]
        return tuple(f"{rod.name}.{entry}" for entry in rod.coordinates), partial(_strain, shapes)


def _strain(shapes: Array, motion: TargetMotion) -> Array:
    return shapes @ motion.q


class _JointSensor(Sensor):
    joint_fields: ClassVar[tuple[str, ...]] = ("joint",)
    #: Whether it measures joints only, no other blocks with coordinates.
    of_joints_alone: ClassVar[bool] = False
    joint = Field(block_name)

    def __init__(self, name: str, joint: str | Block, *, path: SignalPath | None = None) -> None:
        super().__init__(name, path)
        self.joint = joint

    @property
    def filter_coordinates(self) -> tuple[str, ...]:
        return (self.joint,)


class _CoordinateSensor(_JointSensor):
    def parameters_along(self, units: Sequence[str]) -> dict[str, tuple[float, str]]:
        return self.parameters() | self._path_parameters(units)


class Encoder(_CoordinateSensor):
    """Position of a coordinate of a joint or of another block (in its unit).

    Parameters
    ----------
    name : str
    joint : str or Block
        The joint or block, or the name of one of its coordinates.
    path : SignalPath, optional
    """

    filter_law = FilterKind.POSITION, ()

    def channel_units(self, along: Sequence[str] = ()) -> tuple[str, ...]:
        return tuple(along) or ("1",)


class Tachometer(_CoordinateSensor):
    """Velocity of a coordinate of a joint or of another block (in its unit per second).

    Parameters
    ----------
    name, joint, path
        As in `Encoder`.
    """

    filter_law = FilterKind.RATE, ()

    def channel_units(self, along: Sequence[str] = ()) -> tuple[str, ...]:
        return tuple(map(rate_unit, along)) or ("1",)


class ReactionSensor(_JointSensor):
    """Wrench (N, N m) of a joint on its child, at the child's port, in its frame; of a closure, on its second port.

    Parameters
    ----------
    name : str
    joint : str or Block
    path : SignalPath, optional
        Without a filter.
    """

    refuses_filter = "reactions follow from all loads, not from the state"
    outputs = ("fx", "fy", "fz", "tx", "ty", "tz")
    of_joints_alone = True


class WheelMomentum(_JointSensor):
    """Angular momentum (N m s) of a wheel about its axis, relative to the wheel's housing.

    Parameters
    ----------
    name : str
    joint : str or Block
        The wheel's joint.
    inertia : float, kg m^2, optional
        About the axis; by default that of the body on the joint, which follows its parameters.
    path : SignalPath, optional
    """

    of_joints_alone = True
    reads_parameters = True
    inertia = Field(optional(non_negative("negative-inertia")))

    def __init__(self, name: str, joint: str | Block, inertia: float | None = None, *, path: SignalPath | None = None) -> None:
        super().__init__(name, joint, path=path)
        self.inertia = inertia

    filter_law = FilterKind.RATE, ()


class TendonSensor(Sensor):
    """Length (m) of a tendon in soft rods, and its rate (m/s): ``length`` and ``rate``.

    Parameters
    ----------
    name : str
    tendon : str or Tendon
    path : SignalPath, optional
    """

    outputs = ("length", "rate")
    output_units = ("m", "m/s")
    filter_law = FilterKind.OBSERVED, ()
    joint_fields: ClassVar[tuple[str, ...]] = ("tendon",)
    tendon = Field(block_name)

    def __init__(self, name: str, tendon: str | Block, *, path: SignalPath | None = None) -> None:
        super().__init__(name, path)
        self.tendon = tendon

    def observation(self, blocks: Mapping[str, Block]) -> tuple[tuple[str, ...], Callable[[TargetMotion], Array]]:
        """Return the coordinates along the tendon, and its length and rate."""
        line: Any = blocks[self.tendon]
        return line.own_coordinates, partial(_length_and_rate, line.path)


def _length_and_rate(line: Any, motion: TargetMotion) -> Array:
    length, gradient = line.measured(motion.q)
    return np.array([length, gradient @ motion.v])


class DriveSensor(Sensor):
    """What a drive or another interaction measures: a current, a torque in a joint.

    Parameters
    ----------
    name : str
    reading : str
        Drive and quantity: ``"motor.current"`` of a `DCMotor`; ``"drive.torque"`` or ``"drive.torsion"`` of an `ElasticDrive`.
    path : SignalPath, optional
        Without a filter.
    """

    refuses_filter = "what drives measure may follow their inputs at once"
    joint_fields: ClassVar[tuple[str, ...]] = ("reading",)
    reading = Field(block_name)

    def __init__(self, name: str, reading: str, *, path: SignalPath | None = None) -> None:
        super().__init__(name, path)
        self.reading = reading


#: The kinds that models can read.
KINDS = Accelerometer | Gyro | PoseSensor | StrainGauge | Encoder | Tachometer | ReactionSensor | WheelMomentum | TendonSensor
KINDS |= DriveSensor | StarTracker | SunSensor | Magnetometer | GNSS
