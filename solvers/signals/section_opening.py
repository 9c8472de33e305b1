"""Internal wrenches as efforts: a rod cut at a section by six more coordinates, whose efforts are the section's wrench."""

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
    """Tell whether a name is that of a port of a rod; a rod's own stands for its base."""
    name, own = split_path(port)
    rod = assembly.blocks.get(name)
    return is_rod(rod) and (own is None or own in rod.rod_ports)


def section_of(assembly: Assembly, port: str) -> tuple[Rod, float]:
    """Return the rod on which a port stands, and where, in parts of its length."""
    name, own = split_path(port)
    rod = assembly.blocks[name]
    assert is_rod(rod)
    return rod, rod.rod_ports[own].abscissa / rod.given_length if own else 0.0


def cut_rod_at(assembly: Assembly, rod: Rod, fraction: float) -> Assembly:
    """Return an assembly with a rod cut at a section: six coordinates more, behind the rod's own."""
    from titop.blocks.bodies.rods.cut_rod import CutRod

    blocks = {**assembly.blocks, rod.name: CutRod(rod, fraction)}

    def moved(ref: PortRef) -> PortRef:
        return PortRef(blocks[ref.block.name], ref.name)

    return replace(
        assembly,
        connections=tuple(replace(c, parent=moved(c.parent), child=moved(c.child)) for c in assembly.connections),
        loops=tuple(loop_among(loop, blocks) for loop in assembly.loops),
    )
