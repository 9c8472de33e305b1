"""Rules on lengths, radii and arcs: what they are exact for, and what they are not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from titop.blocks.bodies.soft.quadrature import gauss, gauss_angles, gauss_radii, loft
from titop.blocks.contract.description import Picture

pytestmark = pytest.mark.portable

ANGLES = [1e-6, 0.5, 2.0, np.pi, 5.0, 2 * np.pi]


def rounding(count: int, degree: int) -> float:
    """Return what rounding may do to a sum of ones with `count` points, of a function of a degree.

    Points are eigenvalues of a matrix of as many rows, which moves each by so many units in the last place; the function turns
    them into `degree` times that. Weights are squares of its eigenvectors, which are turned by the same over how far the points
    are apart: a power of `count`. Eight is for the arc's way there and back, in whatever order sums are taken.
    """
    return 8 * np.finfo(float).eps * (count + 1) * (count + degree + 1)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_powers_on_lengths_and_radii(count: int) -> None:
    """Exact up to degree 2n - 1, and no further."""
    for rule, more in ((gauss, 1), (gauss_radii, 2)):
        points, weights = rule(count, 0.5)
        errors = [(weights @ points**k) * (k + more) / 0.5 ** (k + more) - 1.0 for k in range(2 * count + 1)]
        np.testing.assert_allclose(errors[:-1], 0.0, rtol=0, atol=rounding(count, 2 * count))
        assert abs(errors[-1]) > 1e-10  # 1.7e-9 with eight points


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("count", [1, 2, 6, 12])
def test_harmonics_on_arcs(angle: float, count: int) -> None:
    points, weights = gauss_angles(count, angle)
    for n in range(count):
        allowed = angle * rounding(count, n)
        assert weights @ np.cos(n * points) == pytest.approx(2 * np.sin(n * angle / 2) / n if n else angle, abs=allowed)
        assert weights @ np.sin(n * points) == pytest.approx(0.0, abs=allowed)


def test_the_next_harmonic_is_not_known() -> None:
    points, weights = gauss_angles(3, np.pi)
    assert abs(weights @ np.cos(3 * points) - 2 * np.sin(1.5 * np.pi) / 3) > 1e-2


def test_a_turn_is_divided_evenly() -> None:
    points, weights = gauss_angles(6, 2 * np.pi)
    np.testing.assert_allclose(points, np.pi / 3 * (np.arange(6) - 2.5), rtol=0, atol=rounding(6, 0))
    np.testing.assert_allclose(weights, np.pi / 3, rtol=rounding(6, 0))


# Outlines of bodies along z: closed surfaces around the volume, seen from outside.

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
