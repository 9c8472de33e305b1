"""Checks that names are unambiguous, and that ports, coordinates, rods and tendons exist on which blocks act."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from titop.blocks.basics.errors import Finding, did_you_mean
from titop.blocks.basics.paths import split_path
from titop.blocks.bodies.rigid_body import PortedBlock
from titop.blocks.constraints.relation import Gear, Relation
from titop.blocks.contract.block import PARENT_PORT, Block, PortRef
from titop.blocks.devices.actuators import CoordinateActuator
from titop.blocks.devices.sensors import DriveSensor, Encoder, ReactionSensor, TendonSensor
from titop.blocks.interactions.interaction import Interaction, target_counts
from titop.blocks.joints.friction_and_limits import CoordinateLimits
from titop.blocks.joints.joint import Joint
from titop.blocks.surroundings.gravity_field import GRAVITY
from titop.graph.network.assembly import rotor_without_armature
from titop.graph.network.network import Network


def renamed_blocks(system: Network) -> Iterator[Finding]:
    """Find blocks that were renamed after they had been connected."""
    for name, block in system.by_name.items():
        if block.name != name:
            expected, advice = f"the name {name!r}, by which it was connected", "name blocks before they are connected"
            yield Finding("renamed-block", name, block.name, expected, advice)


def reserved_names(system: Network) -> Iterator[Finding]:
    """Find blocks whose parameters would have the names of gravity's parameters."""
    for block in system.blocks:
        if block.name == GRAVITY:
            expected = f"another name: {GRAVITY}.x, .y and .z, or {GRAVITY}.mu, are the field's"
            yield Finding("reserved-name", GRAVITY, block, expected, "rename the block")


def ambiguous_devices(system: Network) -> Iterator[Finding]:
    """Find devices that have the name of another block, or device, so that their parameters would have the same names."""
    counts = Counter(device.name for device in system.devices)
    for device in system.devices:
        if counts[device.name] > 1 or (device.name in system.by_name and device.name not in device.blocks):
            expected = "a name that no other block or device has"
            yield Finding("duplicate-name", device.name, device, expected, "rename one of the two")


def ambiguous_ports(system: Network) -> Iterator[Finding]:
    """Find ports with the name of a parameter or coordinate of their block, which takes precedence."""
    for block in system.blocks:
        meant = {*block.parameters(), *block.coordinates} if block.ports else set()
        for port in sorted(meant.intersection(block.ports)):
            expected = "a name that no parameter or coordinate of the block has: that is meant where both may be"
            yield Finding("ambiguous-name", f"{block.name}.{port}", f"a port {port!r}", expected, "rename the port")


def moving_blocks(system: Network) -> dict[str, Block]:
    """Return the blocks that motors, sensors and gears may name: all joints, and other blocks with coordinates."""
    joints: dict[str, Block] = {c.joint.name: c.joint for c in system.connections}
    return joints | {c.child.block.name: c.child.block for c in system.connections if c.child.block.coordinates}


def full_name(moving: Mapping[str, Block], name: str) -> str:
    """Return the full name ``block.coordinate`` of a coordinate, also for a block with only one."""
    target, entry = split_path(name)
    coordinates: tuple[str, ...] = moving[target].coordinates if target in moving else ()
    return f"{name}.{coordinates[0]}" if entry is None and len(coordinates) == 1 else name


def unknown_ports(system: Network) -> Iterator[Finding]:
    """Find connections, closures and attached blocks at ports that do not exist."""
    for connection in system.connections:
        yield from _unknown_port(connection.parent)
        if isinstance(connection.child.block, PortedBlock) and not connection.child.block.nv:
            yield from _unknown_port(connection.child)
        elif connection.child.name not in (None, PARENT_PORT):
            child, advice = connection.child, "a block with own coordinates hangs on its parent port; turn the block around"
            yield Finding("not-a-parent-port", str(child), child.name, f"the parent port {PARENT_PORT!r}", advice)
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


def targeting(system: Network) -> Iterator[Any]:
    """Yield the loads, actuators and sensors that have a target port."""
    yield from (block for block in system.attachments if hasattr(block, "target"))


def foreign_targets(system: Network) -> Iterator[Finding]:
    """Find attached blocks whose targets belong to other systems, or are joints instead of bodies."""
    joints = {connection.joint.name for connection in system.connections}
    advice = "take the body that the joint carries"
    for loop in system.loops:
        for ref in loop.named_ports:
            if ref.block.name in joints:
                yield Finding("not-a-body", loop.closure.name, ref.block, "a body", advice)
    for acting in targeting(system):
        block: Block = acting.target.block
        if system.by_name.get(block.name) is not block:
            where = f"{acting.name}.target"
            yield Finding("foreign-target", where, str(acting.target), "a block of this system", "connect the block first")
        elif isinstance(block, Joint) or block.name in joints:
            yield Finding("not-a-body", f"{acting.name}.target", block, "a body", advice)


