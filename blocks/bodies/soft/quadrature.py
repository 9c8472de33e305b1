"""Points of bodies at rest: of sections along z, of the closed surfaces of these, and of meshes of tetrahedra.

By Gauss's theorem and Nanson's formula the volume inside of the image of a surface with tangents a and b is
``1/3 int p . (F a x F b)`` over the sides; an end is the fan over the image of its rim, from the image c of one point of it:
``1/6 int c . (p x F t) ds``. Both are sums of ``p . (F a x (F b + w c))``, weights included in b and w.

Rules on an arc after Da Fies and Vianello, "Trigonometric Gaussian quadrature on subintervals of the period" (2012): cosines up
to ``cos n t`` are polynomials of degree 2n in ``sin(t/2)``, and sines add up to nothing, so that Gauss points in ``sin(t/2)``
know them all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, missing_extra, refuse
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.contract.description import Picture


def gauss(count: int, length: float) -> tuple[Array, Array]:
    """Return points and weights of Gauss and Legendre from 0 to a length: exact up to degree ``2 count - 1``."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * length * (points + 1.0), 0.5 * length * weights


def gauss_radii(count: int, radius: float) -> tuple[Array, Array]:
    """Return points and weights of ``int f(r) r dr`` from 0 to a radius: exact for f up to degree ``2 count - 1``."""
    r, weights = gauss(count + 1, 1.0)
    points, shares = _gauss_of(r, weights * r, count)
    return radius * points, radius**2 * shares


def gauss_angles(count: int, angle: float) -> tuple[Array, Array]:
    """Return angles and weights on an arc of at most a turn, its middle at 0: exact for ``cos n t, sin n t``, ``n < count``.

    On a turn they are equal.
    """
    t, weights = gauss(_FINE + 2 * count, angle)
    points, shares = _gauss_of(np.sin(0.5 * (t - 0.5 * angle)), weights, count)
    return 2.0 * np.arcsin(points), shares


#: Points that know polynomials of the first degrees in the sine of a quarter of a turn to rounding.
_FINE = 32


def _gauss_of(points: Array, weights: Array, count: int) -> tuple[Array, Array]:
    """Return so many Gauss points, and their weights, of the measure that more of them make (Golub and Welsch)."""
    root = np.sqrt(weights)
    middle, half = 0.5 * (points.max() + points.min()), 0.5 * np.ptp(points)
    basis, _ = np.linalg.qr(root[:, None] * np.polynomial.legendre.legvander((points - middle) / half, count - 1))
    nodes, vectors = np.linalg.eigh(basis.T @ (points[:, None] * basis))
    return nodes, weights.sum() * vectors[0] ** 2


# -- closed surfaces ---------------------------------------------------------------------------------------------------------

#: What a point has: its place (m), the tangents a and b, the place from which an end's fan goes out, and its weight w.
PLACE, FIRST, SECOND, APEX, FAN, SURFACE_SIZE = slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12), 12, 13

#: Barycentric coordinates of a triangle's points with equal weights: exact for degree 2.
_TRIANGLE = np.full((3, 3), 1.0 / 6.0) + 0.5 * np.eye(3)


