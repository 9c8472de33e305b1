"""Shapes of links, and where the files of their meshes are found."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import titop as tt

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def link(visual: str, folder: Path | None = None, extra: str = "") -> tt.RigidBody:
    """Return the only link of a robot."""
    text = f'<robot name="r"><link name="a">{INERTIAL}{visual}</link>{extra}</robot>'
    if folder is not None:
        (folder / "r.urdf").write_text(text)
    body = tt.from_urdf(text if folder is None else folder / "r.urdf")["a"]
    assert isinstance(body, tt.RigidBody)
    return body


@pytest.mark.parametrize(
    ("geometry", "kind", "numbers"),
    [
        ('<box size="1 2 3"/>', "box", [1, 2, 3]),
        ('<cylinder radius="0.1" length="2"/>', "cylinder", [0.1, 2]),
        ('<capsule radius="0.1" length="2"/>', "capsule", [0.1, 2]),
        ('<sphere radius="0.5"/>', "sphere", 0.5),
    ],
)
def test_primitive_shapes(geometry: str, kind: str, numbers: object) -> None:
    visual = f'<visual><origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/><geometry>{geometry}</geometry></visual>'
    (look,) = link(visual).visuals
    assert look[kind] == numbers
    assert look["position"].tolist() == [1, 0, 0]
    assert look["rotation"] @ [1, 0, 0] == pytest.approx([0, 1, 0], abs=1e-15)
    assert "color" not in look


@pytest.mark.parametrize(
    "geometry",
    [
        '<box size="1 2"/>',
        '<sphere radius="-1"/>',
        '<sphere radius="1e999"/>',
        "<sphere/>",
        "<torus/>",
        "",
        '<box size="a b c"/>',
    ],
)
def test_shapes_that_are_none_do_no_harm(geometry: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        body = link(f'<visual><origin xyz="x" rpy="1 2"/><geometry>{geometry}</geometry></visual><visual/>')
    assert list(body.visuals) == []


def test_colours_of_named_materials_and_own_ones() -> None:
    shape = '<geometry><sphere radius="1"/></geometry>'
    visuals = (
        f'<visual>{shape}<material name="m"/></visual><visual>{shape}<material><color rgba="1 0 0 1"/></material></visual>'
    )
    looks = link(visuals, extra='<material name="m"><color rgba="0 1 0 0.5"/></material>').visuals
    assert [look["color"] for look in looks] == ["#00ff00", "#ff0000"]


def test_packages_are_found_around_the_file_and_where_ros_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    visual = '<visual><geometry><mesh filename="package://far/m.stl"/></geometry></visual>'
    home, away = tmp_path / "home", tmp_path / "away"
    (home / "robot").mkdir(parents=True)
    (away / "share" / "far").mkdir(parents=True)
    (away / "share" / "far" / "m.stl").touch()
    with pytest.warns(tt.ModelWarning, match=rf"package://far/m\.stl.*in {home / 'robot'} and the folders above"):
        assert list(link(visual, home / "robot").visuals) == []
    for variable, value in (("ROS_PACKAGE_PATH", away / "share"), ("AMENT_PREFIX_PATH", away)):
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("error")
            patch.setenv(variable, f"{tmp_path}{os.pathsep}{value}")
            (look,) = link(visual, home / "robot").visuals
        assert look["mesh"] == str(away / "share/far/m.stl")
    (home / "far").mkdir()
    (home / "far" / "m.stl").touch()
    assert link(visual, home / "robot").visuals[0]["mesh"] == str(home / "far/m.stl")


def test_shapes_of_sdf(tmp_path: Path) -> None:
    (tmp_path / "m.obj").touch()
    (tmp_path / "r.sdf").write_text(
        """<sdf version="1.9"><model name="r"><link name="a"><inertial><mass>1</mass></inertial>
        <visual name="v"><pose>0 0 1 0 0 0</pose>
          <geometry><cylinder><radius>0.1</radius><length>2</length></cylinder></geometry>
          <material><diffuse>0 0 1 1</diffuse></material></visual>
        <visual name="w"><geometry><mesh><uri>m.obj</uri><scale>1 1 2</scale></mesh></geometry></visual>
        </link></model></sdf>"""
    )
    rod, mesh = tt.from_sdf(tmp_path / "r.sdf")["a"].visuals
    assert (rod["cylinder"], rod["color"], rod["position"].tolist()) == ([0.1, 2], "#0000ff", [0, 0, 1])
    assert (mesh["mesh"], mesh["scale"]) == (str(tmp_path / "m.obj"), [1, 1, 2])
    np.testing.assert_array_equal(mesh["rotation"], np.eye(3))


def test_ellipsoids_of_sdf() -> None:
    visual = "<visual name='v'><geometry><ellipsoid><radii>1 2 3</radii></ellipsoid></geometry></visual>"
    text = f"<sdf version='1.9'><model name='m'><link name='a'><inertial><mass>1</mass></inertial>{visual}</link></model></sdf>"
    (look,) = tt.from_sdf(text)["a"].visuals
    assert look["ellipsoid"] == [1, 2, 3]
