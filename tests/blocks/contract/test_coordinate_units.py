"""Units of what goes with coordinates: the product of effort and coordinate is an energy."""

from __future__ import annotations

import pytest

from titop.blocks.contract import own_coordinates as units


@pytest.mark.parametrize(
    ("unit", "rate", "acceleration", "effort", "inertia"),
    [
        ("m", "m/s", "m/s^2", "N", "kg"),
        ("rad", "rad/s", "rad/s^2", "N m", "kg m^2"),
        ("1", "1/s", "1/s^2", "J", "J s^2"),
        ("sqrt(kg) m", "sqrt(kg) m/s", "sqrt(kg) m/s^2", "J/(sqrt(kg) m)", "J s^2/(sqrt(kg) m)^2"),
        ("mol", "mol/s", "mol/s^2", "J/mol", "J s^2/mol^2"),
    ],
)
def test_what_goes_with_a_coordinate(unit: str, rate: str, acceleration: str, effort: str, inertia: str) -> None:
    found = units.rate_unit(unit), units.acceleration_unit(unit), units.effort_unit(unit), units.inertia_unit(unit)
    assert found == (rate, acceleration, effort, inertia)


def test_ratios_are_without_a_unit_between_equals_alone() -> None:
    assert units.ratio_unit("rad", "rad") == "1"
    assert units.ratio_unit("m", "rad") == "m/rad"
    assert units.ratio_unit("rad", "m/s") == "rad/(m/s)"


def test_units_count_only_if_there_is_one_for_each() -> None:
    assert units.known_units(["m", "rad"], 2) == ("m", "rad")
    assert units.known_units(["m"], 2) == ("1", "1")
    assert units.known_units([], 0) == ()
