"""The drawn block diagram: what there is is shown, faults are marked, files are written."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.graph.drawing.drawn_systems import (
    body,
    crane,
    devices,
    faulty,
    faulty_loops,
    four_bar,
    names_of,
    tendons,
    texts_of,
    two_loops,
)
from titop.graph.drawing.draw import draw_system


def kinds(figure: Any) -> Counter[str]:
    """Return how many patches there are of each kind (what their gid begins with)."""
    return Counter(patch.get_gid().partition(":")[0] for patch in figure.axes[0].patches)


class TestContent:
    def test_every_block_once_with_type_mass_and_ports(self) -> None:
        figure = draw_system(crane())
        assert sorted(names_of(figure)) == sorted(
            ["world", "base", "tower", "jib_joint", "jib", "hook_joint", "hook", "counterweight_joint", "counterweight"]
        )
        for word in ("crane", "Free", "Revolute", "RigidBody", "1 kg", "tip", "x, y, z, rx, ry, rz", "wind at tip: 5 N"):
            assert word in texts_of(figure)
        assert "gust: 7 N m" in texts_of(figure)

    def test_two_wires_a_connection_and_an_arrow_a_signal(self) -> None:
        """Four connections of two pairs each; four joints with efforts and coordinates, two loads, two arrows of the legend."""
        found = kinds(draw_system(crane()))
        assert found == {"box": 9, "m": 8, "W": 8, "in": 4 + 2, "out": 4, "legend": 2}
        gids = {patch.get_gid() for patch in draw_system(crane()).axes[0].patches}
        assert {"m:world->base", "W:world->base", "m:tower->jib_joint", "W:hook_joint->hook"} <= gids

    def test_a_closure_joins_two_bodies(self) -> None:
        figure = draw_system(four_bar())
        assert Counter(names_of(figure))["pin"] == 1
        assert "RigidClosure\nrevolute" in texts_of(figure)
        gids = Counter(patch.get_gid() for patch in figure.axes[0].patches)
        wires = {f"{kind}:{name}->pin" for kind in "mW" for name in ("coupler", "rocker")}
        assert {gid for gid in gids if gid.endswith("->pin")} == wires
        assert texts_of(draw_system(two_loops())).count("2 directions") == 1

    def test_a_blocks_own_coordinates_are_inputs_and_outputs_too(self) -> None:
        class Soft(tt.Block):
            coordinates = ("bend", "twist")
            ports = ("C",)

            def pose(self, port: str, q: Any) -> Any:
                return np.eye(3) + 0 * q[0], np.zeros(3) + 0 * q[0]

        s = tt.System("soft")
        s.connect("world", Soft("rod"), tt.Weld("clamp"))
        figure = draw_system(s)
        assert "τ (2)" in texts_of(figure)
        assert kinds(figure)["in"] == 1

    def test_actuators_and_sensors(self) -> None:
        s = crane()
        s.add_actuator(tt.Motor("winch", "hook_joint"))
        s.add_sensor(tt.Gyro("gyro", s.connections[0].child.block.port("tip")))
        figure = draw_system(s)
        assert "winch" in texts_of(figure)
        assert "gyro at tip" in texts_of(figure)
        assert (kinds(figure)["in"], kinds(figure)["out"]) == (7, 5)

    def test_names_are_drawn_as_they_are(self) -> None:
        s = tt.System(r"$\frac{a}$")
        block = body("a")
        s.connect("world", block, tt.Weld("w"))
        block.name = "$x^2$ <b>\n" + 100 * "long"
        figure = draw_system(s)
        figure.canvas.draw()
        shown = next(name for name in names_of(figure) if name.startswith("$x^2$ <b> "))
        assert len(shown) < 40

    def test_a_device_is_one_box(self) -> None:
        """With what acts between its parts and its block; nothing of it is a fault; its port's name is written once."""
        figure = draw_system(devices())
        assert sorted(names_of(figure)) == ["base", "fuel", "hub", "wheel0", "wheel1", "wheel2", "world"]
        assert "second connection" not in texts_of(figure)
        ports = [text.get_text() for text in figure.axes[0].texts if text.get_gid() == "port:hub"]
        assert Counter(filter(None, ports)) == {"tank": 1, "wheels": 1}
        (bracket,) = figure.axes[0].lines
        assert bracket.get_gid() == "port"
        assert "second connection" in texts_of(draw_system(faulty()))  # where it is one

    def test_names_are_not_cut(self) -> None:
        """Long ones take two lines; of many coordinates the first and the last are named."""
        figure = draw_system(tendons())
        written = "".join(names_of(figure))
        assert "a_rod_with_a_name_that_is_longer_than_others" in written
        assert "the/clamp/of/the/rod/at/the/base/of/all" in written
        own = tendons()["a_rod_with_a_name_that_is_longer_than_others"].coordinates
        assert f"{own[0]} … {own[-1]}" in texts_of(figure)

    def test_an_empty_system_is_the_world(self) -> None:
        assert names_of(draw_system(tt.System("void"))) == ["world"]


