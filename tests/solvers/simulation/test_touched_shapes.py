"""Pictures of what contacts touch: lines that lie on the surface, and stand where the port does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import titop as tt
from titop.solvers.simulation.touched_shapes import outlines, solids

SHAPES = [
    tt.Shape.sphere(0.3),
    tt.Shape.cylinder(0.4),
    tt.Shape.cylinder(0.4, inside=True),
    tt.Shape.cylinder(0.4, 1.0),
    tt.Shape.box([1.0, 0.5, 0.3]),
    tt.Shape.plane([0.0, 1.0, 2.0]),
]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_lines_lie_on_the_surface(shape: tt.Shape) -> None:
    reach = 2.0
    points = np.concatenate([line for solid in solids(shape, reach) for line in outlines(solid)])
    thickness = 0.008 if shape.kind == "plane" else 0.0  # a plane is shown as a slab below it
    distances = np.array([shape.distance(point)[0] for point in points], float)
    assert distances.max() == pytest.approx(0.0, abs=1e-14)  # of places of order one
    assert distances.min() >= -thickness - 1e-14
    assert np.ptp(points, axis=0).max() > 0.3


def test_figures_and_animations_show_them(tmp_path: Path) -> None:
    s = tt.System("ball", gravity=[0, 0, -9.81])
    ball = tt.RigidBody("ball", mass=0.5)
    s.connect("world", ball, tt.Prismatic("up", axis=[0, 0, 1]))
    s.close_loop("world", ball, tt.Contact("ground", radius=0.1, stiffness=1e5, shape=tt.Shape.box([1.0, 1.0, 0.2])))
    trajectory = tt.simulate(s.resolve(), [0.0, 0.01], [0.3], [0.0])
    figure = trajectory.plot_shape([0.0])
    low, high = figure.axes[0].get_xlim()
    assert low < -0.5
    assert high > 0.5
    text = trajectory.animate(tmp_path / "ball.html").read_text()
    assert text.count('"touched"') >= 2  # the box, and the ball's sphere
