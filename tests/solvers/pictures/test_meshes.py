"""Meshes and primitive shapes of robots in pictures; expected places are those of a cube's corners, and of a sphere."""

from __future__ import annotations

import base64
import sys
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.pictures.animated import Array, motion, read
from titop.solvers.pictures.animation import SIZE_LIMIT
from titop.solvers.pictures.meshes import PAGE_TRIANGLES, _surfaces, read_meshes

trimesh: Any = pytest.importorskip("trimesh")
pytest.importorskip("fast_simplification")

#: Corners of a cube of edge 0.2 on the origin, and what the robot makes of them: stretched, turned about z, shifted.
CORNERS = np.array([*product((0.0, 0.2), repeat=3)])
SCALE, SHIFT = np.array([1.0, 2.0, 0.5]), np.array([0.1, 0.0, 0.3])
TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
ROBOT = """<robot name="r"><material name="steel"><color rgba="0 0.2 1 1"/></material>
  <link name="stand"/>
  <link name="bob"><inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0.1 0 0.3" rpy="0 0 1.5707963267948966"/><geometry><mesh filename="{}" scale="1 2 0.5"/></geometry>
      <material name="steel"/></visual>
    <visual><geometry><capsule radius="0.1" length="0.6"/></geometry></visual>
  </link>
  <joint name="hinge" type="continuous"><parent link="stand"/><child link="bob"/><axis xyz="1 0 0"/></joint></robot>"""


def robot(folder: Path, name: str = "package://arm/meshes/cube.stl") -> tt.Model:
    """Return a robot in the package ``arm``, its cube beside it."""
    (folder / "arm" / "meshes").mkdir(parents=True)
    (folder / "arm" / "urdf").mkdir()
    trimesh.creation.box(bounds=[[0, 0, 0], [0.2, 0.2, 0.2]]).export(folder / "arm/meshes/cube.stl")
    (folder / "arm/urdf/arm.urdf").write_text(ROBOT.format(name))
    return tt.from_urdf(folder / "arm/urdf/arm.urdf").resolve("reference")


def mesh_points(data: dict[str, Any], shape: dict[str, Any]) -> Array:
    """Return the points (k, 3) of a mesh's shape in the frame of its body."""
    packed = data["meshes"][int(shape["kind"].split()[1])]
    points = packed["unit"] * np.frombuffer(base64.b64decode(packed["points"]), "<i2").reshape(-1, 3)
    x, y, z, w = shape["rotation"]
    assert (x, y) == (0, 0)
    turn = np.array([[w * w - z * z, -2 * w * z, 0], [2 * w * z, w * w - z * z, 0], [0, 0, 1]])
    return np.array(shape["position"]) + (points * shape["size"]) @ turn.T


@pytest.mark.parametrize("name", ["package://arm/meshes/cube.stl", "../meshes/cube.stl"])
def test_a_robots_mesh_stands_where_its_file_says(tmp_path: Path, name: str) -> None:
    data = read(motion(robot(tmp_path, name)).animate(tmp_path / "x.html"))
    shapes = [shape for shape in data["shapes"] if shape["name"] == "bob" and shape["role"] == "visual"]
    (cube,) = (shape for shape in shapes if shape["kind"].startswith("mesh"))
    points, expected = mesh_points(data, cube), SHIFT + (CORNERS * SCALE) @ TURN.T
    # 16 bits of 0.1 m: 3e-6 m
    assert np.abs(points[:, None] - expected).max(axis=2).min(axis=0).max() < 1e-5
    assert len(points) == 8
    assert cube["color"] == "#0033ff"
    ends = sorted((shape["kind"], shape["position"][2], shape["size"][2]) for shape in shapes if shape is not cube)
    assert ends == [("cylinder", 0, 0.6), ("sphere", -0.3, 0.1), ("sphere", 0.3, 0.1)]
    assert not [shape for shape in data["shapes"] if shape["name"] == "bob" and shape["role"] in ("ellipsoid", "rod")]


def test_shapes_that_users_give_come_first(tmp_path: Path) -> None:
    data = read(motion(robot(tmp_path)).animate(tmp_path / "x.html", {"bob": {"sphere": 0.3}}))
    assert [shape["kind"] for shape in data["shapes"] if shape["role"] == "visual"] == ["sphere"]
    with refusal("no-file", "gone.stl"):
        motion(robot(tmp_path / "again")).animate(tmp_path / "x.html", {"bob": {"mesh": "gone.stl"}})


