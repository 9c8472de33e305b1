"""A system as text: its tree, Mermaid (for Markdown pages and notebooks), DOT (for Graphviz), and HTML (for notebooks)."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

from titop.blocks.basics.errors import Finding, escape
from titop.blocks.basics.notebook import FAINT, Markup, counted, escaped, page, printable, table
from titop.blocks.contract.block import Block
from titop.blocks.surroundings.gravity_field import gravity_words
from titop.graph.checking.system_check import check_system
from titop.graph.drawing.outline import Outline, describe_closure, known_mass, outline
from titop.graph.network.connections import Connection
from titop.graph.network.network import Network

#: More names of coordinates are cut in the middle.
_SHOWN_COORDINATES = 6


def diagram(system: Network) -> str:
    """Return the tree of blocks, one connection a line, ``parent.port --joint--> child.port``; then closures and signals."""
    children: dict[str, list[Connection]] = {}
    for connection in system.connections:
        children.setdefault(connection.parent.block.name, []).append(connection)
    counts = [part for part in (counted(len(system.connections), "connection"), constraint_count(system)) if part]
    gravity = getattr(system.gravity, "words", None) or f"gravity {system.gravity.tolist()} m/s^2"
    lines = [f"{system.name}: {', '.join(counts)}, {gravity}", "world"]
    seen = {"world"}
    for name in dict.fromkeys(["world", *(c.parent.block.name for c in system.connections)]):
        if name == "world" or name not in seen:
            seen.add(name)
            lines += [] if name == "world" else [name]
            lines += _branches(name, children, seen)
    closures = [
        f"{loop.word} {loop.closure.name}: {' === '.join(map(str, loop.targets))} "
        f"({' '.join([type(loop.closure).__name__, describe_closure(loop.closure)]).strip()})"
        for loop in system.loops
    ]
    gears = [f"{gear.word} {gear.name}: {gear.driven} = {gear.relation}" for gear in system.gears]
    loads = [
        f"load {load.name} on {load.target}: F {load.force.tolist()} N, T {load.torque.tolist()} N m in the {load.frame} frame"
        for load in system.loads
    ]
    acting: list[Any] = [*system.limits, *system.actuators, *system.sensors]
    targets = [getattr(block, "target", None) or [*block.named_coordinates.values()][-1] for block in acting]
    others = [f"{type(block).__name__} {block.name} on {target}" for block, target in zip(acting, targets, strict=True)]
    return "\n".join(map(escape, lines + closures + gears + loads + others))


def constraint_count(system: Network) -> str:
    """Return the numbers of closures, interactions and gears, such as ``"2 closures, 1 gear"``; empty without any."""
    words = [*(loop.word for loop in system.loops), *(gear.word for gear in system.gears)]
    counts = ((what, words.count(what)) for what in ("closure", "interaction", "gear", "relation"))
    return ", ".join(counted(count, what) for what, count in counts if count)


def _branches(root: str, children: dict[str, list[Connection]], seen: set[str]) -> Iterator[str]:
    stack = [(connection, 1) for connection in reversed(children.get(root, []))]
    while stack:
        connection, depth = stack.pop()
        name = connection.child.block.name
        yield f"{'  ' * min(depth, 20)}{connection.parent} --{_describe(connection.joint)}--> {_describe_child(connection)}"
        if name not in seen:
            seen.add(name)
            stack += [(child, depth + 1) for child in reversed(children.get(name, []))]


def _describe(block: Block) -> str:
    names = block.coordinates
    shown = names if len(names) <= _SHOWN_COORDINATES else (*names[:2], "...", names[-1])
    coordinates = f" [{', '.join(shown)}]" if names else ""
    inputs = f" driven by {', '.join(block.inputs)}" if block.inputs else ""
    return f"{block.name}: {type(block).__name__}{coordinates}{inputs}"


def _describe_child(connection: Connection) -> str:
    block = connection.child.block
    mass = known_mass(block)
    shown = "" if mass is None else f" {mass:g} kg"
    return f"{connection.child} ({_describe(block).partition(': ')[2]}{shown})"


#: Opening and closing of a node's text, which choose its shape.
_SHAPES = {"world": ("[[", "]]"), "body": ("[", "]"), "joint": ("(", ")"), "closure": ("{{", "}}"), "group": ("[[", "]]")}


def to_mermaid(system: Network) -> str:
    """Return a system as a Mermaid flowchart: motion (solid) from parent to child, wrenches (dotted) back.

    Closures are hexagons; they take the motion of two bodies and give a wrench to each.

    Names are escaped: all but letters, digits and harmless signs becomes a character code.
    """
    picture = outline(system)
    lines = ["---", f"title: {_mermaid_text(system.name)}", "---", "flowchart LR"]
    for k, box in enumerate(picture.boxes):
        left, right = _SHAPES[box.kind]
        lines.append(f"  n{k}{left}{_mermaid_text(box.name, *box.details, *(f'! {fault}' for fault in box.faults))}{right}")
    for wire in (*picture.wires, *picture.chords):
        ports = f"{wire.parent_port} to {wire.child_port}" if wire.child_port else wire.parent_port
        lines.append(f"  n{wire.parent} -->|{_mermaid_text(f'm ({ports.strip()})' if ports else 'm')}| n{wire.child}")
        lines.append(f"  n{wire.child} -.->|{_mermaid_text('W')}| n{wire.parent}")
    for k, signal in enumerate(picture.signals):
        label = f"|{_mermaid_text(signal.port)}|" if signal.port else ""
        ends = (f"s{k}", f"n{signal.target}") if signal.inward else (f"n{signal.target}", f"s{k}")
        lines.append(f"  s{k}>{_mermaid_text(signal.name, signal.kind, signal.value)}]")
        lines.append(f"  {ends[0]} -->{label} {ends[1]}")
    faulty = [f"n{k}" for k, box in enumerate(picture.boxes) if box.faults]
    if faulty:
        lines += ["  classDef fault stroke:#c8102e,stroke-width:2px", f"  class {','.join(faulty)} fault"]
    return "\n".join(lines)


def _mermaid_text(*lines: str) -> str:
    escaped = ("".join(c if c.isalnum() or c in " _-/.,()!" else f"#{ord(c)};" for c in printable(line)) for line in lines)
    return '"' + "<br/>".join(line for line in escaped if line or len(lines) == 1) + '"'


def to_dot(system: Network) -> str:
    """Return a system as text for Graphviz: motion (blue) from parent to child, wrenches (orange) back.

    Closures are hexagons; they take the motion of two bodies and give a wrench to each.

    A ``digraph``; names are escaped.
    """
    picture = outline(system)
    shapes = {"world": "box3d", "body": "box", "joint": "box, style=rounded", "closure": "hexagon", "group": "component"}
    lines = [f"digraph {_dot_text(system.name)} {{", "  rankdir=LR;", "  node [fontname=Helvetica, fontsize=10];"]
    for k, box in enumerate(picture.boxes):
        label = _dot_text(box.name, *box.details, *(f"! {fault}" for fault in box.faults))
        lines.append(f"  n{k} [label={label}, shape={shapes[box.kind]}{', color=red' if box.faults else ''}];")
    for wire in (*picture.wires, *picture.chords):
        ends = _ends(wire.parent_port, wire.child_port)
        back = _ends(wire.child_port, wire.parent_port)
        lines.append(f'  n{wire.parent} -> n{wire.child} [label="m", color=blue{ends}];')
        lines.append(f'  n{wire.child} -> n{wire.parent} [label="W", color=orange, constraint=false{back}];')
    for k, signal in enumerate(picture.signals):
        ends = f"s{k} -> n{signal.target}" if signal.inward else f"n{signal.target} -> s{k}"
        lines.append(f"  s{k} [label={_dot_text(signal.name, signal.kind, signal.value)}, shape=plaintext];")
        lines.append(f"  {ends} [label={_dot_text(signal.port)}];")
    return "\n".join([*lines, "}"])


def _ends(tail: str, head: str) -> str:
    ports = (("taillabel", tail), ("headlabel", head))
    return "".join(f", {where}={_dot_text(port)}" for where, port in ports if port)


def _dot_text(*lines: str) -> str:
    """Return lines as a quoted DOT string: backslashes, quotes, and the ampersands of HTML entities escaped."""
    escaped = (
        printable(line).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
        for line in lines
        if line or len(lines) == 1
    )
    return '"' + "\\n".join(escaped) + '"'


#: Browsers refuse elements nested much deeper; what hangs deeper is listed side by side.
_DEEPEST = 60
_SHOWN_FINDINGS = 20
_RED, _AMBER = "#c8102e", "#8a5a00"


def system_html(system: Network) -> str:
    """Return a system as HTML without scripts; all names are escaped.

    One ``div``.
    """
    picture = outline(system)
    _, warnings = check_system(system)
    mass = sum(box.mass for box in picture.boxes)
    nv = sum(box.nv for box in picture.boxes)
    counts = counted(len(system.connections), "connection"), constraint_count(system), counted(nv, "coordinate")
    facts = ", ".join([*filter(None, counts), f"{mass:.4g} kg, {gravity_words(system.gravity)}"])
    findings = *_findings("wrong", _RED, picture.findings), *_findings("suspicious", _AMBER, warnings)
    return page(system.name, facts, *findings, *_tree(picture), *_tables(system, picture))


def _findings(what: str, color: str, findings: list[Finding]) -> Iterator[str]:
    if findings:
        shown = findings[:_SHOWN_FINDINGS]
        more = [f"<li>and {len(findings) - len(shown)} more</li>"] if len(findings) > len(shown) else []
        yield f"<details open='' style='color:{color}'><summary>{len(findings)} {what}</summary><ul>"
        yield from (f"<li>{escaped(str(finding), 400)}</li>" for finding in shown)
        yield "".join(more) + "</ul></details>"


def _tree(picture: Outline) -> Iterator[str]:
    """Yield the bodies as nested details, each with its joint to the parent; then blocks not connected to the world."""
    children: dict[int, list[tuple[int, str]]] = {}
    for wire in picture.wires:
        children.setdefault(wire.parent, []).append((wire.child, wire.parent_port))
    bodies = [k for k, box in enumerate(picture.boxes) if box.kind not in ("joint", "closure")]
    hanging = {wire.child for wire in picture.wires} - {0}
    seen: set[int] = set()
    for root in [*(k for k in bodies if k not in hanging), *bodies]:
        if root not in seen:
            yield from _branch(picture, children, root, seen)


def _branch(picture: Outline, children: dict[int, list[tuple[int, str]]], root: int, seen: set[int]) -> Iterator[str]:
    stack: list[tuple[int, int, str]] = [(root, 0, "")]
    opened = 0
    while stack:
        body, depth, joint = stack.pop()
        while opened > min(depth, _DEEPEST):
            opened -= 1
            yield "</details>"
        again = body in seen
        seen.add(body)
        note = " (see above)" if again else ""
        yield f"<details open='' style='margin-left:1.2em'><summary>{joint}{_label(picture, body)}{note}</summary>"
        opened += 1
        if not again:
            for position, port in reversed(children.get(body, [])):
                if picture.boxes[position].kind == "group":
                    stack.append((position, depth + 1, ""))
                    continue
                at = f"<span style='{FAINT}'>at {escaped(port)}</span> " if port else ""
                hung = f"{at}{_label(picture, position)} → "
                stack += [(child, depth + 1, hung) for child, _ in children.get(position, [])]
    yield "</details>" * opened


def _label(picture: Outline, position: int) -> Markup:
    box = picture.boxes[position]
    details = f" <span style='{FAINT}'>{html.escape(', '.join(box.details))}</span>" if box.details else ""
    faults = f" <span style='color:{_RED}'>{html.escape(', '.join(box.faults))}</span>" if box.faults else ""
    return Markup(f"<b>{html.escape(box.name)}</b>{details}{faults}")


def _tables(system: Network, picture: Outline) -> Iterator[str]:
    """Yield tables of closures with the ports that they join, of coordinates, ports, and what acts and measures."""
    ends: dict[int, list[str]] = {}
    for chord in picture.chords:
        ends.setdefault(chord.child, []).append(picture.boxes[chord.parent].name + f".{chord.parent_port}".rstrip("."))
    yield table("closures", ((_label(picture, k), " and ".join(ports)) for k, ports in ends.items()))
    moving = (block for c in system.connections for block in (c.joint, c.child.block) if block.nv)
    rows = ((block.name, type(block).__name__, ", ".join(block.coordinates)) for block in moving)
    yield table("coordinates", rows, is_open=False)
    joints = {id(connection.joint) for connection in system.connections}
    ported = (block for block in system.blocks if block.ports and id(block) not in joints)
    yield table("ports", ((block.name, ", ".join(map(str, block.ports))) for block in ported), is_open=False)
    signals = (
        (signal.label, signal.kind, f"{'on' if signal.inward else 'of'} {picture.boxes[signal.target].name}")
        for signal in picture.signals
    )
    yield table("gears, loads, actuators, sensors", signals, is_open=False)
