"""The outline of a system and its text for Graphviz: read back by another program's parser, names escaped."""

from __future__ import annotations

import re

import pytest

import titop as tt
from titop.graph.drawing.dot import to_dot
from titop.graph.drawing.outline import outline, printable

#: A quoted DOT string: no bare quote, no backslash but before a quote, a backslash or an n.
STRING = r'"(?:[^"\\\n]|\\["\\n])*"'
ATTRIBUTES = rf"\[\w+=(?:{STRING}|\w+)(?:, \w+=(?:{STRING}|\w+))*\]"
LINES = [
    rf"digraph {STRING} \{{",
    r"  rankdir=LR;",
    r"  node \[fontname=Helvetica, fontsize=10\];",
    rf"  \w+ {ATTRIBUTES};",
    rf"  \w+ -> \w+(?: {ATTRIBUTES})?;",
    r"\}",
]


def crane() -> tt.System:
    """Return two bodies and a load."""
    s = tt.System("crane")
    tower = tt.RigidBody("tower", mass=10.0, inertia=1.0, ports={"top": [0, 0, 2]})
    hook = tt.RigidBody("hook", mass=2.5, ports={"eye": [0, 0, 0.1]})
    s.connect("world", tower, tt.Revolute("slew", axis=[0, 0, 1]))
    s.connect(tower.port("top"), hook.port("eye"), tt.Spherical("rope"))
    s.add_load(tt.Load("wind", tower.port("top"), force=[3, 4, 0], frame="world"))
    return s


def renamed(name: str) -> tt.System:
    """Return the crane, its tower, a joint and the system given a name that a constructor would refuse."""
    s = crane()
    s.name = s.connections[0].child.block.name = s.connections[1].joint.name = name
    return s


HOSTILE = [
    'a"]; evil [label="x',
    "a\\",
    'a\\"]; b',
    "a\nb -> c",
    "<b>bold</b>",
    "&quot;",
    "} digraph {",
    "a\x00\x1b\u202e",
    "]]-->|x|",
    "\\N\\G",
]


class TestOutline:
    def test_boxes_wires_and_signals(self) -> None:
        picture = outline(crane())
        assert [(box.kind, box.name) for box in picture.boxes] == [
            ("world", "world"),
            ("body", "tower"),
            ("body", "hook"),
            ("joint", "slew"),
            ("joint", "rope"),
        ]
        assert [(w.parent, w.child, w.parent_port, w.child_port) for w in picture.wires] == [
            (0, 3, "", ""),
            (3, 1, "", ""),
            (1, 4, "top", ""),
            (4, 2, "", "eye"),
        ]
        assert [(x.name, x.kind, x.value, x.target, x.port, x.inward) for x in picture.signals] == [
            ("wind", "Load", "5 N", 1, "top", True)
        ]
        assert picture.findings == []

    def test_faults_stand_at_their_blocks(self) -> None:
        s = crane()
        hook = s.connections[1].child.block
        hook.mass = -1.0
        s.connect(tt.RigidBody("lost", mass=1.0), tt.RigidBody("found", mass=1.0), tt.Weld("glue"))
        faults = {box.name: box.faults for box in outline(s).boxes}
        assert faults["hook"] == ("negative-mass",)
        assert {name for name, found in faults.items() if "unconnected" in found} == {"lost", "found", "glue"}
        assert faults["tower"] == ()

    @pytest.mark.parametrize(("name", "shown"), [("a\tb\x00", "a b "), (7, "7"), ("ünï", "ünï")])
    def test_printable(self, name: object, shown: str) -> None:
        assert printable(name) == shown

    def test_long_names_are_cut_in_the_middle(self) -> None:
        shown = printable("start" + 100 * "x" + "end")
        assert len(shown) == 28
        assert shown.startswith("start")
        assert shown.endswith("end")
        assert "…" in shown


