"""Meshes of files, as few triangles of one colour each: what pictures show of bodies."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, missing_extra, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import is_finite

#: Triangles of all meshes of a page together, and of one: half a megabyte, and as many corners as 16-bit numbers count.
PAGE_TRIANGLES, _MOST = 40_000, 20_000
#: Fewest triangles that are left of a mesh.
_FEWEST = 100
#: Files that trimesh reads; bytes of the largest.
SUFFIXES = ("stl", "obj", "dae", "gltf", "glb", "ply", "off")
_LARGEST_FILE = 200_000_000


class Mesh(NamedTuple):
    """A surface of one colour: `center` (3, m) and `half` size (m) of the cube around it; points (k, 3) in parts of that."""

    points: Array
    triangles: Array  #: (m, 3): numbers of points.
    center: Array
    half: float
    color: str | None

    def places(self, scale: Array) -> Array:
        """Return the points (k, 3; m) in the file's frame, stretched by `scale` (3)."""
        return scale * (self.center + self.half * self.points)


def is_mesh(given: Any) -> bool:
    """Tell whether something is a mesh, as trimesh and readers of robots have them: points and triangles that fit."""
    points, faces = (np.asarray(getattr(given, name, ())) for name in ("vertices", "faces"))
    if points.shape[1:] != (3,) or faces.shape[1:] != (3,) or faces.dtype.kind not in "iu" or not isinstance(given, Hashable):
        return False
    return len(faces) > 0 and faces.min() >= 0 and faces.max() < len(points) and is_finite(points)


def read_meshes(paths: Iterable[Any], triangles: int) -> dict[Any, list[Mesh]]:
    """Return the surfaces of files and given meshes, of about so many `triangles` in all; the largest lose most.

    Files that cannot be read are none, and named in one warning; so are all without the package trimesh.
    """
    files, failed = {}, dict[Any, Exception]()
    for path in dict.fromkeys(paths):
        try:
            is_file = isinstance(path, str)
            files[path] = _surfaces(path, os.stat(path).st_mtime_ns) if is_file else [(*_joined([_parts(path)]), None)]
        except Exception as wrong:  # whatever readers of a dozen formats raise
            failed[path] = wrong
    if failed:
        path, error = next(iter(failed.items()))
        others = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        if isinstance(error, ModelError):
            warn(error.findings)
        else:
            expected = f"meshes that can be read ({', '.join(SUFFIXES)})"
            warn([Finding("bad-mesh", path, f"{error}{others}", expected, "ellipsoids are drawn instead")])
    parts = [part for surfaces in files.values() for part in surfaces]
    most = min(_shared([len(faces) for _, faces, _ in parts], triangles), _MOST)
    return {path: [_simplified(*part, most) for part in surfaces] for path, surfaces in files.items()}


def _parts(mesh: Any) -> tuple[Array, Array]:
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


def _shared(counts: list[int], total: int) -> int:
    """Return the most that each may have so that all together have no more than `total`, if each may have the fewest."""
    left = total
    for k, count in enumerate(sorted(counts)):
        share = left // (len(counts) - k)
        if count > share:
            return max(share, _FEWEST)
        left -= count
    return max(total, _FEWEST)


@lru_cache(maxsize=512)
def _surfaces(path: str, _changed: int) -> list[tuple[Array, Array, str | None]]:
    """Return points (k, 3; m), triangles and colour of each part of a file; parts of one colour are one."""
    try:
        import trimesh
    except ImportError:
        raise missing_extra("trimesh", "view", "visuals", "that package, which reads the meshes of robots") from None
    if os.path.getsize(path) > _LARGEST_FILE:
        raise ValueError(f"more than {_LARGEST_FILE // 1_000_000} MB")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scene = trimesh.load_scene(path)
        unit = trimesh.units.unit_conversion(scene.units, "meters") if scene.units else 1.0
        parts = dict[str | None, list[tuple[Array, Array]]]()
        for part in scene.dump():
            if len(faces := np.asarray(getattr(part, "faces", ()))):
                parts.setdefault(_color(part.visual), []).append((unit * np.asarray(part.vertices), faces))
    if not parts:
        raise ValueError("no triangles")
    return [(*_joined(pieces), color) for color, pieces in parts.items()]


def _color(visual: Any) -> str | None:
    """Return the colour of a part's material or faces; None if it has none."""
    if visual.kind is None:
        return None
    color = visual.material.main_color if visual.kind == "texture" else visual.main_color
    return "#" + "".join(f"{int(part):02x}" for part in color[:3])


def _joined(pieces: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return points, those at one place as one, and triangles of pieces together."""
    starts = np.cumsum([0, *(len(points) for points, _ in pieces)])
    faces = np.concatenate([faces + start for (_, faces), start in zip(pieces, starts, strict=False)])
    points, inverse = np.unique(np.concatenate([points for points, _ in pieces]).astype("f4"), axis=0, return_inverse=True)
    return points, inverse.reshape(-1)[faces]


def _simplified(points: Array, faces: Array, color: str | None, most: int) -> Mesh:
    """Return a part of a file with at most about so many triangles."""
    if len(faces) > most:
        try:
            from fast_simplification import simplify
        except ImportError:
            raise missing_extra("fast-simplification", "view", "visuals", "that package, which simplifies meshes") from None
        points, faces = simplify(points, faces.astype(np.int32), target_count=most)
        faces = faces[:_MOST]
    low, high = points.min(axis=0).astype(float), points.max(axis=0).astype(float)
    center, half = (low + high) / 2, float((high - low).max()) / 2 or 1.0
    return Mesh((points - center) / half, faces, center, half, color)
