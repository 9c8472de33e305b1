"""Small models that are simulated, and how close their motions are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import titop as tt

Array = NDArray[np.float64]

GRAVITY = 9.81


def pendulum(length: float = 0.7, mass: float = 2.0, name: str = "hinge", **passive: Any) -> tt.System:
    """Return a point mass that swings about x."""
    s = tt.System("pendulum", gravity=[0, 0, -GRAVITY])
    bob = tt.RigidBody("bob", mass=mass, com=[0, 0, -length], ports={"com": [0, 0, -length]})
    s.connect("world", bob, tt.Revolute(name, axis=[1, 0, 0], **passive))
    return s


def slider(mass: float = 2.0, **passive: Any) -> tt.Model:
    """Return a point mass on a rail along x, without gravity."""
    s = tt.System("slider", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", mass=mass), tt.Prismatic("rail", axis=[1, 0, 0], **passive))
    return s.resolve()


def single_body(body: tt.RigidBody, joint: tt.Joint, gravity: Any = (0, 0, 0)) -> tt.Model:
    """Return a body on a joint on the world."""
    s = tt.System("single", gravity=gravity)
    s.connect("world", body, joint)
    return s.resolve()


def largest(x: Any) -> float:
    """Return the largest absolute value."""
    return float(np.abs(x).max())


def moving(trajectory: tt.Trajectory) -> Any:
    """Return the states ``(q, v, a)`` of a trajectory."""
    return zip(trajectory.q, trajectory.v, trajectory.a, strict=True)


def shaken(t: float) -> tuple[float, float, float]:
    """Return position, velocity and acceleration of a support."""
    return 0.2 * np.sin(3 * t), 0.6 * np.cos(3 * t), -1.8 * np.sin(3 * t)


def cart() -> tt.Model:
    """Return a pendulum of 0.7 m and 2 kg that hangs on a cart of 1 kg; the cart rolls along y."""
    s = tt.System("cart", gravity=[0, 0, -GRAVITY])
    wagon, bob = tt.RigidBody("wagon", mass=1.0), tt.RigidBody("bob", mass=2.0, com=[0, 0, -0.7])
    s.connect("world", wagon, tt.Prismatic("track", axis=[0, 1, 0]))
    s.connect(wagon, bob, tt.Revolute("hinge", axis=[1, 0, 0]))
    return s.resolve()
