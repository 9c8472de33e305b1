"""Surfaces of deformable bodies in animations."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np

import titop as tt
from tests.solvers.simulation.animated import motion, read
from tests.solvers.simulation.soft_arms import ROUND, L, arm
from titop.solvers.simulation.animation import write_animation


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
