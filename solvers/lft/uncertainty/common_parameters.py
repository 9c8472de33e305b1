"""Numbers that are no parameters of a model themselves, but from which several of its parameters follow."""

from __future__ import annotations

from titop.blocks.bodies.flexible_body import FlexibleBody
from titop.blocks.bodies.modal_parameters import Common, common_numbers
from titop.graph.network.assembly import Assembly


def common_parameters(assembly: Assembly) -> dict[str, Common]:
    """Return these numbers by dotted name, with the dotted names of what follows from each."""
    result = {}
    for name, block in assembly.blocks.items():
        if isinstance(block, FlexibleBody):
            for entry, (value, unit, shares) in common_numbers(block).items():
                own = tuple(share._replace(name=f"{name}.{share.name}") for share in shares)
                result[f"{name}.{entry}"] = Common(value, unit, own)
    return result
