"""The block diagram of a system as a figure, in the manner of key A, figures 6 and 16.

Four steps: the outline's boxes as a forest (`forest`), the parts that do not fit collapsed (`collapse`), the boxes placed
left to right, the tree folded into several rows where it is deep (`arrange`), and all of it drawn (`draw_system`).
Lengths are in inches.
"""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from titop.blocks.errors import Finding, ModelError, did_you_mean
from titop.graph.dot import Box, Outline, outline, printable
from titop.graph.system import System

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: So many boxes are drawn: the world and thirty bodies with their joints.
LIMIT = 61
#: What the diagram is folded for: the text width of a page, and a height.
PAGE = (7.2, 5.0)
#: How much smaller the diagram may be to save a fold.
FOLD = 0.03

NAME, DETAIL, LABEL = 7.5, 6.5, 6.0  # font sizes in points
PAD, LINE = 0.08, 0.125  # inside a box, and from line to line
PITCH, SPREAD = 0.27, 0.055  # from pair to pair of wires at a box, and half from wire to wire of a pair
STUB, LANE, FINAL = 0.15, 0.08, 0.32  # of a wire: out of its box, from vertical to vertical, into the next box
ROW, CHANNEL = 0.16, 0.34  # between boxes above each other, and between the rows of a folded tree
ARROW, STACK, BESIDE = 0.17, 0.125, 0.15  # a signal's arrow, and how much longer and farther the next one is
MARGIN = 0.12
MOTION, WRENCH, FAULT = "#1b5e9e", "#c05a00", "#c8102e"
FILL = {"world": "#d9d9d9", "body": "#eef3f8", "joint": "#ffffff", "group": "#e3ebf3", "again": "#ffffff"}


@dataclass
class Item:
    """A box in the tree of the drawing, with its signals and its place.

    Attributes
    ----------
    box : Box
    parent_port, child_port : str
        Ports of the wires from the parent.
    children : list of Item
        From top to bottom.
    inward, outward : list of str
        Labels of the arrows onto and out of the box.
    column : int
    x, y, width, height : float
        Left edge, centre, and size.
    right : float
        Right edge of the column.
    text, span : float
        Width that the texts need, and that the signals need.
    folded : bool
        Whether the wires from the parent lead to a row of its own.
    """

    box: Box
    parent_port: str = ""
    child_port: str = ""
    children: list[Item] = field(default_factory=list)
    inward: list[str] = field(default_factory=list)
    outward: list[str] = field(default_factory=list)
    column: int = 0
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0
    right: float = 0.0
    text: float = 0.0
    span: float = 0.0
    folded: bool = False

    def walk(self) -> Iterator[Item]:
        """Yield the item and all below it, parents first."""
        stack = [self]
        while stack:
            item = stack.pop()
            yield item
            stack += reversed(item.children)


def draw_system(system: System, path: str | Path | None = None, collapse: Iterable[str] | None = None) -> Figure:
    """Draw the block diagram of a system, faulty or not.

    Motion vectors run from parents to children, wrenches back. Efforts, loads and actuators act from above; coordinates
    and sensors are read below. What is wrong is drawn red. Beyond about thirty bodies, subsystems (names that share what
    stands before a ``/``) and then the farthest subtrees become one box each.

    Parameters
    ----------
    system : System
    path : str or Path, optional
        Where to save the figure; its suffix chooses the format.
    collapse : iterable of str, optional
        Blocks below which everything becomes one box (a joint stands for the body that it carries), and subsystems.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ModelError
        If `collapse` names no block and no subsystem, or if the path's suffix is no known format.
    """
    picture = outline(system)
    top = Item(Box("group", ""), children=forest(picture))
    collapse_named(top, [collapse] if isinstance(collapse, str) else collapse or ())
    collapse_rest(top)
    figure = _figure(system, picture, arrange(top))
    if path is not None:
        _save(figure, Path(path))
    return figure


def _save(figure: Figure, path: Path) -> None:
    suffix, known = path.suffix.lower().lstrip("."), sorted(figure.canvas.get_supported_filetypes())
    if suffix not in known:
        raise ModelError(Finding("unknown-format", str(path), path.suffix, "a picture's suffix", did_you_mean(suffix, known)))
    figure.savefig(path, dpi=200)


