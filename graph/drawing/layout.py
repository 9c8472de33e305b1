"""The places of a drawing's boxes and wires: left to right, the tree folded into rows where it is deep. Lengths in inches."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from titop.blocks.basics.tolerances import SAME
from titop.graph.drawing.chords import LANE, PITCH, ROW, SPREAD, STUB, bonds, chord_wires, exits_of, shelve, take_lanes
from titop.graph.drawing.forest import Item

#: What the diagram is folded for: the text width of a page, and a height.
PAGE = (7.2, 5.0)
#: How much smaller the diagram may be to save a fold.
FOLD = 0.03

NAME, DETAIL, LABEL = 7.5, 6.5, 6.0  # font sizes in points
PAD, LINE = 0.08, 0.125  # inside a box, and from line to line
FINAL, CHANNEL = 0.32, 0.34  # of a wire: into the next box, and between the rows of a folded tree
ARROW, STACK, BESIDE = 0.17, 0.125, 0.15  # a signal's arrow, and how much longer and farther the next one is
MARGIN = 0.12
MOTION, WRENCH, FAULT = "#1b5e9e", "#c05a00", "#c8102e"
FILL = {"world": "#d9d9d9", "body": "#eef3f8", "joint": "#ffffff", "closure": "#fbf1de", "group": "#e3ebf3", "again": "#ffffff"}


@dataclass
class Layout:
    """Placed boxes and routed wires.

    Attributes
    ----------
    width, height : float
    items : list of Item
    wires : list of (parent, child, motion, wrench)
        The last two are polylines in the direction of the arrow.
    chords : list of (body, closure, motion, wrench)
    """

    width: float = 0.0
    height: float = 0.0
    items: list[Item] = field(default_factory=list)
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
    text = max([text_width(box.name, NAME, True), *(text_width(line, DETAIL) for line in (*box.details, *faults_of(item)))])
    sides = text_width(item.child_port, LABEL) + max([text_width(port, LABEL) for port in exit_ports(item)] or [0])
    item.text = max(0.5, text + sides + 2 * PAD + (0.06 if sides else 0))
    item.span = max(span_of(item.inward), span_of(item.outward)) + 2 * PAD
    lines = 1 + len(box.details) + len(box.faults)
    item.height = max(0.3, lines * LINE + 2 * PAD - 0.03, len(exits_of(item)) * PITCH + 0.05)


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


def _heights(item: Item, last: int, above: float = 0.0) -> tuple[float, float]:
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
