"""Checks that bodies and joints form one tree, that joints move inertia, and that closures and gears are consistent."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.tolerances import SAME
from titop.blocks.constraints.closure import MultiplierClosure
from titop.blocks.contract.block import PARENT_PORT, PortRef
from titop.blocks.devices.actuators import CoordinateActuator
from titop.graph.checking.targets import full_name, moving_blocks
from titop.graph.network.connections import idle, moves_no_inertia, no_inertia, nodes_of, reached
from titop.graph.network.network import Network

if TYPE_CHECKING:
    import networkx as nx

CLOSURES = "close the loop by s.close_loop(a, b, tt.RigidClosure(...)) or tt.CompliantClosure(...) instead"


def tree_of(system: Network) -> nx.DiGraph:
    """Return the system's graph of bodies and joints, without closures and attached blocks."""
    return system.graph.subgraph(_names(system))


def _names(system: Network) -> list[str]:
    acting = {block.name for block in (*(loop.closure for loop in system.loops), *system.attachments)}
    return [name for name in system.by_name if name not in acting]


def no_tree(system: Network) -> Iterator[Finding]:
    """Find errors because of which bodies and joints are not one tree with the world as its root."""
    names = {*_names(system)}
    edges = [edge for edge in system.edges if names.issuperset(edge)]
    known = reached(edges, "world")
    if len(known) < len(names) or len(edges) >= len(names):
        tree = tree_of(system)
        yield from _two_parents(tree)
        yield from _cycles(tree)
        yield from _unconnected(system, tree, known)


def _two_parents(tree: nx.DiGraph) -> Iterator[Finding]:
    for name, degree in tree.in_degree():
        if name == "world" and degree:
            above = next(iter(tree.predecessors(name)))
            yield Finding("world-as-child", "world", above, "world as a parent only", "swap parent and child")
        elif degree > 1:
            parents = " and ".join(sorted(tree.predecessors(name)))
            yield Finding("two-parents", name, parents, "one parent joint a block", f"keep one of them and {CLOSURES}")


def _cycles(tree: nx.DiGraph) -> Iterator[Finding]:
    import networkx as nx

    try:
        edges = nx.find_cycle(tree)
    except nx.NetworkXNoCycle:
        return
    hops = " -> ".join([edge[0] for edge in edges] + [edges[0][0]])
    yield Finding("cycle", edges[0][0], hops, "a tree of connections", f"take one of the joints out and {CLOSURES}")


def _unconnected(system: Network, tree: nx.DiGraph, known: Set[str]) -> Iterator[Finding]:
    import networkx as nx

    closed = {ref.block.name: loop.closure.name for loop in system.loops for ref in reversed(loop.ports)}
    for component in nx.weakly_connected_components(tree):
        lost = sorted(component - known)
        if lost and "world" not in component:
            shown = ", ".join(lost[:8]) + (", ..." if len(lost) > 8 else "")
            advice = 'connect("world", ..., joint=tt.Free(...) or another joint)'
            closure = next((closed[name] for name in lost if name in closed), None)
            advice += f"; the closure {closure} constrains what joints carry and carries nothing itself" if closure else ""
            yield Finding("unconnected", lost[0], shown, "a path of joints from the world to every block", advice)


def motionless_loops(system: Network) -> Iterator[tuple[bool, Finding]]:
    """Yield closures, rigid (True) or not, between ports that are fixed to each other."""
    if not system.loops:
        return
    from networkx.utils import UnionFind

    parts: UnionFind = UnionFind()
    for connection in system.connections:
        if not connection.joint.nv:
            parts.union(_part(connection.parent), _part(connection.child))
    for loop in system.loops:
        if not loop.coordinates and len({parts[_part(ref)] for ref in loop.ports}) == 1:
            ports, expected = f"{' and '.join(map(str, loop.ports))}, fixed to each other", "a coordinate between the ports"
            rigid = isinstance(loop.closure, MultiplierClosure)
            advice = "leave it out: it constrains nothing" if rigid else "leave it out: it moves nothing"
            advice += ", or free a joint of the loop"
            yield rigid, Finding("motionless-loop", loop.closure.name, ports, expected, advice)


def _part(ref: PortRef) -> tuple[str, str | None]:
    """Return a key of the rigid part to which a port belongs: the block, or its port if the block deforms."""
    return ref.block.name, ref.name if ref.block.nv and ref.name != PARENT_PORT else None


def contradicting_gears(system: Network) -> Iterator[Finding]:
    """Find gears that contradict others between the same coordinates; each coordinate is a linear function of a root."""
    moving = moving_blocks(system)
    lines: dict[str, tuple[str, float, float]] = {}  # by coordinate: root, factor, offset
    members: dict[str, list[str]] = {}  # by root: its gears
    followers: dict[str, list[str]] = {}  # by root: the coordinates on its lines, others than itself
    for gear in (gear for gear in system.gears if len(gear.terms) == 2):
        (driven, own), (driver, other_factor) = ((full_name(moving, name), factor) for name, factor in gear.terms.items())
        ratio, shift_of = -other_factor / own, gear.offset / own
        root, factor, offset = lines.setdefault(driver, (driver, 1.0, 0.0))
        other, times, plus = lines.setdefault(driven, (driven, 1.0, 0.0))
        factor, offset = ratio * factor, ratio * offset + shift_of  # of the driven coordinate, over the root
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


def massless_leaves(system: Network) -> Iterator[tuple[bool, Finding]]:
    """Yield errors (True) for joints that move no inertia, unless gears couple them to joints that do, or closures hold them.

    A system in which no moving part has inertia gets one warning (False): it has no dynamics, but poses and Jacobians.
    """
    driven = _driven(system)
    nodes = nodes_of(system.connections, driven)
    if moves_no_inertia(nodes, idle(nodes)):
        yield False, no_inertia(system.name)
        return
    joints = {connection.joint.name: connection.joint for connection in system.connections}
    found = [str(name) for name in idle(nodes_of(system.connections, driven, all))]
    if not found:
        return
    import networkx as nx

    moving, geared = moving_blocks(system), nx.Graph()
    for gear in system.gears:
        nx.add_path(geared, [full_name(moving, name) for name in gear.terms])
    groups = ({owner_of(coordinate): coordinate for coordinate in group} for group in nx.connected_components(geared))
    heavy = {coordinate for group in groups if group.keys() - set(found) for coordinate in group.values()}
    rigid = (loop for loop in system.loops if isinstance(loop.closure, MultiplierClosure))
    held = set().union(*(nx.ancestors(tree_of(system), ref.block.name) for loop in rigid for ref in loop.ports))
    for name in found:
        if name not in held and not {f"{name}.{own}" for own in joints[name].coordinates} <= heavy:
            yield True, massless_joint(name, "its subtree has no inertia")


def _driven(system: Network) -> set[str]:
    """Return the names of the joints with inertia from motors' rotors."""
    motors = (actuator for actuator in system.actuators if isinstance(actuator, CoordinateActuator))
    return {owner_of(motor.joint) for motor in motors if motor.rotor_inertia > 0}


def massless_joint(name: str, what: str) -> Finding:
    """Return the finding for a joint that moves no inertia."""
    expected = "inertia to move along every coordinate"
    advice = "give its bodies mass or inertia, give the joint an armature, weld it, or hold it by rigid closures"
    return Finding("massless-joint", name, what, expected, advice)
