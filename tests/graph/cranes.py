"""Cranes that tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import titop as tt

#: Poses of order one metre through two or three rotations: a few roundings.
ROUNDING = 1e-13

QUARTER = Rotation.from_rotvec([0, 0, np.pi / 2])


def body(name: str, **fields: Any) -> tt.RigidBody:
    """Return a body with a port ``tip``, fields replaced."""
    return tt.RigidBody(name, **({"mass": 1.0, "com": [0, 0, 1], "inertia": 0.1, "ports": {"tip": [0, 0, 2]}} | fields))


def crane() -> tt.System:
    """Return a slewing tower with a jib; from the jib's tip hangs a hook, under wind."""
    s = tt.System("crane", gravity=[0, 0, -9.81])
    s.world.add_port("ground", position=[1, 0, 0])
    tower, jib, hook = body("tower"), body("jib"), body("hook")
    s.connect(s.world.port("ground"), tower, tt.Revolute("slew", axis=[0, 0, 1]))
    s.connect(tower.port("tip"), jib, tt.Weld("bolts"), placement=tt.Pose([0, 0, 0.5], QUARTER))
    s.connect(jib.port("tip"), hook.port("tip"), tt.Spherical("rope"))
    s.add_load(tt.Load("wind", hook, force=[10, 0, 0], frame="world"))
    return s


def chain(bodies: int) -> tt.System:
    """Return a chain of bodies on hinges, axes by turns."""
    s = tt.System("chain")
    parent: tt.Block | tt.PortRef | str = "world"
    for k in range(bodies):
        link = tt.RigidBody(f"b{k}", mass=1.0, com=[0, 0, -0.5], inertia=0.1, ports={"tip": [0, 0, -1]})
        s.connect(parent, link, tt.Revolute(f"j{k}", axis=[1, 0, 0] if k % 2 else [0, 1, 0], damping=0.1))
        parent = link.port("tip")
    return s
