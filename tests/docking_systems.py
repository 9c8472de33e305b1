"""Systems of which parts dock, come free or are locked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import titop as tt

Array = NDArray[np.float64]
ENGINES = ("compiled", "reference")


def satellites() -> tuple[tt.RigidBody, tt.RigidBody]:
    """Return two bodies that have a port for each other."""
    inertias = np.diag([1.0, 2.0, 3.0]), np.diag([0.5, 0.6, 0.7])
    first = tt.RigidBody("a", mass=10.0, com=[0.1, 0.05, 0], inertia=inertias[0], ports={"D": [1, 0, 0.2]})
    second = tt.RigidBody("b", mass=4.0, com=[0, 0.1, 0.1], inertia=inertias[1], ports={"D": [-1, 0.1, 0]})
    return first, second


def pair(engine: str = "compiled", kind: str = "weld") -> tt.Model:
    """Return both in free flight, with a closure between them, and the force that it transmits as an output."""
    s, (first, second) = tt.System("pair", gravity=[0, 0, 0]), satellites()
    s.connect("world", first, joint=tt.Free("fa"))
    s.connect("world", second, joint=tt.Free("fb"))
    s.close_loop(first.port("D"), second.port("D"), tt.RigidClosure("dock", kind=kind))
    s.add_sensor(tt.ReactionSensor("felt", "dock"))
    return s.resolve(engine=engine)


def joined(engine: str = "compiled") -> tt.Model:
    """Return both as one body, in a tree."""
    s, (first, second) = tt.System("joined", gravity=[0, 0, 0]), satellites()
    s.connect("world", first, joint=tt.Free("fa"))
    s.connect(first.port("D"), second.port("D"), joint=tt.Weld("dock"))
    return s.resolve(engine=engine)


def docked(welded: tt.Model, q: Any) -> Array:
    """Return the configuration of the `pair` where the two are as in that of the tree."""
    rotation, position = welded.pose("b", q)
    return np.concatenate([q, position, Rotation.from_matrix(rotation).as_quat()])


def arm(engine: str = "compiled") -> tt.Model:
    """Return two links that swing in a plane."""
    s = tt.System("arm", gravity=[0, -9.81, 0])
    upper = tt.RigidBody("upper", mass=1.0, com=[0.5, 0, 0], inertia=[0.01, 0.1, 0.1], ports={"elbow": [1, 0, 0]})
    lower = tt.RigidBody("lower", mass=2.0, com=[0.4, 0.1, 0], inertia=[0.15, 0.1, 0.2])
    s.connect("world", upper, joint=tt.Revolute("shoulder"))
    s.connect(upper.port("elbow"), lower, joint=tt.Revolute("elbow"))
    return s.resolve(engine=engine)


def carriages(*between: Any) -> tt.System:
    """Return masses of 3 kg and 1 kg on one rail, with closures or interactions between them."""
    s = tt.System("carriages", gravity=[0, 0, 0])
    one, two = tt.RigidBody("one", mass=3.0), tt.RigidBody("two", mass=1.0)
    s.connect("world", one, joint=tt.Prismatic("x", axis=[1, 0, 0]))
    s.connect("world", two, joint=tt.Prismatic("y", axis=[1, 0, 0]))
    for closure in between:
        s.close_loop(one, two, closure)
    return s
