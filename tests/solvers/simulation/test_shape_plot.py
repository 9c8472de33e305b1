"""Figures of deformable bodies in space."""

from __future__ import annotations

import numpy as np

import titop as tt
from tests.solvers.simulation.animated import motion
from tests.solvers.simulation.soft_arms import RADIUS, ROUND, L, arm


def test_figures_show_the_deformed_surface() -> None:
    """Points on a circle of the tip are as far from the tip as the radius, whatever bends."""
    model = arm()
    trajectory = motion(model, end=1.0, count=3)
    axes = trajectory.plot_shape(1.0).axes[0]
    outline, q = ROUND.outline, trajectory.q[2]
    assert outline is not None
    drawn = [np.array(line.get_data_3d()).T for line in axes.lines if len(line.get_data_3d()[0])]
    assert [len(line) for line in drawn] == [len(line) for line in outline.lines]
    ring = next(k for k, line in enumerate(outline.lines) if (outline.points[line, 2] == L).all())
    tip = model.pose("body.tip", q)[1]
    np.testing.assert_allclose(np.linalg.norm(drawn[ring] - tip, axis=1), RADIUS, rtol=1e-12)
    assert np.abs(tip - [0, 0, L]).max() > 0.01  # it has moved


def test_points_of_ones_own_are_dots() -> None:
    model = arm(tt.Domain(ROUND.points, ROUND.volumes, tip=[0, 0, L]))
    (dots,) = [line for line in motion(model, end=1.0, count=3).plot_shape(0.0).axes[0].lines if len(line.get_data_3d()[0])]
    assert (dots.get_marker(), dots.get_linestyle(), len(dots.get_data_3d()[0])) == (".", "None", len(ROUND.points))
