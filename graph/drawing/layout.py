"""The places of a drawing's boxes and wires: left to right, the tree folded into rows where it is deep. Lengths in inches.

A closure stands in a shelf of its own below the row of boxes that it closes, in a column between those of its bodies. Its
wires leave the bodies to the right, run down between the columns in lanes of their own, and reach it from both sides.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from titop.blocks.basics.tolerances import SAME
from titop.graph.drawing.forest import Item
from titop.graph.drawing.outline import LONG

#: What the diagram is folded for: the text of a page.
PAGE = (7.2, 9.5)
#: How much smaller the diagram may be to save a fold.
FOLD = 0.03

NAME, DETAIL, LABEL = 7.5, 6.5, 6.0  # font sizes in points
PAD, LINE = 0.08, 0.125  # inside a box, and from line to line
FINAL, CHANNEL = 0.32, 0.34  # of a wire: into the next box, and between the rows of a folded tree
ARROW, STACK, BESIDE = 0.17, 0.125, 0.15  # a signal's arrow, and how much longer and farther the next one is
MARGIN = 0.12
PITCH, SPREAD = 0.27, 0.055  # from pair to pair of wires at a box, and half from wire to wire of a pair
STUB, LANE = 0.15, 0.08  # of a wire: out of its box, and from vertical to vertical
ROW, ENTRY = 0.16, 0.38  # between boxes above each other, and between pairs of wires on one side of a closure


# -- closures --------------------------------------------------------------------------------------------------------------


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
        y -= ROW + max(_reach(bond.closure.inward) for bond in shelf) + height
        for bond in shelf:
            bond.closure.y = y + height / 2
        y -= max(_reach(bond.closure.outward) for bond in shelf)
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


# -- the tree --------------------------------------------------------------------------------------------------------------


@dataclass
class Layout:
    """Placed boxes and routed wires."""

    width: float = 0.0
    height: float = 0.0
    items: list[Item] = field(default_factory=list)
    #: Parent and child (a body and its closure), motion and wrench: the last two are polylines in the direction of the arrow.
    wires: list[tuple[Item, Item, list[tuple[float, float]], list[tuple[float, float]]]] = field(default_factory=list)
    chords: list[tuple[Item, Item, list[tuple[float, float]], list[tuple[float, float]]]] = field(default_factory=list)


def arrange(top: Item) -> Layout:
    """Place the boxes; a deep tree is folded into the number of rows that fits the page best."""
    for item in top.walk():
        _size(item)
    depths = {id(top): -1}
    for item in top.walk():
        depths |= {id(child): depths[id(item)] + 1 for child in item.children}
    deepest = max(depths.values())
    scores: dict[int, float] = {}
    for last in sorted({*range(2, deepest + 1, 2), deepest}, reverse=True):
        layout = _place(top.children, last)
        scale = min(1.0, PAGE[0] / layout.width, PAGE[1] / layout.height)
        scores[last] = scale - FOLD * sum(item.folded for item in layout.items)
    return _place(top.children, max(scores, key=scores.__getitem__))


def _size(item: Item) -> None:
    box = item.box
    names, lines = name_lines(box.name), [*box.details, *faults_of(item)]
    text = max([*(text_width(name, NAME, True) for name in names), *(text_width(line, DETAIL) for line in lines)])
    sides = text_width(item.child_port, LABEL) + max([text_width(port, LABEL) for port in exit_ports(item)] or [0])
    item.text = max(0.5, text + sides + 2 * PAD + (0.06 if sides else 0))
    item.span = max(span_of(item.inward), span_of(item.outward)) + 2 * PAD
    item.height = max(0.3, (len(names) + len(lines)) * LINE + 2 * PAD - 0.03, len(exits_of(item)) * PITCH + 0.05)


def name_lines(name: str) -> list[str]:
    """Return a name, a long one in two lines, parted behind a sign near its middle."""
    cuts = [k for k in range(1, len(name)) if not name[k - 1].isalnum()] if len(name) > LONG // 2 else []
    cut = min(cuts, key=lambda k: abs(2 * k - len(name)), default=0)
    return [name[:cut], name[cut:]] if cut else [name]


def span_of(labels: list[str]) -> float:
    return max([BESIDE * k + 0.05 + text_width(label, LABEL) for k, label in enumerate(labels)] or [0.0])


def exit_ports(item: Item) -> list[str]:
    """Return the names of the ports at which wires leave a box, from top to bottom."""
    return [*(child.parent_port for child in item.children), *(chord.port for chord in item.chords)]


def faults_of(item: Item) -> list[str]:
    return [f"! {fault}" for fault in item.box.faults]


@functools.cache
def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of a text on paper."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    font = FontProperties(family="sans-serif", size=size, weight="bold" if bold else "normal")
    return RendererAgg(1, 1, 300).get_text_width_height_descent(text, font, False)[0] / 300 if text else 0.0


def _place(roots: list[Item], last: int) -> Layout:
    """Place the trees in rows of columns up to `last`, and route the wires."""
    layout = Layout()
    rows: list[tuple[Item, float, float]] = []
    stack = [(root, 0) for root in reversed(roots)]
    while stack:
        root, column = stack.pop()
        root.column, root.folded = column, column > 0
        rows.append((root, *_heights(root, last)))
        members = list(_row(root))
        layout.items += members
        stack += [(child, 1) for item in members for child in item.children if child.folded]
    for chord in (chord for item in layout.items for chord in item.chords):
        _size(chord.closure)
    closed = bonds(_row(root) for root, _, _ in rows)
    layout.items += [bond.closure for bond in closed]
    right = _columns(layout.items, take_lanes(closed))
    y = -0.5
    for k, (root, up, down) in enumerate(rows):
        y -= (CHANNEL if root.folded else ROW if k else 0) + up
        for item in _row(root):
            item.y += y
        y = shelve([bond for bond in closed if bond.row == k], y - down)
    folds = [(item, child) for item in layout.items for child in item.children if child.folded]
    tops = {id(root): root.y + up for root, up, _ in rows}
    depths = _fold_depths([(item.y, tops[id(child)]) for item, child in folds])
    depth_of = {id(child): depth for (_, child), depth in zip(folds, depths, strict=True)}
    for item in layout.items:
        layout.wires += _wires(item, right, tops, depth_of)
    layout.chords = [wires for bond in closed for wires in chord_wires(bond)]
    layout.width = right + MARGIN + (STUB + 2 * LANE * (1 + max(depths)) if depths else 0)
    layout.height = -y + MARGIN
    return layout


def _row(root: Item) -> Iterator[Item]:
    """Yield the items in the row of a root, parents first."""
    stack = [root]
    while stack:
        item = stack.pop()
        yield item
        stack += [child for child in reversed(item.children) if not child.folded]


def _heights(item: Item, last: int) -> tuple[float, float]:
    """Place a subtree about the height zero, fold what is beyond the last column; return how far it extends up and down."""
    item.y = 0.0
    spans = []
    for child in item.children:
        child.column, child.folded = item.column + 1, item.column + 1 > last
        if not child.folded:
            spans.append((child, *_heights(child, last)))
    up = item.height / 2 + _reach(item.inward)
    down = item.height / 2 + _reach(item.outward)
    if not spans:
        return up, down
    centres, y = [], 0.0
    for k, (_, child_up, child_down) in enumerate(spans):
        y -= child_up + (ROW if k else 0.0)
        centres.append(y)
        y -= child_down
    middle = (centres[(len(centres) - 1) // 2] + centres[len(centres) // 2]) / 2 - PITCH * len(item.chords) / 2
    for (child, _, _), centre in zip(spans, centres, strict=True):
        for below in _row(child):
            below.y += centre - middle
    return max(up, -middle), max(down, middle - y)


def _reach(labels: list[str]) -> float:
    return ARROW + STACK * (len(labels) - 1) + 0.06 if labels else 0.0


def _columns(items: list[Item], taken: dict[int, int]) -> float:
    """Place the columns and give all boxes of one its width, wider only where signals need it; return the right edge.

    Closures have `taken` some lanes beside each column, nearest to it.
    """
    x = MARGIN
    for column in range(1 + max(item.column for item in items)):
        members = [item for item in items if item.column == column]
        width = max([item.text for item in members] or [0.0])
        lanes = max([max(_lanes(item).values(), default=-1) + 1 for item in members] or [0])
        lanes = max(lanes, 2 if column == 0 and any(item.folded for item in items) else 0)
        right = x + max([width, *(item.span for item in members)])
        for item in members:
            item.x, item.width, item.right, item.taken = x, max(width, item.span), right, taken.get(column, 0)
        x = right + STUB + (item.taken + lanes) * LANE + FINAL
    return right + (STUB + item.taken * LANE if item.taken else 0.0)


def _lanes(item: Item) -> dict[int, int]:
    """Return the lanes of the wires' vertical parts: of wire 2k the motion, of 2k + 1 the wrench of child k."""
    near = [
        (k, child.y - y) for k, (child, y) in enumerate(zip(item.children, exits_of(item), strict=False)) if not child.folded
    ]
    rising = [wire for k, dy in near if dy > SAME for wire in (2 * k, 2 * k + 1)]
    falling = [wire for k, dy in reversed(near) if dy < -SAME for wire in (2 * k + 1, 2 * k)]
    return {wire: lane for wires in (rising, falling) for lane, wire in enumerate(wires)}


