"""The laws of blocks with own coordinates, written into the array that the kernels read (see `kernels.layout`)."""

from __future__ import annotations

from titop.blocks.block import acceleration_bias
from titop.blocks.spatial import Array
from titop.graph.flatten import GeneralBlock
from titop.solvers.kernels import layout


def write_ports(general: GeneralBlock, law: Array, q: Array) -> None:
    """Write pose and motion subspace of a general block's ports into `law`."""
    for port, offset in general.ports.items():
        rotation, position = general.block.pose(port, q)
        law[offset : offset + 9] = rotation.ravel()
        law[offset + layout.PORT_P : offset + layout.PORT_P + 3] = position
        start = offset + layout.PORT_S
        law[start : start + 6 * len(general.block.coordinates)] = general.block.motion_subspace(port, q).ravel()


def write_law(general: GeneralBlock, law: Array, q: Array, v: Array, twist: Array) -> None:
    """Write M, h (less passive efforts) and the ports' biases of a general block into `law`."""
    block = general.block
    size = 6 + block.nv
    h = general.law + size * size
    law[general.law : h] = block.mass_matrix(q).ravel()
    law[h : h + size] = block.gyroscopic(q, v, twist)
    law[h + 6 : h + size] -= block.passive_efforts(q, v)
    for port, offset in general.ports.items():
        start = offset + layout.PORT_GAMMA
        law[start : start + 6] = acceleration_bias(block, port, q, v, twist)
