"""Dimensions of cross-sections: numbers, tapered ones, functions of the abscissa."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_function, sampled
from titop.blocks.basics.user_input import FieldReader, real_array

#: A dimension: the same all along, at the base and at the tip (between them it changes linearly), or a function of X (m).
Dimension = tuple[Any, ...] | Callable[[float], float]


def read_dimension(reader: FieldReader, field: str, value: Any, unit: str = "m") -> Dimension:
    """Read a dimension: a number, a pair of numbers at base and tip, or a function of the abscissa X (m).

    Raises
    ------
    ModelError
        If it is a function that does not take one argument.
    """
    if callable(value):
        check_function(f"{reader.owner}.{field}", value, "X")
        return value
    given = real_array(value)
    if given is not None and given.shape in ((1,), (2,)):
        return tuple(reader.array(field, given, given.shape).tolist())
    if given is not None and given.shape:
        advice = "for anything but a linear taper give a function of X"
        reader.report("wrong-shape", field, value, f"a number ({unit}), or two: at base and tip", advice)
        return (np.nan,)
    return (reader.scalar(field, value),)


def along(name: str, dimension: Dimension, fractions: Array, length: float) -> Array:
    """Return a dimension at places along the rod (k): `fractions` of its `length` (m).

    Raises
    ------
    ModelError
        If it is a function, and fails.
    """
    if callable(dimension):
        return sampled(f"section.{name}", dimension, fractions, length, ())
    base, tip = dimension[0], dimension[-1]
    return base + (tip - base) * fractions


def dimension_parameters(name: str, dimension: Dimension, unit: str) -> dict[str, tuple[float, str]]:
    """Return the numbers of a dimension by name: ``radius``, or ``radius.base`` and ``radius.tip``; a function has none."""
    if callable(dimension):
        return {}
    values = [(float(value), unit) for value in dimension]
    return {name: values[0]} if len(values) == 1 else {f"{name}.base": values[0], f"{name}.tip": values[1]}


def with_end(dimension: Dimension, end: str | None, value: Any) -> Dimension:
    """Return a dimension with its number at ``base`` or ``tip`` changed, or its only one."""
    if end is None:
        return (value,)
    assert not callable(dimension)
    return (value, dimension[1]) if end == "base" else (dimension[0], value)
