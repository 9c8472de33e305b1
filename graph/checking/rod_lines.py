"""Whether what acts along rods finds them in the system, lines in series, and sensors read tendons that are there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from titop.blocks.basics.errors import Finding, did_you_mean
from titop.blocks.devices.sensors import TendonSensor
from titop.graph.network.network import Network


def wrong_lines(system: Network) -> Iterator[Finding]:
    """Find lines in rods, and loads along them, that are not of this system, and sensors of tendons that are not there."""
    for loop in system.loops:
        for block in loop.closure.own_blocks:
            if system.graph.nodes.get(block.name, {}).get("block") is not block:
                where = f"{loop.closure.name}.{loop.closure.own_field}"
                kind = "rod" if block.has_sections else "body"
                advice = f"connect the {kind} itself first"
                yield Finding("foreign-target", where, block.name, f"a {kind} of this system", advice)
    tendons = [loop.closure.name for loop in system.loops if loop.closure.measured == "length"]
    for sensor in system.sensors:
        if isinstance(sensor, TendonSensor) and sensor.tendon not in tendons:
            where, advice = f"{sensor.name}.tendon", did_you_mean(sensor.tendon, tendons)
            yield Finding("unknown-tendon", where, sensor.tendon, "a tendon of the system", advice)


def lines_across_joints(system: Network) -> Iterator[Finding]:
    """Find lines through rods that do not carry each other, tip to base, without anything that moves between."""
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
