"""The drawn block diagram: boxes and texts do not overlap, wires join the right boxes, faults are marked, it stays fast."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.systems import random_tree
from titop.graph.drawing.draw import draw_system
from titop.graph.drawing.forest import LIMIT, Item, bundle, collapse_named, collapse_rest, forest
from titop.graph.drawing.layout import Layout, arrange
from titop.graph.drawing.outline import Box, outline

#: Texts are measured at one resolution and drawn at another: a pixel or two of hinting.
PIXELS = 2.0


def body(name: str, **fields: Any) -> tt.RigidBody:
    """Return a body with a port ``tip``, fields replaced."""
    return tt.RigidBody(name, **({"mass": 1.0, "inertia": 0.1, "ports": {"tip": [0, 0, 1]}} | fields))


def chain(s: tt.System, start: Any, names: list[str]) -> tt.System:
    """Hang bodies one below the other on revolute joints."""
    for name in names:
        link = body(name)
        s.connect(start, link, tt.Revolute(f"{name}_joint", axis=[1, 0, 0]))
        start = link.port("tip")
    return s


def crane() -> tt.System:
    """Return two branches, two loads on one body, a motor and a sensor."""
    s = tt.System("crane")
    tower = body("tower")
    s.connect("world", tower, tt.Free("base"))
    chain(chain(s, tower.port("tip"), ["jib", "hook"]), tower, ["counterweight"])
    s.add_load(tt.Load("wind", tower.port("tip"), force=[3, 4, 0], frame="world"))
    s.add_load(tt.Load("gust", tower, torque=[0, 0, 7]))
    return s


def arms(count: int, links: int) -> tt.System:
    """Return a hub with arms that are subsystems."""
    s = tt.System("many arms")
    hub = body("hub")
    s.connect("world", hub, tt.Free("base"))
    for arm in range(count):
        chain(s, hub, [f"arm{arm}/link{k}" for k in range(links)])
    return s


def faulty() -> tt.System:
    """Return a system with a cycle, a body of negative mass, and a part that hangs on nothing."""
    s = tt.System("faulty")
    a, b = body("a"), body("b")
    s.connect("world", a, tt.Revolute("h1", axis=[1, 0, 0]))
    s.connect(a, b, tt.Revolute("h2", axis=[1, 0, 0]))
    s.connect(b, a, tt.Weld("h3"))
    s.connect(body("c"), body("lost", mass=-1.0), tt.Weld("h4"))
    return s


def four_bar() -> tt.System:
    """Return two branches that a pin closes to a loop."""
    s = tt.System("four_bar")
    chain(s, "world", ["crank", "coupler"])
    chain(s, "world", ["rocker"])
    s.close_loop(s["coupler"].port("tip"), s["rocker"].port("tip"), tt.RigidClosure("pin", "revolute"))
    return s


def two_loops() -> tt.System:
    """Return loops through one body, parallel closures, one to the world, and one between bodies of one column."""
    s = four_bar()
    chain(s, s["coupler"].port("tip"), ["link"])
    chain(s, "world", ["slider"])
    s.add_sensor(tt.Gyro("gyro", s["coupler"]))
    s.close_loop(s["link"].port("tip"), s["slider"], tt.RigidClosure("wrist", directions=np.eye(6)[:, :2]))
    for k in range(3):
        s.close_loop(s["rocker"], s["slider"].port("tip"), tt.CompliantClosure(f"spring{k}", stiffness=1))
    s.close_loop("world", s["slider"], tt.CompliantClosure("damper", damping=1))
    return s


def legged(legs: int = 12) -> tt.System:
    """Return a trunk of 40 bodies and more, its legs subsystems of two branches, with closures in and between them."""
    s, leg = tt.System("walker"), tt.System("leg")
    chain(leg, "world", ["thigh", "shin"])
    chain(leg, "world", ["rod"])
    leg.close_loop(leg["rod"].port("tip"), leg["shin"].port("tip"), tt.RigidClosure("ankle", "revolute"))
    chain(s, "world", ["trunk"])
    parts = [s.include(leg, f"leg{k}", at=s["trunk"].port("tip")) for k in range(legs)]
    chain(s, s["trunk"], ["tail0", "tail1", "tail2", "tail3"])
    for k in range(legs - 1):
        s.close_loop(parts[k].port("shin.tip"), parts[k + 1].port("shin.tip"), tt.CompliantClosure(f"band{k}", stiffness=1))
    for k in range(4):
        s.close_loop(s["tail3"], parts[3].port("shin.tip"), tt.CompliantClosure(f"string{k}", stiffness=1))
    return s


def ladder() -> tt.System:
    """Return a chain of 40 bodies, folded and collapsed at its end, with closures within rows and across them."""
    s = chain(tt.System("ladder"), "world", [f"link{k}" for k in range(40)])
    for first, second in ((1, 5), (7, 11), (15, 19), (22, 26), (2, 38), (33, 36)):
        ends = (s[f"link{k}"].port("tip") for k in (first, second))
        s.close_loop(*ends, tt.RigidClosure(f"pin{first}", "spherical"))
    s.close_loop("world", s["link36"], tt.RigidClosure("anchor"))
    return s


def random_loops(seed: int) -> tt.System:
    """Return a random tree with closures anywhere."""
    rng = np.random.default_rng(seed)
    s = random_tree(rng, 30)
    for k in range(8):
        first, second = rng.choice(30, size=2, replace=False)
        s.close_loop(s[f"b{first}"].port("A"), s[f"b{second}"], tt.CompliantClosure(f"c{k}", stiffness=1))
    return s


def faulty_loops() -> tt.System:
    """Return closures with what is wrong: on one body, on a stranger, on a part that hangs on nothing."""
    s = four_bar()
    lamp = body("lamp")
    s.connect(lamp, body("bulb"), tt.Weld("socket"))
    s.close_loop(s["crank"], s["crank"].port("tip"), tt.RigidClosure("hoop"))
    s.close_loop(s["crank"], body("stranger").port("tip"), tt.RigidClosure("rope", "sperical"))
    s.close_loop(s["crank"], lamp, tt.RigidClosure("cable", "spherical"))
    return s


def top_of(s: tt.System) -> Item:
    """Return the boxes of a system, collapsed as they are drawn."""
    top = Item(Box("group", ""), children=forest(outline(s)))
    collapse_rest(top)
    bundle(top)
    return top


def layout_of(s: tt.System) -> Layout:
    """Return the layout of the whole system."""
    return arrange(top_of(s))


def kinds(figure: Any) -> Counter[str]:
    """Return how many patches there are of each kind (what their gid begins with)."""
    return Counter(patch.get_gid().partition(":")[0] for patch in figure.axes[0].patches)


def names_of(figure: Any) -> list[str]:
    """Return the names of the boxes."""
    return [text.get_text() for text in figure.axes[0].texts if text.get_gid().startswith("name:")]


def texts_of(figure: Any) -> str:
    """Return everything that is written."""
    return "\n".join(text.get_text() for text in figure.axes[0].texts)


def overlapping(boxes: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of bounding boxes that overlap by more than hinting."""
    for a, b in itertools.combinations(boxes, 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        if width > PIXELS and height > PIXELS:
            yield a, b


SYSTEMS = {
    "empty": lambda: tt.System("empty"),
    "crane": crane,
    "faulty": faulty,
    "chain of 30": lambda: chain(tt.System("chain"), "world", [f"link{k}" for k in range(30)]),
    "star": lambda: arms(8, 1),
    "arms of 200 bodies": lambda: arms(10, 20),
    "four bar": four_bar,
    "two loops": two_loops,
    "legged": legged,
    "ladder": ladder,
    "faulty loops": faulty_loops,
    **{f"loops {k}": lambda k=k: random_loops(k) for k in range(6)},
    **{f"tree {k}": lambda k=k: random_tree(np.random.default_rng(k), 30, loads=True) for k in range(6)},
}


@pytest.fixture(params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> tt.System:
    return SYSTEMS[request.param]()


class TestGeometry:
    def test_nothing_overlaps_and_texts_are_inside_their_boxes(self, system: tt.System) -> None:
        figure = draw_system(system)
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        patches = [patch for patch in figure.axes[0].patches if patch.get_gid().startswith("box:")]
        texts = [text for text in figure.axes[0].texts if text.get_text()]
        extents = [text.get_window_extent(renderer) for text in texts]
        assert list(overlapping(extents)) == []
        boxes = {id(patch): patch.get_window_extent(renderer) for patch in patches}
        single = {patch.get_gid(): boxes[id(patch)] for patch in patches}  # of a group's two boxes the front one
        assert list(overlapping(list(single.values()))) == []
        for text, extent in zip(texts, extents, strict=True):
            kind, _, name = text.get_gid().partition(":")
            if kind in ("name", "detail", "port"):
                around = [boxes[id(patch)] for patch in patches if patch.get_gid() == f"box:{name}"]
                assert any(_inside(extent, box) for box in around), text.get_text()
            else:
                assert list(overlapping([extent, *single.values()])) == []
            assert _inside(extent, figure.bbox), text.get_text()

    def test_wires_leave_and_enter_at_the_edges_of_their_boxes(self, system: tt.System) -> None:
        for parent, child, motion, wrench in layout_of(system).wires:
            assert child in parent.children
            for line in (motion, wrench[::-1]):
                (x0, y0), (x1, y1) = line[0], line[-1]
                assert x0 == pytest.approx(parent.x + parent.width)
                assert abs(y0 - parent.y) < parent.height / 2
                assert x1 == pytest.approx(child.x)
                assert abs(y1 - child.y) < child.height / 2

    def test_wires_of_closures_leave_bodies_to_the_right_and_enter_closures_from_both_sides(self, system: tt.System) -> None:
        layout = layout_of(system)
        for item, closure, motion, wrench in layout.chords:
            assert any(chord.closure is closure for chord in item.chords)
            for line in (motion, wrench[::-1]):
                (x0, y0), (x1, y1) = line[0], line[-1]
                assert x0 == pytest.approx(item.x + item.width)
                assert abs(y0 - item.y) < item.height / 2
                assert x1 == pytest.approx(closure.x) if line[-2][0] < x1 else x1 == pytest.approx(closure.x + closure.width)
                assert abs(y1 - closure.y) < closure.height / 2
        closures = [item for item in layout.items if item.box.kind == "closure"]
        assert Counter(id(closure) for _, closure, *_ in layout.chords) == {id(closure): 2 for closure in closures}

    def test_wires_run_beside_boxes_and_beside_each_other(self, system: tt.System) -> None:
        layout = layout_of(system)
        lines = [line for *_, motion, wrench in (*layout.wires, *layout.chords) for line in (motion, wrench)]
        segments = [sorted(pair) for line in lines for pair in itertools.pairwise(line)]
        for (x0, y0), (x1, y1) in segments:
            assert x0 == pytest.approx(x1) or y0 == pytest.approx(y1), "wires turn at right angles"
            for item in layout.items:
                above, below = item.y + item.height / 2, item.y - item.height / 2
                outside = x1 <= item.x + 1e-9 or x0 >= item.x + item.width - 1e-9 or max(y0, y1) < below or min(y0, y1) > above
                assert outside, item.box.name
        for (a, b), (c, d) in itertools.combinations(segments, 2):
            along, across = (0, 1) if _flat(a, b) else (1, 0)
            on_one_line = _flat(a, b) == _flat(c, d) and abs(a[across] - c[across]) < 1e-6
            assert not on_one_line or min(b[along], d[along]) - max(a[along], c[along]) < 1e-6

    @pytest.mark.parametrize("build", [crane, four_bar])
    def test_two_branches_do_not_cross(self, build: Any) -> None:
        layout = layout_of(build())
        lines = [line for *_, motion, wrench in (*layout.wires, *layout.chords) for line in (motion, wrench)]
        segments = [sorted(pair) for line in lines for pair in itertools.pairwise(line)]
        level = [(a, b) for a, b in segments if _flat(a, b)]
        upright = [(a, b) for a, b in segments if not _flat(a, b)]
        assert upright
        for (a, b), (c, d) in itertools.product(level, upright):
            assert not (a[0] + 1e-6 < c[0] < b[0] - 1e-6 and c[1] + 1e-6 < a[1] < d[1] - 1e-6)


def _inside(inner: Any, outer: Any) -> bool:
    return (
        inner.x0 >= outer.x0 - PIXELS
        and inner.x1 <= outer.x1 + PIXELS
        and inner.y0 >= outer.y0 - PIXELS
        and inner.y1 <= outer.y1 + PIXELS
    )


def _flat(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return abs(a[1] - b[1]) < 1e-9


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


def two_loops_grouped() -> tt.System:
    """Return three springs from one body to what hangs on another."""
    s = two_loops()
    chain(s, s["rocker"].port("tip"), ["finger"])
    for k in range(3):
        s.close_loop(s["finger"], s["slider"].port("tip"), tt.CompliantClosure(f"band{k}", stiffness=1))
    return s


class TestCollapse:
    def test_thirty_bodies_are_drawn_one_by_one(self) -> None:
        figure = draw_system(chain(tt.System("chain"), "world", [f"link{k}" for k in range(30)]))
        assert len(names_of(figure)) == LIMIT

    def test_many_blocks_collapse_by_subsystem_and_stay_fast(self) -> None:
        s = arms(10, 20)
        start = time.process_time()
        figure = draw_system(s)
        figure.canvas.draw()
        assert time.process_time() - start < 5.0, "200 bodies; about half a second when written"
        assert "arm3/... (39 blocks)" in names_of(figure)
        assert len(names_of(figure)) == 3 + 20

    @pytest.mark.parametrize("shape", ["chain", "star", "tree"])
    def test_many_blocks_without_subsystems_collapse_by_subtree(self, shape: str) -> None:
        names = [f"b{k}" for k in range(200)]
        s = tt.System(shape)
        if shape == "chain":
            chain(s, "world", names)
        elif shape == "star":
            for name in names:
                chain(s, "world", [name])
        else:
            s = random_tree(np.random.default_rng(0), 200)
        top = Item(Box("group", ""), children=forest(outline(s)))
        collapse_rest(top)
        boxes = [item.box for item in top.walk()][1:]
        assert LIMIT - 4 <= len(boxes) <= LIMIT
        assert sum(box.size for box in boxes) == 401, "every block is in some box"
        assert any("... (" in box.name for box in boxes)

    def test_the_mass_and_the_coordinates_are_summed(self) -> None:
        top = Item(Box("group", ""), children=forest(outline(arms(2, 5))))
        collapse_named(top, ["arm0"])
        group = next(item for item in top.walk() if item.box.kind == "group" and item.box.name)
        assert group.box.name == "arm0/... (9 blocks)"
        assert (group.box.mass, group.box.nv) == (5.0, 4)
        assert group.inward == ["τ (4)"]

    def test_closures_within_a_group_are_counted_and_those_that_leave_it_name_their_block(self) -> None:
        top = top_of(ladder())
        group = next(item for item in top.walk() if item.box.kind == "group" and item.box.name)
        assert group.box.details[-1] == "1 closure"
        assert [chord.port for chord in group.chords] == ["link36", "link38.tip"]
        assert sum(item.box.size for item in top.walk()) - 1 + 6 == 1 + 2 * 40 + 7, "every block is in some box"
        collapsed = draw_system(ladder(), collapse=["link0"])
        assert "5 closures" not in names_of(collapsed)
        assert "6 closures" in texts_of(collapsed)
        assert sorted(names_of(collapsed)) == ["anchor", "link0", "link0_joint", "link1 ... (84 blocks)", "world"]

    def test_branches_of_a_subsystem_are_one_box(self) -> None:
        figure = draw_system(legged())
        assert "leg7/... (7 blocks)" in names_of(figure)
        assert len(names_of(figure)) == 3 + 12 + 8 + 11 + 1
        assert "leg7/shin.tip" in texts_of(figure)
        assert "leg3/... (7 blocks)" in names_of(draw_system(legged(4), collapse=["leg3"]))

    def test_parallel_closures_of_a_group_are_one_box(self) -> None:
        figure = draw_system(legged())
        assert "4 closures" in names_of(figure)
        assert "string0\n...\nstring3" in texts_of(figure)
        assert "3 closures" not in texts_of(draw_system(two_loops()))
        assert "3 closures" in names_of(draw_system(two_loops_grouped(), collapse=["rocker"]))

    def test_a_body_alone_is_no_group(self) -> None:
        assert "a/one" in names_of(draw_system(chain(tt.System("rig"), "world", ["a/one", "tool"]), collapse=["a"]))

    def test_below_a_block_and_below_a_joint(self) -> None:
        assert "hook ... (2 blocks)" in names_of(draw_system(crane(), collapse=["jib"]))
        assert "hook ... (2 blocks)" in names_of(draw_system(crane(), collapse="jib_joint"))
        assert names_of(draw_system(crane(), collapse=["hook"])) == names_of(draw_system(crane()))

    def test_a_subsystem_in_the_middle_keeps_what_hangs_on_it(self) -> None:
        s = chain(tt.System("relay"), "world", ["a/one", "a/two", "tool"])
        assert sorted(names_of(draw_system(s, collapse=["a"]))) == [
            "a/... (3 blocks)",
            "a/one_joint",
            "tool",
            "tool_joint",
            "world",
        ]

    def test_faults_and_loads_of_hidden_blocks_stay(self) -> None:
        s = chain(tt.System("rig"), "world", ["a", "b"])
        s.connections[-1].child.block.mass = -1.0
        s.add_load(tt.Load("push", s.connections[-1].child.block, force=[1, 0, 0]))
        figure = draw_system(s, collapse=["a"])
        assert "! negative-mass" in texts_of(figure)
        assert "push: 1 N" in texts_of(figure)

    def test_unknown_names_are_refused(self) -> None:
        with pytest.raises(tt.ModelError, match="did you mean 'jib'"):
            draw_system(crane(), collapse=["jibb"])


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