# -- the tree ----------------------------------------------------------------------------------------------------------


def forest(picture: Outline) -> list[Item]:
    """Return the boxes as trees, the world's first; a box that is met again becomes a leaf that says so."""
    items = [Item(box) for box in picture.boxes]
    for item in items:
        if item.box.nv:
            many = f" ({item.box.nv})" if item.box.nv > 1 else ""
            item.inward, item.outward = [f"τ{many}"], [f"q, v, a{many}"]
    for signal in picture.signals:
        (items[signal.target].inward if signal.inward else items[signal.target].outward).append(signal.label)
    wires_from: dict[int, list[Any]] = {}
    for wire in picture.wires:
        wires_from.setdefault(wire.parent, []).append(wire)
    heads = {wire.child for wire in picture.wires} - {0}
    roots, seen = [], set()
    for root in itertools.chain((k for k in range(len(items)) if k not in heads), range(len(items))):
        if root in seen:
            continue
        roots.append(items[root])
        seen.add(root)
        stack = [root]
        while stack:
            parent = stack.pop()
            for wire in wires_from.get(parent, ()):
                child = items[wire.child]
                if wire.child in seen:
                    child = Item(Box("again", child.box.name, ("drawn elsewhere",), faults=("second connection",)))
                else:
                    seen.add(wire.child)
                    stack.append(wire.child)
                child.parent_port, child.child_port = wire.parent_port, wire.child_port
                items[parent].children.append(child)
    return roots


def collapse_named(top: Item, names: Iterable[str]) -> None:
    """Turn what is below the named blocks, and the named subsystems, into one box each."""
    for name in names:
        shown = printable(name).removesuffix("/")
        found = next((item for item in top.walk() if item is not top and item.box.name == shown), None)
        if found is not None:
            found = found.children[0] if found.box.kind == "joint" else found
            found.children = [_group(found.children)] if found.children else []
        elif not _merge(top, shown):
            known = [item.box.name for item in top.walk()][1:]
            raise ModelError(Finding("unknown-block", "collapse", name, "a block or a subsystem", did_you_mean(name, known)))


def collapse_rest(top: Item, limit: int = LIMIT) -> None:
    """If there are more than `limit` boxes, merge all subsystems, and then the farthest subtrees that are still too many."""
    names = [item.box.name for item in top.walk()][1:]
    if len(names) > limit:
        for prefix in dict.fromkeys(name.partition("/")[0] for name in names if "/" in name):
            _merge(top, prefix)
    count, queue = 1, deque([top])
    while queue:
        item = queue.popleft()
        kept = 0
        for child in item.children:
            pair = [child, *child.children] if child.box.kind == "joint" else [child]
            cost = len(pair) + bool(pair[-1].children) - (child is item.children[-1])
            if count + cost > limit:
                break
            count, kept = count + cost, kept + 1
            queue.append(pair[-1])
        if kept < len(item.children):
            item.children[kept:] = [_group(item.children[kept:])]


def _merge(top: Item, prefix: str) -> bool:
    """Merge connected bodies whose names begin with ``prefix/``, and the joints between them; tell whether there are any."""
    found = False
    for item in list(top.walk()):
        if item.box.kind != "body" or not item.box.name.startswith(f"{prefix}/"):
            continue
        found, members, outside, stack = True, [item], [], list(reversed(item.children))
        while stack:
            joint = stack.pop()
            bodies = [body for body in joint.children if body.box.kind == "body" and body.box.name.startswith(f"{prefix}/")]
            if bodies:
                members += [joint, *bodies]
                stack += reversed(bodies[0].children)
            else:
                outside.append(joint)
        merged = _merged(members)
        item.box, item.inward, item.outward, item.children = merged.box, merged.inward, merged.outward, outside
        for member in members[1:]:
            member.box, member.children = Box("again", ""), []
    return found


def _group(children: list[Item]) -> Item:
    group = _merged([member for child in children for member in child.walk()])
    if len(children) == 1:
        group.parent_port = children[0].parent_port
    return group


