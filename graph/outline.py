"""The outline of a system: boxes, wires and signals without positions.

Every picture starts from it: the drawing (`draw`), Graphviz (`dot`), Mermaid (`mermaid`) and the notebook (`notebook`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
from titop.blocks.block import Block
from titop.blocks.errors import Finding
from titop.blocks.loads import Load
from titop.blocks.sensors import Sensor
from titop.graph.check import check_system
from titop.graph.system import System

#: Longer names and port names are cut in the middle.
_LONGEST = 28


@dataclass(frozen=True)
class Box:
    """A block in a picture.

    Attributes
    ----------
    kind : {"world", "body", "joint", "group", "again"}
        A group stands for several blocks; ``"again"`` for a block that is drawn elsewhere.
    name : str
        Printable; long names are cut.
    details : tuple of str
        Type, mass, coordinates.
    nv : int
        Number of coordinates.
    faults : tuple of str
        What is wrong with the block.
    size, mass : int, float
        Number of blocks that the box stands for, and their mass.
    """

    kind: str
    name: str
    details: tuple[str, ...] = ()
    nv: int = 0
    faults: tuple[str, ...] = ()
    size: int = 1
    mass: float = 0.0


@dataclass(frozen=True)
class Wire:
    """A connection of two boxes (their positions in the outline), with the names of the ports."""

    parent: int
    child: int
    parent_port: str = ""
    child_port: str = ""


@dataclass(frozen=True)
class Signal:
    """A load or an actuator that acts on a box (`inward`), or a sensor that reads it.

    Attributes
    ----------
    name, kind : str
        Of the block; its class.
    value : str
        Magnitude of a load.
    target : int
        Position of the box in the outline.
    port : str
        Port or coordinate; empty for the reference frame, and for a joint's only coordinate.
    inward : bool
    """

    name: str
    kind: str
    value: str
    target: int
    port: str
    inward: bool

    @property
    def label(self) -> str:
        """Name, port and value."""
        port, value = f" at {self.port}" if self.port else "", f": {self.value}" if self.value else ""
        return f"{self.name}{port}{value}"


@dataclass(frozen=True)
class Outline:
    """A system as boxes, wires and signals, and what is wrong with it; the first box is the world."""

    boxes: list[Box]
    wires: list[Wire]
    signals: list[Signal]
    findings: list[Finding]


def outline(system: System) -> Outline:
    """Return the outline of a system, faulty or not."""
    findings, _ = check_system(system)
    ends = [end for c in system.connections for end in (c.parent.block, c.child.block)]
    acting = [*system.loads, *system.actuators, *system.sensors]
    joints = [connection.joint for connection in system.connections]
    known = {id(block) for block in (*acting, *joints)}
    lone = [block for _, block in system.graph.nodes(data="block") if id(block) not in known]
    targets = [block.target.block for block in acting if hasattr(block, "target")]
    bodies = list({id(block): block for block in (system.world, *ends, *lone, *targets)}.values())
    index = {id(block): k for k, block in enumerate(bodies)}
    wires = []
    for k, connection in enumerate(system.connections, start=len(bodies)):
        parent, child = connection.parent, connection.child
        wires.append(Wire(index[id(parent.block)], k, printable(parent.name or "")))
        wires.append(Wire(k, index[id(child.block)], "", printable(child.name or "")))
    keys = {id(block): name for name, block in system.graph.nodes(data="block")}
    names = [{block.name, block.reader.owner, keys.get(id(block), block.name)} for block in (*bodies, *joints)]
    faults = _faults(names, wires, findings)
    by_joint = {name: k for k in range(len(bodies), len(names)) for name in names[k]}
    boxes = [
        _box(block, "joint" if k >= len(bodies) else "body" if k else "world", faults[k])
        for k, block in enumerate((*bodies, *joints))
    ]
    return Outline(boxes, wires, list(_signals(acting, index, by_joint)), findings)


def _box(block: Block, kind: str, faults: tuple[str, ...]) -> Box:
    mass = getattr(block, "mass", None)
    details = [] if kind == "world" else [printable(type(block).__name__)]
    details += [f"{mass:.4g} kg"] if isinstance(mass, int | float) else []
    details += [printable(", ".join(block.coordinates))] if block.nv else []
    return Box(kind, printable(block.name), tuple(details), block.nv, faults, mass=float(mass or 0.0))


def _faults(names: list[set[str]], wires: list[Wire], findings: list[Finding]) -> list[tuple[str, ...]]:
    codes: dict[str, dict[str, None]] = {}
    for finding in findings:
        if finding.code != "unconnected":
            codes.setdefault(finding.where.partition(".")[0], {})[finding.code] = None
    tree = nx.DiGraph([(wire.parent, wire.child) for wire in wires])
    tree.add_node(0)
    reached = nx.descendants(tree, 0) | {0}
    faults = []
    for k, known in enumerate(names):
        found = dict.fromkeys(code for name in sorted(known) for code in codes.get(name, ()))
        faults.append((*found, *(() if k in reached else ("unconnected",))))
    return faults


def _signals(acting: list[Any], index: dict[int, int], by_joint: dict[str, int]) -> Iterator[Signal]:
    for block in acting:
        port = ""
        if hasattr(block, "target"):
            target: int | None = index[id(block.target.block)]
            port = printable(block.target.name or "")
        else:
            joint, _, port = block.joint.partition(".")
            target, port = by_joint.get(joint), printable(port)
        if target is not None:
            yield Signal(
                printable(block.name), type(block).__name__, _value(block), target, port, inward=not isinstance(block, Sensor)
            )


def _value(block: Block) -> str:
    if not isinstance(block, Load):
        return ""
    force, torque = np.linalg.norm(block.force), np.linalg.norm(block.torque)
    parts = [f"{force:.4g} N"] if force or not torque else []
    return ", ".join(parts + ([f"{torque:.4g} N m"] if torque else []))


def printable(name: Any, longest: int = _LONGEST) -> str:
    """Return a name on one line, without control characters, cut in the middle if it is long."""
    text = "".join(c if c.isprintable() else " " for c in str(name))
    head = longest // 2
    return text if len(text) <= longest else f"{text[:head]}…{text[head + 1 - longest :]}"
