"""Ports: the same in any unit of length and of coordinates, and at uncertain places of deformed bodies, against `linearize`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.solvers.lft.legs import PortGeometry

#: What a coordinate moves of a port in metres, and one that moves little of it.
SUBSPACE = np.array([[0, 0, 1, 0, -2, 0], [1e-3, 0, 0, 0, 0, 2e-3]], dtype=float).T


def port(size: float, unit: float = 1.0, moved: float = 0.0, bent: float = 0.0) -> PortGeometry:
    """Return a port in a unit of length of which there are `size` a metre, its first coordinate in a unit of its own."""
    lengths = np.repeat([size, 1.0], 3)[:, None]
    subspace = SUBSPACE + bent * np.eye(6)[:, [2, 0]] * [1.0, 1e-3]
    return PortGeometry(np.eye(3), size * np.array([1.0, 0, moved]), lengths * subspace * [unit, 1.0])


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_ports_differ_by_parts_of_the_system(size: float, unit: float) -> None:
    here = port(size, unit)
    for change, is_another in ((1e-6, True), (1e-14, False)):
        assert here.differs(port(size, unit, moved=change), size, 1e-12) == is_another
        assert here.differs(port(size, unit, bent=change), size, 1e-12) == is_another
    assert not here.differs(here, size, 0.0)


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
