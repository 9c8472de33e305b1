"""The diagram of a system as text: for Mermaid, which Markdown pages and notebooks show, and for Graphviz."""

from __future__ import annotations

from titop.graph.drawing.outline import outline, printable
from titop.graph.network.network import Network

#: Opening and closing of a node's text, which choose its shape.
_SHAPES = {"world": ("[[", "]]"), "body": ("[", "]"), "joint": ("(", ")"), "closure": ("{{", "}}")}


def to_mermaid(system: Network) -> str:
    """Return a system as a Mermaid flowchart: motion (solid) from parent to child, wrenches (dotted) back.

    Closures are hexagons; they take the motion of two bodies and give a wrench to each.

    Parameters
    ----------
    system : Network

    Returns
    -------
    str
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
    """Return lines as a quoted Mermaid text."""
    return '"' + "<br/>".join(_mermaid_escaped(line) for line in lines if line or len(lines) == 1) + '"'


def _mermaid_escaped(text: str) -> str:
    return "".join(c if c.isalnum() or c in " _-/.,()!" else f"#{ord(c)};" for c in printable(text))


def to_dot(system: Network) -> str:
    """Return a system as text for Graphviz: motion (blue) from parent to child, wrenches (orange) back.

    Closures are hexagons; they take the motion of two bodies and give a wrench to each.

    Parameters
    ----------
    system : Network

    Returns
    -------
    str
        A ``digraph``; names are escaped.
    """
    picture = outline(system)
    shapes = {"world": "box3d", "body": "box", "joint": "box, style=rounded", "closure": "hexagon"}
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
