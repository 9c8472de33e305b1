"""Deformable bodies in pictures and diagrams, and what is said where they are folded."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest

import titop as tt
from tests.solvers.simulation.animated import motion, read
from titop.graph.files.saving import to_text
from titop.solvers.model.overlaps import overlaps
from titop.solvers.simulation.animation import write_animation

L, RADIUS = 0.3, 0.02
ROUND = tt.Domain.cylinder(RADIUS, L)
BEND = tt.Kinematics.constant_curvature(L)


def arm(domain: tt.Domain = ROUND) -> tt.Model:
    """Return a body that bends in a plane, on a hinge."""
    return hinged(domain).resolve("reference")


def hinged(domain: tt.Domain = ROUND) -> tt.System:
    s = tt.System("arm")
    body = tt.SoftBody("body", BEND, domain, 1000.0, tt.Material.linear(1e5, 0.3))
    s.connect("world", body, tt.Revolute("hinge", axis=[0, 1, 0]))
    return s


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


def test_animations_carry_the_surface(tmp_path: Path) -> None:
    """The page's points, in the body's frame, are those of a figure."""
    model, outline = arm(), ROUND.outline
    assert outline is not None
    trajectory = motion(model, count=3)
    data = read(write_animation(trajectory, tmp_path / "arm.html", frames_per_second=1.0))
    ((surface,), (course,)) = data["surfaces"], data["courses"]
    assert data["links"] == []  # no line stands for it
    assert (surface["name"], data["frames"][surface["frame"]]) == ("body", "body")
    np.testing.assert_array_equal(np.reshape(surface["triangles"], (-1, 3)), outline.triangles)
    numbers = np.frombuffer(base64.b64decode(course["points"]), "<i2").reshape(3, -1, 3)
    body = model.assembly.blocks["body"]
    assert isinstance(body, tt.SoftBody)
    for found, q in zip(numbers, trajectory.q, strict=True):
        expected = body.positions(q[1:], outline.points)
        np.testing.assert_allclose(course["unit"] * found, expected, rtol=0, atol=2e-5 * L)  # half of 1 / 32767
    box = data["view"]["all"]
    seen = np.array(box["high"]) - box["low"]
    assert np.linalg.norm(seen) > L


def test_bodies_of_points_are_lines_in_animations(tmp_path: Path) -> None:
    model = arm(tt.Domain(ROUND.points, ROUND.volumes, tip=[0, 0, L]))
    data = read(write_animation(motion(model, count=3), tmp_path / "arm.html"))
    assert (data["surfaces"], [link["name"] for link in data["links"]]) == ([], ["body"])


def test_ratios_of_several_configurations_stand_in_rows() -> None:
    body = arm().assembly.blocks["body"]
    assert isinstance(body, tt.SoftBody)
    q = np.array([[0.0], [0.4], [-1.0]])
    np.testing.assert_array_equal(body.volume_ratios(q), [body.volume_ratios(row) for row in q])
    np.testing.assert_allclose(body.volume_ratios(q)[0], 1.0, rtol=1e-14)


def test_folded_bodies_are_told() -> None:
    """``det F = 1 - x q / L`` turns negative where the radius of curvature ends within the section."""
    model, sharp = arm(), 1.2 * L / np.abs(ROUND.points[:, 0]).max()
    states = np.array([[0.0, 0.0], [0.0, sharp], [0.0, 0.1]])
    (found,) = overlaps(model, states, np.array([0.0, 0.5, 1.0]))
    assert (found.code, found.where) == ("folded", "body")
    assert found.value.startswith("det F = -0.2 at x = [0.0")
    assert found.value.endswith("t = 0.5 s")
    assert not [*overlaps(model, states[[0, 2]])]
    with pytest.warns(tt.ModelWarning, match=r"body: got det F = .*folded"):
        tt.simulate(model, [0.0, 1e-7], states[1], np.zeros(2))


def test_folds_without_a_number_are_told_too() -> None:
    """A bend that keeps volumes has no place for points inside its centre of curvature."""
    s = tt.System("arm")
    s.connect("world", tt.SoftBody("body", tt.Kinematics.planar_bending([lambda z: 1.0]), ROUND, 1000.0), tt.Weld("clamp"))
    (found,) = overlaps(s.resolve("reference"), np.array([[0.0], [0.6 / RADIUS]]))
    assert found.value.startswith("det F = nan at x = [")


def test_diagrams_say_the_mass() -> None:
    assert "body (SoftBody [bending] 0.376991 kg)" in str(hinged())


def test_files_refuse_functions() -> None:
    s = hinged()
    s.add_interaction(tt.SoftTendon("pull", s["body"], [[0.01, 0, 0], [0.01, 0, L]]))
    with pytest.raises(tt.ModelError) as caught:
        to_text(s)
    found = [(finding.code, finding.where) for finding in caught.value.findings]
    assert found == [("not-in-files", "body"), ("not-in-files", "pull")]
    assert "keep the system in a script" in str(caught.value)
    assert "register_block" not in str(caught.value)
