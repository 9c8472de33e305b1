"""Ports that can be moved: a free joint with six held coordinates between a port and all that is attached to it.

The efforts that hold these coordinates are the wrench transmitted there. The derivatives of the dynamics by these coordinates
and their rates are the effect of moving the port, also along a motion.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

from titop.blocks.basics.pose import Pose
from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.contract.block import Block, PortRef
from titop.blocks.joints.joint import CHILD_PORT
from titop.blocks.joints.quaternion_joints import Free
from titop.graph.network.assembly import Assembly
from titop.graph.network.connections import Connection, Joined


class MovablePlace(NamedTuple):
    """A place that can be moved: a port of a block; without a port, the placement of a joint or the attachment of a body."""

    block: str
    port: str | None

    @property
    def body(self) -> str:
        """Name of the massless body at the place; no user's block has such a name."""
        return f"{self.block}:{self.port or 'whole'}:moved"

    @property
    def joint(self) -> str:
        """Name of the joint that holds that body."""
        return f"{self.body}:by"


def with_movable(assembly: Assembly, places: Collection[MovablePlace]) -> Assembly:
    """Return an assembly, without sensors, in which some places can be moved: each gets a free joint and a massless body.

    The coordinates of the given assembly keep their order.
    """
    connections: list[Connection] = []
    moved: dict[MovablePlace, PortRef] = {}

    def attached(ref: PortRef) -> PortRef:
        return moved.get(MovablePlace(ref.block.name, ref.name), ref)

    def movable(place: MovablePlace, parent: PortRef, placement: Pose) -> PortRef:
        body = PortRef(RigidBody(place.body, mass=0.0), None)
        connections.append(Connection(parent, body, Free(place.joint), placement))
        return body

    def free_ports(block: Block) -> None:
        for port in block.ports:
            if (place := MovablePlace(block.name, port)) in places:
                moved[place] = movable(place, PortRef(block, port), Pose())

    free_ports(assembly.world)
    made: list[range] = []
    for connection in assembly.connections:
        first = len(connections)
        joint, parent, child, placement = connection.joint, attached(connection.parent), connection.child, connection.placement
        if (place := MovablePlace(joint.name, None)) in places:
            parent, placement = movable(place, parent, placement), Pose()
        for place in (MovablePlace(joint.name, CHILD_PORT), MovablePlace(child.block.name, None)):
            if place in places:
                carried = PortRef(RigidBody(place.body, mass=0.0), None)
                connections.append(Connection(parent, carried, joint, placement))
                parent, joint, placement = carried, Free(place.joint), Pose()
        connections.append(Connection(parent, child, joint, placement))
        made.append(range(first, len(connections)))
        free_ports(child.block)
    order = dict.fromkeys(k for index in assembly.connect_order for k in made[index])

    def on_attached(block: Any) -> Any:
        changed = copy.copy(block)
        if hasattr(block, "target"):
            changed.target = attached(block.target)
        return changed

    return replace(
        assembly,
        connections=tuple(connections),
        connect_order=(*order, *(k for k in range(len(connections)) if k not in order)),
        loads=tuple(map(on_attached, assembly.loads)),
        actuators=tuple(map(on_attached, assembly.actuators)),
        sensors=(),
        loops=tuple(Joined(tuple(map(attached, each.ports)), each.closure, each.coordinates) for each in assembly.loops),
    )
