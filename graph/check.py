"""Checks of a whole system: everything that is wrong with it, found before anything is computed."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from typing import Any

import networkx as nx
from networkx.utils import UnionFind

from titop.blocks.actuators import Actuator, Motor
from titop.blocks.block import PARENT_PORT, Block, PortRef, overrides_method
from titop.blocks.block_check import disagreements, law_disagreements
from titop.blocks.block_findings import damping_findings, input_findings, is_complex_safe, law_findings
from titop.blocks.closure import Closure
from titop.blocks.coordinate_limits import CoordinateLimits
from titop.blocks.errors import MAX_FINDINGS, Finding, did_you_mean
from titop.blocks.gear import Gear
from titop.blocks.interaction import Interaction
from titop.blocks.interaction_findings import interaction_findings
from titop.blocks.joint import Joint, is_elementary
from titop.blocks.loads import Load
from titop.blocks.overrides import built_in, is_titops_own
from titop.blocks.paths import owner_of, split_path
from titop.blocks.rigid_body import PortedBlock, RigidBody, is_rigid
from titop.blocks.rigid_closure import RigidClosure
from titop.blocks.sensors import ReactionSensor, Sensor
from titop.blocks.surroundings_check import weight_findings
from titop.graph.assembly import rotor_without_armature
from titop.graph.doubtful_units import doubtful_units
from titop.graph.system import System

#: Rounding of products of gear ratios, relative.
_SAME = 1e-9

CLOSURES = "close the loop by s.close_loop(a, b, tt.RigidClosure(...)) or tt.CompliantClosure(...) instead"


def check_system(system: System) -> tuple[list[Finding], list[Finding]]:
    """Return everything that is wrong with a system and everything suspicious, in linear time."""
    errors = list(system.reader.findings)
    warnings: list[Finding] = []
    for block in blocks(system):
        block_errors, block_warnings = block.check()
        errors += block_errors
        warnings += block_warnings
    if any(finding.code == "duplicate-name" for finding in errors):
        return errors, warnings  # edges by name would be edges of two blocks
    rules = (_unknown_ports, _foreign_targets, _loose_loops, _targets, _named_joints, _no_tree)
    errors += itertools.islice(itertools.chain.from_iterable(rule(system) for rule in rules), MAX_FINDINGS)
    if not errors:
        for rigid, finding in _motionless_loops(system):
            (errors if rigid else warnings).append(finding)
    if not errors:
        warnings += doubtful_units(system)
        errors += _massless_leaves(system)
        errors += _contradicting_gears(system)
        for wrong, finding in _user_blocks(system):
            (errors if wrong else warnings).append(finding)
    return errors, warnings


def blocks(system: System) -> Iterator[Block]:
    """Yield the system's blocks in the order in which they were added."""
    for _, block in system.graph.nodes(data="block"):
        yield block


def _unknown_ports(system: System) -> Iterator[Finding]:
    for connection in system.connections:
        yield from _unknown_port(connection.parent)
        if isinstance(connection.child.block, PortedBlock) and not connection.child.block.nv:
            yield from _unknown_port(connection.child)
        elif connection.child.name not in (None, PARENT_PORT):
            yield Finding(
                "not-a-parent-port",
                str(connection.child),
                connection.child.name,
                f"the parent port {PARENT_PORT!r}",
                "a block with own coordinates hangs on its parent port; turn the block around",
            )
    for loop in system.loops:
        for ref in loop.ports:
            yield from _unknown_port(ref)
    for block in targeting(system):
        yield from _unknown_port(block.target)


def _unknown_port(ref: PortRef) -> Iterator[Finding]:
    if ref.name is None or ref.name in ref.block.ports:
        return
    if ref.name == PARENT_PORT and not isinstance(ref.block, PortedBlock):
        return
    yield Finding("unknown-port", str(ref), ref.name, "a port of the block", did_you_mean(ref.name, ref.block.ports))


def targeting(system: System) -> Iterator[Any]:
    """Yield the loads, actuators and sensors that have a target port."""
    yield from (block for block in system.attachments if hasattr(block, "target"))


def _foreign_targets(system: System) -> Iterator[Finding]:
    for acting in targeting(system):
        block = acting.target.block
        if system.graph.nodes.get(block.name, {}).get("block") is not block:
            where = f"{acting.name}.target"
            yield Finding("foreign-target", where, str(acting.target), "a block of this system", "connect the block first")
        elif isinstance(block, Joint):
            yield Finding("not-a-body", f"{acting.name}.target", block, "a body", "take the body that the joint carries")


