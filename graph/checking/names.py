"""Checks that names are unambiguous, and full names of the coordinates on which blocks act."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.paths import split_path
from titop.blocks.contract.block import Block
from titop.blocks.contract.own_coordinates import CoordinateNames
from titop.graph.network.network import Network

#: First part of the names of gravity's parameters.
_GRAVITY = "gravity"


def renamed_blocks(system: Network) -> Iterator[Finding]:
    """Find blocks that were renamed after they had been connected."""
    for name, block in system.graph.nodes(data="block"):
        if block.name != name:
            expected, advice = f"the name {name!r}, by which it was connected", "name blocks before they are connected"
            yield Finding("renamed-block", name, block.name, expected, advice)


def reserved_names(system: Network) -> Iterator[Finding]:
    """Find blocks whose parameters would have the names of gravity's parameters."""
    for block in system.blocks:
        if block.name == _GRAVITY:
            expected = f"another name: {_GRAVITY}.x, .y and .z are the field's"
            yield Finding("reserved-name", _GRAVITY, block, expected, "rename the block")


def ambiguous_ports(system: Network) -> Iterator[Finding]:
    """Find ports with the name of a parameter or coordinate of their block, which takes precedence."""
    for block in system.blocks:
        meant = {*block.parameters(), *block.coordinates} if block.ports else set()
        for port in sorted(meant.intersection(block.ports)):
            expected = "a name that no parameter or coordinate of the block has: that is meant where both may be"
            yield Finding("ambiguous-name", f"{block.name}.{port}", f"a port {port!r}", expected, "rename the port")


def moving_blocks(system: Network) -> dict[str, Block]:
    """Return the blocks that motors, sensors and gears may name: all joints, and other blocks with coordinates."""
    joints: dict[str, Block] = {c.joint.name: c.joint for c in system.connections}
    return joints | {c.child.block.name: c.child.block for c in system.connections if c.child.block.coordinates}


def full_name(moving: Mapping[str, Block], name: str) -> str:
    """Return the full name ``block.coordinate`` of a coordinate, also for a former name or a block with only one."""
    target, entry = split_path(name)
    coordinates: tuple[str, ...] = moving[target].coordinates if target in moving else ()
    if entry is not None and isinstance(coordinates, CoordinateNames):
        return f"{target}.{coordinates.today(entry)}"
    return f"{name}.{coordinates[0]}" if entry is None and len(coordinates) == 1 else name
