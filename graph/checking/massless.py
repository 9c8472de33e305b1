"""Joints that move no inertia."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.paths import owner_of
from titop.blocks.bodies.rigid_body import RigidBody, is_rigid
from titop.blocks.devices.actuators import Motor
from titop.blocks.joints.joint import Joint, is_elementary
from titop.graph.checking.coordinate_names import full_name, moving_blocks
from titop.graph.checking.tree import tree_of
from titop.graph.network.kinematic import moves_no_inertia, no_inertia
from titop.graph.network.network import Network


def massless_leaves(system: Network) -> Iterator[tuple[bool, Finding]]:
    """Yield what is wrong (True): joints that move nothing with inertia, unless gears join them to others that do.

    A system in which nothing that moves has inertia is suspicious alone: it has no dynamics, but poses and Jacobians.
    """
    if moves_no_inertia(system.connections, _driven(system)):
        yield False, no_inertia(system.name)
        return
    idle = dict(_idle_joints(system))
    moving, geared = moving_blocks(system), nx.Graph()
    for gear in system.gears:
        geared.add_edge(full_name(moving, gear.driver), full_name(moving, gear.driven))
    groups = ({owner_of(coordinate): coordinate for coordinate in group} for group in nx.connected_components(geared))
    heavy = {coordinate for group in groups if group.keys() - idle for coordinate in group.values()}
    for name, joint in idle.items():
        if not {f"{name}.{own}" for own in joint.coordinates} <= heavy:
            yield True, massless_joint(name, "its subtree has no inertia")


def _driven(system: Network) -> set[str]:
    """Return the names of the joints that motors' rotors give inertia."""
    motors = (actuator for actuator in system.actuators if isinstance(actuator, Motor))
    return {owner_of(motor.joint) for motor in motors if motor.rotor_inertia > 0}


def _idle_joints(system: Network) -> Iterator[tuple[str, Joint]]:
    """Yield joints with coordinates whose whole subtree has no inertia, and which have none of their own, with their names."""
    tree, blocks_of = tree_of(system), dict(system.graph.nodes(data="block"))
    heavy: set[str] = set()
    driven = _driven(system)
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
