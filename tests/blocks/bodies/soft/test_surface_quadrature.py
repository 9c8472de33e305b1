"""Surfaces as points: the volume inside their image, against closed forms; edges against the area inside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.bodies.soft.quadrature import (
    APEX,
    FAN,
    FIRST,
    PLACE,
    SECOND,
    Edge,
    circle,
    loft,
    move,
    polygon,
    sector,
    sweep,
    triangulate,
)

Array = NDArray[np.float64]
L = 0.7
CORNERS = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.5, 1.5]])
#: Sums of a hundred terms.
ROUNDING = 1e-13


def inside(surface: Array, F: Array | None = None, shift: Array | None = None) -> float:
    """Return the volume inside of the image of a surface under ``x -> F x + shift``."""
    F, shift = np.eye(3) if F is None else F, np.zeros(3) if shift is None else shift
    p, a, b, c = (surface[:, part] @ F.T for part in (PLACE, FIRST, SECOND, APEX))
    return float(np.einsum("ki,ki->", p + shift, np.cross(a, b + surface[:, FAN, None] * (c + shift))))


def area(edge: Edge) -> float:
    """Return the area inside, ``1/2 int x dy - y dx``."""
    x, y = edge.places.T
    return float(0.5 * (x * edge.tangents[:, 1] - y * edge.tangents[:, 0]).sum())


def shoelace(corners: Array) -> float:
    x, y = corners.T
    return float(0.5 * (x * np.roll(y, -1) - y * np.roll(x, -1)).sum())


EDGES: dict[str, tuple[Callable[[], Edge], float]] = {
    "circle": (lambda: circle(0.3, 12), np.pi * 0.09),
    "polygon": (lambda: polygon(CORNERS, 3), shoelace(CORNERS)),
    "sector": (lambda: sector(0.3, 2.0, 8, 4), 0.09),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_are_closed_around_the_area(name: str) -> None:
    make, expected = EDGES[name]
    edge = make()
    assert area(edge) == pytest.approx(expected, rel=ROUNDING)
    np.testing.assert_allclose(edge.tangents.sum(axis=0), 0.0, rtol=0, atol=ROUNDING)
    assert area(edge.reversed) == -area(edge)


@pytest.mark.parametrize("name", EDGES)
def test_sections_along_z_enclose_their_volume(name: str) -> None:
    make, expected = EDGES[name]
    for tip in (1.0, 0.5, 0.0):
        volume = inside(sweep([make()], (1.0, tip), L, 4))
        assert volume == pytest.approx(expected * L * (1 + tip + tip**2) / 3, rel=ROUNDING)
    outer, hole = polygon(CORNERS, 3), polygon(0.5 * CORNERS, 3).reversed
    assert inside(sweep([outer, hole], (1.0, 1.0), L, 4)) == pytest.approx(0.75 * shoelace(CORNERS) * L, rel=ROUNDING)


@pytest.mark.parametrize("name", EDGES)
def test_volumes_follow_affine_maps_wherever_they_go(name: str) -> None:
    rng = np.random.default_rng(0)
    surface, F = sweep([EDGES[name][0]()], (1.0, 0.7), L, 4), np.eye(3) + 0.3 * rng.normal(size=(3, 3))
    expected = np.linalg.det(F) * inside(surface)
    assert inside(surface, F, np.array([3.0, -2.0, 1.0])) == pytest.approx(expected, rel=1e-11)  # shifts meet rounding
    without_base = surface[surface[:, FAN] >= 0]
    assert abs(inside(without_base, F, np.array([3.0, -2.0, 1.0])) - expected) > 0.1 * abs(expected)


def test_surfaces_of_triangles_enclose_their_volume() -> None:
    outline = loft([CORNERS], (1.0, 0.5), L)
    expected = shoelace(CORNERS) * L * (1 + 0.5 + 0.25) / 3
    assert inside(triangulate(outline)) == pytest.approx(expected, rel=ROUNDING)
    assert inside(triangulate(outline), shift=np.array([5.0, 5.0, 5.0])) == pytest.approx(expected, rel=1e-11)


def test_placed_surfaces_are_their_images() -> None:
    surface = sweep([polygon(CORNERS, 3)], (1.0, 0.5), L, 4)
    turn, shift = Rotation.from_rotvec([0.3, -0.7, 0.2]).as_matrix(), np.array([1.0, 2.0, 3.0])
    moved = move(surface, tt.Pose(shift, rotation=turn))
    assert inside(moved) == pytest.approx(inside(surface), rel=1e-12)
    np.testing.assert_allclose(moved[:, PLACE], surface[:, PLACE] @ turn.T + shift, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(moved[:, FAN], surface[:, FAN])
