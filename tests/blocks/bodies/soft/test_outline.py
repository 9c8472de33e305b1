"""Outlines of bodies along z: closed surfaces around the volume, seen from outside."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from titop.blocks.bodies.soft.quadrature import loft
from titop.blocks.contract.description import Picture

Array = NDArray[np.float64]
SQUARE = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
L = 3.0


def volume(outline: Picture) -> float:
    """Return the volume inside, by the tetrahedra over the triangles: negative where they are seen from inside."""
    return float(np.linalg.det(outline.points[outline.triangles]).sum() / 6)


def edges(outline: Picture) -> Array:
    """Return how often each edge is passed one way, less how often the other."""
    count = len(outline.points)
    balance = np.zeros((count, count))
    for k in range(3):
        np.add.at(balance, (outline.triangles[:, k], outline.triangles[:, (k + 1) % 3]), 1)
    return np.abs(balance - balance.T)


@pytest.mark.parametrize(
    ("rings", "scales", "expected"),
    [
        ([SQUARE], (1.0, 1.0), 4 * L),
        ([SQUARE], (1.0, 0.5), 4 * L * (1 + 0.5 + 0.25) / 3),
        ([SQUARE, 0.5 * SQUARE], (1.0, 1.0), 3 * L),
    ],
    ids=["box", "frustum", "tube"],
)
def test_surfaces_are_closed_around_the_volume(rings: list[Array], scales: tuple[float, float], expected: float) -> None:
    outline = loft(rings, scales, L)
    assert volume(outline) == pytest.approx(expected, rel=1e-13)
    assert not edges(outline).any()
    inside_out = outline._replace(triangles=outline.triangles[:, ::-1])
    assert volume(inside_out) == pytest.approx(-expected, rel=1e-13)
    assert edges(outline._replace(triangles=outline.triangles[1:])).any()


def test_lines_are_sections_and_lengths() -> None:
    outline = loft([SQUARE], (1.0, 0.5), L)
    heights = [np.unique(outline.points[line, 2]) for line in outline.lines]
    sections = [float(height[0]) for height in heights if len(height) == 1]
    np.testing.assert_allclose(sections, np.linspace(0, L, 7), rtol=0, atol=1e-14)
    assert sum(len(height) > 1 for height in heights) == 4
    closed = [line for line, height in zip(outline.lines, heights, strict=True) if len(height) == 1]
    assert all(line[0] == line[-1] for line in closed)
