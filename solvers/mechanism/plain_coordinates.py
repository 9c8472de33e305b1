"""Which coordinates are plain numbers, whose rates are the rates of these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block, overrides_method
from titop.blocks.joints.joint import Joint
from titop.graph.network.assembly import Assembly


class PlainCoordinates(NamedTuple):
    """Where coordinates are plain numbers, in q and in v; and the other blocks, with where their coordinates stand."""

    in_q: Array
    in_v: Array
    others: list[tuple[Block, slice, slice]]


def plain_coordinates(assembly: Assembly) -> PlainCoordinates:
    """Return where the coordinates of a system are plain numbers."""
    nq, nv = len(assembly.configuration_names), len(assembly.coordinate_names)
    in_q, in_v, others = np.ones(nq, dtype=bool), np.ones(nv, dtype=bool), []
    for block in assembly.blocks_with_coordinates:
        if not _is_plain(block):
            where = assembly.q_slices[block.name], assembly.v_slices[block.name]
            others.append((block, *where))
            in_q[where[0]] = in_v[where[1]] = False
    return PlainCoordinates(np.flatnonzero(in_q), np.flatnonzero(in_v), others)


def _is_plain(block: Block) -> bool:
    """Whether a block's coordinates are numbers that change as their rates say."""
    geometry = [overrides_method(block, name) for name in ("integrate", "difference", "along")]
    if isinstance(block, Joint):
        geometry.append(overrides_method(block, "difference_jacobian", Joint))
    return block.configuration_names == block.coordinates and not any(geometry)
