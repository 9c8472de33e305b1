"""Closures that constrain nothing, and gears that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from networkx.utils import UnionFind

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.tolerances import SAME
from titop.blocks.constraints.rigid_closure import RigidClosure
from titop.blocks.contract.block import PARENT_PORT, PortRef
from titop.graph.checking.coordinate_names import full_name, moving_blocks
from titop.graph.network.network import Network


def motionless_loops(system: Network) -> Iterator[tuple[bool, Finding]]:
    """Yield closures, rigid (True) or not, of ports that nothing lets move against each other."""
    parts: UnionFind = UnionFind()
    for connection in system.connections if system.loops else ():
        if not connection.joint.nv:
            parts.union(_part(connection.parent), _part(connection.child))
    for loop in system.loops:
        if not loop.coordinates and len({parts[_part(ref)] for ref in loop.ports}) == 1:
            ports, expected = f"{' and '.join(map(str, loop.ports))}, fixed to each other", "a coordinate between the ports"
            rigid = isinstance(loop.closure, RigidClosure)
            advice = "leave it out: it constrains nothing" if rigid else "leave it out: it moves nothing"
            yield (
                rigid,
                Finding("motionless-loop", loop.closure.name, ports, expected, f"{advice}, or free a joint of the loop"),
            )


def _part(ref: PortRef) -> tuple[str, str | None]:
    """Return what all ports that stand still against a port share: the block, if it has no coordinates of its own."""
    return ref.block.name, ref.name if ref.block.nv and ref.name != PARENT_PORT else None


def contradicting_gears(system: Network) -> Iterator[Finding]:
    """Find gears that, with others between the same coordinates, leave no motion: each coordinate is a line over its root."""
    moving = moving_blocks(system)
    lines: dict[str, tuple[str, float, float]] = {}  # by coordinate: root, factor, offset
    members: dict[str, list[str]] = {}  # by root: its gears
    followers: dict[str, list[str]] = {}  # by root: the coordinates on its lines, others than itself
    for gear in system.gears:
        driver, driven = full_name(moving, gear.driver), full_name(moving, gear.driven)
        root, factor, offset = lines.setdefault(driver, (driver, 1.0, 0.0))
        other, times, plus = lines.setdefault(driven, (driven, 1.0, 0.0))
        factor, offset = gear.ratio * factor, gear.ratio * offset + gear.offset  # of the driven coordinate, over the root
        if root == other:
            if abs(factor - times) > SAME * abs(times) or abs(offset - plus) > SAME * (abs(offset) + abs(plus)):
                others = ", ".join(members[root])
                value = f"{gear.driven} = {factor:g} x + {offset:g}, beside {times:g} x + {plus:g} by {others}"
                yield Finding("gears-contradict", gear.name, value, "one relation", "leave one of these gears out")
            continue
        if not times:
            continue
        moved = [other, *followers.pop(other, [])]
        for name in moved:  # driven = times * other + plus = factor * root + offset
            _, slope, shift = lines[name]
            lines[name] = root, slope * factor / times, shift + slope * (offset - plus) / times
        followers.setdefault(root, []).extend(moved)
        members[root] = [*members.get(root, []), *members.pop(other, []), gear.name]
