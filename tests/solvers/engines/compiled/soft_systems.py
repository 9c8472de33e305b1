"""Systems with general blocks to differentiate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import titop as tt
from tests.systems import random_body
from titop.blocks.basics.spatial import rotation_exp

Array = NDArray[np.float64]


class Soft(tt.Block):
    """Three coordinates and two ports; pose, inertia, elasticity and gyroscopic terms all vary with the coordinates."""

    coordinates = ("a", "b", "c")
    ports: tuple[str, ...] = ("C", "D")

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(name)
        rng = np.random.default_rng(seed)
        self.shape, self.bend = 0.4 * rng.normal(size=(2, 6, 3)), 0.3 * rng.normal(size=(2, 3, 3))
        self.position, self.inertia = rng.normal(size=(2, 3)), rng.normal(size=(3, 9, 9))

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        k = self.ports.index(port)
        x, y = self.shape[k] @ q, self.bend[k] @ (q * q)
        return rotation_exp(x[3:] + 0.2 * y), self.position[k] + x[:3] + y

    def mass_matrix(self, q: Array) -> Array:
        root = self.inertia[0] + 0.3 * np.sin(q[0]) * self.inertia[1] + 0.2 * q[1] * q[2] * self.inertia[2]
        return root @ root.T + np.eye(9)

    def elastic_energy(self, q: Array) -> Any:
        return 2 * q @ q + 0.5 * q[0] ** 4 + q[1] ** 2 * q[2] ** 2

    def damping_efforts(self, q: Array, v: Array) -> Array:
        return -0.3 * v


class SoftJoint(Soft):
    ports = ("C",)


def soft_system() -> tt.System:
    """Return bodies, soft blocks with two ports and as a joint, and loads on ports of both kinds in both frames."""
    s = tt.System("soft", gravity=[1, 2, -9.81])
    bodies = [random_body(np.random.default_rng(k), f"b{k}") for k in range(5)]
    soft = Soft("soft", 1)
    s.connect("world", bodies[0], tt.Free("base"))
    s.connect(bodies[0].port("A"), soft, tt.Revolute("root", [1, 2, 3]))
    s.connect(soft.port("C"), bodies[1], tt.Universal("left"))
    s.connect(soft.port("D"), bodies[2], tt.Weld("weld"))
    s.connect(soft.port("D"), bodies[3], tt.Spherical("ball", stiffness=1.0))
    s.connect(bodies[3].port("B"), bodies[4], SoftJoint("bend", 2))
    s.add_load(tt.Load("fixed", soft.port("C"), force=[1, 2, 3], torque=[0.3, 0.2, 0.1], frame="world"))
    s.add_load(tt.Load("turning", soft.port("D"), force=[1, -2, 3], torque=[0.3, 0.2, 0.1]))
    s.add_load(tt.Load("root-push", soft, force=[1, -2, -3], frame="world"))
    s.add_load(tt.Load("tip", bodies[4].port("A"), force=[1, -2, -3], frame="world"))
    return s
