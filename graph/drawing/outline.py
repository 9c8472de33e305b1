"""The outline of a system: boxes, wires and signals without positions.

Every picture starts from it: the drawing (`draw`), Graphviz, Mermaid and the notebook (`text`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.notebook import printable
from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.checking.block_findings import law_findings
from titop.blocks.constraints.closure import Closure
from titop.blocks.constraints.relation import Relation
from titop.blocks.contract.block import Block, is_titops_own
from titop.blocks.devices.loads import Load
from titop.blocks.devices.sensors import Sensor
from titop.graph.checking.system_check import check_system
from titop.graph.network.network import Network

#: Signs of a name that are drawn; a long one takes two lines.
LONG = 56


@dataclass(frozen=True)
class Box:
    """A block in a picture."""

    #: ``"world"``, ``"body"``, ``"joint"``, ``"closure"``, ``"group"`` (several blocks), ``"again"`` (a block drawn elsewhere).
    kind: str
    name: str  #: Printable; names of more than `LONG` signs are cut.
    details: tuple[str, ...] = ()  #: Type, mass, coordinates.
    nv: int = 0  #: Number of coordinates.
    faults: tuple[str, ...] = ()  #: What is wrong with the block.
    size: int = 1  #: Number of blocks that the box stands for.
    mass: float = 0.0  #: Their mass (kg).
    closures: int = 0  #: Number of closures among the blocks of a group.


@dataclass(frozen=True)
class Wire:
    """A connection of two boxes (their positions in the outline), with the names of the ports.

    The parent gives motion and receives a wrench. A closure is the child of both of its bodies, an interaction of all
    bodies and joints on which it acts.
    """

    parent: int
    child: int
    parent_port: str = ""
    child_port: str = ""


@dataclass(frozen=True)
class SignalArrow:
    """A gear, a load, an actuator or an own input that acts on a box (`inward`), or a sensor that reads it."""

    name: str  #: Of the block.
    kind: str  #: Its class; of an own input "Input".
    value: str  #: Magnitude of a load; ratio and driver of a gear.
    target: int  #: Position of the box in the outline.
    port: str  #: Port or coordinate; empty for the reference frame, and for a joint's only coordinate.
    inward: bool

    @property
    def label(self) -> str:
        """Name, port and value."""
        port, value = f" at {self.port}" if self.port else "", f": {self.value}" if self.value else ""
        return f"{self.name}{port}{value}"


@dataclass(frozen=True)
class Outline:
    """A system as boxes, wires and signals, with its errors; the first box is the world."""

    boxes: list[Box]  #: Bodies, then joints, then closures.
    wires: list[Wire]  #: Of the tree of bodies and joints.
    chords: list[Wire]  #: To closures, one after the other: from their ports, then from the joints of their coordinates.
    signals: list[SignalArrow]
    findings: list[Finding]


def outline(system: Network) -> Outline:
    """Return the outline of a system, faulty or not."""
    findings, _ = check_system(system)
    ends = [end for c in system.connections for end in (c.parent.block, c.child.block)]
    acting = list(system.attachments)
    joints = [connection.joint for connection in system.connections]
    closures = [loop.closure for loop in system.loops]
    known = {id(block) for block in (*acting, *joints, *closures)}
    lone = [block for block in system.blocks if id(block) not in known]
    targets = [block.target.block for block in acting if hasattr(block, "target")]
    targets += [ref.block for loop in system.loops for ref in loop.named_ports]
    bodies = list({id(block): block for block in (system.world, *ends, *lone, *targets)}.values())
    index = {id(block): k for k, block in enumerate(bodies)}
    wires = []
    for k, connection in enumerate(system.connections, start=len(bodies)):
        parent, child = connection.parent, connection.child
        wires.append(Wire(index[id(parent.block)], k, printable(parent.name or "")))
        wires.append(Wire(k, index[id(child.block)], "", printable(child.name or "")))
    on_ports = [
        (k, index[id(ref.block)], ref.name or "")
        for k, loop in enumerate(system.loops, start=len(bodies) + len(joints))
        for ref in loop.named_ports
    ]
    keys = {id(block): name for name, block in system.by_name.items()}
    names = [{block.name, block.reader.owner, keys.get(id(block), block.name)} for block in (*bodies, *joints, *closures)]
    by_name = {name: k for k in range(1, len(names)) for name in names[k]}
    on_coordinates = [
        (k, by_name[name], own)
        for k, loop in enumerate(system.loops, start=len(bodies) + len(joints))
        for name, own in ((owner_of(coordinate), entry_of(coordinate)) for coordinate in loop.named_targets)
        if name in by_name
    ]
    chords = [Wire(end, k, printable(own)) for k, end, own in sorted([*on_ports, *on_coordinates], key=lambda end: end[0])]
    faults = _faults(names, [*wires, *chords], findings)
    kinds = ["world", *["body"] * (len(bodies) - 1), *["joint"] * len(joints), *["closure"] * len(closures)]
    boxes = [_box(*entry) for entry in zip((*bodies, *joints, *closures), kinds, faults, strict=True)]
    signals = [*_signals(acting, index, by_name), *_own_inputs((*bodies, *joints, *closures))]
    return _with_devices(Outline(boxes, wires, chords, signals, findings), system, by_name)


def _with_devices(picture: Outline, system: Network, by_name: dict[str, int]) -> Outline:
    """Return the outline with one box for each device, in place of its bodies and joints, and of what acts on these alone.

    What acts between a device and the block that carries it is a part of the device, too.
    """
    boxes, place = picture.boxes, list(range(len(picture.boxes)))
    for device in system.devices:
        inner = {by_name[name] for name in device.blocks if name in by_name}
        carrying = {wire.parent for wire in picture.wires if wire.child in inner}
        leaving = {chord.child for chord in picture.chords if chord.parent not in inner | carrying}
        members = sorted(inner - leaving)
        if any(boxes[k].kind != "closure" for k in members):
            mass, nv = (sum(getattr(boxes[k], what) for k in members) for what in ("mass", "nv"))
            faults = tuple(dict.fromkeys(fault for k in members for fault in boxes[k].faults))
            weights, moves = [f"{mass:.4g} kg"] * bool(mass), [f"{nv} coordinate{'s' * (nv > 1)}"] * bool(nv)
            details = (type(device).__name__, *weights, *moves)
            boxes[members[0]] = Box("group", printable(device.name, LONG), details, nv, faults, len(members), mass)
            for k in members:
                place[k] = members[0]
    kept = [k for k in range(len(boxes)) if place[k] == k]
    index = {k: kept.index(place[k]) for k in range(len(boxes))}

    def moved(wires: list[Wire]) -> list[Wire]:
        ends = [replace(wire, parent=index[wire.parent], child=index[wire.child]) for wire in wires]
        return [wire for wire in ends if wire.parent != wire.child]

    signals = [replace(signal, target=index[signal.target]) for signal in picture.signals]
    shown = [boxes[k] for k in kept]
    wires = moved(picture.wires)
    first = {(wire.parent, wire.child): wire for wire in reversed(wires)}  # of a device's parts that hang on one block
    wires = [wire for wire in wires if shown[wire.child].kind != "group" or first[wire.parent, wire.child] is wire]
    chords = [chord for chord in moved(picture.chords) if shown[chord.child].kind == "closure"]
    return Outline(shown, wires, chords, signals, picture.findings)


def _box(block: Block, kind: str, faults: tuple[str, ...]) -> Box:
    mass = known_mass(block) if kind == "body" else None
    details = [] if kind == "world" else [printable(type(block).__name__)]
    details += [describe_closure(block)] if isinstance(block, Closure) and describe_closure(block) else []
    details += [] if mass is None else [f"{mass:.4g} kg"]
    listed, ends = ", ".join(block.coordinates), " … ".join(block.coordinates[:: max(1, block.nv - 1)])
    details += [printable(listed if len(listed) <= LONG // 2 else ends)] if block.nv else []
    return Box(kind, printable(block.name, LONG), tuple(details), block.nv, faults, mass=float(mass or 0.0))


def known_mass(body: Block) -> float | None:
    """Return the mass (kg) of a body, faulty or not; None if it is unknown, and for deformable bodies without mass."""
    if not is_titops_own(body) and any(law_findings(body)):
        return None
    try:
        mass = float(body.mass_properties().mass)
    except ModelError:  # of fields that cannot be used, which checks tell
        return None
    return mass if mass or not body.nv else None


def describe_closure(closure: Closure) -> str:
    """Return the kind of a closure's constraints in a word or two; empty if there is no name for it."""
    directions = getattr(closure, "directions", None)
    if directions is None:
        return printable(getattr(closure, "kind", ""))
    number = directions.shape[-1]
    return f"{number} direction{'' if number == 1 else 's'}"


