"""What the name of a signal stands for: some of the entries of a vector."""

from __future__ import annotations

from titop.solvers.signals.quantities import DYNAMIC, OF_COORDINATES, Kind, Quantity, of_all_coordinates

TWIST = Quantity(Kind.TWIST, "hub.C", (3, 4, 5), ("hub.C.w[0]", "hub.C.w[1]", "hub.C.w[2]"))


def test_some_entries_keep_their_names() -> None:
    one = TWIST.only(1)
    assert (one.kind, one.owner, one.entries, one.paths) == (Kind.TWIST, "hub.C", (4,), ("hub.C.w[1]",))
    assert TWIST.only(2, 0).entries == (5, 3)
    assert TWIST.only(0, 1, 2) == TWIST


def test_all_coordinates_of_a_model() -> None:
    rates = of_all_coordinates(Kind.RATE, ["hinge", "slide"], ".v")
    assert (rates.entries, rates.paths) == ((0, 1), ("hinge.v", "slide.v"))


def test_what_depends_on_accelerations_is_known() -> None:
    assert {Kind.ACCELERATION, Kind.REACTION, Kind.SPECIFIC_FORCE} <= DYNAMIC
    assert not {Kind.POSITION, Kind.RATE, Kind.TWIST, Kind.PLACE, Kind.POSE, Kind.LENGTH, Kind.STRAIN} & DYNAMIC
    assert set(Kind) >= OF_COORDINATES