def _loose_loops(system: System) -> Iterator[Finding]:
    """Find closures on blocks of other systems, or with both ports on one block."""
    for loop in system.loops:
        roles = ("first", "second") if loop.is_between_two_ports else (f"ports[{k}]" for k in range(len(loop.ports)))
        for role, ref in zip(roles, loop.ports, strict=True):
            if system.graph.nodes.get(ref.block.name, {}).get("block") is not ref.block:
                where, expected = f"{loop.closure.name}.{role}", "a block of this system"
                yield Finding("foreign-target", where, str(ref), expected, "connect the block first")
        if loop.is_between_two_ports and loop.first.block is loop.second.block:
            ports, advice = f"{loop.first} and {loop.second}", "close the loop on another block"
            yield Finding("self-connection", loop.closure.name, ports, "two different blocks", advice)


def _targets(system: System) -> Iterator[Finding]:
    """Find interactions on too few or too many ports or coordinates, on some twice, and on unknown coordinates."""
    moving = _moving(system)
    for loop in system.loops:
        name = loop.closure.name
        if not isinstance(loop.closure, Interaction):
            continue
        for what, targets in (("port", loop.ports), ("coordinate", loop.coordinates)):
            least, most = getattr(loop.closure, f"{what}_counts")
            if not least <= len(targets) <= most:
                found, advice = f"{len(targets)} {what}s", f"{type(loop.closure).__name__} acts on no others"
                yield Finding(f"wrong-{what}s", name, found, f"{_range(least, most)} {what}s", advice)
            full = [_coordinate(moving, target) if isinstance(target, str) else str(target) for target in targets]
            for twice in (target for target, number in Counter(full).items() if number > 1):
                yield Finding("doubled-target", name, twice, f"each {what} once", "leave one of the two out")
        for coordinate in loop.coordinates:
            target, own = split_path(coordinate)
            if target not in moving:
                expected = "a joint of the system, or a block with coordinates"
                yield Finding("unknown-joint", f"{name}.targets", coordinate, expected, did_you_mean(target, moving))
            else:
                yield from _not_a_coordinate(loop.closure, f"{name}.targets", moving[target], own)


def _range(least: float, most: float) -> str:
    """Return a range of numbers in words."""
    if least == most:
        return f"{least:g}"
    return f"{least:g} to {most:g}" if math.isfinite(most) else f"{least:g} or more"


def _named_joints(system: System) -> Iterator[Finding]:
    """Find motors, sensors and gears on unknown joints and blocks, or on none in particular of several coordinates."""
    moving = _moving(system)
    joints = {connection.joint.name for connection in system.connections}
    closures = {loop.closure.name for loop in system.loops if len(loop.ports) > 1}
    for block, field in [(acting, field) for acting in system.attachments for field in acting.joint_fields]:
        name = getattr(block, field)
        if isinstance(block, ReactionSensor) and name in closures:
            continue
        target, coordinate = split_path(name)
        where, of_joint = f"{block.name}.{field}", getattr(block, "of_joints_alone", False)
        if target not in (joints if of_joint else moving):
            expected = "a joint of the system" if of_joint else "a joint of the system, or a block with coordinates"
            yield Finding("unknown-joint", where, name, expected, did_you_mean(target, joints if of_joint else moving))
        elif not isinstance(block, ReactionSensor):
            yield from _not_a_coordinate(block, where, moving[target], coordinate)
    for gear in system.gears:
        if len({_coordinate(moving, gear.driver), _coordinate(moving, gear.driven)}) == 1:
            yield Finding("self-connection", gear.name, gear.driver, "two different coordinates", "name another joint")
    driving = nx.DiGraph([(_coordinate(moving, gear.driver), _coordinate(moving, gear.driven)) for gear in system.gears])
    for circle in (sorted(part) for part in nx.strongly_connected_components(driving) if len(part) > 1):
        advice = "leave one of these gears out, or turn it round"
        yield Finding("gear-cycle", circle[0], " and ".join(circle), "a coordinate that drives the others", advice)


