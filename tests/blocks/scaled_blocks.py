"""Blocks of one's own in any unit of length, mass and time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import titop as tt

Array = NDArray[np.float64]

#: Twelve decades of length, mass and time.
DECADES = 10.0 ** np.arange(-6.0, 7.0, 2.0)

#: Second derivatives by differences of exact first ones leave 1e-13, of differences 1e-11.
ACCURACY = 1e-10


class Lever(tt.Block):
    """A massive lever of a length (m), hinged about z at its base; coordinate: how far its tip is off the x axis (m)."""

    coordinates, ports = ("deflection",), ("C",)

    def __init__(self, name: str, length: float, mass: float, rate: float) -> None:
        super().__init__(name)
        self.length, self.mass, self.stiffness = length, mass, 3.0 * mass * rate**2

    def cosine(self, sine: Any) -> Any:
        return np.sqrt(1.0 - sine * sine)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        s, z = q[0] / self.length, 0 * q[0]
        c = self.cosine(s)
        return np.array([[c, -s, z], [s, c, z], [z, z, 1.0 + z]]), self.length * np.array([c, s, z])

    def mass_matrix(self, q: Array) -> Array:
        """A point mass at the tip, and a small wheel there that turns with the lever."""
        s = q[0] / self.length
        c, z = self.cosine(s), 0 * s
        lever = self.length * np.array([c, s, z])
        cross = np.array([[z, -z, lever[1]], [z, z, -lever[0]], [-lever[1], lever[0], z]])
        moves = np.hstack([np.eye(3), cross, np.array([[-s / c], [1 + z], [z]])])
        turns = np.hstack([np.zeros((3, 3)), np.eye(3), np.array([[z], [z], [1 / (self.length * c)]])])
        return self.mass * (moves.T @ moves + 0.1 * self.length**2 * turns.T @ turns)

    def elastic_energy(self, q: Array) -> Any:
        return 0.5 * self.stiffness * q[0] ** 2


class RealLever(Lever):
    """Loses imaginary parts."""

    def cosine(self, sine: Any) -> Any:
        return np.sqrt(1.0 - np.real(sine) ** 2)
