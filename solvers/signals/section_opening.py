"""Internal wrenches of rods: a cut adds six coordinates at a section, and their efforts are the section's wrench."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

from titop.blocks.basics.paths import split_path
from titop.blocks.contract.block import Block, PortRef
from titop.graph.network.assembly import Assembly, loop_among

if TYPE_CHECKING:
    from titop.blocks.bodies.rods.rod import Rod


def is_rod(block: Block | None) -> TypeGuard[Rod]:
    """Tell whether a block is a rod."""
    return block is not None and block.has_sections


def is_on_rod(assembly: Assembly, port: str) -> bool:
    """Tell whether a name is that of a port of a rod; the name of a rod stands for its base."""
    name, port_name = split_path(port)
    rod = assembly.blocks.get(name)
    return is_rod(rod) and (port_name is None or port_name in rod.rod_ports)


def section_of(assembly: Assembly, port: str) -> tuple[Rod, float]:
    """Return the rod of a port, and the port's abscissa as a fraction of its length."""
    name, port_name = split_path(port)
    rod = assembly.blocks[name]
    assert is_rod(rod)
    return rod, rod.rod_ports[port_name].abscissa / rod.given_length if port_name else 0.0


def cut_rod_at(assembly: Assembly, rod: Rod, fraction: float) -> Assembly:
    """Return an assembly with a rod cut at a section: it has six more coordinates, after those of the rod."""
    from titop.blocks.bodies.rods.rod import CutRod

    blocks = {**assembly.blocks, rod.name: CutRod(rod, fraction)}

    def on_blocks(ref: PortRef) -> PortRef:
        return PortRef(blocks[ref.block.name], ref.name)

    return replace(
        assembly,
        connections=tuple(replace(c, parent=on_blocks(c.parent), child=on_blocks(c.child)) for c in assembly.connections),
        loops=tuple(loop_among(loop, blocks) for loop in assembly.loops),
    )
