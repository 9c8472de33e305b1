"""The elements of the compiled resolver as parts of the elimination (see `titop.solvers.mechanism.conditioning`).

Each element is two parts in one frame: its joint, and the body or general block that the joint carries.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from titop.blocks.basics.spatial import Array, cross, twist_transport
from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.contract.block import PortRef
from titop.solvers.kernels.interface import layout
from titop.solvers.mechanism.conditioning import Part

#: Where the entries of a symmetric matrix (3x3) stand among xx, yy, zz, xy, xz and yz.
_SYMMETRIC = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])
_AXES = np.eye(6)


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
    inertias, rounded = _rigid_inertias(ints, floats, frames, bodies)
    parts = [Part(-1, slice(0, 0), np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6)))]
    for i in range(1, ints[0, layout.ELEMENTS]):
        subspace = _subspace(ints, floats, i)
        n, first = subspace.shape[1], ints[i, layout.V]
        armature = np.diag(np.concatenate([np.zeros(6), floats[i, layout.ARMATURE :][:n]]))
        transport = _from_parent(ints, law, work, i)
        parts.append(Part(2 * ints[i, layout.PARENT], slice(first, first + n), armature, np.zeros(armature.shape), transport))
        own = slice(ints[i, layout.OWN_V], ints[i, layout.OWN_V] + ints[i, layout.OWN])
        size, o = 6 + ints[i, layout.OWN], ints[i, layout.LAW]
        inertia = inertias[i] if o < 0 else law[o:][: size * size].reshape(size, size)
        parts.append(
            Part(2 * i - 1, own, inertia, rounded[i] if o < 0 else np.zeros((size, size)), np.hstack([_AXES, subspace]))
        )
    return parts


def _subspace(ints: Array, floats: Array, i: int) -> Array:
    """Return the motion (6 x n) of an element's joint."""
    kind = ints[i, layout.KIND]
    if kind == layout.AXIAL:
        return _AXES[:, [2]] * floats[i, layout.LINEAR] + _AXES[:, [5]] * floats[i, layout.ANGULAR]
    return _AXES[:, {layout.WELD: 6, layout.SPHERICAL: 3, layout.FREE: 0}[kind] :]


def _from_parent(ints: Array, law: Array, work: Array, i: int) -> Array:
    """Return the transport from an element's parent, and its own coordinates, to the element."""
    p, o = ints[i, layout.PARENT], ints[i, layout.PORT]
    onto = twist_transport(work[i, layout.R :][:9].reshape(3, 3), work[i, layout.P :][:3])
    n = ints[p, layout.OWN] if p else 0  # the row of the world is the header
    if o < 0:
        return np.hstack([onto, np.zeros((6, n))])
    at_port = twist_transport(law[o:][:9].reshape(3, 3), law[o + layout.PORT_P :][:3])
    return onto @ np.hstack([at_port, law[o + layout.PORT_S :][: 6 * n].reshape(6, n)])


def _rigid_inertias(ints: Array, floats: Array, frames: Array, bodies: Mapping[int, PortRef]) -> tuple[Array, Array]:
    """Return the inertias (elements, 6, 6) of rigid bodies in their elements, and what turning and moving them has rounded."""
    inertias, rounded = np.zeros((2, ints[0, layout.ELEMENTS], 6, 6))
    moved = {
        i: _rounded(hung.block, hung.name)
        for i, hung in bodies.items()
        if isinstance(hung.block, RigidBody) and ints[i, layout.LAW] < 0
    }
    rows, diagonals = list(moved), np.array([*moved.values()]).reshape(-1, 1, 6)
    turns, moments = frames[rows, :9].reshape(-1, 3, 3), floats[rows, None, layout.MOMENT : layout.MOMENT + 3]
    inertias[rows, :3, :3] = rounded[rows, :3, :3] = diagonals[..., :3] * np.eye(3)
    rounded[rows, 3:, 3:] = (turns * diagonals[..., 3:]) @ turns.transpose(0, 2, 1)
    inertias[rows, :3, 3:], inertias[rows, 3:, :3] = cross(moments, np.eye(3)), cross(np.eye(3), moments)
    inertias[rows, 3:, 3:] = floats[rows, layout.INERTIA : layout.INERTIA + 6][:, _SYMMETRIC]
    return inertias, rounded


def _rounded(body: RigidBody, port: str | None) -> Array:
    """Return the diagonal (6; kg, kg m^2) of what moving a body's inertia to the port on which it hangs has rounded."""
    squares = body.com**2 + body.pose(port)[1] ** 2
    return np.concatenate([np.full(3, body.mass), np.diag(body.inertia) + 2 * body.mass * (squares.sum() - squares)])
