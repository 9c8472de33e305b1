"""The programs of blocks whose law is derived from functions of a user's, as machine code."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

from titop.blocks.bodies.soft.law_programs import LawPrograms
from titop.blocks.bodies.soft.line_programs import LinePrograms
from titop.blocks.bodies.soft.program import Program
from titop.blocks.contract.block import Block
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.interactions.soft_line import SoftLine
from titop.solvers.native.programs import ProgramCode

#: Bodies with the same functions share their programs, and the machine code of these.
_CODES: WeakKeyDictionary[LawPrograms | LinePrograms, list[ProgramCode]] = WeakKeyDictionary()


def program_codes(block: Block) -> list[ProgramCode]:
    """Return the programs of a block in the order that the stages of its kind know; none of other blocks."""
    programs = getattr(block, "programs", None)
    return _codes_of(programs) if isinstance(programs, LawPrograms) else []


def line_codes(interaction: Interaction) -> list[ProgramCode]:
    """Return the programs of a line in deformable bodies, two for each body; none of other interactions."""
    lines = interaction.path.programs if isinstance(interaction, SoftLine) else []
    return [code for programs in lines for code in _codes_of(programs)]


def _codes_of(programs: LawPrograms | LinePrograms) -> list[ProgramCode]:
    if programs not in _CODES:
        _CODES[programs] = [ProgramCode(_deriving(programs, name)) for name in programs.ORDER]
    return _CODES[programs]


def _deriving(programs: LawPrograms | LinePrograms, name: str) -> Callable[[], Program]:
    return lambda: getattr(programs, name)
