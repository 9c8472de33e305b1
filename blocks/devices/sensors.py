"""Sensors: blocks with named scalar outputs that measure joints and ports."""

from __future__ import annotations

from typing import Any, ClassVar

from titop.blocks.basics.user_input import sequence_findings
from titop.blocks.bodies.rods.strains import COMPONENTS
from titop.blocks.contract.block import Block, PortRef, block_name
from titop.blocks.contract.fields import Field, non_negative, optional
from titop.blocks.devices.loads import read_target


class Sensor(Block):
    """Common part of all sensors.

    Attributes
    ----------
    outputs : tuple of str
        Names of the outputs within the block; a single output has the block's name.
    """

    rational_parameters = ()
    file_tables = ("sensors",)
    #: Whether its reading depends on parameters of bodies.
    reads_parameters: ClassVar[bool] = False
    outputs: tuple[str, ...] = ("",)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs in a system."""
        return tuple(f"{self.name}.{entry}" if entry else self.name for entry in self.outputs)


class _PortSensor(Sensor):
    target = Field(read_target)

    def __init__(self, name: str, target: PortRef | Block) -> None:
        super().__init__(name)
        self.target = target


class Accelerometer(_PortSensor):
    """Specific force (m/s^2) at a port, in its frame.

    Parameters
    ----------
    name : str
    target : PortRef or Block
    """

    outputs = ("x", "y", "z")


class Gyro(_PortSensor):
    """Angular velocity (rad/s) at a port, in its frame.

    Parameters
    ----------
    name : str
    target : PortRef or Block
    """

    outputs = ("x", "y", "z")


def _read_sequence(sensor: Block, field: str, value: Any) -> Any:
    sensor.reader.findings += sequence_findings(f"{sensor.name}.{field}", value)
    return value


class PoseSensor(_PortSensor):
    """Position (m, inertial) and Euler angles (rad) of a port: ``x``, ``y``, ``z`` and ``theta[0]`` to ``theta[2]``.

    Parameters
    ----------
    name : str
    target : PortRef or Block
    sequence : str
        Axes of the intrinsic Euler angles.
    """

    outputs = ("x", "y", "z", "theta[0]", "theta[1]", "theta[2]")
    sequence = Field(_read_sequence)

    def __init__(self, name: str, target: PortRef | Block, sequence: str = "XYZ") -> None:
        super().__init__(name, target)
        self.sequence = sequence


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
    """

    outputs = COMPONENTS
    target = Field(_read_rod_port)


class _JointSensor(Sensor):
    joint_fields: ClassVar[tuple[str, ...]] = ("joint",)
    #: Whether it measures joints only, no other blocks with coordinates.
    of_joints_alone: ClassVar[bool] = False
    joint = Field(block_name)

    def __init__(self, name: str, joint: str | Block) -> None:
        super().__init__(name)
        self.joint = joint


class Encoder(_JointSensor):
    """Position of a coordinate of a joint or of another block (in its unit).

    Parameters
    ----------
    name : str
    joint : str or Block
        The joint or block, or the name of one of its coordinates.
    """


class Tachometer(_JointSensor):
    """Velocity of a coordinate of a joint or of another block (in its unit per second).

    Parameters
    ----------
    name : str
    joint : str or Block
        The joint or block, or the name of one of its coordinates.
    """


class ReactionSensor(_JointSensor):
    """Wrench (N, N m) of a joint on its child, at the child's port, in its frame; of a closure, on its second port.

    Parameters
    ----------
    name : str
    joint : str or Block
    """

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
    """

    of_joints_alone = True
    reads_parameters = True
    inertia = Field(optional(non_negative("negative-inertia")))

    def __init__(self, name: str, joint: str | Block, inertia: float | None = None) -> None:
        super().__init__(name, joint)
        self.inertia = inertia


class TendonSensor(Sensor):
    """Length (m) of a tendon in soft rods, and its rate (m/s): ``length`` and ``rate``.

    Parameters
    ----------
    name : str
    tendon : str or Tendon
    """

    outputs = ("length", "rate")
    joint_fields: ClassVar[tuple[str, ...]] = ("tendon",)
    tendon = Field(block_name)

    def __init__(self, name: str, tendon: str | Block) -> None:
        super().__init__(name)
        self.tendon = tendon


#: The kinds that models can read.
KINDS = Accelerometer | Gyro | PoseSensor | StrainGauge | Encoder | Tachometer | ReactionSensor | WheelMomentum | TendonSensor
