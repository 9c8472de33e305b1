"""The programs of blocks whose law is derived from functions of a user's, as machine code."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.soft import program
from titop.blocks.contract.block import Block
from titop.solvers.native.identity import source_hash
from titop.solvers.native.programs import ProgramCode

#: Of the sources that derive programs, as they are when Python reads them.
_DERIVING = source_hash((Path(program.__file__).parent,))


class Programs(Protocol):
    """Programs by name, each derived when it is first asked for."""

    ORDER: tuple[str, ...]

    @property
    def identity(self) -> str:
        """A hash of what they are derived from."""


#: Bodies with the same functions share their programs, and the machine code of these.
_CODES: WeakKeyDictionary[Programs, list[ProgramCode]] = WeakKeyDictionary()


def program_codes(block: Block) -> list[ProgramCode]:
    """Return the programs of a deformable body, in the order that the stages of its kind know; none of other blocks."""
    programs = getattr(block, "programs", None)
    return [] if programs is None else _codes_of(programs)


def interaction_codes(interaction: Block) -> list[ProgramCode]:
    """Return the programs of what acts on deformable bodies, in the order that the stages of its kind know; none of others.

    Of a line they are two for each of its bodies, of a contact those of the body.
    """
    part: Any = getattr(interaction, "path", None) or getattr(interaction, "touching", None)
    return [code for programs in getattr(part, "programs", ()) for code in _codes_of(programs)]


def run_line(programs: Any, name: str, shared: Array, points: Array) -> Array:
    """Return the totals of a program of a line's, by machine code if the numbers are real.

    Parameters
    ----------
    programs : LinePrograms
    name : str
        One of its `ORDER`.
    shared : (k,) array
    points : (points, m) array
    """
    if np.iscomplexobj(shared) or np.iscomplexobj(points):
        totals: Array = getattr(programs, name).evaluate(shared, points)[0]
        return totals
    numbers, own = np.ascontiguousarray(shared, float), np.ascontiguousarray(points, float)
    totals = np.empty(programs.sizes[name])
    _codes_of(programs)[programs.ORDER.index(name)](
        len(own), numbers.ctypes.data, own.ctypes.data, own.ctypes.data, totals.ctypes.data
    )
    return totals


def _codes_of(programs: Programs) -> list[ProgramCode]:
    if programs not in _CODES:
        _CODES[programs] = [ProgramCode(_deriving(programs, name), _naming(programs, name)) for name in programs.ORDER]
    return _CODES[programs]


def _deriving(programs: Any, name: str) -> Callable[[], Any]:
    return lambda: getattr(programs, name)


def _naming(programs: Programs, name: str) -> Callable[[], str]:
    """Return what names a program by what it is derived from, and by what derives it: it need not be derived for that."""

    def identity() -> str:
        made_by = programs.identity, name, _DERIVING, version("casadi")
        return hashlib.sha256(repr(made_by).encode()).hexdigest()[:32]

    return identity
