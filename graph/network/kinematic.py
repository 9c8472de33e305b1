"""Whether anything that moves has inertia: systems in which nothing does have poses and Jacobians, and no dynamics."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from titop.blocks.basics.errors import Finding
from titop.blocks.bodies.rigid_body import RigidBody, is_rigid
from titop.blocks.joints.joint import Joint, is_elementary
from titop.graph.network.connections import Connection


def moves_no_inertia(connections: Iterable[Connection], driven: Collection[str] = ()) -> bool:
    """Tell whether there are coordinates, and no inertia that any of them moves: masses on the world do not count.

    Parameters
    ----------
    connections : iterable of Connection
        A tree, in any order.
    driven : collection of str
        Names of joints that move the rotors of motors.
    """
    below = {connection.child.block.name: connection for connection in connections}
    if not any(connection.joint.nv for connection in below.values()):
        return False
    moving: dict[str, bool] = {"world": False}
    for name, connection in below.items():
        joint, body = connection.joint, connection.child.block
        _find_moving(name, below, moving)
        if moving[name] and isinstance(body, RigidBody) and (body.mass or body.inertia.any()):
            return False
        if not is_elementary(joint) or not is_rigid(body) or _has_inertia(joint, driven):
            return False
    return True


def _has_inertia(joint: object, driven: Collection[str]) -> bool:
    return isinstance(joint, Joint) and (joint.name in driven or bool(joint.total_armature.any()))


def _find_moving(name: str, below: dict[str, Connection], moving: dict[str, bool]) -> None:
    """Find whether a body moves, and all on its way to the world."""
    way = []
    while name not in moving:
        way.append(name)
        name = below[name].parent.block.name if name in below else "world"
    for each in reversed(way):
        moving[each] = moving[name] or (each in below and bool(below[each].joint.nv))
        name = each


def no_inertia(name: str) -> Finding:
    """Return what is suspicious about a system, or a robot, in which nothing that moves has inertia."""
    expected = "masses, or armatures, for dynamics: poses, Jacobians and closures do without, accelerations are refused"
    return Finding("no-inertia", name, "no inertia that moves", expected, "give bodies mass if dynamics are wanted")
