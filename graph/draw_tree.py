"""The boxes of a drawing as a forest, and the collapsing of what does not fit."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from titop.blocks.errors import Finding, ModelError, did_you_mean
from titop.graph.outline import Box, Outline, printable

#: So many boxes are drawn: the world and thirty bodies with their joints.
LIMIT = 61


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
