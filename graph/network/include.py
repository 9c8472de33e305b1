"""Subsystems: a system used as a block of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.paths import split_path
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import rotation_log
from titop.blocks.basics.user_input import FieldReader, is_name
from titop.blocks.bodies.rigid_body import PortedBlock
from titop.blocks.contract.block import Block, PortRef
from titop.blocks.contract.fields import put
from titop.blocks.devices.composite_device import CompositeDevice
from titop.graph.network.connections import Connection, Joined
from titop.graph.network.network import Network, port_ref

#: Separates the parts of a prefixed name.
SEPARATOR = "/"


class Included:
    """The blocks of an included system, by their names in that system."""

    def __init__(self, prefix: str, blocks: Mapping[str, Block]) -> None:
        self.prefix = prefix
        self._blocks = dict(blocks)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the blocks in the included system."""
        return tuple(self._blocks)

    def __getitem__(self, name: str) -> Block:
        if name not in self._blocks:
            where, advice = f"{self.prefix}{SEPARATOR}{name}", did_you_mean(name, self._blocks)
            raise ModelError(Finding("unknown-block", where, name, "a block of the included system", advice))
        return self._blocks[name]

    def port(self, path: str) -> PortRef:
        """Return a port by ``"block.port"`` (or ``"block"``), named as in the included system."""
        block, port = split_path(path)
        return self[block].port(port or None)


def include(system: Network, other: Network, prefix: str, at: Block | PortRef | str) -> Included:
    """Copy a system into another; see `System.include`."""
    copies = _copies(other, prefix)
    here = port_ref(system, at, system.reader, f"{prefix}.at")
    if not is_name(prefix):
        system.reader.report("bad-prefix", "include", repr(prefix), "letters, digits and _-/", 'write s.include(arm, "left")')
        return Included(prefix, copies)
    if here is None:
        return Included(prefix, copies)
    if taken := [copy.name for copy in copies.values() if copy.name in system.by_name]:
        expected, advice = f"no block whose name begins with {prefix}{SEPARATOR}", "include each under a prefix of its own"
        system.reader.report("duplicate-name", "include", ", ".join(map(repr, taken)), expected, advice)
        return Included(prefix, copies)
    # steps that may raise come first, and refused ones are undone: a system is included as a whole or not at all
    mount = _Inclusion(other, prefix, copies, here)
    connections = [mount.connection(connection) for connection in other.connections]
    loops = [mount.loop(loop) for loop in other.loops]
    attachments = [
        (method, mount.attachment(block)) for section, method in system.ATTACHMENTS.items() for block in getattr(other, section)
    ]
    findings = list(other.reader.findings) if other is not system else []
    before = _Before(system, here.block, [*mount.names.values()])
    try:
        if isinstance(here.block, PortedBlock):
            here.block.port_poses.update(mount.ports)
        for parent, child, joint, placement in connections:
            system.connect(parent, child, joint, placement)
        for method, arguments in loops:
            getattr(system, method)(*arguments)
        for method, block in attachments:
            getattr(system, method)(block)
        system.devices += [mount.device(device) for device in other.devices]
    except Exception:
        before.restore()
        raise
    if len(system.reader.findings) > before.findings:
        before.restore()
    system.reader.findings += findings
    return Included(prefix, copies)


class _Before:
    """The state of a system before blocks of some `names` are included in it, with `at` in place of the other's world."""

    def __init__(self, system: Network, at: Block, names: list[str]) -> None:
        self._system, self._at = system, at
        self._names = [*names, *([at.name] if at.name not in system.by_name else [])]
        self._lists = [
            system.connections,
            system.loops,
            system.devices,
            *(getattr(system, section) for section in system.ATTACHMENTS),
        ]
        self._lengths = [len(entries) for entries in self._lists]
        self._ports = dict(at.port_poses) if isinstance(at, PortedBlock) else {}
        self.findings = len(system.reader.findings)

    def restore(self) -> None:
        """Restore the system, except for the findings."""
        for entries, length in zip(self._lists, self._lengths, strict=True):
            del entries[length:]
        for name in self._names:
            self._system.by_name.pop(name, None)
        left = self._system.by_name.keys()
        self._system.edges = {edge: about for edge, about in self._system.edges.items() if left >= {*edge}}
        if isinstance(self._at, PortedBlock):
            self._at.port_poses = self._ports


