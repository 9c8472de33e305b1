"""The Mermaid text of a system: every line is of Mermaid's grammar, whatever the names."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.graph.drawing.pictured_systems import HOSTILE, crane, looped, renamed
from tests.systems import random_tree
from titop.graph.drawing.text import to_mermaid

#: A quoted text: letters, digits, harmless signs, line breaks and character codes.
TEXT = r'"(?:[\w \-/.,()!…]|<br/>|#\d+;)*"'
LINES = [
    rf"title: {TEXT}",
    "---",
    "flowchart LR",
    rf"  [ns]\d+(?:\[\[{TEXT}\]\]|\[{TEXT}\]|\({TEXT}\)|\{{\{{{TEXT}\}}\}}|>{TEXT}\])",
    rf"  [ns]\d+ (?:-->|-\.->)(?:\|{TEXT}\|)? [ns]\d+",
    r"  classDef fault stroke:#[0-9a-f]{6},stroke-width:2px",
    r"  class n\d+(?:,n\d+)* fault",
]


def assert_grammatical(text: str) -> None:
    """Assert that every line has one of the known forms, and that edges join nodes that exist."""
    lines = text.split("\n")
    for line in lines:
        assert any(re.fullmatch(form, line) for form in LINES), line
    nodes = {match[1] for line in lines if (match := re.match(r"  ([ns]\d+)[\[({>]", line))}
    edges = [match.groups() for line in lines if (match := re.match(r"  ([ns]\d+) -\.?-?>.* ([ns]\d+)$", line))]
    assert {end for edge in edges for end in edge} <= nodes
    assert len(edges) == sum("->" in line for line in lines)


def test_says_types_masses_ports_and_loads() -> None:
    lines = to_mermaid(crane()).split("\n")
    for part in (
        '  n0[["world"]]',
        '  n1["tower<br/>RigidBody<br/>10 kg"]',
        '  n4("rope<br/>Spherical<br/>rx, ry, rz")',
        '  n1 -->|"m (top)"| n4',
        '  n4 -.->|"W"| n1',
        '  n4 -->|"m (to eye)"| n2',
        '  s0>"wind<br/>Load<br/>5 N"]',
        '  s0 -->|"top"| n1',
    ):
        assert part in lines


def test_closures_are_hexagons_between_two_bodies() -> None:
    text = to_mermaid(looped())
    assert_grammatical(text)
    for part in (
        '  n5{{"rope2<br/>RigidClosure<br/>1 direction"}}',
        '  n2 -->|"m (eye)"| n5',
        '  n5 -.->|"W"| n2',
        '  n0 -->|"m"| n5',
        '  n5 -.->|"W"| n0',
    ):
        assert part in text.split("\n")


@pytest.mark.parametrize("name", ["plain", "腕/手", "end", "%%{init: {}}%%", "`**x**`", "javascript:alert(1)", *HOSTILE])
def test_names_are_escaped(name: str) -> None:
    text = to_mermaid(renamed(name))
    assert_grammatical(text)
    assert text.count("<") == text.count("<br/>")
    assert len(text.split("\n")) == len(to_mermaid(renamed("plain")).split("\n"))


def test_escapes_are_character_codes() -> None:
    assert '"#60;b#62;bold#60;/b#62;<br/>RigidBody' in to_mermaid(renamed("<b>bold</b>"))


@pytest.mark.parametrize("seed", range(5))
def test_random_trees(seed: int) -> None:
    s = random_tree(np.random.default_rng(seed), 12, loads=True)
    text = to_mermaid(s)
    assert_grammatical(text)
    assert text.count('"m') == text.count('"W"') == 2 * len(s.connections)


def test_faults_are_marked() -> None:
    s = crane()
    s.connections[1].child.block.mass = -1.0
    text = to_mermaid(s)
    assert_grammatical(text)
    assert "! negative-mass" in text
    assert text.endswith("class n2 fault")


def test_the_checker_of_the_grammar_checks() -> None:
    """The negative control."""
    for line in ('  n1["a"b"]', "  n1[a]", "  n1 -->|x| n2", '  click n1 "x"', "%% comment"):
        assert not any(re.fullmatch(form, line) for form in LINES), line
