"""Whether names stand for one thing each, and the full names of what motors, sensors, gears and interactions act on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.paths import split_path
from titop.blocks.contract.block import Block
from titop.blocks.contract.own_coordinates import CoordinateNames
from titop.graph.network.network import Network

#: What the gravity field's parameters begin with.
_GRAVITY = "gravity"


def renamed_blocks(system: Network) -> Iterator[Finding]:
    """Find blocks that were given other names after they had been connected."""
    for name, block in system.graph.nodes(data="block"):
        if block.name != name:
            expected, advice = f"the name {name!r}, by which it was connected", "name blocks before they are connected"
            yield Finding("renamed-block", name, block.name, expected, advice)


def reserved_names(system: Network) -> Iterator[Finding]:
    """Find blocks whose parameters would go by the names of others."""
    for block in system.blocks:
        if block.name == _GRAVITY:
            expected = f"another name: {_GRAVITY}.x, .y and .z are the field's"
            yield Finding("reserved-name", _GRAVITY, block, expected, "rename the block")


def ambiguous_ports(system: Network) -> Iterator[Finding]:
    """Find ports that go by the name of a parameter or coordinate of their block, which is meant then."""
    for block in system.blocks:
        meant = {*block.parameters(), *block.coordinates} if block.ports else set()
        for port in sorted(meant.intersection(block.ports)):
            expected = "a name that no parameter or coordinate of the block has: that is meant where both may be"
            yield Finding("ambiguous-name", f"{block.name}.{port}", f"a port {port!r}", expected, "rename the port")


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
