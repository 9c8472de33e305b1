"""A mass on a rail, and controllers for it."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
from numpy.typing import NDArray

import titop as tt

Array = NDArray[np.float64]

MASS = 2.0


def slider(engine: str = "compiled", limit: float = np.inf, **passive: Any) -> tt.Model:
    """Return a mass on a rail along x, with a motor, an accelerometer and sensors of position and velocity."""
    s = tt.System("slider", gravity=[0, 0, 0])
    mass = tt.RigidBody("mass", mass=MASS)
    s.connect("world", mass, tt.Prismatic("rail", axis=[1, 0, 0], **passive))
    s.add_actuator(tt.Motor("motor", "rail", effort_limit=limit))
    s.add_sensor(tt.Encoder("ruler", "rail"))
    s.add_sensor(tt.Tachometer("speed", "rail"))
    s.add_sensor(tt.Accelerometer("accelerometer", mass))
    return s.resolve(engine)


def gain(*values: float, inputs: Any = ("rail_q", "rail_v"), outputs: Any = ("motor",), dt: Any = None) -> Any:
    """Return a static state space."""
    return control.ss([], [], [], [values], dt, inputs=list(inputs), outputs=list(outputs))


def held(step: float) -> tuple[Array, Array]:
    """Return the exact discrete-time matrices of the mass under a held force."""
    return np.array([[1.0, step], [0.0, 1.0]]), np.array([step**2 / 2, step]) / MASS


def state(trajectory: tt.Trajectory) -> Array:
    return np.column_stack([trajectory.q, trajectory.v])


def largest(x: Any) -> float:
    return float(np.abs(x).max())


def lead() -> Any:
    """Return a stable controller of second order."""
    A, B, C, D = [[-4.0, 1.0], [0.0, -9.0]], [[0.0], [1.0]], [[-30.0, 60.0]], [[25.0]]
    return control.ss(A, B, C, D, inputs=["ruler"], outputs=["motor"])


def controller(**changes: Any) -> tt.Controller:
    fields = {"update": lambda t, x, y, r: (x, y), "initial_state": [0.0], "inputs": ["rail.q"], "outputs": ["motor"]}
    return tt.Controller(**(fields | {"sample_time": 0.1} | changes))