class TestFaults:
    def test_faulty_parts_are_marked(self) -> None:
        figure = draw_system(faulty())
        text = texts_of(figure)
        for word in ("! cycle", "! two-parents", "! negative-mass", "! unconnected", "drawn elsewhere"):
            assert word in text
        red = {
            patch.get_gid()
            for patch in figure.axes[0].patches
            if patch.get_edgecolor()[:3] == pytest.approx((200 / 255, 16 / 255, 46 / 255))
        }
        assert {"box:a", "box:c", "box:h4", "box:lost", "m:h3->a", "W:h3->a"} == red
        assert Counter(names_of(figure)) == {"world": 1, "h1": 1, "a": 2, "h2": 1, "b": 1, "h3": 1, "c": 1, "h4": 1, "lost": 1}

    def test_faulty_closures_are_marked(self) -> None:
        text = texts_of(draw_system(faulty_loops()))
        for word in ("! self-connection", "! foreign-target", "! unknown-kind", "! unconnected", "stranger", "sperical"):
            assert word in text

    def test_a_closure_used_twice(self) -> None:
        s = four_bar()
        s.close_loop(s["crank"], s["rocker"], s["pin"])
        figure = draw_system(s)
        assert Counter(names_of(figure))["pin"] == 2
        assert "! duplicate-name" in texts_of(figure)

    def test_a_ring_that_hangs_on_nothing(self) -> None:
        s = tt.System("ring")
        a, b = body("a"), body("b")
        s.connect(a, b, tt.Weld("w1"))
        s.connect(b, a, tt.Weld("w2"))
        assert Counter(names_of(draw_system(s))) == {"world": 1, "a": 2, "w1": 1, "b": 1, "w2": 1}

    def test_two_blocks_of_one_name_and_the_world_as_a_child(self) -> None:
        s = tt.System("twins")
        a = body("a")
        s.connect("world", a, tt.Weld("w"))
        s.connect(a, body("a"), tt.Weld("w"))
        s.connect(a, s.world, tt.Weld("up"))
        figure = draw_system(s)
        assert Counter(names_of(figure)) == {"world": 2, "a": 2, "w": 2, "up": 1}
        assert "! duplicate-name" in texts_of(figure)

    def test_a_load_on_a_block_elsewhere(self) -> None:
        s = crane()
        s.add_load(tt.Load("push", body("stranger"), force=[1, 0, 0]))
        assert "stranger" in names_of(draw_system(s))
        assert "foreign-target" in texts_of(draw_system(s))


class TestFiles:
    @pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
    def test_saves(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"crane.{suffix}"
        draw_system(crane(), path)
        assert path.stat().st_size > 5000

    @pytest.mark.parametrize("name", ["crane.doc", "crane", "crane.pngg"])
    def test_unknown_formats_are_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(tt.ModelError, match="unknown-format") as caught:
            crane().draw(tmp_path / name)
        for known in (".pdf", ".png", ".svg"):
            assert known in str(caught.value)
        assert list(tmp_path.iterdir()) == []
