"""The laws of general blocks and interactions for the kernels: which kinds are compiled, their numbers and addresses.

A kind of titop's own is one line in `KINDS` or `INTERACTIONS` of `law_kinds`. Blocks of other classes, and of classes that
redefine parts of a kind, answer through Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.applied import has_weight, is_acted_on
from titop.blocks.contract.block import Block, is_titops_own, overrides, overrides_method, titop_class
from titop.blocks.contract.own_coordinates import redefines
from titop.blocks.interactions.interaction import Interaction
from titop.solvers.engines.compiled.law_kinds import interaction_codes, interaction_of_kind, law_of_kind, program_codes
from titop.solvers.engines.compiled.python_laws import PythonInteraction, PythonLaw, PythonSurroundings
from titop.solvers.engines.compiled.tables import ActingBlock, GeneralBlock, Ints
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.laws.compiled_interactions import InteractionStages
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw, CompiledSurroundings
from titop.solvers.kernels.laws.lane_by_lane import OF_BLOCKS, OF_INTERACTIONS
from titop.solvers.kernels.laws.user_laws import interaction_stages_of, stages_of, surroundings_of
from titop.solvers.native.callbacks import Callback
from titop.solvers.native.kernel import Stage
from titop.solvers.native.programs import ProgramCode
from titop.solvers.native.signatures import ALONG, IN_LANES, OF_MEMBERS

#: What a block with a compiled law of its own leaves as it is; one that does not answers through Python.
_LEFT_TO_LAWS = (
    *("integrate", "difference", "bracket", "nv", "nq", "configuration_names"),
    *("law", "law_slopes", "gyroscopic", "passive_efforts", "motion_subspace", "subspace_rate", "subspace_slopes"),
)

#: What its class may define beside the law, as its twins, but no subclass anew.
_TWINS = ("pose", "mass_matrix", "elastic_energy", "damping_efforts")

#: What a block says of its surroundings, which has stages of its own.
_SURROUNDINGS = {"applied_efforts", "applied_energy", "weight", "borne", "weightless_inertia", "stream_efforts"}

#: What says what an interaction does.
_ACTING = ("act", "wrenches", "inputs_and_states")

#: The stages that dynamics call, of blocks and of interactions.
_DYNAMICS, _ACTING_STAGES = (layout.TERMS, layout.OUTWARD, layout.INWARD, layout.APPLY), (layout.ACT,)

#: How lines of numba's messages begin that do not say what is wrong.
_ON_THE_WAY = ("Failed in ", "During:", "File ")


class Stages:
    """The compiled functions of all general blocks and interactions, in this process.

    `addresses` (blocks and interactions, stages): as the kernels take them. Where a stage is not compiled yet stands what
    compiles it when it is called.
    """

    def __init__(self, generals: Sequence[GeneralBlock], interactions: Sequence[ActingBlock], ints: Ints) -> None:
        self.addresses = np.zeros((len(generals) + len(interactions), layout.STAGE_COLUMNS), dtype=np.int64)
        self._first_calls: dict[Stage, FirstCall] = {}
        self._kept: list[Any] = []
        self._stages: list[tuple[int, Block, int, Stage | Callback]] = []
        self._generals, self._interactions, self._ints = generals, interactions, ints
        for row, general in enumerate(generals):
            block = general.block
            in_python = PythonLaw(block)
            law = compiled_law(block) or in_python
            self._put(row, block, {layout.TERMS: law.terms, layout.OUTWARD: law.outward, layout.INWARD: law.inward})
            takes_complex = block.complex_safe or block.compiled_law is None  # titop's own laws need no complex steps
            self._put(row, block, {layout.LINEARISED: law.slopes if takes_complex else in_python.slopes})
            self._put(row, block, {layout.ENERGY: law.energy or in_python.energy})
            self._put(row, block, {layout.PROGRAMS + k: code for k, code in enumerate(program_codes(block))})
            if is_acted_on(block):
                applied = compiled_surroundings(block) or PythonSurroundings(block)
                slopes = (applied if block.complex_safe else PythonSurroundings(block)).apply_slopes
                self._put(row, block, {layout.APPLY: applied.apply, layout.APPLY_SLOPES: slopes})
        for row, acting in enumerate(interactions, start=len(generals)):
            block, python = acting.block, PythonInteraction(acting.block)
            kind = compiled_interaction(block) or python
            slopes = (kind.slopes if block.complex_safe else None) or python.slopes
            stages = {layout.ACT: kind.act, layout.ACT_SLOPES: slopes, layout.STORED: kind.stored or python.stored}
            if (gap := gap_stage(block)) is not None:
                stages[layout.GAP] = gap
            if block.state_names:
                changes = compiled_rates(block) or python
                derived = changes if block.complex_safe else python
                stages |= {layout.RATES: changes.rates or python.rates}
                stages |= {layout.RATES_DRIVEN: derived.rates_driven or python.rates_driven}
                stages |= {layout.RATES_SLOPES: derived.rates_slopes or python.rates_slopes}
            self._put(row, block, stages)
            self._put_table(self.addresses, row, acting.block)
            self._put_block(self.addresses, row, block)

    def _put_table(self, addresses: Array, row: int, interaction: Interaction, in_lanes: bool = False) -> None:
        """Write the address of a table of the programs of what acts on deformable bodies, in place of the first program."""
        codes = interaction_codes(interaction)
        if codes:
            table = np.zeros((len(codes), 1), dtype=np.int64)
            for place, code in enumerate(codes):
                first = FirstCall(code.in_lanes if in_lanes else code, table, interaction)
                first.stand_at(place, 0)
                self._kept.append(first)
            addresses[row, layout.PROGRAMS] = table.ctypes.data
            self._kept.append(table)

    def _put_block(self, addresses: Array, row: int, interaction: Interaction) -> None:
        """Write, for gravity that asks a block's own stages, where their row stands, and numbers of the block."""
        kind = compiled_interaction(interaction)
        if kind is not None and kind.slopes is None and interaction.is_gravity:
            name, ints = interaction.own_blocks[0].name, self._ints
            k, general = next(each for each in enumerate(self._generals) if each[1].block.name == name)
            places = (int(ints[general.element, column]) for column in (layout.PORT_COUNT, layout.LAW, layout.ROOM))
            told = addresses.ctypes.data + k * addresses.strides[0], *places, int(ints[0, layout.LAW_SIZE])
            addresses[row, layout.PROGRAMS : layout.PROGRAMS + len(told)] = told

    def _put(self, row: int, block: Block, stages: Mapping[Any, Stage | Callback]) -> None:
        """Write what is called for the stages of a block or interaction, by column."""
        for column, stage in stages.items():
            self._stages.append((row, block, column, stage))
            self._write(self.addresses, row, block, column, stage)

    def _write(
        self, addresses: Array, row: int, block: Block, column: int, stage: Stage | Callback, instead: Stage | None = None
    ) -> None:
        self._kept.append(stage)
        if isinstance(stage, Callback) or stage.is_loaded:
            addresses[row, column] = stage.address
            return
        if stage not in self._first_calls:
            self._first_calls[stage] = FirstCall(stage, addresses, block, instead)
        self._first_calls[stage].stand_at(row, column)

    @cached_property
    def in_lanes(self) -> Array:
        """The addresses for kernels that compute with several states at once."""
        return self._in_form(IN_LANES)

    @cached_property
    def of_members(self) -> Array:
        """Those for kernels that compute with several members at once, which have numbers of their own."""
        return self._in_form(OF_MEMBERS)

    @cached_property
    def along(self) -> Array:
        """Those for kernels that compute along motions, of what `is_along` says that it is answered."""
        return self._in_form(ALONG)

    @cached_property
    def is_along(self) -> bool:
        """Whether all that dynamics ask for is compiled for motions; users' laws are compiled here to find out."""
        asked = [(block, stage) for row, block, column, stage in self._stages if self._is_for_dynamics(row, column)]
        written = [(block, stage.of_form(ALONG) if isinstance(stage, Stage) else None) for block, stage in asked]
        has_programs = any(isinstance(stage, ProgramCode) for *_, stage in self._stages)
        if has_programs or any(interaction_codes(acting.block) for acting in self._interactions):
            return False
        known = [(block, stage) for block, stage in written if stage is not None]
        return len(known) == len(written) and all(block.compiled_law is None or _compiles(stage) for block, stage in known)

    def _is_for_dynamics(self, row: int, column: int) -> bool:
        return column in (_DYNAMICS if row < len(self._generals) else _ACTING_STAGES)

    def _in_form(self, form: str) -> Array:
        addresses, count = np.zeros_like(self.addresses), len(self._generals)
        addresses[:, layout.SINGLE_ROW] = self.addresses.ctypes.data + self.addresses.strides[0] * np.arange(len(addresses))
        for row, general in enumerate(self._generals):
            addresses[row, layout.ROOM_COUNT] = _room_of(general.block, np.asarray(general.block.law_numbers(), dtype=float))
        for row, block, column, stage in self._stages:
            one_by_one = (OF_BLOCKS if row < count else OF_INTERACTIONS).get(form, {}).get(column)
            is_called = form != ALONG or self._is_for_dynamics(row, column)
            written = stage.of_form(form) if isinstance(stage, Stage) and is_called else None
            if written is not None:
                self._write(addresses, row, block, column, written, one_by_one)
            elif one_by_one is not None:
                self._write(addresses, row, block, column, one_by_one)
        for row, acting in enumerate(self._interactions, start=count):
            if form == IN_LANES:
                self._put_table(addresses, row, acting.block, in_lanes=True)
            self._put_block(addresses, row, acting.block)
        return addresses


