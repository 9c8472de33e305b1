"""Ports of deformed bodies at uncertain places, against `linearize`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt

#: Beside the response's norm: see `test_lft`.
EXACT = 1e-9


def boom() -> tt.Model:
    """Return a flexible boom that sags under the weight at its tip."""
    s = tt.System("boom", gravity=[0, 0, -9.81])
    shapes = {"B": np.array([[0, 0, 0.3, 0, -0.2, 0], [0, 0.2, 0, 0.1, 0, 0.1]]).T}
    participation = [[0.1, 0, 0.6, 0, -0.4, 0], [0, 0.3, 0, 0.2, 0, 0.3]]
    inertia = np.diag([0.5, 1.2, 1.4])
    body = tt.FlexibleBody("body", 3.0, [0.5, 0.1, 0], inertia, [6.0, 15.0], participation, {"B": [1.0, 0, 0.1]}, shapes, 0.01)
    s.connect("world", body, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=300.0, damping=0.5))
    tip = tt.RigidBody("tip", 0.5, [0.1, 0, 0.05], [0.01, 0.02, 0.02])
    s.connect(body.port("B"), tip, tt.Revolute("wrist", axis=[0, 1, 0.3], stiffness=20.0))
    return s.resolve()


def finger() -> tt.Model:
    """Return a soft rod that sags under the weight at its tip."""
    s = tt.System("finger", gravity=[0, 0, -9.81])
    body = tt.Rod("body", 0.5, tt.Section.circle(0.01), young=2e5, density=1000.0, poisson=0.4, damping=1e3, basis=2)
    s.connect("world", body, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=5.0, damping=0.1))
    tip = tt.RigidBody("tip", 0.02, [0.01, 0, 0.01], 1e-5 * np.eye(3))
    s.connect(body.port("tip"), tip, tt.Revolute("wrist", axis=[0, 1, 0], stiffness=0.05))
    return s.resolve()


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        (boom, {"body.B.position.x": (0.8, 1.1)}),
        (boom, {"body.B.mode1.z": tt.percent(20), "body.B.position.x": (0.8, 1.1)}),
        (finger, {"body.tip.position.x": (-0.02, 0.03)}),
        (finger, {"body.tip.position.z": (-0.02, 0.03), "body.density": tt.percent(3)}),
    ],
)
def test_places_on_deformed_bodies(model: Any, parameters: dict[str, Any]) -> None:
    """The port stands where its place and the deflection together say, also off the middle of the range."""
    m = model()
    point = tt.trim(m)
    assert np.abs(point.q).max() > 0.01
    found = tt.lft(m, point, parameters, ["hinge", "tip.F"], ["hinge.q", "wrist.v", "wrist.reaction"])
    assert found.check(3) < EXACT
