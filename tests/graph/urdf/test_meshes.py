"""Missing meshes are told."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import titop as tt
from tests.graph.urdf.urdf_texts import GOOD, load
from titop.graph.urdf.robot_system import from_urdf


def test_missing_meshes_are_told_once(tmp_path: Path) -> None:
    (tmp_path / "there.stl").touch()
    names = ("there.stl", "gone.stl", "gone.stl", "../also/gone.stl", "package://r/x.stl", "//server/x.stl", "file:///x.stl")
    meshes = "".join(f'<visual><geometry><mesh filename="{name}"/></geometry></visual>' for name in names)
    text = GOOD.replace("</inertial>", f"</inertial>{meshes}")
    (tmp_path / "robot.urdf").write_text(text)
    with pytest.warns(tt.ModelWarning) as caught:
        from_urdf(tmp_path / "robot.urdf")
    assert len(caught) == 1
    assert str(caught[0].message).startswith("r: got 'gone.stl' and 1 more; expected files beside the robot")
    load(text)  # a text has no place
    (tmp_path / "robot.urdf").write_text(text.replace("gone", "there").replace("../also/", ""))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_urdf(str(tmp_path / "robot.urdf"))
