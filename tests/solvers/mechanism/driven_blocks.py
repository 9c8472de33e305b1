"""Systems with inputs of blocks' own."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt
from examples.custom_block import ConstantCurvatureSegment
from tests.solvers.mechanism.blocks_with_inputs import Muscle, PiezoPanel, TendonSegment
from titop.blocks.basics.spatial import Array

#: Sums of a few tens of terms of the size of the accelerations, in another order.
ROUNDING = {"rtol": 1e-10, "atol": 1e-10}


def arm(
    muscle: type[tt.Revolute] = Muscle, segment: Any = TendonSegment, panel: type[tt.FlexibleBody] = PiezoPanel
) -> tt.System:
    """Return a muscle, a tendon-driven segment and a panel in series, with a motor and a force; or bare of own inputs."""
    s = tt.System("arm", gravity=[0, 0, -9.81])
    soft = segment("soft", length=0.6, radius=0.05, density=120.0, stiffness=3.0, damping=0.1)
    s.connect("world", soft, joint=muscle("shoulder", axis=[0, 1, 0], stiffness=5.0))
    boom = panel("boom", **PANEL)
    s.connect(soft.port("C"), boom, joint=tt.Revolute("elbow", axis=[0, 0, 1], damping=0.1))
    s.connect(boom.port("C"), tt.RigidBody("tip", 0.3, inertia=0.01), joint=tt.Weld("bracket"))
    s.add_actuator(tt.Motor("drive", "elbow", gear=2.0))
    s.add_actuator(tt.Force("push", s["tip"], direction=[1, 0, 0], frame="world"))
    return s


def bare() -> tt.System:
    return arm(tt.Revolute, ConstantCurvatureSegment, tt.FlexibleBody)


def closed(system: tt.System) -> tt.System:
    """Return the system with a gear from shoulder to segment."""
    system.add_gear(tt.Gear("pair", driver="shoulder", driven="soft", ratio=0.5))
    return system


#: A light panel with two modes that move its port.
PANEL: dict[str, Any] = {
    "mass": 0.5,
    "com": [0.2, 0.0, 0.1],
    "inertia": [0.02, 0.03, 0.02],
    "frequencies": [9.0, 15.0],
    "damping_ratios": 0.02,
    "participation": [[0.2, 0.1, 0.3, 0.0, 0.05, 0.01], [-0.1, 0.2, 0.1, 0.02, 0.0, 0.03]],
    "ports": {"C": [0.4, 0.0, 0.1]},
    "shapes": {"C": [[0.1, 0.2], [0.5, -0.3], [0.4, 0.6], [0.1, 0.0], [0.0, 0.3], [0.2, 0.1]]},
}

NAMES = ("drive", "push", "shoulder.pull", "soft.front", "soft.back", "boom.patch")
U = np.array([0.4, -0.6, 2.0, 1.5, -0.7, 0.9])


def state(model: tt.Model, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    q, v, tau = rng.normal(size=(3, model.nv))
    q[3:] *= 0.3
    if model.is_constrained:
        q[1], v[1] = 0.5 * q[0], 0.5 * v[0]
    return q, v, tau


def expected_efforts(model: tt.Model, q: Array) -> Array:
    """Return what the own inputs do, written down anew."""
    panel = np.linspace(1.0, -0.5, model.nv - 3) / (1.0 + 4.0 * (q[3:] @ q[3:])) * U[5]
    soft = 0.05 * ((1.0 + 2.0 * np.sin(q[1])) * U[3] - np.cos(q[1]) * U[4])
    return np.concatenate([[0.3 * np.cos(q[0]) * U[2], soft, 0.0], panel])
