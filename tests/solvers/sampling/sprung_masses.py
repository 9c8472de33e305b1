"""A mass on a spring with uncertain parameters."""

from __future__ import annotations

from scipy import stats

import titop as tt


def spring() -> tt.Model:
    """Return a mass on a spring."""
    s = tt.System("spring", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", mass=2.0), tt.Prismatic("rail", axis=[1, 0, 0], stiffness=8.0, damping=0.2))
    return s.resolve()


DISTRIBUTIONS = {
    "mass.mass": stats.norm(2.0, 0.1),
    "rail.stiffness": (6.0, 10.0),
    "rail.damping": lambda rng: rng.exponential(0.2),
}


def parameter(model: tt.Model, name: str) -> float:
    return model.parameters()[name][0]
