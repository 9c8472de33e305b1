"""Rods in pictures: their sections stand where the rod's own poses have them."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import titop as tt
from tests.solvers.simulation.animated import SINGLE, drawn_lines, motion, poses, read
from titop.blocks.basics.spatial import quaternion_matrix
from titop.solvers.simulation.animation import write_animation
from titop.solvers.simulation.swept_rods import swept_rods


def limb(gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)) -> tt.Model:
    """Return a tapered round rod, a plate and a flat one on it."""
    s = tt.System("limb", gravity=gravity)
    arm = tt.Rod("arm", 0.8, tt.Section.circle([0.03, 0.0]), 1e6, 1000.0, basis=1)
    leaf = tt.Rod("leaf", 0.4, tt.Section.rectangle(0.1, 0.01), 1e6, 1000.0, basis=1)
    plate = tt.RigidBody("plate", 0.1, com=[0.1, 0, 0], inertia=1e-3, ports={"edge": [0.2, 0.1, 0]})
    s.connect("world", arm, tt.Revolute("hinge"))
    s.connect(arm.port("tip"), plate, tt.Weld("seam"))
    s.connect(plate.port("edge"), leaf, tt.Weld("root"))
    return s.resolve("reference")


def test_outlines_reach_as_far_as_sections() -> None:
    arm, leaf = swept_rods(limb())
    assert (arm.shape, leaf.shape) == ("round", "box")
    assert arm.abscissas[[0, -1]].tolist() == [0.0, 0.8]
    np.testing.assert_allclose(np.hypot(*arm.outlines()[0, :, 1:].T), 0.03)
    np.testing.assert_allclose(arm.outlines()[-1], 0.0)
    np.testing.assert_allclose(leaf.outlines()[3].max(axis=0), [0.0, 0.05, 0.005])


def test_many_rods_are_shown_with_fewer_sections() -> None:
    s = tt.System("grass")
    for k in range(30):
        s.connect("world", tt.Rod(f"rod{k}", 1.0, tt.Section.circle(0.01), 1e6, 1000.0, basis=0), tt.Weld(f"clamp{k}"))
    assert {len(swept.reach) for swept in swept_rods(s.resolve("reference"))} == {5}
    assert {len(swept.reach) for swept in swept_rods(limb())} == {17}


def test_animations_carry_the_sections(tmp_path: Path) -> None:
    model = limb()
    trajectory = motion(model, count=3)
    data = read(write_animation(trajectory, tmp_path / "limb.html", frames_per_second=1.0))
    arm, leaf = data["sweeps"]
    assert (arm["name"], leaf["name"], leaf["shape"]) == ("arm", "leaf", "box")
    assert arm["reach"][:2] == [0.03, 0.03]
    assert data["links"] == []  # rods are no lines
    last = poses(data)[-1]
    for sweep, swept in zip((arm, leaf), swept_rods(model), strict=True):
        k = int(sweep["first"])
        rotations, positions = model.section_poses(swept.rod.name, swept.abscissas, trajectory.q[-1])
        assert data["frames"][k] == swept.frame(0)
        np.testing.assert_allclose(last[k : k + 17, :3], positions, atol=SINGLE)
        for number, rotation in zip(last[k : k + 17, 3:], rotations, strict=True):
            np.testing.assert_allclose(quaternion_matrix(number), rotation, atol=SINGLE)
    highest = np.array(data["view"]["all"]["high"]) - data["view"]["all"]["low"]
    assert np.linalg.norm(highest) > np.linalg.norm(last[k, :3] - last[0, :3])  # rods are in view


@pytest.mark.parametrize(("gravity", "vertical"), [((0, 0, -9.81), "z"), ((0, -9.81, 0), "y"), ((0, 0, 9.81), "z")])
def test_figures_show_backbones(gravity: tuple[float, float, float], vertical: str, tmp_path: Path) -> None:
    model = limb(gravity)
    trajectory = motion(model, end=1.0, count=3)
    figure = trajectory.plot_shape([0.0, 1.0])
    (axes,) = figure.axes
    backbones = [line for line in drawn_lines(axes) if len(line) == 17]
    expected = [model.section_poses(rod, np.linspace(0, x, 17), q)[1] for q in trajectory.q[[0, 2]] for rod, x in RODS]
    for found, points in zip(backbones, expected, strict=True):
        np.testing.assert_allclose(found, points, atol=1e-12)
    low, high = np.sort(getattr(axes, f"get_{vertical}lim")())
    heights = np.concatenate(expected)[:, "xyz".index(vertical)]
    assert low < heights.min() < heights.max() < high
    assert axes.zaxis_inverted() == (gravity[2] > 0)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["t = 0 s", "t = 1 s"]
    figure.savefig(tmp_path / "shape.png", dpi=20)
    assert mpl.image.imread(tmp_path / "shape.png").std() > 0.01


RODS = (("arm", 0.8), ("leaf", 0.4))


def test_times_of_figures() -> None:
    trajectory = motion(limb(), end=1.0, count=3)
    assert len(trajectory.plot_shape().axes[0].get_legend().get_texts()) == 5
    assert trajectory.plot_shape(0.5).axes[0].get_legend() is None
    for wrong in ([1.5], [], "now", [np.nan]):
        with pytest.raises(tt.ModelError, match=r"times: .*expected times from 0 to 1 s"):
            trajectory.plot_shape(wrong)
