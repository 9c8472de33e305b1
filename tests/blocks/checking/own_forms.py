"""Blocks of one's own with faster forms, branches and buffers, which complex steps do not pass through."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt
from tests.systems import Array


class Slider(tt.Block):
    """A mass of 2 kg along a line, with what its subclasses put on it."""

    coordinates, ports, units = ("x",), ("C",), ("m",)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        return np.eye(3) + 0 * q[0], np.array([q[0], 0 * q[0], 0 * q[0]])

    def mass_matrix(self, q: Array) -> Array:
        M = np.zeros((7, 7), q.dtype)
        M[6, 6] = 2.0
        return M


class Drag(Slider):
    """Quadratic drag, whose faster form has the right values and loses imaginary parts."""

    def damping_efforts(self, q: Array, v: Array) -> Array:
        return -0.3 * v * np.sqrt(v * v)

    def passive_efforts(self, q: Array, v: Array) -> Array:
        return -0.3 * v * np.abs(v)


class Stop(Slider):
    """A spring of 1000 N/m that begins 1.5 m away, and loses imaginary parts there alone."""

    def elastic_energy(self, q: Array) -> Any:
        return 500.0 * abs(q[0] - 1.5) ** 2 if q[0].real > 1.5 else 0.0 * q[0]


class Ellipse(tt.Block):
    """A massless slider on an ellipse, whose motion subspace is put into an array of floats."""

    coordinates, ports = ("angle",), ("C",)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        nothing = 0 * q[0]
        return np.eye(3) + nothing, np.array([np.cos(q[0]), 2 * np.sin(q[0]), nothing])

    def mass_matrix(self, q: Array) -> Array:
        return np.asarray(0.0 * q[0] * np.eye(7))

    def motion_subspace(self, port: str, q: Array) -> Array:
        S = np.zeros((6, 1))
        S[:2, 0] = [-np.sin(q[0].real), 2 * np.cos(q[0].real)]
        return S


class Crank(tt.Block):
    """An inertia that changes with the angle, returned in one array again and again."""

    coordinates, ports = ("angle",), ("C",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.M = np.zeros((7, 7))

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        return np.eye(3) + 0 * q[0], np.array([np.cos(q[0]), np.sin(q[0]), 0 * q[0]])

    def mass_matrix(self, q: Array) -> Array:
        self.M[6, 6] = 2.0 + np.sin(q[0])
        return self.M


def alone(block: tt.Block, engine: str, carried: bool = False) -> tt.Model:
    """Return a block on the world, perhaps with a mass of 1 kg at its port."""
    s = tt.System("alone", gravity=[0, 0, 0])
    s.connect("world", block, tt.Weld("weld"))
    if carried:
        s.connect(block.port("C"), tt.RigidBody("mass", 1.0), tt.Weld("bond"))
    return s.resolve(engine)
