"""Reactions as efforts: a joint whose child is held by six more coordinates, whose efforts are the joint's wrench."""

from __future__ import annotations

from dataclasses import replace

from titop.blocks.basics.pose import Pose
from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.contract.block import PortRef
from titop.blocks.joints.quaternion_joints import Free
from titop.graph.network.assembly import Assembly
from titop.graph.network.connections import Connection


def opened(assembly: Assembly, joint: str) -> Assembly:
    """Return an assembly with six coordinates more: a massless body and a free joint between a joint and its child."""
    position = next(k for k, connection in enumerate(assembly.connections) if connection.joint.name == joint)
    connection = assembly.connections[position]
    between = PortRef(RigidBody(f"{joint}/between", mass=0.0), None)
    inserted = (
        Connection(connection.parent, between, connection.joint, connection.placement),
        Connection(between, connection.child, Free(f"{joint}/opened"), Pose()),
    )
    order = [k + (k > position) for k in assembly.connect_order]
    return replace(
        assembly,
        connections=(*assembly.connections[:position], *inserted, *assembly.connections[position + 1 :]),
        connect_order=(*order, position + 1),
    )