class Edge(NamedTuple):
    """A closed curve around a section: places and tangents (k, 2; m), and a point on it.

    Tangents are counter-clockwise around what is inside, times the weights of a quadrature.
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
    places, tangents = _on_circle(radius, 2.0 * np.pi * np.arange(count) / count)
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
    places, tangents = _on_circle(radius, angles)
    start, end = (radius * np.array([np.cos(0.5 * angle), side * np.sin(0.5 * angle)]) for side in (-1.0, 1.0))
    straight = polygon(np.array([end, [0.0, 0.0], start]), outwards)
    sides = slice(2 * outwards)  # without the chord
    arc = weights[:, None] * tangents
    return Edge(np.vstack([places, straight.places[sides]]), np.vstack([arc, straight.tangents[sides]]), start)


def sweep(edges: list[Edge], scales: tuple[float, float], length: float, along: int) -> Array:
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
    points[:, PLACE] = points[:, APEX] = (_TRIANGLE @ corners).reshape(-1, 3)
    points[:, FIRST], points[:, SECOND] = (
        np.repeat(factor * (corners[:, k] - corners[:, 0]), 3, axis=0) for k, factor in ((1, 1.0), (2, 1.0 / 18.0))
    )
    return points


def move(surface: Array, pose: Pose) -> Array:
    """Return a surface rotated, then displaced."""
    result = surface.copy()
    for part in (PLACE, FIRST, SECOND, APEX):
        result[:, part] = surface[:, part] @ pose.rotation.T
    result[:, PLACE] += pose.position
    result[:, APEX] += pose.position
    return result


def _on_circle(radius: float, angles: Array) -> tuple[Array, Array]:
    """Return places on a circle, and their derivatives by the angle."""
    c, s = radius * np.cos(angles), radius * np.sin(angles)
    return np.stack([c, s], axis=1), np.stack([-s, c], axis=1)


def _ring(edge: Edge, z: float, size: float) -> Array:
    points = np.zeros((len(edge.places), SURFACE_SIZE))
    points[:, PLACE] = points[:, APEX] = np.column_stack([size * edge.places, np.full(len(points), z)])
    points[:, FIRST.start : FIRST.start + 2] = size * edge.tangents
    return points


# -- pictures ----------------------------------------------------------------------------------------------------------------

#: Rows of points along a body, and how many of them are drawn as lines.
_ROWS, _LINES = 13, 7


def loft(rings: list[Array], scales: tuple[float, float], length: float) -> Picture:
    """Return the outline of a body along z from the origin.

    Its section has an outer ring (m, 2; m), and perhaps that of a hole, point by point beside the first, counter-clockwise. The
    scales multiply it at the base and at the tip.
    """
    count, parts, triangles, lines = len(rings[0]), [], [], []
    heights = np.linspace(0.0, length, _ROWS)
    sizes = np.linspace(*scales, _ROWS)
    for k, ring in enumerate(rings):
        grid = np.arange(_ROWS * count).reshape(_ROWS, count) + k * _ROWS * count
        across = (sizes[:, None, None] * ring).reshape(-1, 2)
        parts.append(np.column_stack([across, np.repeat(heights, count)]))
        sides = _strip(grid)
        triangles.append(sides[:, ::-1] if k else sides)
        lines += [np.append(row, row[0]) for row in grid[:: (_ROWS - 1) // (_LINES - 1)]]
        lines += list(grid.T[:: max(1, count // 4)])
    points, size = np.concatenate(parts), _ROWS * count
    ends = np.array([np.arange(count), np.arange(count) + size - count])
    if len(rings) == 2:
        triangles += [_strip(np.array([ends[0] + size, ends[0]])), _strip(np.array([ends[1], ends[1] + size]))]
    else:
        middles = len(points) + np.arange(2)
        points = np.concatenate([points, [[0.0, 0.0, 0.0], [0.0, 0.0, length]]])
        base, tip = (np.stack([end, np.roll(end, -1), np.full(count, m)], 1) for end, m in zip(ends, middles, strict=True))
        triangles += [base[:, ::-1], tip]
    return Picture(points, np.concatenate(triangles), tuple(lines))


def _strip(grid: Array) -> Array:
    """Return the triangles between rows of closed rings, the first row below the next seen from outside."""
    here, beside = grid[:-1], np.roll(grid[:-1], -1, axis=1)
    above, across = grid[1:], np.roll(grid[1:], -1, axis=1)
    lower, upper = np.stack([here, beside, across], axis=-1), np.stack([here, across, above], axis=-1)
    return np.concatenate([lower.reshape(-1, 3), upper.reshape(-1, 3)])


# -- tetrahedra ----------------------------------------------------------------------------------------------------------------

#: Corners of each face of a tetrahedron; seen from outside they turn to the left.
_FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
#: Barycentric coordinates of points with equal weights (Keast): exact for degree 1, and for degree 2.
_NEAR = (5.0 - np.sqrt(5.0)) / 20.0
_TETRAHEDRON = {1: np.full((1, 4), 0.25), 4: np.full((4, 4), _NEAR) + (1.0 - 4.0 * _NEAR) * np.eye(4)}
#: Elements that fill no volume.
_THIN = ("vertex", "line", "triangle", "quad", "polygon")
#: So many elements are named.
_NAMED = 5


def read_tetrahedra(mesh: Any) -> tuple[Array, Array]:
    """Return corners (k, 3) and tetrahedra (m, 4) of a mesh, a path or a meshio.Mesh, and check them."""
    read = _read(mesh) if isinstance(mesh, str | Path) else mesh
    if not hasattr(read, "cells") or not hasattr(read, "points"):
        _refuse("wrong-type", read, "a path or a meshio.Mesh", 'write tt.Domain.mesh("arm.msh")')
    others = sorted({block.type for block in read.cells if not block.type.startswith(("tetra", *_THIN))})
    if others:
        _refuse("not-tetrahedra", ", ".join(others), "tetrahedra", "mesh the body with tetrahedra alone")
    blocks = [np.asarray(block.data)[:, :4] for block in read.cells if block.type.startswith("tetra")]
    if not sum(len(block) for block in blocks):
        _refuse("no-tetrahedra", "no tetrahedra", "a mesh of a volume", "mesh the inside too, and save all of it")
    corners, tetrahedra = np.asarray(read.points, float), np.concatenate(blocks)
    if corners.ndim != 2 or corners.shape[1] != 3 or not np.isfinite(corners).all():
        _refuse("wrong-shape", f"points of shape {corners.shape}", "finite points (k, 3)", "save the mesh in three dimensions")
    _check_shapes(corners, tetrahedra)
    _check_faces(tetrahedra)
    return corners, tetrahedra


def mesh_points(corners: Array, tetrahedra: Array, count: int) -> tuple[Array, Array]:
    """Return `count` points (1 or 4) for each tetrahedron, and their volumes."""
    if count not in _TETRAHEDRON:
        _refuse("bad-count", count, "1 or 4 points in each tetrahedron", "write points=4", "points")
    points = (_TETRAHEDRON[count] @ corners[tetrahedra]).reshape(-1, 3)
    return points, np.repeat(_volumes(corners, tetrahedra) / count, count)


def mesh_outline(corners: Array, tetrahedra: Array) -> Picture:
    """Return the faces that belong to one tetrahedron alone."""
    faces = tetrahedra[:, _FACES].reshape(-1, 3)
    _, first, counts = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    outside, triangles = np.unique(faces[first[counts == 1]], return_inverse=True)
    return Picture(corners[outside], triangles.reshape(-1, 3), ())


def _read(path: str | Path) -> Any:
    try:
        import meshio
    except ImportError as error:
        raise missing_extra("meshio", "soft", "domain.mesh", "a library that reads meshes") from error
    try:
        return meshio.read(path)
    except (Exception, SystemExit) as error:  # meshio leaves Python where no format fits
        reason = f"{path}: {str(error).splitlines()[0] if str(error).strip() else type(error).__name__}"
        advice = "give a mesh file that meshio reads, such as .msh, .vtu or .inp"
        raise ModelError(Finding("unreadable-mesh", "domain.mesh", reason, "a mesh file", advice)) from error


def _volumes(corners: Array, tetrahedra: Array) -> Array:
    a, b, c, d = np.moveaxis(corners[tetrahedra], 1, 0)
    return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0


def _check_shapes(corners: Array, tetrahedra: Array) -> None:
    volumes = _volumes(corners, tetrahedra)
    each = corners[tetrahedra]
    longest = np.linalg.norm(each[:, :, None] - each[:, None], axis=-1).max(axis=(1, 2))
    flat = np.abs(volumes) <= SAME * longest**3
    inverted: Array = (volumes < 0) & ~flat
    wrong = (
        ("degenerate-tetrahedra", flat, "tetrahedra with a volume", "mesh again, or remove those without volume"),
        ("inverted-tetrahedra", inverted, "corners of positive volume", "swap two corners of each of them"),
    )
    refuse(Finding(code, "domain.mesh", _list(which), *rest) for code, which, *rest in wrong if which.any())


def _check_faces(tetrahedra: Array) -> None:
    """Refuse meshes in which two tetrahedra lie on the same side of a face that they share."""
    faces = tetrahedra[:, _FACES].reshape(-1, 3)
    rolled = np.take_along_axis(faces, (faces.argmin(axis=1)[:, None] + np.arange(3)) % 3, axis=1)
    _, inverse, counts = np.unique(rolled, axis=0, return_inverse=True, return_counts=True)
    shared = (counts[inverse.ravel()] > 1).reshape(-1, 4).any(axis=1)
    if shared.any():
        advice = "mesh again: some stand twice, or lie in each other"
        _refuse("overlapping-tetrahedra", _list(shared), "tetrahedra on both sides of a face", advice)


def _list(which: Any) -> str:
    places = np.flatnonzero(which)
    listed = ", ".join(map(str, places[:_NAMED])) + (", ..." if len(places) > _NAMED else "")
    return f"{len(places)} of {len(which)}: {listed}"


def _refuse(code: str, value: Any, expected: str, advice: str, field: str = "mesh") -> NoReturn:
    raise ModelError(Finding(code, f"domain.{field}", value, expected, advice))
