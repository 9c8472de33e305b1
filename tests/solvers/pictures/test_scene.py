"""The shapes of a scene."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from tests.solvers.pictures.animated import CUSTOM_BLOCK, SINGLE, Array, motion, pendulum, poses, read
from tests.systems import KINDS, random_tree
from titop.solvers.pictures.frames import ellipsoid


def shapes_of(data: dict[str, Any], name: str, *roles: str) -> list[dict[str, Any]]:
    """Return the shapes of a block."""
    return [shape for shape in data["shapes"] if shape["name"] == name and (not roles or shape["role"] in roles)]


# -- the shapes --------------------------------------------------------------------------------------------------------


def cylinder_inertia(mass: float, radius: float, height: float) -> list[float]:
    """Return the moments of a solid cylinder along z."""
    across = mass * (3 * radius**2 + height**2) / 12
    return [across, across, mass * radius**2 / 2]


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        # a solid sphere is its own ellipsoid
        ([0.4 * 3 * 0.5**2] * 3, [0.5, 0.5, 0.5]),
        # a box m (b^2 + c^2) / 12 has semi-axes sqrt(5 / 12) of its edges
        (
            [3 / 12 * (0.4**2 + 0.9**2), 3 / 12 * (0.2**2 + 0.9**2), 3 / 12 * (0.2**2 + 0.4**2)],
            np.sqrt(5 / 12) * np.r_[0.2, 0.4, 0.9],
        ),
        # a cylinder sqrt(5) / 2 of its radius, sqrt(5 / 12) of its height
        (cylinder_inertia(3, 0.3, 1.1), [np.sqrt(5) / 2 * 0.3, np.sqrt(5) / 2 * 0.3, np.sqrt(5 / 12) * 1.1]),
        # and back: an ellipsoid m (b^2 + c^2) / 5
        ([3 / 5 * (0.7**2 + 0.9**2), 3 / 5 * (0.5**2 + 0.9**2), 3 / 5 * (0.5**2 + 0.7**2)], [0.5, 0.7, 0.9]),
        # a thin rod keeps a little thickness
        ([3 * 1.2**2 / 12, 3 * 1.2**2 / 12, 0.0], np.sqrt(5 / 12) * 1.2 * np.r_[0.03, 0.03, 1]),
    ],
    ids=["sphere", "box", "cylinder", "ellipsoid", "rod"],
)
def test_ellipsoids_against_closed_forms(moments: list[float], expected: Array) -> None:
    turn = Rotation.from_rotvec([0.3, -0.5, 0.9]).as_matrix()
    semi_axes, axes = ellipsoid(3.0, turn @ np.diag(moments) @ turn.T)
    # expected: the quadratic form sum of a_i^2 e_i e_i^T, whatever the order and the signs of the axes
    assert axes @ np.diag(semi_axes**2) @ axes.T == pytest.approx(turn @ np.diag(np.square(expected)) @ turn.T, abs=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1)


def test_an_inertia_of_no_real_body_is_drawn_flat() -> None:
    semi_axes, _ = ellipsoid(10.0, np.diag([3.0, 5.0, 17.0]))
    assert np.isfinite(semi_axes).all()
    assert semi_axes[2] == pytest.approx(0.03 * semi_axes.max())


def test_a_pendulum_is_a_ball_on_a_rod_with_a_pin(tmp_path: Path) -> None:
    data = read(motion(pendulum()).animate(tmp_path / "x.html"))
    (ball,) = shapes_of(data, "bob", "visual")
    assert (ball["kind"], ball["frame"], ball["position"]) == ("sphere", 0, [0, 0, -1])
    (rod,) = shapes_of(data, "bob", "rod")
    assert (rod["kind"], rod["size"][2], rod["position"]) == ("cylinder", 1, [0, 0, -0.5])
    (pin,) = shapes_of(data, "hinge", "joint")
    along = Rotation.from_quat(pin["rotation"]).apply([0, 0, 1])
    assert (pin["frame"], pin["position"]) == (-1, [0, 0, 0])
    assert along == pytest.approx([1, 0, 0], abs=1e-6)
    assert {shape["name"] for shape in data["shapes"] if shape["role"] == "port"} == {"world", "bob", "bob.tip", "end"}
    assert [(label["name"], label["facts"]) for label in data["labels"]] == [
        ("bob", "2 kg, on hinge (Revolute)"),
        ("end", "1 kg, on seam (Weld)"),
    ]
    assert data["up"] == [0, 0, 1]


def test_flexible_bodies_without_ports_are_seen(tmp_path: Path) -> None:
    """A thin panel of 2 m by 1 m, given by frequencies and participation: a bar to its centre of mass, and an ellipsoid."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    fields: dict[str, Any] = {"frequencies": [3.0], "participation": [0, 0, 0.4, 0, 0, 0]}
    panel = tt.FlexibleBody("panel", 3.0, [1.0, 0, 0], [3 / 12, 3 * 4 / 12, 3 * 5 / 12], **fields)
    s.connect("world", panel, tt.Revolute("hinge", axis=[1, 0, 0]))
    motion(s.resolve()).animate(tmp_path / "x.html")
    (bar,), (solid,) = (shapes_of(read(tmp_path / "x.html"), "panel", role) for role in ("rod", "ellipsoid"))
    assert (bar["size"][2], bar["position"]) == (pytest.approx(1.0), pytest.approx([0.5, 0, 0]))
    assert solid["position"] == pytest.approx([1.0, 0, 0])
    assert sorted(solid["size"])[1:] == pytest.approx(np.sqrt(5 / 12) * np.array([1.0, 2.0]), rel=1e-5)


