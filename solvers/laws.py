"""The laws of general blocks and interactions for the kernels: which kinds are compiled, their numbers and addresses.

A kind of titop's own is one line in `KINDS` or `INTERACTIONS`. Blocks of other classes, and of classes that redefine parts of a
kind, answer through Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from titop.blocks.applied import has_weight, is_acted_on
from titop.blocks.block import Block, overrides_method
from titop.blocks.compliant_closure import CompliantClosure
from titop.blocks.contact import Contact
from titop.blocks.errors import Finding, ModelError
from titop.blocks.flexible_body import FlexibleBody
from titop.blocks.interaction import Interaction
from titop.blocks.overrides import overrides
from titop.blocks.spatial import Array
from titop.blocks.spring_damper import SpringDamper
from titop.graph.flatten import ActingBlock, GeneralBlock, Ints
from titop.solvers.kernels import interaction_kinds, layout, modal
from titop.solvers.kernels.applied_laws import CompiledSurroundings
from titop.solvers.kernels.compiled_laws import CompiledLaw
from titop.solvers.kernels.interaction_kinds import CompiledInteraction
from titop.solvers.kernels.user_laws import stages_of, surroundings_of
from titop.solvers.python_law import PythonInteraction, PythonLaw, PythonSurroundings

#: The kinds of blocks whose laws titop has compiled.
KINDS: dict[type[Block], CompiledLaw] = {FlexibleBody: modal.LAW}

#: The kinds of interactions of which titop has compiled what they do.
INTERACTIONS: dict[type[Interaction], CompiledInteraction] = {
    CompliantClosure: interaction_kinds.COMPLIANT,
    SpringDamper: interaction_kinds.SPRING,
    Contact: interaction_kinds.CONTACT,
}

#: What a block with a compiled law of its own leaves as it is; one that does not answers through Python.
_LEFT_TO_LAWS = (
    *("integrate", "difference", "bracket", "nv", "nq", "configuration_names"),
    *("law", "law_slopes", "gyroscopic", "passive_efforts", "motion_subspace", "subspace_rate", "subspace_slopes"),
)

#: What its class may define beside the law, as its twins, but no subclass anew.
_TWINS = ("pose", "mass_matrix", "elastic_energy", "damping_efforts")

#: What a block says of its surroundings, which has stages of its own.
_SURROUNDINGS = {"applied_efforts", "applied_energy", "weight"}

#: How lines of numba's messages begin that do not say what is wrong.
_ON_THE_WAY = ("Failed in nopython mode", "During:", "File ")


class Stages:
    """The compiled functions of all general blocks and interactions, in this process.

    Attributes
    ----------
    addresses : (blocks and interactions, stages) array of int64
        As the kernels take them. Those of the linearised laws are zero until `prepare_slopes`.

    Raises
    ------
    ModelError
        If numba cannot compile a law of a user's.
    """

    def __init__(self, generals: Sequence[GeneralBlock], interactions: Sequence[ActingBlock]) -> None:
        self._blocks = [general.block for general in generals]
        self._laws = {row: compiled_law(block) or PythonLaw(block) for row, block in enumerate(self._blocks)}
        self._surroundings = {
            row: compiled_surroundings(block) or PythonSurroundings(block)
            for row, block in enumerate(self._blocks)
            if is_acted_on(block)
        }
        self._slopes: list[dict[int, Any]] = []
        self._interactions = [compiled_interaction(acting.block) or PythonInteraction(acting.block) for acting in interactions]
        count = len(self._laws)
        self.addresses = np.zeros((count + len(self._interactions), layout.STAGE_COLUMNS), dtype=np.int64)
        self._write(layout.TERMS, "terms", self._laws)
        self._write(layout.APPLY, "apply", self._surroundings)
        for row, interaction in enumerate(self._interactions, start=count):
            self.addresses[row, [layout.ACT, layout.STORED]] = interaction.act.address, interaction.stored.address

    def prepare_slopes(self) -> None:
        """Let the linearised laws be called too: compile them if need be."""
        if not self._slopes:
            self._slopes = [self._linearised(self._laws, PythonLaw), self._linearised(self._surroundings, PythonSurroundings)]
            self._write(layout.LINEAR_TERMS, "linear_terms", self._slopes[0])
            self._write(layout.APPLY_SLOPES, "apply_slopes", self._slopes[1])

    def _linearised(self, laws: dict[int, Any], in_python: Callable[[Block], Any]) -> dict[int, Any]:
        """Return what derives laws by the rows of their blocks: Python, where complex steps give something else."""
        blocks = self._blocks
        return {row: law if blocks[row].complex_safe else in_python(blocks[row]) for row, law in laws.items()}

    def _write(self, column: int, stage: str, laws: dict[int, Any]) -> None:
        """Write the addresses of a stage of several laws, by the rows of their blocks."""
        for row, law in laws.items():
            try:
                self.addresses[row, column] = getattr(law, stage).address
            except Exception as error:
                if self._blocks[row].compiled_law is None:
                    raise
                raise ModelError(_not_compiled(self._blocks[row], error)) from error


def _not_compiled(block: Block, error: Exception) -> Finding:
    lines = (line.strip() for line in str(error).splitlines())
    reason = next((line for line in lines if line and not line.startswith(_ON_THE_WAY)), type(error).__name__)
    advice = "see help(titop.Law) for what laws may do; the cause above has numba's whole message"
    return Finding("law-not-compiled", f"{block.name}.compiled_law", reason, "a function that numba compiles", advice)


def compiled_law(block: Block) -> CompiledLaw | None:
    """Return the compiled law of a block, or None if it answers through Python."""
    if block.compiled_law is not None:
        return stages_of(block.compiled_law) if _is_plain(block) else None
    kind = next((law for cls, law in KINDS.items() if isinstance(block, cls)), None)
    return None if kind is None or not _SURROUNDINGS.issuperset(overrides(block)) else kind


def compiled_surroundings(block: Block) -> CompiledSurroundings | None:
    """Return compiled what acts on a block, or None if the block says that in Python."""
    law = block.compiled_law
    if law is None or law.applied is None or has_weight(block) or _says_anew(block, ("applied_efforts",)):
        return None
    return surroundings_of(law)


def compiled_interaction(interaction: Interaction) -> CompiledInteraction | None:
    """Return the compiled kind of an interaction, or None if it answers through Python."""
    kind = next((kind for cls, kind in INTERACTIONS.items() if isinstance(interaction, cls)), None)
    return None if kind is None or overrides(interaction) else kind


def _is_plain(block: Block) -> bool:
    """Tell whether all that a block with a compiled law defines beside it agrees with plain coordinates and that law."""
    return not any(overrides_method(block, name) for name in _LEFT_TO_LAWS) and not _says_anew(block, _TWINS)


def _says_anew(block: Block, names: Sequence[str]) -> bool:
    """Tell whether a block says itself what its compiled law says, below the class to which this was given."""
    classes = type(block).__mro__
    owner = next(k for k, cls in enumerate(classes) if "compiled_law" in vars(cls))
    return any(name in vars(later) for later in (block, *classes[:owner]) for name in names)


def law_numbers(blocks: Sequence[GeneralBlock | ActingBlock], ints: Ints) -> Array:
    """Return the numbers (1, all) from which laws are computed; write where each block's are into its row of `ints`."""
    numbers, offset = [np.zeros(0)], 0
    for row, placed in enumerate(blocks):
        own = np.asarray(placed.block.law_numbers(), dtype=float)
        entries = ints[placed.element]
        entries[layout.BLOCK], entries[layout.NUMBERS], entries[layout.NUMBER_COUNT] = row, offset, len(own)
        numbers.append(own)
        offset += len(own)
    return np.concatenate(numbers)[None]
