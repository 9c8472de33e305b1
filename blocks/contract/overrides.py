"""Blocks whose law titop's kernels know: those whose classes redefine nothing of titop's classes."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from titop.blocks.contract.block import Block
from titop.blocks.contract.fields import Redefined

#: Members that a class may redefine without a change of its blocks' law.
_FREE = {
    "cannot_object",
    "check",
    "common_parameters",
    "complex_parameters",
    "complex_safe",
    "configuration_units",
    "coordinate_scales",
    "file_tables",
    "gaps",
    "input_matrix",
    "input_names",
    "input_ranges",
    "input_units",
    "inputs",
    "load_parameters",
    "mass_properties",
    "neutral",
    "not_in_files",
    "picture",
    "port",
    "random_configuration",
    "rational_parameters",
    "snapshot",
    "spin_limit",
    "state_efforts",
    "state_names",
    "state_rates",
    "state_units",
    "units",
}


def titop_class(cls: type) -> type:
    """Return the nearest class of titop from which a class of blocks derives."""
    return next(base for base in cls.__mro__ if base.__module__.startswith("titop.blocks."))


def overrides(block: Block) -> tuple[str, ...]:
    """Return the attributes of the titop class from which a block derives that the block redefines.

    Anything but constructors, checks and the like counts: code that knows the law of the titop class must call the functions of
    such a block instead.
    """
    cls: Any = type(block)
    methods, attributes = _methods(cls), vars(block)
    return (
        _class_overrides(cls)
        if methods.isdisjoint(attributes)
        else (*_class_overrides(cls), *sorted(methods & attributes.keys()))
    )


def is_titops_own(block: Block) -> bool:
    """Tell whether a block has exactly the law of a class of titop."""
    return titop_class(type(block)) is not Block and not overrides(block)


@cache
def _class_overrides(cls: type) -> tuple[str, ...]:
    base = titop_class(cls)
    names = (name for name in dir(base) if not name.startswith("__") and name not in _FREE)
    return tuple(name for name in names if _attribute(cls, name) is not _attribute(base, name))


@cache
def _methods(cls: type) -> frozenset[str]:
    return frozenset(name for name in dir(cls) if inspect.isfunction(_attribute(cls, name)) and name not in _FREE)


def _attribute(cls: type, name: str) -> Any:
    """Return an attribute of a class; for a field's default, the field."""
    attribute = inspect.getattr_static(cls, name)
    return attribute.field if isinstance(attribute, Redefined) and not attribute.is_computed else attribute
