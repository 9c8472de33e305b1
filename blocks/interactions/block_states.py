"""First-order states of a block with own coordinates, as an interaction on these."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction


class BlockStates(Interaction):
    """The efforts of a block's states and inputs on its plain coordinates; systems add it for every block with states."""

    port_counts, coordinate_counts = (0, 0), (1, np.inf)

    def __init__(self, block: Block) -> None:
        super().__init__(f"{block.name}/states")
        self.block, self.own_blocks = block, (block,)
        self.own_coordinates = tuple(f"{block.name}.{name}" for name in block.coordinates)
        self.inputs, self.input_units = tuple(block.inputs), block.input_units
        self.state_names, self.state_units = tuple(block.state_names), block.state_units

    @property
    def input_names(self) -> tuple[str, ...]:
        return self.block.input_names

    @property
    def state_paths(self) -> tuple[str, ...]:
        return self.block.state_paths

    @property
    def input_ranges(self) -> tuple[tuple[float, float], ...]:  # type: ignore[override]
        """Range of each of the block's inputs, unbounded by default."""
        return tuple(self.block.input_ranges) or super().input_ranges

    def among(self, blocks: Mapping[str, Block]) -> BlockStates:
        block = blocks[self.block.name]
        return self if block is self.block else BlockStates(block)

    def act(self, motion: TargetMotion) -> tuple[Array, Array]:
        """Return no wrenches (0, 6), and the efforts (n, N m or N) on the block's coordinates."""
        efforts = self.block.state_efforts(motion.q, motion.v, motion.x)
        driven = self.block.input_matrix(motion.q) @ motion.u if self.inputs else 0.0
        return np.zeros((0, 6)), efforts + driven

    def state_rates(self, motion: TargetMotion) -> Array:  # type: ignore[override]
        return self.block.state_rates(motion.q, motion.v, motion.x, motion.u)