def loose_loops(system: Network) -> Iterator[Finding]:
    """Find closures on blocks of other systems, or with both ports on one block."""
    for loop in system.loops:
        roles = ("first", "second") if loop.is_between_two_ports else (f"ports[{k}]" for k in range(len(loop.named_ports)))
        for role, ref in zip(roles, loop.named_ports, strict=True):
            if system.by_name.get(ref.block.name) is not ref.block:
                where, expected = f"{loop.closure.name}.{role}", "a block of this system"
                yield Finding("foreign-target", where, str(ref), expected, "connect the block first")
        if loop.is_between_two_ports and loop.first.block is loop.second.block:
            ports, advice = f"{loop.first} and {loop.second}", "close the loop on another block"
            yield Finding("self-connection", loop.closure.name, ports, "two different blocks", advice)


def wrong_targets(system: Network) -> Iterator[Finding]:
    """Find interactions on too few or too many ports or coordinates, on some twice, and on unknown coordinates."""
    moving = moving_blocks(system)
    for loop in system.loops:
        name = loop.closure.name
        if not isinstance(loop.closure, Interaction):
            continue
        for what, targets in (("port", loop.ports), ("coordinate", loop.coordinates)):
            least, most = target_counts(loop.closure, what)
            if not least <= len(targets) <= most:
                found, advice = f"{len(targets)} {what}s", f"{type(loop.closure).__name__} acts on no others"
                yield Finding(f"wrong-{what}s", name, found, f"{_range(least, most)} {what}s", advice)
            full = [full_name(moving, target) if isinstance(target, str) else str(target) for target in targets]
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
    if least == most:
        return f"{least:g}"
    return f"{least:g} to {most:g}" if math.isfinite(most) else f"{least:g} or more"


def unknown_joints(system: Network) -> Iterator[Finding]:
    """Find motors, sensors and gears on unknown joints and blocks, or on blocks with several coordinates without naming one."""
    moving = moving_blocks(system)
    joints = {connection.joint.name for connection in system.connections}
    closures = {loop.closure.name for loop in system.loops if len(loop.ports) > 1}
    named = [(acting, *each) for acting in system.attachments for each in acting.named_coordinates.items()]
    for block, field, name in named:
        if isinstance(block, TendonSensor | DriveSensor) or (isinstance(block, ReactionSensor) and name in closures):
            continue
        target, coordinate = split_path(name)
        where, of_joint = f"{block.name}.{field}", getattr(block, "of_joints_alone", False)
        if target not in (joints if of_joint else moving):
            expected = "a joint of the system" if of_joint else "a joint of the system, or a block with coordinates"
            yield Finding("unknown-joint", where, name, expected, did_you_mean(target, joints if of_joint else moving))
        elif not isinstance(block, ReactionSensor):
            yield from _not_a_coordinate(block, where, moving[target], coordinate)
    for gear in system.gears:
        if len({full_name(moving, name) for name in gear.terms}) < max(len(gear.named_coordinates), len(gear.terms)):
            got, expected = ", ".join(gear.terms), "two different coordinates"
            yield Finding("self-connection", gear.name, got, expected, "name another joint")
    gears = [gear for gear in system.gears if isinstance(gear, Gear)]
    if len(gears) < 2:
        return
    import networkx as nx

    driving = nx.DiGraph([(full_name(moving, gear.driver), full_name(moving, gear.driven)) for gear in gears])
    for circle in (sorted(part) for part in nx.strongly_connected_components(driving) if len(part) > 1):
        advice = "leave one of these gears out, or turn it round"
        yield Finding("gear-cycle", circle[0], " and ".join(circle), "a coordinate that drives the others", advice)


