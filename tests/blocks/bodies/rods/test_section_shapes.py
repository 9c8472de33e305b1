"""Moments of cross-sections against integrals over their area."""

from __future__ import annotations

import numpy as np
import pytest

from titop.blocks.bodies.rods.section_shapes import (
    SectionMoments,
    circle,
    ellipse,
    largest_around,
    rectangle,
    rectangle_torsion,
    tube,
)

ONE = np.array([1.0])


def integrated(inside: np.ndarray, y: np.ndarray, z: np.ndarray, cell: float) -> tuple[float, float, float]:
    """Return area, integral of z^2 and integral of y^2 by the midpoint rule."""
    return inside.sum() * cell, (inside * z**2).sum() * cell, (inside * y**2).sum() * cell


@pytest.mark.parametrize(
    ("moments", "is_inside"),
    [
        (circle(0.9 * ONE, 0.3), lambda y, z: y**2 + z**2 < 0.81),
        (tube(0.9 * ONE, 0.6 * ONE, 0.3), lambda y, z: (y**2 + z**2 < 0.81) & (y**2 + z**2 > 0.36)),
        (ellipse(0.9 * ONE, 0.5 * ONE, 0.3), lambda y, z: (y / 0.9) ** 2 + (z / 0.5) ** 2 < 1.0),
        (rectangle(1.2 * ONE, 0.8 * ONE, 0.3), lambda y, z: (abs(y) < 0.6) & (abs(z) < 0.4)),
    ],
    ids=["circle", "tube", "ellipse", "rectangle"],
)
def test_area_and_second_moments(moments: SectionMoments, is_inside) -> None:
    """A grid of 2000 by 2000 cells finds them to some 1e-4: of outlines that cut cells, one in a thousand of the area."""
    grid = (np.arange(2000) + 0.5) / 1000 - 1.0
    y, z = np.meshgrid(grid, grid)
    expected = integrated(is_inside(y, z), y, z, 1e-6)
    found = moments.area[0], moments.iy[0], moments.iz[0]
    assert found == pytest.approx(expected, rel=3e-4)


def test_torsion() -> None:
    """Polar moments of circles; Timoshenko and Goodier's table for rectangles, a thin one's a b^3 / 3."""
    assert circle(ONE, 0.3).torsion_constant[0] == pytest.approx(np.pi / 2, rel=1e-14)
    assert ellipse(ONE, ONE, 0.3).torsion_constant[0] == pytest.approx(np.pi / 2, rel=1e-14)
    sides = np.array([1.0, 1.5, 2.0, 3.0, 10.0])
    table = np.array([0.1406, 0.196, 0.229, 0.263, 0.312])  # printed with three or four digits
    np.testing.assert_allclose(rectangle_torsion(sides, np.ones(5)) / sides, table, rtol=2.5e-3)
    assert rectangle_torsion(np.array([1e4]), ONE)[0] == pytest.approx(1e4 / 3, rel=1e-4)
    assert rectangle_torsion(2 * ONE, 3 * ONE) == rectangle_torsion(3 * ONE, 2 * ONE)


def test_what_two_bendings_add_up_to() -> None:
    """At a corner of a rectangle their sum; around an ellipse, sampled."""
    angles = np.linspace(0, 2 * np.pi, 100001)
    around = np.abs(3.0 * np.sin(angles) + 4.0 * np.cos(angles)).max()
    assert largest_around("ellipse", np.array(3.0), np.array(4.0)) == pytest.approx(around, rel=1e-9)
    assert largest_around("rectangle", np.array(-3.0), np.array(4.0)) == 7.0
