"""The page of a motion: what it holds, what it refuses, and that a browser shows it."""

from __future__ import annotations

import base64
import json
import os
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import titop as tt
from tests.systems import KINDS, random_tree
from titop.solvers.simulation.animation import SIZE_LIMIT, configurations, write_animation
from titop.solvers.simulation.scene import Scene, ellipsoid

Array = NDArray[np.float64]

CUSTOM_BLOCK = Path(__file__).parents[3] / "examples" / "custom_block.py"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)

#: Positions of a few metres in 32-bit numbers.
SINGLE = 1e-6

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom"),
    *("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
]


def motion(model: tt.Model, end: float = 2.0, count: int = 41, seed: int = 0) -> tt.Trajectory:
    """Return a made-up motion: through random configurations, without dynamics."""
    rng = np.random.default_rng(seed)
    q = [model.random_configuration(rng)]
    for _ in range(count - 1):
        q.append(model.integrate(q[-1], rng.uniform(-0.3, 0.3, model.nv)))
    zero = np.zeros((count, model.nv))
    return tt.Trajectory(model, np.linspace(0, end, count), np.array(q), zero, zero, zero)


def tree(bodies: int = 10, seed: int = 1) -> tt.Model:
    """Return a random tree with joints of every kind."""
    return random_tree(np.random.default_rng(seed), bodies, KINDS, loads=True).resolve()


def pendulum(port: str = "tip") -> tt.Model:
    """Return a point mass that swings about x, with a port at it."""
    s = tt.System("pendulum")
    bob = tt.RigidBody("bob", mass=2.0, com=[0, 0, -1], ports={port: [0, 0, -1]})
    s.connect("world", bob, tt.Revolute("hinge", axis=[1, 0, 0]))
    s.connect(bob.port(port), tt.RigidBody("end", mass=1.0, inertia=0.1), tt.Weld("seam"))
    return s.resolve()


def read(page: Path) -> dict[str, Any]:
    """Return the data that a page holds."""
    found = re.findall(r'<script type="application/json" id="motion">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert len(found) == 1
    data: dict[str, Any] = json.loads(found[0])
    return data


def poses(data: dict[str, Any]) -> Array:
    """Return positions and quaternions (count, frames, 7)."""
    numbers = np.frombuffer(base64.b64decode(data["poses"]), "<f4")
    return numbers.reshape(data["count"], len(data["frames"]), 7).astype(float)


def shapes_of(data: dict[str, Any], name: str, *roles: str) -> list[dict[str, Any]]:
    """Return the shapes of a block."""
    return [shape for shape in data["shapes"] if shape["name"] == name and (not roles or shape["role"] in roles)]


# -- the file ----------------------------------------------------------------------------------------------------------


def test_twenty_seconds_of_ten_bodies_are_one_small_file(tmp_path: Path) -> None:
    page = write_animation(motion(tree(), end=20.0, count=401), tmp_path / "x.html")
    text = page.read_text("utf-8")
    assert page == tmp_path / "x.html"
    assert page.stat().st_size < SIZE_LIMIT / 2
    assert "://" not in text
    assert not re.search(r"\b(src|href)\s*=|\bimport\b|\bfetch\b|@payload@|@title@", text)
    assert "default-src 'none'" in text
    data = read(page)
    assert (data["start"], data["end"], data["count"]) == (0, 20, 601)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_poses_are_those_of_the_model(tmp_path: Path, engine: str) -> None:
    model = random_tree(np.random.default_rng(3), 8).resolve(engine)
    trajectory = motion(model)
    data = read(write_animation(trajectory, tmp_path / "x.html", frames_per_second=20))
    times = np.linspace(data["start"], data["end"], data["count"])
    assert times == pytest.approx(trajectory.t)
    assert data["frames"] == list(model.body_names)
    for row, q in zip(poses(data), trajectory.q, strict=True):
        for name, numbers in zip(data["frames"], row, strict=True):
            rotation, position = model.pose(name, q)
            assert numbers[:3] == pytest.approx(position, abs=SINGLE * 10)
            assert Rotation.from_quat(numbers[3:]).as_matrix() == pytest.approx(rotation, abs=SINGLE)


def test_between_states_configurations_go_the_shortest_way() -> None:
    model = tree()
    trajectory = motion(model, end=1.0, count=3)
    q = configurations(trajectory, np.array([0.0, 0.2, 0.5, 0.9, 1.0]))
    assert q[[0, 2, 4]] == pytest.approx(trajectory.q, abs=1e-12)
    for row, start, part in ((1, 0, 0.4), (3, 1, 0.8)):
        whole = model.difference(trajectory.q[start], trajectory.q[start + 1])
        assert model.difference(trajectory.q[start], q[row]) == pytest.approx(part * whole, abs=1e-9)


def test_a_single_state_is_a_still_picture(tmp_path: Path) -> None:
    model = pendulum()
    zero = np.zeros((1, 1))
    data = read(write_animation(tt.Trajectory(model, np.zeros(1), zero, zero, zero, zero), tmp_path / "x.html"))
    assert data["count"] == 1


def test_frames_that_do_not_fit_are_left_out_with_a_warning(tmp_path: Path) -> None:
    trajectory = motion(tree(), end=60.0)
    with pytest.warns(tt.ModelWarning, match="frames are written"):
        page = write_animation(trajectory, tmp_path / "x.html", frames_per_second=1000)
    assert 0.95 * SIZE_LIMIT < page.stat().st_size <= SIZE_LIMIT
    data = read(page)
    assert (data["start"], data["end"]) == (0, 60)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "x.html"
    page.write_text("before")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_animation(motion(pendulum()), page)
    assert page.read_text() == "before"
    assert list(tmp_path.iterdir()) == [page]


@pytest.mark.parametrize("name", ["x.png", "x", "x.html.gz"])
def test_other_suffixes_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(tt.ModelError, match=r"expected one of \.htm, \.html; let the name end in \.html"):
        motion(pendulum()).animate(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_ports_of_closures_are_marked() -> None:
    s = tt.System("loop")
    s.world.add_port("foot", [1, 0, 0])
    bars = [tt.RigidBody(name, 1.0, com=[0.5, 0, 0], inertia=0.1, ports={"tip": [1, 0, 0]}) for name in ("left", "right")]
    s.connect("world", bars[0], tt.Revolute("hinge1"))
    s.connect(s.world.port("foot"), bars[1], tt.Revolute("hinge2"))
    s.close_loop(bars[0].port("tip"), bars[1].port("tip"), tt.CompliantClosure("spring", stiffness=1))
    shapes = Scene(motion(s.resolve())).shapes
    assert {"left.tip", "right.tip"} <= {shape["name"] for shape in shapes if shape["role"] == "port"}
    assert {"left", "right"} <= {shape["name"] for shape in shapes if shape["role"] == "rod"}


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), "fast", [30]])
def test_an_unusable_rate_is_refused(tmp_path: Path, rate: Any) -> None:
    with pytest.raises(tt.ModelError, match="frames_per_second"):
        write_animation(motion(pendulum()), tmp_path / "x.html", frames_per_second=rate)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "attack", ["</script><script>alert(1)</script>", "<!--<script>", "@payload@@title@", '"];alert(1)//', "\u2028&lt;é\ud800"]
)
def test_names_stay_names(tmp_path: Path, attack: str) -> None:
    port = "".join(character for character in attack if character.isprintable())  # others are refused
    model = pendulum(port=port)
    model.name = attack
    page = write_animation(motion(model), tmp_path / "x.html")
    harmless = write_animation(motion(pendulum()), tmp_path / "y.html")
    data = read(page)
    assert data["title"] == attack
    assert f"bob.{port}" in {shape["name"] for shape in data["shapes"]}
    for tag in ("<script", "</script", "<!--", "</title"):
        assert page.read_text("utf-8").count(tag) == harmless.read_text("utf-8").count(tag)


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
    data = read(write_animation(motion(pendulum()), tmp_path / "x.html"))
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


