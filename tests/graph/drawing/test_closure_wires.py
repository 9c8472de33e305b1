"""Places of closures and their wires: nothing lies upon anything else, and wires begin and end where they should."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from titop.graph.drawing import layout
from titop.graph.drawing.forest import Chord, Item


def box(column: int, y: float, closures: list[Item], children: int = 0) -> Item:
    """Return a box with wires to closures, in a column that is 3 wide, 2 of these taken by the box."""
    box: Any = None
    item = Item(box, column=column, x=4.0 * column, y=y, width=2.0, height=0.8, right=4.0 * column + 2.5)
    item.children = [Item(box) for _ in range(children)]
    item.chords = [Chord(closure) for closure in closures]
    return item


def closure() -> Item:
    """Return the box of a closure, without a place."""
    box: Any = None
    return Item(box, width=0.6, height=0.4)


@pytest.fixture
def linkage() -> tuple[list[layout.Bond], list[Item]]:
    """Three closures between four boxes in two rows; one of them on three boxes."""
    first, second, third = closure(), closure(), closure()
    upper = [box(0, 0.0, [first, third]), box(2, 0.0, [second, third], children=2)]
    lower = [box(1, -2.0, [first, second]), box(3, -2.0, [third])]
    found = layout.bonds([upper, lower])
    for bond in found:
        bond.closure.x = 4.0 * bond.closure.column + 0.7
    return found, [*upper, *lower]


def test_each_closure_is_one_bond_between_its_columns(linkage: tuple[list[layout.Bond], list[Item]]) -> None:
    found, _ = linkage
    assert [[end.item.column for end in bond.ends] for bond in found] == [[0, 1], [0, 2, 3], [1, 2]]
    for bond in found:
        assert bond.ends[0].item.column <= bond.closure.column <= bond.ends[-1].item.column
        assert bond.row == 1
    assert found[1].closure.height >= 3 * layout.ENTRY  # room for all its wires


def test_no_two_wires_share_a_lane(linkage: tuple[list[layout.Bond], list[Item]]) -> None:
    found, _ = linkage
    needed = layout.take_lanes(found)
    ends = [end for bond in found for end in bond.ends]
    for column, lanes in needed.items():
        own = [lane for end in ends if end.item.column == column for lane in (end.lane, end.lane + 1)]
        assert sorted(own) == list(range(lanes))


def test_closures_stand_below_each_other_or_apart(linkage: tuple[list[layout.Bond], list[Item]]) -> None:
    found, _ = linkage
    layout.take_lanes(found)
    bottom = layout.shelve(found, -3.0)
    for bond in found:
        assert bottom <= bond.closure.y - bond.closure.height / 2
        assert bond.closure.y + bond.closure.height / 2 <= -3.0 - layout.ROW + 1e-12
    for one, other in combinations(found, 2):
        apart = one.span[1] < other.span[0] or other.span[1] < one.span[0]
        heights = (one.closure.height + other.closure.height) / 2
        assert apart or abs(one.closure.y - other.closure.y) >= heights


def test_wires_run_from_exits_to_the_closures_edges(linkage: tuple[list[layout.Bond], list[Item]]) -> None:
    """The motion towards the closure, the wrench away from it, along axes only, a pair side by side."""
    found, _ = linkage
    layout.take_lanes(found)
    layout.shelve(found, -3.0)
    for bond in found:
        edges = bond.closure.x, bond.closure.x + bond.closure.width
        wires = list(layout.chord_wires(bond))
        assert len(wires) == len(bond.ends)
        for (item, target, motion, wrench), end in zip(wires, bond.ends, strict=True):
            assert (item, target) == (end.item, bond.closure)
            exit_y = layout.exits_of(item)[end.exit]
            for line, aside in ((motion, layout.SPREAD), (wrench[::-1], -layout.SPREAD)):
                assert line[0] == pytest.approx((item.x + item.width, exit_y + aside))
                assert line[-1][0] in edges
                assert abs(line[-1][1] - bond.closure.y) <= bond.closure.height / 2
                steps = np.diff(np.array(line), axis=0)
                assert (np.count_nonzero(np.abs(steps) > 1e-12, axis=1) <= 1).all()