def _compiles(stage: Stage) -> bool:
    try:
        return bool(stage.address)
    except Exception:
        return False


class FirstCall:
    """What is called for a stage that is not compiled yet: it compiles it, and puts it in its own place.

    Where numba cannot compile a law of a user's, another stage is taken `instead`; without one the call ends in a `ModelError`.
    """

    def __init__(self, stage: Stage, addresses: Array, block: Block, instead: Stage | None = None) -> None:
        self._stage, self._addresses, self._block, self._instead = stage, addresses, block, instead
        self._places: list[tuple[int, int]] = []
        self._callback = Callback(self._call, stage.count)

    def stand_at(self, row: int, column: int) -> None:
        """Stand for the stage in a place of the table of addresses."""
        self._places.append((row, column))
        self._addresses[row, column] = self._callback.address

    def _call(self, *arguments: int) -> int:
        try:
            address = self._stage.address
        except Exception as error:
            if self._block.compiled_law is None:
                raise
            if self._instead is None:
                raise ModelError(_not_compiled(self._block, error)) from error
            self._stage.is_for_lanes = False
            self._stage = self._instead
            address = self._stage.address
        for place in self._places:
            self._addresses[place] = address
        return self._stage(*arguments)


def _not_compiled(block: Block, error: Exception) -> Finding:
    lines = (line.strip() for line in str(error).splitlines())
    reason = next((line for line in lines if line and not line.startswith(_ON_THE_WAY)), type(error).__name__)
    advice = "see help(titop.Law) for what laws may do; the cause above has numba's whole message"
    return Finding("law-not-compiled", f"{block.name}.compiled_law", reason, "a function that numba compiles", advice)