def test_a_rail_is_as_long_as_the_motion(tmp_path: Path) -> None:
    s = tt.System("slide", gravity=[0, -9.81, 0])
    s.connect("world", tt.RigidBody("mass", mass=1.0), tt.Prismatic("rail", axis=[0, 3, 0]))
    model, q, zero = s.resolve(), np.array([[-1.0], [2.0]]), np.zeros((2, 1))
    data = read(write_animation(tt.Trajectory(model, np.array([0.0, 1.0]), q, zero, zero, zero), tmp_path / "x.html"))
    (rail,) = shapes_of(data, "rail")
    half = rail["size"][2] / 2
    assert 1.5 < half < 1.7
    assert rail["position"] == pytest.approx([0, 0.5, 0])
    assert data["up"] == [0, 1, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_joint_is_drawn_where_it_acts(tmp_path: Path, kind: str) -> None:
    model = random_tree(np.random.default_rng(5), 3, [kind], base="free" if kind == "Free" else "fixed").resolve()
    data = read(write_animation(motion(model), tmp_path / "x.html"))
    marks = {"Weld": 0, "Free": 0, "Universal": 2, "Cylindrical": 2, "Planar": 3}
    assert len(shapes_of(data, "j1", "joint")) == marks.get(kind, 1)


def test_a_users_block_is_a_line_between_its_ports(tmp_path: Path) -> None:
    model = runpy.run_path(str(CUSTOM_BLOCK))["build"]().resolve()
    trajectory = motion(model, count=5)
    data = read(write_animation(trajectory, tmp_path / "x.html", frames_per_second=2))
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
    data = read(write_animation(motion(s.resolve()), tmp_path / "x.html"))
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
    data = read(write_animation(motion(pendulum()), tmp_path / "x.html", visuals))
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
        write_animation(motion(pendulum()), tmp_path / "x.html", visuals)
    assert caught.value.where == where
    assert not list(tmp_path.iterdir())


def test_all_unusable_shapes_are_reported_together(tmp_path: Path) -> None:
    visuals = {"bobb": {"sphere": 1}, "bob": {"sphere": -1, "color": "reddish"}}
    with pytest.raises(tt.ModelError) as caught:
        write_animation(motion(pendulum()), tmp_path / "x.html", visuals)
    assert [finding.code for finding in caught.value.findings] == ["unknown-block", "bad-size", "unknown-color"]


# -- in a browser ------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_browser_draws_the_page_without_complaint(tmp_path: Path, theme: str) -> None:
    assert BROWSER is not None
    model = runpy.run_path(str(CUSTOM_BLOCK))["build"]().resolve()
    page = write_animation(motion(model), tmp_path / "x.html", {"tip": {"box": [0.1, 0.1, 0.2]}})
    command = [BROWSER, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", f"{page.as_uri()}#t=1.5&theme={theme}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    shown = [line for line in done.stderr.splitlines() if "CONSOLE" in line and "GL Driver Message" not in line]
    if 'data-state="drawn"' not in done.stdout and "WebGL 2" in done.stdout.partition("<script")[0]:
        pytest.skip("this Chromium has no WebGL 2")
    assert shown == []
    assert re.search(r'<html[^>]*data-state="drawn"', done.stdout)
    assert re.search(rf'<html[^>]*data-theme="{theme}"', done.stdout)
    assert "1.500 / 2.000 s" in done.stdout
    assert re.findall(r'<div class="label"[^>]*>(\w+)</div>', done.stdout) == ["hub", "near", "far", "tip"]
