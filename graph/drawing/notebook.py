"""A system as a piece of HTML for notebooks: its tree, coordinates, ports, masses and findings."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from titop.blocks.basics.errors import Finding
from titop.graph.checking.system_check import check_system
from titop.graph.drawing.outline import Outline, outline, printable
from titop.graph.drawing.text import constraint_count
from titop.graph.network.network import Network

#: Browsers refuse elements nested much deeper; what hangs deeper is listed side by side.
_DEEPEST = 60
_SHOWN_FINDINGS = 20
_RED, _AMBER, _GREY = "#c8102e", "#8a5a00", "#666666"


def system_html(system: Network) -> str:
    """Return a system as HTML without scripts; all names are escaped.

    Parameters
    ----------
    system : Network

    Returns
    -------
    str
        One ``div``.
    """
    picture = outline(system)
    _, warnings = check_system(system)
    mass = sum(box.mass for box in picture.boxes)
    nv = sum(box.nv for box in picture.boxes)
    gravity = ", ".join(f"{x:.4g}" for x in system.gravity)
    counts = (f"{len(system.connections)} connections", constraint_count(system), f"{nv} coordinates")
    facts = ", ".join([*filter(None, counts), f"{mass:.4g} kg, gravity [{gravity}] m/s²"])
    parts = [
        f"<p><b>{_text(system.name, 60)}</b> <span style='color:{_GREY}'>{escape(facts)}</span></p>",
        *_findings("wrong", _RED, picture.findings),
        *_findings("suspicious", _AMBER, warnings),
        *_tree(picture),
        *_closures(picture),
        *_coordinates(system),
        *_signals(picture),
    ]
    return "<div style='font-family:sans-serif;font-size:13px;line-height:1.5'>" + "\n".join(parts) + "</div>"


def _text(value: Any, longest: int = 40) -> str:
    return escape(printable(value, longest))


def _findings(what: str, color: str, findings: list[Finding]) -> Iterator[str]:
    if findings:
        shown = findings[:_SHOWN_FINDINGS]
        more = [f"<li>and {len(findings) - len(shown)} more</li>"] if len(findings) > len(shown) else []
        yield f"<details open style='color:{color}'><summary>{len(findings)} {what}</summary><ul>"
        yield from (f"<li>{_text(finding, 400)}</li>" for finding in shown)
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
        yield f"<details open style='margin-left:1.2em'><summary>{joint}{_label(picture, body)}{note}</summary>"
        opened += 1
        if not again:
            for position, port in reversed(children.get(body, [])):
                at = f"<span style='color:{_GREY}'>at {_text(port)}</span> " if port else ""
                hung = f"{at}{_label(picture, position)} → "
                stack += [(child, depth + 1, hung) for child, _ in children.get(position, [])]
    yield "</details>" * opened


def _label(picture: Outline, position: int) -> str:
    box = picture.boxes[position]
    details = f" <span style='color:{_GREY}'>{escape(', '.join(box.details))}</span>" if box.details else ""
    faults = f" <span style='color:{_RED}'>{escape(', '.join(box.faults))}</span>" if box.faults else ""
    return f"<b>{escape(box.name)}</b>{details}{faults}"


def _closures(picture: Outline) -> Iterator[str]:
    """Yield a table of the closures, with the ports that they join."""
    if picture.chords:
        ends: dict[int, list[str]] = {}
        for chord in picture.chords:
            port = f".{chord.parent_port}" if chord.parent_port else ""
            ends.setdefault(chord.child, []).append(escape(picture.boxes[chord.parent].name + port))
        rows = [f"<tr><td>{_label(picture, k)}</td><td>{' and '.join(ports)}</td></tr>" for k, ports in ends.items()]
        yield f"<details open><summary>closures</summary><table>{''.join(rows)}</table></details>"


def _coordinates(system: Network) -> Iterator[str]:
    moving = [block for c in system.connections for block in (c.joint, c.child.block) if block.nv]
    if moving:
        rows = [
            f"<tr><td>{_text(block.name)}</td><td>{_text(type(block).__name__)}</td>"
            f"<td>{_text(', '.join(block.coordinates), 80)}</td></tr>"
            for block in moving
        ]
        yield f"<details><summary>coordinates</summary><table>{''.join(rows)}</table></details>"
    joints = {id(connection.joint) for connection in system.connections}
    ported = [block for block in system.blocks if block.ports and id(block) not in joints]
    ports = [(block, _text(", ".join(map(str, block.ports)), 200)) for block in ported]
    if ports:
        rows = [f"<tr><td>{_text(block.name)}</td><td>{names}</td></tr>" for block, names in ports]
        yield f"<details><summary>ports</summary><table>{''.join(rows)}</table></details>"


def _signals(picture: Outline) -> Iterator[str]:
    if picture.signals:
        rows = [
            f"<tr><td>{escape(signal.label)}</td><td>{_text(signal.kind)}</td>"
            f"<td>{'on' if signal.inward else 'of'} {escape(picture.boxes[signal.target].name)}</td></tr>"
            for signal in picture.signals
        ]
        yield f"<details><summary>gears, loads, actuators, sensors</summary><table>{''.join(rows)}</table></details>"
