"""How long the bodies of a system are: the length that counts as one where lengths are compared with angles.

What stands still does not count where bodies tell a length, nor do ports that nothing joins: a frame on the far side of the
earth, or a target a thousand kilometres away, makes no mechanism larger.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.joints.joint import Joint
from titop.graph.network.assembly import Assembly
from titop.graph.network.connections import PortRef


def extent_of(assembly: Assembly) -> float:
    """Return the largest distance (m) of a joint, a closure or a centre of mass from the frame of its body.

    Of bodies without any, how far the joints and closures on the world are apart; zero if these are in one place as well.
    Bodies that deform count as they are without deformation.
    """
    own = [place for name, place in _joined_places(assembly) if name != "world"]
    own += [np.asarray(getattr(block, "com", np.zeros(3))) for block in assembly.blocks.values()]
    if longest := max((float(np.linalg.norm(place)) for place in own), default=0.0):
        return longest
    fixed = [place for name, place in _joined_places(assembly) if name == "world"]
    return max((float(np.linalg.norm(place - fixed[0])) for place in fixed), default=0.0)


def _joined_places(assembly: Assembly) -> Iterator[tuple[str, Array]]:
    """Yield the names of bodies and where joints, closures and interactions hold on to them (3, in their frames)."""
    for connection in assembly.connections:
        rotation, position = _port_pose(connection.parent)
        yield connection.parent.block.name, position + rotation @ connection.placement.position
        yield connection.child.block.name, _port_pose(connection.child)[1]
        if not isinstance(connection.joint, Joint):
            yield connection.joint.name, connection.joint.pose(connection.joint.ports[0], connection.joint.neutral())[1]
    for loop in assembly.loops:
        for ref in loop.ports:
            yield ref.block.name, _port_pose(ref)[1]


def _port_pose(ref: PortRef) -> tuple[Array, Array]:
    """Return rotation and position of a port in its body's frame."""
    block = ref.block
    return block.pose(ref.name, block.neutral()) if ref.name in block.ports else (np.eye(3), np.zeros(3))