def _merged(members: list[Item]) -> Item:
    """Return one box for several."""
    boxes = [member.box for member in members if member.box.kind != "again"]
    names = [box.name for box in boxes if box.kind != "joint"] or [members[0].box.name]
    shared = _shared_prefix(names)
    size, mass, nv = (sum(getattr(box, what) for box in boxes) for what in ("size", "mass", "nv"))
    name = f"{shared}/... ({size} blocks)" if shared else f"{names[0]} ... ({size} blocks)"
    faults = tuple(dict.fromkeys(fault for member in members for fault in member.box.faults))
    many = f" ({nv})" if nv > 1 else ""
    coordinates = (f"{nv} coordinate{'s' * (nv > 1)}",) if nv else ()
    details = (f"{mass:.4g} kg", *coordinates)
    merged = Item(Box("group", name, details, nv, faults, size, mass))
    for labels, all_labels, own in (
        (merged.inward, [x for member in members for x in member.inward], "τ"),
        (merged.outward, [x for member in members for x in member.outward], "q, v, a"),
    ):
        others = [label for label in all_labels if label.split(" (")[0] != own]
        labels += [own + many] if nv else []
        labels += others if len(others) <= 2 else [f"{len(others)} signals"]
    return merged


def _shared_prefix(names: list[str]) -> str:
    """Return the parts before a ``/`` that all of several names share."""
    parts = [name.split("/")[:-1] for name in names] if len(names) > 1 else [[]]
    return "/".join(column[0] for column in itertools.takewhile(lambda c: len(set(c)) == 1, zip(*parts, strict=False)))


# -- the places --------------------------------------------------------------------------------------------------------


@dataclass
class Layout:
    """Placed boxes and routed wires.

    Attributes
    ----------
    width, height : float
    items : list of Item
    wires : list of (parent, child, motion, wrench)
        The last two are polylines in the direction of the arrow.
    """

    width: float = 0.0
    height: float = 0.0
    items: list[Item] = field(default_factory=list)
    wires: list[tuple[Item, Item, list[tuple[float, float]], list[tuple[float, float]]]] = field(default_factory=list)


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
    text = max([text_width(box.name, NAME, True), *(text_width(line, DETAIL) for line in (*box.details, *_faults(item)))])
    sides = text_width(item.child_port, LABEL) + max([text_width(child.parent_port, LABEL) for child in item.children] or [0])
    item.text = max(0.5, text + sides + 2 * PAD + (0.06 if sides else 0))
    item.span = max(_span(item.inward), _span(item.outward)) + 2 * PAD
    lines = 1 + len(box.details) + len(box.faults)
    item.height = max(0.3, lines * LINE + 2 * PAD - 0.03, len(item.children) * PITCH + 0.05)


def _span(labels: list[str]) -> float:
    return max([BESIDE * k + 0.05 + text_width(label, LABEL) for k, label in enumerate(labels)] or [0.0])


