"""Tables for notebooks: XML, whatever is in them, and of bounded size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import ParseError, fromstring

import numpy as np
import pytest

from titop.blocks.basics.notebook import CELLS, ROWS, Markup, attributes_page, curve, escaped, page, table

HOSTILE = ["<script>alert(1)</script>", "</td>", "a & b", "' onload='x", '"', "]]>", "<!--", "\x00\ud800\x1b[31m", "&lt;"]


@dataclass
class Result:
    """A result that prints two lines."""

    name: Any
    numbers: Any
    members: Any

    def __str__(self) -> str:
        return f"{self.name}\n{self.name}"


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_are_escaped(text: str) -> None:
    shown = "".join(c if c.isprintable() else " " for c in text)
    made = page(text, text, table("rows", [(text, [text], {text: text})], (text,)))
    read = fromstring(made)
    assert not {each.tag for each in read.iter()} - {"div", "p", "b", "span", "details", "summary", "table", "tr", "th", "td"}
    assert [each.text for each in read.iter("td")] == [shown, shown, f"{shown} = {shown}"]
    assert read.findtext("p/b") == shown
    assert fromstring(attributes_page(Result(text, [1.0], {text: 2.0}))).findtext("p/span") == shown


def test_what_is_markup_is_not_escaped() -> None:
    assert fromstring(page("x", "", table("rows", [(Markup("<i>y</i>"),)]))).findtext(".//td/i") == "y"
    with pytest.raises(ParseError):  # the parser is one that notices
        fromstring(page("x", "", table("rows", [(Markup("<i>y"),)])))


def test_sizes_are_bounded() -> None:
    many = [[f"{k}" * 1000] * 1000 for k in range(1000)]
    made = table("rows", many, many[0])
    read = fromstring(made)
    rows = list(read.iter("tr"))
    assert len(rows) == ROWS + 2
    assert {len(row) for row in rows[:-1]} == {CELLS}
    assert rows[-1].findtext("td") == f"and {1000 - ROWS} more"
    assert len(made) < 210 * CELLS * (ROWS + 2)
    for value in (np.ones((300, 300)), many, dict.fromkeys(range(1000), many), "x" * 10**6):
        assert len(escaped(value, 200)) <= 200
    assert len(attributes_page(Result("x\n" * 1000, np.ones(1000), many))) < 10_000


def test_few_are_shown_whole() -> None:
    assert "more" not in table("rows", [[k] for k in range(ROWS)])
    assert table("rows", []) == ""
    assert escaped([1.0, np.float64(2.5), 3, True, None, 1j]) == "1, 2.5, 3, True, None, 0+1j"
    assert escaped(np.array([1.0, 1 / 3])) == "[1, 0.3333]"
    assert escaped({"a": 1.0, "b": object()}) == "a = 1, b = object"


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0], [np.nan, np.nan], [np.inf, 1.0, 3.0], np.sin(np.arange(10_000.0))])
def test_curves_stay_in_their_picture(values: Any) -> None:
    points = fromstring(curve(values))[0].attrib["points"].split()
    assert len(points) == min(int(np.isfinite(values).sum()), 60)
    for point in points:
        x, y = map(float, point.split(","))
        assert 0 <= x <= 120
        assert 1 <= y <= 19


def test_a_rising_curve_rises() -> None:
    points = fromstring(curve([0.0, 1.0, 3.0]))[0].attrib["points"]
    assert points == "0.0,19.0 60.0,13.0 120.0,1.0"
