"""Closed surfaces at rest, as points from whose images the volume inside follows.

By Gauss's theorem and Nanson's formula, with tangents a and b, it is ``1/3 int p . (F a x F b)`` over the sides; an end is the
fan over the image of its rim, from the image c of one point of it: ``1/6 int c . (p x F t) ds``. Both are sums of
``p . (F a x (F b + w c))``, weights included in b and w.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.soft.quadrature import gauss_angles
from titop.blocks.contract.description import Picture

#: What a point has: its place (m), the tangents a and b, the place from which an end's fan goes out, and its weight w.
PLACE, FIRST, SECOND, APEX, FAN, SURFACE_SIZE = slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12), 12, 13

#: Barycentric coordinates of a triangle's points with equal weights: exact for degree 2.
_RULE = np.full((3, 3), 1.0 / 6.0) + 0.5 * np.eye(3)


class Edge(NamedTuple):
    """A closed curve around a section.

    Attributes
    ----------
    places : (k, 2) array, m
    tangents : (k, 2) array, m
        Times the weights of a quadrature along it; counter-clockwise around what is inside.
    apex : (2,) array, m
        A point on it.
    """

    places: Array
    tangents: Array
    apex: Array

    @property
    def reversed(self) -> Edge:
        """The edge of a hole."""
        return Edge(self.places, -self.tangents, self.apex)


def circle(radius: float, count: int) -> Edge:
    """Return the edge of a disc, with points at equal angles."""
    places, tangents = _turning(radius, 2.0 * np.pi * np.arange(count) / count)
    return Edge(places, 2.0 * np.pi / count * tangents, places[0])


def polygon(corners: Array, count: int) -> Edge:
    """Return the edge of a polygon with corners (k, 2), with so many Gauss points on every side."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    sides = np.roll(corners, -1, axis=0) - corners
    places = corners[:, None] + 0.5 * (nodes[:, None] + 1.0) * sides[:, None]
    return Edge(places.reshape(-1, 2), (0.5 * weights[:, None] * sides[:, None]).reshape(-1, 2), corners[0])


def sector(radius: float, angle: float, around: int, outwards: int) -> Edge:
    """Return the edge of a sector of a disc on the side of x, with so many Gauss points on its arc and its straight sides."""
    angles, weights = gauss_angles(around, angle)
    places, tangents = _turning(radius, angles)
    start, end = (radius * np.array([np.cos(0.5 * angle), side * np.sin(0.5 * angle)]) for side in (-1.0, 1.0))
    straight = polygon(np.array([end, [0.0, 0.0], start]), outwards)
    kept = slice(2 * outwards)  # without the chord
    arc = weights[:, None] * tangents
    return Edge(np.vstack([places, straight.places[kept]]), np.vstack([arc, straight.tangents[kept]]), start)


def swept(edges: list[Edge], scales: tuple[float, float], length: float, along: int) -> Array:
    """Return the surface (k, 13) of sections along z from the origin, multiplied by scales that go from base to tip."""
    nodes, weights = np.polynomial.legendre.leggauss(along)
    narrowing, parts = (scales[1] - scales[0]) / length, []
    for edge in edges:
        for z, weight in zip(0.5 * length * (nodes + 1.0), 0.5 * length * weights, strict=True):
            size = scales[0] + narrowing * z
            parts.append(_ring(edge, z, size))
            parts[-1][:, SECOND] = weight / 3.0 * np.column_stack([narrowing * edge.places, np.ones(len(edge.places))])
        for z, size, side in ((0.0, scales[0], -1.0), (length, scales[1], 1.0)):
            if size:
                parts.append(_ring(edge, z, size))
                parts[-1][:, APEX], parts[-1][:, FAN] = [*size * edge.apex, z], side / 6.0
    return np.concatenate(parts)


def triangulate(outline: Picture) -> Array:
    """Return the surface (k, 13) of triangles, three points in each."""
    corners = outline.points[outline.triangles]
    points = np.zeros((3 * len(corners), SURFACE_SIZE))
    points[:, PLACE] = points[:, APEX] = (_RULE @ corners).reshape(-1, 3)
    points[:, FIRST], points[:, SECOND] = (
        np.repeat(factor * (corners[:, k] - corners[:, 0]), 3, axis=0) for k, factor in ((1, 1.0), (2, 1.0 / 18.0))
    )
    return points


def placed(surface: Array, rotation: Array, position: Array) -> Array:
    """Return a surface turned, then shifted."""
    moved = surface.copy()
    for part in (PLACE, FIRST, SECOND, APEX):
        moved[:, part] = surface[:, part] @ rotation.T
    moved[:, PLACE] += position
    moved[:, APEX] += position
    return moved


def _turning(radius: float, angles: Array) -> tuple[Array, Array]:
    """Return places on a circle, and their derivatives by the angle."""
    c, s = radius * np.cos(angles), radius * np.sin(angles)
    return np.stack([c, s], axis=1), np.stack([-s, c], axis=1)


def _ring(edge: Edge, z: float, size: float) -> Array:
    points = np.zeros((len(edge.places), SURFACE_SIZE))
    points[:, PLACE] = points[:, APEX] = np.column_stack([size * edge.places, np.full(len(points), z)])
    points[:, FIRST.start : FIRST.start + 2] = size * edge.tangents
    return points
