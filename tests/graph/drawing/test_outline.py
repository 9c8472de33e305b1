"""The outline of a system: its boxes, wires, signals and faults."""

from __future__ import annotations

import re

import pytest

import titop as tt
from tests.graph.drawing.pictured_systems import LINES, crane, looped
from titop.blocks.basics.notebook import printable
from titop.graph.drawing.outline import outline
from titop.graph.drawing.text import to_dot


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
