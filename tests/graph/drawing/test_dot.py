"""The text of a system for Graphviz: read back by another program's parser, names escaped."""

from __future__ import annotations

import re

import pytest

import titop as tt
from tests.graph.drawing.pictured_systems import HOSTILE, LINES, crane, renamed
from titop.graph.drawing.text import to_dot


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