def _faults(names: list[set[str]], wires: list[Wire], findings: list[Finding]) -> list[tuple[str, ...]]:
    codes: dict[str, dict[str, None]] = {}
    for finding in findings:
        if finding.code != "unconnected":
            codes.setdefault(owner_of(finding.where), {})[finding.code] = None
    tree = nx.DiGraph([(wire.parent, wire.child) for wire in wires])
    tree.add_node(0)
    reached = nx.descendants(tree, 0) | {0}
    faults = []
    for k, known in enumerate(names):
        found = dict.fromkeys(code for name in sorted(known) for code in codes.get(name, ()))
        faults.append((*found, *(() if k in reached else ("unconnected",))))
    return faults


def _signals(acting: list[Any], index: dict[int, int], by_name: dict[str, int]) -> Iterator[SignalArrow]:
    for block in acting:
        port = ""
        if hasattr(block, "target"):
            target: int | None = index[id(block.target.block)]
            port = printable(block.target.name or "")
        else:
            *_, coordinate = block.named_coordinates.values()
            target, port = by_name.get(owner_of(coordinate)), printable(entry_of(coordinate))
        if target is not None:
            yield SignalArrow(
                printable(block.name), type(block).__name__, _value(block), target, port, inward=not isinstance(block, Sensor)
            )


def _own_inputs(blocks: Iterable[Block]) -> Iterator[SignalArrow]:
    for target, block in enumerate(blocks):
        for name in block.input_names:
            yield SignalArrow(printable(name), "Input", "", target, "", inward=True)


def _value(block: Block) -> str:
    if isinstance(block, Relation):
        return printable(block.relation)
    if not isinstance(block, Load):
        return ""
    force, torque = np.linalg.norm(block.force), np.linalg.norm(block.torque)
    parts = [f"{force:.4g} N"] if force or not torque else []
    return ", ".join(parts + ([f"{torque:.4g} N m"] if torque else []))
