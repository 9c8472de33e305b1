"""Joints that move no inertia."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.paths import owner_of
from titop.blocks.devices.actuators import Motor
from titop.graph.checking.coordinate_names import full_name, moving_blocks
from titop.graph.network.kinematic import idle, moves_no_inertia, no_inertia, nodes_of
from titop.graph.network.network import Network


def massless_leaves(system: Network) -> Iterator[tuple[bool, Finding]]:
    """Yield what is wrong (True): joints that move nothing with inertia, unless gears join them to others that do.

    A system in which nothing that moves has inertia is suspicious alone: it has no dynamics, but poses and Jacobians.
    """
    driven = _driven(system)
    nodes = nodes_of(system.connections, driven)
    if moves_no_inertia(nodes, idle(nodes)):
        yield False, no_inertia(system.name)
        return
    joints = {connection.joint.name: connection.joint for connection in system.connections}
    found = [str(name) for name in idle(nodes_of(system.connections, driven, all))]
    moving, geared = moving_blocks(system), nx.Graph()
    for gear in system.gears:
        geared.add_edge(full_name(moving, gear.driver), full_name(moving, gear.driven))
    groups = ({owner_of(coordinate): coordinate for coordinate in group} for group in nx.connected_components(geared))
    heavy = {coordinate for group in groups if group.keys() - set(found) for coordinate in group.values()}
    for name in found:
        if not {f"{name}.{own}" for own in joints[name].coordinates} <= heavy:
            yield True, massless_joint(name, "its subtree has no inertia")


def _driven(system: Network) -> set[str]:
    """Return the names of the joints that motors' rotors give inertia."""
    motors = (actuator for actuator in system.actuators if isinstance(actuator, Motor))
    return {owner_of(motor.joint) for motor in motors if motor.rotor_inertia > 0}


def massless_joint(name: str, what: str) -> Finding:
    """Return the finding for a joint that moves no inertia."""
    return Finding(
        "massless-joint",
        name,
        what,
        "inertia to move along every coordinate",
        "give its bodies mass or inertia, give the joint an armature, or weld it",
    )
