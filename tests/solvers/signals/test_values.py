"""Every signal that can be named has a value."""

from __future__ import annotations

from tests.solvers.signals.rigs import ROLES
from titop.solvers.signals.derivatives import DERIVATIVES
from titop.solvers.signals.grammar import MEASURED, OUTPUT
from titop.solvers.signals.quantities import Kind
from titop.solvers.signals.units import UNITS
from titop.solvers.signals.values import SOURCES


def test_every_kind_that_can_be_named_has_its_entries(model) -> None:
    named = {of.kind for role in ROLES.values() for of in role.quantities(model)}
    readable = {of.kind for role in (OUTPUT, MEASURED) for of in role.quantities(model)}
    readable |= {Kind.MOMENTUM, Kind.SPECIFIC_FORCE, Kind.LENGTH, Kind.VOLUME}  # of what this system has not
    readable |= {Kind.STRAIN, Kind.SECTION_WRENCH}  # of rods
    assert named - {Kind.PARAMETER, Kind.STATE} <= set(UNITS)
    assert set(DERIVATIVES) == set(SOURCES) == readable
