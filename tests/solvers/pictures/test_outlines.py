"""Rods, deformable bodies and what contacts touch stand in pictures where the model has them."""

from __future__ import annotations

import base64
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import titop as tt
from tests.solvers.pictures.animated import SINGLE, drawn_lines, motion, poses, read
from tests.solvers.simulation.soft_arms import ROUND, L, arm
from titop.blocks.basics.spatial import quaternion_matrix
from titop.solvers.pictures.frames import edges, solids, swept_rods

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
    points = np.concatenate([line for solid in solids(shape, reach) for line in edges(solid)])
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


# -- rods in pictures: their sections stand where the rod's own poses have them


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
    data = read(trajectory.animate(tmp_path / "limb.html", frames_per_second=1.0))
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


# -- surfaces of deformable bodies in animations


def test_animations_carry_the_surface(tmp_path: Path) -> None:
    """The page's points, in the body's frame, are those of a figure."""
    model, outline = arm(), ROUND.outline
    assert outline is not None
    trajectory = motion(model, count=3)
    data = read(trajectory.animate(tmp_path / "arm.html", frames_per_second=1.0))
    ((surface,), (course,)) = data["surfaces"], data["courses"]
    assert data["links"] == []  # no line stands for it
    assert (surface["name"], data["frames"][surface["frame"]]) == ("body", "body")
    np.testing.assert_array_equal(np.reshape(surface["triangles"], (-1, 3)), outline.triangles)
    numbers = np.frombuffer(base64.b64decode(course["points"]), "<i2").reshape(3, -1, 3)
    body = model.mechanism.assembly.blocks["body"]
    assert isinstance(body, tt.SoftBody)
    for found, q in zip(numbers, trajectory.q, strict=True):
        expected = body.positions(q[1:], outline.points)
        np.testing.assert_allclose(course["unit"] * found, expected, rtol=0, atol=2e-5 * L)  # half of 1 / 32767
    box = data["view"]["all"]
    seen = np.array(box["high"]) - box["low"]
    assert np.linalg.norm(seen) > L


def test_bodies_of_points_are_lines_in_animations(tmp_path: Path) -> None:
    model = arm(tt.Domain(ROUND.points, ROUND.volumes, tip=[0, 0, L]))
    data = read(motion(model, count=3).animate(tmp_path / "arm.html"))
    assert (data["surfaces"], [link["name"] for link in data["links"]]) == ([], ["body"])
