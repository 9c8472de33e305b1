"""The page of a motion: what it holds, what it refuses, and that a browser shows it."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

import titop as tt
from tests.closed_systems import four_bar
from tests.refusals import refusal
from tests.solvers.pictures.animated import CUSTOM_BLOCK, SINGLE, motion, pendulum, poses, read
from tests.systems import KINDS, random_tree
from titop.solvers.pictures.animation import SIZE_LIMIT, configurations
from titop.solvers.pictures.scene import Scene

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--virtual-time-budget=30000", "--dump-dom"),
    *("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
]


def tree(bodies: int = 10, seed: int = 1) -> tt.Model:
    """Return a random tree with joints of every kind."""
    return random_tree(np.random.default_rng(seed), bodies, KINDS, loads=True).resolve()


# -- the file ----------------------------------------------------------------------------------------------------------


def test_twenty_seconds_of_ten_bodies_are_one_small_file(tmp_path: Path) -> None:
    page = motion(tree(), end=20.0, count=401).animate(tmp_path / "x.html")
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
    data = read(trajectory.animate(tmp_path / "x.html", frames_per_second=20))
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
    q = configurations(model, trajectory.t, trajectory.q, np.array([0.0, 0.2, 0.5, 0.9, 1.0]))
    assert q[[0, 2, 4]] == pytest.approx(trajectory.q, abs=1e-12)
    for row, start, part in ((1, 0, 0.4), (3, 1, 0.8)):
        whole = model.difference(trajectory.q[start], trajectory.q[start + 1])
        assert model.difference(trajectory.q[start], q[row]) == pytest.approx(part * whole, abs=1e-9)


TURNS = Rotation.from_rotvec([[0, 0, 0], [0.3, -0.7, 0.2], [1.5, 0.4, 2.0]])


def ball_and_slide() -> tt.Model:
    """Return a body that turns about a point, and one that goes along it."""
    s = tt.System("s", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("b", 1.0, inertia=1.0), tt.Spherical("ball"))
    s.connect(s["b"], tt.RigidBody("c", 1.0, inertia=1.0), tt.Prismatic("slide"))
    return s.resolve("reference")


def test_turns_go_the_shortest_way_and_slides_straight() -> None:
    t, times = np.array([0.0, 1.0, 3.0]), np.array([0.0, 0.25, 1.0, 1.5, 3.0])
    between = configurations(ball_and_slide(), t, np.column_stack([TURNS.as_quat(), t**2]), times)
    expected = Slerp(t, TURNS)(times)
    assert (Rotation.from_quat(between[:, :4]) * expected.inv()).magnitude().max() < 1e-14
    np.testing.assert_allclose(between[:, 4], np.interp(times, t, t**2), rtol=1e-15)


def test_a_single_configuration_stays() -> None:
    t, q = np.array([2.0]), np.column_stack([TURNS[:1].as_quat(), [4.0]])
    np.testing.assert_array_equal(configurations(ball_and_slide(), t, q, t), q)


def test_a_single_state_is_a_still_picture(tmp_path: Path) -> None:
    model = pendulum()
    zero = np.zeros((1, 1))
    data = read(tt.Trajectory(model, np.zeros(1), zero, zero, zero, zero).animate(tmp_path / "x.html"))
    assert data["count"] == 1


def test_frames_that_do_not_fit_are_left_out_with_a_warning(tmp_path: Path) -> None:
    trajectory = motion(tree(), end=60.0)
    with pytest.warns(tt.ModelWarning, match="frames are written"):
        page = trajectory.animate(tmp_path / "x.html", frames_per_second=1000)
    assert 0.95 * SIZE_LIMIT < page.stat().st_size <= SIZE_LIMIT
    data = read(page)
    assert (data["start"], data["end"]) == (0, 60)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "x.html"
    page.write_text("before")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        motion(pendulum()).animate(page)
    assert page.read_text() == "before"
    assert list(tmp_path.iterdir()) == [page]


@pytest.mark.parametrize("name", ["x.png", "x", "x.html.gz"])
def test_other_suffixes_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(tt.ModelError, match=r"expected one of \.htm, \.html; let the name end in \.html or \.htm"):
        motion(pendulum()).animate(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_ports_of_closures_are_marked() -> None:
    s = tt.System("loop")
    s.world.add_port("foot", [1, 0, 0])
    bars = [tt.RigidBody(name, 1.0, com=[0.5, 0, 0], inertia=0.1, ports={"tip": [1, 0, 0]}) for name in ("left", "right")]
    s.connect("world", bars[0], tt.Revolute("hinge1"))
    s.connect(s.world.port("foot"), bars[1], tt.Revolute("hinge2"))
    s.close_loop(bars[0].port("tip"), bars[1].port("tip"), tt.CompliantClosure("spring", stiffness=1))
    shapes = Scene(s.resolve(), np.array([[0.0, 0.0], [0.5, 0.3]])).shapes
    assert {"left.tip", "right.tip"} <= {shape["name"] for shape in shapes if shape["role"] == "port"}
    assert {"left", "right"} <= {shape["name"] for shape in shapes if shape["role"] == "rod"}


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), "fast", [30]])
def test_an_unusable_rate_is_refused(tmp_path: Path, rate: Any) -> None:
    with pytest.raises(tt.ModelError, match="frames_per_second"):
        motion(pendulum()).animate(tmp_path / "x.html", frames_per_second=rate)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "attack", ["</script><script>alert(1)</script>", "<!--<script>", "@payload@@title@", '"];alert(1)//', "\u2028&lt;é\ud800"]
)
def test_names_stay_names(tmp_path: Path, attack: str) -> None:
    port = "".join(character for character in attack if character.isprintable())  # others are refused
    model = pendulum(port=port)
    model.name = attack
    page = motion(model).animate(tmp_path / "x.html")
    harmless = motion(pendulum()).animate(tmp_path / "y.html")
    data = read(page)
    assert data["title"] == attack
    assert f"bob.{port}" in {shape["name"] for shape in data["shapes"]}
    for tag in ("<script", "</script", "<!--", "</title"):
        assert page.read_text("utf-8").count(tag) == harmless.read_text("utf-8").count(tag)


# -- in a browser ------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_browser_draws_the_page_without_complaint(tmp_path: Path, theme: str) -> None:
    assert BROWSER is not None
    model = runpy.run_path(str(CUSTOM_BLOCK))["build"]().resolve()
    page = motion(model).animate(tmp_path / "x.html", {"tip": {"box": [0.1, 0.1, 0.2]}})
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


def test_folders_that_are_not_there_are_named(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "x.html"
    with refusal("no-folder", "missing/x.html"):
        motion(pendulum(), 0.1, 3).animate(path)


# -- modes -------------------------------------------------------------------------------------------------------------


def test_a_mode_moves_as_its_shape(tmp_path: Path) -> None:
    """Two equal masses on equal springs: displacements in the golden ratio, in step in one mode, opposite in the other.

    The larger one is the amplitude; four periods are shown.
    """
    s = tt.System("row", gravity=[0, 0, 0])
    one, two = (tt.RigidBody(name, 1.0, inertia=0.1) for name in ("one", "two"))
    s.connect("world", one, tt.Prismatic("first", [1, 0, 0], stiffness=9.0))
    s.connect(one, two, tt.Prismatic("second", [1, 0, 0], stiffness=9.0))
    modes, golden = tt.modes(s.resolve("reference")), (1 + np.sqrt(5)) / 2
    for number, frequency, parts in ((1, 3 / golden, [1 / golden, 1.0]), (2, 3 * golden, [1.0, -1 / golden])):
        data = read(tt.animate_mode(modes, number, tmp_path / "mode.html", amplitude=0.25))
        assert data["title"] == f"modes of row: {number}, {frequency / (2 * np.pi):.4g} Hz"
        assert data["end"] == pytest.approx(8 * np.pi / frequency, rel=1e-5)  # six digits are written
        t = np.linspace(0, 8 * np.pi, data["count"])
        seen = poses(data)[:, :, 0]
        sign = np.sign(seen[t.searchsorted(1.0), 0])
        assert seen == pytest.approx(sign * 0.25 * np.sin(t)[:, None] * parts, abs=SINGLE)
    for wrong in (0, 3, "first"):
        with refusal("bad-value", "from 1 to 2"):
            tt.animate_mode(modes, wrong, tmp_path / "no.html")
    with refusal("bad-size", "amplitude"):
        tt.animate_mode(modes, 1, tmp_path / "no.html", amplitude=-1.0)
    with refusal("wrong-type", "normal modes"):
        tt.animate_mode(tt.modes(tt.linearize(modes.point.model, modes.point)), 1, tmp_path / "no.html")
    assert not (tmp_path / "no.html").exists()


def test_modes_of_a_body_and_of_a_linkage(tmp_path: Path) -> None:
    """A beam bends, its tip by a tenth of its length; bars of a closed linkage stay joined; what drifts is refused."""
    modes = tt.modes(tt.Beam("boom", length=2.0, density=1.0, area=1.0, young=1e4, iy=1e-4, iz=3e-4))
    assert modes.rows[0].direction == "z"
    tip = read(tt.animate_mode(modes, 1, tmp_path / "boom.html"))
    assert (tip["count"], tip["title"].split(":")[0]) == (121, "modes of boom, clamped at its parent port")
    model = four_bar(tt.RigidClosure("pin", "planar_revolute"), stiffness=500.0).resolve("reference")
    point = tt.trim(model, q=model.assemble([0.5, 0.5, -1.0]))
    data = read(tt.animate_mode(tt.modes(model, point), 1, tmp_path / "linkage.html", amplitude=0.3))
    rocker = poses(data)[:, data["frames"].index("rocker")]
    ends = rocker[:, :3] + Rotation.from_quat(rocker[:, 3:]).apply([0.7, 0, 0])
    assert ends == pytest.approx(np.tile([1.0, 0, 0], (121, 1)), abs=SINGLE)
    assert np.ptp(rocker, axis=0).max() > 0.1
    loose = tt.System("loose", gravity=[0, 0, 0])
    loose.connect("world", tt.RigidBody("puck", 1.0), tt.Prismatic("slide"))
    with refusal("bad-value", "a mode with a frequency"):
        tt.animate_mode(tt.modes(loose.resolve("reference")), 1, tmp_path / "no.html")


def test_a_system_without_bodies_has_no_page(tmp_path: Path) -> None:
    trajectory = motion(tt.System("nothing").resolve("reference"), count=3)
    with refusal("nothing-to-draw", "a body"):
        trajectory.animate(tmp_path / "x.html", frames=True)
