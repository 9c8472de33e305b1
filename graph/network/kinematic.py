"""What moves no inertia: joints that carry none, and systems in which nothing does, of poses and Jacobians without dynamics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import NamedTuple

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.rigid_body import RigidBody, is_rigid
from titop.blocks.contract.block import Block
from titop.blocks.joints.joint import Joint, is_elementary
from titop.graph.network.connections import Connection


class Node(NamedTuple):
    """A body or joint of a tree: what it hangs on, whether it moves by itself, and whether it has inertia of its own."""

    name: Hashable
    above: Hashable
    moves: bool
    is_heavy: bool


def idle(nodes: Sequence[Node]) -> list[Hashable]:
    """Return the names of those that move, have no inertia, and carry none."""
    above = {node.name: node.above for node in nodes}
    heavy: set[Hashable] = set()
    for node in nodes:
        name = node.name
        while node.is_heavy and name in above and name not in heavy:
            heavy.add(name)
            name = above[name]
    return [node.name for node in nodes if node.moves and node.name not in heavy]


def moves_no_inertia(nodes: Sequence[Node]) -> bool:
    """Tell whether something moves, and nothing that moves has inertia: masses on the world do not count."""
    moving = sum(node.moves for node in nodes)
    return bool(moving) and len(idle(nodes)) == moving


def nodes_of(
    connections: Iterable[Connection], driven: Collection[str] = (), along: Callable[[Array], bool] = any
) -> list[Node]:
    """Return the bodies and joints of a system.

    Parameters
    ----------
    connections : iterable of Connection
        A tree, in any order.
    driven : collection of str
        Names of joints that move the rotors of motors.
    along : callable
        `any` or `all`: along how many of its coordinates a joint needs armature to count as heavy.
    """
    nodes = []
    for connection in connections:
        joint, body = connection.joint, connection.child.block
        nodes.append(Node(joint.name, connection.parent.block.name, bool(joint.nv), _has_inertia(joint, driven, along)))
        is_heavy = not is_rigid(body) or (isinstance(body, RigidBody) and bool(body.mass or body.inertia.any()))
        nodes.append(Node(body.name, joint.name, bool(body.nv), is_heavy))
    return nodes


def _has_inertia(joint: Block, driven: Collection[str], along: Callable[[Array], bool]) -> bool:
    """Tell whether a joint moves something of its own; users' own ones may."""
    if not isinstance(joint, Joint) or not is_elementary(joint):
        return True
    return bool(joint.nv) and (joint.name in driven or bool(along(joint.total_armature > 0)))


def no_inertia(name: str) -> Finding:
    """Return what is suspicious about a system, or a robot, in which nothing that moves has inertia."""
    expected = "masses, or armatures, for dynamics: poses, Jacobians and closures do without, accelerations are refused"
    return Finding("no-inertia", name, "no inertia that moves", expected, "give bodies mass if dynamics are wanted")
