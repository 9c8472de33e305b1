"""What the parameters of joints are called, and where their numbers stand."""

from __future__ import annotations

from functools import cache

from titop.blocks.basics.units import bracketed, effort_unit, inertia_unit, rate_unit
from titop.blocks.joints.friction import FRICTION_ENTRIES
from titop.blocks.joints.limits import stop_entries, stop_name, stop_unit

#: By dotted name: the attribute, the index in it, and the unit.
Fields = dict[str, tuple[str, tuple[int, ...], str]]


@cache
def joint_fields(
    axis_fields: tuple[str, ...],
    names: tuple[str, ...],
    units: tuple[str, ...],
    configuration: tuple[tuple[str, str], ...],
    bounded: tuple[tuple[bool, bool], ...],
) -> Fields:
    """Return the parameters of joints with such coordinates, such names and units of the configuration, and such stops.

    `bounded` tells for each coordinate that may have stops whether it has a lower and an upper limit.
    """
    fields: Fields = {f"{field}.{x}": (field, (i,), "1") for field in axis_fields for i, x in enumerate("xyz")}
    single = len(names) == 1
    for field, per in (("stiffness", "/"), ("damping", " s/")):
        for i in range(len(names)):
            for j in range(i, len(names)):
                name = field if single else f"{field}.{names[i]}.{names[j]}"
                fields[name] = (field, (i, j), f"{effort_unit(units[i])}{per}{bracketed(units[j])}")
    for i, (name, unit) in enumerate(configuration):
        fields["rest" if single else f"rest.{name}"] = ("rest", (i,), unit)
    for i, name in enumerate(names):
        for k, entry in enumerate(FRICTION_ENTRIES):
            unit = effort_unit(units[i]) if k < 2 else rate_unit(units[i])
            fields[f"friction.{entry}" if single else f"friction.{name}.{entry}"] = ("friction", (i, k), unit)
    for i, name in enumerate(names):
        fields["armature" if single else f"armature.{name}"] = ("armature", (i,), inertia_unit(units[i]))
    for i, sides in enumerate(bounded):
        for entry, k in stop_entries(*sides):
            fields[stop_name(names, names[i], entry)] = ("limit_numbers", (i, k), stop_unit(entry, units[i]))
    return fields
