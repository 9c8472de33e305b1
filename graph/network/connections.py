"""Connections of blocks by joints, loops by closures and interactions, and joints that move no inertia."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array
from titop.blocks.constraints.closure import MultiplierClosure
from titop.blocks.contract.block import Block, PortRef, is_titops_own, overrides_method
from titop.blocks.joints.joint import Joint


@dataclass(frozen=True)
class Connection:
    """A child block connected to a parent's port by a joint."""

    parent: PortRef
    child: PortRef
    joint: Block  #: A joint, or any block with one child port ``C``.
    placement: Pose  #: Of the joint frame in the parent's port frame.


@dataclass(frozen=True)
class Joined:
    """A closure with its two ports, or an interaction with its ports and coordinates."""

    ports: tuple[PortRef, ...]
    closure: Any
    coordinates: tuple[str, ...] = ()  #: As motors name them.

    @property
    def word(self) -> str:
        """What it is: a closure holds without fail, an interaction by forces."""
        return "closure" if isinstance(self.closure, MultiplierClosure) else "interaction"

    @property
    def first(self) -> PortRef:
        """The first port."""
        return self.ports[0]

    @property
    def second(self) -> PortRef:
        """The second port."""
        return self.ports[1]

    @property
    def is_between_two_ports(self) -> bool:
        """Whether it acts on exactly two ports, which users named, and no coordinates."""
        return len(self.ports) == 2 and not self.coordinates and not self.closure.own_ports

    @property
    def named_ports(self) -> tuple[PortRef, ...]:
        """The ports that users named, without those that the closure knows itself."""
        return self.ports[len(self.closure.own_ports) :]

    @property
    def named_coordinates(self) -> tuple[str, ...]:
        """The coordinates that users named, without those that the closure knows itself."""
        return self.coordinates[len(self.closure.own_coordinates) :]

    @property
    def targets(self) -> tuple[PortRef | str, ...]:
        """Ports, then blocks of which it needs no telling, then coordinates."""
        return (*self.named_ports, *self.named_targets)

    @property
    def named_targets(self) -> tuple[str, ...]:
        """Those that are no ports, by name."""
        return (*(block.name for block in self.closure.own_blocks), *self.named_coordinates)


def reached(edges: Iterable[tuple[str, str]], start: str) -> set[str]:
    """Return the names to which edges lead from one, and this itself."""
    after: dict[str, list[str]] = {}
    for name, to in edges:
        after.setdefault(name, []).append(to)
    found, waiting = {start}, [start]
    while waiting:
        new = [name for name in after.pop(waiting.pop(), ()) if name not in found]
        found.update(new)
        waiting += new
    return found


def weighed(system: Any) -> list[Block]:
    """Return the blocks of a system that have inertia of their own: bodies, and joints that are more than joints."""
    blocks = (block for c in system.connections for block in (c.joint, c.child.block))
    return [block for block in blocks if not isinstance(block, Joint) or overrides_method(block, "mass_matrix", Joint)]


class TreeNode(NamedTuple):
    """A body or joint of a tree: its parent (`above`), whether it has coordinates, and whether it has inertia.

    The inertia of a heavy node counts for all nodes that carry it, an armature only for its own joint.
    """

    name: Hashable
    above: Hashable
    moves: bool
    is_heavy: bool
    has_armature: bool = False


def idle(nodes: Sequence[TreeNode]) -> list[Hashable]:
    """Return the names of nodes that move, but neither have nor carry inertia or armature."""
    above = {node.name: node.above for node in nodes}
    heavy: set[Hashable] = set()
    for node in nodes:
        name = node.name
        while node.is_heavy and name in above and name not in heavy:
            heavy.add(name)
            name = above[name]
    return [node.name for node in nodes if node.moves and not node.has_armature and node.name not in heavy]


def moves_no_inertia(nodes: Sequence[TreeNode], idle_ones: Collection[Hashable]) -> bool:
    """Tell whether there are moving nodes and all of them are `idle`; masses fixed to the world do not count."""
    return any(node.moves for node in nodes) and len(idle_ones) == sum(node.moves for node in nodes)


def nodes_of(
    connections: Iterable[Connection], driven: Collection[str] = (), along: Callable[[Array], bool] = any
) -> list[TreeNode]:
    """Return the bodies and joints of a system.

    `connections`: a tree, in any order; `driven`: names of joints that move the rotors of motors; `along`: `any` or `all`:
    whether a joint has armature if one, or only if each, of its coordinates has.
    """
    nodes = []
    for connection in connections:
        joint, body = connection.joint, connection.child.block
        is_plain = isinstance(joint, Joint) and is_titops_own(joint)
        has_armature = is_plain and (joint.name in driven or bool(along(joint.total_armature > 0)))  # type: ignore[attr-defined]
        nodes.append(TreeNode(joint.name, connection.parent.block.name, bool(joint.nv), not is_plain, has_armature))
        nodes.append(TreeNode(body.name, joint.name, bool(body.nv), _is_heavy(body)))
    return nodes


def _is_heavy(body: Block) -> bool:
    if not body.is_rigid:
        return True
    mass, _, inertia = body.mass_properties()
    return bool(mass or inertia.any())


def no_inertia(name: str) -> Finding:
    """Return the warning about a system, or a robot, in which no moving part has inertia."""
    expected = "masses, or armatures, for dynamics: poses, Jacobians and closures do without, accelerations are refused"
    return Finding("no-inertia", name, "no inertia that moves", expected, "give bodies mass if dynamics are wanted")
