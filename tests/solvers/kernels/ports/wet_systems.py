"""Blocks that something surrounds."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt
from tests.solvers.kernels.laws.mixed_systems import Slider
from titop.blocks.basics.spatial import Array, cross


class Wet(tt.RigidBody):
    """A rigid body with added mass, less weight, drag, a spring to a point of the ground and a torque that seeks north."""

    def mass_matrix(self, q: Array | None = None) -> Array:
        """Return the inertia with that of the fluid."""
        return super().mass_matrix(q) + np.diag([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])

    def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
        """Return what follows from the whole inertia."""
        return tt.Block.gyroscopic(self, q, v, twist)

    def weight(self, q: Array) -> tuple[Any, Array]:
        """Return mass and first moment less those of the fluid."""
        return self.mass - 0.7, self.mass * self.com - 0.7 * np.array([0.0, 0.0, 0.1])

    def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
        """Return drag by the square of the speed, and the spring."""
        speed = np.sqrt(twist[:3] @ twist[:3] + 1e-6)
        force = -3.0 * speed * twist[:3] - rotation.T @ (4.0 * (position - np.array([0.1, 0.2, 0.3])))
        torque = cross(rotation.T @ np.array([0.0, 0.5, 0.0]), np.array([1.0, 0.0, 0.0])) - 0.2 * twist[3:]
        return np.concatenate([force, torque])

    def applied_energy(self, q: Array, rotation: Array, position: Array) -> Any:
        """Return what spring and torque store."""
        apart = position - np.array([0.1, 0.2, 0.3])
        return 2.0 * apart @ apart - rotation[1, 0] * 0.5


class Floating(Slider):
    """A block in plain Python that weighs less the farther it is out, in a fluid with currents."""

    def weight(self, q: Array) -> tuple[Any, Array]:
        """Return the mass and its first moment, less what is displaced."""
        _, position = self.pose("C", q)
        displaced = 0.3 + 0.1 * q[0] ** 2
        return 0.8 - displaced, (0.8 - displaced) * position

    def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
        """Return the drag of a current that grows with height."""
        current = rotation.T @ np.array([1.0 + 0.2 * position[2] ** 2, 0 * position[2], 0 * position[2]])
        efforts = np.zeros(7, np.result_type(q, v, twist, rotation, position))
        efforts[:3] = 0.4 * (current - twist[:3])
        efforts[6] = -0.1 * v[0] * twist[0] + 0.3 * q[0] * position[0]
        return efforts


def hung() -> tt.System:
    """Return a small tree: a wet body that carries a block in plain Python."""
    hub = Wet("hub", 6.0, [0.1, 0, 0], [0.6, 0.7, 0.8], ports={"A": [0, 0.5, 0]})
    s = tt.System("hung", gravity=[0.3, -9.0, 1.0])
    s.connect("world", hub, tt.Universal("base"))
    s.connect(hub.port("A"), Floating("slider"), tt.Revolute("hinge", axis=[1, 2, 3]))
    return s
