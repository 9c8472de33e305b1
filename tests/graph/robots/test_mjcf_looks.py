"""Shapes of bodies from MJCF, against where MuJoCo has its geoms and the points of its meshes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt

pytest.importorskip("mujoco")

import mujoco

from tests.graph.robots.mujoco_peer import at_state
from tests.solvers.pictures.animated import motion

Array = NDArray[np.float64]
#: Products of a few rotations and positions of 1 m.
ROUNDED = 1e-13
#: Points of meshes are 32-bit numbers of 1 m in MuJoCo.
SINGLE = 3e-7
TETRAHEDRON = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0.1, 0, 3]])
INERTIAL = '<inertial pos=".1 .2 .3" mass="1" diaginertia="1 1 1"/>'
SHAPES = f"""<mujoco model="shapes"><compiler angle="degree"/><default><geom group="1"/></default><worldbody>
  <geom type="plane" size="2 3 1" pos="0 0 -1" euler="10 0 0"/>
  <frame pos=".1 .2 .3" euler="0 40 0"><body name="base" pos="1 0 0" euler="10 20 30"><freejoint/>{INERTIAL}
    <geom type="box" size=".1 .2 .3" pos=".3 .2 .1" euler="50 0 10"/>
    <frame euler="0 0 70"><geom type="ellipsoid" size=".1 .2 .3" pos="0 .1 0" quat="1 2 3 4"/></frame>
    <body name="arm" pos="0 1 0"><joint axis="1 2 3" pos=".1 .1 0" ref="30"/><joint type="slide" axis="0 1 0"/>{INERTIAL}
      <geom type="capsule" size=".05" fromto="0 0 0 .3 .4 .5"/>
      <geom type="cylinder" size=".1 .2" axisangle="1 1 0 35"/><geom size=".2" pos="1 1 1"/></body></body></frame>
  </worldbody></mujoco>"""


def load(text: str | Path, **more: Any) -> tt.System:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)
        return tt.from_mjcf(text, **more)


def place(m: tt.Model, body: str, look: Any, q: Array) -> tuple[Array, Array]:
    """Return the rotation and the position of a shape in the world."""
    rotation, position = (np.eye(3), np.zeros(3)) if body == "world" else m.pose(body, q)
    return rotation @ look["rotation"], position + rotation @ look["position"]


def body(geoms: str) -> list[Any]:
    """Return the shapes of a body with these geoms."""
    return [*load(f'<mujoco><worldbody><body name="a">{INERTIAL}{geoms}</body></worldbody></mujoco>')["a"].visuals]


def test_shapes_stand_where_mujoco_has_its_geoms() -> None:
    s, model = load(SHAPES), mujoco.MjModel.from_xml_string(SHAPES)
    m, rng = s.resolve("reference"), np.random.default_rng(0)
    kinds = ["box", "box", "ellipsoid", "capsule", "cylinder", "sphere"]
    looks = [(name, look) for name in ("world", "base", "arm") for look in (s.world if name == "world" else s[name]).visuals]
    assert [next(kind for kind in kinds if kind in look) for _, look in looks] == kinds
    for _ in range(3):
        q = m.random_configuration(rng)
        data = at_state(model, s, q, np.zeros(m.nv))
        for k, (name, look) in enumerate(looks):
            rotation, position = place(m, name, look, q)
            turn = data.geom_xmat[k].reshape(3, 3)
            sunk = turn[:, 2] * 0.5 * look["box"][2] if k == 0 else 0.0  # a plane is the upper face of a thin box
            np.testing.assert_allclose(rotation, turn, rtol=0, atol=ROUNDED)
            np.testing.assert_allclose(position + sunk, data.geom_xpos[k], rtol=0, atol=ROUNDED)
    sizes = [look[kind] for kind, (_, look) in zip(kinds, looks, strict=True)]
    np.testing.assert_allclose(sizes[0][:2], [4, 6], rtol=1e-15)
    np.testing.assert_allclose(sizes[1], [0.2, 0.4, 0.6], rtol=1e-15)
    np.testing.assert_allclose(sizes[3], [0.05, np.sqrt(0.5)], rtol=1e-15)
    assert [sizes[2], sizes[4], sizes[5]] == [[0.1, 0.2, 0.3], [0.1, 0.4], 0.2]


MESH = """<mujoco><compiler angle="degree"/><asset><mesh name="m" {}/></asset><worldbody><body name="a">
  <joint axis="1 2 3"/>{}<geom type="mesh" mesh="m" pos=".1 .2 .3" euler="10 20 30"/></body></worldbody></mujoco>"""
FILE, FRAME = 'file="tetrahedron.obj"', 'refpos=".1 .2 .3" refquat="1 .2 .3 .4"'
INLINE = f'vertex="{" ".join(map(str, TETRAHEDRON.ravel()))}"'


@pytest.mark.parametrize(
    ("mesh", "inertial", "is_file"),
    [
        (f'{FILE} scale="1 -2 3"', INERTIAL, True),  # mirrored
        (f'{FILE} scale="1 2 3" refpos=".1 .2 .3"', INERTIAL, True),
        (f'{FILE} scale=".5 .5 .5" {FRAME}', INERTIAL, True),
        (f'{FILE} scale="1 2 3" {FRAME}', INERTIAL, False),  # MuJoCo turns before it stretches
        (f"{FILE} {FRAME}", "", False),  # weighs
        (INLINE, INERTIAL, False),
    ],
)
def test_meshes_stand_where_mujoco_has_their_points(tmp_path: Path, mesh: str, inertial: str, is_file: bool) -> None:
    faces = [[1, 3, 2], [1, 2, 4], [1, 4, 3], [2, 3, 4]]
    lines = ["v {} {} {}".format(*point) for point in TETRAHEDRON] + ["f {} {} {}".format(*face) for face in faces]
    (tmp_path / "tetrahedron.obj").write_text("\n".join(lines))
    path = tmp_path / "a.xml"
    path.write_text(MESH.format(mesh, inertial))
    s, model = tt.from_mjcf(path), mujoco.MjModel.from_xml_path(str(path))
    m, (look,) = s.resolve("reference"), s["a"].visuals
    rotation, position = place(m, "a", look, np.array([0.7]))
    assert isinstance(look["mesh"], str) == is_file
    own = look["scale"] * TETRAHEDRON if is_file else look["mesh"].vertices
    data = at_state(model, s, np.array([0.7]), np.zeros(1))
    expected = data.geom_xpos[0] + model.mesh_vert @ data.geom_xmat[0].reshape(3, 3).T
    apart = np.abs((position + own @ rotation.T)[:, None] - expected).max(axis=2)
    assert max(apart.min(axis=0).max(), apart.min(axis=1).max()) < SINGLE
    assert np.abs(own[:, None] - expected).max(axis=2).min(axis=0).max() > 0.1  # without the poses
    page = motion(m, count=2).animate(tmp_path / "x.html")
    assert '"kind":"mesh 0"' in page.read_text("utf-8")


VISUAL, TOUCHING, HIDDEN = (
    '<geom type="box" size="1 1 1" contype="0" conaffinity="0" {}/>',
    '<geom size="1" {}/>',
    '<geom type="capsule" size="1 1" {}/>',
)


@pytest.mark.parametrize(
    ("geoms", "shown"),
    [
        (VISUAL.format('group="2"') + TOUCHING.format('group="3"'), ["box"]),  # as in MuJoCo's menagerie
        (VISUAL.format('group="1"') + TOUCHING.format(""), ["box"]),  # as MuJoCo converts URDF
        (VISUAL.format("") + TOUCHING.format(""), ["box", "sphere"]),  # eyes of a head
        (TOUCHING.format('group="2"') + HIDDEN.format(""), ["sphere"]),
        (TOUCHING.format("") + HIDDEN.format('group="3"'), ["sphere"]),
        (HIDDEN.format('group="4"'), ["capsule"]),
        (VISUAL.format('group="3"'), []),
        (VISUAL.format('rgba="1 0 0 0"'), []),
    ],
)
def test_what_is_seen_is_shown_and_else_what_touches(geoms: str, shown: list[str]) -> None:
    assert [next(iter(look)) for look in body(geoms)] == shown


def test_the_world_shows_its_floor_beside_what_is_only_seen() -> None:
    floor = '<geom type="plane" size="0 0 1"/>'
    s = load(f"<mujoco><worldbody>{floor}{VISUAL.format('')}<body name='a'>{INERTIAL}<joint/></body></worldbody></mujoco>")
    assert len(s.world.visuals) == 2
    assert s.world.visuals[0]["box"][0] > 0  # without end: as large as the model


def test_colours_are_those_of_geoms_then_of_materials() -> None:
    own, material = 'size="1" rgba="{} 0 {} 1"', 'material="m"'
    geoms = f'<geom size="1"/><geom {own.format(1, 0)}/><geom size="1" {material}/><geom {own.format(0, 1)} {material}/>'
    head = '<mujoco><asset><material name="m" rgba="0 1 0 .5"/></asset><worldbody><body name="a">'
    looks = load(f"{head}{INERTIAL}{geoms}</body></worldbody></mujoco>")["a"].visuals
    assert [look.get("color") for look in looks] == [None, "#ff0000", "#00ff00", "#0000ff"]


def test_missing_meshes_are_named_once_and_other_shapes_shown(tmp_path: Path) -> None:
    meshes = "".join(f'<mesh name="{name}" file="{name}.stl"/>' for name in "mn")
    geoms = "".join(VISUAL.format(f'mesh="{name}"').replace("box", "mesh").replace('size="1 1 1"', "") for name in "mnm")
    text = f'<mujoco><compiler meshdir="parts"/><asset>{meshes}</asset><worldbody><body name="a">{INERTIAL}{geoms}'
    (tmp_path / "a.xml").write_text(text + TOUCHING.format('group="3"') + "</body></worldbody></mujoco>")
    with pytest.warns(tt.ModelWarning, match=r"'parts/m\.stl' and 1 more.*missing-mesh") as caught:
        looks = tt.from_mjcf(tmp_path / "a.xml")["a"].visuals
    assert len(caught) == 1
    assert [next(iter(look)) for look in looks] == ["sphere"]
