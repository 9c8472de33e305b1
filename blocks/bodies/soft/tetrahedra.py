"""Domains of tetrahedra: reading meshes, what is wrong with them, points and surface."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, missing_extra
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.contract.description import Picture

#: Corners of each face of a tetrahedron; seen from outside they turn to the left.
_FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
#: Barycentric coordinates of points with equal weights (Keast): exact for degree 1, and for degree 2.
_NEAR = (5.0 - np.sqrt(5.0)) / 20.0
_RULES = {1: np.full((1, 4), 0.25), 4: np.full((4, 4), _NEAR) + (1.0 - 4.0 * _NEAR) * np.eye(4)}
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
    if count not in _RULES:
        _refuse("bad-count", count, "1 or 4 points in each tetrahedron", "write points=4", "points")
    points = (_RULES[count] @ corners[tetrahedra]).reshape(-1, 3)
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
    if findings := [Finding(code, "domain.mesh", _listed(which), *rest) for code, which, *rest in wrong if which.any()]:
        raise ModelError(findings)


def _check_faces(tetrahedra: Array) -> None:
    """Refuse meshes in which two tetrahedra lie on the same side of a face that they share."""
    faces = tetrahedra[:, _FACES].reshape(-1, 3)
    rolled = np.take_along_axis(faces, (faces.argmin(axis=1)[:, None] + np.arange(3)) % 3, axis=1)
    _, inverse, counts = np.unique(rolled, axis=0, return_inverse=True, return_counts=True)
    shared = (counts[inverse.ravel()] > 1).reshape(-1, 4).any(axis=1)
    if shared.any():
        advice = "mesh again: some stand twice, or lie in each other"
        _refuse("overlapping-tetrahedra", _listed(shared), "tetrahedra on both sides of a face", advice)


def _listed(which: Any) -> str:
    places = np.flatnonzero(which)
    listed = ", ".join(map(str, places[:_NAMED])) + (", ..." if len(places) > _NAMED else "")
    return f"{len(places)} of {len(which)}: {listed}"


def _refuse(code: str, value: Any, expected: str, advice: str, field: str = "mesh") -> NoReturn:
    raise ModelError(Finding(code, f"domain.{field}", value, expected, advice))