def test_fine_meshes_are_simplified_to_a_small_page(tmp_path: Path) -> None:
    """Six balls of 20,480 triangles each: the page stays small, and they stay round to a hundredth."""
    paths = [tmp_path / f"ball{k}.stl" for k in range(6)]
    for path in paths:
        trimesh.creation.icosphere(5).export(path)
    s = tt.System("balls")
    ball = tt.RigidBody("ball", 1.0, inertia=1.0)
    ball.visuals = [{"mesh": path} for path in paths]
    s.connect("world", ball, tt.Revolute("hinge"))
    page = motion(s.resolve("reference")).animate(tmp_path / "x.html")
    assert page.stat().st_size < SIZE_LIMIT / 2
    meshes = [mesh for meshes in read_meshes(map(str, paths), PAGE_TRIANGLES).values() for mesh in meshes]
    assert sum(len(mesh.triangles) for mesh in meshes) <= PAGE_TRIANGLES
    for mesh in meshes:
        assert np.linalg.norm(mesh.places(np.ones(3)), axis=1) == pytest.approx(1.0, abs=0.01)


def test_parts_keep_their_colours(tmp_path: Path) -> None:
    red, blue = trimesh.creation.box(extents=[1, 1, 1]), trimesh.creation.box(bounds=[[2, 0, 0], [3, 1, 1]])
    for part, color in ((red, [255, 0, 0, 255]), (blue, [0, 0, 255, 255])):
        part.visual = trimesh.visual.TextureVisuals(material=trimesh.visual.material.PBRMaterial(baseColorFactor=color))
    trimesh.Scene([red, blue]).export(tmp_path / "two.glb")
    (parts,) = read_meshes([str(tmp_path / "two.glb")], 1000).values()
    found = {mesh.color: mesh.center.tolist() for mesh in parts}
    assert found == {"#ff0000": [0, 0, 0], "#0000ff": [2.5, 0.5, 0.5]}


def test_what_cannot_be_read_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = robot(tmp_path)
    (tmp_path / "arm/meshes/cube.stl").write_bytes(b"no mesh")
    with pytest.warns(tt.ModelWarning, match=r"cube\.stl") as caught:
        data = read(motion(model).animate(tmp_path / "x.html"))
    assert len(caught) == 1
    assert data["meshes"] == []
    _surfaces.cache_clear()
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.warns(tt.ModelWarning, match=r"titop\[view\]"):
        motion(model).animate(tmp_path / "x.html")


def test_figures_show_shapes_in_the_colour_of_the_legend(tmp_path: Path) -> None:
    from matplotlib.colors import to_rgb

    figure = motion(robot(tmp_path)).plot_shape([0.0, 1.0])
    axes: Any = figure.axes[0]
    (first, second) = (collection for collection in axes.collections if "Poly3D" in type(collection).__name__)
    legend = [to_rgb(line.get_color()) for line in axes.get_legend().get_lines()]
    for faces, color in zip((first, second), legend, strict=True):
        shades = np.array(faces.get_facecolor())[:, :3]
        # shading multiplies a colour by one number a triangle
        parts = shades / np.array(color)
        assert np.ptp(parts, axis=1).max() < 1e-6
        assert len(shades) == 12


def test_files_without_meshes_need_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trimesh", None)
    s = tt.System("plain")
    s.connect("world", tt.RigidBody("b", 1.0, inertia=1.0), tt.Revolute("hinge"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        motion(s.resolve("reference")).animate(tmp_path / "x.html", {"b": {"capsule": [0.1, 0.4]}})


def test_meshes_of_trimesh_are_drawn(tmp_path: Path) -> None:
    cube = trimesh.creation.box(bounds=[[0, 0, 0], [0.2, 0.2, 0.2]])
    visuals = {"bob": {"mesh": cube, "scale": SCALE, "position": SHIFT, "rotation": TURN}}
    data = read(motion(robot(tmp_path)).animate(tmp_path / "x.html", visuals))
    (shape,) = (shape for shape in data["shapes"] if shape["kind"] == "mesh 0")
    expected = SHIFT + (CORNERS * SCALE) @ TURN.T
    assert np.abs(mesh_points(data, shape)[:, None] - expected).max(axis=2).min(axis=0).max() < 1e-5  # 16 bits of 0.1 m
