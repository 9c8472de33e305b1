"""The frozen copy of a checked system: its connections in order, its coordinates, and how long its bodies are."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, refuse
from titop.blocks.basics.paths import owner_of, split_path
from titop.blocks.basics.spatial import Array, replace_entry
from titop.blocks.bodies.rigid_body import World
from titop.blocks.constraints.relation import Relation
from titop.blocks.contract.block import Block, PortRef
from titop.blocks.contract.description import MassProperties
from titop.blocks.contract.fields import put
from titop.blocks.contract.own_coordinates import known_units
from titop.blocks.devices.actuators import Actuator, CoordinateActuator, PortActuator
from titop.blocks.devices.composite_device import CompositeDevice
from titop.blocks.devices.first_order_states import BlockStates, path_states
from titop.blocks.devices.loads import Load
from titop.blocks.devices.sensors import Sensor
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.joints.friction_and_limits import CoordinateLimits
from titop.blocks.joints.joint import Joint
from titop.blocks.surroundings.body_gravity import gravity_on
from titop.blocks.surroundings.gravity_field import GravityField
from titop.graph.network.connections import Connection, Joined, idle, moves_no_inertia, nodes_of, weighed
from titop.graph.network.network import Network


@dataclass(frozen=True)
class Assembly:
    """The frozen system that engines read."""

    name: str
    gravity: Array  #: The uniform one (3; m/s^2): zero with a field.
    world: World
    connections: tuple[Connection, ...]  #: Parents before children.
    #: Position in `connections` of the first, second, ... ``connect`` call: the order of the coordinates.
    connect_order: tuple[int, ...]
    loads: tuple[Load, ...]
    actuators: tuple[Actuator, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    #: Loads of blocks' first-order states come last, as interactions, those of actuators' and sensors' filters too; behind them
    #: the gravity of a field on each body.
    loops: tuple[Joined, ...] = ()
    gears: tuple[Relation, ...] = ()
    limits: tuple[CoordinateLimits, ...] = ()  #: Of own coordinates of bodies.
    devices: tuple[CompositeDevice, ...] = ()  #: Whose parts are among the others.
    #: The world's angular velocity (3; rad/s) and its derivative (3; rad/s^2), in its own axes: zero for an inertial world.
    turning: Array = dataclasses.field(default_factory=lambda: np.zeros(6))
    field: GravityField | None = None  #: Of gravity that differs from place to place.

    @cached_property
    def blocks(self) -> dict[str, Block]:
        """Every block by name: the world, joints and bodies parents first, then closures and all that is attached."""
        pairs = (block for c in self.connections for block in (c.joint, c.child.block))
        closures = (loop.closure for loop in self.loops)
        acting = (*self.gears, *self.limits, *self.loads, *self.actuators, *self.sensors)
        fields = () if self.field is None else (self.field,)
        return {block.name: block for block in (self.world, *pairs, *closures, *acting, *fields)}

    @cached_property
    def connection_of_joint(self) -> dict[str, Connection]:
        """The connection of each joint, by the joint's name."""
        return {connection.joint.name: connection for connection in self.connections}

    @cached_property
    def hanging(self) -> dict[str, Connection]:
        """The connection of each body to its parent, by the body's name."""
        return {connection.child.block.name: connection for connection in self.connections}

    @cached_property
    def used_ports(self) -> frozenset[str]:
        """Names of all ports that are connected, or on which loops, loads or actuators act."""
        refs = [ref for connection in self.connections for ref in (connection.parent, connection.child)]
        refs += [ref for loop in self.loops for ref in loop.ports]
        refs += [block.target for block in (*self.loads, *self.actuators) if isinstance(block, Load | PortActuator)]
        return frozenset(map(str, refs))

    @cached_property
    def moves_no_inertia(self) -> bool:
        """Whether there are coordinates, but none of them moves inertia."""
        nodes = nodes_of(self.connections)
        return moves_no_inertia(nodes, idle(nodes))

    @cached_property
    def blocks_with_coordinates(self) -> tuple[Block, ...]:
        """The blocks that have own coordinates, in the order of the coordinates."""
        connections = (self.connections[index] for index in self.connect_order)
        return tuple(block for c in connections for block in (c.joint, c.child.block) if block.coordinates)

    @cached_property
    def q_slices(self) -> dict[str, slice]:
        """Slices of the blocks' coordinates in q, by the blocks' names."""
        return _slices((block.name, block.nq) for block in self.blocks_with_coordinates)

    @cached_property
    def v_slices(self) -> dict[str, slice]:
        """Slices of the blocks' coordinates in v, a and tau, by the blocks' names."""
        return _slices((block.name, block.nv) for block in self.blocks_with_coordinates)

    def place(self, coordinate: str) -> tuple[int, int]:
        """Return the indices of a coordinate in q and in v: ``"joint.coordinate"``, or ``"joint"`` if it has only one."""
        name, entry = split_path(coordinate)
        k = self.blocks[name].coordinates.index(entry) if entry else 0
        return self.q_slices[name].start + k, self.v_slices[name].start + k

    def entries_of(self, name: str) -> range | None:
        """Return the indices in v of a joint, block or coordinate; None for other names."""
        where = self.v_slices.get(name)
        if where is not None:
            return range(where.start, where.stop)
        if name in self.coordinate_names:
            k = self.coordinate_names.index(name)
            return range(k, k + 1)
        return None

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the entries of v, a and tau."""
        return tuple(name for block in self.blocks_with_coordinates for name in _names(block, block.coordinates))

    @cached_property
    def coordinate_units(self) -> tuple[str, ...]:
        """Units of the coordinates, one for each entry of v: "1" where a block does not define them."""
        return tuple(unit for block in self.blocks_with_coordinates for unit in known_units(block.units, block.nv))

    @cached_property
    def configuration_names(self) -> tuple[str, ...]:
        """Names of the entries of q."""
        return tuple(name for block in self.blocks_with_coordinates for name in _names(block, block.configuration_names))

    @cached_property
    def configuration_units(self) -> tuple[str, ...]:
        """Units of the entries of q."""
        return tuple(unit for block in self.blocks_with_coordinates for unit in block.configuration_units)


def assemble(system: Network) -> Assembly:
    """Return the assembly of a checked system; later changes of the system do not affect it."""
    position = {connection.joint.name: i for i, connection in enumerate(system.connections)}
    by_child = {c.child.block.name: c.joint.name for c in system.connections}
    hops = [(by_child[name], c.joint.name) for c in system.connections if (name := c.parent.block.name) in by_child]
    order = [*range(len(system.connections))]
    if any(position[parent] > position[joint] for parent, joint in hops):
        import networkx as nx

        tree = nx.DiGraph(hops)
        tree.add_nodes_from(position)
        order = [position[name] for name in nx.lexicographical_topological_sort(tree, key=position.__getitem__)]
    rank = {index: k for k, index in enumerate(order)}
    snapshots: dict[str, Any] = {name: block.snapshot() for name, block in system.by_name.items()}
    reflect_rotors(snapshots, system.actuators)
    field: Any = None if system.field is None else system.field.snapshot()
    gravity = system.gravity.copy() if field is None else np.zeros(3)
    placed = {joint: pose.copy() for device in system.devices for joint, pose in device.placements}
    return Assembly(
        name=system.name,
        gravity=gravity,
        world=snapshots["world"],
        connections=tuple(
            Connection(
                _port_among(c.parent, snapshots),
                _port_among(c.child, snapshots),
                snapshots[c.joint.name],
                placed.get(c.joint.name, c.placement),
            )
            for c in (system.connections[index] for index in order)
        ),
        connect_order=tuple(rank[index] for index in range(len(order))),
        loads=tuple(_acting_snapshot(load, snapshots) for load in system.loads),
        actuators=tuple(_acting_snapshot(actuator, snapshots) for actuator in system.actuators),
        sensors=tuple(_acting_snapshot(sensor, snapshots) for sensor in system.sensors),
        loops=(
            *(loop_among(loop, snapshots, gravity, field) for loop in system.loops),
            *_stated(snapshots, system, gravity, field),
            *(() if field is None else _weighed(snapshots, system, field)),
        ),
        gears=tuple(snapshots[gear.name] for gear in system.gears),
        limits=tuple(snapshots[limits.name] for limits in system.limits),
        devices=tuple(_device_snapshot(device, snapshots) for device in system.devices),
        field=field,
        turning=np.zeros(6) if field is None else field.turning,
    )


def _port_among(ref: PortRef, blocks: Mapping[str, Any]) -> PortRef:
    """Return the port of the block of the same name in `blocks`."""
    return PortRef(blocks[ref.block.name], ref.name)


def _weighed(blocks: Mapping[str, Any], system: Network, field: GravityField) -> Iterator[Joined]:
    """Yield the gravity of a field on each body, and on each block with inertia that is a joint, as interactions."""
    for block in (blocks[each.name] for each in weighed(system)):
        acting = gravity_on(block, field)
        yield Joined((PortRef(blocks["world"], None), PortRef(block, None)), acting, acting.own_coordinates)


def _stated(blocks: Mapping[str, Any], system: Network, gravity: Array, field: GravityField | None) -> Iterator[Joined]:
    """Yield the loads of states of blocks with coordinates of their own, and of filters of devices, as interactions."""
    for block in blocks.values():
        if block.state_names and not isinstance(block, Interaction):
            states = BlockStates(block)
            yield Joined((), states, states.own_coordinates)
    for device in (blocks[each.name] for each in (*system.actuators, *system.sensors) if each.is_attached):
        units = tuple(_unit_of(blocks, name) for name in device.filter_coordinates)
        filtered = path_states(device, blocks, gravity, units, field).under(gravity, field)
        world = PortRef(blocks["world"], None)
        ports = tuple(port if isinstance(port, PortRef) else world for port in filtered.own_ports)
        yield Joined(ports, filtered, filtered.own_coordinates)


def _unit_of(blocks: Mapping[str, Any], coordinate: str) -> str:
    """Return the unit of a coordinate, named as motors do."""
    name, entry = split_path(coordinate)
    block = blocks[name]
    return known_units(block.units, block.nv)[block.coordinates.index(entry) if entry else 0]


def loop_among(
    loop: Joined, blocks: Mapping[str, Any], gravity: Array | None = None, field: GravityField | None = None
) -> Joined:
    """Return a loop with its blocks replaced by those of the same names in `blocks`, under other `gravity` (3) if given."""
    ports = tuple(_port_among(ref, blocks) for ref in loop.ports)
    closure = blocks[loop.closure.name].among(blocks)
    closure = closure if gravity is None else closure.under(gravity, field)
    return Joined(ports, closure, (*closure.own_coordinates, *loop.named_coordinates))


def _acting_snapshot(block: Any, snapshots: dict[str, Any]) -> Any:
    """Return the snapshot of a load, actuator or sensor, with its target replaced by the target's snapshot."""
    snapshot = snapshots[block.name]
    if hasattr(block, "target"):
        snapshot.target = _port_among(block.target, snapshots)
    return snapshot


