"""Subsystems: a system used as a block of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from titop.blocks.block import Block, PortRef
from titop.blocks.checks import FieldReader
from titop.blocks.errors import Finding, ModelError, did_you_mean
from titop.blocks.pose import Pose
from titop.blocks.rigid_body import PortedBlock
from titop.blocks.spatial import rotation_log

if TYPE_CHECKING:
    from titop.graph.system import System

#: Between the parts of a prefixed name.
SEPARATOR = "/"


class Included:
    """The blocks of an included system, by the names that they have there.

    Parameters
    ----------
    prefix : str
    blocks : mapping of name to Block
    """

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
        block, _, port = path.partition(".")
        return self[block].port(port or None)


def include(system: System, other: System, prefix: str, at: Block | PortRef | str) -> Included:
    """Copy a system into another; see `System.include`."""
    names = {name: f"{prefix}{SEPARATOR}{name}" for name in other.graph if name != "world"}
    copies: dict[str, Any] = {name: block.snapshot() for name, block in other.graph.nodes(data="block") if name != "world"}
    for name, copy in copies.items():
        copy.name, findings = names[name], copy.reader.findings
        copy.reader = FieldReader(copy.name)
        copy.reader.findings = [replace(finding, where=f"{prefix}{SEPARATOR}{finding.where}") for finding in findings]
        for field in copy.joint_fields:
            joint, dot, coordinate = getattr(copy, field).partition(".")
            setattr(copy, field, names.get(joint, joint) + dot + coordinate)
    here = _port_at(system, prefix, at)
    if here is None:
        return Included(prefix, copies)
    for connection in other.connections:
        child = PortRef(copies[connection.child.block.name], connection.child.name)
        parent, placement = connection.parent, connection.placement
        if parent.block is other.world and (parent.name is None or parent.name in other.world.ports):
            parent, placement = here, _in_world(other, parent.name, placement)
        else:
            parent = _port(other, parent, copies, prefix, here)
        system.connect(parent, child, copies[connection.joint.name], placement)
    for loop in other.loops:
        first, second = (_port(other, ref, copies, prefix, here) for ref in (loop.first, loop.second))
        system.close_loop(first, second, copies[loop.closure.name])
    for acting in other.attachments:
        _add(system, other, acting, copies, prefix, here)
    system.reader.findings += other.reader.findings
    return Included(prefix, copies)


def _in_world(other: System, port: str | None, placement: Pose) -> Pose:
    """Return a placement at a port of the other's world as one at its origin."""
    rotation, position = other.world.pose(port)
    turn = rotation_log(rotation @ placement.rotation) if port is not None else placement.rotation_vector
    return Pose.from_rotation_vector(position + rotation @ placement.position, turn)


def _port_at(system: System, prefix: str, at: Any) -> PortRef | None:
    """Return the port that stands for the other's world; None, with a finding, if there is none."""
    if isinstance(at, PortRef):
        return at
    if isinstance(at, Block):
        return PortRef(at, None)
    if isinstance(at, str) and at == "world":
        return PortRef(system.world, None)
    expected = 'a block, a port such as body.port("C"), or "world"'
    system.reader.report("not-a-port", f"{prefix}.at", at, expected, "pass the block itself, not its name")
    return None


def _port(other: System, ref: PortRef, copies: dict[str, Any], prefix: str, here: PortRef) -> PortRef:
    """Return what a port of the other becomes; one of its world becomes a port of the block that stands for it."""
    if ref.block is not other.world:
        own = other.graph.nodes.get(ref.block.name, {}).get("block") is ref.block
        return PortRef(copies[ref.block.name], ref.name) if own else ref
    if ref.name is None or not isinstance(here.block, PortedBlock):
        return here
    name = f"{prefix}{SEPARATOR}{ref.name}"
    known = ref.name in other.world.ports and (here.name is None or here.name in here.block.ports)
    if known and name not in here.block.ports:
        rotation, position = here.block.pose(here.name)
        turn, shift = other.world.pose(ref.name)
        here.block.add_port(name, position + rotation @ shift, rotation @ turn)
    return here.block.port(name)


def _add(system: System, other: System, acting: Any, copies: dict[str, Any], prefix: str, here: PortRef) -> None:
    copy = copies[acting.name]
    if hasattr(acting, "target"):
        copy.target = _port(other, acting.target, copies, prefix, here)
    method = next(method for section, method in system.ATTACHMENTS.items() if acting in getattr(other, section))
    getattr(system, method)(copy)
