"""Units of coordinates, and of their rates, efforts and inertias."""

from __future__ import annotations

from collections.abc import Sequence


def known_units(units: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the units of `count` numbers: `units` if there is one for each, else "1" for all."""
    return tuple(units) if len(units) == count else ("1",) * count


def rate_unit(unit: str) -> str:
    """Return the unit of the rate of a coordinate of the given unit."""
    return f"{unit}/s"


def acceleration_unit(unit: str) -> str:
    """Return the unit of the acceleration of a coordinate of the given unit."""
    return f"{unit}/s^2"


def effort_unit(unit: str) -> str:
    """Return the unit of the effort on a coordinate of the given unit: effort times coordinate is in J."""
    known = {"m": "N", "rad": "N m", "1": "J"}
    return known[unit] if unit in known else f"J/{in_brackets(unit)}"


def inertia_unit(unit: str) -> str:
    """Return the unit of the inertia of a coordinate of the given unit: inertia times squared rate is in J."""
    known = {"m": "kg", "rad": "kg m^2", "1": "J s^2"}
    return known[unit] if unit in known else f"J s^2/{in_brackets(unit)}^2"


def ratio_unit(unit: str, other: str) -> str:
    """Return the unit of a coordinate over that of another one."""
    return "1" if unit == other else f"{unit}/{in_brackets(other)}"


def in_brackets(unit: str) -> str:
    """Return a unit as a factor or denominator, in brackets if it is compound."""
    return f"({unit})" if " " in unit or "/" in unit else unit
