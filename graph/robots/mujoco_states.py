"""MuJoCo's ``qpos`` and ``qvel`` as titop's ``q`` and ``v``, and back.

The order is the same. Quaternions are (w, x, y, z) there and (x, y, z, w) here; velocities of a free joint's origin are in the
axes of the world there, in those of the body here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, quaternion_matrix
from titop.graph.network.network import Keyframe, Network


def from_mujoco(system: Network, qpos: Any, qvel: Any) -> tuple[Array, Array]:
    """Return the state of MuJoCo's: q (nq; m, rad and 1) and v (nv; m/s and rad/s), or stacks of them.

    Parameters
    ----------
    system : System
        As `from_mjcf` returns it.
    qpos : (..., nq) array_like
    qvel : (..., nv) array_like

    Returns
    -------
    q : array (nq, or stacked), m, rad and 1
    v : array (nv, or stacked), m/s and rad/s

    Raises
    ------
    ModelError
        If the numbers of coordinates differ.
    """
    q, v = np.array(qpos, float), np.array(qvel, float)
    for quaternion, twist in _quaternions(system, q, v):
        q[..., quaternion] = np.roll(q[..., quaternion], -1, axis=-1)
        v[..., twist] = _turned(q[..., quaternion], v[..., twist], back=True)
    return q, v


def to_mujoco(system: Network, q: Any, v: Any) -> tuple[Array, Array]:
    """Return MuJoCo's ``qpos`` (nq; m, rad and 1) and ``qvel`` (nv; m/s and rad/s) of a state, or of stacks.

    Parameters
    ----------
    system : System
        As `from_mjcf` returns it.
    q : (..., nq) array_like
    v : (..., nv) array_like

    Returns
    -------
    qpos : array (nq, or stacked), m, rad and 1
    qvel : array (nv, or stacked), m/s and rad/s

    Raises
    ------
    ModelError
        If the numbers of coordinates differ.
    """
    qpos, qvel = np.array(q, float), np.array(v, float)
    for quaternion, twist in _quaternions(system, qpos, qvel):
        qvel[..., twist] = _turned(qpos[..., quaternion], qvel[..., twist], back=False)
        qpos[..., quaternion] = np.roll(qpos[..., quaternion], 1, axis=-1)
    return qpos, qvel


def _quaternions(system: Network, q: Array, v: Array) -> Iterator[tuple[slice, slice]]:
    """Yield where quaternions are in `q`, and the linear velocities of free joints (none: of spherical ones) in `v`."""
    joints = [connection.joint for connection in system.connections]
    sizes = sum(joint.nq for joint in joints), sum(joint.nv for joint in joints)
    if (q.shape[-1:], v.shape) != ((sizes[0],), (*q.shape[:-1], sizes[1])):
        found, expected = f"{q.shape} and {v.shape}", f"(..., {sizes[0]}) and (..., {sizes[1]}), of the system's joints"
        raise ModelError(Finding("wrong-shape", "qpos, qvel", found, expected, "convert the state before more is connected"))
    iq = iv = 0
    for joint in joints:
        if joint.nq == joint.nv + 1:
            yield slice(iq + joint.nq - 4, iq + joint.nq), slice(iv, iv + joint.nv - 3)
        iq, iv = iq + joint.nq, iv + joint.nv


def _turned(quaternion: Array, velocity: Array, back: bool) -> Array:
    """Return velocities (..., 3) in the world's axes, or `back` in those of bodies with quaternions (..., 4); or none."""
    if not velocity.shape[-1]:
        return velocity
    flat = zip(quaternion.reshape(-1, 4), velocity.reshape(-1, 3), strict=True)
    turned = [quaternion_matrix(x).T @ y if back else quaternion_matrix(x) @ y for x, y in flat]
    return np.array(turned).reshape(velocity.shape)


def keyframe(system: Network, qpos: Any, qvel: Any) -> Keyframe:
    """Return a state of MuJoCo's by the names of the system's joints."""
    q, v = from_mujoco(system, qpos, qvel)
    joints = [connection.joint for connection in system.connections if connection.joint.nv]
    of_q = np.split(q, np.cumsum([joint.nq for joint in joints], dtype=int))[:-1]
    of_v = np.split(v, np.cumsum([joint.nv for joint in joints], dtype=int))[:-1]
    names = [joint.name for joint in joints]
    return Keyframe(*({name: _plain(part) for name, part in zip(names, parts, strict=True)} for parts in (of_q, of_v)))


def _plain(numbers: Array) -> Any:
    return float(numbers[0]) if numbers.size == 1 else numbers.tolist()
