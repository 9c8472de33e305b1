"""The elements of the compiled resolver as parts of the elimination (see `titop.solvers.mechanism.conditioning`).

Each element is two parts in one frame: its joint, and the body or general block that the joint carries.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from titop.blocks.basics.spatial import Array, rigid_inertia, twist_transport
from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.contract.block import PortRef
from titop.solvers.kernels.interface import layout
from titop.solvers.mechanism.conditioning import Part


@np.errstate(all="ignore")  # numbers out of range have no pivots
def element_parts(
    ints: Array, floats: Array, frames: Array, bodies: Mapping[int, PortRef], law: Array, work: Array
) -> list[Part]:
    """Return the world and, for each element, its joint and what that carries.

    Parameters
    ----------
    ints, floats, law, work : arrays
        The kernels' tables, the laws of general blocks and known poses (see `kernels.layout`).
    frames : (elements, 12) array
        Poses of the bodies' reference frames in their elements.
    bodies : mapping of row to PortRef
        The bodies by their elements, with the ports on which they hang.
    """
    parts = [Part(-1, slice(0, 0), np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6)))]
    for i in range(1, ints[0, layout.ELEMENTS]):
        subspace = _subspace(ints, floats, i)
        n, first = subspace.shape[1], ints[i, layout.V]
        armature = np.diag(np.concatenate([np.zeros(6), floats[i, layout.ARMATURE :][:n]]))
        joint = Part(2 * ints[i, layout.PARENT], slice(first, first + n), armature, np.zeros(armature.shape), np.zeros((0, 0)))
        parts.append(joint._replace(transport=_from_parent(ints, law, work, i)))
        own = slice(ints[i, layout.OWN_V], ints[i, layout.OWN_V] + ints[i, layout.OWN])
        inertia, rounded = _inertia(ints, floats, frames, bodies, law, i)
        parts.append(Part(2 * i - 1, own, inertia, rounded, np.hstack([np.eye(6), subspace])))
    return parts


def _subspace(ints: Array, floats: Array, i: int) -> Array:
    """Return the motion (6 x n) of an element's joint."""
    kind, axes = ints[i, layout.KIND], np.eye(6)
    if kind == layout.AXIAL:
        return axes[:, [2]] * floats[i, layout.LINEAR] + axes[:, [5]] * floats[i, layout.ANGULAR]
    return axes[:, {layout.WELD: 6, layout.SPHERICAL: 3, layout.FREE: 0}[kind] :]


def _from_parent(ints: Array, law: Array, work: Array, i: int) -> Array:
    """Return the transport from an element's parent, and its own coordinates, to the element."""
    p, o = ints[i, layout.PARENT], ints[i, layout.PORT]
    onto = twist_transport(work[i, layout.R :][:9].reshape(3, 3), work[i, layout.P :][:3])
    n = ints[p, layout.OWN] if p else 0  # the row of the world is the header
    if o < 0:
        return np.hstack([onto, np.zeros((6, n))])
    at_port = twist_transport(law[o:][:9].reshape(3, 3), law[o + layout.PORT_P :][:3])
    return onto @ np.hstack([at_port, law[o + layout.PORT_S :][: 6 * n].reshape(6, n)])


def _inertia(
    ints: Array, floats: Array, frames: Array, bodies: Mapping[int, PortRef], law: Array, i: int
) -> tuple[Array, Array]:
    """Return the inertia of what an element's joint carries, and what turning and moving it there has rounded."""
    o, size = ints[i, layout.LAW], 6 + ints[i, layout.OWN]
    if o >= 0:
        return law[o:][: size * size].reshape(size, size).copy(), np.zeros((size, size))
    body = bodies[i].block if i in bodies else None
    if not isinstance(body, RigidBody):
        return np.zeros((6, 6)), np.zeros((6, 6))
    turn = np.kron(np.eye(2), frames[i, :9].reshape(3, 3))
    com = floats[i, layout.MOMENT :][:3] / body.mass if body.mass else np.zeros(3)
    xx, yy, zz, xy, xz, yz = floats[i, layout.INERTIA :][:6]
    inertia = rigid_inertia(body.mass, com, np.zeros((3, 3)))
    inertia[3:, 3:] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    squares = body.com**2 + body.pose(bodies[i].name)[1] ** 2
    given = np.diag(body.inertia) + 2 * body.mass * (squares.sum() - squares)
    return inertia, turn @ np.diag([*np.full(3, body.mass), *given]) @ turn.T
