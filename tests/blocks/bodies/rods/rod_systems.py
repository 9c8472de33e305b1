"""Rods clamped to the world, and their equilibria."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import titop as tt

Array = NDArray[np.float64]

#: A rod with E I = length = 1 and round section; heavy enough to be looked at in seconds.
SECTION = tt.Section.circle(0.05)
YOUNG = 1.0 / (np.pi * 0.05**4 / 4)


def clamped(rod: tt.Rod, gravity: Any = (0.0, 0.0, 0.0), engine: str = "reference", **load: Any) -> tt.Model:
    """Return a rod clamped to the world, with a load at its tip."""
    s = tt.System("clamped", gravity=gravity)
    s.connect("world", rod, tt.Weld("clamp"))
    if load:
        s.add_load(tt.Load("load", rod.port("tip"), **load))
    return s.resolve(engine=engine)


def settled(model: tt.Model, q: Array | None = None) -> Array:
    """Return the equilibrium near a configuration, by Newton's method on inverse dynamics."""
    rest = np.zeros(model.nv)
    q = model.neutral() if q is None else q
    for _ in range(20):
        step = np.linalg.solve(model.inverse_dynamics_derivatives(q, rest, rest)[0], model.inverse_dynamics(q, rest, rest))
        q = q - step
        if np.abs(step).max() < 1e-9 * max(1.0, np.abs(q).max()):  # the next step would be its square
            return q
    raise AssertionError("no equilibrium")