def _not_a_coordinate(acting: Block, where: str, target: Block, coordinate: str | None) -> Iterator[Finding]:
    """Find what keeps a coordinate of `target`, or its only one, from being driven or read."""
    name = target.name if coordinate is None else f"{target.name}.{coordinate}"
    known = [f"{target.name}.{entry}" for entry in target.coordinates]
    if isinstance(acting, CoordinateLimits) and isinstance(target, Joint):
        advice = "give them to the joint, as in tt.Revolute(..., limits=tt.Limits(...))"
        yield Finding("limits-of-a-joint", where, name, "an own coordinate of a body", advice)
    elif isinstance(acting, CoordinateLimits) and target.configuration_names != target.coordinates:
        yield Finding("no-stop", where, name, "a coordinate whose rate is a velocity", "limit one of another block")
    elif isinstance(acting, Gear | Interaction) and target.configuration_names != target.coordinates:
        who, code = ("gears join", "gear") if isinstance(acting, Gear) else ("interactions act on", "plain")
        advice = f"{who} coordinates of revolute, prismatic and such joints, and plain ones of other blocks"
        yield Finding(f"not-a-{code}-coordinate", where, name, "a coordinate whose rate is a velocity", advice)
    elif coordinate is not None and coordinate not in target.coordinates:
        what = "joint" if isinstance(target, Joint) else "block"
        yield Finding("unknown-coordinate", where, name, f"a coordinate of the {what}", did_you_mean(name, known))
    elif coordinate is None and target.nv != 1:
        advice = "write " + " or ".join(map(repr, known)) if known else "it has none"
        yield Finding("several-coordinates", where, name, "one coordinate", advice)
    elif isinstance(acting, Motor) and acting.rotor_inertia > 0 and not isinstance(target, Joint):
        yield rotor_without_armature(acting)


def _moving(system: System) -> dict[str, Block]:
    """Return what motors, sensors and gears may name: all joints, and the other blocks that have coordinates."""
    joints: dict[str, Block] = {c.joint.name: c.joint for c in system.connections}
    return joints | {c.child.block.name: c.child.block for c in system.connections if c.child.block.coordinates}


def _coordinate(moving: Mapping[str, Block], name: str) -> str:
    """Return the full name ``block.coordinate`` of what may be the only coordinate of a joint or block."""
    own: tuple[str, ...] = moving[name].coordinates if name in moving else ()
    return f"{name}.{own[0]}" if len(own) == 1 else name


def _tree(system: System) -> nx.DiGraph:
    """Return the system's graph without what acts on its bodies and joints."""
    closures = (loop.closure for loop in system.loops)
    acting = {block.name for block in (*closures, *system.attachments)}
    if not acting:
        return system.graph
    tree = nx.DiGraph()
    tree.add_nodes_from((name, data) for name, data in system.graph.nodes(data=True) if name not in acting)
    tree.add_edges_from(edge for edge in system.graph.edges if acting.isdisjoint(edge))
    return tree


def _no_tree(system: System) -> Iterator[Finding]:
    """Find what keeps bodies and joints from being one tree with the world as its root."""
    tree = _tree(system)
    reached = nx.descendants(tree, "world") | {"world"}
    if len(reached) < len(tree) or tree.number_of_edges() >= len(tree):
        yield from _two_parents(tree)
        yield from _cycles(tree)
        yield from _unconnected(system, tree, reached)


def _two_parents(tree: nx.DiGraph) -> Iterator[Finding]:
    for name, degree in tree.in_degree():
        if name == "world" and degree:
            yield Finding(
                "world-as-child",
                "world",
                next(iter(tree.predecessors(name))),
                "world as a parent only",
                "swap parent and child",
            )
        elif degree > 1:
            parents = " and ".join(sorted(tree.predecessors(name)))
            yield Finding("two-parents", name, parents, "one parent joint a block", f"keep one of them and {CLOSURES}")


def _cycles(tree: nx.DiGraph) -> Iterator[Finding]:
    try:
        edges = nx.find_cycle(tree)
    except nx.NetworkXNoCycle:
        return
    hops = " -> ".join([edge[0] for edge in edges] + [edges[0][0]])
    yield Finding("cycle", edges[0][0], hops, "a tree of connections", f"take one of the joints out and {CLOSURES}")


def _unconnected(system: System, tree: nx.DiGraph, reached: Set[str]) -> Iterator[Finding]:
    closed = {ref.block.name: loop.closure.name for loop in system.loops for ref in reversed(loop.ports)}
    for component in nx.weakly_connected_components(tree):
        lost = sorted(component - reached)
        if lost and "world" not in component:
            shown = ", ".join(lost[:8]) + (", ..." if len(lost) > 8 else "")
            advice = 'connect("world", ..., joint=tt.Free(...) or another joint)'
            closure = next((closed[name] for name in lost if name in closed), None)
            advice += f"; the closure {closure} constrains what joints carry and carries nothing itself" if closure else ""
            yield Finding("unconnected", lost[0], shown, "a path of joints from the world to every block", advice)


def _motionless_loops(system: System) -> Iterator[tuple[bool, Finding]]:
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