def _copies(other: Network, prefix: str) -> dict[str, Any]:
    """Return copies of a system's blocks with prefixed names, by their names in that system."""
    names = {name: f"{prefix}{SEPARATOR}{name}" for name in other.by_name if name != "world"}
    copies: dict[str, Any] = {name: other.by_name[name].snapshot() for name in names}
    for copy in copies.values():
        _rename(copy, prefix, names)
    return copies


def _rename(copy: Any, prefix: str, names: Mapping[str, str]) -> None:
    """Give a block's copy its prefix, and the new `names` of blocks that it knows by name."""
    copy.name, findings = f"{prefix}{SEPARATOR}{copy.name}", copy.reader.findings
    copy.reader = FieldReader(copy.name)
    copy.reader.findings = [replace(finding, where=f"{prefix}{SEPARATOR}{finding.where}") for finding in findings]
    copy.rename_coordinates(lambda coordinate: _renamed(coordinate, names))


def _renamed(coordinate: str, names: Mapping[str, str]) -> str:
    """Return the name of a joint, or of a coordinate of a block, by the blocks' new `names`."""
    block, entry = split_path(coordinate)
    return names.get(block, block) + ("" if entry is None else f".{entry}")


class _Inclusion:
    """The copies of an included system's parts, and the ports that these need at the block that replaces its world, `here`."""

    def __init__(self, other: Network, prefix: str, copies: Mapping[str, Any], here: PortRef) -> None:
        self.other, self.prefix, self.copies, self.here = other, prefix, copies, here
        self.names = {name: copy.name for name, copy in copies.items()}
        self.ports: dict[str, Pose] = {}
        self._of_devices = {name for device in other.devices for name in device.blocks}

    def connection(self, connection: Connection) -> tuple[PortRef, PortRef, Block, Pose]:
        """Return parent, child, joint and placement of a connection's copy."""
        parent, placement, world = connection.parent, connection.placement, self.other.world
        known = parent.name is None or parent.name in world.ports
        if parent.block is world and known and connection.joint.name not in self._of_devices:
            parent, placement = self.here, _in_world(self.other, parent.name, placement)
        else:
            parent = self.port(parent)
        child = PortRef(self.copies[connection.child.block.name], connection.child.name)
        return parent, child, self.copies[connection.joint.name], placement

    def port(self, ref: PortRef) -> PortRef:
        """Return the copy of a port; ports of the other's world become ports of the block that replaces it."""
        other, here = self.other, self.here
        if ref.block is not other.world:
            is_copied = other.by_name.get(ref.block.name) is ref.block
            return PortRef(self.copies[ref.block.name], ref.name) if is_copied else ref
        if ref.name is None or not isinstance(here.block, PortedBlock):
            return here
        name = f"{self.prefix}{SEPARATOR}{ref.name}"
        known = ref.name in other.world.ports and (here.name is None or here.name in here.block.ports)
        if known and name not in here.block.ports:
            rotation, position = here.block.pose(here.name)
            turn, shift = other.world.pose(ref.name)
            self.ports[name] = Pose(position + rotation @ shift, rotation @ turn)
        return here.block.port(name)

    def loop(self, loop: Joined) -> tuple[str, tuple[Any, ...]]:
        """Return the method that adds a closure's copy, and its arguments."""
        ports, closure = [self.port(ref) for ref in loop.named_ports], self.copies[loop.closure.name].among(self.copies)
        if loop.is_between_two_ports:
            return "close_loop", (*ports, closure)
        return "add_interaction", (closure, *ports, *(_renamed(name, self.names) for name in loop.named_coordinates))

    def attachment(self, acting: Any) -> Any:
        """Return the copy of a gear, limits, load, actuator or sensor."""
        copy = self.copies[acting.name]
        if hasattr(acting, "target"):
            copy.target = self.port(acting.target)
        return copy

    def device(self, device: CompositeDevice) -> CompositeDevice:
        """Return the copy of a device, with the copies of its parts."""
        copy: Any = device.snapshot()
        _rename(copy, self.prefix, self.names)
        for field, value in vars(copy).items():
            if isinstance(value, PortRef):
                put(copy, field, self.port(value))
        copy.calls = tuple(
            tuple(self.copies[part.name] if isinstance(part, Block) else part for part in call) for call in device.calls
        )
        return copy


def _in_world(other: Network, port: str | None, placement: Pose) -> Pose:
    """Return a placement at a port of the other's world as one at its origin."""
    rotation, position = other.world.pose(port)
    turn = rotation_log(rotation @ placement.rotation) if port is not None else placement.rotation_vector
    return Pose.from_rotation_vector(position + rotation @ placement.position, turn)
