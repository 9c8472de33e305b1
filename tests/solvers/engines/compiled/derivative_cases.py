"""Systems in both engines at a state, and how far their derivatives are apart."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt
from tests.solvers.engines.compiled.soft_systems import Array
from tests.systems import random_state, random_tree

#: Both sides are exact but for rounding, which the inverse of the mass matrix multiplies: 1e-11 of the largest entry.
TOLERANCE = 1e-11


FUNCTIONS = ("inverse", "forward", "hybrid")


class Case:
    """A tree in both engines at a random state; every other one with springs, dampers, friction, armatures and loads."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        drives = seed % 2 == 1
        self.system = random_tree(rng, bodies=int(rng.integers(2, 9)), passive=drives, loads=drives)
        if drives:
            self.system.connect("world", tt.RigidBody("puck", mass=1.0), tt.Prismatic("slide", friction=tt.Friction(0.3, 0.5)))
        self.model, self.reference = self.system.resolve(), self.system.resolve("reference")
        self.q, self.v, self.a, self.tau = random_state(self.model, rng)
        self.wrenches = {port: rng.normal(size=6) for port in rng.choice(self.model.port_names[1:], 2, replace=False)}
        self.prescribed = [name for name in self.model.coordinate_names if rng.integers(2)]

    def derivatives(self, model: tt.Model, function: str) -> Any:
        """Return the derivatives of one of the `FUNCTIONS`."""
        if function == "hybrid":
            state = self.q, self.v, self.tau, self.a, self.prescribed
            return model.hybrid_dynamics_derivatives(*state, wrenches=self.wrenches)
        if function == "forward":
            return model.forward_dynamics_derivatives(self.q, self.v, self.tau, wrenches=self.wrenches)
        return model.inverse_dynamics_derivatives(self.q, self.v, self.a, wrenches=self.wrenches)


def error(found: Any, expected: Any) -> float:
    """Return the largest error of several matrices, each relative to its largest entry (or to 1)."""
    pairs = list(zip(found, expected, strict=True))
    return max(float(np.abs(x - y).max(initial=0.0) / max(np.abs(y).max(initial=0.0), 1.0)) for x, y in pairs)


#: The reference differentiates a user's block inside complex steps by sixth-order differences, with errors near 1e-11.
SOFT_TOLERANCE = 1e-9


def motion_error(model: tt.Model, reference: tt.Model, q: Array, v: Array, a: Array) -> float:
    """Return the largest error of the derivatives of all ports' motions; the reference goes through all in one pass."""
    found = [model.motion_derivatives(port, q, v, a) for port in model.port_names]
    expected = reference.mechanism.engine.derivatives.motion(model.port_names, q, v, a, weightless=True)
    return max(error(*pair) for pair in zip(found, expected, strict=True))
