"""The laws of general blocks for the kernels: which kinds are compiled, and the numbers and addresses that passes need.

A kind of titop's own is one line in `_KINDS`. Blocks of other classes, and of classes that redefine parts of a kind, answer
through Python.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from titop.blocks.block import Block
from titop.blocks.flexible_body import FlexibleBody
from titop.blocks.overrides import overrides
from titop.blocks.spatial import Array
from titop.graph.flatten import GeneralBlock, Ints
from titop.solvers.kernels import layout, modal
from titop.solvers.kernels.compiled_laws import CompiledLaw
from titop.solvers.kernels.user_laws import stages_of
from titop.solvers.python_law import PythonLaw

#: The kinds of blocks whose laws titop has compiled.
_KINDS: dict[type[Block], CompiledLaw] = {FlexibleBody: modal.LAW}

#: What a block with a compiled law of its own leaves as it is; one that does not answers through Python.
_LEFT_TO_LAWS = (
    *("integrate", "difference", "bracket", "nv", "nq", "configuration_names"),
    *("law", "law_slopes", "gyroscopic", "passive_efforts", "motion_subspace", "subspace_rate", "subspace_slopes"),
)


class Stages:
    """The compiled functions of all general blocks, in this process.

    Attributes
    ----------
    addresses : (blocks, stages) array of int64
        As the kernels take them. Those of the linearised laws are zero until `prepare_slopes`.
    """

    def __init__(self, generals: Sequence[GeneralBlock]) -> None:
        self._laws = [compiled_law(general.block) or PythonLaw(general.block) for general in generals]
        self.addresses = np.zeros((len(self._laws), layout.STAGE_COLUMNS), dtype=np.int64)
        self.addresses[:, layout.TERMS] = [law.terms.address for law in self._laws]

    def prepare_slopes(self) -> None:
        """Let the linearised laws be called too: compile them if need be."""
        self.addresses[:, layout.LINEAR_TERMS] = [law.linear_terms.address for law in self._laws]


def compiled_law(block: Block) -> CompiledLaw | None:
    """Return the compiled law of a block, or None if it answers through Python."""
    if block.compiled_law is not None:
        return stages_of(block.compiled_law) if _is_plain(block) else None
    kind = next((law for cls, law in _KINDS.items() if isinstance(block, cls)), None)
    return None if kind is None or overrides(block) else kind


def _is_plain(block: Block) -> bool:
    """Tell whether all that a block with a compiled law defines beside it agrees with plain coordinates and that law."""
    return all(getattr(type(block), name) is getattr(Block, name) for name in _LEFT_TO_LAWS)


def law_numbers(generals: Sequence[GeneralBlock], ints: Ints) -> Array:
    """Return the numbers (1, all) from which laws are computed; write where each block's are into its row of `ints`."""
    numbers, offset = [np.zeros(0)], 0
    for row, general in enumerate(generals):
        own = general.block.law_numbers()
        entries = ints[general.element]
        entries[layout.BLOCK], entries[layout.NUMBERS], entries[layout.NUMBER_COUNT] = row, offset, len(own)
        numbers.append(own)
        offset += len(own)
    return np.concatenate(numbers)[None]