def _contradicting_gears(system: System) -> Iterator[Finding]:
    """Find gears that, with others between the same coordinates, leave no motion: each coordinate is a line over its root."""
    moving = _moving(system)
    lines: dict[str, tuple[str, float, float]] = {}  # by coordinate: root, factor, offset
    members: dict[str, list[str]] = {}  # by root: its gears
    followers: dict[str, list[str]] = {}  # by root: the coordinates on its lines, others than itself
    for gear in system.gears:
        driver, driven = _coordinate(moving, gear.driver), _coordinate(moving, gear.driven)
        root, factor, offset = lines.setdefault(driver, (driver, 1.0, 0.0))
        other, times, plus = lines.setdefault(driven, (driven, 1.0, 0.0))
        factor, offset = gear.ratio * factor, gear.ratio * offset + gear.offset  # of the driven coordinate, over the root
        if root == other:
            if abs(factor - times) > _SAME * abs(times) or abs(offset - plus) > _SAME * (abs(offset) + abs(plus)):
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


def _massless_leaves(system: System) -> Iterator[Finding]:
    """Find joints with coordinates whose whole subtree has no inertia at all, unless gears join them to others."""
    idle = dict(_idle_joints(system))
    moving, geared = _moving(system), nx.Graph()
    for gear in system.gears:
        geared.add_edge(_coordinate(moving, gear.driver), _coordinate(moving, gear.driven))
    groups = ({owner_of(coordinate): coordinate for coordinate in group} for group in nx.connected_components(geared))
    heavy = {coordinate for group in groups if group.keys() - idle for coordinate in group.values()}
    for name, joint in idle.items():
        if not {f"{name}.{own}" for own in joint.coordinates} <= heavy:
            yield massless_joint(name, "its subtree has no inertia")


def _idle_joints(system: System) -> Iterator[tuple[str, Joint]]:
    """Yield joints with coordinates whose whole subtree has no inertia, and which have none of their own, with their names."""
    tree, blocks_of = _tree(system), dict(system.graph.nodes(data="block"))
    heavy: set[str] = set()
    motors = (actuator for actuator in system.actuators if isinstance(actuator, Motor))
    driven = {owner_of(motor.joint) for motor in motors if motor.rotor_inertia > 0}
    for name in reversed([name for level in nx.bfs_layers(tree, "world") for name in level]):
        block = blocks_of[name]
        known = is_rigid(block) or is_elementary(block)
        inert = not known or (isinstance(block, RigidBody) and bool(block.mass > 0 or block.inertia.any()))
        if inert or any(child in heavy for child in tree.successors(name)):
            heavy.add(name)
        elif isinstance(block, Joint) and block.nv and name not in driven and not (block.armature > 0).all():
            yield name, block


def massless_joint(name: str, what: str) -> Finding:
    """Return the finding for a joint that moves no inertia."""
    return Finding(
        "massless-joint",
        name,
        what,
        "inertia to move along every coordinate",
        "give its bodies mass or inertia, give the joint an armature, or weld it",
    )


def _user_blocks(system: System) -> Iterator[tuple[bool, Finding]]:
    """Yield what is wrong (True) and suspicious (False) in blocks that users wrote."""
    for block in blocks(system):
        lawless = isinstance(block, Closure | Gear | CoordinateLimits | Load | Actuator | Sensor)
        known = is_elementary(block) or (is_titops_own(block) and not isinstance(block, Joint))
        if lawless or (known and not block.inputs and not overrides_method(block, "input_matrix")):
            continue
        block.forget_steps()
        wrong = list(input_findings(block) if known else law_findings(block))
        dotted = [port for port in block.ports if not isinstance(port, str) or not port or "." in port]
        wrong += [Finding("bad-name", f"{block.name}.{port}", port, "a port name without dots", "rename it") for port in dotted]
        yield from ((True, finding) for finding in wrong)
        if wrong:
            continue
        block.complex_safe = is_complex_safe(block)
        if not known:
            yield from ((False, finding) for finding in damping_findings(block))
            if system.gravity.any():
                yield from ((False, finding) for finding in weight_findings(block))
            if built_in(type(block)) is not Block:  # what it leaves as it is may belong to what it does not
                yield from ((False, finding) for finding in disagreements(block))
            yield from ((False, finding) for finding in law_disagreements(block))
        if not block.complex_safe:
            advice = "derivatives use sixth-order differences instead of complex steps (errors near 1e-10)"
            expected = "functions that accept complex coordinates"
            yield False, Finding("not-complex-safe", block.name, type(block).__name__, expected, advice)
    for loop in system.loops:
        if isinstance(loop.closure, Interaction) and not is_titops_own(loop.closure):
            inertial = any(ref.block is system.world for ref in loop.ports)
            yield from interaction_findings(loop.closure, len(loop.ports), len(loop.coordinates), inertial)