def _faults(item: Item) -> list[str]:
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
    right = _columns(layout.items)
    y = -0.5
    for k, (root, up, down) in enumerate(rows):
        y -= (CHANNEL if root.folded else ROW if k else 0) + up
        for item in _row(root):
            item.y += y
        y -= down
    folds = [(item, child) for item in layout.items for child in item.children if child.folded]
    tops = {id(root): root.y + up for root, up, _ in rows}
    depths = _fold_depths([(item.y, tops[id(child)]) for item, child in folds])
    depth_of = {id(child): depth for (_, child), depth in zip(folds, depths, strict=True)}
    for item in layout.items:
        layout.wires += _wires(item, right, tops, depth_of)
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
    middle = (centres[(len(centres) - 1) // 2] + centres[len(centres) // 2]) / 2
    for (child, _, _), centre in zip(spans, centres, strict=True):
        for below in _row(child):
            below.y += centre - middle
    return max(up, -middle), max(down, middle - y)


def _reach(labels: list[str]) -> float:
    return ARROW + STACK * (len(labels) - 1) + 0.06 if labels else 0.0


def _columns(items: list[Item]) -> float:
    """Place the columns and give all boxes of one its width, wider only where signals need it; return the right edge."""
    x = MARGIN
    for column in range(1 + max(item.column for item in items)):
        members = [item for item in items if item.column == column]
        width = max([item.text for item in members] or [0.0])
        lanes = max([max(_lanes(item).values(), default=-1) + 1 for item in members] or [0])
        lanes = max(lanes, 2 if column == 0 and any(item.folded for item in items) else 0)
        right = x + max([width, *(item.span for item in members)])
        for item in members:
            item.x, item.width, item.right = x, max(width, item.span), right
        x = right + STUB + lanes * LANE + FINAL
    return right


def _exits(item: Item) -> list[float]:
    """Return the heights at which the pairs of wires to the children leave a box."""
    middle = (len(item.children) - 1) / 2
    return [item.y + PITCH * (middle - k) for k in range(len(item.children))]


def _lanes(item: Item) -> dict[int, int]:
    """Return the lanes of the wires' vertical parts: of wire 2k the motion, of 2k + 1 the wrench of child k."""
    near = [(k, child.y - y) for k, (child, y) in enumerate(zip(item.children, _exits(item), strict=True)) if not child.folded]
    rising = [wire for k, dy in near if dy > 1e-6 for wire in (2 * k, 2 * k + 1)]
    falling = [wire for k, dy in reversed(near) if dy < -1e-6 for wire in (2 * k + 1, 2 * k)]
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
    for k, (child, leave) in enumerate(zip(item.children, _exits(item), strict=True)):
        lines = []
        for wire, side in ((2 * k, SPREAD), (2 * k + 1, -SPREAD)):
            points = [(start, leave + side)]
            if child.folded:
                outer = right + STUB + LANE * (2 * depths[id(child)] + (side > 0))
                inner = child.x - FINAL - LANE * (side < 0)
                channel = tops[id(child)] + CHANNEL / 2 - side
                points += [(outer, leave + side), (outer, channel), (inner, channel), (inner, child.y + side)]
            elif wire in lanes:
                x = item.right + STUB + LANE * lanes[wire]
                points += [(x, leave + side), (x, child.y + side)]
            lines.append([*points, (child.x, child.y + side)])
        yield item, child, lines[0], lines[1][::-1]


# -- the figure --------------------------------------------------------------------------------------------------------


def _figure(system: System, picture: Outline, layout: Layout) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    notes = _notes(picture)
    width = max(layout.width, 5.0, *(text_width(note, LABEL) + 2 * MARGIN for note in notes))
    height = layout.height + 0.3 + LINE * len(notes)
    figure = Figure(figsize=(width, height), dpi=150)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(-height, 0))
    axes.set_axis_off()
    pen = Pen(axes)
    pen.text(MARGIN, -0.16, printable(system.name, 60), NAME + 2, "title", weight="bold", ha="left")
    gravity = ", ".join(f"{x:.4g}" for x in system.gravity)
    pen.text(MARGIN, -0.33, f"gravity [{gravity}] m/s²", DETAIL, "title", ha="left")
    for parent, child, motion, wrench in layout.wires:
        pen.pair(parent, child, motion, wrench)
    for item in layout.items:
        pen.box(item)
        pen.signals(item, item.inward, up=1)
        pen.signals(item, item.outward, up=-1)
    pen.legend(-layout.height - 0.1)
    for k, note in enumerate(notes):
        pen.text(MARGIN, -layout.height - 0.3 - LINE * k, note, LABEL, "note", color=FAULT, ha="left")
    return figure


def _notes(picture: Outline, most: int = 6) -> list[str]:
    """Return what is wrong with the system, a line each."""
    notes = [printable(f"! {finding.where}: {finding.code}, {finding.advice}", 200) for finding in picture.findings[:most]]
    notes = [note if len(note) <= 105 else f"{note[:104]}…" for note in notes]
    more = len(picture.findings) - most
    return notes + ([f"! and {more} more"] if more > 0 else [])


class Pen:
    """Draws on axes whose unit is the inch; every artist's gid says what it is."""

    def __init__(self, axes: Any) -> None:
        self.axes = axes

    def text(self, x: float, y: float, text: str, size: float, gid: str, **style: Any) -> None:
        """Write a line as it is: no dollar sign starts a formula."""
        style = {"ha": "center", "va": "center", "family": "sans-serif"} | style
        self.axes.text(x, y, text, fontsize=size, parse_math=False, gid=gid, **style)

    def arrow(self, points: list[tuple[float, float]], color: str, gid: str, dashed: bool = False) -> None:
        """Draw a polyline that ends in an arrowhead."""
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path as Polyline

        style: dict[str, Any] = {"linestyle": (0, (3, 2))} if dashed else {}
        patch = FancyArrowPatch(
            path=Polyline(points), arrowstyle="-|>,head_length=4.5,head_width=1.9", mutation_scale=1, color=color, **style
        )
        patch.set(linewidth=0.9, joinstyle="miter", capstyle="butt", gid=gid)
        self.axes.add_patch(patch)

    def box(self, item: Item) -> None:
        """Draw a box with its name, details, faults and port names."""
        from matplotlib.patches import FancyBboxPatch

        box, bottom = item.box, item.y - item.height / 2
        rounding = 0.09 if box.kind == "joint" else 1e-3
        edge: dict[str, Any] = {"edgecolor": FAULT if box.faults else "black", "linewidth": 1.3 if box.faults else 0.8}
        dashes: Any = (0, (3, 2)) if box.kind == "again" else "solid"
        behind = 0.045 if box.kind == "group" else 0.0
        for shift in sorted({behind, 0.0}, reverse=True):
            place = (item.x + shift, bottom + shift), item.width - behind, item.height - behind
            style = f"round,pad=0,rounding_size={rounding}"
            patch = FancyBboxPatch(*place, boxstyle=style, facecolor=FILL[box.kind], linestyle=dashes, **edge)
            patch.set_gid(f"box:{box.name}")
            self.axes.add_patch(patch)
        left, exits = text_width(item.child_port, LABEL), [child.parent_port for child in item.children]
        right = max([text_width(port, LABEL) for port in exits] or [0.0])
        x = item.x + (item.width + left - right - behind) / 2
        lines = [*box.details, *_faults(item)]
        y = item.y + (LINE * len(lines) - behind) / 2
        self.text(x, y, box.name, NAME, f"name:{box.name}", weight="bold")
        for k, line in enumerate(lines, start=1):
            fault = k > len(box.details)
            self.text(x, y - LINE * k, line, DETAIL, f"detail:{box.name}", color=FAULT if fault else "#333333")
        self.text(item.x + 0.04, item.y, item.child_port, LABEL, f"port:{box.name}", ha="left", color="#555555")
        for port, height in zip(exits, _exits(item), strict=True):
            self.text(item.x + item.width - 0.04, height, port, LABEL, f"port:{box.name}", ha="right", color="#555555")

    def pair(self, parent: Item, child: Item, motion: list[tuple[float, float]], wrench: list[tuple[float, float]]) -> None:
        """Draw the two wires of a connection."""
        names, dashed = f"{parent.box.name}->{child.box.name}", child.box.kind == "again"
        self.arrow(motion, FAULT if dashed else MOTION, f"m:{names}", dashed)
        self.arrow(wrench, FAULT if dashed else WRENCH, f"W:{names}", dashed)
        x = child.x - FINAL / 2 - 0.02
        self.text(x, child.y + SPREAD + 0.06, "m", LABEL, f"wire:{names}", style="italic", color=MOTION)
        self.text(x, child.y - SPREAD - 0.06, "W", LABEL, f"wire:{names}", style="italic", color=WRENCH)

    def signals(self, item: Item, labels: list[str], up: int) -> None:
        """Draw the arrows onto the top of a box (`up` 1) or out of its bottom (-1), the first one longest."""
        width, edge = _span(labels), item.y + up * item.height / 2
        for k, label in enumerate(labels):
            x = item.x + (item.width - width) / 2 + BESIDE * k
            end = edge + up * (ARROW + STACK * (len(labels) - 1 - k))
            line = [(x, end), (x, edge)]
            self.arrow(line if up > 0 else line[::-1], "black", f"{'in' if up > 0 else 'out'}:{item.box.name}")
            self.text(x + 0.05, end, label, LABEL, f"signal:{item.box.name}", ha="left")

    def legend(self, y: float) -> None:
        """Say what the wires carry."""
        x = MARGIN
        for color, text, ends in ((MOTION, "m: motion vector (18)", (0.0, 0.3)), (WRENCH, "W: wrench (6)", (0.3, 0.0))):
            self.arrow([(x + ends[0], y), (x + ends[1], y)], color, "legend")
            self.text(x + 0.36, y, text, LABEL, "legend", ha="left")
            x += 0.6 + text_width(text, LABEL)
