"""The diagram of a system as Mermaid text, which Markdown pages and notebooks show."""

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
    lines = ["---", f"title: {_quoted(system.name)}", "---", "flowchart LR"]
    for k, box in enumerate(picture.boxes):
        left, right = _SHAPES[box.kind]
        lines.append(f"  n{k}{left}{_quoted(box.name, *box.details, *(f'! {fault}' for fault in box.faults))}{right}")
    for wire in (*picture.wires, *picture.chords):
        ports = f"{wire.parent_port} to {wire.child_port}" if wire.child_port else wire.parent_port
        lines.append(f"  n{wire.parent} -->|{_quoted(f'm ({ports.strip()})' if ports else 'm')}| n{wire.child}")
        lines.append(f"  n{wire.child} -.->|{_quoted('W')}| n{wire.parent}")
    for k, signal in enumerate(picture.signals):
        label = f"|{_quoted(signal.port)}|" if signal.port else ""
        ends = (f"s{k}", f"n{signal.target}") if signal.inward else (f"n{signal.target}", f"s{k}")
        lines.append(f"  s{k}>{_quoted(signal.name, signal.kind, signal.value)}]")
        lines.append(f"  {ends[0]} -->{label} {ends[1]}")
    faulty = [f"n{k}" for k, box in enumerate(picture.boxes) if box.faults]
    if faulty:
        lines += ["  classDef fault stroke:#c8102e,stroke-width:2px", f"  class {','.join(faulty)} fault"]
    return "\n".join(lines)


def _quoted(*lines: str) -> str:
    """Return lines as a quoted Mermaid text."""
    return '"' + "<br/>".join(_escaped(line) for line in lines if line or len(lines) == 1) + '"'


def _escaped(text: str) -> str:
    return "".join(c if c.isalnum() or c in " _-/.,()!" else f"#{ord(c)};" for c in printable(text))
