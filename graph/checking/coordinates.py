"""Whether motors, sensors, gears and interactions name coordinates that are there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import networkx as nx

from titop.blocks.basics.errors import Finding, did_you_mean
from titop.blocks.basics.paths import split_path
from titop.blocks.constraints.gear import Gear
from titop.blocks.contract.block import Block
from titop.blocks.devices.actuators import Motor
from titop.blocks.devices.sensors import Encoder, ReactionSensor, TendonSensor
from titop.blocks.interactions.interaction import Interaction, target_counts
from titop.blocks.joints.coordinate_limits import CoordinateLimits
from titop.blocks.joints.joint import Joint
from titop.graph.checking.coordinate_names import full_name, moving_blocks
from titop.graph.network.assembly import rotor_without_armature
from titop.graph.network.network import Network


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
    """Return a range of numbers in words."""
    if least == most:
        return f"{least:g}"
    return f"{least:g} to {most:g}" if math.isfinite(most) else f"{least:g} or more"


def unknown_joints(system: Network) -> Iterator[Finding]:
    """Find motors, sensors and gears on unknown joints and blocks, or on none in particular of several coordinates."""
    moving = moving_blocks(system)
    joints = {connection.joint.name for connection in system.connections}
    closures = {loop.closure.name for loop in system.loops if len(loop.ports) > 1}
    for block, field in [(acting, field) for acting in system.attachments for field in acting.joint_fields]:
        name = getattr(block, field)
        if isinstance(block, TendonSensor) or (isinstance(block, ReactionSensor) and name in closures):
            continue
        target, coordinate = split_path(name)
        where, of_joint = f"{block.name}.{field}", getattr(block, "of_joints_alone", False)
        if target not in (joints if of_joint else moving):
            expected = "a joint of the system" if of_joint else "a joint of the system, or a block with coordinates"
            yield Finding("unknown-joint", where, name, expected, did_you_mean(target, joints if of_joint else moving))
        elif not isinstance(block, ReactionSensor):
            yield from _not_a_coordinate(block, where, moving[target], coordinate)
    for gear in system.gears:
        if len({full_name(moving, gear.driver), full_name(moving, gear.driven)}) == 1:
            yield Finding("self-connection", gear.name, gear.driver, "two different coordinates", "name another joint")
    driving = nx.DiGraph([(full_name(moving, gear.driver), full_name(moving, gear.driven)) for gear in system.gears])
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
    elif isinstance(acting, Encoder) and (coordinate or target.coordinates[0]) not in target.configuration_names:
        advice = f"read the attitude with a tt.PoseSensor; linear models have {name}.q"
        yield Finding("not-a-position", where, name, "a coordinate that the configuration holds, no rotation", advice)
    elif isinstance(acting, Motor) and acting.rotor_inertia > 0 and not isinstance(target, Joint):
        yield rotor_without_armature(acting, acting.rotor_inertia)
