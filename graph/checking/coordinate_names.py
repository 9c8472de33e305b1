"""What motors, sensors, gears and interactions may name."""

from __future__ import annotations

from collections.abc import Mapping

from titop.blocks.contract.block import Block
from titop.graph.network.network import Network


def moving_blocks(system: Network) -> dict[str, Block]:
    """Return what motors, sensors and gears may name: all joints, and the other blocks that have coordinates."""
    joints: dict[str, Block] = {c.joint.name: c.joint for c in system.connections}
    return joints | {c.child.block.name: c.child.block for c in system.connections if c.child.block.coordinates}


def full_name(moving: Mapping[str, Block], name: str) -> str:
    """Return the full name ``block.coordinate`` of what may be the only coordinate of a joint or block."""
    own: tuple[str, ...] = moving[name].coordinates if name in moving else ()
    return f"{name}.{own[0]}" if len(own) == 1 else name
