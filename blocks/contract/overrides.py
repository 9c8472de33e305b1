"""Which blocks follow a law that titop's kernels know: those whose classes leave titop's own as they are."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from titop.blocks.contract.block import Block
from titop.blocks.contract.fields import Redefined

#: What a class may define anew without changing what its blocks do in a system.
_FREE = {
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
    """Return the nearest class of titop's own from which a class of blocks derives."""
    return next(base for base in cls.__mro__ if base.__module__.startswith("titop.blocks."))


def overrides(block: Block) -> tuple[str, ...]:
    """Return what a block has of its own in place of attributes of the class of titop's from which it derives.

    Anything but constructors, checks and the like counts: whoever knows the law of titop's class by heart must let such a block
    speak for itself.
    """
    cls: Any = type(block)
    methods, own = _methods(cls), vars(block)
    return _class_overrides(cls) if methods.isdisjoint(own) else (*_class_overrides(cls), *sorted(methods & own.keys()))


def is_titops_own(block: Block) -> bool:
    """Tell whether a block does what a class of titop's says, and nothing else."""
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
    """Return an attribute of a class; of one that is a field's default, the field."""
    found = inspect.getattr_static(cls, name)
    return found.field if isinstance(found, Redefined) and not found.is_computed else found
