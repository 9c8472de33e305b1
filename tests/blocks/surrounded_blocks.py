"""Blocks in fluids and on springs."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array, rigid_inertia


class Kite(tt.Block):
    """A body on a spring to a point of the ground, with one coordinate along which a wind blows."""

    coordinates = ("reel",)
    ports = ("C",)
    parameter_units: ClassVar = {"stiffness": "N/m"}

    def __init__(self, name: str = "kite", stiffness: float = 3.0) -> None:
        super().__init__(name)
        self.stiffness = stiffness

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return where the reel has come to."""
        return np.eye(3) + 0 * q[0], np.array([q[0], 0 * q[0], 0.5 + 0 * q[0]])

    def mass_matrix(self, q: Array) -> Array:
        """Return a body's inertia, and the reel's."""
        M = np.zeros((7, 7), q.dtype)
        M[:6, :6] = rigid_inertia(2.0, [0.0, 0.1, 0.2], 0.1 * np.eye(3))
        M[6, 6] = 0.3
        return M

    def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
        """Return spring and wind."""
        force = -self.stiffness * (rotation.T @ position) - 0.3 * twist[:3] * np.sqrt(twist[:3] @ twist[:3] + 1.0)
        return np.concatenate([force, np.zeros(3), [2.0 * q[0] - 0.1 * v[0]]])

    def applied_energy(self, q: Array, rotation: Array, position: Array) -> Any:
        """Return what the spring stores."""
        return 0.5 * self.stiffness * position @ position - q[0] ** 2
