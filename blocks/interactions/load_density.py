"""How much of a load there is a unit of length: the same everywhere, given at places, or a function of the abscissa."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.paths import parts_of
from titop.blocks.basics.sampling import sampled
from titop.blocks.basics.spatial import Array, replaced
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import FieldReader, real_array

#: Three numbers (3,), rows (k, 3) at places of equal distance with lines between them, or a function of X (m).
Density = Array | Callable[[float], Any]


def read_density(reader: FieldReader, field: str, value: Any, unit: str) -> Density:
    """Read a density.

    Raises
    ------
    ModelError
        If it is a function that does not take one argument.
    """
    if callable(value):
        check_function(f"{reader.owner}.{field}", value, "X")
        return value
    given = real_array(value)
    if given is None or given.ndim != 2:
        return reader.array(field, value, (3,), f"give three numbers ({unit}), rows of three, or a function of X (m)")
    if len(given) < 2 or given.shape[1] != 3:
        expected, advice = "at least two rows of three numbers", f"write one for each of some equally distant places ({unit})"
        reader.report("wrong-shape", field, f"shape {given.shape}", expected, advice)
        return np.zeros(3)
    return reader.array(field, given, given.shape)


def kinks(density: Density) -> Array:
    """Return the places, from 0 to 1, between which a density is smooth."""
    return np.linspace(0.0, 1.0, 2 if callable(density) or density.ndim == 1 else len(density))


def values(where: str, density: Density, places: Array, abscissas: Array) -> Array:
    """Return a density (k, 3) at `places`, from 0 to 1, and `abscissas` (k, m).

    Raises
    ------
    ModelError
        If it is a function, and fails.
    """
    if callable(density):
        return sampled(where, density, abscissas, 1.0, (3,))
    if density.ndim == 1:
        return np.tile(density, (len(places), 1))
    at = places * (len(density) - 1)
    before = np.minimum(at.astype(int), len(density) - 2)
    part = (at - before)[:, None]
    return (1.0 - part) * density[before] + part * density[before + 1]


def density_parameters(field: str, density: Density, unit: str) -> dict[str, tuple[float, str]]:
    """Return the numbers by name: ``force.x``, or ``force.0.x`` of the first of several rows; a function has none."""
    if callable(density):
        return {}
    rows = {field: density} if density.ndim == 1 else {f"{field}.{k}": row for k, row in enumerate(density)}
    return {f"{name}.{axis}": (float(x), unit) for name, row in rows.items() for axis, x in zip("xyz", row, strict=True)}


def with_entry(density: Density, entry: str, value: Any) -> Array:
    """Return a density with the number of a name such as ``x`` or ``0.x`` changed."""
    assert not callable(density)
    *row, axis = parts_of(entry)
    return replaced(density, (*map(int, row), "xyz".index(axis)), value)
