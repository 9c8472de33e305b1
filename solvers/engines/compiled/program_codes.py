"""The programs of blocks whose law is derived from functions of a user's, as machine code."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

from titop.blocks.bodies.soft.law_programs import LawPrograms
from titop.blocks.bodies.soft.program import Program
from titop.blocks.contract.block import Block
from titop.solvers.native.programs import ProgramCode

#: Bodies with the same functions share their programs, and the machine code of these.
_CODES: WeakKeyDictionary[LawPrograms, list[ProgramCode]] = WeakKeyDictionary()


def program_codes(block: Block) -> list[ProgramCode]:
    """Return the programs of a block in the order that the stages of its kind know; none of other blocks."""
    programs = getattr(block, "programs", None)
    if not isinstance(programs, LawPrograms):
        return []
    if programs not in _CODES:
        _CODES[programs] = [ProgramCode(_deriving(programs, name)) for name in LawPrograms.ORDER]
    return _CODES[programs]


def _deriving(programs: LawPrograms, name: str) -> Callable[[], Program]:
    return lambda: getattr(programs, name)
