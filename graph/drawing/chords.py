"""The places of a drawing's closures, and of the wires between them and their bodies. Lengths in inches.

A closure stands in a shelf of its own below the row of boxes that it closes, in a column between those of its bodies. Its
wires leave the bodies to the right, run down between the columns in lanes of their own, and reach it from both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from titop.graph.drawing.forest import Item

PITCH, SPREAD = 0.27, 0.055  # from pair to pair of wires at a box, and half from wire to wire of a pair
STUB, LANE = 0.15, 0.08  # of a wire: out of its box, and from vertical to vertical
ROW, ENTRY = 0.16, 0.38  # between boxes above each other, and between pairs of wires on one side of a closure


@dataclass
class End:
    """Where a closure's wires leave a body: the box, which of its exits, the row of boxes, and the lane of the wrench."""

    item: Item
    exit: int
    row: int
    lane: int = 0

    @property
    def x(self) -> float:
        """Of the wrench's vertical; the motion's is a lane farther right."""
        return self.item.right + STUB + LANE * self.lane


@dataclass
class Bond:
    """A closure and its ends, the left one first."""

    closure: Item
    ends: list[End]

    @property
    def row(self) -> int:
        """The row below which the closure stands."""
        return max(end.row for end in self.ends)

    @property
    def span(self) -> tuple[float, float]:
        """Where closure and wires begin and end."""
        left, right = self.closure.x, self.closure.x + self.closure.width
        return min(left, *(end.x for end in self.ends)), max(right, *(end.x + LANE for end in self.ends))


def bonds(rows: Iterable[Iterable[Item]]) -> list[Bond]:
    """Return the closures of the boxes in all rows, each in a column between its ends."""
    found: dict[int, Bond] = {}
    for row, items in enumerate(rows):
        for item in items:
            for k, chord in enumerate(item.chords, start=len(item.children)):
                found.setdefault(id(chord.closure), Bond(chord.closure, [])).ends.append(End(item, k, row))
    for bond in found.values():
        bond.ends.sort(key=lambda end: end.item.column)
        first, last = bond.ends[0].item.column, bond.ends[-1].item.column
        bond.closure.column = (first + 1 + last) // 2 if first < last else first
        if first == last or len(bond.ends) > 2:
            bond.closure.height = max(bond.closure.height, len(bond.ends) * ENTRY + 0.05)
    return list(found.values())


def take_lanes(found: list[Bond]) -> dict[int, int]:
    """Give every end its lanes, those of upper boxes farther right; return how many lanes each column needs."""
    ends = [end for bond in found for end in bond.ends]
    lanes: dict[int, int] = {}
    for end in sorted(ends, key=lambda end: (-end.row, end.item.y, -end.exit)):
        column = end.item.column
        end.lane = lanes.get(column, 0)
        lanes[column] = end.lane + 2
    return lanes


def shelve(found: list[Bond], y: float) -> float:
    """Place closures below a height, beside each other where their wires leave room; return the height below them."""
    shelves: list[list[Bond]] = []
    for bond in sorted(found, key=lambda bond: bond.span):
        room = (shelf for shelf in shelves if shelf[-1].span[1] + STUB < bond.span[0])
        shelf = next(room, None)
        if shelf is None:
            shelves.append([bond])
        else:
            shelf.append(bond)
    for shelf in shelves:
        height = max(bond.closure.height for bond in shelf)
        y -= ROW + height
        for bond in shelf:
            bond.closure.y = y + height / 2
    return y


def chord_wires(bond: Bond) -> Iterator[Any]:
    """Yield box, closure, motion and wrench of all ends; the last two are polylines in the direction of the arrow."""
    closure = bond.closure
    left = sorted((end for end in bond.ends if end.x < closure.x), key=lambda end: -end.lane)
    right = sorted((end for end in bond.ends if end.x >= closure.x), key=lambda end: end.lane)
    for end in bond.ends:
        item, turn, side = (end.item, 1, left) if end.x < closure.x else (end.item, -1, right)
        edge = closure.x if turn > 0 else closure.x + closure.width
        entry = closure.y + ENTRY * ((len(side) - 1) / 2 - side.index(end))
        start, leave = item.x + item.width, exits_of(item)[end.exit]
        lines = []
        for x, aside in ((end.x + LANE, SPREAD), (end.x, -SPREAD)):
            arrive = entry + turn * aside
            lines.append([(start, leave + aside), (x, leave + aside), (x, arrive), (edge, arrive)])
        yield item, closure, lines[0], lines[1][::-1]


def exits_of(item: Item) -> list[float]:
    """Return the heights at which the pairs of wires leave a box: those to the children, and below them those to closures."""
    middle = (len(item.children) + len(item.chords) - 1) / 2
    return [item.y + PITCH * (middle - k) for k in range(len(item.children) + len(item.chords))]
