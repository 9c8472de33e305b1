"""What is drawn beside bodies: axes, torques, tendons and chambers, sensors of joints."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.pictures.animated import Array, motion, read
from titop.blocks.basics.spatial import quaternion_matrix
from titop.solvers.pictures.scene import AXES, Scene, read_frames

TURN = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])


def arm() -> tt.System:
    """Return a hinged body with a port turned by 90 degrees about z, on which hangs another, and with a free one."""
    s = tt.System("arm", gravity=[0, 0, 0])
    body = tt.RigidBody("body", 1.0, inertia=0.1, ports={"free": [0, 0, 1]})
    body.add_port("tip", [1, 0, 0], TURN)
    s.connect("world", body, tt.Revolute("hinge", axis=[0, 0, 1]))
    s.connect(body.port("tip"), tt.RigidBody("end", 1.0, inertia=0.1), tt.Weld("seam"))
    return s


def test_axes_are_those_of_bodies_and_ports(tmp_path: Path) -> None:
    m = arm().resolve("reference")
    assert read_frames(m, False) == ()
    assert read_frames(m, True) == ("world", "body", "body.tip", "end")
    assert read_frames(m, "body.free") == ("body.free",)
    with refusal("unknown-port", "did you mean 'body.tip'"):
        motion(m, count=2).animate(tmp_path / "x.html", frames=["body.tipp"])
    data = read(motion(m, count=2).animate(tmp_path / "x.html", frames=["body.tip"]))
    for k, axis in enumerate("xyz"):
        (bar,) = (shape for shape in data["shapes"] if shape["name"] == f"body.tip {axis}")
        along = quaternion_matrix(np.array(bar["rotation"]))[:, 2]
        assert data["frames"][bar["frame"]] == "body"
        np.testing.assert_allclose(along, TURN[:, k], rtol=0, atol=1e-6)  # the page has six digits
        np.testing.assert_allclose(np.array(bar["position"]) - 0.5 * bar["size"][2] * along, [1, 0, 0], rtol=0, atol=1e-5)
    assert not [shape for shape in data["shapes"] if shape["name"] == "body x"]


def test_torques_have_two_heads_and_joints_with_sensors_a_cube(tmp_path: Path) -> None:
    s = arm()
    tip = s["body"].port("tip")
    s.add_load(tt.Load("wind", tip, force=[0, 1, 0], torque=[0, 0, 2], frame="world"))
    s.add_actuator(tt.Torque("rcs", tip, direction=[0, 1, 0]))
    s.add_actuator(tt.Force("jet", tip, direction=[0, 1, 0]))
    s.add_sensor(tt.Encoder("encoder", "hinge"))
    data = read(motion(s.resolve("reference"), count=2).animate(tmp_path / "x.html"))
    links: dict[str, list[Any]] = {}
    for link in data["links"]:
        links.setdefault(link["name"], []).append(link)
    assert {name: sum(link["is_head"] for link in found) for name, found in links.items()} == {"wind": 3, "rcs": 2, "jet": 1}
    ends = [link["to"]["shift"] for link in links["wind"]]
    assert ends[0][1] > 0 == ends[0][2]
    assert ends[-1][2] > 0 == ends[-1][1]
    along = np.array(links["rcs"][-1]["to"]["position"]) - [1, 0, 0]
    np.testing.assert_allclose(along / np.linalg.norm(along), TURN[:, 1], rtol=0, atol=1e-5)
    (cube,) = (shape for shape in data["shapes"] if shape["name"] == "encoder")
    assert (cube["kind"], cube["frame"], cube["position"]) == ("box", -1, [0, 0, 0])


def test_figures_have_the_axes_and_torques_too() -> None:
    s = arm()
    tip = s["body"].port("tip")
    s.add_load(tt.Load("wind", tip, force=[0, 1, 0], torque=[0, 0, 2], frame="world"))
    s.add_actuator(tt.Torque("rcs", tip, direction=[0, 1, 0]))
    m = s.resolve("reference")
    turn, at = m.pose("body.tip", [0.3])
    (axes,) = tt.plot_shape(m, [0.3], frames=["body.tip"]).axes
    for k, color in enumerate(AXES):
        (drawn,) = (np.transpose(line.get_data_3d()) for line in axes.lines if str(line.get_color()) == color)
        along = drawn[1] - drawn[0]
        np.testing.assert_allclose(drawn[0], at, rtol=0, atol=1e-14)  # sums of a few numbers of 1 m
        np.testing.assert_allclose(along / np.linalg.norm(along), turn[:, k], rtol=0, atol=1e-14)
    quivers = len(axes.collections)
    assert quivers == 5  # one of the force, two of each torque: each draws a head
    (bare,) = tt.plot_shape(m, [0.3]).axes
    assert len(axes.lines) - len(bare.lines) == 3
    (several,) = motion(m, count=3).plot_shape([0.0, 1.0], frames="end").axes
    assert sum(str(line.get_color()) == AXES[0] for line in several.lines) == 2
    for wrong in (None, 3, "tipp", [["end"]]):
        with pytest.raises(tt.ModelError, match=r"^frames"):
            tt.plot_shape(m, frames=wrong)  # type: ignore[arg-type]


def test_tendons_in_rods_are_as_long_as_they_measure() -> None:
    """Chords of 1/16 of the rod, bent by less than 0.1 rad each: their sum is short by less than 0.1^2 / 24."""
    s = tt.System("arm", gravity=[0, 0, 0])
    rod = tt.Rod("rod", 0.8, tt.Section.circle(0.05), 1e6, 1000.0, basis=1)
    s.connect("world", rod, tt.Revolute("hinge"))
    s.add_interaction(tendon := tt.Tendon("pull", rod, y=[0.03, 0.0], z=0.01, start=0.13, end=0.61))
    s.add_interaction(tt.PressureChamber("chamber", rod, 3e-4, y=-0.02))
    m = s.resolve("reference")
    q = m.integrate(m.neutral(), np.random.default_rng(0).uniform(-0.5, 0.5, m.nv))
    scene = Scene(m, q[None])
    poses = scene.poses(q)

    def length(name: str) -> float:
        ends = [[poses[link[end]["frame"]] for end in ("from", "to")] for link in scene.links if link["name"] == name]
        places = [[link[end]["position"] for end in ("from", "to")] for link in scene.links if link["name"] == name]
        points = [[x + r @ p for (r, x), p in zip(*pair, strict=True)] for pair in zip(ends, places, strict=True)]
        for (_, end), (start, _) in pairwise(points):
            np.testing.assert_allclose(end, start, rtol=0, atol=1e-12)  # a line without gaps
        return float(sum(np.linalg.norm(end - start) for start, end in points))

    assert length("pull") == pytest.approx(tendon.measure(q[1:]), rel=1e-3)
    assert abs(tendon.measure(q[1:]) - 0.48) > 5e-3  # not its length in the straight rod
    (radius,) = {link["radius"] for link in scene.links if link["name"] == "chamber"}
    assert radius == pytest.approx(np.sqrt(3e-4 / np.pi))
    assert scene.sweeps[0]["opacity"] < 1


def test_what_lies_in_soft_bodies_moves_with_their_material() -> None:
    """A body bent to the curvature k: the point at x, z of its plane stands at an angle k z on the circle about x = 1/k."""
    long, offset = 0.5, 0.03
    s = tt.System("arm")
    material = tt.Material.neo_hookean(1e6, 0.4)
    body = tt.SoftBody("body", tt.Kinematics.constant_curvature(long), tt.Domain.cylinder(0.05, long), 1000.0, material)
    s.connect("world", body, tt.Weld("clamp"))
    s.add_interaction(tt.SoftTendon("corners", body, [[offset, 0, 0], [offset, 0, long]]))
    s.add_interaction(tt.SoftTendon("curve", body, lambda t: [offset + 0 * t, 0 * t, long * t]))
    s.add_interaction(tt.SoftChamber("chamber", body, tt.Domain.cylinder(0.01, 0.4)))
    m = s.resolve("reference")
    q = np.array([0.8])
    scene = Scene(m, q[None])
    assert [(look["name"], look["opacity"] < 1) for look in scene.surfaces] == [
        ("body", True),
        *((name, False) for name in ("corners", "curve", "chamber")),
    ]
    arc = np.linspace(0.0, 0.8, 17)
    radius = long / 0.8
    expected = np.column_stack([radius - (radius - offset) * np.cos(arc), 0 * arc, (radius - offset) * np.sin(arc)])
    shown = {surface.name: surface for surface in scene.surfaces_shown}
    for name in ("corners", "curve"):
        tube: Array = shown[name].course(q[None])[0].reshape(17, -1, 3)
        # the sections stay plane, so that the middle of a ring stays that of its points
        np.testing.assert_allclose(tube[:, :-1].mean(axis=1), expected, rtol=0, atol=1e-12)
    assert np.abs(shown["corners"].points.reshape(17, -1, 3).mean(axis=1) - expected).max() > 0.05  # not the straight one
    cavity = shown["chamber"].course(q[None])[0]
    lengths = np.linalg.norm(cavity - [radius, 0, 0], axis=1)
    assert lengths.max() <= radius + 0.01 + 1e-12
    assert np.ptp(lengths) == pytest.approx(0.02, rel=0.05)  # a polygon's corners
