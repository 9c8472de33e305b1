"""The motion of a port."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.mechanism.euler_angles import euler_angles, warn_of_gimbal_lock


class PortMotion(NamedTuple):
    """Motion of a port: `rotation` (3x3) and `position` (3, m) in the inertial frame, `twist` and `acceleration` in the port's.

    `twist` (6, m/s and rad/s) has its linear part first; `acceleration` (6, m/s^2 and rad/s^2) is the spatial acceleration less
    gravity's, ``A - G``.
    """

    rotation: Array
    position: Array
    twist: Array
    acceleration: Array


def motion_of_port(mechanism: Any, port: str, q: Any, v: Any, a: Any) -> PortMotion:
    """Return how a port of a mechanism moves at a state, which is read with care."""
    read = mechanism._read_q(q), mechanism._read_v("v", v), mechanism._read_v("a", a)
    motion: PortMotion = mechanism.engine.observations.port_motion(mechanism.read_port(port), *read)
    return motion


def turning_motion(mechanism: Any, port: str, q: Any, v: Any, a: Any) -> tuple[Array, Array]:
    """Return the motion vector (15; m, rad, s) of a `port` without Euler angles, and its rotation (3x3)."""
    motion = motion_of_port(mechanism, port, q, v, a)
    acceleration = motion.acceleration.copy()
    acceleration[:3] += motion.rotation.T @ mechanism.gravity
    return np.concatenate([acceleration, motion.twist, motion.rotation.T @ motion.position]), motion.rotation


def position_and_angles(mechanism: Any, port: str, q: Any, sequence: str) -> Array:
    """Return the position (3, m) of a `port` in the inertial frame, and its Euler angles (3, rad) of a `sequence`."""
    still = np.zeros(mechanism.nv)
    motion = motion_of_port(mechanism, port, q, still, still)
    angles = euler_angles(motion.rotation, sequence)
    warn_of_gimbal_lock(port, angles, sequence)
    return np.concatenate([motion.position, angles])
