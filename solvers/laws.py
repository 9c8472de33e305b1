"""The laws of general blocks and interactions for the kernels: which kinds are compiled, their numbers and addresses.

A kind of titop's own is one line in `KINDS` or `INTERACTIONS`. Blocks of other classes, and of classes that redefine parts of a
kind, answer through Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

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
from titop.solvers.kernels import interaction_kinds, layout, modal_stages
from titop.solvers.kernels.compiled_laws import CompiledLaw
from titop.solvers.kernels.interaction_kinds import CompiledInteraction
from titop.solvers.kernels.user_laws import stages_of
from titop.solvers.python_law import PythonInteraction, PythonLaw

#: The kinds of blocks whose laws titop has compiled.
KINDS: dict[type[Block], CompiledLaw] = {FlexibleBody: modal_stages.LAW}

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

#: The stages of a `CompiledLaw` by their columns.
_NAMES = {layout.TERMS: "terms", layout.OUTWARD: "outward", layout.INWARD: "inward", layout.LINEARISED: "slopes"}

#: How lines of numba's messages begin that do not say what is wrong.
_ON_THE_WAY = ("Failed in nopython mode", "During:", "File ")


class Stages:
    """The compiled functions of all general blocks and interactions, in this process.

    Attributes
    ----------
    addresses : (blocks and interactions, stages) array of int64
        As the kernels take them. Those of blocks' stages other than the terms are zero until `prepare`.

    Raises
    ------
    ModelError
        If numba cannot compile a law of a user's.
    """

    def __init__(self, generals: Sequence[GeneralBlock], interactions: Sequence[ActingBlock]) -> None:
        self._blocks = [general.block for general in generals]
        self._laws = [compiled_law(block) or PythonLaw(block) for block in self._blocks]
        pairs = zip(self._blocks, self._laws, strict=True)
        self._linearised = [law if block.complex_safe else PythonLaw(block) for block, law in pairs]
        self._interactions = [compiled_interaction(acting.block) or PythonInteraction(acting.block) for acting in interactions]
        count = len(self._laws)
        self.addresses = np.zeros((count + len(self._interactions), layout.STAGE_COLUMNS), dtype=np.int64)
        for row, interaction in enumerate(self._interactions, start=count):
            self.addresses[row, [layout.ACT, layout.STORED]] = interaction.act.address, interaction.stored.address
        self._prepared: set[np.int64] = set()
        self.prepare([layout.TERMS])

    def prepare(self, stages: Iterable[np.int64]) -> None:
        """Let stages of blocks (columns of `addresses`) be called: compile them if need be."""
        for stage in stages:
            if stage not in self._prepared:
                laws = self._laws if stage == layout.TERMS else self._linearised
                self.addresses[: len(laws), stage] = self._addresses(_NAMES[stage], laws)
                self._prepared.add(stage)

    def _addresses(self, stage: str, laws: Sequence[CompiledLaw | PythonLaw]) -> list[int]:
        found = []
        for block, law in zip(self._blocks, laws, strict=True):
            try:
                found.append(getattr(law, stage).address)
            except Exception as error:
                if block.compiled_law is None:
                    raise
                raise ModelError(_not_compiled(block, error)) from error
        return found


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
    return None if kind is None or overrides(block) else kind


def compiled_interaction(interaction: Interaction) -> CompiledInteraction | None:
    """Return the compiled kind of an interaction, or None if it answers through Python."""
    kind = next((kind for cls, kind in INTERACTIONS.items() if isinstance(interaction, cls)), None)
    return None if kind is None or overrides(interaction) else kind


def _is_plain(block: Block) -> bool:
    """Tell whether all that a block with a compiled law defines beside it agrees with plain coordinates and that law."""
    if any(overrides_method(block, name) for name in _LEFT_TO_LAWS):
        return False
    classes = type(block).__mro__
    owner = next(k for k, cls in enumerate(classes) if "compiled_law" in vars(cls))
    return not any(name in vars(later) for later in (block, *classes[:owner]) for name in _TWINS)


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


def place_rooms(generals: Sequence[GeneralBlock], ints: Ints) -> None:
    """Make room at the end of ``law`` for what the kinds of blocks keep there."""
    for general in generals:
        block, law = general.block, compiled_law(general.block)
        ints[general.element, layout.ROOM] = ints[0, layout.LAW_SIZE]
        ints[0, layout.LAW_SIZE] += law.room(block.nv, len(block.ports)) if law else 0
