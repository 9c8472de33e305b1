"""Figures of deformable bodies in space."""

from __future__ import annotations

import numpy as np

import titop as tt
from tests.solvers.simulation.animated import drawn_lines, motion
from tests.solvers.simulation.soft_arms import RADIUS, ROUND, L, arm


def test_figures_show_the_deformed_surface() -> None:
    """Points on a circle of the tip are as far from the tip as the radius, whatever bends."""
    model = arm()
    trajectory = motion(model, end=1.0, count=3)
    axes = trajectory.plot_shape(1.0).axes[0]
    outline, q = ROUND.outline, trajectory.q[2]
    assert outline is not None
    drawn = drawn_lines(axes)
    assert [len(line) for line in drawn] == [len(line) for line in outline.lines]
    ring = next(k for k, line in enumerate(outline.lines) if (outline.points[line, 2] == L).all())
    tip = model.pose("body.tip", q)[1]
    np.testing.assert_allclose(np.linalg.norm(drawn[ring] - tip, axis=1), RADIUS, rtol=1e-12)
    assert np.abs(tip - [0, 0, L]).max() > 0.01  # it has moved


def test_points_of_ones_own_are_dots() -> None:
    model = arm(tt.Domain(ROUND.points, ROUND.volumes, tip=[0, 0, L]))
    (dots,) = [line for line in motion(model, end=1.0, count=3).plot_shape(0.0).axes[0].lines if len(line.get_data_3d()[0])]
    assert (dots.get_marker(), dots.get_linestyle(), len(dots.get_data_3d()[0])) == (".", "None", len(ROUND.points))


def test_bars_are_one_line_an_instant() -> None:
    """It is interrupted between bars: to the centre of mass, and to what hangs on the body."""
    s = tt.System("arm")
    upper = tt.RigidBody("upper", 1.0, com=[0, 0, -1], inertia=1.0, ports={"end": [0, 0, -2]})
    s.connect("world", upper, tt.Revolute("shoulder", axis=[1, 0, 0]))
    s.connect(upper.port("end"), tt.RigidBody("lower", 1.0, com=[0, 0, -3], inertia=1.0), tt.Revolute("elbow", axis=[1, 0, 0]))
    trajectory = motion(s.resolve("reference"), end=1.0, count=3)
    lines = [line for line in trajectory.plot_shape([0.0, 1.0]).axes[0].lines if len(line.get_data_3d()[0])]
    gap = [np.nan] * 3
    for line, (shoulder, elbow) in zip(lines, trajectory.q[[0, 2]], strict=True):
        down = np.array([0, np.sin(shoulder), -np.cos(shoulder)])
        beyond = np.array([0, np.sin(shoulder + elbow), -np.cos(shoulder + elbow)])
        expected = [0 * down, down, gap, 0 * down, 2 * down, gap, 2 * down, 2 * down + 3 * beyond]
        np.testing.assert_allclose(np.array(line.get_data_3d()).T, expected, atol=1e-12)
        assert (line.get_marker(), line.get_color()) == ("o", "0.45")
