"""Systems to linearise, with inputs and outputs of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import titop as tt

Array = NDArray[np.float64]

#: Sixth-order differences with a step of 1e-3 of numbers near 100: about 1e-10.
BY_DIFFERENCES = 1e-8

#: Sixth-order central difference: offset in steps, weight.
STENCIL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))


def polynomial(q: Array, v: Array, a: Array, u: Array) -> Array:
    """Return something smooth."""
    return np.array([q[0] * v[1] + a[2] * u[0] + q[4] ** 2, np.sin(q[7])])


def rough(q: Array, v: Array, a: Array, u: Array) -> Any:
    """Return something that complex steps cannot follow."""
    return abs(q[3]) * v[0] + np.linalg.norm(v)


OUTPUTS = [
    *("base.q", "base.rx.a", "elbow.v", "elbow.first.a", "elbow.tau", "wheel.tau", "elbow.reaction[2]", "base.reaction"),
    *("gyro", "accelerometer", "encoder", "rate", "load_cell", "pose", "wheel/momentum"),
    *("arm.tip.dv", "arm.tip.dw", "arm.tip.v", "arm.tip.w", "arm.tip.r", "arm.tip.theta", "hub.nozzle.r", "arm.dv"),
    *(("polynomial", polynomial), rough),
]
WRENCHES = ["arm.tip", "hub.nozzle.F"]
FORWARD = ["base.rx", "elbow", "drive", "push", "thruster", "wheel/motor", "twist", *WRENCHES]
HYBRID = ["base.rx", "elbow.first", "elbow.second.a", "push", "wheel.a", "twist", *WRENCHES]


def cart(masses: tuple[float, float, float] = (2.0, 0.5, 0.3), lengths: tuple[float, float] = (0.4, 0.6)) -> tt.System:
    """Return a cart with two point-mass pendulums, upright at zero."""
    (m0, m1, m2), (l1, l2) = masses, lengths
    body, first = tt.RigidBody("cart", m0), tt.RigidBody("first", m1, com=[0, 0, l1], ports={"tip": [0, 0, l1]})
    s = tt.System("cart with double pendulum", gravity=[0, 0, -9.81])
    s.connect("world", body, tt.Prismatic("rail", axis=[1, 0, 0], damping=0.3))
    s.connect(body, first, tt.Revolute("lower", axis=[0, 1, 0], damping=0.05))
    s.connect(
        first.port("tip"), tt.RigidBody("second", m2, com=[0, 0, l2]), tt.Revolute("upper", axis=[0, 1, 0], stiffness=0.7)
    )
    return s


def top(spin: float, moments: tuple[float, float, float] = (2.0, 2.0, 3.0)) -> tuple[tt.Model, tt.OperatingPoint]:
    """Return a free body that spins about its third axis."""
    s = tt.System("top", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("body", 5.0, inertia=moments), tt.Free("base"))
    model = s.resolve()
    return model, tt.OperatingPoint(model, model.neutral(), model.velocity({"base.rz": spin}))
