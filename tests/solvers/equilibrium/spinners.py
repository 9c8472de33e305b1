"""Pendulums and spinning shafts with their equilibria in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

import titop as tt

#: Equations near 10 solved to rounding, times their condition.
ROUNDING = 1e-11

GRAVITY = 9.81


def swing(**passive: Any) -> tt.Model:
    """Return a pendulum of 2 kg and 1 m."""
    s = tt.System("swing", gravity=[0, 0, -GRAVITY])
    s.connect("world", tt.RigidBody("bob", 2.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0], **passive))
    return s.resolve()


def spinner(stiffness: float = 2.0, mass: float = 1.0, gravity: float = GRAVITY) -> tt.Model:
    """Return a shaft with two spring-hinged arms of 1 m, point masses at their ends."""
    s = tt.System("spinner", gravity=[0, 0, -gravity])
    hub = tt.RigidBody("hub", 1.0, inertia=[1, 1, 1])
    s.connect("world", hub, tt.Revolute("shaft", axis=[0, 0, 1]))
    for name, sign in (("right", -1), ("left", 1)):
        arm = tt.RigidBody(name, mass, com=[0, 0, -1])
        s.connect(hub, arm, tt.Revolute(f"{name}_hinge", axis=[0, sign, 0], stiffness=stiffness, damping=0.1))
    return s.resolve()


#: The angle of a pendulum's hinge at which it hangs (rad).
HANGING = 0.3


def whirl(offset: float) -> tt.Model:
    """Return a shaft with a pendulum of 1 m that hangs on it at a distance (m) from the axis."""
    s, hub = tt.System("whirl", gravity=[0, 0, -GRAVITY]), tt.RigidBody("hub", 1.0, inertia=1.0)
    s.connect("world", hub, tt.Revolute("shaft", axis=[0, 0, 1]))
    bob = tt.RigidBody("bob", 1.0, com=[-np.sin(HANGING), 0, -np.cos(HANGING)])
    s.connect(hub, bob, tt.Revolute("hinge", axis=[0, -1, 0]), tt.Pose([offset, 0, 0]))
    return s.resolve()


def opening(spin: float, stiffness: float = 2.0, mass: float = 1.0) -> float:
    """Return the angle of an arm: ``m w^2 sin cos = m g sin + k angle``."""
    return float(
        brentq(
            lambda x: mass * spin**2 * np.sin(x) * np.cos(x) - mass * GRAVITY * np.sin(x) - stiffness * x,
            0.05,
            1.57,
            xtol=1e-15,
        )
    )


HINGES = ["right_hinge", "left_hinge"]
