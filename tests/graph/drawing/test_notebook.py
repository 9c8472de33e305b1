"""A system in a notebook: well-formed HTML with nothing in it that names could smuggle in."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import titop as tt
from tests.graph.drawing.pictured_systems import HOSTILE, crane, looped, renamed
from tests.systems import random_tree
from titop.graph.drawing.text import system_html

ALLOWED = {"div", "p", "b", "span", "details", "summary", "table", "tr", "td", "ul", "li"}


class Reader(HTMLParser):
    """Checks that tags are allowed and nested; collects texts, and attributes other than styles of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.deepest = 0
        self.texts: list[str] = []
        self.summaries: list[tuple[int, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        assert {name for name, _ in attrs} <= {"style", "open"}
        self.open.append(tag)
        self.deepest = max(self.deepest, len(self.open))
        if tag == "summary":
            self.summaries.append((self.open.count("details"), ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if "summary" in self.open:
            depth, text = self.summaries[-1]
            self.summaries[-1] = depth, text + data

    def handle_comment(self, data: str) -> None:
        pytest.fail(f"a comment: {data}")


def read(s: tt.System) -> Reader:
    """Return what the HTML of a system says."""
    reader = Reader()
    reader.feed(system_html(s))
    reader.close()
    assert reader.open == []
    return reader


def test_says_what_there_is() -> None:
    reader = read(crane())
    text = " ".join(reader.texts)
    for word in (
        "crane",
        "12.5 kg",
        "4 coordinates",
        "gravity [0, 0, -9.81]",
        "Spherical, rx, ry, rz",
        "10 kg",
        "wind at top: 5 N",
    ):
        assert word in text
    tree = [(depth, summary) for depth, summary in reader.summaries if "kg" in summary or summary == "world"]
    assert tree == [
        (1, "world"),
        (2, "slew Revolute, angle → tower RigidBody, 10 kg"),
        (3, "at top rope Spherical, rx, ry, rz → hook RigidBody, 2.5 kg"),
    ]
    assert "top" in reader.texts


def test_closures_are_a_table() -> None:
    reader = read(looped())
    text = "".join(reader.texts)
    assert "2 connections, 1 closure, 1 interaction, 4 coordinates" in text
    assert "rope2 RigidClosure, 1 directionhook.eye and world" in text
    assert "spring CompliantClosuretower.top and hook" in text
    tree = [summary for _, summary in reader.summaries]
    assert not any("rope2" in summary for summary in tree)
    s = looped()
    s.loops[0].closure.name = HOSTILE[4]
    assert "<b>bold" not in system_html(s)


def test_branches_follow_their_parents() -> None:
    s = tt.System("fork")
    a, b, c, d = (tt.RigidBody(name, mass=1.0, inertia=0.1) for name in "abcd")
    for parent, child in (("world", a), (a, b), (b, c), (a, d)):
        s.connect(parent, child, tt.Weld(f"to_{child.name}"))
    depths = [(depth, summary.split(" → ")[-1][0]) for depth, summary in read(s).summaries if "→" in summary]
    assert depths == [(2, "a"), (3, "b"), (4, "c"), (3, "d")]


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "' onload='x", "<!--", *HOSTILE])
def test_names_are_escaped(name: str) -> None:
    reader = read(renamed(name))
    shown = "".join(c if c.isprintable() else " " for c in name)
    assert shown in reader.texts


def test_hostile_ports_and_values_are_escaped() -> None:
    s = crane()
    s.world.add_port("<img src=x onerror=alert(1)>")
    s.connections[0].child.block.reader.report("bad", "mass", "<script>", "<i>", "</div>")
    reader = read(s)
    assert any("<img" in text for text in reader.texts)
    assert any("<script>" in text for text in reader.texts)


@pytest.mark.parametrize("seed", range(5))
def test_random_trees_are_well_formed_and_complete(seed: int) -> None:
    s = random_tree(np.random.default_rng(seed), 40, loads=True)
    bold = [summary for _, summary in read(s).summaries if "→" in summary]
    assert len(bold) == 40


def test_errors_warnings_and_lost_parts() -> None:
    s = crane()
    s.connections[0].child.block.inertia = np.diag([1.0, 1.0, 9.0])
    s.connections[1].child.block.mass = -1.0
    lost = tt.RigidBody("lost", mass=1.0)
    s.connect(lost, s.connections[0].child.block, tt.Weld("second"))
    text = " ".join(read(s).texts)
    for word in ("negative-mass", "1 suspicious", "triangle-inequality", "two-parents", "unconnected", "(see above)"):
        assert word in text


def test_a_ring_ends() -> None:
    s = tt.System("ring")
    a, b = tt.RigidBody("a", mass=1.0), tt.RigidBody("b", mass=1.0)
    s.connect(a, b, tt.Weld("w1"))
    s.connect(b, a, tt.Weld("w2"))
    assert "cycle" in " ".join(read(s).texts)


def test_long_chains_stay_shallow_enough_for_browsers() -> None:
    s = tt.System("chain")
    parent: tt.Block | str = "world"
    for k in range(1000):
        child = tt.RigidBody(f"b{k}", mass=1.0, inertia=0.1)
        s.connect(parent, child, tt.Revolute(f"j{k}", axis=[1, 0, 0]))
        parent = child
    reader = read(s)
    assert reader.deepest < 100
    assert sum("→" in summary for _, summary in reader.summaries) == 1000


def test_an_empty_system() -> None:
    assert "world" in read(tt.System("void")).texts
