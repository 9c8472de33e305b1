"""Whether names stand for one thing each."""

from __future__ import annotations

from collections.abc import Iterator

from titop.blocks.basics.errors import Finding
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
