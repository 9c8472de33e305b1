"""Whether blocks act on ports that are there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from titop.blocks.basics.errors import Finding, did_you_mean
from titop.blocks.bodies.rigid_body import PortedBlock
from titop.blocks.contract.block import PARENT_PORT, PortRef
from titop.blocks.joints.joint import Joint
from titop.graph.network.network import Network


def unknown_ports(system: Network) -> Iterator[Finding]:
    """Find connections, closures and what acts or reads at ports that blocks do not have."""
    for connection in system.connections:
        yield from _unknown_port(connection.parent)
        if isinstance(connection.child.block, PortedBlock) and not connection.child.block.nv:
            yield from _unknown_port(connection.child)
        elif connection.child.name not in (None, PARENT_PORT):
            yield Finding(
                "not-a-parent-port",
                str(connection.child),
                connection.child.name,
                f"the parent port {PARENT_PORT!r}",
                "a block with own coordinates hangs on its parent port; turn the block around",
            )
    for loop in system.loops:
        for ref in loop.ports:
            yield from _unknown_port(ref)
    for block in targeting(system):
        yield from _unknown_port(block.target)


def _unknown_port(ref: PortRef) -> Iterator[Finding]:
    if ref.name is None or ref.name in ref.block.ports:
        return
    if ref.name == PARENT_PORT and not isinstance(ref.block, PortedBlock):
        return
    yield Finding("unknown-port", str(ref), ref.name, "a port of the block", did_you_mean(ref.name, ref.block.ports))


def targeting(system: Network) -> Iterator[Any]:
    """Yield the loads, actuators and sensors that have a target port."""
    yield from (block for block in system.attachments if hasattr(block, "target"))


def foreign_targets(system: Network) -> Iterator[Finding]:
    """Find what acts or reads at blocks of other systems, or at joints and blocks that stand for these."""
    joints = {connection.joint.name for connection in system.connections}
    advice = "take the body that the joint carries"
    for loop in system.loops:
        for ref in loop.named_ports:
            if ref.block.name in joints:
                yield Finding("not-a-body", loop.closure.name, ref.block, "a body", advice)
    for acting in targeting(system):
        block = acting.target.block
        if system.graph.nodes.get(block.name, {}).get("block") is not block:
            where = f"{acting.name}.target"
            yield Finding("foreign-target", where, str(acting.target), "a block of this system", "connect the block first")
        elif isinstance(block, Joint) or block.name in joints:
            yield Finding("not-a-body", f"{acting.name}.target", block, "a body", advice)


def loose_loops(system: Network) -> Iterator[Finding]:
    """Find closures on blocks of other systems, or with both ports on one block."""
    for loop in system.loops:
        roles = ("first", "second") if loop.is_between_two_ports else (f"ports[{k}]" for k in range(len(loop.named_ports)))
        for role, ref in zip(roles, loop.named_ports, strict=True):
            if system.graph.nodes.get(ref.block.name, {}).get("block") is not ref.block:
                where, expected = f"{loop.closure.name}.{role}", "a block of this system"
                yield Finding("foreign-target", where, str(ref), expected, "connect the block first")
        if loop.is_between_two_ports and loop.first.block is loop.second.block:
            ports, advice = f"{loop.first} and {loop.second}", "close the loop on another block"
            yield Finding("self-connection", loop.closure.name, ports, "two different blocks", advice)
