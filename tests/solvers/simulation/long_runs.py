"""Simulations that take long."""

from __future__ import annotations

import numpy as np

import titop as tt

#: Would take hours.
LONG = np.concatenate([np.linspace(0, 20, 201), [1e6]])


def pendulum() -> tt.Model:
    s = tt.System("pendulum", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -0.7]), tt.Revolute("hinge", axis=[1, 0, 0]))
    return s.resolve()
