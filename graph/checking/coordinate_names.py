"""What motors, sensors, gears and interactions may name."""

from __future__ import annotations

from collections.abc import Mapping

from titop.blocks.basics.paths import split_path
from titop.blocks.contract.block import Block
from titop.blocks.contract.coordinates import CoordinateNames
from titop.graph.network.network import Network


def moving_blocks(system: Network) -> dict[str, Block]:
    """Return what motors, sensors and gears may name: all joints, and the other blocks that have coordinates."""
    joints: dict[str, Block] = {c.joint.name: c.joint for c in system.connections}
    return joints | {c.child.block.name: c.child.block for c in system.connections if c.child.block.coordinates}


def full_name(moving: Mapping[str, Block], name: str) -> str:
    """Return the full name ``block.coordinate`` of what may be the only coordinate of a joint or block: that of today."""
    target, entry = split_path(name)
    own: tuple[str, ...] = moving[target].coordinates if target in moving else ()
    if entry is not None and isinstance(own, CoordinateNames):
        return f"{target}.{own.today(entry)}"
    return f"{name}.{own[0]}" if entry is None and len(own) == 1 else name
