"""The places of a drawing: boxes and texts do not overlap, wires join the right boxes."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from matplotlib.transforms import Bbox

import titop as tt
from tests.graph.drawing.drawn_systems import (
    arms,
    chain,
    crane,
    devices,
    faulty,
    faulty_loops,
    four_bar,
    ladder,
    legged,
    tendons,
    top_of,
    two_loops,
)
from tests.systems import random_tree
from titop.graph.drawing.draw import draw_system
from titop.graph.drawing.layout import Layout, arrange

#: Texts are measured at one resolution and drawn at another: a pixel or two of hinting.
PIXELS = 2.0


def random_loops(seed: int) -> tt.System:
    """Return a random tree with closures anywhere."""
    rng = np.random.default_rng(seed)
    s = random_tree(rng, 30)
    for k in range(8):
        first, second = rng.choice(30, size=2, replace=False)
        s.close_loop(s[f"b{first}"].port("A"), s[f"b{second}"], tt.CompliantClosure(f"c{k}", stiffness=1))
    return s


def layout_of(s: tt.System) -> Layout:
    """Return the layout of the whole system."""
    return arrange(top_of(s))


def overlapping(boxes: list[Any], others: list[Any]) -> list[tuple[Any, Any]]:
    """Return pairs of bounding boxes, of one list and of another, that overlap by more than hinting."""
    one, two = (np.array([box.extents for box in each]).reshape(-1, 4) for each in (boxes, others))
    low, high = np.maximum(one[:, None, :2], two[None, :, :2]), np.minimum(one[:, None, 2:], two[None, :, 2:])
    return [(boxes[i], others[j]) for i, j in np.argwhere((high - low > PIXELS).all(axis=2))]


def overlapping_within(boxes: list[Any]) -> list[tuple[Any, Any]]:
    """Return pairs of bounding boxes of one list that overlap by more than hinting."""
    return [(a, b) for a, b in overlapping(boxes, boxes) if a is not b]


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
    "devices": devices,
    "tendons": tendons,
    "faulty loops": faulty_loops,
    **{f"loops {k}": lambda k=k: random_loops(k) for k in range(6)},
    **{f"tree {k}": lambda k=k: random_tree(np.random.default_rng(k), 30, loads=True) for k in range(6)},
}


@pytest.fixture(params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> tt.System:
    return SYSTEMS[request.param]()


def test_overlaps_are_found() -> None:
    """The negative control: one box within another and one across its corner, but none beside it or across by hinting."""
    box = Bbox.from_extents(0, 0, 10, 10)
    others = [(2, 2, 5, 5), (6, 7, 20, 20), (11, 0, 20, 10), (8.5, 0, 20, 10), (0, 9, 10, 20)]
    boxes = [Bbox.from_extents(*other) for other in others]
    assert overlapping([box], boxes) == [(box, boxes[0]), (box, boxes[1])]
    assert overlapping_within([box, boxes[0]]) == [(box, boxes[0]), (boxes[0], box)]
    assert overlapping_within([box, boxes[2]]) == []


class TestGeometry:
    def test_nothing_overlaps_and_texts_are_inside_their_boxes(self, system: tt.System) -> None:
        figure = draw_system(system)
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        patches = [patch for patch in figure.axes[0].patches if patch.get_gid().startswith("box:")]
        texts = [text for text in figure.axes[0].texts if text.get_text()]
        extents = [text.get_window_extent(renderer) for text in texts]
        assert overlapping_within(extents) == []
        boxes = {id(patch): patch.get_window_extent(renderer) for patch in patches}
        single = {patch.get_gid(): boxes[id(patch)] for patch in patches}  # of a group's two boxes the front one
        assert overlapping_within(list(single.values())) == []
        for text, extent in zip(texts, extents, strict=True):
            kind, _, name = text.get_gid().partition(":")
            if kind in ("name", "detail", "port"):
                around = [boxes[id(patch)] for patch in patches if patch.get_gid() == f"box:{name}"]
                assert any(_inside(extent, box) for box in around), text.get_text()
            else:
                assert overlapping([extent], list(single.values())) == []
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
        assert Counter(id(closure) for _, closure, *_ in layout.chords) == {id(closure): closure.ends for closure in closures}

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