def looped() -> tt.System:
    """Return the crane with its hook tied to the world."""
    s = crane()
    hook = s.connections[1].child
    s.close_loop(hook, "world", tt.RigidClosure("rope2", directions=[[0], [0], [1], [0], [0], [0]]))
    s.close_loop(s["tower"].port("top"), hook.block, tt.CompliantClosure("spring", stiffness=1))
    return s


class TestClosures:
    def test_they_are_boxes_on_chords(self) -> None:
        picture = outline(looped())
        assert [(box.kind, box.name, box.details) for box in picture.boxes[5:]] == [
            ("closure", "rope2", ("RigidClosure", "1 direction")),
            ("closure", "spring", ("CompliantClosure",)),
        ]
        assert [(w.parent, w.child, w.parent_port) for w in picture.chords] == [
            (2, 5, "eye"),
            (0, 5, ""),
            (1, 6, "top"),
            (2, 6, ""),
        ]
        assert picture.wires == outline(crane()).wires
        assert all(box.faults == () for box in picture.boxes)

    def test_faults(self) -> None:
        s = looped()
        s.close_loop(s["hook"], s["hook"].port("eye"), tt.CompliantClosure("nothing"))
        assert outline(s).boxes[-1].faults == ("empty-closure", "self-connection")

    def test_text(self) -> None:
        lines = to_dot(looped()).split("\n")
        for part in (
            '  n5 [label="rope2\\nRigidClosure\\n1 direction", shape=hexagon];',
            '  n2 -> n5 [label="m", color=blue, taillabel="eye"];',
            '  n5 -> n2 [label="W", color=orange, constraint=false, headlabel="eye"];',
            '  n0 -> n5 [label="m", color=blue];',
        ):
            assert part in lines
        assert all(any(re.fullmatch(form, line) for form in LINES) for line in lines)


class TestText:
    def test_says_types_masses_ports_and_loads(self) -> None:
        text = to_dot(crane())
        for part in (
            'n1 [label="tower\\nRigidBody\\n10 kg", shape=box];',
            'n4 [label="rope\\nSpherical\\nrx, ry, rz", shape=box, style=rounded];',
            'n1 -> n4 [label="m", color=blue, taillabel="top"];',
            'n4 -> n1 [label="W", color=orange, constraint=false, headlabel="top"];',
            's0 [label="wind\\nLoad\\n5 N", shape=plaintext];',
            's0 -> n1 [label="top"];',
        ):
            assert part in text

    @pytest.mark.parametrize("name", ["plain", *HOSTILE])
    def test_every_line_is_of_the_grammar(self, name: str) -> None:
        text = to_dot(renamed(name))
        for line in text.split("\n"):
            assert any(re.fullmatch(form, line) for form in LINES), line
        assert text.count(" -> ") == len(re.findall(r"^  \w+ -> ", text, re.MULTILINE)) + text.count("b -> c")

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    @pytest.mark.parametrize("name", ["plain", *HOSTILE])
    def test_a_parser_reads_the_right_graph(self, name: str) -> None:
        pydot = pytest.importorskip("pydot")
        (graph,) = pydot.graph_from_dot_data(to_dot(renamed(name)))
        nodes = {node.get_name() for node in graph.get_nodes()} - {"node"}
        edges = sorted((edge.get_source(), edge.get_destination()) for edge in graph.get_edges())
        assert nodes == {"n0", "n1", "n2", "n3", "n4", "s0"}
        pairs = [("n0", "n3"), ("n3", "n1"), ("n1", "n4"), ("n4", "n2")]
        assert edges == sorted([*pairs, *((b, a) for a, b in pairs), ("s0", "n1")])

    def test_faults_are_red(self) -> None:
        s = crane()
        s.connections[1].child.block.mass = -1.0
        assert 'n2 [label="hook\\nRigidBody\\n-1 kg\\n! negative-mass", shape=box, color=red];' in to_dot(s)

    def test_an_empty_system(self) -> None:
        assert 'n0 [label="world", shape=box3d];' in to_dot(tt.System("void"))