def _device_snapshot(device: CompositeDevice, snapshots: dict[str, Any]) -> CompositeDevice:
    """Return the snapshot of a device, with the snapshots of the blocks that carry it."""
    snapshot: Any = device.snapshot()
    for field, value in vars(snapshot).items():
        if isinstance(value, PortRef):
            put(snapshot, field, _port_among(value, snapshots))
    return snapshot


def reflect_rotors(blocks: dict[str, Block], actuators: Iterable[Actuator]) -> None:
    """Write the rotor inertias of all motors, as seen by the joints, into the joints.

    Raises `ModelError` for a rotor on the own coordinate of another block.
    """
    for actuator in actuators:
        if isinstance(actuator, CoordinateActuator):
            name, coordinate = split_path(actuator.joint)
            joint = blocks[name]
            if not isinstance(joint, Joint):
                if actuator.rotor_inertia:
                    raise ModelError(rotor_without_armature(actuator, actuator.rotor_inertia))
                continue
            reflected = np.zeros(joint.nv) if joint.reflected_inertia is None else joint.reflected_inertia
            index = joint.coordinates.index(coordinate) if coordinate else 0
            rotor = actuator.gear * actuator.gear * actuator.rotor_inertia
            joint.reflected_inertia = replace_entry(reflected, index, reflected[index] + rotor)


