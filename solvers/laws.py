"""The laws of general blocks and interactions for the kernels: which kinds are compiled, their numbers and addresses.

A kind of titop's own is one line in `KINDS` or `INTERACTIONS`. Blocks of other classes, and of classes that redefine parts of a
kind, answer through Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.block import Block, overrides_method
from titop.blocks.cable import Cable
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
from titop.solvers.kernels.compiled_interactions import CompiledInteraction
from titop.solvers.kernels.compiled_laws import CompiledLaw
from titop.solvers.kernels.user_laws import interaction_stages_of, stages_of
from titop.solvers.python_law import PythonInteraction, PythonLaw

#: The kinds of blocks whose laws titop has compiled.
KINDS: dict[type[Block], CompiledLaw] = {FlexibleBody: modal.LAW}

#: The kinds of interactions of which titop has compiled what they do.
INTERACTIONS: dict[type[Interaction], CompiledInteraction] = {
    CompliantClosure: interaction_kinds.COMPLIANT,
    SpringDamper: interaction_kinds.SPRING,
    Contact: interaction_kinds.CONTACT,
    Cable: interaction_kinds.CABLE,
}

#: What a block with a compiled law of its own leaves as it is; one that does not answers through Python.
_LEFT_TO_LAWS = (
    *("integrate", "difference", "bracket", "nv", "nq", "configuration_names"),
    *("law", "law_slopes", "gyroscopic", "passive_efforts", "motion_subspace", "subspace_rate", "subspace_slopes"),
)

#: What its class may define beside the law, as its twins, but no subclass anew.
_TWINS = ("pose", "mass_matrix", "elastic_energy", "damping_efforts")

#: What says what an interaction does.
_ACTING = ("act", "wrenches")

#: How lines of numba's messages begin that do not say what is wrong.
_ON_THE_WAY = ("Failed in ", "During:", "File ")


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
        self._laws = [compiled_law(block) or PythonLaw(block) for block in self._blocks]
        self._slopes: list[CompiledLaw | PythonLaw] = []
        self._acting: list[Block] = [acting.block for acting in interactions]
        self._python = [PythonInteraction(acting.block) for acting in interactions]
        self._interactions = [
            compiled_interaction(acting.block) or python for acting, python in zip(interactions, self._python, strict=True)
        ]
        count = len(self._laws)
        self.addresses = np.zeros((count + len(self._interactions), layout.STAGE_COLUMNS), dtype=np.int64)
        self.addresses[:count, layout.TERMS] = _addresses("terms", self._blocks, self._laws)
        self.addresses[count:, layout.ACT] = _addresses("act", self._acting, self._interactions)
        pairs = zip(self._interactions, self._python, strict=True)
        stored = [python if law.stored is None else law for law, python in pairs]
        self.addresses[count:, layout.STORED] = _addresses("stored", self._acting, stored)
        self._prepared = False

    def prepare_slopes(self) -> None:
        """Let the linearised laws be called too: compile them if need be."""
        if not self._prepared:
            pairs = list(zip(self._blocks, self._laws, strict=True))
            self._slopes = [law if block.complex_safe else PythonLaw(block) for block, law in pairs]
            self.addresses[: len(pairs), layout.LINEAR_TERMS] = _addresses("linear_terms", self._blocks, self._slopes)
            acting = zip(self._acting, self._interactions, self._python, strict=True)
            slopes = [law if block.complex_safe else python for block, law, python in acting]
            self.addresses[len(pairs) :, layout.ACT_SLOPES] = _addresses("slopes", self._acting, slopes)
            self._prepared = True


def _addresses(stage: str, blocks: Sequence[Block], laws: Sequence[Any]) -> list[int]:
    """Return the addresses of the stage with a name of each of the blocks' laws, compiled if need be."""
    found = []
    for block, law in zip(blocks, laws, strict=True):
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
    if interaction.compiled_law is not None:
        return interaction_stages_of(interaction.compiled_law) if _defines_nothing_beside(interaction, _ACTING) else None
    kind = next((kind for cls, kind in INTERACTIONS.items() if isinstance(interaction, cls)), None)
    return None if kind is None or overrides(interaction) else kind


def has_own_numbers(interaction: Interaction) -> bool:
    """Tell whether all that an interaction does, and stores, follows from its `law_numbers` by stages of titop's own."""
    kind = compiled_interaction(interaction)
    return kind is not None and kind.stored is not None


def _is_plain(block: Block) -> bool:
    """Tell whether all that a block with a compiled law defines beside it agrees with plain coordinates and that law."""
    if any(overrides_method(block, name) for name in _LEFT_TO_LAWS):
        return False
    return _defines_nothing_beside(block, _TWINS)


def _defines_nothing_beside(block: Block, names: Sequence[str]) -> bool:
    """Tell whether neither a block nor a class that derives from that with the compiled law defines any of the `names`."""
    classes = type(block).__mro__
    owner = next(k for k, cls in enumerate(classes) if "compiled_law" in vars(cls))
    return not any(name in vars(later) for later in (block, *classes[:owner]) for name in names)


def law_numbers(blocks: Sequence[GeneralBlock | ActingBlock], ints: Ints) -> Array:
    """Return the numbers (1, all) from which laws are computed; write where each block's are into its row of `ints`."""
    numbers, offset = [np.zeros(0)], 0
    for row, placed in enumerate(blocks):
        resting = np.zeros(len(placed.block.inputs) if isinstance(placed, ActingBlock) else 0)
        own = np.concatenate([np.asarray(placed.block.law_numbers(), dtype=float), resting])
        entries = ints[placed.element]
        entries[layout.BLOCK], entries[layout.NUMBERS], entries[layout.NUMBER_COUNT] = row, offset, len(own)
        numbers.append(own)
        offset += len(own)
    return np.concatenate(numbers)[None]


def input_places(interactions: Sequence[ActingBlock], ints: Ints) -> dict[str, slice]:
    """Return where the inputs of interactions stand in the numbers, by the interactions' names."""
    places = {}
    for acting in interactions:
        row = ints[acting.element]
        stop = int(row[layout.NUMBERS] + row[layout.NUMBER_COUNT])
        places[acting.block.name] = slice(stop - int(row[layout.ACT_INPUTS]), stop)
    return places


def numbered_anew(
    interactions: Sequence[ActingBlock], ints: Ints, numbers: Array, changes: Mapping[str, float], names: Iterable[str]
) -> Array:
    """Return the numbers with those of interactions changed in which one of some parameters' `names` is; inputs stay."""
    touched = {name.partition(".")[0] for name in names} if interactions else set()
    for acting in interactions:
        if acting.block.name in touched:
            start = f"{acting.block.name}."
            own = {name.removeprefix(start): value for name, value in changes.items() if name.startswith(start)}
            new = acting.block.with_parameters(own).law_numbers()
            first = ints[acting.element, layout.NUMBERS]
            numbers = numbers.copy()
            numbers[0, first : first + len(new)] = new
    return numbers
