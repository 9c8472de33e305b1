"""Motions to show, and what their pages hold."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import titop as tt

Array = NDArray[np.float64]

CUSTOM_BLOCK = Path(__file__).parents[3] / "examples" / "custom_block.py"

#: Positions of a few metres in 32-bit numbers.
SINGLE = 1e-6


def motion(model: tt.Model, end: float = 2.0, count: int = 41, seed: int = 0) -> tt.Trajectory:
    """Return a made-up motion: through random configurations, without dynamics."""
    rng = np.random.default_rng(seed)
    q = [model.random_configuration(rng)]
    for _ in range(count - 1):
        q.append(model.integrate(q[-1], rng.uniform(-0.3, 0.3, model.nv)))
    zero = np.zeros((count, model.nv))
    return tt.Trajectory(model, np.linspace(0, end, count), np.array(q), zero, zero, zero)


def pendulum(port: str = "tip") -> tt.Model:
    """Return a point mass that swings about x, with a port at it."""
    s = tt.System("pendulum")
    bob = tt.RigidBody("bob", mass=2.0, com=[0, 0, -1], ports={port: [0, 0, -1]})
    s.connect("world", bob, tt.Revolute("hinge", axis=[1, 0, 0]))
    s.connect(bob.port(port), tt.RigidBody("end", mass=1.0, inertia=0.1), tt.Weld("seam"))
    return s.resolve()


def read(page: Path) -> dict[str, Any]:
    """Return the data that a page holds."""
    found = re.findall(r'<script type="application/json" id="motion">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert len(found) == 1
    data: dict[str, Any] = json.loads(found[0])
    return data


def drawn_lines(axes: Any) -> list[Array]:
    """Return the points (k, 3) of all lines of rods and deformable bodies in a figure, in the order of drawing."""
    return [np.asarray(line) for collection in axes.collections for line in collection._segments3d]


def poses(data: dict[str, Any]) -> Array:
    """Return positions and quaternions (count, frames, 7)."""
    numbers = np.frombuffer(base64.b64decode(data["poses"]), "<f4")
    return numbers.reshape(data["count"], len(data["frames"]), 7).astype(float)