def compiled_law(block: Block) -> CompiledLaw | None:
    """Return the compiled law of a block, or None if it answers through Python."""
    if block.compiled_law is not None:
        return stages_of(block.compiled_law) if _is_plain(block) else None
    kind = law_of_kind(block)
    return None if kind is None or not _SURROUNDINGS.issuperset(overrides(block)) else kind


def compiled_surroundings(block: Block) -> CompiledSurroundings | None:
    """Return compiled what acts on a block, or None if the block says that in Python."""
    law = block.compiled_law
    if law is None:
        kind = law_of_kind(block)
        return None if kind is None or overrides(block) else kind.surroundings
    if law.applied is None or has_weight(block) or _says_anew(block, ("applied_efforts",)):
        return None
    return surroundings_of(law)


def compiled_interaction(interaction: Interaction) -> InteractionStages | None:
    """Return the compiled kind of an interaction, or None if it answers through Python."""
    if interaction.compiled_law is not None:
        return interaction_stages_of(interaction.compiled_law) if not _says_anew(interaction, _ACTING) else None
    kind = interaction_of_kind(interaction)
    if kind is None or overrides(interaction) or (kind.slopes is None and compiled_law(interaction.own_blocks[0]) is None):
        return None
    return kind


def gap_stage(interaction: Interaction) -> Stage | None:
    """Return what writes the gaps of an interaction compiled, None if it says them in Python, or has none."""
    kind = compiled_interaction(interaction)
    in_python = redefines(interaction, "gaps", titop_class(type(interaction))) or not interaction.complex_safe
    return None if kind is None or in_python else kind.gap


