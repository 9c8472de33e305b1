"""Gears as blocks: what they relate, in which units, and who is named."""

from __future__ import annotations

import pytest

import titop as tt


@pytest.mark.parametrize(
    ("ratio", "offset", "relation"),
    [(-1.5, 0.2, "-1.5 x left + 0.2"), (2.0, -0.25, "2 x left - 0.25"), (1.0, 0.0, "1 x left"), (1 / 3, 0.0, "0.3333 x left")],
)
def test_the_relation_reads_as_it_is(ratio: float, offset: float, relation: str) -> None:
    assert tt.Gear("pair", "left", "right", ratio, offset).relation == relation


@pytest.mark.parametrize(
    ("driver", "driven", "ratio", "offset"),
    [("rad", "rad", "1", "rad"), ("rad", "m", "m/rad", "m"), ("m", "rad", "rad/m", "rad"), ("1", "m", "m/1", "m")],
)
def test_parameters_have_the_units_of_their_coordinates(driver: str, driven: str, ratio: str, offset: str) -> None:
    found = tt.Gear("rack", "pinion", "slide", 0.05, 0.1).parameters_along([driver, driven])
    assert found == {"ratio": (0.05, ratio), "offset": (0.1, offset)}


def test_blocks_may_be_given_for_their_names() -> None:
    gear = tt.Gear("pair", tt.Revolute("left"), tt.Revolute("right"))
    assert (gear.driver, gear.driven) == ("left", "right")