def _fold_depths(spans: list[tuple[float, float]]) -> list[int]:
    """Return for each fold how many others it encloses, so that they nest without crossing."""
    depths = [0] * len(spans)
    for k in sorted(range(len(spans)), key=lambda k: spans[k][0] - spans[k][1]):
        top, bottom = spans[k]
        inner = [depths[j] for j, (a, b) in enumerate(spans) if j != k and top >= a and bottom <= b and (a, b) != (top, bottom)]
        depths[k] = 1 + max(inner) if inner else 0
    return depths


def _wires(item: Item, right: float, tops: dict[int, float], depths: dict[int, int]) -> Iterator[Any]:
    lanes = _lanes(item)
    start = item.x + item.width
    for k, (child, leave) in enumerate(zip(item.children, exits_of(item), strict=False)):
        lines = []
        for wire, side in ((2 * k, SPREAD), (2 * k + 1, -SPREAD)):
            points = [(start, leave + side)]
            if child.folded:
                outer = right + STUB + LANE * (2 * depths[id(child)] + (side > 0))
                inner = child.x - FINAL - LANE * (side < 0)
                channel = tops[id(child)] + CHANNEL / 2 - side
                points += [(outer, leave + side), (outer, channel), (inner, channel), (inner, child.y + side)]
            elif wire in lanes:
                x = item.right + STUB + LANE * (item.taken + lanes[wire])
                points += [(x, leave + side), (x, child.y + side)]
            lines.append([*points, (child.x, child.y + side)])
        yield item, child, lines[0], lines[1][::-1]
