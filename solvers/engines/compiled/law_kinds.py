"""The kinds of blocks and interactions whose laws titop has compiled; each is loaded when a block of it is met."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from titop.blocks.contract.block import Block
from titop.solvers.kernels.laws import interaction_kinds
from titop.solvers.kernels.laws.compiled_interactions import CompiledInteraction, InteractionStages
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw

Kind = TypeVar("Kind")


def _rod(_: Any) -> CompiledLaw:
    from titop.solvers.kernels.laws import rod_stages

    return rod_stages.LAW


def _rigid_body(body: Any) -> CompiledLaw | None:
    """An immersed body is a rod without coordinates; others have laws of their own that answer through Python."""
    return None if body.fluid is None else _rod(body)


def _soft(_: Any) -> CompiledLaw:
    from titop.solvers.kernels.laws import soft_stages

    return soft_stages.LAW


def _flexible_body(body: Any) -> CompiledLaw | None:
    """Return the law of a body, None in a fluid, of which kernels know nothing."""
    if body.fluid is not None:
        return None
    return _first_order() if body.second_order is None else _second_order()


def _first_order() -> CompiledLaw:
    from titop.solvers.kernels.laws import modal_stages

    return modal_stages.LAW


def _second_order() -> CompiledLaw:
    from titop.solvers.kernels.laws import stiffening_stages

    return stiffening_stages.LAW


def _contact(contact: Any) -> CompiledInteraction | InteractionStages:
    touching = _kind(contact.on, _TOUCHING) if isinstance(contact.on, Block) else None
    return _of_spheres() if touching is None else touching()


def _of_spheres() -> CompiledInteraction:
    from titop.solvers.kernels.laws import contact

    return contact.CONTACT


def _along_rod() -> CompiledInteraction:
    from titop.solvers.kernels.laws import rod_contact

    return rod_contact.CONTACT


def _in_points() -> InteractionStages:
    from titop.solvers.kernels.laws import soft_contact

    return soft_contact.CONTACT


#: What contacts of other blocks than rigid ones do, by the name of the class.
_TOUCHING: dict[str, Callable[[], CompiledInteraction | InteractionStages]] = {"Rod": _along_rod, "SoftBody": _in_points}


def _line(_: Any = None) -> CompiledInteraction:
    from titop.solvers.kernels.laws import rod_lines

    return rod_lines.LINE


def _soft_line(_: Any = None) -> InteractionStages:
    from titop.solvers.kernels.laws import soft_lines

    return soft_lines.LINE


def _rod_load(_: Any = None) -> CompiledInteraction:
    from titop.solvers.kernels.laws import rod_loads

    return rod_loads.LOAD


#: What tells the law of a block, by the name of its class or of one from which that is derived.
KINDS: dict[str, Callable[[Any], CompiledLaw | None]] = {
    "FlexibleBody": _flexible_body,
    "RigidBody": _rigid_body,
    "Rod": _rod,
    "SoftBody": _soft,
}


#: What tells what an interaction does, likewise.
INTERACTIONS: dict[str, Callable[[Any], CompiledInteraction | InteractionStages]] = {
    "CompliantClosure": lambda _: interaction_kinds.COMPLIANT,
    "SpringDamper": lambda _: interaction_kinds.SPRING,
    "Contact": _contact,
    "Cable": lambda _: interaction_kinds.CABLE,
    "RodLine": _line,
    "SoftLine": _soft_line,
    "DistributedLoad": _rod_load,
}


def law_of_kind(block: Block) -> CompiledLaw | None:
    """Return the law of a block of titop's own kinds, None for others."""
    kind = _kind(block, KINDS)
    return None if kind is None else kind(block)


def interaction_of_kind(interaction: Block) -> CompiledInteraction | InteractionStages | None:
    """Return what an interaction of titop's own kinds does, None for others."""
    kind = _kind(interaction, INTERACTIONS)
    return None if kind is None else kind(interaction)


def _kind(block: Block, kinds: dict[str, Kind]) -> Kind | None:
    own = (cls.__name__ for cls in type(block).__mro__ if cls.__module__.startswith("titop.blocks."))
    return next((kinds[name] for name in own if name in kinds), None)


def all_laws() -> list[CompiledLaw]:
    """Return the laws of all kinds."""
    return [_first_order(), _second_order(), _rod(None), _soft(None)]


def all_interactions() -> list[CompiledInteraction | InteractionStages]:
    """Return what the interactions of all kinds do."""
    spheres, rods, points = _of_spheres(), _along_rod(), _in_points()
    others = (interaction_kinds.COMPLIANT, interaction_kinds.SPRING, interaction_kinds.CABLE)
    return [*others, spheres, rods, points, _line(), _soft_line(), _rod_load()]
