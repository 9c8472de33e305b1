"""Whether what acts along rods finds them in the system, lines in series, and sensors read tendons that are there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeGuard

from titop.blocks.basics.errors import Finding, did_you_mean
from titop.blocks.devices.sensors import TendonSensor
from titop.graph.network.network import Network

if TYPE_CHECKING:
    from titop.blocks.bodies.rods.rod import Rod
    from titop.blocks.interactions.rod_line import RodLine


def wrong_lines(system: Network) -> Iterator[Finding]:
    """Find lines in rods, and loads along them, that are not of this system, and sensors of tendons that are not there."""
    for loop in system.loops:
        for block in loop.closure.own_blocks:
            if system.graph.nodes.get(block.name, {}).get("block") is not block:
                where = f"{loop.closure.name}.{'rods' if isinstance(loop.closure, RodLine) else 'rod'}"
                yield Finding("foreign-target", where, block.name, "a rod of this system", "connect the rod itself first")
    tendons = [loop.closure.name for loop in system.loops if loop.closure.measured == "length"]
    for sensor in system.sensors:
        if isinstance(sensor, TendonSensor) and sensor.tendon not in tendons:
            where, advice = f"{sensor.name}.tendon", did_you_mean(sensor.tendon, tendons)
            yield Finding("unknown-tendon", where, sensor.tendon, "a tendon of the system", advice)


def lines_across_joints(system: Network) -> Iterator[Finding]:
    """Find lines through rods that do not carry each other, tip to base, without anything that moves between."""
    below = {connection.child.block.name: connection for connection in system.connections}
    for loop in system.loops:
        if not _is_line(loop.closure):
            continue
        for lower, upper in pairwise(loop.closure.rods):
            moving, connection = None, below.get(upper.name)
            while connection is not None and connection.parent.block is not lower:
                moving = moving or next((b.name for b in (connection.joint, connection.parent.block) if b.nv), None)
                connection = below.get(connection.parent.block.name)
            where = f"{loop.closure.name}.rods"
            if connection is None:
                found, advice = f"{lower.name}, {upper.name}", "name the rods from the base, each on the one before"
                yield Finding("not-in-series", where, found, f"{upper.name!r} to hang on {lower.name!r}", advice)
            elif moving or connection.joint.nv:
                advice = "its length does not know of this motion: use a tendon for each rod, and a tt.Cable between them"
                found = f"{moving or connection.joint.name} between {lower.name} and {upper.name}"
                yield Finding("moving-joint", where, found, "welds and rigid bodies between rods", advice)
            elif not _stands_at_tip(lower, connection.parent.name):
                found = f"{upper.name} at {connection.parent}"
                advice = "end the tendon there, and let another one begin"
                yield Finding("not-at-the-tip", where, found, f"{upper.name!r} on the tip of {lower.name!r}", advice)


def _is_line(closure: Any) -> TypeGuard[RodLine]:
    return bool(closure.measured)


def _stands_at_tip(rod: Rod, port: str | None) -> bool:
    return port in rod.rod_ports and rod.rod_ports[port].abscissa == rod.given_length
