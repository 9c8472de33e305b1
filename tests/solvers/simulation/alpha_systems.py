"""Systems for the generalised-alpha scheme."""

from __future__ import annotations

import numpy as np

import titop as tt
from tests.closed_systems import four_bar


def flying():
    """Return a free hub that carries a body on a spherical joint with a spring and a damper: model and state."""
    s = tt.System("flying", gravity=[0, 0, -9.81])
    hub = tt.RigidBody("hub", 3.0, [0.1, 0, 0.05], [0.2, 0.3, 0.4], ports={"A": [0.3, 0, 0]})
    body = tt.RigidBody("body", 1.0, [0, 0.1, 0.2], [0.05, 0.06, 0.03])
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("A"), body, tt.Spherical("ball", stiffness=np.diag([2.0, 3.0, 1.0]), damping=0.1))
    model = s.resolve()
    return model, model.neutral(), np.array([0.3, 0.1, 0.2, 1.0, 2.0, -1.0, 1.5, -2.0, 0.5])


def oscillator(frequency):
    """Return a mass on a spring: its model."""
    s = tt.System("oscillator", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 1.0), tt.Prismatic("x", stiffness=frequency**2))
    return s.resolve()


def padded(stiffness, damping=0.0):
    """Return a four-bar linkage closed by a stiff pad."""
    return four_bar(tt.CompliantClosure("pad", [*[stiffness] * 3, 0, 0, 0], [*[damping] * 3, 0, 0, 0])).resolve()


def swinging():
    """Return a swing of two bodies on spherical joints with springs: model and state."""
    s = tt.System("swing", gravity=[0, 0, -9.81])
    upper = tt.RigidBody("upper", 1.0, [0, 0, -0.5], [0.1, 0.1, 0.02], ports={"end": [0, 0, -1]})
    lower = tt.RigidBody("lower", 1.0, [0, 0, -0.5], [0.1, 0.1, 0.02])
    s.connect("world", upper, tt.Spherical("top", stiffness=10.0, damping=0.1))
    s.connect(upper.port("end"), lower, tt.Spherical("middle", stiffness=5.0))
    model = s.resolve()
    turned = model.integrate(model.neutral(), [0.8, -0.5, 0.3, -0.6, 0.4, 0.9])
    return model, turned, np.array([3.0, -2.0, 1.0, 1.0, 4.0, -3.0])


def stopped():
    """Return a cart of 1 kg at 3 m/s, 1 m from a stiff stop: model and state."""
    s = tt.System("buffer", gravity=[0, 0, 0])
    rail = tt.Prismatic("rail", limits=tt.Limits(upper=1.0, stiffness=1e8))
    s.connect("world", tt.RigidBody("cart", mass=1.0), rail)
    return s.resolve(), [0.0], [3.0]


def slammed():
    """Return a door of 20 kg at 2 rad/s, 1 rad from a stiff stop: model and state."""
    s = tt.System("door", gravity=[0, 0, 0])
    hinge = tt.Revolute("hinge", axis=[0, 0, 1], limits=tt.Limits(upper=1.0, stiffness=1e7))
    s.connect("world", tt.RigidBody("leaf", mass=20.0, com=[0.4, 0, 0], inertia=[0.1, 1.0, 1.0]), hinge)
    return s.resolve(), [0.0], [2.0]


def dropped():
    """Return a ball of 0.5 kg, 1 m above stiff ground: model and state."""
    s = tt.System("ball", gravity=[0, 0, -9.81])
    ball = tt.RigidBody("ball", mass=0.5)
    s.connect("world", ball, tt.Prismatic("up", axis=[0, 0, 1]))
    s.close_loop("world", ball, tt.Contact("ground", radius=0.1, stiffness=1e8))
    return s.resolve(), [1.1], [0.0]
