"""Subsystems: a system used as a block of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from titop.blocks.block import Block, PortRef
from titop.blocks.checks import FieldReader
from titop.blocks.errors import Finding, ModelError, did_you_mean
from titop.blocks.pose import Pose
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
        if hasattr(copy, "joint"):
            joint, dot, coordinate = copy.joint.partition(".")
            copy.joint = names.get(joint, joint) + dot + coordinate
    for connection in other.connections:
        child = PortRef(copies[connection.child.block.name], connection.child.name)
        parent: Any = at
        placement = connection.placement
        if connection.parent.block is other.world:
            placement = _in_world(other, connection.parent.name, placement)
        else:
            parent = PortRef(copies[connection.parent.block.name], connection.parent.name)
        system.connect(parent, child, copies[connection.joint.name], placement)
    for acting in (*other.loads, *other.actuators, *other.sensors):
        _add(system, other, acting, copies, at)
    system.reader.findings += other.reader.findings
    return Included(prefix, copies)


def _in_world(other: System, port: str | None, placement: Pose) -> Pose:
    """Return a placement at a port of the other's world as one at its origin."""
    rotation, position = other.world.pose(port)
    turn = rotation_log(rotation @ placement.rotation) if port is not None else placement.rotation_vector
    return Pose.from_rotation_vector(position + rotation @ placement.position, turn)


def _add(system: System, other: System, acting: Any, copies: dict[str, Any], at: Any) -> None:
    copy = copies[acting.name]
    if hasattr(acting, "target"):
        block, port = acting.target.block, acting.target.name
        if block is other.world:
            copy.target = at if isinstance(at, PortRef) else PortRef(system.world if isinstance(at, str) else at, None)
        else:
            copy.target = PortRef(copies[block.name], port)
    if acting in other.loads:
        system.add_load(copy)
    elif acting in other.actuators:
        system.add_actuator(copy)
    else:
        system.add_sensor(copy)
