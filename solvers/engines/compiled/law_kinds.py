"""The kinds of blocks and interactions whose laws titop has compiled, and programs of functions of a user's as machine code.

A kind is loaded when a block of it is met."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.soft import law_programs
from titop.blocks.contract.block import Block
from titop.blocks.devices.first_order_states import DRIVE_LAW, PATH_LAW
from titop.blocks.devices.wheel_loads import WHEEL_LAW
from titop.blocks.interactions.elastic_drive import ELASTIC_LAW
from titop.blocks.joints.curvilinear import CURVE_LAW
from titop.blocks.programs import program
from titop.blocks.surroundings.aerodynamic_drag import DRAG_LAW
from titop.blocks.surroundings.magnetic_field import DIPOLE_LAW
from titop.blocks.surroundings.solar_pressure import SOLAR_LAW
from titop.solvers.kernels.laws.compiled_interactions import InteractionStages
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw
from titop.solvers.kernels.laws.user_laws import interaction_stages_of, stages_of
from titop.solvers.native.identity import source_hash
from titop.solvers.native.programs import ProgramCode

Kind = TypeVar("Kind")


def _load(place: str) -> Any:
    """Return what stands in a module of `kernels.laws`, such as ``"rod_stages.LAW"``."""
    module, name = place.split(".")
    return getattr(import_module(f"titop.solvers.kernels.laws.{module}"), name)


def _of_flexible_body(body: Any) -> str:
    """Return where the law of a body stands: in a fluid it is a beam."""
    if body.fluid is not None:
        return "beam_water.LAW"
    return "modal.LAW" if body.second_order is None else "stiffening_stages.LAW"


def _of_contact(contact: Any) -> str:
    """Return where that of a contact stands: of spheres, of points along a rod, or of those of a deformable body."""
    touching = {"Rod": "rod_contact.CONTACT", "SoftBody": "soft_contact.CONTACT"}
    on = _kind(contact.on, touching) if isinstance(contact.on, Block) else None
    return on or "contact.CONTACT"


#: Where the laws of blocks stand, or what tells where, by the name of the class or of one from which that is derived. An
#: immersed rigid body is a rod without coordinates.
KINDS: dict[str, str | Callable[[Any], str | None]] = {
    "FlexibleBody": _of_flexible_body,
    "RigidBody": lambda body: None if body.fluid is None else "rod_stages.LAW",
    "Rod": "rod_stages.LAW",
    "SoftBody": "soft_stages.LAW",
}


#: Where it stands what interactions do, likewise.
INTERACTIONS: dict[str, str | Callable[[Any], str | None]] = {
    "CompliantClosure": "interaction_kinds.COMPLIANT",
    "SpringDamper": "interaction_kinds.SPRING",
    "Contact": _of_contact,
    "Cable": "interaction_kinds.CABLE",
    "RodLine": "rod_lines.LINE",
    "SoftLine": "soft_lines.LINE",
    "DistributedLoad": "rod_loads.LOAD",
    "MomentGravity": "gravity.GRAVITY",
    "BodyGravity": "gravity.BY_TERMS",
}


def law_of_kind(block: Block) -> CompiledLaw | None:
    """Return the law of a block of titop's own kinds, None for others."""
    law: CompiledLaw | None = _of_kind(block, KINDS)
    return law


def interaction_of_kind(interaction: Block) -> InteractionStages | None:
    """Return what an interaction of titop's own kinds does, None for others."""
    acting: InteractionStages | None = _of_kind(interaction, INTERACTIONS)
    return acting


def _of_kind(block: Block, kinds: dict[str, str | Callable[[Any], str | None]]) -> Any:
    place = _kind(block, kinds)
    place = place(block) if callable(place) else place
    return _load(place) if isinstance(place, str) else place


def _kind(block: Block, kinds: dict[str, Kind]) -> Kind | None:
    names = (cls.__name__ for cls in type(block).__mro__ if cls.__module__.startswith("titop.blocks."))
    return next((kinds[name] for name in names if name in kinds), None)


#: All places that the two tables name, for compiling ahead: a test compares them.
LAWS = ("modal.LAW", "stiffening_stages.LAW", "beam_water.LAW", "rod_stages.LAW", "soft_stages.LAW")
ACTING = (
    *("interaction_kinds.COMPLIANT", "interaction_kinds.SPRING", "interaction_kinds.CABLE", "contact.CONTACT"),
    *("rod_contact.CONTACT", "soft_contact.CONTACT", "rod_lines.LINE", "soft_lines.LINE", "rod_loads.LOAD"),
    *("gravity.GRAVITY", "gravity.BY_TERMS"),
)


def all_laws() -> list[CompiledLaw]:
    """Return the laws of all kinds."""
    return [*(_load(place) for place in LAWS), stages_of(CURVE_LAW)]


def all_interactions() -> list[InteractionStages]:
    """Return what the interactions of all kinds do."""
    laws = PATH_LAW, DRIVE_LAW, ELASTIC_LAW, WHEEL_LAW, DIPOLE_LAW, DRAG_LAW, SOLAR_LAW
    return [*(_load(place) for place in ACTING), *map(interaction_stages_of, laws)]


#: Of the sources that derive programs, as they are when Python reads them.
_DERIVING = source_hash((Path(law_programs.__file__).parent, Path(program.__file__).parent))


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

    `name`: one of its `ORDER`; `shared` (k); `points` (points, m).
    """
    if np.iscomplexobj(shared) or np.iscomplexobj(points):
        totals: Array = getattr(programs, name).at_points(shared, points)[0]
        return totals
    numbers, rows = np.ascontiguousarray(shared, float), np.ascontiguousarray(points, float)
    totals = np.empty(programs.sizes[name])
    _codes_of(programs)[programs.ORDER.index(name)](
        len(rows), numbers.ctypes.data, rows.ctypes.data, rows.ctypes.data, totals.ctypes.data
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
        return hashlib.sha256(repr((programs.identity, name, _DERIVING)).encode()).hexdigest()[:32]

    return identity
