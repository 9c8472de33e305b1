"""Units of quantities: one entry for each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from titop.blocks.contract.own_coordinates import acceleration_unit, effort_unit, rate_unit
from titop.solvers.signals.named_model import NamedModel
from titop.solvers.signals.quantities import Kind, Quantity

#: Units of dual vectors, linear parts first.
WRENCH_UNITS = ("N",) * 3 + ("N m",) * 3
DISPLACEMENT_UNITS = ("m",) * 3 + ("rad",) * 3
TWIST_UNITS = tuple(map(rate_unit, DISPLACEMENT_UNITS))
ACCELERATION_UNITS = tuple(map(acceleration_unit, DISPLACEMENT_UNITS))
#: Units of strains, torsion and bendings first.
STRAIN_UNITS = ("rad/m",) * 3 + ("1",) * 3


def units_of(model: NamedModel, of: Quantity) -> tuple[str, ...]:
    """Return the unit of each entry of a quantity."""
    if of.kind == Kind.PARAMETER:
        return (model.parameters()[of.owner][1],)
    if of.filtering is not None:
        measured = units_of(model, of.filtering.measured)
        return tuple(measured[k] for k in of.entries)
    if of.kind in ALIKE:
        return (ALIKE[of.kind],) * len(of.entries)
    units = UNITS[of.kind](model)
    return tuple(units[k] for k in of.entries)


#: Kinds whose entries all have one unit, with any number of entries.
ALIKE = {Kind.GAP: "m", Kind.CONTACT_FORCE: "N", Kind.NOISE: "1"}
#: For the other kinds: from a model to the units of all entries.
UNITS: dict[Kind, Callable[[NamedModel], Sequence[str]]] = {
    Kind.POSITION: lambda model: model.mechanism.assembly.coordinate_units,
    Kind.RATE: lambda model: [*map(rate_unit, model.mechanism.assembly.coordinate_units)],
    Kind.ACCELERATION: lambda model: [*map(acceleration_unit, model.mechanism.assembly.coordinate_units)],
    Kind.EFFORT: lambda model: [*map(effort_unit, model.mechanism.assembly.coordinate_units)],
    Kind.CONFIGURATION: lambda model: model.mechanism.assembly.configuration_units,
    Kind.INPUT: lambda model: model.mechanism.inputs.units,
    Kind.OWN_STATE: lambda model: model.mechanism.inputs.state_units,
    Kind.WRENCH: lambda _: WRENCH_UNITS,
    Kind.PORT_ACCELERATION: lambda _: ACCELERATION_UNITS,
    Kind.TWIST: lambda _: TWIST_UNITS,
    Kind.PLACE: lambda _: DISPLACEMENT_UNITS[:3],
    Kind.ANGLES: lambda _: DISPLACEMENT_UNITS[3:],
    Kind.SPECIFIC_FORCE: lambda _: ACCELERATION_UNITS[:3],
    Kind.POSE: lambda _: DISPLACEMENT_UNITS,
    Kind.MOMENTUM: lambda model: [f"{effort_unit(unit)} s" for unit in model.mechanism.assembly.coordinate_units],
    Kind.LENGTH: lambda _: ("m", "m/s"),
    Kind.VOLUME: lambda _: ("m^3", "m^3/s"),
    Kind.REACTION: lambda _: WRENCH_UNITS,
    Kind.STRAIN: lambda _: STRAIN_UNITS,
    Kind.SECTION_WRENCH: lambda _: WRENCH_UNITS,
}