@pytest.mark.parametrize(("across", "length"), [(None, 0.0), (0.5, 0.6)])
def test_a_wheel_is_a_cylinder_about_its_axis(tmp_path: Path, across: float | None, length: float) -> None:
    """Of ``m r^2 / 2`` along, ``m (3 r^2 + h^2) / 12`` across: 4 kg, 0.4 m, and a length of which discs show a trace."""
    s, axis = tt.System("s", gravity=[0, 0, 0]), np.array([0.6, 0, 0.8])
    across = across and 4.0 * (3 * 0.4**2 + 0.6**2) / 12
    s.add_device(tt.ReactionWheel("w", s.world, axis, inertia=0.32, mass=4.0, transverse_inertia=across))
    motion(s.resolve()).animate(tmp_path / "x.html")
    (solid,) = shapes_of(read(tmp_path / "x.html"), "w/rotor", "ellipsoid")
    assert solid["kind"] == "cylinder"
    assert solid["size"] == pytest.approx([0.4, 0.4, length or 0.0], abs=0.05 if not length else 1e-6)
    x, y, z, w = solid["rotation"]
    along = [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]
    assert abs(axis @ along) == pytest.approx(1.0, abs=1e-6)


def test_a_rail_is_as_long_as_the_motion(tmp_path: Path) -> None:
    s = tt.System("slide", gravity=[0, -9.81, 0])
    s.connect("world", tt.RigidBody("mass", mass=1.0), tt.Prismatic("rail", axis=[0, 3, 0]))
    model, q, zero = s.resolve(), np.array([[-1.0], [2.0]]), np.zeros((2, 1))
    data = read(tt.Trajectory(model, np.array([0.0, 1.0]), q, zero, zero, zero).animate(tmp_path / "x.html"))
    (rail,) = shapes_of(data, "rail")
    half = rail["size"][2] / 2
    assert 1.5 < half < 1.7
    assert rail["position"] == pytest.approx([0, 0.5, 0])
    assert data["up"] == [0, 1, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_joint_is_drawn_where_it_acts(tmp_path: Path, kind: str) -> None:
    model = random_tree(np.random.default_rng(5), 3, [kind], base="free" if kind == "Free" else "fixed").resolve()
    data = read(motion(model).animate(tmp_path / "x.html"))
    marks = {"Weld": 0, "Free": 0, "Universal": 2, "Cylindrical": 2, "Planar": 3}
    assert len(shapes_of(data, "j1", "joint")) == marks.get(kind, 1)


def test_a_users_block_is_a_line_between_its_ports(tmp_path: Path) -> None:
    model = runpy.run_path(str(CUSTOM_BLOCK))["build"]().resolve()
    trajectory = motion(model, count=5)
    data = read(trajectory.animate(tmp_path / "x.html", frames_per_second=2))
    assert [link["name"] for link in data["links"]] == ["near", "far"]
    for link in data["links"]:
        ends = [data["frames"][link[end]["frame"]] for end in ("from", "to")]
        assert ends == [link["name"], f"{link['name']}.C"]
        # straight at its neutral configuration, along z
        assert link["from"]["tangent"] == link["to"]["tangent"] == pytest.approx([0, 0, 0.6])
        for row, q in zip(poses(data), trajectory.q, strict=True):
            for end, name in zip(("from", "to"), ends, strict=True):
                assert row[link[end]["frame"], :3] == pytest.approx(model.pose(name, q)[1], abs=SINGLE * 10)


def test_a_users_joint_is_a_line_too(tmp_path: Path) -> None:
    class Slide(tt.Block):
        coordinates = ("x",)
        ports = ("C",)

        def pose(self, port: str, q: Array) -> tuple[Array, Array]:
            return np.eye(3), np.array([1.0, 0, 0]) * (q[0] + 0.5)

    s = tt.System()
    s.connect("world", tt.RigidBody("cart", mass=1.0), Slide("slide"))
    data = read(motion(s.resolve()).animate(tmp_path / "x.html"))
    (link,) = data["links"]
    assert (link["name"], link["from"]["frame"], link["to"]["frame"]) == ("slide", -1, 0)
    assert link["to"]["tangent"] == [0.5, 0, 0]


# -- given shapes ------------------------------------------------------------------------------------------------------


def test_given_shapes_replace_ellipsoids(tmp_path: Path) -> None:
    turn = Rotation.from_rotvec([0, np.pi / 2, 0])
    visuals = {
        "world": {"box": [2, 2, 0.1], "position": [0, 0, -3]},
        "bob": [{"cylinder": [0.1, 0.5], "rotation": turn, "color": "tab:red"}, {"sphere": 0.2}],
        "end": [],
    }
    data = read(motion(pendulum()).animate(tmp_path / "x.html", visuals))
    (box,) = shapes_of(data, "world", "visual")
    assert (box["frame"], box["kind"], box["size"], box["position"]) == (-1, "box", [2, 2, 0.1], [0, 0, -3])
    cylinder, sphere = shapes_of(data, "bob", "visual")
    assert (cylinder["size"], cylinder["color"]) == ([0.1, 0.1, 0.5], "#d62728")
    assert Rotation.from_quat(cylinder["rotation"]).as_matrix() == pytest.approx(turn.as_matrix(), abs=1e-5)
    assert (sphere["size"], sphere["color"]) == ([0.2, 0.2, 0.2], 0)
    assert not shapes_of(data, "end", "ellipsoid", "visual")


@pytest.mark.parametrize(
    ("visuals", "where"),
    [
        ({"bobb": {"sphere": 1}}, "visuals.bobb"),
        ({"bob": {"cone": [1, 2]}}, "visuals.bob"),
        ({"bob": {"box": [1, 1, 1], "sphere": 1}}, "visuals.bob"),
        ({"bob": "sphere"}, "visuals.bob"),
        ({"bob": {"sphere": 1, "colour": "red"}}, "visuals.bob.colour"),
        ({"bob": {"sphere": -1}}, "visuals.bob.sphere"),
        ({"bob": {"sphere": [1, 2]}}, "visuals.bob.sphere"),
        ({"bob": {"cylinder": [1, np.nan]}}, "visuals.bob.cylinder"),
        ({"bob": {"box": "big"}}, "visuals.bob.box"),
        ({"bob": {"box": [1, 1, 1], "color": "#00000g"}}, "visuals.bob.color"),
        ({"bob": {"box": [1, 1, 1], "position": [0, 0]}}, "visuals.bob.position"),
        ({"bob": {"box": [1, 1, 1], "rotation": 2 * np.eye(3)}}, "visuals.bob.rotation"),
        ([1], "visuals.visuals"),
    ],
)
def test_unusable_shapes_are_refused(tmp_path: Path, visuals: Any, where: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        motion(pendulum()).animate(tmp_path / "x.html", visuals)
    assert caught.value.where == where
    assert not list(tmp_path.iterdir())


def test_all_unusable_shapes_are_reported_together(tmp_path: Path) -> None:
    visuals = {"bobb": {"sphere": 1}, "bob": {"sphere": -1, "color": "reddish"}}
    with pytest.raises(tt.ModelError) as caught:
        motion(pendulum()).animate(tmp_path / "x.html", visuals)
    assert [finding.code for finding in caught.value.findings] == ["unknown-block", "bad-size", "unknown-color"]


def test_what_pulls_and_measures_is_drawn(tmp_path: Path) -> None:
    """A spring to the world, a force that stays downward, a thruster that turns with its body, an accelerometer."""
    s = tt.System("s", gravity=[0, 0, 0])
    s.world.add_port("wall", [0, 2, 0])
    arm = tt.RigidBody("arm", 1.0, inertia=0.1, ports={"tip": [1, 0, 0]})
    s.connect("world", arm, tt.Revolute("hinge", axis=[0, 0, 1]))
    s.add_interaction(tt.SpringDamper("spring", stiffness=1.0, length=1.0), s.world.port("wall"), arm.port("tip"))
    s.add_load(tt.Load("push", arm.port("tip"), force=[0, -3, 0], frame="world"))
    s.add_actuator(tt.Thruster("jet", arm.port("tip"), direction=[0, 0, 2]))
    s.add_sensor(tt.Accelerometer("imu", arm.port("tip")))
    trajectory = motion(s.resolve("reference"), count=3)
    data = read(trajectory.animate(tmp_path / "x.html", frames_per_second=1))
    links: dict[str, list[dict[str, Any]]] = {}
    for link in data["links"]:
        links.setdefault(link["name"], []).append(link)
    assert {name: len(found) for name, found in links.items()} == {"spring": 1, "push": 2, "jet": 2}
    (spring,) = links["spring"]
    assert [(spring[end]["frame"], spring[end]["position"]) for end in ("from", "to")] == [(-1, [0, 2, 0]), (0, [1, 0, 0])]
    push, jet = links["push"][0]["to"], links["jet"][0]["to"]
    assert push["position"] == [1, 0, 0]
    assert push["shift"][1] < 0 == push["shift"][0] == push["shift"][2]
    assert jet["position"][2] > 0 == jet["shift"][2]
    (cube,) = shapes_of(data, "imu")
    assert (cube["kind"], cube["position"]) == ("box", [1, 0, 0])
    axes: Any = trajectory.plot_shape([0.0]).axes[0]
    # an arrow for each of the two forces
    assert sum("Line3DCollection" in type(collection).__name__ for collection in axes.collections) == 2