def compiled_rates(interaction: Interaction) -> InteractionStages | None:
    """Return the kind that says compiled how an interaction's states change, None if it says so in Python."""
    kind = compiled_interaction(interaction)
    if kind is None or (interaction.compiled_law is not None and _says_anew(interaction, ("state_rates",))):
        return None
    return None if redefines(interaction, "state_rates", titop_class(type(interaction))) else kind


def touches_stage(interaction: Interaction) -> Stage | None:
    """Return what reads a contact compiled, None if it says in Python what it does."""
    return getattr(compiled_interaction(interaction), "touches", None)


def has_own_numbers(block: Block) -> bool:
    """Tell whether all that a block or interaction does, and stores, follows from its `law_numbers` by compiled stages."""
    if isinstance(block, Interaction):
        kind = compiled_interaction(block)
        stores = any(redefines(block, name, Interaction) for name in ("stored", "energy"))
        return kind is not None and kind.slopes is not None and (kind.stored is not None or not stores)
    law = compiled_law(block)
    if law is None or law.energy is None or not (block.complex_safe or block.compiled_law is None):
        return False
    return not is_acted_on(block) or (block.complex_safe and compiled_surroundings(block) is not None)


def _is_plain(block: Block) -> bool:
    """Tell whether all that a block with a compiled law defines beside it agrees with plain coordinates and that law."""
    if is_titops_own(block):
        return True
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
        block = placed.block
        resting = np.zeros(len(block.inputs) + len(block.state_names) if isinstance(placed, ActingBlock) else 0)
        values = np.concatenate([np.asarray(block.law_numbers(), dtype=float), resting])
        entries = ints[placed.element]
        entries[layout.BLOCK], entries[layout.NUMBERS], entries[layout.NUMBER_COUNT] = row, offset, len(values)
        numbers.append(values)
        offset += len(values)
    return np.concatenate(numbers)[None]


def reserve_space(generals: Sequence[GeneralBlock], ints: Ints, numbers: Array) -> None:
    """Reserve space at the end of ``law`` for what the kinds of blocks keep there."""
    for general in generals:
        block = general.block
        ints[general.element, layout.ROOM] = ints[0, layout.LAW_SIZE]
        first = ints[general.element, layout.NUMBERS]
        values = numbers[0, first : first + ints[general.element, layout.NUMBER_COUNT]]
        ints[0, layout.LAW_SIZE] += _room_of(block, values)


def _room_of(block: Block, numbers: Array) -> int:
    """Return how many numbers the kind of a block keeps in ``law``."""
    law = compiled_law(block)
    return law.room(block.nv, len(block.ports), numbers) if law else 0


def input_places(interactions: Sequence[ActingBlock], ints: Ints) -> dict[str, slice]:
    """Return where the inputs of interactions stand in the numbers, states behind them, by the interactions' names."""
    places = {}
    for acting in interactions:
        row = ints[acting.element]
        stop = int(row[layout.NUMBERS] + row[layout.NUMBER_COUNT])
        places[acting.block.name] = slice(stop - int(row[layout.ACT_INPUTS]), stop)
    return places


def numbered_anew(
    placed: Iterable[GeneralBlock | ActingBlock], ints: Ints, numbers: Array, blocks: Mapping[str, Block]
) -> Array | None:
    """Return the numbers with those of changed `blocks`, by name; inputs stay. None if a block's own have other places now."""
    numbers = numbers.copy()
    for each in placed:
        if (block := blocks.get(each.block.name)) is not None:
            row, values = ints[each.element], np.asarray(block.law_numbers(), dtype=float)
            resting = row[layout.ACT_INPUTS] if isinstance(each, ActingBlock) else 0
            if len(values) != row[layout.NUMBER_COUNT] - resting or program_codes(block) != program_codes(each.block):
                return None
            numbers[0, row[layout.NUMBERS] :][: len(values)] = values
    return numbers
