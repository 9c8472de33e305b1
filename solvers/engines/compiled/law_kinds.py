"""The kinds of blocks whose laws titop has compiled; each is loaded when a block of it is met."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from titop.blocks.contract.block import Block
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw


def _rod(_: Any) -> CompiledLaw:
    from titop.solvers.kernels.laws import rod_stages

    return rod_stages.LAW


def _soft(_: Any) -> CompiledLaw:
    from titop.solvers.kernels.laws import soft_stages

    return soft_stages.LAW


def _flexible_body(body: Any) -> CompiledLaw:
    return _first_order() if body.second_order is None else _second_order()


def _first_order() -> CompiledLaw:
    from titop.solvers.kernels.laws import modal_stages

    return modal_stages.LAW


def _second_order() -> CompiledLaw:
    from titop.solvers.kernels.laws import stiffening_stages

    return stiffening_stages.LAW


#: What tells the law of a block, by the name of its class or of one from which that is derived.
KINDS: dict[str, Callable[[Any], CompiledLaw]] = {"FlexibleBody": _flexible_body, "Rod": _rod, "SoftBody": _soft}


def law_of_kind(block: Block) -> CompiledLaw | None:
    """Return the law of a block of titop's own kinds, None for others."""
    own = (cls.__name__ for cls in type(block).__mro__ if cls.__module__.startswith("titop.blocks."))
    kind = next((KINDS[name] for name in own if name in KINDS), None)
    return None if kind is None else kind(block)


def all_laws() -> list[CompiledLaw]:
    """Return the laws of all kinds."""
    return [_first_order(), _second_order(), _rod(None), _soft(None)]
