"""Blocks connected port to port, and the networkx graph of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.pose import Pose, read_pose
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.rigid_body import World
from titop.blocks.constraints.closure import Closure, MultiplierClosure
from titop.blocks.constraints.relation import Relation
from titop.blocks.contract.block import Block, PortRef
from titop.blocks.contract.fields import Field, Fielded
from titop.blocks.devices.actuators import Actuator, CoordinateActuator, PortActuator
from titop.blocks.devices.composite_device import CompositeDevice
from titop.blocks.devices.loads import Load
from titop.blocks.devices.sensors import KINDS, Sensor
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.joints.friction_and_limits import CoordinateLimits
from titop.blocks.joints.joint import CHILD_PORT, Joint
from titop.blocks.surroundings.gravity_field import GravityField, read_gravity
from titop.graph.network.connections import Connection, Joined

if TYPE_CHECKING:
    import networkx as nx

#: Blocks to which no joint leads, and on which no loop closes.
_NO_BODIES = Joint | Relation | CoordinateLimits | Load | Actuator | Sensor | Closure | CompositeDevice


class Keyframe(NamedTuple):
    """A state that a robot's file names: values of joints by their names.

    Attributes
    ----------
    configuration, velocity : dict
        As ``m.configuration(...)`` and ``m.velocity(...)`` take them.
    """

    configuration: dict[str, Any]
    velocity: dict[str, Any]


class Network(Fielded):
    """The blocks of a `System` and their connections, and the methods that add them."""

    #: The attributes that hold blocks attached to others, with the methods that add them.
    ATTACHMENTS: ClassVar = {
        "gears": "add_gear",
        "limits": "add_limits",
        "loads": "add_load",
        "actuators": "add_actuator",
        "sensors": "add_sensor",
    }

    gravity = Field(read_gravity)

    def __init__(self, name: str = "system", gravity: Any = (0.0, 0.0, -9.81)) -> None:
        self.name = name
        self._begin(name)
        self.gravity = gravity
        self.world = World()
        self.connections: list[Connection] = []
        self.loops: list[Joined] = []
        self.gears: list[Relation] = []
        self.limits: list[CoordinateLimits] = []
        self.loads: list[Load] = []
        self.actuators: list[Actuator] = []
        self.sensors: list[Sensor] = []
        self.devices: list[CompositeDevice] = []
        self.keyframes: dict[str, Keyframe] = {}
        #: All blocks by the names under which they were added, and what the graph says of its edges.
        self.by_name: dict[str, Any] = {"world": self.world}
        self.edges: dict[tuple[str, str], dict[str, Any]] = {}

    @property
    def graph(self) -> nx.DiGraph:
        """The blocks and their connections as they are now, to be read; loading networkx takes longer than all else here."""
        import networkx as nx

        graph = nx.DiGraph(name=self.name)
        graph.add_nodes_from((name, {"block": block}) for name, block in self.by_name.items())
        graph.add_edges_from((*edge, about) for edge, about in self.edges.items())
        return nx.freeze(graph)

    @property
    def field(self) -> GravityField | None:
        """The field of gravity that differs from place to place; None where gravity is uniform."""
        return None if isinstance(self.gravity, np.ndarray) else self.gravity

    def connect(
        self, parent: Block | PortRef | str, child: Block | PortRef, joint: Block, placement: Pose | Any = None
    ) -> None:
        """Connect a child to a parent by a joint.

        Parameters
        ----------
        parent : Block, PortRef or "world"
            The joint is placed at this port; a block stands for its reference frame.
        child : Block or PortRef
            Its port frame coincides with the joint frame when the joint's coordinates are zero.
        joint : Joint
            Or any block with coordinates of its own and one child port named ``C``.
        placement : Pose or array_like (3,), optional
            Pose of the joint frame in the parent's port frame; identity by default.

        Notes
        -----
        Errors in a connection are reported by `resolve`, together with all others.
        """
        label = getattr(joint, "name", "connect")
        reader = FieldReader(str(label))
        pose = Pose() if placement is None else read_pose(reader, "placement", placement)
        advice = "connect the body that the joint carries"
        parent_ref, child_ref = (
            self._body_port(end, reader, role, advice) for role, end in (("parent", parent), ("child", child))
        )
        if not isinstance(joint, Block):
            reader.report("not-a-joint", "joint", joint, "a joint block", "use tt.Revolute, tt.Free, ...")
        elif not isinstance(joint, Joint) and joint.ports != (CHILD_PORT,):
            reader.report("not-a-joint", "joint", joint, f"a block with the one child port {CHILD_PORT!r}", "use a joint")
        self.reader.findings += reader.findings
        if reader.findings or parent_ref is None or child_ref is None:
            return
        connection = Connection(parent_ref, child_ref, joint, pose)
        for block in (parent_ref.block, joint, child_ref.block):
            self._add_block(block, new=block is joint)
        if child_ref.block is parent_ref.block:
            ends = f"{parent_ref} -> {child_ref}"
            self._report("self-connection", joint.name, ends, "two different blocks", "connect another block")
            return
        self.connections.append(connection)
        self._add_edge(parent_ref.block, joint.name, parent_port=parent_ref.name, placement=pose)
        self._add_edge(joint, child_ref.block.name, parent_port=CHILD_PORT, child_port=child_ref.name)

    def close_loop(self, first: Block | PortRef | str, second: Block | PortRef | str, closure: Closure) -> None:
        """Close a loop between two ports that the tree of joints already connects, by a rigid closure or an interaction.

        Parameters
        ----------
        first, second : Block, PortRef or "world"
            A block stands for its reference frame. A closure's reaction is the wrench on the second port.
        closure : RigidClosure, RollingDisc, Distance and such; or CompliantClosure, SpringDamper or another Interaction

        Notes
        -----
        Errors in a loop are reported by `resolve`, together with all others.
        """
        reader = FieldReader(str(getattr(closure, "name", "close_loop")))
        ports = [self._body_port(target, reader, role) for role, target in (("first", first), ("second", second))]
        if not isinstance(closure, MultiplierClosure | Interaction):
            advice = "use tt.RigidClosure, tt.CompliantClosure, tt.SpringDamper or tt.Contact"
            reader.report("not-a-closure", "closure", closure, "a rigid closure or an interaction", advice)
        self._add_loop(closure, ports, [], reader)

    def add_interaction(self, interaction: Interaction, *targets: Block | PortRef | str) -> None:
        """Add an interaction between several ports and coordinates; its inputs are appended to the model's.

        Parameters
        ----------
        interaction : Cable, Tendon, PressureChamber, DistributedLoad or another Interaction
        *targets : Block, PortRef, "world" or str
            Ports of bodies (a block stands for its reference frame) and coordinates: a joint, or a name such as ``"hinge"``,
            ``"wrist.first"`` or ``"boom.mode1"``. The interaction gets the ports, and the coordinates, in this order. Tendons
            and distributed loads know their rods, drag and solar pressure their facets, and need no targets.

        Notes
        -----
        Errors in the targets are reported by `resolve`, together with all others.
        """
        reader = FieldReader(str(getattr(interaction, "name", "add_interaction")))
        if not isinstance(interaction, Interaction):
            advice = "use tt.Cable, or a class of your own; tt.RigidClosure closes loops by s.close_loop"
            reader.report("not-an-interaction", "interaction", interaction, "a tt.Interaction", advice)
        ports = [self._body_port(target, reader, "own_ports") for target in getattr(interaction, "own_ports", ())]
        coordinates = list(getattr(interaction, "own_coordinates", ()))
        for k, target in enumerate(targets or getattr(interaction, "default_targets", ())):
            if isinstance(target, Joint):
                coordinates.append(target.name)
            elif isinstance(target, str) and target != "world":
                coordinates.append(target)
            else:
                ports.append(self._body_port(target, reader, f"targets[{k}]"))
        self._add_loop(interaction, ports, coordinates, reader)

    def _body_port(
        self, target: Any, reader: FieldReader, role: str, advice: str = "close the loop at a body's port"
    ) -> PortRef | None:
        """Return the port of a body; None, with a finding, if it is none. `advice` is that for other blocks."""
        ref = port_ref(self, target, reader, role)
        if ref is not None and isinstance(ref.block, _NO_BODIES):
            reader.report("not-a-body", role, ref.block, "a body", advice)
        return ref

    def _add_loop(self, closure: Any, ports: list[PortRef | None], coordinates: list[str], reader: FieldReader) -> None:
        """Add a closure, if there are no errors in its targets."""
        self.reader.findings += reader.findings
        refs = tuple(ref for ref in ports if ref is not None)
        if reader.findings or len(refs) < len(ports):
            return
        self._add_block(closure, new=True)
        self.loops.append(Joined(refs, closure, tuple(coordinates)))
        for ref in refs:
            self._add_target(closure, ref)
        for name in {owner_of(coordinate) for coordinate in coordinates}:
            if name in self.by_name and (closure.name, name) not in self.edges:
                self._add_edge(closure, name)

    def add_gear(self, gear: Relation) -> None:
        """Add a gear, which couples two coordinates, or a linear relation of any number of them.

        Parameters
        ----------
        gear : Gear or LinearRelation
        """
        advice = 'write s.add_gear(tt.Gear("pair", driver="left", driven="right", ratio=-1.0))'
        self._attach("gears", gear, Relation, "not-a-gear", "a tt.Gear or tt.LinearRelation", advice)

    #: The same, by another name.
    add_relation = add_gear

    def add_limits(self, limits: CoordinateLimits) -> None:
        """Add limits of a body's own coordinate.

        Parameters
        ----------
        limits : CoordinateLimits
        """
        advice = 'write s.add_limits(tt.CoordinateLimits("bumper", "boom.mode1", tt.Limits(upper=0.1, stiffness=1e5)))'
        self._attach("limits", limits, CoordinateLimits, "not-limits", "a tt.CoordinateLimits", advice)

    def add_load(self, load: Load) -> None:
        """Add a load, which acts on its target port.

        Parameters
        ----------
        load : Load
        """
        advice = 'write s.add_load(tt.Load("push", body.port("C"), force=...))'
        self._attach("loads", load, Load, "not-a-load", "a tt.Load", advice)

    def add_actuator(self, actuator: Actuator | CompositeDevice) -> None:
        """Add an actuator; its inputs are appended to the model's.

        Parameters
        ----------
        actuator : Motor, DCMotor, StepperDrive, Thruster, Propeller, Force or Torque
            Or a device, such as a ReactionWheel, as by `add_device`.
        """
        if isinstance(actuator, CompositeDevice):
            self.add_device(actuator)
        else:
            expected, advice = "an actuator of a joint or a port", "use tt.Motor, tt.Thruster, tt.Force, ..."
            self._attach("actuators", actuator, CoordinateActuator | PortActuator, "not-an-actuator", expected, advice)

    def add_device(self, device: CompositeDevice) -> None:
        """Add a device that is made of several blocks: all its parts.

        Parameters
        ----------
        device : ReactionWheel or another CompositeDevice
        """
        if not isinstance(device, CompositeDevice):
            advice = "use tt.ReactionWheel, or a tt.CompositeDevice of your own"
            self._report("not-a-device", "add_device", device, "a device made of several blocks", advice)
        elif wrong := device.check()[0]:
            self.reader.findings += wrong
        else:
            for method, *arguments in device.calls:
                getattr(self, method)(*arguments)
            self.devices.append(device)

    def add_sensor(self, sensor: Sensor) -> None:
        """Add a sensor; its outputs are appended to the model's.

        Parameters
        ----------
        sensor : Sensor
        """
        expected, advice = "a sensor that models can read", "use tt.Gyro, tt.Accelerometer, tt.Encoder, ..."
        self._attach("sensors", sensor, KINDS, "not-a-sensor", expected, advice)

    def _attach(self, section: str, block: Any, kind: Any, code: str, expected: str, advice: str) -> None:
        """Add a block of some kind that acts on, or measures, a port or a joint of another block; refuse others."""
        if not isinstance(block, kind):
            self._report(code, self.ATTACHMENTS[section], block, expected, advice)
            return
        self._add_block(block, new=True)
        getattr(self, section).append(block)
        if hasattr(block, "target"):
            self._add_target(block, block.target)
        for joint in {*map(owner_of, block.named_coordinates.values())}:
            if joint in self.by_name:
                self._add_edge(block, joint)

    def _add_edge(self, block: Block, to: str, **about: Any) -> None:
        self.edges[block.name, to] = {"parent_port": None, "child_port": None, "placement": Pose()} | about

    def _add_target(self, block: Block, target: PortRef) -> None:
        """Add an edge to a port on which a block acts, if that is of this system."""
        if self.by_name.get(target.block.name) is target.block:
            self._add_edge(block, target.block.name, child_port=target.name)

    def __getitem__(self, name: str) -> Any:
        """Return a block by name."""
        if name not in self.by_name:
            advice = did_you_mean(name, self.by_name)
            raise ModelError(Finding("unknown-block", self.name, name, "a block of the system", advice))
        return self.by_name[name]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, in the order in which they were added."""
        return tuple(self.by_name.values())

    @property
    def attachments(self) -> tuple[Any, ...]:
        """All blocks that are attached to joints and ports of others: gears, limits, loads, actuators and sensors."""
        return tuple(block for section in self.ATTACHMENTS for block in getattr(self, section))

    def _add_block(self, block: Block, new: bool) -> None:
        if not hasattr(block, "reader"):
            advice = "call super().__init__(name) first in __init__"
            expected = "a block that Block.__init__ has named"
            raise ModelError(Finding("no-name", type(block).__name__, "no name", expected, advice))
        known = self.by_name.get(block.name)
        if known is None:
            self.by_name[block.name] = block
        elif known is not block or (new and block is not self.world):
            expected = "unique block names, each joint, closure and load used once"
            self._report("duplicate-name", block.name, block, expected, "rename one of the two")

    def _report(self, code: str, where: str, value: Any, expected: str, advice: str) -> None:
        self.reader.findings.append(Finding(code, where, value, expected, advice))


def port_ref(system: Network, value: Any, reader: FieldReader, role: str) -> PortRef | None:
    """Return the port that users mean by a port, a block or "world"; None, with a finding, if it is something else."""
    if isinstance(value, PortRef):
        return value
    if isinstance(value, Block):
        return PortRef(value, None)
    if isinstance(value, str) and value == "world":
        return PortRef(system.world, None)
    expected, advice = 'a block, a port such as body.port("C"), or "world"', "pass the block itself, not its name"
    reader.report("not-a-port", role, value, expected, advice)
    return None