def _not_a_coordinate(acting: Block, where: str, target: Block, coordinate: str | None) -> Iterator[Finding]:
    """Find errors because of which a coordinate of `target`, or its only one, cannot be driven or measured."""
    name = target.name if coordinate is None else f"{target.name}.{coordinate}"
    known = [f"{target.name}.{entry}" for entry in target.coordinates]
    if isinstance(acting, CoordinateLimits) and isinstance(target, Joint):
        advice = "give them to the joint, as in tt.Revolute(..., limits=tt.Limits(...))"
        yield Finding("limits-of-a-joint", where, name, "an own coordinate of a body", advice)
    elif isinstance(acting, CoordinateLimits) and target.configuration_names != target.coordinates:
        yield Finding("no-stop", where, name, "a coordinate whose rate is a velocity", "limit one of another block")
    elif isinstance(acting, Relation | Interaction) and target.configuration_names != target.coordinates:
        who, code = ("gears join", "gear") if isinstance(acting, Relation) else ("interactions act on", "plain")
        advice = f"{who} coordinates of revolute, prismatic and such joints, and plain ones of other blocks"
        yield Finding(f"not-a-{code}-coordinate", where, name, "a coordinate whose rate is a velocity", advice)
    elif coordinate is not None and coordinate not in target.coordinates:
        what = "joint" if isinstance(target, Joint) else "block"
        yield Finding("unknown-coordinate", where, name, f"a coordinate of the {what}", did_you_mean(name, known))
    elif coordinate is None and target.nv != 1:
        advice = "write " + " or ".join(map(repr, known)) if known else "it has none"
        yield Finding("several-coordinates", where, name, "one coordinate", advice)
    elif isinstance(acting, Encoder) and (coordinate or target.coordinates[0]) not in target.configuration_names:
        advice = f"read the attitude with a tt.PoseSensor; linear models have {name}.q"
        yield Finding("not-a-position", where, name, "a coordinate that the configuration holds, no rotation", advice)
    elif isinstance(acting, CoordinateActuator) and acting.rotor_inertia > 0 and not isinstance(target, Joint):
        yield rotor_without_armature(acting, acting.rotor_inertia)


def wrong_lines(system: Network) -> Iterator[Finding]:
    """Find lines and loads on rods that are not in this system, and sensors of missing tendons."""
    for loop in system.loops:
        for block in loop.closure.own_blocks:
            if system.by_name.get(block.name) is not block:
                where = f"{loop.closure.name}.{loop.closure.own_field}"
                kind = "rod" if block.has_sections else "body"
                advice = f"connect the {kind} itself first"
                yield Finding("foreign-target", where, block.name, f"a {kind} of this system", advice)
    read = [name for loop in system.loops for name in getattr(loop.closure, "reading_paths", ())]
    read += [f"{each.name}.{name}" for each in system.actuators for name, _ in getattr(each, "readings", ())]
    for sensor in system.sensors:
        if isinstance(sensor, DriveSensor) and sensor.reading not in read:
            where, advice = f"{sensor.name}.reading", did_you_mean(sensor.reading, read)
            yield Finding("unknown-reading", where, sensor.reading, "what a drive of the system measures", advice)
    tendons = [loop.closure.name for loop in system.loops if loop.closure.measured == "length"]
    for sensor in system.sensors:
        if isinstance(sensor, TendonSensor) and sensor.tendon not in tendons:
            where, advice = f"{sensor.name}.tendon", did_you_mean(sensor.tendon, tendons)
            yield Finding("unknown-tendon", where, sensor.tendon, "a tendon of the system", advice)


def lines_across_joints(system: Network) -> Iterator[Finding]:
    """Find lines through bodies that are not connected tip to base, or with moving parts in between."""
    below = {connection.child.block.name: connection for connection in system.connections}
    for loop in system.loops:
        if not loop.closure.measured:
            continue
        for lower, upper in pairwise(loop.closure.own_blocks):
            moving, connection = None, below.get(upper.name)
            while connection is not None and connection.parent.block is not lower:
                moving = moving or next((b.name for b in (connection.joint, connection.parent.block) if b.nv), None)
                connection = below.get(connection.parent.block.name)
            where = f"{loop.closure.name}.{loop.closure.own_field}"
            if connection is None:
                found = f"{lower.name}, {upper.name}"
                advice = "name them from the base, each on the one before; side by side, ignore this if nothing between moves"
                yield Finding("not-in-series", where, found, f"{upper.name!r} to hang on {lower.name!r}", advice)
            elif moving or connection.joint.nv:
                advice = "its length does not know of this motion: use a tendon for each of them, and a tt.Cable between"
                found = f"{moving or connection.joint.name} between {lower.name} and {upper.name}"
                yield Finding("moving-joint", where, found, "welds and rigid bodies between them", advice)
            elif not _stands_at_tip(lower, connection.parent.name):
                found = f"{upper.name} at {connection.parent}"
                advice = "end the tendon there, and let another one begin"
                yield Finding("not-at-the-tip", where, found, f"{upper.name!r} on the tip of {lower.name!r}", advice)


def _stands_at_tip(body: Any, port: str | None) -> bool:
    """Tell whether a port of a rod is at its tip; those of deformable bodies are where lines end, wherever that is."""
    return not body.has_sections or (port in body.rod_ports and body.rod_ports[port].abscissa == body.given_length)
