"""The boxes of a drawing as a forest: what does not fit is collapsed."""

from __future__ import annotations

import time

import numpy as np
import pytest

import titop as tt
from tests.graph.drawing.drawn_systems import arms, chain, crane, ladder, legged, names_of, texts_of, top_of, two_loops
from tests.systems import random_tree
from titop.graph.drawing.draw import draw_system
from titop.graph.drawing.forest import LIMIT, Item, collapse_named, collapse_rest, forest
from titop.graph.drawing.outline import Box, outline


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
