"""What moves no inertia: joints that carry none, and systems in which nothing does, of poses and Jacobians without dynamics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import NamedTuple

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block
from titop.blocks.joints.joint import Joint, is_elementary
from titop.graph.network.connections import Connection


class Node(NamedTuple):
    """A body or joint of a tree: what it hangs on, whether it moves by itself, and what it says of inertia.

    What is heavy is felt by all that carries it, an armature by its own coordinates alone.
    """

    name: Hashable
    above: Hashable
    moves: bool
    is_heavy: bool
    has_armature: bool = False


def idle(nodes: Sequence[Node]) -> list[Hashable]:
    """Return the names of those that move, have no inertia or armature, and carry no inertia."""
    above = {node.name: node.above for node in nodes}
    heavy: set[Hashable] = set()
    for node in nodes:
        name = node.name
        while node.is_heavy and name in above and name not in heavy:
            heavy.add(name)
            name = above[name]
    return [node.name for node in nodes if node.moves and not node.has_armature and node.name not in heavy]


def moves_no_inertia(nodes: Sequence[Node], idle_ones: Collection[Hashable]) -> bool:
    """Tell whether something moves, all of it `idle`: masses on the world do not count."""
    return any(node.moves for node in nodes) and len(idle_ones) == sum(node.moves for node in nodes)


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
        `any` or `all`: along how many of its coordinates a joint needs armature to have some.
    """
    nodes = []
    for connection in connections:
        joint, body = connection.joint, connection.child.block
        is_plain = isinstance(joint, Joint) and is_elementary(joint)
        has_armature = is_plain and (joint.name in driven or bool(along(joint.total_armature > 0)))  # type: ignore[attr-defined]
        nodes.append(Node(joint.name, connection.parent.block.name, bool(joint.nv), not is_plain, has_armature))
        nodes.append(Node(body.name, joint.name, bool(body.nv), _is_heavy(body)))
    return nodes


def _is_heavy(body: Block) -> bool:
    """Tell whether a body has inertia; what is no rigid body has."""
    if not body.is_rigid:
        return True
    mass, _, inertia = body.mass_properties()
    return bool(mass or inertia.any())


def no_inertia(name: str) -> Finding:
    """Return what is suspicious about a system, or a robot, in which nothing that moves has inertia."""
    expected = "masses, or armatures, for dynamics: poses, Jacobians and closures do without, accelerations are refused"
    return Finding("no-inertia", name, "no inertia that moves", expected, "give bodies mass if dynamics are wanted")
