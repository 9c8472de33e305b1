"""The boxes of a drawing as a forest, and collapsing subtrees that do not fit."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.notebook import printable
from titop.graph.drawing.outline import LONG, Box, Outline

#: So many boxes are drawn: the world and thirty bodies with their joints.
LIMIT = 61


@dataclass
class Chord:
    """One end of a closure, kept by the box that shows its port."""

    closure: Item
    port: str = ""


@dataclass
class Item:
    """A box in the tree of the drawing, with its signals and its place."""

    box: Box
    parent_port: str = ""  #: Where the wires leave the parent.
    child_port: str = ""  #: Where they arrive.
    children: list[Item] = field(default_factory=list)  #: From top to bottom.
    chords: list[Chord] = field(default_factory=list)  #: Closures that hold on to the box.
    ends: int = 0  #: Of a closure: how many chords lead to it.
    inward: list[str] = field(default_factory=list)  #: Labels of the arrows onto the box.
    outward: list[str] = field(default_factory=list)  #: Labels of the arrows out of it.
    column: int = 0
    x: float = 0.0  #: Left edge.
    y: float = 0.0  #: Centre.
    width: float = 0.0
    height: float = 0.0
    right: float = 0.0  #: Right edge of the column.
    taken: int = 0  #: Lanes that closures take beside the column.
    text: float = 0.0  #: Width that the texts need.
    span: float = 0.0  #: Width that the signals need.
    folded: bool = False  #: Whether the wires from the parent lead to a row of its own.

    def walk(self) -> Iterator[Item]:
        """Yield the item and all below it, parents first."""
        stack = [self]
        while stack:
            item = stack.pop()
            yield item
            stack += reversed(item.children)


def forest(picture: Outline) -> list[Item]:
    """Return the boxes as trees, the world's first; a box that is met again becomes a leaf that says so.

    Closures are in no tree; the boxes on which they hold keep them.
    """
    items = [Item(box) for box in picture.boxes]
    for item in items:
        if item.box.nv:
            many = f" ({item.box.nv})" if item.box.nv > 1 else ""
            item.inward, item.outward = [f"τ{many}"], [f"q, v, a{many}"]
    for signal in picture.signals:
        (items[signal.target].inward if signal.inward else items[signal.target].outward).append(signal.label)
    for chord in picture.chords:
        items[chord.parent].chords.append(Chord(items[chord.child], chord.parent_port))
        items[chord.child].ends += 1
    wires_from: dict[int, list[Any]] = {}
    for wire in picture.wires:
        wires_from.setdefault(wire.parent, []).append(wire)
    heads = {wire.child for wire in picture.wires} - {0}
    roots, seen = [], {chord.child for chord in picture.chords}
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
    """Collapse the subtrees below the named blocks, and the named subsystems, into one box each."""
    for name in names:
        shown = printable(name, LONG).removesuffix("/")
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
    """Merge connected bodies whose names begin with ``prefix/``, and the joints between them; tell whether there are any.

    Several branches of one subsystem at one box become one, with the joints on which they hang.
    """
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
        if len(members) == 1:
            continue
        merged = _merged(members)
        item.box, item.chords, item.children = merged.box, merged.chords, outside
        item.inward, item.outward = merged.inward, merged.outward
        for member in members[1:]:
            member.box, member.children, member.chords = Box("again", ""), [], []
    for item in list(top.walk()) if found else ():
        _merge_branches(item, prefix)
    return found


def _merge_branches(item: Item, prefix: str) -> None:
    """Merge the branches of a subsystem that hang on one box."""
    joints = [child for child in item.children if child.box.kind == "joint" and len(child.children) == 1]
    branches = [joint for joint in joints if joint.children[0].box.name.startswith(f"{prefix}/")]
    if len(branches) > 1:
        merged = _merged([member for joint in branches for member in (joint, joint.children[0])])
        merged.children = [child for joint in branches for child in joint.children[0].children]
        merged.parent_port = branches[0].parent_port
        for branch in branches[1:]:
            item.children = [child for child in item.children if child is not branch]
        item.children = [merged if child is branches[0] else child for child in item.children]


def _group(children: list[Item]) -> Item:
    group = _merged([member for child in children for member in child.walk()])
    if len(children) == 1:
        group.parent_port = children[0].parent_port
    return group


def _merged(members: list[Item]) -> Item:
    boxes = [member.box for member in members if member.box.kind != "again"]
    names = [box.name for box in boxes if box.kind != "joint"] or [members[0].box.name]
    shared = _shared_prefix(names)
    chords, inside = _split_chords(members)
    boxes += [closure.box for closure in inside]
    size, mass, nv, closures = (sum(getattr(box, what) for box in boxes) for what in ("size", "mass", "nv", "closures"))
    closures += len(inside)
    name = f"{shared}/... ({size} blocks)" if shared else f"{names[0]} ... ({size} blocks)"
    faults = tuple(dict.fromkeys(fault for member in (*members, *inside) for fault in member.box.faults))
    many = f" ({nv})" if nv > 1 else ""
    coordinates = (f"{nv} coordinate{'s' * (nv > 1)}",) if nv else ()
    loops = (f"{closures} closure{'s' * (closures > 1)}",) if closures else ()
    details = (f"{mass:.4g} kg", *coordinates, *loops)
    merged = Item(Box("group", name, details, nv, faults, size, mass, closures), chords=chords)
    for labels, all_labels, own in (
        (merged.inward, [x for member in members for x in member.inward], "τ"),
        (merged.outward, [x for member in members for x in member.outward], "q, v, a"),
    ):
        others = [label for label in all_labels if label.split(" (")[0] != own]
        labels += [own + many] if nv else []
        labels += others if len(others) <= 2 else [f"{len(others)} signals"]
    return merged


def _split_chords(members: list[Item]) -> tuple[list[Chord], list[Item]]:
    """Return the chords that leave a group, their ports with the names of the blocks, and the closures that stay inside."""
    chords = [(member.box, chord) for member in members for chord in member.chords]
    ends = Counter(id(chord.closure) for _, chord in chords)
    inside = {id(chord.closure): chord.closure for _, chord in chords if ends[id(chord.closure)] == chord.closure.ends}
    leaving = []
    for box, chord in chords:
        if id(chord.closure) not in inside:
            own = chord.port if box.kind == "group" else f"{box.name}.{chord.port}" if chord.port else box.name
            leaving.append(Chord(chord.closure, printable(own)))
    return leaving, list(inside.values())


def bundle(top: Item, most: int = 2) -> None:
    """Turn more than `most` closures between the same boxes, of which one is a group, into one box."""
    ends: dict[int, list[Item]] = {}
    for item in top.walk():
        for chord in item.chords:
            ends.setdefault(id(chord.closure), []).append(item)
    closures = {id(chord.closure): chord.closure for item in top.walk() for chord in item.chords}
    parallel: dict[frozenset[int], list[int]] = {}
    for closure, items in ends.items():
        if any(item.box.kind == "group" for item in items):
            parallel.setdefault(frozenset(map(id, items)), []).append(closure)
    for same in parallel.values():
        if len(same) > most:
            boxes = [closures[closure].box for closure in same]
            faults = tuple(dict.fromkeys(fault for box in boxes for fault in box.faults))
            kept, name = closures[same[0]], f"{len(same)} closures"
            kept.box = Box("closure", name, (boxes[0].name, "...", boxes[-1].name), faults=faults, size=len(same))
            for item in ends[same[0]]:
                item.chords = [chord for chord in item.chords if id(chord.closure) not in same[1:]]
                for chord in item.chords:
                    chord.port = "" if chord.closure is kept else chord.port


def _shared_prefix(names: list[str]) -> str:
    """Return the parts before a ``/`` that all of several names share."""
    parts = [name.split("/")[:-1] for name in names] if len(names) > 1 else [[]]
    return "/".join(column[0] for column in itertools.takewhile(lambda c: len(set(c)) == 1, zip(*parts, strict=False)))
