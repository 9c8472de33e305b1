"""The block diagram of a system as a figure, in the style of key A, figures 6 and 16.

Four steps: the outline's boxes as a forest (`forest`), the parts that do not fit collapsed (`collapse`), the boxes placed
left to right, the tree folded into several rows where it is deep (`arrange`), and all of it drawn (`draw_system`).
Lengths are in inches.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from titop.blocks.basics.notebook import printable
from titop.blocks.basics.tolerances import NEGLIGIBLE
from titop.blocks.basics.user_input import check_suffix
from titop.blocks.surroundings.gravity_field import gravity_words
from titop.graph.drawing.forest import Item, bundle, collapse_named, collapse_rest, forest
from titop.graph.drawing.layout import (
    ARROW,
    BESIDE,
    DETAIL,
    FINAL,
    LABEL,
    LINE,
    MARGIN,
    NAME,
    SPREAD,
    STACK,
    STUB,
    Layout,
    arrange,
    exit_ports,
    exits_of,
    faults_of,
    name_lines,
    span_of,
    text_width,
)
from titop.graph.drawing.outline import Box, Outline, outline
from titop.graph.network.network import Network

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOTION, WRENCH, FAULT = "#1b5e9e", "#c05a00", "#c8102e"
FILL = {"world": "#d9d9d9", "body": "#eef3f8", "joint": "#ffffff", "closure": "#fbf1de", "group": "#e3ebf3", "again": "#ffffff"}


def draw_system(system: Network, path: str | Path | None = None, collapse: Iterable[str] | None = None) -> Figure:
    """Draw the block diagram of a system, faulty or not: see `System.draw`."""
    picture = outline(system)
    top = Item(Box("group", ""), children=forest(picture))
    collapse_named(top, [collapse] if isinstance(collapse, str) else collapse or ())
    collapse_rest(top)
    bundle(top)
    figure = _figure(system, picture, arrange(top))
    if path is not None:
        _save(figure, path)
    return figure


def _save(figure: Figure, path: str | Path) -> None:
    check_suffix(path, ("png", *figure.canvas.get_supported_filetypes()))
    figure.savefig(path, dpi=200)


def _figure(system: Network, picture: Outline, layout: Layout) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from titop.blocks.basics.figure import Figure

    notes = _notes(picture)
    width = max(layout.width, 5.0, *(text_width(note, LABEL) + 2 * MARGIN for note in notes))
    height = layout.height + 0.3 + LINE * len(notes)
    figure = Figure(figsize=(width, height), dpi=150)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(-height, 0))
    axes.set_axis_off()
    pen = Pen(axes)
    pen.text(MARGIN, -0.16, printable(system.name, 60), NAME + 2, "title", weight="bold", ha="left")
    pen.text(MARGIN, -0.33, gravity_words(system.gravity), DETAIL, "title", ha="left")
    for parent, child, motion, wrench in layout.wires:
        pen.pair(parent, child, motion, wrench)
    for body, closure, motion, wrench in layout.chords:
        pen.chord(body, closure, motion, wrench)
    for item in layout.items:
        pen.box(item)
        pen.signals(item, item.inward, up=1)
        pen.signals(item, item.outward, up=-1)
    pen.legend(-layout.height - 0.1)
    for k, note in enumerate(notes):
        pen.text(MARGIN, -layout.height - 0.3 - LINE * k, note, LABEL, "note", color=FAULT, ha="left")
    return figure


def _notes(picture: Outline, most: int = 6) -> list[str]:
    """Return the errors of the system, one line each."""
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
        rounding = 0.09 if box.kind == "joint" else NEGLIGIBLE
        edge: dict[str, Any] = {"edgecolor": FAULT if box.faults else "black", "linewidth": 1.3 if box.faults else 0.8}
        dashes: Any = (0, (3, 2)) if box.kind == "again" else "solid"
        behind = 0.045 if box.kind == "group" else 0.0
        for shift in sorted({behind, 0.0}, reverse=True):
            place = (item.x + shift, bottom + shift), item.width - behind, item.height - behind
            style = f"round,pad=0,rounding_size={rounding}"
            patch = FancyBboxPatch(*place, boxstyle=style, facecolor=FILL[box.kind], linestyle=dashes, **edge)
            patch.set_gid(f"box:{box.name}")
            self.axes.add_patch(patch)
        left, exits = text_width(item.child_port, LABEL), exit_ports(item)
        right = max([text_width(port, LABEL) for port in exits] or [0.0])
        x = item.x + (item.width + left - right - behind) / 2
        names, lines = name_lines(box.name), [*box.details, *faults_of(item)]
        y = item.y + (LINE * (len(names) + len(lines) - 1) - behind) / 2
        for name in names:
            self.text(x, y, name, NAME, f"name:{box.name}", weight="bold")
            y -= LINE
        for k, line in enumerate(lines, start=1):
            fault = k > len(box.details)
            self.text(x, y - LINE * (k - 1), line, DETAIL, f"detail:{box.name}", color=FAULT if fault else "#333333")
        self.text(item.x + 0.04, item.y, item.child_port, LABEL, f"port:{box.name}", ha="left", color="#555555")
        edge_x = item.x + item.width - behind - 0.03
        for port, run in itertools.groupby(zip(exits, exits_of(item), strict=True), key=lambda exit: exit[0]):
            heights = [height for _, height in run]
            self.text(edge_x - 0.03, sum(heights) / len(heights), port, LABEL, f"port:{box.name}", ha="right", color="#555555")
            if port and len(heights) > 1:  # one port, from which several wires leave
                self.axes.plot([edge_x] * 2, heights[:: len(heights) - 1], color="#555555", linewidth=0.8, gid="port")

    def pair(self, parent: Item, child: Item, motion: list[tuple[float, float]], wrench: list[tuple[float, float]]) -> None:
        """Draw the two wires of a connection."""
        names, dashed = f"{parent.box.name}->{child.box.name}", child.box.kind == "again"
        self.arrow(motion, FAULT if dashed else MOTION, f"m:{names}", dashed)
        self.arrow(wrench, FAULT if dashed else WRENCH, f"W:{names}", dashed)
        x = child.x - FINAL / 2 - 0.02
        self.text(x, child.y + SPREAD + 0.06, "m", LABEL, f"wire:{names}", style="italic", color=MOTION)
        self.text(x, child.y - SPREAD - 0.06, "W", LABEL, f"wire:{names}", style="italic", color=WRENCH)

    def chord(self, body: Item, closure: Item, motion: list[tuple[float, float]], wrench: list[tuple[float, float]]) -> None:
        """Draw the two wires between a body and a closure."""
        names = f"{body.box.name}->{closure.box.name}"
        self.arrow(motion, MOTION, f"m:{names}")
        self.arrow(wrench, WRENCH, f"W:{names}")
        (edge, m), (_, w) = motion[-1], wrench[0]
        x, away = (edge - FINAL / 2 - 0.02, 0.06) if edge <= closure.x else (edge + STUB / 2, 0.08)
        for letter, y, color in (("m", m, MOTION), ("W", w, WRENCH)):
            self.text(x, y + (away if y == max(m, w) else -away), letter, LABEL, f"wire:{names}", style="italic", color=color)

    def signals(self, item: Item, labels: list[str], up: int) -> None:
        """Draw the arrows onto the top of a box (`up` 1) or out of its bottom (-1), the first one longest."""
        width, edge = span_of(labels), item.y + up * item.height / 2
        for k, label in enumerate(labels):
            x = item.x + (item.width - width) / 2 + BESIDE * k
            end = edge + up * (ARROW + STACK * (len(labels) - 1 - k))
            line = [(x, end), (x, edge)]
            self.arrow(line if up > 0 else line[::-1], "black", f"{'in' if up > 0 else 'out'}:{item.box.name}")
            self.text(x + 0.05, end, label, LABEL, f"signal:{item.box.name}", ha="left")

    def legend(self, y: float) -> None:
        """Write the legend of the wires."""
        x = MARGIN
        for color, text, ends in ((MOTION, "m: motion vector (18)", (0.0, 0.3)), (WRENCH, "W: wrench (6)", (0.3, 0.0))):
            self.arrow([(x + ends[0], y), (x + ends[1], y)], color, "legend")
            self.text(x + 0.36, y, text, LABEL, "legend", ha="left")
            x += 0.6 + text_width(text, LABEL)