def rotor_without_armature(motor: CoordinateActuator, inertia: float) -> Finding:
    """Return the finding for a rotor inertia (kg m^2 or kg) on a coordinate that is not a joint's."""
    where = f"{motor.name}.rotor_inertia"
    advice = f"add gear^2 rotor_inertia to the mass matrix of {owner_of(motor.joint)!r} itself"
    return Finding("no-armature", where, inertia, "no rotor on a block's own coordinate: joints alone have an armature", advice)


def refuse_unsteady(assembly: Assembly) -> list[Finding]:
    """Refuse motions over some time in surroundings that are known at one instant; return what is suspicious with them.

    Raises `ModelError`.
    """
    wrong, suspicious = ([], []) if assembly.field is None else assembly.field.along_time()
    refuse(wrong)
    acting = (loop.closure for loop in assembly.loops if isinstance(loop.closure, Interaction))
    return [*suspicious, *(finding for each in acting for finding in each.along_time())]


def _slices(sizes: Iterator[tuple[str, int]]) -> dict[str, slice]:
    result: dict[str, slice] = {}
    start = 0
    for name, size in sizes:
        result[name] = slice(start, start + size)
        start += size
    return result


def _names(block: Block, entries: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(block, Joint) and len(block.coordinates) == 1:
        return (block.name,)
    return tuple(f"{block.name}.{entry}" for entry in entries)


#: Distances that are no lengths of a body, in parts of its radius of gyration: what trimming masses leaves, and rounding.
_SMALL = 0.1


def extent_of(assembly: Assembly) -> float:
    """Return the largest distance (m) of a joint, a closure or a centre of mass from the frame of its body.

    It is the length that counts as one where lengths are compared with angles. What stands still does not count where bodies
    have a length, nor do ports that nothing joins: a frame on the far side of the earth makes no mechanism larger.

    Ports that loads and actuators act on count as joined, of bodies that deform every port, where it is without deformation.
    Where there is none, or rounding alone as beside the bodies' radius of gyration, it is that of any port, or else of the
    surfaces of spheres in contacts, or else of the joints and closures on the world from each other; zero if these are in one
    place as well.
    """
    joined = list(_joined_places(assembly))
    bodies = [connection.child.block for connection in assembly.connections]
    rigid = [body.mass_properties() for body in bodies if not body.nv]
    own = [place for block, place in joined if block is not assembly.world]
    own += [place for body in bodies if body.nv for place in _port_places(body)]
    own += [each.com for each in rigid]
    unused = [place for body in bodies for place in _port_places(body)]
    fixed = [place for block, place in joined if block is assembly.world]
    least = _SMALL * _largest_gyration(rigid)
    touching = (getattr(loop.closure, "touching", None) for loop in assembly.loops)
    surfaces = [np.array([length, 0.0, 0.0]) for each in touching if each is not None for length in each.extents]
    for places in (own, unused, surfaces, [place - fixed[0] for place in fixed]):
        if places and (longest := float(np.linalg.norm(np.array(places), axis=1).max())) > least:
            return longest
    return 0.0


def _joined_places(assembly: Assembly) -> Iterator[tuple[Block, Array]]:
    """Yield the places on blocks (3, in their frames) of joints, closures, interactions, loads and actuators."""
    here = np.zeros(3)
    places = [(each.parent, each.placement.position) for each in assembly.connections]
    places += [(each.child, here) for each in assembly.connections]
    places += [(ref, here) for loop in assembly.loops for ref in loop.ports]
    places += [(load.target, here) for load in assembly.loads]
    places += [(actuator.target, here) for actuator in assembly.actuators if isinstance(actuator, PortActuator)]
    for ref, placement in places:
        rotation, position = ref.block.neutral_pose(ref.name)
        yield ref.block, position + rotation @ placement


def _largest_gyration(bodies: list[MassProperties]) -> float:
    """Return the largest radius of gyration (m) of bodies about their centres of mass, from the sum of their moments.

    Numbers may be complex. Moments may be slightly negative by rounding, as for point masses read from a file.
    """
    if not bodies:
        return 0.0
    masses = np.real([body.mass for body in bodies])
    moments = np.real([body.inertia for body in bodies]).trace(axis1=1, axis2=2)
    usable = (masses > 0) & (moments > 0)
    return float((np.sqrt(moments[usable] / 2) / np.sqrt(masses[usable])).max(initial=0.0))


def _port_places(block: Block) -> Iterator[Array]:
    return (block.neutral_pose(port)[1] for port in block.ports)
