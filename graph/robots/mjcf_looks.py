"""What bodies of MJCF look like: geoms of a compiled model, and meshes that pictures read from their files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array, quaternion_matrix
from titop.graph.robots.looks import Looks, hex_color
from titop.graph.robots.robot import composed

#: Groups of geoms that MuJoCo's viewer shows, and that of shapes which are only seen.
_SHOWN, _SEEN = range(3), 2
#: MuJoCo's colour of geoms that have none.
_GREY = (0.5, 0.5, 0.5, 1.0)
#: Size of planes without end, in parts of the model's extent, and thickness of planes in parts of their size.
_REACH, _THIN = 2.0, 1 / 250


class Triangles:
    """A mesh by its `vertices` (k, 3; m) and `faces` (m, 3; numbers of vertices)."""

    def __init__(self, vertices: Array, faces: Array) -> None:
        self.vertices, self.faces = vertices, faces


class MeshFile(NamedTuple):
    """A mesh whose file MuJoCo does not read: its name, what stretches it, and where its frame stands in the geom's."""

    file: str
    scale: Array
    pose: Pose
    is_own: bool  #: Not of an attached model, whose folder is not known, so that its meshes may be elsewhere.


def mesh_file(mesh: Any, spec: Any) -> MeshFile | None:
    """Return a mesh of a specification as its file; None if only MuJoCo can read it: a point is at ``S R^T (x - refpos)``."""
    scale, turn = np.array(mesh.scale), mujoco_rotation(np.array(mesh.refquat) / np.linalg.norm(mesh.refquat))
    if not mesh.file or (np.ptp(scale) and not np.array_equal(turn, np.eye(3))):
        return None
    name = os.path.basename(mesh.file) if spec.strippath else mesh.file
    pose = Pose(-scale * (turn.T @ mesh.refpos), turn.T)
    return MeshFile(os.path.join(mesh.compiler.meshdir, name), scale, pose, mesh.compiler is spec.compiler)


def mujoco_rotation(quaternion: Any) -> Array:
    """Return the rotation matrix of a quaternion in MuJoCo's order (w, x, y, z)."""
    return quaternion_matrix(np.roll(quaternion, -1))


def body_looks(mujoco: Any, model: Any, files: Mapping[int, MeshFile | None], looks: Looks) -> list[list[dict[str, Any]]]:
    """Return the shapes of each body, as `Trajectory.animate` takes them.

    Shown are geoms of the groups in which the body has geoms that touch nothing, and of group 2; of bodies without, and of the
    world, all that MuJoCo's viewer shows; of bodies without these, what touches. `files`: meshes by the numbers of their geoms,
    None for those without shape.
    """
    looks.check(file.file for file in files.values() if file is not None and file.is_own)
    geoms: list[list[tuple[int, bool, dict[str, Any]]]] = [[] for _ in range(model.nbody)]
    for k in range(model.ngeom):
        color, touches = _color(model, k), bool(model.geom_contype[k] or model.geom_conaffinity[k])
        pose = Pose(model.geom_pos[k], mujoco_rotation(model.geom_quat[k]))
        if color != "" and (shape := _mesh(files[k], looks, pose) if k in files else _shape(mujoco, model, k, pose)):
            geoms[model.geom_bodyid[k]].append((int(model.geom_group[k]), touches, shape | ({"color": color} if color else {})))
    return [_chosen(of_body, is_world=not body) for body, of_body in enumerate(geoms)]


def _chosen(geoms: list[tuple[int, bool, dict[str, Any]]], is_world: bool) -> list[dict[str, Any]]:
    seen = {group for group, touches, _ in geoms if group in _SHOWN and not touches} | {_SEEN}
    choices = [[shape for group, _, shape in geoms if group in groups] for groups in (seen, _SHOWN)]
    choices.append([shape for _, touches, shape in geoms if touches])
    return next(filter(None, choices[is_world:]), [])


def _color(model: Any, k: int) -> str | None:
    """Return the colour of a geom, its material's where it has none of its own; empty if it is invisible."""
    rgba, material = model.geom_rgba[k], model.geom_matid[k]
    is_own = not np.array_equal(rgba, np.array(_GREY, rgba.dtype))
    if not is_own and material < 0:
        return None
    rgba = rgba if is_own else model.mat_rgba[material]
    return hex_color(np.clip(rgba, 0.0, 1.0)) if rgba[3] else ""


def _mesh(file: MeshFile | None, looks: Looks, pose: Pose) -> dict[str, Any]:
    path = None if file is None else looks.file(file.file)
    return {} if file is None or path is None else {"mesh": path, "scale": file.scale} | _place(composed(pose, file.pose))


def _shape(mujoco: Any, model: Any, k: int, pose: Pose) -> dict[str, Any]:
    """Return the shape of a geom without colour; none of what pictures do not know."""
    x, y, z = model.geom_size[k].tolist()
    kinds, mesh = mujoco.mjtGeom, int(model.geom_dataid[k])
    match kinds(int(model.geom_type[k])):
        case kinds.mjGEOM_PLANE:
            sides = [2 * x or _REACH * model.stat.extent, 2 * y or _REACH * model.stat.extent]
            thin = _THIN * max(sides)
            return {"box": [*sides, thin]} | _place(composed(pose, Pose([0.0, 0.0, -0.5 * thin])))
        case kinds.mjGEOM_SPHERE:
            shape: dict[str, Any] = {"sphere": x}
        case kinds.mjGEOM_CAPSULE:
            shape = {"capsule": [x, 2 * y]}
        case kinds.mjGEOM_CYLINDER:
            shape = {"cylinder": [x, 2 * y]}
        case kinds.mjGEOM_ELLIPSOID:
            shape = {"ellipsoid": [x, y, z]}
        case kinds.mjGEOM_BOX:
            shape = {"box": [2 * x, 2 * y, 2 * z]}
        case kinds.mjGEOM_MESH if mesh >= 0:
            of_mesh, faces = model.mesh_vertadr[mesh], model.mesh_faceadr[mesh]
            vertices = model.mesh_vert[of_mesh : of_mesh + model.mesh_vertnum[mesh]].copy()
            shape = {"mesh": Triangles(vertices, model.mesh_face[faces : faces + model.mesh_facenum[mesh]].copy())}
        case _:
            return {}
    return shape | _place(pose)


def _place(pose: Pose) -> dict[str, Any]:
    return {"position": pose.position, "rotation": pose.rotation}
