"""The diagram of a system as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from titop.blocks.basics.wording import escape
from titop.blocks.contract.block import Block
from titop.graph.drawing.outline import describe_closure, known_mass
from titop.graph.network.connections import Connection
from titop.graph.network.network import Network

#: More names of coordinates are cut in the middle.
_SHOWN_COORDINATES = 6


def diagram(system: Network) -> str:
    """Return the tree of blocks, one connection a line: ``parent.port --joint--> child.port``; then closures and signals."""
    children: dict[str, list[Connection]] = {}
    for connection in system.connections:
        children.setdefault(connection.parent.block.name, []).append(connection)
    counted = [part for part in (f"{len(system.connections)} connections", constraint_count(system)) if part]
    lines = [f"{system.name}: {', '.join(counted)}, gravity {system.gravity.tolist()} m/s^2", "world"]
    seen = {"world"}
    for name in dict.fromkeys(["world", *(c.parent.block.name for c in system.connections)]):
        if name == "world" or name not in seen:
            seen.add(name)
            lines += [] if name == "world" else [name]
            lines += _branches(name, children, seen)
    closures = [
        f"closure {loop.closure.name}: {' === '.join(map(str, loop.targets))} "
        f"({' '.join([type(loop.closure).__name__, describe_closure(loop.closure)]).strip()})"
        for loop in system.loops
    ]
    gears = [f"gear {gear.name}: {gear.driven} = {gear.relation}" for gear in system.gears]
    loads = [
        f"load {load.name} on {load.target}: F {load.force.tolist()} N, T {load.torque.tolist()} N m in the {load.frame} frame"
        for load in system.loads
    ]
    acting: list[Any] = [*system.limits, *system.actuators, *system.sensors]
    targets = [getattr(block, "target", None) or getattr(block, block.joint_fields[-1]) for block in acting]
    others = [f"{type(block).__name__} {block.name} on {target}" for block, target in zip(acting, targets, strict=True)]
    return "\n".join(map(escape, lines + closures + gears + loads + others))


def constraint_count(system: Network) -> str:
    """Return the numbers of closures and gears, such as ``"2 closures, 1 gear"``; empty without any."""
    counts = (("closure", len(system.loops)), ("gear", len(system.gears)))
    return ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts if count)


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
