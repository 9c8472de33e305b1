"""The diagram as text for Graphviz."""

from __future__ import annotations

from titop.graph.drawing.outline import outline, printable
from titop.graph.network.network import Network


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
    lines = [f"digraph {_quoted(system.name)} {{", "  rankdir=LR;", "  node [fontname=Helvetica, fontsize=10];"]
    for k, box in enumerate(picture.boxes):
        label = _quoted(box.name, *box.details, *(f"! {fault}" for fault in box.faults))
        lines.append(f"  n{k} [label={label}, shape={shapes[box.kind]}{', color=red' if box.faults else ''}];")
    for wire in (*picture.wires, *picture.chords):
        ends = _ends(wire.parent_port, wire.child_port)
        back = _ends(wire.child_port, wire.parent_port)
        lines.append(f'  n{wire.parent} -> n{wire.child} [label="m", color=blue{ends}];')
        lines.append(f'  n{wire.child} -> n{wire.parent} [label="W", color=orange, constraint=false{back}];')
    for k, signal in enumerate(picture.signals):
        ends = f"s{k} -> n{signal.target}" if signal.inward else f"n{signal.target} -> s{k}"
        lines.append(f"  s{k} [label={_quoted(signal.name, signal.kind, signal.value)}, shape=plaintext];")
        lines.append(f"  {ends} [label={_quoted(signal.port)}];")
    return "\n".join([*lines, "}"])


def _ends(tail: str, head: str) -> str:
    ports = (("taillabel", tail), ("headlabel", head))
    return "".join(f", {where}={_quoted(port)}" for where, port in ports if port)


def _quoted(*lines: str) -> str:
    """Return lines as a quoted DOT string: backslashes, quotes, and the ampersands of HTML entities escaped."""
    escaped = (
        printable(line).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
        for line in lines
        if line or len(lines) == 1
    )
    return '"' + "\\n".join(escaped) + '"'
